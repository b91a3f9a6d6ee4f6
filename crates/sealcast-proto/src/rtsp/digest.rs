//! Digest authentication (RFC 7616): hashes, and the response that proves a password.
//!
//! Digest without `qop` follows RFC 2069, since many cameras and players are that old. MD5 protects a password only
//! from an attacker who cannot guess passwords offline; it is supported because most of these devices know nothing
//! else. The video is protected by the sealed session, not by this.

use aws_lc_rs::digest::{SHA256, SHA512_256, digest};
use data_encoding::HEXLOWER;
use md5::{Digest as _, Md5};
use zeroize::Zeroizing;

use super::credentials::Credentials;

/// Hash function of Digest authentication, in the order of their strength.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Hash {
    #[default]
    Md5,
    Sha256,
    Sha512Half,
}

impl Hash {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Md5 => "MD5",
            Self::Sha256 => "SHA-256",
            Self::Sha512Half => "SHA-512-256",
        }
    }

    fn hex(self, text: &[u8]) -> Zeroizing<String> {
        Zeroizing::new(match self {
            Self::Md5 => HEXLOWER.encode(&Md5::digest(text)),
            Self::Sha256 => HEXLOWER.encode(digest(&SHA256, text).as_ref()),
            Self::Sha512Half => HEXLOWER.encode(digest(&SHA512_256, text).as_ref()),
        })
    }

    fn hex_of(self, parts: &[&str]) -> Zeroizing<String> {
        self.hex(Zeroizing::new(parts.join(":")).as_bytes())
    }
}

/// Algorithm of Digest authentication: a hash function, and whether the first nonces are hashed with the password
/// (`-sess`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Algorithm {
    pub(super) hash: Hash,
    pub(super) session: bool,
}

impl Algorithm {
    /// Returns the algorithm with a name as in a challenge, MD5 if there is none.
    pub(super) fn named(name: Option<&str>) -> Option<Self> {
        const SESSION: &str = "-sess";
        let Some(name) = name else {
            return Some(Self::default());
        };
        let split = name
            .len()
            .checked_sub(SESSION.len())
            .filter(|at| name.is_char_boundary(*at));
        let split = split.map(|at| name.split_at(at));
        let stem = split
            .filter(|(_, end)| end.eq_ignore_ascii_case(SESSION))
            .map(|(stem, _)| stem);
        let known = [Hash::Md5, Hash::Sha256, Hash::Sha512Half].into_iter();
        let hash = known
            .into_iter()
            .find(|hash| hash.name().eq_ignore_ascii_case(stem.unwrap_or(name)))?;
        Some(Self {
            hash,
            session: stem.is_some(),
        })
    }
}

/// Quality of protection: what a response covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// `auth`: method and URL.
    Request,
    /// `auth-int`: the body as well.
    Body,
}

impl Protection {
    /// Parses the value of `qop`, a list. `Some(None)` if there is none; `None` if no entry is known.
    pub(super) fn parse(list: Option<&str>) -> Option<Option<Self>> {
        let list = list.unwrap_or_default();
        let has = |wanted: &str| {
            list.split([',', ' '])
                .any(|qop| qop.trim().eq_ignore_ascii_case(wanted))
        };
        if list.trim().is_empty() {
            Some(None)
        } else if has("auth") {
            Some(Some(Self::Request))
        } else {
            has("auth-int").then_some(Some(Self::Body))
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Request => "auth",
            Self::Body => "auth-int",
        }
    }
}

/// Inputs of a Digest response, other than the credentials.
pub(super) struct Proof<'a> {
    pub(super) algorithm: Algorithm,
    pub(super) realm: &'a str,
    pub(super) nonce: &'a str,
    pub(super) method: &'a str,
    pub(super) url: &'a str,
    pub(super) body: &'a [u8],
    /// The client's nonce; of use with `qop` or `-sess`.
    pub(super) cnonce: &'a str,
    /// `nc` and `qop`, if there is one.
    pub(super) counted: Option<(&'a str, Protection)>,
}

