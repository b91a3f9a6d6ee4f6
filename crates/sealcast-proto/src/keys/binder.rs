//! Binders: HMAC-SHA-256 of one hash, under keys of which a responder tries thousands on each hello (keys.md §4).

use sha2::block_api::compress256;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

/// Length of the binder in a hello in bytes.
pub(crate) const BINDER_LEN: usize = 16;

/// Length of a block of SHA-256 in bytes.
const BLOCK: usize = 64;
/// SHA-256 begins with this state (FIPS 180-4, 5.3.3).
const BEGIN: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
/// The second block of either hash: 32 bytes, and the padding that says that 96 bytes were hashed.
const SECOND: [u8; BLOCK] = {
    let mut block = [0; BLOCK];
    block[32] = 0x80;
    let [high, low] = ((BLOCK + 32) as u16 * 8).to_be_bytes();
    (block[BLOCK - 2], block[BLOCK - 1]) = (high, low);
    block
};

/// The key of a binder, as far as HMAC can be computed before the message is known. Of the library's own HMAC a key
/// takes twelve times the room, and a tag three times as long.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub(super) struct BinderKey {
    inner: [u32; 8],
    outer: [u32; 8],
}

impl BinderKey {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let after = |pad: u8| {
            let mut block = Zeroizing::new([pad; BLOCK]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            let mut state = BEGIN;
            compress256(&mut state, std::slice::from_ref(&*block));
            state
        };
        Self {
            inner: after(0x36),
            outer: after(0x5c),
        }
    }

    /// The binder of a hello whose head has this hash.
    pub(super) fn binder(&self, head_hash: &[u8; 32]) -> [u8; BINDER_LEN] {
        let mut block = SECOND;
        block[..32].copy_from_slice(head_hash);
        let mut inner = self.inner;
        compress256(&mut inner, std::slice::from_ref(&block));
        put(&mut block[..32], &inner);
        let mut outer = self.outer;
        compress256(&mut outer, std::slice::from_ref(&block));
        let mut binder = [0; BINDER_LEN];
        put(&mut binder, &outer);
        binder
    }
}

/// Writes as many words as there is room for.
fn put(bytes: &mut [u8], words: &[u32; 8]) {
    for (bytes, word) in bytes.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_be_bytes());
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
}
