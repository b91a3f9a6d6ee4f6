//! Ed25519 identities (keys.md §1).

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use zeroize::Zeroizing;

use super::Secret;
use crate::wire::{PeerId, base32};

const FILE_FIRST_LINE: &str = "sealcast-identity-1";

impl PeerId {
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        let verified = UnparsedPublicKey::new(&ED25519, self.0).verify(message, signature);
        Self::new(self.0).is_some() && verified.is_ok()
    }
}

/// A long-term key pair. It cannot be printed.
pub struct Identity {
    pair: Ed25519KeyPair,
    seed: Zeroizing<[u8; 32]>,
    peer: PeerId,
}

/// Reason why a text is not an identity. It contains no part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IdentityError {
    /// The first line is not `sealcast-identity-1`.
    #[error("its first line is not sealcast-identity-1")]
    FirstLine,
    /// The rest of the text is not one line with a seed in base32.
    #[error("its second line is not 52 characters of lower-case base32")]
    Seed,
}

impl Identity {
    /// Creates the identity with a 32-byte seed.
    pub fn from_seed(seed: &[u8; 32]) -> Self {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).expect("any 32 bytes are an Ed25519 seed");
        let peer = PeerId(
            pair.public_key()
                .as_ref()
                .try_into()
                .expect("Ed25519 public keys have 32 bytes"),
        );
        Self {
            pair,
            seed: Zeroizing::new(*seed),
            peer,
        }
    }

    /// Parses the text of an identity file.
    ///
    /// # Errors
    /// [`IdentityError`] names the invalid line.
    pub fn from_file_text(text: &str) -> Result<Self, IdentityError> {
        let (first, rest) = text.split_once('\n').ok_or(IdentityError::FirstLine)?;
        if first != FILE_FIRST_LINE {
            return Err(IdentityError::FirstLine);
        }
        let seed = rest.strip_suffix('\n').ok_or(IdentityError::Seed)?;
        let seed = Zeroizing::new(base32::decode::<32>(seed).ok_or(IdentityError::Seed)?);
        Ok(Self::from_seed(&seed))
    }

    /// Returns the text of an identity file. It is secret: write it only to a file with mode 0600.
    pub fn reveal_file_text(&self) -> Zeroizing<String> {
        let seed = Zeroizing::new(base32::encode(self.seed.as_ref()));
        Zeroizing::new([FILE_FIRST_LINE, "\n", seed.as_str(), "\n"].concat())
    }

    /// Derives another seed from this one, from which nobody can work back (keys.md §2).
    pub(crate) fn derive_seed(&self, salt: &[u8], label: &[u8]) -> Zeroizing<[u8; 32]> {
        let mut derived = Zeroizing::new([0; 32]);
        Secret::extract(salt, self.seed.as_ref()).expand(label, b"", derived.as_mut());
        derived
    }

    /// Returns the public half.
    pub fn peer_id(&self) -> PeerId {
        self.peer
    }

    pub(crate) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.pair
            .sign(message)
            .as_ref()
            .try_into()
            .expect("Ed25519 signatures have 64 bytes")
    }
}
