//! Nonces, which only a sealer or an opener can make.

/// Bytes of an epoch's nonce base.
pub(crate) const BASE_LEN: usize = 8;

/// The number a record is sealed under: the epoch's 64-bit base and a 32-bit counter (keys.md §5).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Nonce([u8; BASE_LEN + 4]);

impl Nonce {
    pub(in crate::seal) fn new(base: &[u8; BASE_LEN], counter: u32) -> Self {
        let mut bytes = [0; BASE_LEN + 4];
        bytes[..BASE_LEN].copy_from_slice(base);
        bytes[BASE_LEN..].copy_from_slice(&counter.to_be_bytes());
        Self(bytes)
    }

    /// For suites with 12-byte nonces.
    pub fn twelve(&self) -> [u8; 12] {
        self.0
    }

    /// For suites with 16-byte nonces: four zero bytes follow.
    pub fn sixteen(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&self.0);
        bytes
    }
}
