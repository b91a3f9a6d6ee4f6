//! Binders: HMAC-SHA-256 of one hash, under keys of which a responder tries thousands on each hello (keys.md §4).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::ZeroizeOnDrop;

/// Length of the binder in a hello in bytes.
pub(crate) const BINDER_LEN: usize = 16;

/// The key of a binder, as far as HMAC can be computed before the message is known. With AWS-LC a key takes eight times
/// the room, and a tag longer.
#[derive(Clone)]
pub(super) struct BinderKey(Hmac<Sha256>);

/// Fails to build if the library does not wipe the states of a hash, of which a key of HMAC consists.
const _: fn() = || {
    fn is_wiped<T: ZeroizeOnDrop>() {}
    is_wiped::<Sha256>();
};

impl BinderKey {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of any length"))
    }

    /// The binder of a hello whose head has this hash.
    pub(super) fn binder(&self, head_hash: &[u8; 32]) -> [u8; BINDER_LEN] {
        let tag = self.0.clone().chain_update(head_hash).finalize().into_bytes();
        tag.first_chunk().copied().expect("HMAC-SHA-256 gives 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use aws_lc_rs::hmac;

    use super::*;

    #[test]
    fn a_binder_is_the_beginning_of_the_hmac() {
        for byte in 0..=255_u8 {
            let (key, hash) = ([byte; 32], [byte.wrapping_mul(7); 32]);
            let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), &hash);
            assert_eq!(BinderKey::new(&key).binder(&hash), tag.as_ref()[..BINDER_LEN], "{byte}");
        }
    }

    #[test]
    fn a_key_takes_little_room() {
        assert!(size_of::<BinderKey>() <= 160, "{}", size_of::<BinderKey>());
    }
}
