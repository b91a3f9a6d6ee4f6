//! RSA-2048 key transport with OAEP and an ephemeral key, for comparison and compatibility (PI-1).

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::{
    KeySize, OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use sealcast_proto::keys::{DecapsulationKey, Mechanism, MechanismError, SharedSecret};
use zeroize::Zeroizing;

use crate::keys::entropy;

const MODULUS_BITS: usize = 2048;
const SECRET_LEN: usize = 32;
/// Length of a SubjectPublicKeyInfo with a modulus of 2048 bits and the exponent 65537. The bytes before and after
/// the modulus are the same for all keys.
const SHARE_LEN: usize = 294;
const SHARE_END: [u8; 5] = [0x02, 0x03, 0x01, 0x00, 0x01];

/// RSA-2048 with OAEP, SHA-256 and MGF1-SHA-256.
pub struct Rsa2048;

struct RsaKey {
    key: OaepPrivateDecryptingKey,
    share: Vec<u8>,
}

impl Rsa2048 {
    /// The key of a recorded secret (PKCS #8 in DER), for checking recorded transcripts; never for a handshake.
    ///
    /// # Errors
    /// [`MechanismError::Library`] if the bytes are not a secret key of 2048 bits.
    pub fn key_from_secret(&self, pkcs8: &[u8]) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let key = PrivateDecryptingKey::from_pkcs8(pkcs8).map_err(|_| MechanismError::Library)?;
        Ok(Box::new(RsaKey::new(key)?))
    }
}

impl RsaKey {
    fn new(key: PrivateDecryptingKey) -> Result<Self, MechanismError> {
        let share = key.public_key().as_der().map_err(|_| MechanismError::Library)?;
        let share = share.as_ref().to_vec();
        if !has_form(&share) {
            return Err(MechanismError::Library);
        }
        let key = OaepPrivateDecryptingKey::new(key).map_err(|_| MechanismError::Library)?;
        Ok(Self { key, share })
    }
}

fn has_form(share: &[u8]) -> bool {
    share.len() == SHARE_LEN && share.ends_with(&SHARE_END)
}

/// Parses the peer's key; only one encoding is accepted.
fn parse_share(share: &[u8]) -> Result<OaepPublicEncryptingKey, MechanismError> {
    if !has_form(share) {
        return Err(MechanismError::Peer);
    }
    let key = PublicEncryptingKey::from_der(share).map_err(|_| MechanismError::Peer)?;
    let again = key.as_der().map_err(|_| MechanismError::Library)?;
    if key.key_size_bits() != MODULUS_BITS || again.as_ref() != share {
        return Err(MechanismError::Peer);
    }
    OaepPublicEncryptingKey::new(key).map_err(|_| MechanismError::Peer)
}

impl Mechanism for Rsa2048 {
    fn id(&self) -> u8 {
        16
    }

    fn name(&self) -> &'static str {
        "rsa2048"
    }

    fn generate(&self) -> Result<Box<dyn DecapsulationKey>, MechanismError> {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).map_err(|_| MechanismError::Library)?;
        Ok(Box::new(RsaKey::new(key)?))
    }

    fn encapsulate(&self, share: &[u8]) -> Result<(Vec<u8>, SharedSecret), MechanismError> {
        let key = parse_share(share)?;
        let secret = Zeroizing::new(entropy::random::<SECRET_LEN>().map_err(|_| MechanismError::Library)?);
        let mut ciphertext = vec![0; key.ciphertext_size()];
        key.encrypt(&OAEP_SHA256_MGF1SHA256, secret.as_ref(), &mut ciphertext, None)
            .map_err(|_| MechanismError::Peer)?;
        Ok((ciphertext, SharedSecret::new(&[secret.as_ref()])))
    }
}

impl DecapsulationKey for RsaKey {
    fn share(&self) -> &[u8] {
        &self.share
    }

    fn decapsulate(&self, ciphertext: &[u8]) -> Result<SharedSecret, MechanismError> {
        let mut room = Zeroizing::new(vec![0; self.key.min_output_size()]);
        let secret = self
            .key
            .decrypt(&OAEP_SHA256_MGF1SHA256, ciphertext, &mut room, None)
            .map_err(|_| MechanismError::Peer)?;
        if secret.len() == SECRET_LEN {
            Ok(SharedSecret::new(&[secret]))
        } else {
            Err(MechanismError::Peer)
        }
    }
}
