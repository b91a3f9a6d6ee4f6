//! Login of a camera: how it asks for a user and a password, and whom it lets in.

use aws_lc_rs::digest::{SHA256, SHA512_256, digest};
use data_encoding::{BASE64, HEXLOWER};
use md5::{Digest as _, Md5};
use sealcast_proto::rtsp::Request;

/// The user and the password of all cameras.
const USER: &str = "admin";
const PASSWORD: &str = "pw";
const REALM: &str = "cam";

/// Login that a camera asks for.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    /// Its lines of `WWW-Authenticate`. `{nonce}` stands for the present nonce.
    pub challenges: &'static [&'static str],
    /// The algorithm or scheme of the answers that it takes; with "", of all.
    pub takes: &'static str,
    /// True if each nonce is good for one request.
    pub fresh: bool,
}

impl Login {
    /// The lines of a refusal.
    pub(super) fn challenge(self, nonce: usize) -> String {
        let lines = self.challenges.iter().map(|challenge| {
            let challenge = challenge.replace("{nonce}", &nonce_of(nonce));
            format!("WWW-Authenticate: {challenge}\r\n")
        });
        lines.collect()
    }

    /// True if the request proves the password in a way that is taken.
    pub(super) fn admits(self, request: &Request, nonce: usize) -> bool {
        let said = request.headers.get("Authorization").unwrap_or_default();
        match said.split_once(' ') {
            Some(("Basic", proof)) => {
                let expected = BASE64.encode(format!("{USER}:{PASSWORD}").as_bytes());
                matches!(self.takes, "" | "Basic") && proof == expected
            }
            Some(("Digest", parameters)) => proves(request, parameters, &nonce_of(nonce), self.takes),
            _ => false,
        }
    }
}

fn nonce_of(number: usize) -> String {
    format!("n0nce,{number}")
}

/// The value of a parameter in a list, in which commas may stand in quotes.
fn parameter<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    let mut quoted = false;
    let mut parts = list.split(move |letter: char| {
        quoted ^= letter == '"';
        letter == ',' && !quoted
    });
    let found = parts.find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='))?;
    Some(found.trim_matches('"'))
}

/// Judges a response as RFC 7616 says, and RFC 2069 where there is no `qop`.
fn proves(request: &Request, list: &str, nonce: &str, takes: &str) -> bool {
    let get = |name: &str| parameter(list, name).unwrap_or_default();
    let algorithm = parameter(list, "algorithm").unwrap_or("MD5").to_ascii_uppercase();
    let (hash, session) = match algorithm.strip_suffix("-SESS") {
        Some(hash) => (hash, true),
        None => (&*algorithm, false),
    };
    let hash = |text: &str| match hash {
        "MD5" => HEXLOWER.encode(&Md5::digest(text)),
        "SHA-256" => HEXLOWER.encode(digest(&SHA256, text.as_bytes()).as_ref()),
        _ => HEXLOWER.encode(digest(&SHA512_256, text.as_bytes()).as_ref()),
    };
    let mut secret = hash(&format!("{USER}:{REALM}:{PASSWORD}"));
    if session {
        secret = hash(&format!("{secret}:{nonce}:{}", get("cnonce")));
    }
    let mut asked = format!("{}:{}", request.method.name(), request.url);
    if get("qop") == "auth-int" {
        let body = String::from_utf8_lossy(&request.body);
        asked = format!("{asked}:{}", hash(&body));
    }
    let asked = hash(&asked);
    let expected = match get("qop") {
        "" => format!("{secret}:{nonce}:{asked}"),
        qop => format!("{secret}:{nonce}:{}:{}:{qop}:{asked}", get("nc"), get("cnonce")),
    };
    let known = get("username") == USER && get("nonce") == nonce && get("uri") == request.url;
    known && (takes.is_empty() || takes == algorithm) && get("response") == hash(&expected)
}
