//! Diffie-Hellman as a key encapsulation mechanism: the ciphertext is the responder's ephemeral public key.

use aws_lc_rs::agreement::{Algorithm, ECDH_P256, PrivateKey, UnparsedPublicKey, X25519, agree};
use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};
use zeroize::Zeroizing;

use crate::keys::entropy;

/// Attempts to generate a key: a random string is an invalid P-256 key once in 2³², so two are already plenty.
const ATTEMPTS: usize = 8;

/// X25519 or ECDH on P-256.
pub struct Ecdh {
    id: u8,
    name: &'static str,
    algorithm: &'static Algorithm,
}

impl Ecdh {
    /// X25519 (RFC 7748).
    pub fn x25519() -> Self {
        Self {
            id: 2,
            name: "x25519",
            algorithm: &X25519,
        }
    }

    /// ECDH on P-256 (NIST SP 800-56A).
    pub fn p256() -> Self {
        Self {
            id: 3,
            name: "p256",
            algorithm: &ECDH_P256,
        }
    }

    /// The key of a recorded secret, for checking recorded transcripts; never for a handshake.
    ///
    /// # Errors
    /// [`MechanismError::Library`] if the bytes are not a secret key.
    pub fn key_from_secret(&self, secret: &[u8]) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let key = PrivateKey::from_private_key(self.algorithm, secret).map_err(|_| MechanismError::Library)?;
        Ok(Box::new(EcdhKey::new(key)?))
    }

    /// Generates a key from our own mixed entropy rather than from the library's generator alone.
    fn fresh_key(&self) -> Result<EcdhKey, MechanismError> {
        for _ in 0..ATTEMPTS {
            let seed = Zeroizing::new(entropy::random::<32>().map_err(|_| MechanismError::Library)?);
            if let Ok(key) = PrivateKey::from_private_key(self.algorithm, seed.as_ref()) {
                return EcdhKey::new(key);
            }
        }
        Err(MechanismError::Library)
    }
}

struct EcdhKey {
    key: PrivateKey,
    share: Vec<u8>,
}

impl EcdhKey {
    fn new(key: PrivateKey) -> Result<Self, MechanismError> {
        let share = key.compute_public_key().map_err(|_| MechanismError::Library)?;
        let share = share.as_ref().to_vec();
        Ok(Self { key, share })
    }

    fn agree(&self, peer: &[u8]) -> Result<SharedSecret, MechanismError> {
        // The library also accepts compressed and hybrid points; the protocol allows only one encoding, that of our
        // own share.
        let curve_point = self.key.algorithm() == &ECDH_P256;
        if peer.len() != self.share.len() || (curve_point && peer[0] != self.share[0]) {
            return Err(MechanismError::Peer);
        }
        let peer = UnparsedPublicKey::new(self.key.algorithm(), peer);
        agree(&self.key, peer, MechanismError::Peer, |secret| {
            Ok(SharedSecret::new(&[secret]))
        })
    }
}

impl Mechanism for Ecdh {
    fn id(&self) -> u8 {
        self.id
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        Ok(Box::new(self.fresh_key()?))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        let key = self.fresh_key()?;
        let secret = key.agree(share)?;
        Ok((key.share, secret))
    }
}

impl DecapsulationKey for EcdhKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        self.agree(ciphertext)
    }
}
