//! Nonces, which only sealers and openers can create.

/// Length of an epoch's nonce base in bytes.
pub(crate) const BASE_LEN: usize = 8;

/// The nonce of a record: the 64-bit base of its key and a 32-bit counter, the record's number (keys.md §5).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; BASE_LEN + 4]);

impl Nonce {
    pub(in crate::seal) fn new(base: &[u8; BASE_LEN], counter: u32) -> Self {
        let mut bytes = [0; BASE_LEN + 4];
        bytes[..BASE_LEN].copy_from_slice(base);
        bytes[BASE_LEN..].copy_from_slice(&counter.to_be_bytes());
        Self(bytes)
    }

    /// Returns the nonce for suites with 12-byte nonces.
    pub fn twelve(&self) -> [u8; 12] {
        self.0
    }

    /// Returns the nonce for suites with 16-byte nonces: followed by four zero bytes.
    pub fn sixteen(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&self.0);
        bytes
    }
}
