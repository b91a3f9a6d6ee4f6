//! Hashes of certificates, in the encoding of tickets (protocol.md §6).

use std::fmt;

use super::base32;

/// SHA-256 of a certificate in DER, by which a browser accepts the certificate of the end that listens. It is no
/// secret, and proves nothing about the peer: that does the peer id.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct CertHash([u8; 32]);

impl CertHash {
    /// The hash with these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses the 52 characters of a hash.
    pub fn parse(text: &str) -> Option<Self> {
        base32::decode(text).map(Self)
    }

    /// Returns the hash's bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for CertHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32::encode(&self.0))
    }
}

impl fmt::Debug for CertHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
