//! Pre-shared keys: what an invited or enrolled pair knows before the handshake (keys.md §4).

use std::fmt;

use zeroize::{Zeroize, ZeroizeOnDrop};

use super::{Invite, Secret};

/// Maximum number of pre-shared keys that a responder tries for one hello.
pub const MAX_PSKS: usize = 128;

/// A secret of 32 bytes that both ends knew before the handshake. It cannot be printed.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct PresharedKey([u8; 32]);

/// Public name of a pre-shared key, for lists and logs. It does not reveal the key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PskName(pub [u8; 8]);

impl PresharedKey {
    /// The pre-shared key that an enrolled pair kept from the handshake of the enrolment.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The pre-shared key of an invite.
    pub fn from_invite(invite: &Invite) -> Self {
        let mut key = Self([0; 32]);
        Secret::extract(b"sealcast2 invite", invite.bytes()).expand(b"psk", &[], &mut key.0);
        key
    }

    /// Returns the secret bytes, to be written to a file that only its owner can read.
    pub fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the key's public name.
    pub fn name(&self) -> PskName {
        let mut name = [0; 8];
        self.early().expand(b"name", &[], &mut name);
        PskName(name)
    }

    /// The early secret of a handshake with this key.
    pub(crate) fn early(&self) -> Secret {
        Secret::extract(b"sealcast2 early", &self.0)
    }
}

impl PskName {
    /// Parses 16 hexadecimal digits in lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = u64::from_str_radix(text, 16).ok().filter(|_| digits)?;
        Some(Self(number.to_be_bytes()))
    }
}

impl fmt::Display for PskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

impl fmt::Debug for PskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
