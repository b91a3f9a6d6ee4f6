//! A cipher with its key loaded, its keystream, and the seam behind which every implementation stands.

use zeroize::Zeroize;

use crate::sizes::{Facts, Refused};

/// One implementation of one cipher: the part that differs between two of them.
///
/// Sizes are checked, odd lengths are cut up and secrets are wiped by [`Cipher`] and [`Keystream`], once for all
/// kernels. The state's [`Zeroize`] has to wipe all of it; what a compiler spills onto the stack while a kernel runs is
/// out of reach.
pub trait Kernel: Zeroize + Sized {
    /// What the cipher is, the same value for all its kernels.
    const FACTS: &'static Facts;

    /// Which of the cipher's kernels this is: `definition`, `words`, or the instruction set that it is made of.
    const NAME: &'static str;

    /// The key, prepared as far as that does not depend on an IV.
    type Key: Zeroize;

    /// The keystream that one step yields, at least one byte.
    type Block: Block;

    /// Does this machine have the instructions that the kernel is made of?
    fn available() -> bool {
        true
    }

    /// Prepares a key of one of [`Facts::key_bytes`].
    ///
    /// # Panics
    /// The kernel is not [available](Self::available): no key, no keystream, no instruction that is not there.
    fn expand(key: &[u8]) -> Self::Key;

    /// The state from which the keystream of an IV of one of [`Facts::iv_bytes`] starts.
    fn start(key: &Self::Key, iv: &[u8]) -> Self;

    /// The next bytes of the keystream.
    fn step(&mut self) -> Self::Block;

    /// Enciphers or deciphers packets whose IVs have right sizes. Kernels that work on several packets at once replace
    /// it.
    fn xor_batch(key: &Self::Key, packets: &mut [Packet<'_>]) {
        xor_one_by_one::<Self>(key, packets);
    }
}

/// Enciphers or deciphers packets one after another.
pub(crate) fn xor_one_by_one<K: Kernel>(key: &K::Key, packets: &mut [Packet<'_>]) {
    for packet in packets {
        Keystream::<K>::start(key, packet.iv).xor(packet.data);
    }
}

/// An array of bytes, as [`Kernel::step`] returns it.
pub trait Block: AsRef<[u8]> + Zeroize {
    /// Bytes in it.
    const BYTES: usize;

    /// All of them zero.
    const ZERO: Self;
}

impl<const N: usize> Block for [u8; N] {
    const BYTES: usize = N;
    const ZERO: Self = [0; N];
}

/// A buffer that is enciphered or deciphered in place, under an IV of its own.
pub struct Packet<'a> {
    /// Never the same twice under one key, or the XOR of two packets' contents is public.
    pub iv: &'a [u8],
    /// What the keystream is laid over, from its first byte on.
    pub data: &'a mut [u8],
}

/// A cipher with its key loaded. The key is wiped when it is dropped.
pub struct Cipher<K: Kernel> {
    key: K::Key,
}

impl<K: Kernel> Cipher<K> {
    /// Loads a key.
    ///
    /// # Errors
    /// The cipher has no keys of this size, or the kernel is not [available](Kernel::available).
    pub fn new(key: &[u8]) -> Result<Self, Refused> {
        K::FACTS.check_key(key)?;
        if !K::available() {
            let (cipher, kernel) = (K::FACTS.name, K::NAME);
            return Err(Refused::Machine { cipher, kernel });
        }
        Ok(Self { key: K::expand(key) })
    }

    /// The keystream of an IV, from its beginning.
    ///
    /// # Errors
    /// The cipher has no IVs of this size.
    pub fn keystream(&self, iv: &[u8]) -> Result<Keystream<K>, Refused> {
        K::FACTS.check_iv(iv)?;
        Ok(Keystream::start(&self.key, iv))
    }

    /// Enciphers or deciphers packets, each under its own IV: with kernels that work side by side on several packets
    /// this is many times faster than one after another.
    ///
    /// # Errors
    /// An IV has a wrong size; then no packet was touched.
    pub fn xor_batch(&self, packets: &mut [Packet<'_>]) -> Result<(), Refused> {
        packets.iter().try_for_each(|packet| K::FACTS.check_iv(packet.iv))?;
        K::xor_batch(&self.key, packets);
        Ok(())
    }
}

impl<K: Kernel> Drop for Cipher<K> {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// The keystream of one key and one IV. Its state is wiped when it is dropped.
pub struct Keystream<K: Kernel> {
    state: K,
    /// The last block of which not everything was needed.
    block: K::Block,
    used: usize,
}

impl<K: Kernel> Keystream<K> {
    pub(crate) fn start(key: &K::Key, iv: &[u8]) -> Self {
        Self {
            state: K::start(key, iv),
            block: K::Block::ZERO,
            used: K::Block::BYTES,
        }
    }

    /// Lays the next `data.len()` bytes of the keystream over the data. Any split into calls gives the same stream.
    pub fn xor(&mut self, data: &mut [u8]) {
        let left = K::Block::BYTES - self.used;
        let (head, rest) = data.split_at_mut(data.len().min(left));
        xor_into(head, &self.block.as_ref()[self.used..]);
        self.used += head.len();

        let mut chunks = rest.chunks_exact_mut(K::Block::BYTES);
        for chunk in &mut chunks {
            xor_into(chunk, self.state.step().as_ref());
        }
        let tail = chunks.into_remainder();
        if !tail.is_empty() {
            self.block = self.state.step();
            xor_into(tail, self.block.as_ref());
            self.used = tail.len();
        }
    }
}

impl<K: Kernel> Drop for Keystream<K> {
    fn drop(&mut self) {
        self.state.zeroize();
        self.block.zeroize();
    }
}

/// As far as the shorter of the two reaches; by words, since compilers take a loop over bytes for a reason to shuffle.
#[inline(always)]
pub(crate) fn xor_into(data: &mut [u8], keystream: &[u8]) {
    let length = data.len().min(keystream.len());
    let (words, rest) = data[..length].as_chunks_mut::<8>();
    let (key_words, key_rest) = keystream[..length].as_chunks::<8>();
    for (word, key) in words.iter_mut().zip(key_words) {
        *word = (u64::from_ne_bytes(*word) ^ u64::from_ne_bytes(*key)).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key_rest) {
        *byte ^= key;
    }
}
