//! A cipher with its key loaded, its keystream, and the trait that every implementation provides.

use zeroize::Zeroize;

use crate::sizes::{Facts, Refused};

/// One implementation of one cipher: the part that differs between implementations.
///
/// [`Cipher`] and [`Keystream`] check sizes, split odd lengths and wipe secrets, once for all kernels. The state's
/// [`Zeroize`] must wipe all of it. Values that a compiler spills onto the stack while a kernel runs cannot be wiped.
pub trait Kernel: Zeroize + Sized {
    /// The properties of the cipher, equal for all its kernels.
    const FACTS: &'static Facts;

    /// Name of the kernel: `definition`, `words`, or the instruction set that it uses.
    const NAME: &'static str;

    /// The key, after all preparation that does not depend on an IV.
    type Key: Zeroize;

    /// The keystream of one step, at least one byte.
    type Block: Block;

    /// True if this machine has the instructions that the kernel uses.
    fn available() -> bool {
        true
    }

    /// Prepares a key of one of [`Facts::key_bytes`].
    ///
    /// # Panics
    /// The kernel is not [available](Self::available). Without a key there is no keystream, so unavailable
    /// instructions are never executed.
    fn expand(key: &[u8]) -> Self::Key;

    /// The initial state for an IV of one of [`Facts::iv_bytes`].
    fn start(key: &Self::Key, iv: &[u8]) -> Self;

    /// The next bytes of the keystream.
    fn step(&mut self) -> Self::Block;

    /// Enciphers or deciphers packets whose IVs have valid sizes. Kernels that handle several packets at once
    /// override it.
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
    /// Its length in bytes.
    const BYTES: usize;

    /// All bytes zero.
    const ZERO: Self;
}

impl<const N: usize> Block for [u8; N] {
    const BYTES: usize = N;
    const ZERO: Self = [0; N];
}

/// A buffer that is enciphered or deciphered in place, under an IV of its own.
pub struct Packet<'a> {
    /// Must never repeat under one key, since the XOR of two packets with the same IV reveals the XOR of their
    /// contents.
    pub iv: &'a [u8],
    /// The data to encipher or decipher, with the keystream's first byte for its first byte.
    pub data: &'a mut [u8],
}

/// A cipher with its key loaded. Dropping it wipes the key.
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

    /// Enciphers or deciphers packets, each under its own IV. Kernels that handle several packets in parallel are
    /// many times faster with this function than packet by packet.
    ///
    /// # Errors
    /// An IV has an invalid size; then no packet was changed.
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

/// The keystream of one key and one IV. Dropping it wipes its state.
pub struct Keystream<K: Kernel> {
    state: K,
    /// The last block, if part of it is unused.
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

    /// XORs the next `data.len()` bytes of the keystream into the data. The result does not depend on how data is
    /// split into calls.
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

/// Stops at the end of the shorter slice. Works by words, since compilers turn a loop over bytes into shuffles.
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
