//! Answer of a decoder's process: a header of three numbers, and words if it failed.

use super::fence::Raised;

/// Length of the header of an answer.
pub(super) const HEADER: usize = 12;

/// Most bytes of words in an answer.
pub(super) const MAX_WORDS: usize = 512;

const READY: u32 = 0x5ea1_ca57;
const PICTURE: u32 = 1;
const NOTHING: u32 = 2;
const FAILED: u32 = 3;

/// The header of an answer. What a process says that has read foreign bytes is itself foreign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// The process is fenced, and waits for its first frame.
    Ready(Raised),
    /// A picture of this width and height lies in the shared memory.
    Picture(usize, usize),
    /// The frame has no picture.
    Nothing,
    /// The frame does not decode; as many bytes of words follow.
    Failed(usize),
}

impl Answer {
    pub(super) fn to_bytes(self) -> [u8; HEADER] {
        // Sizes are checked before: they fit.
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        let numbers = match self {
            Self::Ready(raised) => [READY, raised.landlock.into(), raised.seccomp.into()],
            Self::Picture(width, height) => [PICTURE, number(width), number(height)],
            Self::Nothing => [NOTHING, 0, 0],
            Self::Failed(words) => [FAILED, number(words), 0],
        };
        let mut bytes = [0; HEADER];
        for (place, number) in bytes.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    /// The answer with this header; `None` if there is no such answer.
    pub(super) fn from_bytes(bytes: [u8; HEADER]) -> Option<Self> {
        let [a, b, c] =
            [0, 4, 8].map(|at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        match (a, b, c) {
            (READY, 0..=1, 0..=1) => Some(Self::Ready(Raised {
                landlock: b == 1,
                seccomp: c == 1,
            })),
            (PICTURE, width, height) => Some(Self::Picture(width as usize, height as usize)),
            (NOTHING, 0, 0) => Some(Self::Nothing),
            (FAILED, words, 0) if words as usize <= MAX_WORDS => Some(Self::Failed(words as usize)),
            _ => None,
        }
    }
}

/// Words as they may go into the log: printable ASCII, nothing that moves a cursor or turns text around.
pub(super) fn printable(words: &[u8]) -> String {
    let shown = |&byte: &u8| {
        if byte.is_ascii_graphic() || byte == b' ' {
            byte.into()
        } else {
            '?'
        }
    };
    words.iter().map(shown).collect()
}
