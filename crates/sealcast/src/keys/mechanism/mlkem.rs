//! ML-KEM-768 (FIPS 203). The library draws the randomness.

use aws_lc_rs::kem::{self, Ciphertext, EncapsulationKey, ML_KEM_768};
use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};

/// ML-KEM-768 alone.
pub struct MlKem768;

struct MlKemKey {
    key: kem::DecapsulationKey,
    share: Vec<u8>,
}

/// Length of a decapsulation key in bytes (FIPS 203).
const SECRET_LEN: usize = 2400;
/// Position of the encapsulation key in it.
const PUBLIC: std::ops::Range<usize> = 1152..2336;

impl MlKem768 {
    /// The key of a recorded secret (FIPS 203, 2400 bytes), for checking recorded transcripts; never for a handshake.
    ///
    /// # Errors
    /// [`MechanismError::Library`] if the bytes are not a secret key.
    pub fn key_from_secret(&self, secret: &[u8]) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        if secret.len() != SECRET_LEN {
            return Err(MechanismError::Library);
        }
        let key = kem::DecapsulationKey::new(&ML_KEM_768, secret).map_err(|_| MechanismError::Library)?;
        let share = secret[PUBLIC].to_vec();
        Ok(Box::new(MlKemKey { key, share }))
    }
}

impl Mechanism for MlKem768 {
    fn id(&self) -> u8 {
        4
    }

    fn name(&self) -> &'static str {
        "mlkem768"
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let key = kem::DecapsulationKey::generate(&ML_KEM_768).map_err(|_| MechanismError::Library)?;
        let public = key.encapsulation_key().map_err(|_| MechanismError::Library)?;
        let share = public
            .key_bytes()
            .map_err(|_| MechanismError::Library)?
            .as_ref()
            .to_vec();
        Ok(Box::new(MlKemKey { key, share }))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        let key = EncapsulationKey::new(&ML_KEM_768, share).map_err(|_| MechanismError::Peer)?;
        let (ciphertext, secret) = key.encapsulate().map_err(|_| MechanismError::Peer)?;
        Ok((ciphertext.as_ref().to_vec(), SharedSecret::new(&[secret.as_ref()])))
    }
}

impl DecapsulationKey for MlKemKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        let secret = self
            .key
            .decapsulate(Ciphertext::from(ciphertext))
            .map_err(|_| MechanismError::Peer)?;
        Ok(SharedSecret::new(&[secret.as_ref()]))
    }
}
