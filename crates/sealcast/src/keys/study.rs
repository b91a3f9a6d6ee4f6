//! Study suites: ciphers of the laboratory in live sessions, for demonstrations and measurements.
//!
//! Each suite is a stream cipher with Poly1305 over header and ciphertext, combined as in RFC 8439, section 2.8; the
//! one-time key is the first 32 bytes of the record's keystream. `none` protects nothing: what is measured without
//! protection is measured under it. `dose` seals records several times, so that the cost of once can be told. Most of
//! these ciphers are old, broken or have short keys. A session therefore uses one only if both ends requested it by
//! name, and then offers no other suite.

use aws_lc_rs::cipher::{AES_128, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::iv::FixedLength;
use poly1305::universal_hash::{KeyInit as _, UniversalHash as _};
use poly1305::{Block, Poly1305};
use sealcast_cipher::{Implementation, Study, StudyKeystream, implementations_of};
use sealcast_proto::seal::{Nonce, OpenFailed, PacketKey, Suite};
use sealcast_proto::wire::TAG_LEN;
use zeroize::Zeroizing;

use super::dose_key::INSECURE_DOSE;
use super::null_key::INSECURE_NONE;

/// Length of Poly1305's one-time key in bytes.
const MAC_KEY: usize = 32;
/// Length of the record counter in a nonce, in bytes.
const COUNTER: usize = 4;
/// Length of the longest IV of any cipher, in bytes.
const MAX_IV: usize = 16;
/// Length of an AES block in bytes.
const AES_BLOCK: usize = 16;

macro_rules! suites {
    ($($id:literal $cipher:literal $key_len:literal,)*) => {
        /// All study suites.
        pub const STUDY: &[Suite] = &[$(Suite {
            id: $id,
            name: concat!("insecure-", $cipher),
            key_len: $key_len,
            block_limit: None,
            make_key: |key| Box::new(StudyKey(Stream::new($cipher, key))),
        },)* INSECURE_NONE, INSECURE_DOSE];
    };
}

suites! {
    224 "aes-128-ctr" 16,
    225 "grain-v1" 10,
    226 "grain-128a" 16,
    227 "hc-128" 16,
    228 "mickey-v1" 10,
    229 "mickey-v2" 10,
    230 "rabbit" 16,
    231 "rc4" 16,
    232 "salsa20" 32,
    233 "sosemanuk" 32,
    234 "trivium" 10,
    235 "xor" 16,
}

/// The study suite of the cipher `name`, with or without the prefix `insecure-`.
pub fn by_cipher(name: &str) -> Option<Suite> {
    let mut all = STUDY.iter().copied();
    all.find(|suite| suite.name == name || cipher(suite) == name)
}

/// Name of a study suite's cipher.
pub fn cipher(suite: &Suite) -> &'static str {
    suite.name.trim_start_matches("insecure-")
}

/// The number that a record is sealed under: the base of its key, combined with the record's counter.
type Number = [u8; 12];

/// Generator of keystreams.
enum Stream {
    /// AES in counter mode, from the cryptography library.
    AesCtr(Box<EncryptingKey>),
    /// A cipher with an IV for each record, and the length of the IV in bytes.
    WithIv(Box<Study>, usize),
    /// A cipher without IVs: the record's number becomes part of its key instead.
    Rekeyed(Zeroizing<Vec<u8>>, &'static Implementation),
}

impl Stream {
    fn new(cipher: &str, key: &[u8]) -> Self {
        if cipher == "aes-128-ctr" {
            let key = UnboundCipherKey::new(&AES_128, key).expect("key_len is the cipher's");
            let key = EncryptingKey::ctr(key).expect("AES has a counter mode");
            return Self::AesCtr(Box::new(key));
        }
        let fastest = implementations_of(cipher).last().expect("every name is a cipher's");
        match fastest.facts.iv_bytes.most {
            0 => Self::Rekeyed(Zeroizing::new(key.to_vec()), fastest),
            bytes => {
                let cipher = (fastest.load)(key).expect("key_len is the cipher's");
                Self::WithIv(Box::new(cipher), bytes)
            }
        }
    }

