//! Grain-128a with its tag: bits of the pre-output go alternately to the keystream and to a universal hash of the
//! message.

use core::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::Words;
use crate::cipher::{Cipher, Keystream};
use crate::sizes::Refused;

/// Length of a tag in bytes. One forgery in 2^32 succeeds: enough for the laboratory, and for nothing else.
pub const TAG_BYTES: usize = 4;

/// Grain-128a with a key loaded; every message has a tag.
pub struct Authenticated {
    cipher: Cipher<Words>,
}

/// The tag does not match the message: the message was altered, or key or IV differ. The message was wiped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forged;

impl fmt::Display for Forged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the Grain-128a tag does not belong to this message; drop it")
    }
}

impl core::error::Error for Forged {}

impl Authenticated {
    /// Length of an IV in bytes. Its first bit is ignored: authentication sets it.
    pub const IV_BYTES: usize = 12;

    /// Loads a key of 16 bytes.
    ///
    /// # Errors
    /// The key has another size.
    pub fn new(key: &[u8]) -> Result<Self, Refused> {
        Cipher::new(key).map(|cipher| Self { cipher })
    }

    /// Enciphers a message in place and returns its tag.
    #[must_use]
    pub fn seal(&self, iv: &[u8; Self::IV_BYTES], message: &mut [u8]) -> [u8; TAG_BYTES] {
        let mut stream = TwoStreams::start(&self.cipher, iv);
        for byte in message {
            let (key, mac) = stream.next_byte();
            stream.hash.absorb(*byte, 8, mac);
            *byte ^= key;
        }
        stream.tag(0, 0)
    }

    /// The tag of the first `bits` bits of a message, most significant bit of a byte first. Nothing is enciphered.
    ///
    /// # Panics
    /// The message has fewer bits.
    #[must_use]
    pub fn tag_of_bits(&self, iv: &[u8; Self::IV_BYTES], message: &[u8], bits: usize) -> [u8; TAG_BYTES] {
        let mut stream = TwoStreams::start(&self.cipher, iv);
        for byte in &message[..bits / 8] {
            let (_, mac) = stream.next_byte();
            stream.hash.absorb(*byte, 8, mac);
        }
        let rest = (bits % 8) as u32;
        let last = if rest == 0 { 0 } else { message[bits / 8] };
        stream.tag(last, rest)
    }

    /// Deciphers a message in place if the tag is valid.
    ///
    /// # Errors
    /// The tag is not valid.
    pub fn open(&self, iv: &[u8; Self::IV_BYTES], message: &mut [u8], tag: [u8; TAG_BYTES]) -> Result<(), Forged> {
        let mut stream = TwoStreams::start(&self.cipher, iv);
        for byte in message.iter_mut() {
            let (key, mac) = stream.next_byte();
            *byte ^= key;
            stream.hash.absorb(*byte, 8, mac);
        }
        // A single comparison of whole words: its duration does not depend on where they differ.
        if u32::from_be_bytes(stream.tag(0, 0)) != u32::from_be_bytes(tag) {
            message.zeroize();
            return Err(Forged);
        }
        Ok(())
    }
}

/// The pre-output of one message after its first 64 bits, which initialise the hash.
struct TwoStreams {
    pre_output: Keystream<Words>,
    hash: Hash,
}

impl TwoStreams {
    fn start(cipher: &Cipher<Words>, iv: &[u8; Authenticated::IV_BYTES]) -> Self {
        let mut iv = *iv;
        iv[0] |= 0x80;
        let mut pre_output = cipher.keystream(&iv).expect("the IV has the size of its type");
        let mut word = || {
            let mut bytes = [0; 4];
            pre_output.xor(&mut bytes);
            u32::from_be_bytes(bytes)
        };
        let hash = Hash {
            accumulator: word(),
            register: word(),
        };
        Self { pre_output, hash }
    }

    /// Eight bits of keystream, and eight for the hash.
    fn next_byte(&mut self) -> (u8, u8) {
        let mut bits = [0; 2];
        self.pre_output.xor(&mut bits);
        let bits = u16::from_be_bytes(bits);
        (every_other_bit(bits >> 1), every_other_bit(bits))
    }

