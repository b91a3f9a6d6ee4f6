//! RTSP authentication: of the gateway towards a camera, and of a player towards the gateway, where either is asked
//! for.

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::{BASE64, HEXLOWER};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::challenge::{self, Challenge, quoted};
use super::credentials::Credentials;
use super::digest::{Algorithm, Hash, Proof, Protection};
use super::message::{Request, Response};

/// Realm in the challenges of a viewer gateway.
const REALM: &str = "sealcast";
/// Maximum number of challenges of one response that are looked at.
const MAX_OFFERS: usize = 16;
/// Maximum number of times that one way to log in is tried for one request: with an old nonce, with the one that came
/// for it, and with the one after that. Cameras lock accounts after a few refused logins.
const MAX_TRIES: usize = 3;
/// Maximum number of answers in vain to one request, whatever is offered.
const MAX_REFUSED: usize = 8;

/// Hash algorithm that players are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// MD5, which every player supports; for compatibility only.
    #[default]
    Md5,
    /// SHA-256 (RFC 7616), which few players support.
    Sha256,
}

impl DigestAlgorithm {
    fn hash(self) -> Hash {
        match self {
            Self::Md5 => Hash::Md5,
            Self::Sha256 => Hash::Sha256,
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
        "the camera asks for a kind of authentication that is not known here (known: Digest with MD5, SHA-256 and \
         SHA-512-256, Basic)"
    )]
    UnknownScheme,
    /// After a redirect the camera asks for the password in clear.
    #[error(
        "the camera asks for the password in clear at the place that it refers to, which is not given: use that URL"
    )]
    Clear,
    /// The camera rejected the credentials in each way that it offers.
    #[error("the camera refuses the user name or the password")]
    Refused,
}

/// A way to log in that a camera offers.
#[derive(Clone)]
enum Offered {
    Basic,
    Digest(DigestOffer),
}

/// A Digest challenge.
#[derive(Clone)]
struct DigestOffer {
    algorithm: Algorithm,
    /// The algorithm's name as the camera wrote it, if it did. Old cameras do not know this parameter.
    named: Option<String>,
    realm: String,
    nonce: String,
    stale: bool,
    opaque: Option<String>,
    qop: Option<Protection>,
}

impl Offered {
    fn from(challenge: &Challenge) -> Option<Self> {
        if challenge.is("Basic") {
            return Some(Self::Basic);
        }
        if !challenge.is("Digest") {
            return None;
        }
        let named = challenge.get("algorithm").filter(|name| !name.is_empty());
        Some(Self::Digest(DigestOffer {
            algorithm: Algorithm::named(named)?,
            named: named.map(str::to_owned),
            realm: challenge.get("realm").unwrap_or_default().to_owned(),
            nonce: challenge.get("nonce")?.to_owned(),
            stale: challenge
                .get("stale")
                .is_some_and(|stale| stale.eq_ignore_ascii_case("true")),
            opaque: challenge.get("opaque").map(str::to_owned),
            qop: Protection::parse(challenge.get("qop"))?,
        }))
    }

    fn strength(&self) -> Option<Hash> {
        match self {
            Self::Basic => None,
            Self::Digest(offer) => Some(offer.algorithm.hash),
        }
    }

    fn nonce(&self) -> Option<&str> {
        match self {
            Self::Basic => None,
            Self::Digest(offer) => Some(&offer.nonce),
        }
    }

    /// Returns true if both are the same way to log in, whatever their nonces.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Basic, Self::Basic) => true,
            (Self::Digest(one), Self::Digest(other)) => {
                (one.algorithm, one.qop, &one.realm) == (other.algorithm, other.qop, &other.realm)
            }
            _ => false,
        }
    }
}

/// Answers a camera's challenges: the strongest first, and the next one where that is refused, since a few cameras
/// offer what they cannot do.
pub(super) struct Authenticator {
    credentials: Option<Credentials>,
    /// False if the password must not be sent in clear.
    basic: bool,
    chosen: Option<Offered>,
    /// True if the last challenge came for the request that is being sent.
    fresh: bool,
    /// Challenges that were answered in vain for this request.
    refused: Vec<Offered>,
    count: u32,
    entropy: [u8; 16],
}

impl Authenticator {
    /// Creates an authenticator. `entropy` is 16 fresh random bytes, from which the client nonces are derived.
    pub(super) fn new(credentials: Option<Credentials>, entropy: [u8; 16]) -> Self {
        Self {
            credentials,
            basic: true,
            chosen: None,
            fresh: false,
            refused: Vec::new(),
            count: 0,
            entropy,
        }
    }

    /// From now on keeps the password from being sent in clear.
    pub(super) fn forbid_basic(&mut self) {
        self.basic = false;
        self.chosen.take_if(|chosen| matches!(chosen, Offered::Basic));
    }

    /// The request was not answered with a challenge.
    pub(super) fn passed(&mut self) {
        self.fresh = false;
        self.refused.clear();
    }

