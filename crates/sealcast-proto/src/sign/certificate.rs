//! The ML-DSA-65 key of a camera, and the certificate that its identity gives it (signatures.md §5).
//!
//! This crate verifies with the key and does not sign: AWS-LC hedges signatures with random bytes of its own, so the
//! program signs, as it encapsulates keys, outside of the deterministic protocol.

use aws_lc_rs::signature::{ML_DSA_65, ParsedPublicKey};
use zeroize::Zeroizing;

use super::merkle::Hash;
use crate::keys::{Identity, sha256};
use crate::wire::{Malformed, PeerId, Reader};

const VERSION: u8 = 1;

/// Length of an ML-DSA-65 public key in bytes (FIPS 204, table 2).
pub const GOP_KEY_LEN: usize = 1952;

/// Length of an ML-DSA-65 signature in bytes (FIPS 204, table 2).
pub const GOP_SIGNATURE_LEN: usize = 3309;

/// Length of a certificate in bytes.
pub const CERTIFICATE_LEN: usize = 1 + GOP_KEY_LEN + 64;

const LABEL: &[u8] = b"sealcast2 gop key\0";
const ID_LABEL: &[u8] = b"sealcast2 gop key id\0";

/// The seed of a camera's ML-DSA-65 key pair (FIPS 204, algorithm 6). It follows from the identity, so there is no
/// second secret to keep.
pub fn gop_seed(identity: &Identity) -> Zeroizing<[u8; 32]> {
    identity.derive_seed(b"sealcast2 gop key", b"ml-dsa-65")
}

/// The key's id, by which a verifier knows it again.
pub fn gop_key_id(key: &[u8; GOP_KEY_LEN]) -> Hash {
    sha256(&[ID_LABEL, key])
}

/// An ML-DSA-65 public key that a camera's identity vouches for. Not verified yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    key: Box<[u8; GOP_KEY_LEN]>,
    signature: [u8; 64],
}

/// Reason why a certificate is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// It is for another key than the one that is pinned.
    #[error("the certificate is for another key than the one known of this camera")]
    Pinned,
    /// The camera's identity did not sign it.
    #[error("the camera did not sign the certificate")]
    Signature,
    /// The cryptographic library does not take the key.
    #[error("the certificate has no ML-DSA-65 key")]
    Key,
}

impl Certificate {
    /// Certifies the public key that belongs to [`gop_seed`].
    pub fn issue(identity: &Identity, key: &[u8; GOP_KEY_LEN]) -> Self {
        Self {
            key: Box::new(*key),
            signature: identity.sign(&[LABEL, key].concat()),
        }
    }

    /// The certificate's bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        [&[VERSION], &self.key[..], &self.signature].concat()
    }

    /// Parses a certificate.
    ///
    /// # Errors
    /// [`Malformed`]: another version or length.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u8()? != VERSION {
            return Err(Malformed);
        }
        let certificate = Self {
            key: Box::new(reader.array()?),
            signature: reader.array()?,
        };
        reader.finish()?;
        Ok(certificate)
    }

    /// Accepts the key as that of `camera`. `pinned` is the id under which it is known already; without it the
    /// certificate is as good as Ed25519 is today.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn verify(&self, camera: &PeerId, pinned: Option<&Hash>) -> Result<GopKey, CertificateError> {
        let id = gop_key_id(&self.key);
        if pinned.is_some_and(|pinned| *pinned != id) {
            return Err(CertificateError::Pinned);
        }
        if !camera.verifies(&[LABEL, &self.key[..]].concat(), &self.signature) {
            return Err(CertificateError::Signature);
        }
        let key = ParsedPublicKey::new(&ML_DSA_65, &self.key[..]).map_err(|_| CertificateError::Key)?;
        Ok(GopKey {
            camera: *camera,
            id,
            key,
        })
    }
}

/// The ML-DSA-65 public key of a camera, vouched for by its identity.
#[derive(Clone)]
pub struct GopKey {
    camera: PeerId,
    id: Hash,
    key: ParsedPublicKey,
}

impl GopKey {
    /// The camera.
    pub fn camera(&self) -> &PeerId {
        &self.camera
    }

    /// The id to pin, for judging recordings when Ed25519 is broken.
    pub fn id(&self) -> Hash {
        self.id
    }

    pub(super) fn verifies(&self, content: &[u8], signature: &[u8; GOP_SIGNATURE_LEN]) -> bool {
        self.key.verify_sig(content, signature).is_ok()
    }
}
