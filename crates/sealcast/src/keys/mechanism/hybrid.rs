//! Two mechanisms combined: secure as long as either of them is.

use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};

use super::{Ecdh, MlKem768, Sntrup761};

/// A lattice mechanism followed by X25519. Shares, ciphertexts and secrets are the concatenated parts.
pub struct Hybrid {
    id: u8,
    name: &'static str,
    lattice: Box<dyn Mechanism>,
    lattice_share: usize,
    lattice_ciphertext: usize,
    curve: Ecdh,
}

impl Hybrid {
    /// ML-KEM-768 and X25519.
    pub fn x25519_mlkem768() -> Self {
        Self {
            id: 1,
            name: "x25519-mlkem768",
            lattice: Box::new(MlKem768),
            lattice_share: 1184,
            lattice_ciphertext: 1088,
            curve: Ecdh::x25519(),
        }
    }

    /// sntrup761 and X25519.
    pub fn sntrup761_x25519() -> Self {
        Self {
            id: 5,
            name: "sntrup761-x25519",
            lattice: Box::new(Sntrup761),
            lattice_share: 1158,
            lattice_ciphertext: 1039,
            curve: Ecdh::x25519(),
        }
    }
}

impl Hybrid {
    /// The key of two recorded keys, for checking recorded transcripts; never for a handshake.
    pub fn key_of_parts(
        &self,
        lattice: Box<dyn DecapsulationKey>,
        curve: Box<dyn DecapsulationKey>,
    ) -> Box<dyn DecapsulationKey> {
        let share = [lattice.share(), curve.share()].concat();
        Box::new(HybridKey {
            lattice,
            curve,
            share,
            lattice_ciphertext: self.lattice_ciphertext,
        })
    }
}

struct HybridKey {
    lattice: Box<dyn DecapsulationKey>,
    curve: Box<dyn DecapsulationKey>,
    share: Vec<u8>,
    lattice_ciphertext: usize,
}

fn join(lattice: &SharedSecret, curve: &SharedSecret) -> SharedSecret {
    SharedSecret::new(&[lattice.as_bytes(), curve.as_bytes()])
}

impl Mechanism for Hybrid {
    fn id(&self) -> u8 {
        self.id
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        Ok(self.key_of_parts(self.lattice.generate()?, self.curve.generate()?))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        let (lattice, curve) = share.split_at_checked(self.lattice_share).ok_or(MechanismError::Peer)?;
        let (mut ciphertext, lattice_secret) = self.lattice.encapsulate(lattice)?;
        let (curve_ciphertext, curve_secret) = self.curve.encapsulate(curve)?;
        ciphertext.extend_from_slice(&curve_ciphertext);
        Ok((ciphertext, join(&lattice_secret, &curve_secret)))
    }
}

impl DecapsulationKey for HybridKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        let (lattice, curve) = ciphertext
            .split_at_checked(self.lattice_ciphertext)
            .ok_or(MechanismError::Peer)?;
        Ok(join(
            &self.lattice.decapsulate(lattice)?,
            &self.curve.decapsulate(curve)?,
        ))
    }
}