    /// Starts the keystream of a record.
    fn start(&self, number: Number) -> Running<'_> {
        match self {
            Self::AesCtr(key) => Running::AesCtr { key, number, blocks: 0 },
            Self::WithIv(cipher, bytes) => {
                Running::Study(cipher.keystream(&iv(number, *bytes)[..*bytes]).expect(SIZES))
            }
            Self::Rekeyed(key, cipher) => {
                let key = Zeroizing::new([key.as_slice(), &number].concat());
                let cipher = (cipher.load)(&key).expect(SIZES);
                Running::Study(cipher.keystream(&[]).expect(SIZES))
            }
        }
    }
}

const SIZES: &str = "a cipher takes the sizes that it names";

/// The record's number as an IV of `bytes` bytes. In a short IV base and counter overlap; the IVs of different
/// records still differ, since the base is constant for a key.
fn iv(number: Number, bytes: usize) -> [u8; MAX_IV] {
    let (base, counter) = number.split_at(number.len() - COUNTER);
    let mut iv = [0; MAX_IV];
    let under = bytes.min(base.len());
    iv[..under].copy_from_slice(&base[..under]);
    let at = (bytes - COUNTER).min(base.len());
    for (byte, counted) in iv[at..].iter_mut().zip(counter) {
        *byte ^= counted;
    }
    iv
}

/// A keystream in progress. All calls but the last must take a multiple of the AES block length.
#[allow(clippy::large_enum_variant, reason = "it lives as long as a record takes")]
enum Running<'a> {
    AesCtr {
        key: &'a EncryptingKey,
        number: Number,
        blocks: u32,
    },
    Study(StudyKeystream),
}

impl Running<'_> {
    fn xor(&mut self, data: &mut [u8]) {
        match self {
            Self::Study(keystream) => keystream.xor(data),
            Self::AesCtr { key, number, blocks } => {
                let mut counter = [0; AES_BLOCK];
                counter[..number.len()].copy_from_slice(number);
                counter[number.len()..].copy_from_slice(&blocks.to_be_bytes());
                *blocks += u32::try_from(data.len() / AES_BLOCK).expect("records are short");
                let context = EncryptionContext::Iv128(FixedLength::from(counter));
                key.less_safe_encrypt(data, context)
                    .expect("any length can be encrypted");
            }
        }
    }
}

struct StudyKey(Stream);

impl StudyKey {
    /// Starts a record: returns the keystream after the one-time key, and Poly1305 with that key.
    fn start(&self, nonce: Nonce) -> (Running<'_>, Poly1305) {
        let mut keystream = self.0.start(nonce.twelve());
        let mut key = Zeroizing::new([0; MAC_KEY]);
        keystream.xor(key.as_mut_slice());
        (keystream, Poly1305::new((&*key).into()))
    }
}

/// Poly1305 over associated data and ciphertext, each padded to whole blocks, and over their lengths.
fn tag(mut mac: Poly1305, associated: &[u8], ciphertext: &[u8]) -> Block {
    mac.update_padded(associated);
    mac.update_padded(ciphertext);
    let mut lengths = Block::default();
    lengths[..8].copy_from_slice(&(associated.len() as u64).to_le_bytes());
    lengths[8..].copy_from_slice(&(ciphertext.len() as u64).to_le_bytes());
    mac.update(&[lengths]);
    mac.finalize()
}

impl PacketKey for StudyKey {
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN] {
        let (mut keystream, mac) = self.start(nonce);
        keystream.xor(payload);
        tag(mac, associated, payload).into()
    }

    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed> {
        let (payload, claimed) = payload_and_tag.split_last_chunk_mut::<TAG_LEN>().ok_or(OpenFailed)?;
        let (mut keystream, mac) = self.start(nonce);
        verify_slices_are_equal(&tag(mac, associated, payload), claimed).map_err(|_| OpenFailed)?;
        keystream.xor(payload);
        Ok(())
    }
}

#[cfg(test)]
#[path = "study_tests.rs"]
mod tests;
