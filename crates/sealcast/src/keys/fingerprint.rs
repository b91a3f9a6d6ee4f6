//! Fingerprints, which identify certificates that no authority vouches for.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};

use crate::failure::{Failure, FailureKind};

/// Length of a SHA-256 digest in bytes.
const LENGTH: usize = 32;
const HASH: &str = "sha256:";

/// SHA-256 of a certificate in DER, as sent in the TLS handshake: the value that `openssl x509 -noout -fingerprint
/// -sha256` prints.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint([u8; LENGTH]);

impl Fingerprint {
    /// Computes the fingerprint of a certificate in DER.
    pub fn of(certificate: &[u8]) -> Self {
        let mut bytes = [0; LENGTH];
        bytes.copy_from_slice(digest(&SHA256, certificate).as_ref());
        Self(bytes)
    }
}

impl FromStr for Fingerprint {
    type Err = Failure;

    /// Parses `sha256:` and 64 hexadecimal digits in either case, with or without colons between them.
    fn from_str(text: &str) -> Result<Self, Failure> {
        let digits = text.strip_prefix(HASH).map(|digits| digits.replace(':', ""));
        let bytes = digits.and_then(|digits| HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok());
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| {
            let what = "that is no fingerprint of a certificate";
            Failure::new(FailureKind::Usage, what, "write sha256: and 64 hexadecimal digits")
        })
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = Failure;

    fn try_from(text: String) -> Result<Self, Failure> {
        text.parse()
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{HASH}{}", HEXLOWER.encode(&self.0))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SHA-256 of "abc" (FIPS 180-4, the published example).
    const ABC: &str = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    #[test]
    fn a_fingerprint_is_read_as_openssl_and_cameras_write_it() {
        let fingerprint = Fingerprint::of(b"abc");
        assert_eq!(fingerprint.to_string(), ABC);
        let digits = ABC.trim_start_matches(HASH).to_uppercase();
        let pairs: Vec<&str> = (0..LENGTH).map(|at| &digits[at * 2..][..2]).collect();
        for text in [
            ABC.to_owned(),
            format!("{HASH}{digits}"),
            format!("{HASH}{}", pairs.join(":")),
        ] {
            assert_eq!(
                text.parse::<Fingerprint>().expect("a fingerprint"),
                fingerprint,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_fingerprint_is_refused() {
        for wrong in [
            "",
            "sha256:",
            "sha1:00",
            &ABC[7..],
            &ABC[..70],
            &format!("{ABC}00"),
            "sha256:zz",
        ] {
            assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
        }
    }
}
