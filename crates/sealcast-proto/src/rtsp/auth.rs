//! RTSP authentication: of the gateway towards a camera, and of a player towards the gateway, where either is asked
//! for.
//!
//! Digest follows RFC 7616 with SHA-256 or MD5. Digest without `qop` follows RFC 2069, since many cameras and players
//! are that old. MD5 protects a password only from an attacker who cannot guess passwords offline; it is supported
//! because most of these devices know nothing else. The video is protected by the sealed session, not by this.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{BASE64, HEXLOWER};
use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::challenge::{self, Challenge, quoted};
use super::message::{Request, Response};

/// Realm in the challenges of a viewer gateway.
const REALM: &str = "sealcast";

/// A user name and password. They cannot be printed, and the password is wiped when dropped.
#[derive(Clone)]
pub struct Credentials {
    user: String,
    password: Zeroizing<String>,
}

impl Credentials {
    /// Credentials with this user name and password.
    pub fn new(user: impl Into<String>, password: impl Into<Zeroizing<String>>) -> Self {
        Self {
            user: user.into(),
            password: password.into(),
        }
    }

    /// True unless the user name is empty.
    pub fn has_user(&self) -> bool {
        !self.user.is_empty()
    }

    /// These credentials, with this password if they have none.
    #[must_use]
    pub fn or_password(mut self, password: impl Into<Zeroizing<String>>) -> Self {
        if self.password.is_empty() {
            self.password = password.into();
        }
        self
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        let password = self.password.as_bytes().ct_eq(other.password.as_bytes());
        self.user == other.user && bool::from(password)
    }
}

impl Eq for Credentials {}

/// Hash algorithm of Digest authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// MD5, which every player supports; for compatibility only.
    #[default]
    Md5,
    /// SHA-256 (RFC 7616), which few players support.
    Sha256,
}

impl DigestAlgorithm {
    fn name(self) -> &'static str {
        match self {
            Self::Md5 => "MD5",
            Self::Sha256 => "SHA-256",
        }
    }

    fn named(name: Option<&str>) -> Option<Self> {
        match name {
            None => Some(Self::Md5),
            Some(name) => [Self::Md5, Self::Sha256]
                .into_iter()
                .find(|known| known.name().eq_ignore_ascii_case(name)),
        }
    }

    fn hex(self, parts: &[&str]) -> Zeroizing<String> {
        let text = Zeroizing::new(parts.join(":"));
        Zeroizing::new(match self {
            Self::Md5 => HEXLOWER.encode(&Md5::digest(text.as_bytes())),
            Self::Sha256 => HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref()),
        })
    }
}

/// Inputs of a Digest response, other than the credentials.
struct Proof<'a> {
    algorithm: DigestAlgorithm,
    realm: &'a str,
    nonce: &'a str,
    method: &'a str,
    url: &'a str,
    /// `nc` and `cnonce`, if `qop=auth`.
    counted: Option<(&'a str, &'a str)>,
}

impl Proof<'_> {
    fn response(&self, credentials: &Credentials) -> Zeroizing<String> {
        let hex = |parts: &[&str]| self.algorithm.hex(parts);
        let secret = hex(&[&credentials.user, self.realm, &credentials.password]);
        let request = hex(&[self.method, self.url]);
        match self.counted {
            Some((nc, cnonce)) => hex(&[&secret, self.nonce, nc, cnonce, "auth", &request]),
            None => hex(&[&secret, self.nonce, &request]),
        }
    }
}

/// Reason why the gateway cannot authenticate to a camera.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The camera requires credentials, and none are configured.
    #[error("the camera asks for a user name and a password: give them in its URL or its configuration")]
    NoCredentials,
    /// The camera requires another scheme than Basic or Digest.
    #[error(
        "the camera asks for a kind of authentication that is not known here (known: Digest MD5 and SHA-256, Basic)"
    )]
    UnknownScheme,
    /// The camera rejected the credentials.
    #[error("the camera refuses the user name or the password")]
    Refused,
}

