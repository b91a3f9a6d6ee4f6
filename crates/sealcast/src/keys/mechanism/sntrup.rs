//! Streamlined NTRU Prime sntrup761, only ever used in the hybrid with X25519.

use ::sntrup::sntrup761::{self, Ciphertext, EncapsulationKey};
use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;
use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};

/// sntrup761 as half of a hybrid. Its identifier is never sent.
pub struct Sntrup761;

struct SntrupKey {
    key: sntrup761::DecapsulationKey,
    share: Vec<u8>,
}

impl Sntrup761 {
    /// The key of a recorded secret (NTRU Prime encoding, 1763 bytes), for checking recorded transcripts; never for a
    /// handshake.
    ///
    /// # Errors
    /// [`MechanismError::Library`] if the bytes are not a secret key.
    pub fn key_from_secret(&self, secret: &[u8]) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let key = sntrup761::DecapsulationKey::try_from(secret).map_err(|_| MechanismError::Library)?;
        let share = key.encapsulation_key().as_ref().to_vec();
        Ok(Box::new(SntrupKey { key, share }))
    }
}

/// The operating system's generator; it leaves no state in our memory that would have to be wiped.
fn system_rng() -> UnwrapErr<SysRng> {
    UnwrapErr(SysRng)
}

impl Mechanism for Sntrup761 {
    fn id(&self) -> u8 {
        0
    }

    fn name(&self) -> &'static str {
        "sntrup761"
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let (public, key) = sntrup761::generate_key(&mut system_rng());
        Ok(Box::new(SntrupKey {
            key,
            share: public.as_ref().to_vec(),
        }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        let key = EncapsulationKey::try_from(share).map_err(|_| MechanismError::Peer)?;
        let (ciphertext, secret) = key.encapsulate(&mut system_rng());
        Ok((ciphertext.as_ref().to_vec(), SharedSecret::new(&[secret.as_ref()])))
    }
}

impl DecapsulationKey for SntrupKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        let ciphertext = Ciphertext::try_from(ciphertext).map_err(|_| MechanismError::Peer)?;
        Ok(SharedSecret::new(&[self.key.decapsulate(&ciphertext).as_ref()]))
    }
}
