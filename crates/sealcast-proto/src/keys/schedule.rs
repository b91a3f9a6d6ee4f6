//! Labelled expansion, and the keys of the handshake (keys.md §2 and §4).

use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use aws_lc_rs::{aead, digest};
use zeroize::Zeroizing;

const LABEL_PREFIX: &[u8] = b"sealcast2 ";

/// A 32-byte secret from which others are derived. It is wiped when dropped, and cannot be printed.
pub struct Secret(Prk);

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Secret {
    /// HKDF-Extract.
    pub fn extract(salt: &[u8], input: &[u8]) -> Self {
        Self(Salt::new(HKDF_SHA256, salt).extract(input))
    }

    /// Creates a secret from its bytes.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        Self(Prk::new_less_safe(HKDF_SHA256, bytes))
    }

    /// `EL(self, label, context, out.len())` of keys.md §2.
    ///
    /// # Panics
    /// If `context` or the label with its prefix of 10 bytes is longer than 255 bytes, or `out` longer than 8160:
    /// callers keep to these bounds.
    pub fn expand(&self, label: &[u8], context: &[u8], out: &mut [u8]) {
        let short = |len: usize| [u8::try_from(len).expect("labels and contexts are short")];
        let length = u16::try_from(out.len()).expect("keys are short").to_be_bytes();
        let label_length = short(LABEL_PREFIX.len() + label.len());
        let context_length = short(context.len());
        let info = [
            &length[..],
            &label_length,
            LABEL_PREFIX,
            label,
            &context_length,
            context,
        ];
        self.0
            .expand(&info, Length(out.len()))
            .and_then(|okm| okm.fill(out))
            .expect("HKDF gives up to 255 blocks");
    }

    /// Derives another 32-byte secret.
    pub(crate) fn derive(&self, label: &[u8], context: &[u8]) -> Self {
        let mut bytes = Zeroizing::new([0; 32]);
        self.expand(label, context, bytes.as_mut());
        Self::from_bytes(&bytes)
    }
}

/// The encrypted parts of the handshake.
#[derive(Clone, Copy)]
pub(crate) enum SealedPart {
    Reply,
    Finish,
}

impl SealedPart {
    fn labels(self) -> (&'static [u8], &'static [u8]) {
        match self {
            Self::Reply => (b"reply key", b"reply iv"),
            Self::Finish => (b"finish key", b"finish iv"),
        }
    }

    fn key(self, hs: &Secret, th: &[u8; 32]) -> (aead::LessSafeKey, aead::Nonce) {
        let (key_label, iv_label) = self.labels();
        let mut key = Zeroizing::new([0; 32]);
        let mut iv = [0; 12];
        hs.expand(key_label, th, key.as_mut());
        hs.expand(iv_label, th, &mut iv);
        let key = aead::UnboundKey::new(&aead::AES_256_GCM, key.as_ref()).expect("AES-256 keys have 32 bytes");
        (aead::LessSafeKey::new(key), aead::Nonce::assume_unique_for_key(iv))
    }

    /// Seals the part. Each key is used only for this one call.
    pub(crate) fn seal(self, hs: &Secret, th: &[u8; 32], mut part: Vec<u8>) -> Vec<u8> {
        let (key, nonce) = self.key(hs, th);
        key.seal_in_place_append_tag(nonce, aead::Aad::from(th), &mut part)
            .expect("the part is short");
        part
    }

    /// Opens the part.
    pub(crate) fn open(self, hs: &Secret, th: &[u8; 32], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (key, nonce) = self.key(hs, th);
        let mut part = Zeroizing::new(sealed.to_vec());
        let length = key.open_in_place(nonce, aead::Aad::from(th), &mut part).ok()?.len();
        part.truncate(length);
        Some(part)
    }
}

/// SHA-256.
pub(crate) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut context = digest::Context::new(&digest::SHA256);
    for part in parts {
        context.update(part);
    }
    context.finish().as_ref().try_into().expect("SHA-256 gives 32 bytes")
}
