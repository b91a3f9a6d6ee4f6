//! Authentication on the plain sides: towards a camera that asks for it, and of a player where one is asked for.
//!
//! Digest is RFC 7616 with SHA-256 or MD5, and without `qop` as RFC 2069 has it, since cameras and players of that age
//! are many. MD5 protects a password only from who cannot try passwords; it is here because nothing else is spoken
//! there. What protects the video is the sealed session, not this.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{BASE64, HEXLOWER};
use md5::{Digest as _, Md5};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::challenge::{self, Challenge, quoted};
use super::message::{Request, Response};

/// The realm that a viewer gateway names.
const REALM: &str = "sealcast";

/// A user's name and password. They cannot be printed, and the password is wiped.
#[derive(Clone)]
pub struct Credentials {
    user: String,
    password: Zeroizing<String>,
}

impl Credentials {
    /// That user with that password.
    pub fn new(user: impl Into<String>, password: impl Into<Zeroizing<String>>) -> Self {
        Self {
            user: user.into(),
            password: password.into(),
        }
    }
}

impl PartialEq for Credentials {
    fn eq(&self, other: &Self) -> bool {
        let password = self.password.as_bytes().ct_eq(other.password.as_bytes());
        self.user == other.user && bool::from(password)
    }
}

impl Eq for Credentials {}

/// The hash of Digest authentication.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// Understood by every player; for compatibility only.
    #[default]
    Md5,
    /// RFC 7616; few players know it.
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

/// What a Digest response is computed of, but for the credentials.
struct Proof<'a> {
    algorithm: DigestAlgorithm,
    realm: &'a str,
    nonce: &'a str,
    method: &'a str,
    url: &'a str,
    /// `nc` and `cnonce`, with `qop=auth`.
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

/// Why a camera's gateway cannot authenticate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// The camera asks for credentials and there are none.
    #[error("the camera asks for a user name and a password: give them in its URL or its configuration")]
    NoCredentials,
    /// The camera asks for something else than Basic or Digest.
    #[error(
        "the camera asks for a kind of authentication that is not known here (known: Digest MD5 and SHA-256, Basic)"
    )]
    UnknownScheme,
    /// The camera refuses the credentials.
    #[error("the camera refuses the user name or the password")]
    Refused,
}

/// A challenge that will be answered.
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

    /// Whether answering `other` after this one would be the same answer again.
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
    /// `entropy` are 16 fresh random bytes, from which the client's nonces are made.
    pub(super) fn new(credentials: Option<Credentials>, entropy: [u8; 16]) -> Self {
        Self {
            credentials,
            chosen: None,
            count: 0,
            entropy,
        }
    }

    /// Take the challenge of a 401; `Ok` if the request is worth sending again. `authorized` is whether it was sent
    /// with an answer to the challenge before.
    pub(super) fn challenged(&mut self, response: &Response, authorized: bool) -> Result<(), AuthError> {
        if self.credentials.is_none() {
            return Err(AuthError::NoCredentials);
        }
        let challenges = response.headers.all("WWW-Authenticate").flat_map(challenge::parse);
        let best = challenges
            .filter_map(|challenge| Chosen::from(&challenge))
            .max_by_key(Chosen::strength);
        let best = best.ok_or(AuthError::UnknownScheme)?;
        // A nonce that ran out comes with another; the same one again means that the password is wrong.
        if authorized && self.chosen.as_ref().is_some_and(|before| before.repeats(&best)) {
            return Err(AuthError::Refused);
        }
        self.chosen = Some(best);
        self.count = 0;
        Ok(())
    }

    /// Add what answers the last challenge, if there was one. Whether it did.
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
                // Old cameras do not know the parameter, and mean MD5.
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

/// Another for each request, and nothing that tells about the entropy.
fn cnonce(entropy: &[u8; 16], nonce: &str, count: u32) -> String {
    let hash = digest(
        &SHA256,
        &[&entropy[..], &count.to_be_bytes(), nonce.as_bytes()].concat(),
    );
    HEXLOWER.encode(&hash.as_ref()[..8])
}

/// Asks one player for its credentials.
pub(super) struct Verifier {
    credentials: Credentials,
    algorithm: DigestAlgorithm,
    nonce: String,
    count: u32,
}

impl Verifier {
    /// `entropy` are 16 fresh random bytes: the nonce, which holds for one connection.
    pub(super) fn new(credentials: Credentials, algorithm: DigestAlgorithm, entropy: [u8; 16]) -> Self {
        Self {
            credentials,
            algorithm,
            nonce: HEXLOWER.encode(&entropy),
            count: 0,
        }
    }

    /// The value of WWW-Authenticate.
    pub(super) fn challenge(&self) -> String {
        let algorithm = match self.algorithm {
            // Some players take any algorithm for an unknown one.
            DigestAlgorithm::Md5 => String::new(),
            other => format!(", algorithm={}", other.name()),
        };
        format!(
            "Digest realm=\"{REALM}\", nonce=\"{}\"{algorithm}, qop=\"auth\"",
            self.nonce
        )
    }

    /// Whether a request proves the credentials. With `qop` its count must go up: what was overheard is of no use.
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
