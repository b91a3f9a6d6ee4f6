//! The signatures of rekeying, by which both ends prove their identity again (keys.md §5).

use super::schedule::sha256;
use super::transcript::entry_length;
use super::{Identity, PeerId};

/// Length of a signature in bytes. It is the end of the message that it covers.
pub(crate) const SIGNATURE_LEN: usize = 64;

/// Subject of the signatures of one exchange.
#[derive(Clone, Copy)]
pub(crate) struct RekeySignature<'a> {
    /// Names the session: `binding` of keys.md §4.
    pub(crate) binding: &'a [u8; 32],
    /// Number of the epoch that is agreed on.
    pub(crate) epoch: u64,
    /// The offer that is answered; `None` if the signed message is the offer itself.
    pub(crate) offer: Option<&'a [u8]>,
}

impl RekeySignature<'_> {
    fn signed(&self, head: &[u8]) -> Vec<u8> {
        let (label, hash) = match self.offer {
            None => (&b"sealcast2 rekey offer\0"[..], sha256(&[&entry_length(head), head])),
            Some(offer) => (
                &b"sealcast2 rekey answer\0"[..],
                sha256(&[&entry_length(offer), offer, &entry_length(head), head]),
            ),
        };
        [label, self.binding, &self.epoch.to_be_bytes(), &hash].concat()
    }

    /// Signs a message, whose last bytes are the place for the signature.
    pub(crate) fn sign(&self, identity: &Identity, message: &mut [u8]) {
        if let Some((head, signature)) = message.split_last_chunk_mut::<SIGNATURE_LEN>() {
            *signature = identity.sign(&self.signed(head));
        }
    }

    /// Returns true if a message is signed by `peer`.
    pub(crate) fn verifies(&self, peer: &PeerId, message: &[u8]) -> bool {
        message
            .split_last_chunk::<SIGNATURE_LEN>()
            .is_some_and(|(head, signature)| peer.verifies(&self.signed(head), signature))
    }
}
