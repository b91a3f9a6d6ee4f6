//! The seam for suites and study ciphers: a key that seals and opens one record.

use super::Nonce;
use crate::wire::TAG_LEN;

/// The tag did not fit: altered, or sealed under another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenFailed;

/// A key, ready for many records: its schedule is computed once, sealing allocates nothing.
pub trait PacketKey: Send + Sync {
    /// Encrypt `payload` in place and authenticate it with `associated`: the header, and in a record in clear the
    /// payload after it, `payload` then being empty.
    fn seal(&self, nonce: Nonce, associated: &[u8], payload: &mut [u8]) -> [u8; TAG_LEN];

    /// Verify the tag over `associated` and the payload, and decrypt the payload in place.
    ///
    /// # Errors
    /// [`OpenFailed`], and then the payload holds nothing useful.
    fn open(&self, nonce: Nonce, associated: &[u8], payload_and_tag: &mut [u8]) -> Result<(), OpenFailed>;
}
