//! Texts of the report on its method and its limits.

/// How the figures are obtained.
pub(super) const METHOD: &[&str] = &[
    "Before anything is timed, each implementation is held to published values, alone and in a batch of 67 packets; \
     one that gives another byte is named as wrong and not timed.",
    "A sample is one implementation on one workload in one round: packets, each under an IV of its own, are \
     enciphered and deciphered in place by turns for some milliseconds, and the median time of each counts. Setting \
     up IVs is part of it, setting up the key is not. As many packets are given at once as it takes to make a \
     stretch that the clock can tell, 512 at most: kernels that work on many side by side need them, the others take \
     one after another.",
    "In a round everybody takes a turn with every workload, in the next one in the opposite order. Figures are \
     medians over rounds; intervals are 95 %, bootstrap over rounds, 2000 resamples. With few rounds they are too \
     narrow.",
    "Cycles per byte: the same loop, packets, IVs and stopwatch with a cipher that does nothing go by turns with \
     each, and what they take (the loop's) is subtracted. MB/s and packets per second are of all of it.",
    "By itself: in each round every implementation also runs in a process of its own. Algorithm set-up is how much \
     longer loading a key and enciphering one block take there the first time than later (median of 101): pages of \
     code, tables, looking at the processor. Memory is how much the process's resident set (RSS) grows from before \
     the first key to after 25 frames, and for each byte of one frame. Linux maps a program's code 64 KiB at a time, \
     and so it counts.",
    "Libraries named with --external run in a process of their own, which takes the times itself: the same batches, \
     in place, each packet under its own IV, by turns with a cipher that does nothing. The pipe is in no figure. They \
     are not part of this program and have no first use in it: algorithm set-up, T, memory, code and Rank are not \
     known. Of a name that is none of ours a block is taken to be one byte.",
    "T is algorithm set-up, key set-up, enciphering and deciphering of a packet of one block, its IV and its tag \
     included.",
    "Rank is bytes enciphered per second over bytes of code and twice the memory per byte of a frame; E-Rank is that \
     over microjoules per byte. Both as in Khan et al. 2024, equations 1 and 3, in their units. Where energy is an \
     estimate, so is E-Rank.",
    "Code: of our ciphers the symbols that bear the kernel's name and those that all kernels of the cipher share. \
     Loops that ciphers have in common cannot be told apart and are not counted; versions of one cipher are counted \
     together.",
    "With the processor's instructions and without: aws-lc in processes of their own, one of which is told that \
     there are no AES-NI, PCLMULQDQ, VAES and VPCLMULQDQ. It then computes AES with byte shuffles of SSSE3.",
    "Safe time: as long as trying all keys takes at the rate named. It says nothing of any better attack.",
    "AEADs (tag of 16 bytes) also authenticate; a bare keystream does not, and so is not safe to use by itself.",
    "Frames per second: how many packets of the workload's mean length one core enciphers.",
    "State: bytes of a loaded key and a running keystream. Not known of libraries, which do not tell.",
    "Frames: the first 25 of the clip or of the built-in test card, as H.264 (640x480 card: 1.5 Mbit/s) and as JPEG \
     (quality 80), encoded anew where the clip is of the other codec; raw frames are I420 of 640x480, 460 800 bytes.",
];

/// Warnings for users of the figures.
pub(super) const MISLEADING: [&str; 5] = [
    "This is one machine. A laptop's or a server's processor is not an ARM11: ciphers made for hardware or for small \
     processors can come out in another order there.",
    "The paper's frames per second and cycles per byte are of a whole program on a busy board, with capture and \
     Python around it; here a cipher alone is timed. Compare orders of ciphers, not single figures.",
    "The paper's memory is that of a whole process over a frame's bytes; here it is by how much the process grows. \
     Code, and with it Rank, counts what bears the cipher's name in one build.",
    "Safe time supposes that trying keys is the best attack. For several ciphers here it is not.",
    "A keystream without a tag does less than an AEAD, and lets anybody alter what is sent.",
];
