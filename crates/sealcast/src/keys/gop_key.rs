//! The key that signs groups of pictures, with ML-DSA-65 (docs/spec/signatures.md, section 5). The library draws the
//! randomness of its signatures itself.

use aws_lc_rs::signature::{KeyPair, ML_DSA_65_SIGNING, PqdsaKeyPair};
use sealcast_proto::keys::Identity;
use sealcast_proto::sign::{Certificate, GOP_KEY_LEN, GOP_SIGNATURE_LEN, GopSignature, UnsignedPart, gop_seed};

use crate::failure::{Failure, FailureKind, Result};

/// Signs groups of pictures.
pub struct GopSigningKey {
    key: PqdsaKeyPair,
    certificate: Certificate,
}

impl GopSigningKey {
    /// The key of an identity, which certifies it.
    ///
    /// # Errors
    /// Kind `Internal`: the library fails.
    pub fn of(identity: &Identity) -> Result<Self> {
        let key = PqdsaKeyPair::from_seed(&ML_DSA_65_SIGNING, gop_seed(identity).as_ref());
        let key = key.map_err(|error| failed(&error.to_string()))?;
        let public: &[u8; GOP_KEY_LEN] = key
            .public_key()
            .as_ref()
            .try_into()
            .map_err(|_| failed("its key has another length"))?;
        let certificate = Certificate::issue(identity, public);
        Ok(Self { key, certificate })
    }

    /// Certificate that says whose key it is.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Signs a part of a stream. It takes a fraction of a millisecond, or several.
    ///
    /// # Errors
    /// Kind `Internal`: the library fails.
    pub fn sign(&self, part: UnsignedPart) -> Result<GopSignature> {
        let mut signature = [0; GOP_SIGNATURE_LEN];
        let made = self.key.sign(part.content(), &mut signature);
        made.map_err(|error| failed(&error.to_string()))?;
        Ok(part.signed(&signature))
    }
}

fn failed(why: &str) -> Failure {
    Failure::new(
        FailureKind::Internal,
        format!("ML-DSA does not work ({why})"),
        "please report this; --sign frame does without it",
    )
}
