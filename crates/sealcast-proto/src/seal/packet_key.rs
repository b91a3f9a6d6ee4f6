//! The interface of suites and study ciphers: a key that seals and opens single records.

use super::Nonce;
use crate::wire::TAG_LEN;

/// The tag is wrong: the record was altered, or sealed under another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFailed;

/// A key for many records. Its key schedule is computed once, and sealing allocates nothing.
pub trait PacketKey: Send + Sync {
    /// Encrypts `payload` in place, and authenticates it together with `associated`. That is the header; for a record
    /// in clear it is the header and the payload, and `payload` is empty.
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN];

    /// Verifies the tag over `associated` and the payload, and decrypts the payload in place.
    ///
    /// # Errors
    /// [`OpenFailed`]; the contents of the payload are undefined then.
    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed>;
}
