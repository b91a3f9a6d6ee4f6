//! Reads `vectors/*.json`. Every structure refuses unknown fields, so a renamed key fails the test that reads it.

use std::path::Path;

use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Reads a file of test vectors.
pub fn load<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../vectors/{name}.json"));
    let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Bytes in the notation of the vectors.
pub fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// Bytes written in hex.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Hex(pub Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = data_encoding::DecodeError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        HEXLOWER.decode(text.as_bytes()).map(Self)
    }
}

impl Hex {
    /// The bytes as an array; fails if their number is different.
    pub fn array<const N: usize>(&self) -> [u8; N] {
        self.0[..].try_into().expect("the vector has another length")
    }
}
