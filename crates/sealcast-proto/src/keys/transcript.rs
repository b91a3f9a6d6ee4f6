//! Running hash of the handshake's messages (keys.md §3).

use aws_lc_rs::digest;

use super::schedule::sha256;

/// Prefix of the hash that replaces a first hello after a retry.
const FIRST_HELLO_HASH: u8 = 0xFE;

#[derive(Clone)]
pub(crate) struct Transcript(digest::Context);

impl Transcript {
    pub(crate) fn new() -> Self {
        Self(digest::Context::new(&digest::SHA256))
    }

    /// Begins a transcript with a retry. It contains only the hash of the first hello, so that a responder need not
    /// keep that hello.
    pub(crate) fn with_retry(first_hello: &[u8], retry: &[u8]) -> Self {
        let mut transcript = Self::new();
        let mut stand_in = [FIRST_HELLO_HASH; 33];
        stand_in[1..].copy_from_slice(&sha256(&[first_hello]));
        transcript.add(&stand_in);
        transcript.add(retry);
        transcript
    }

    pub(crate) fn add(&mut self, message: &[u8]) {
        self.0.update(&entry_length(message));
        self.0.update(message);
    }

    /// Returns the hash of the transcript so far.
    pub(crate) fn hash(&self) -> [u8; 32] {
        self.0
            .clone()
            .finish()
            .as_ref()
            .try_into()
            .expect("SHA-256 gives 32 bytes")
    }

    /// Returns the hash of the transcript followed by `message`.
    pub(crate) fn hash_with(&self, message: &[u8]) -> [u8; 32] {
        let mut longer = self.clone();
        longer.add(message);
        longer.hash()
    }
}

/// Returns the length prefix of an entry.
pub(crate) fn entry_length(message: &[u8]) -> [u8; 4] {
    u32::try_from(message.len())
        .expect("handshake messages are at most 4096 bytes")
        .to_be_bytes()
}