/// The challenge to answer.
enum Chosen {
    Basic,
    Digest {
        algorithm: DigestAlgorithm,
        realm: String,
        nonce: String,
        opaque: Option<String>,
        qop: bool,
    },
}

impl Chosen {
    fn from(challenge: &Challenge) -> Option<Self> {
        if challenge.is("Basic") {
            return Some(Self::Basic);
        }
        let qops = challenge.get("qop");
        let qop = qops.is_some_and(|qops| qops.split(',').any(|qop| qop.trim().eq_ignore_ascii_case("auth")));
        if !challenge.is("Digest") || (qops.is_some_and(|qops| !qops.is_empty()) && !qop) {
            return None;
        }
        Some(Self::Digest {
            algorithm: DigestAlgorithm::named(challenge.get("algorithm"))?,
            realm: challenge.get("realm")?.to_owned(),
            nonce: challenge.get("nonce")?.to_owned(),
            opaque: challenge.get("opaque").map(str::to_owned),
            qop,
        })
    }

    fn strength(&self) -> u8 {
        match self {
            Self::Basic => 0,
            Self::Digest {
                algorithm: DigestAlgorithm::Md5,
                ..
            } => 1,
            Self::Digest {
                algorithm: DigestAlgorithm::Sha256,
                ..
            } => 2,
        }
    }

    /// Returns true if answering `other` after this challenge would repeat the same answer.
    fn repeats(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Basic, Self::Basic) => true,
            (Self::Digest { nonce, .. }, Self::Digest { nonce: other, .. }) => nonce == other,
            _ => false,
        }
    }
}

/// Answers a camera's challenges.
pub(super) struct Authenticator {
    credentials: Option<Credentials>,
    chosen: Option<Chosen>,
    count: u32,
    entropy: [u8; 16],
}

impl Authenticator {
    /// Creates an authenticator. `entropy` is 16 fresh random bytes, from which the client nonces are derived.
    pub(super) fn new(credentials: Option<Credentials>, entropy: [u8; 16]) -> Self {
        Self {
            credentials,
            chosen: None,
            count: 0,
            entropy,
        }
    }

    /// Processes the challenge of a 401 response. `authorized` is true if the request already answered an earlier
    /// challenge. `Ok` means that the request is worth sending again.
    pub(super) fn challenged(&mut self, response: &Response, authorized: bool) -> Result<(), AuthError> {
        if self.credentials.is_none() {
            return Err(AuthError::NoCredentials);
        }
        let challenges = response.headers.all("WWW-Authenticate").flat_map(challenge::parse);
        let best = challenges
            .filter_map(|challenge| Chosen::from(&challenge))
            .max_by_key(Chosen::strength);
        let best = best.ok_or(AuthError::UnknownScheme)?;
        // A stale nonce is replaced by a new one; the same nonce again means that the password is wrong.
        if authorized && self.chosen.as_ref().is_some_and(|before| before.repeats(&best)) {
            return Err(AuthError::Refused);
        }
        self.chosen = Some(best);
        self.count = 0;
        Ok(())
    }

    /// Adds the answer to the last challenge to a request. Returns false if there is no challenge or no credentials.
    pub(super) fn authorize(&mut self, request: &mut Request) -> bool {
        let (Some(credentials), Some(chosen)) = (&self.credentials, &self.chosen) else {
            return false;
        };
        self.count += 1;
        request.headers.remove("Authorization");
        let value = match chosen {
            Chosen::Basic => {
                let pair = Zeroizing::new([&credentials.user, ":", credentials.password.as_str()].concat());
                format!("Basic {}", BASE64.encode(pair.as_bytes()))
            }
            Chosen::Digest {
                algorithm,
                realm,
                nonce,
                opaque,
                qop,
            } => {
                let nc = format!("{:08x}", self.count);
                let cnonce = cnonce(&self.entropy, nonce, self.count);
                let proof = Proof {
                    algorithm: *algorithm,
                    realm,
                    nonce,
                    method: request.method.name(),
                    url: &request.url,
                    counted: qop.then_some((&nc, &cnonce)),
                };
                let mut value = format!(
                    "Digest username={}, realm={}, nonce={}, uri={}, response=\"{}\"",
                    quoted(&credentials.user),
                    quoted(realm),
                    quoted(nonce),
                    quoted(&request.url),
                    proof.response(credentials).as_str()
                );
                // Old cameras do not know this parameter and assume MD5.
                if *algorithm != DigestAlgorithm::Md5 {
                    value += &format!(", algorithm={}", algorithm.name());
                }
                if let Some(opaque) = opaque {
                    value += &format!(", opaque={}", quoted(opaque));
                }
                if *qop {
                    value += &format!(", qop=auth, nc={nc}, cnonce=\"{cnonce}\"");
                }
                value
            }
        };
        request.headers.add("Authorization", value);
        true
    }
}