    /// The tag after the highest `bits` bits of `last`, fewer than 8. A one is appended to the message, so that zero
    /// messages of different lengths have different tags.
    fn tag(mut self, last: u8, bits: u32) -> [u8; TAG_BYTES] {
        let (_, mac) = self.next_byte();
        self.hash.absorb(last & !(0xFF >> bits) | 0x80 >> bits, bits + 1, mac);
        self.hash.accumulator.to_be_bytes()
    }
}

/// The accumulator, and the 32 bits that the next message bit adds to it.
#[derive(ZeroizeOnDrop)]
struct Hash {
    accumulator: u32,
    register: u32,
}

impl Hash {
    /// Adds the highest `count` bits of `message`; as many bits of `mac` enter the register.
    fn absorb(&mut self, message: u8, count: u32, mac: u8) {
        for shift in (8 - count..8).rev() {
            let chosen = 0_u32.wrapping_sub(u32::from(message >> shift & 1));
            self.accumulator ^= self.register & chosen;
            self.register = self.register << 1 | u32::from(mac >> shift & 1);
        }
    }
}

/// Bits 0, 2, 4 to 14.
fn every_other_bit(bits: u16) -> u8 {
    (0..8).fold(0, |byte, i| byte | ((bits >> (2 * i) & 1) << i) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 16] = 0x0123_4567_89AB_CDEF_1234_5678_9ABC_DEF0_u128.to_be_bytes();
    /// IV_0 is already 1.
    const IV: [u8; 12] = [0x81, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF, 0x12, 0x34, 0x56, 0x78];

    /// Tags for 0, 1, 1, 20 and 41 bits, from the test vectors of Grain-128a's authors.
    #[test]
    fn messages_of_any_number_of_bits_have_the_papers_tags() {
        let cipher = Authenticated::new(&KEY).expect("16 bytes");
        let tag = |message: &[u8], bits| u32::from_be_bytes(cipher.tag_of_bits(&IV, message, bits));
        assert_eq!(tag(&[], 0), 0xD2D1_BDA8);
        // Bits after the end of the message are ignored.
        assert_eq!(tag(&[0x7F], 1), 0x24DC_2D89);
        assert_eq!(tag(&[0x80], 1), 0x8927_5D96);
        assert_eq!(tag(&[0x12, 0x34, 0x00], 20), 0x379D_2899);
        assert_eq!(tag(&[0x12, 0x34, 0x56, 0x78, 0x9E, 0x80], 41), 0x9226_B196);
        let mut whole_bytes = *b"a frame";
        assert_eq!(
            tag(b"a frame", 56),
            u32::from_be_bytes(cipher.seal(&IV, &mut whole_bytes))
        );
    }

    /// Keystream `z` of the same test vectors.
    #[test]
    fn a_sealed_message_of_zeros_shows_the_papers_keystream_and_opens() {
        let cipher = Authenticated::new(&KEY).expect("16 bytes");
        let mut message = [0; 16];
        let tag = cipher.seal(&IV, &mut message);
        assert_eq!(u128::from_be_bytes(message), 0xA49D_971C_976B_F596_B45F_93E2_42DE_D8C1);
        let mut iv_without_its_first_bit = IV;
        iv_without_its_first_bit[0] = 0x01;
        assert_eq!(cipher.open(&iv_without_its_first_bit, &mut message, tag), Ok(()));
        assert_eq!(message, [0; 16]);
    }

    #[test]
    fn an_altered_message_or_tag_is_refused_and_wiped() {
        let cipher = Authenticated::new(&KEY).expect("16 bytes");
        let mut sealed = *b"a frame of video";
        let tag = cipher.seal(&IV, &mut sealed);
        for bit in 0..160 {
            let (mut message, mut other) = (sealed, tag);
            let byte = if bit < 128 {
                &mut message[bit / 8]
            } else {
                &mut other[bit / 8 - 16]
            };
            *byte ^= 1 << (bit % 8);
            assert_eq!(cipher.open(&IV, &mut message, other), Err(Forged), "bit {bit}");
            assert_eq!(message, [0; 16]);
        }
        assert_eq!(cipher.open(&IV, &mut sealed, tag), Ok(()));
        assert_eq!(&sealed, b"a frame of video");
    }
}
