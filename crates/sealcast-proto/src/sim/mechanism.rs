//! A deterministic stand-in for a key mechanism, so that the protocol can be simulated without randomness.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};

/// A mechanism that protects nothing: the shared secret is the ciphertext. For simulations only; its identifier is not
/// one of the protocol's.
pub struct InsecureMechanism {
    counter: AtomicU64,
    id: u8,
}

impl InsecureMechanism {
    /// A mechanism whose shares and ciphertexts count up from `seed`.
    pub fn new(seed: u64) -> Self {
        Self::named(seed, 0xFF)
    }

    /// The same with another identifier.
    pub fn named(seed: u64, id: u8) -> Self {
        Self {
            counter: AtomicU64::new(seed),
            id,
        }
    }

    fn next(&self) -> [u8; 32] {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&self.counter.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        bytes
    }
}

struct InsecureKey([u8; 32]);

impl Mechanism for InsecureMechanism {
    fn id(&self) -> u8 {
        self.id
    }

    fn name(&self) -> &'static str {
        "insecure-simulation"
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        Ok(Box::new(InsecureKey(self.next())))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        if share.len() != 32 {
            return Err(MechanismError::Peer);
        }
        let ciphertext = self.next();
        Ok((ciphertext.to_vec(), SharedSecret::new(&[&ciphertext])))
    }
}

impl DecapsulationKey for InsecureKey {
    fn share(&self) -> &[u8] {
        &self.0
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        if ciphertext.len() == 32 {
            Ok(SharedSecret::new(&[ciphertext]))
        } else {
            Err(MechanismError::Peer)
        }
    }
}