    /// Processes the challenges of a 401 response. `authorized` is true if the request already answered an earlier
    /// challenge. `Ok` means that the request is worth sending again.
    pub(super) fn challenged(&mut self, response: &Response, authorized: bool) -> Result<(), AuthError> {
        if self.credentials.is_none() {
            return Err(AuthError::NoCredentials);
        }
        let challenges = response.headers.all("WWW-Authenticate").flat_map(challenge::parse);
        let offers = challenges
            .take(MAX_OFFERS)
            .filter_map(|challenge| Offered::from(&challenge));
        let (mut offers, basic): (Vec<Offered>, Vec<Offered>) = offers.partition(|offer| offer.strength().is_some());
        // The sort is stable: of equal ones the camera's first comes first.
        offers.sort_by_key(|offer| std::cmp::Reverse(offer.strength()));
        let clear = !basic.is_empty() && !self.basic;
        offers.extend(basic.into_iter().filter(|_| self.basic));
        let before = self.chosen.clone().filter(|_| authorized);
        let was_fresh = std::mem::replace(&mut self.fresh, true);
        self.refused.extend(before.clone());
        let tries = |offer: &Offered| self.refused.iter().filter(|tried| tried.is_like(offer)).count();
        let renewed = |offer: &Offered| {
            let known = |tried: &Offered| tried.is_like(offer) && tried.nonce() == offer.nonce();
            !matches!(offer, Offered::Basic) && tries(offer) < MAX_TRIES && !self.refused.iter().any(known)
        };
        // A nonce that ran out is replaced by the new one, in the way that worked before.
        let stale = |offer: &&Offered| {
            let ran_out = !was_fresh || matches!(offer, Offered::Digest(DigestOffer { stale: true, .. }));
            ran_out && before.as_ref().is_some_and(|before| before.is_like(offer)) && renewed(offer)
        };
        let next = offers.iter().find(stale);
        let next = next.or_else(|| offers.iter().find(|offer| tries(offer) == 0));
        // The camera may have a new nonce for each request, and not say so.
        let next = next.or_else(|| offers.iter().find(|offer| tries(offer) == 1 && renewed(offer)));
        let next = next.filter(|_| self.refused.len() < MAX_REFUSED);
        let Some(next) = next.cloned() else {
            return Err(if clear {
                AuthError::Clear
            } else if self.refused.is_empty() {
                AuthError::UnknownScheme
            } else {
                AuthError::Refused
            });
        };
        self.chosen = Some(next);
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
            Offered::Basic => {
                let pair = Zeroizing::new([&credentials.user, ":", credentials.password.as_str()].concat());
                format!("Basic {}", BASE64.encode(pair.as_bytes()))
            }
            Offered::Digest(offer) => offer.answer(credentials, request, &self.entropy, self.count),
        };
        request.headers.add("Authorization", value);
        true
    }
}

impl DigestOffer {
    fn answer(&self, credentials: &Credentials, request: &Request, entropy: &[u8; 16], count: u32) -> String {
        let nc = format!("{count:08x}");
        // A session has one nonce of the client.
        let cnonce = cnonce(entropy, &self.nonce, if self.algorithm.session { 0 } else { count });
        let proof = Proof {
            algorithm: self.algorithm,
            realm: &self.realm,
            nonce: &self.nonce,
            method: request.method.name(),
            url: &request.url,
            body: &request.body,
            cnonce: &cnonce,
            counted: self.qop.map(|qop| (nc.as_str(), qop)),
        };
        let mut value = format!(
            "Digest username={}, realm={}, nonce={}, uri={}, response=\"{}\"",
            quoted(&credentials.user),
            quoted(&self.realm),
            quoted(&self.nonce),
            quoted(&request.url),
            proof.response(credentials).as_str()
        );
        if let Some(name) = &self.named {
            value += &format!(", algorithm={name}");
        }
        if let Some(opaque) = &self.opaque {
            value += &format!(", opaque={}", quoted(opaque));
        }
        match self.qop {
            Some(qop) => value += &format!(", qop={}, nc={nc}, cnonce=\"{cnonce}\"", qop.name()),
            None if self.algorithm.session => value += &format!(", cnonce=\"{cnonce}\""),
            None => {}
        }
        value
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
    hash: Hash,
    nonce: String,
    count: u32,
}

impl Verifier {
    /// Creates a verifier. `entropy` is 16 fresh random bytes, used as the nonce, which is valid for one connection.
    pub(super) fn new(credentials: Credentials, algorithm: DigestAlgorithm, entropy: [u8; 16]) -> Self {
        Self {
            credentials,
            hash: algorithm.hash(),
            nonce: HEXLOWER.encode(&entropy),
            count: 0,
        }
    }

    /// Returns the value of the WWW-Authenticate header.
    pub(super) fn challenge(&self) -> String {
        let algorithm = match self.hash {
            // Some players reject any `algorithm` parameter as unknown.
            Hash::Md5 => String::new(),
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
            (Some(qop), Some(nc), Some(_)) if qop.eq_ignore_ascii_case("auth") => Some((nc, Protection::Request)),
            _ => return false,
        };
        let count = counted.map(|(nc, _)| u32::from_str_radix(nc, 16).unwrap_or(0));
        let proof = Proof {
            algorithm: Algorithm {
                hash: self.hash,
                session: false,
            },
            realm: REALM,
            nonce: &self.nonce,
            method: request.method.name(),
            url: &request.url,
            body: &[],
            cnonce: answer.get("cnonce").unwrap_or_default(),
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
