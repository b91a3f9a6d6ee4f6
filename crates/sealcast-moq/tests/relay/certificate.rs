//! A certificate for relays, which stays the same when one starts again.

use std::fs;
use std::path::PathBuf;

use moq_tokio::tls::Certificates;

/// Files in PEM, and the SHA-256 in hex.
pub(crate) struct Certificate {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) sha256: String,
}

impl Certificate {
    /// A new one for 127.0.0.1, in a folder of the test with this name.
    pub(crate) fn new(test: &str) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
        fs::create_dir_all(&folder).unwrap();
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (chain, key) = (folder.join("chain.pem"), folder.join("key.pem"));
        fs::write(&chain, made.cert.pem()).unwrap();
        fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let known = Certificates::from_pem(made.cert.pem().as_bytes()).unwrap();
        let sha256 = known.fingerprints().remove(0);
        Self { chain, key, sha256 }
    }
}
