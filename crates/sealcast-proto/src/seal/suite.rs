//! The recommended suites. A suite is a plain value; study suites are defined elsewhere.

use aegis::aegis128x4::Aegis128X4;
use aws_lc_rs::aead;
use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Nonce, OpenFailed, PacketKey};
use crate::wire::TAG_LEN;

/// Maximum key length of any suite in bytes.
pub(crate) const MAX_KEY_LEN: usize = 32;

/// An AEAD and its limits.
#[derive(Clone, Copy)]
pub struct Suite {
    /// Identifier on the wire; 224 and above are for study suites.
    pub id: u8,
    /// Name as users type it.
    pub name: &'static str,
    /// Key length in bytes, at most 32.
    pub key_len: usize,
    /// Maximum number of 16-byte blocks sealed under one key; `None` if only the record counter is a limit.
    pub block_limit: Option<u64>,
    /// Creates a key from `key_len` bytes.
    pub make_key: fn(&[u8]) -> Box<dyn PacketKey>,
}

/// Block limit of AES-GCM. An attacker's advantage grows with the square of the number of blocks; 2³⁴ keep it under
/// 2⁻⁶⁰ (keys.md §6).
const GCM_BLOCK_LIMIT: u64 = 1 << 34;

/// AES-128-GCM (NIST SP 800-38D).
pub const AES_128_GCM: Suite = Suite {
    id: 1,
    name: "aes-128-gcm",
    key_len: 16,
    block_limit: Some(GCM_BLOCK_LIMIT),
    make_key: |key| AwsLcKey::boxed(&aead::AES_128_GCM, key),
};

/// AES-256-GCM (NIST SP 800-38D).
pub const AES_256_GCM: Suite = Suite {
    id: 2,
    name: "aes-256-gcm",
    key_len: 32,
    block_limit: Some(GCM_BLOCK_LIMIT),
    make_key: |key| AwsLcKey::boxed(&aead::AES_256_GCM, key),
};

/// ChaCha20-Poly1305 (RFC 8439).
pub const CHACHA20_POLY1305: Suite = Suite {
    id: 3,
    name: "chacha20-poly1305",
    key_len: 32,
    block_limit: None,
    make_key: |key| AwsLcKey::boxed(&aead::CHACHA20_POLY1305, key),
};

/// AEGIS-128X4 (draft-irtf-cfrg-aegis-aead).
pub const AEGIS_128X4: Suite = Suite {
    id: 4,
    name: "aegis-128x4",
    key_len: 16,
    block_limit: None,
    make_key: |key| Box::new(AegisKey(key.try_into().expect("key_len is 16"))),
};

/// The recommended suites, in the order of preference on a machine with AES instructions.
pub const RECOMMENDED: [Suite; 4] = [AES_256_GCM, AES_128_GCM, AEGIS_128X4, CHACHA20_POLY1305];

impl Suite {
    /// Returns the recommended suite with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        RECOMMENDED.into_iter().find(|suite| suite.name == name)
    }
}

impl PartialEq for Suite {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl std::fmt::Debug for Suite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

struct AwsLcKey(aead::LessSafeKey);

impl AwsLcKey {
    fn boxed(algorithm: &'static aead::Algorithm, key: &[u8]) -> Box<dyn PacketKey> {
        let key = aead::UnboundKey::new(algorithm, key).expect("key_len is the algorithm's");
        Box::new(Self(aead::LessSafeKey::new(key)))
    }
}

impl PacketKey for AwsLcKey {
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN] {
        let nonce = aead::Nonce::assume_unique_for_key(nonce.twelve());
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, aead::Aad::from(associated), payload)
            .expect("records are far shorter than the algorithm's bound");
        tag.as_ref().try_into().expect("all tags are 16 bytes")
    }

    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed> {
        let nonce = aead::Nonce::assume_unique_for_key(nonce.twelve());
        self.0
            .open_in_place(nonce, aead::Aad::from(associated), payload_and_tag)
            .map_err(|_| OpenFailed)?;
        Ok(())
    }
}

#[derive(Zeroize, ZeroizeOnDrop)]
struct AegisKey([u8; 16]);

impl PacketKey for AegisKey {
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN] {
        Aegis128X4::<TAG_LEN>::new(&self.0, &nonce.sixteen()).encrypt_in_place(payload, associated)
    }

    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed> {
        let (payload, tag) = payload_and_tag.split_last_chunk_mut::<TAG_LEN>().ok_or(OpenFailed)?;
        Aegis128X4::<TAG_LEN>::new(&self.0, &nonce.sixteen())
            .decrypt_in_place(payload, tag, associated)
            .map_err(|_| OpenFailed)
    }
}
