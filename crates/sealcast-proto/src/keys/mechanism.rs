//! The interface of key encapsulation mechanisms. A mechanism has its own randomness, and is passed to the protocol as
//! a value.

use zeroize::{Zeroize, ZeroizeOnDrop};

/// Maximum length of the shared secret of any mechanism in bytes.
const MAX_SHARED_SECRET: usize = 64;

/// The shared secret of a mechanism. It is wiped when dropped, and cannot be printed.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct SharedSecret {
    bytes: [u8; MAX_SHARED_SECRET],
    len: usize,
}

impl SharedSecret {
    /// Creates a secret of up to 64 bytes from its parts; a hybrid concatenates the secrets of its mechanisms.
    ///
    /// # Panics
    /// If the parts together are longer than 64 bytes; the secret of no mechanism is.
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

    /// Returns the secret's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// Reason why a mechanism failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MechanismError {
    /// The peer's public key or ciphertext is not valid.
    #[error("the peer's public key or ciphertext is not valid")]
    Peer,
    /// The cryptographic library or its random number generator failed.
    #[error("the cryptographic library failed")]
    Library,
}

/// A key encapsulation mechanism. It draws its own randomness, so the protocol itself draws none.
pub trait Mechanism: Send + Sync {
    /// Identifier on the wire (protocol.md §3).
    fn id(&self) -> u8;

    /// Name as users type it.
    fn name(&self) -> &'static str;

    /// Generates a fresh key pair, for one use.
    ///
    /// # Errors
    /// [`MechanismError::Library`].
    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError>;

    /// Creates a fresh secret for the holder of the public key `share`, and returns it after its ciphertext.
    ///
    /// # Errors
    /// [`MechanismError::Peer`] if `share` is not a public key of this mechanism.
    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError>;
}

/// The secret half of a fresh key pair.
pub trait DecapsulationKey: Send {
    /// Returns the public half.
    fn share(&self) -> &[u8];

    /// Decapsulates the secret in `ciphertext`. A ciphertext may come from an attacker, so the key stays usable; the
    /// caller drops it once a ciphertext has proved to be the peer's.
    ///
    /// # Errors
    /// [`MechanismError::Peer`] if `ciphertext` is not a ciphertext of this mechanism.
    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError>;
}