impl Proof<'_> {
    pub(super) fn response(&self, credentials: &Credentials) -> Zeroizing<String> {
        let hex = |parts: &[&str]| self.algorithm.hash.hex_of(parts);
        let mut secret = hex(&[&credentials.user, self.realm, &credentials.password]);
        if self.algorithm.session {
            secret = hex(&[&secret, self.nonce, self.cnonce]);
        }
        let request = match self.counted {
            Some((_, Protection::Body)) => hex(&[self.method, self.url, &self.algorithm.hash.hex(self.body)]),
            _ => hex(&[self.method, self.url]),
        };
        match self.counted {
            Some((nc, qop)) => hex(&[&secret, self.nonce, nc, self.cnonce, qop.name(), &request]),
            None => hex(&[&secret, self.nonce, &request]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7616 §3.9.1 and §3.9.2 (the latter as its errata correct it).
    #[test]
    fn digest_is_that_of_the_standards_examples() {
        let mut proof = Proof {
            algorithm: Algorithm::default(),
            realm: "http-auth@example.org",
            nonce: "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v",
            method: "GET",
            url: "/dir/index.html",
            body: b"",
            cnonce: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ",
            counted: Some(("00000001", Protection::Request)),
        };
        let mufasa = Credentials::new("Mufasa", "Circle of Life".to_owned());
        assert_eq!(proof.response(&mufasa).as_str(), "8ca523f5e9506fed4657c9700eebdbec");
        proof.algorithm.hash = Hash::Sha256;
        let expected = "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1";
        assert_eq!(proof.response(&mufasa).as_str(), expected);
    }

    /// Computed with Python's hashlib from RFC 7616, section 3.4.
    #[test]
    fn sessions_bodies_and_the_half_of_sha_512_are_hashed_as_the_standard_says() {
        let credentials = Credentials::new("admin", "pw".to_owned());
        let named = |name| Algorithm::named(Some(name)).unwrap();
        for (name, counted, expected) in VECTORS {
            let proof = Proof {
                algorithm: named(name),
                realm: "cam",
                nonce: "n0",
                method: "SET_PARAMETER",
                url: "rtsp://192.0.2.7/s",
                body: b"a: b\r\n",
                cnonce: "c0",
                counted: counted.map(|qop| ("00000001", qop)),
            };
            assert_eq!(proof.response(&credentials).as_str(), expected, "{name} {counted:?}");
        }
    }

    const VECTORS: [(&str, Option<Protection>, &str); 5] = [
        (
            "MD5-sess",
            Some(Protection::Request),
            "cec781e8b1bcb5316c4bb98751681f71",
        ),
        ("MD5", Some(Protection::Body), "cce5948fc012fb62ef0adb1448608b72"),
        (
            "SHA-256-sess",
            None,
            "8fc0f0093845644e4182efeb75832aeb38aa98a915d367d403df3bcc7b85a817",
        ),
        (
            "SHA-512-256",
            Some(Protection::Request),
            "b0400df64830252936dc1be67464d55e4d6568177c073b82d8b33536e5f3c8c5",
        ),
        (
            "SHA-512-256-sess",
            Some(Protection::Body),
            "36bf13ff5114bcb4e7e38d9991f760c534c757ab0a36cbfd9101ac5e704583ed",
        ),
    ];

    #[test]
    fn algorithms_are_known_by_name() {
        for name in [
            "MD5",
            "md5-SESS",
            "SHA-256",
            "sha-256-sess",
            "SHA-512-256",
            "SHA-512-256-sess",
        ] {
            let algorithm = Algorithm::named(Some(name)).unwrap();
            assert_eq!(algorithm.session, name.to_ascii_lowercase().ends_with("-sess"));
            assert!(name.to_ascii_uppercase().starts_with(algorithm.hash.name()), "{name}");
        }
        for name in ["", "-sess", "SHA-512", "SHA", "MD5-", "MD5sess", "é-sess"] {
            assert_eq!(Algorithm::named(Some(name)), None, "{name}");
        }
    }

    #[test]
    fn of_a_list_of_qualities_that_without_the_body_is_taken() {
        for (list, expected) in [
            (None, Some(None)),
            (Some(""), Some(None)),
            (Some("auth,auth-int"), Some(Some(Protection::Request))),
            (Some("auth-int , AUTH"), Some(Some(Protection::Request))),
            (Some("auth-int"), Some(Some(Protection::Body))),
            (Some("token"), None),
        ] {
            assert_eq!(Protection::parse(list), expected, "{list:?}");
        }
    }
}
