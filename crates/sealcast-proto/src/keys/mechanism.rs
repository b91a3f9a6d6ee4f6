//! The seam for key encapsulation: a mechanism with its own randomness, handed to the protocol as a value.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// Longest shared secret of any mechanism in bytes.
const MAX_SHARED_SECRET: usize = 64;

/// What both ends get out of a mechanism. Wiped when dropped; it cannot be printed.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret {
    bytes: [u8; MAX_SHARED_SECRET],
    len: usize,
}

impl SharedSecret {
    /// A secret of up to 64 bytes, in parts: hybrids put one mechanism's after the other's.
    ///
    /// # Panics
    /// If the parts are longer than 64 bytes together: no mechanism's are.
    pub fn new(parts: &[&[u8]]) -> Self {
        let mut secret = Self {
            bytes: [0; MAX_SHARED_SECRET],
            len: 0,
        };
        for part in parts {
            secret.bytes[secret.len..secret.len + part.len()].copy_from_slice(part);
            secret.len += part.len();
        }
        secret
    }

    /// The secret's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Why a mechanism failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MechanismError {
    /// The peer's public key or ciphertext is not one.
    #[error("the peer's public key or ciphertext is not valid")]
    Peer,
    /// The library or its generator of randomness failed.
    #[error("the cryptographic library failed")]
    Library,
}

/// A key encapsulation mechanism. It draws its own randomness, so the protocol itself draws none.
pub trait Mechanism: Send + Sync {
    /// Identifier on the wire (protocol.md §3).
    fn id(&self) -> u8;

    /// Name as users type it.
    fn name(&self) -> &'static str;

    /// A fresh key pair, for one use.
    ///
    /// # Errors
    /// [`MechanismError::Library`].
    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError>;

    /// A fresh secret for the holder of the public key `share`, and the ciphertext that takes it there.
    ///
    /// # Errors
    /// [`MechanismError::Peer`] for a `share` that is no public key of this mechanism.
    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError>;
}

/// The secret half of a fresh key pair.
pub trait DecapsulationKey: Send {
    /// The public half.
    fn share(&self) -> &[u8];

    /// The secret in `ciphertext`. The key is dropped once one of them has proved to be the peer's; until then somebody
    /// else may have sent it.
    ///
    /// # Errors
    /// [`MechanismError::Peer`] for bytes that are no ciphertext of this mechanism.
    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError>;
}