/// A client nonce that differs for each request and reveals nothing about the entropy.
fn cnonce(entropy: &[u8; 16], nonce: &str, count: u32) -> String {
    let hash = digest(
        &SHA256,
        &[&entropy[..], &count.to_be_bytes(), nonce.as_bytes()].concat(),
    );
    HEXLOWER.encode(&hash.as_ref()[..8])
}

/// Verifies the credentials of one player.
pub(super) struct Verifier {
    credentials: Credentials,
    algorithm: DigestAlgorithm,
    nonce: String,
    count: u32,
}

impl Verifier {
    /// Creates a verifier. `entropy` is 16 fresh random bytes, used as the nonce, which is valid for one connection.
    pub(super) fn new(credentials: Credentials, algorithm: DigestAlgorithm, entropy: [u8; 16]) -> Self {
        Self {
            credentials,
            algorithm,
            nonce: HEXLOWER.encode(&entropy),
            count: 0,
        }
    }

    /// Returns the value of the WWW-Authenticate header.
    pub(super) fn challenge(&self) -> String {
        let algorithm = match self.algorithm {
            // Some players reject any `algorithm` parameter as unknown.
            DigestAlgorithm::Md5 => String::new(),
            other => format!(", algorithm={}", other.name()),
        };
        format!(
            "Digest realm=\"{REALM}\", nonce=\"{}\"{algorithm}, qop=\"auth\"",
            self.nonce
        )
    }

    /// Returns true if a request proves the credentials. With `qop` its nonce count must increase, so that a response
    /// that was overheard cannot be used again.
    pub(super) fn admits(&mut self, request: &Request) -> bool {
        let answers = request
            .headers
            .get("Authorization")
            .map(challenge::parse)
            .unwrap_or_default();
        let Some(answer) = answers.first().filter(|answer| answer.is("Digest")) else {
            return false;
        };
        let counted = match (answer.get("qop"), answer.get("nc"), answer.get("cnonce")) {
            (None, _, _) => None,
            (Some(qop), Some(nc), Some(cnonce)) if qop.eq_ignore_ascii_case("auth") => Some((nc, cnonce)),
            _ => return false,
        };
        let count = counted.map(|(nc, _)| u32::from_str_radix(nc, 16).unwrap_or(0));
        let proof = Proof {
            algorithm: self.algorithm,
            realm: REALM,
            nonce: &self.nonce,
            method: request.method.name(),
            url: &request.url,
            counted,
        };
        let expected = proof.response(&self.credentials);
        let fits = answer.get("username") == Some(&self.credentials.user)
            && answer.get("nonce") == Some(&self.nonce)
            && answer.get("uri") == Some(&request.url)
            && count.is_none_or(|count| count > self.count);
        let given = answer.get("response").unwrap_or_default().to_ascii_lowercase();
        let admitted = fits && bool::from(given.as_bytes().ct_eq(expected.as_bytes()));
        if let (true, Some(count)) = (admitted, count) {
            self.count = count;
        }
        admitted
    }
}

#[cfg(test)]
#[path = "auth_tests.rs"]
mod tests;
