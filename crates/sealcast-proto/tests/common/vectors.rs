//! Reading `vectors/*.json`. Every structure refuses fields it does not know, so a renamed key fails the test that reads it.

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A file of vectors.
#[allow(clippy::disallowed_methods, reason = "a test reads its vectors")]
pub(crate) fn load<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../vectors/{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Bytes written in hex.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Hex(pub(crate) Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = data_encoding::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        HEXLOWER.decode(text.as_bytes()).map(Self)
    }
}

impl Hex {
    pub(crate) fn array<const N: usize>(&self) -> [u8; N] {
        self.0[..].try_into().expect("the vector has another length")
    }
}

/// A raw AEAD, for what the machines under test do not show.
pub(crate) fn raw_seal(suite: u8, key: &[u8], nonce: &[u8], header: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut sealed = payload.to_vec();
    let algorithm = match suite {
        1 => &aws_lc_rs::aead::AES_128_GCM,
        2 => &aws_lc_rs::aead::AES_256_GCM,
        3 => &aws_lc_rs::aead::CHACHA20_POLY1305,
        4 => return raw_aegis(key, nonce, header, sealed),
        other => panic!("suite {other} is not in the vectors"),
    };
    let key = aws_lc_rs::aead::UnboundKey::new(algorithm, key).expect("a key of this suite");
    let nonce = aws_lc_rs::aead::Nonce::try_assume_unique_for_key(nonce).expect("a nonce of this suite");
    aws_lc_rs::aead::LessSafeKey::new(key)
        .seal_in_place_append_tag(nonce, aws_lc_rs::aead::Aad::from(header), &mut sealed)
        .expect("short");
    sealed
}

fn raw_aegis(key: &[u8], nonce: &[u8], header: &[u8], mut sealed: Vec<u8>) -> Vec<u8> {
    let (key, nonce) = (key.try_into().expect("16 bytes"), nonce.try_into().expect("16 bytes"));
    let tag = aegis::aegis128x4::Aegis128X4::<16>::new(key, nonce).encrypt_in_place(&mut sealed, header);
    sealed.extend_from_slice(&tag);
    sealed
}
