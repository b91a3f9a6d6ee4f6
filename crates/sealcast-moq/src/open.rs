//! Request of sealcast in its first message.

use std::time::Duration;

use serde_json::{Map, Value};
use url::Url;

/// Maximum of certificates, which overlap only while a relay changes its own.
const MAX_CERTIFICATES: usize = 16;
/// Maximum of the relay's URL, in bytes.
const MAX_URL: usize = 8 << 10;
/// Maximum of `patience_ms`: a minute.
const MAX_PATIENCE: u64 = 60_000;
/// `patience_ms` if it is not given.
const DEFAULT_PATIENCE: u64 = 500;
/// Digits of a SHA-256.
const HASH_DIGITS: usize = 64;

/// Task of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Carry objects to the relay.
    Publish,
    /// Carry objects from it.
    Watch,
}

/// The fields of an open message, all of them valid. It has no `Debug`, since the URL can hold a token.
pub(crate) struct Open {
    /// The task.
    pub(crate) role: Role,
    /// URL of the relay: without the broadcast's name, with path prefix and query.
    pub(crate) relay: Url,
    /// The broadcast's name.
    pub(crate) name: String,
    /// SHA-256 in hex of the certificates that the relay may have; empty for those of a public authority.
    pub(crate) certificates: Vec<String>,
    /// Time for which a watched group may stall while a later one is there.
    pub(crate) patience: Duration,
}

impl Open {
    /// Parses the JSON of an open message.
    ///
    /// # Errors
    /// It is none; what is wrong with it, in words that give away nothing of the URL.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
        // Words of the parser name a place and what it expected there, not what it found.
        let value: Value = serde_json::from_slice(json).map_err(|error| format!("it is not JSON: {error}"))?;
        let Value::Object(mut fields) = value else {
            return Err("it is not a JSON object".to_owned());
        };
        let role = match text(&mut fields, "role")?.as_str() {
            "publish" => Role::Publish,
            "watch" => Role::Watch,
            _ => return Err("`role` is neither \"publish\" nor \"watch\"".to_owned()),
        };
        let (relay, name) = split(&text(&mut fields, "relay")?)?;
        let open = Self {
            role,
            relay,
            name,
            certificates: certificates(fields.remove("certificates"))?,
            patience: patience(fields.remove("patience_ms"))?,
        };
        match fields.keys().next() {
            None => Ok(open),
            Some(field) => Err(format!("there is no field `{}`", field.escape_debug())),
        }
    }
}

fn text(fields: &mut Map<String, Value>, name: &str) -> Result<String, String> {
    match fields.remove(name) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(format!("`{name}` is not a string")),
        None => Err(format!("there is no `{name}`")),
    }
}

/// Splits `https://HOST:PORT/PREFIX/NAME?QUERY` into the same without NAME, and NAME.
fn split(relay: &str) -> Result<(Url, String), String> {
    let wrong = |what: &str| Err(format!("`relay` is not https://HOST:PORT/NAME: {what}"));
    if relay.len() > MAX_URL {
        return wrong(&format!("it has more than {MAX_URL} bytes"));
    }
    let Ok(mut url) = Url::parse(relay) else {
        return wrong("it is no URL");
    };
    if url.scheme() != "https" {
        return wrong("it does not begin with https://");
    }
    if url.host_str().is_none_or(str::is_empty) {
        return wrong("it has no host");
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return wrong("it has a user, a password or a fragment");
    }
    let path = url.path().to_owned();
    let Some((prefix, name)) = path.rsplit_once('/') else {
        return wrong("it has no path");
    };
    // Only characters that mean themselves in a URL: the relay compares names after decoding.
    let plain = |character: char| character.is_ascii_alphanumeric() || "-._~".contains(character);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return wrong("the last part of its path, the broadcast's name, is not of letters, digits and - . _ ~");
    }
    url.set_path(prefix);
    Ok((url, name.to_owned()))
}

fn certificates(field: Option<Value>) -> Result<Vec<String>, String> {
    let list = match field {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= MAX_CERTIFICATES => list,
        Some(_) => return Err(format!("`certificates` is not a list of at most {MAX_CERTIFICATES}")),
    };
    let is_hash = |text: &str| text.len() == HASH_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    list.into_iter()
        .map(|value| match value {
            Value::String(text) if is_hash(&text) => Ok(text.to_ascii_lowercase()),
            _ => Err(format!(
                "one of `certificates` is not a SHA-256 in hex ({HASH_DIGITS} digits)"
            )),
        })
        .collect()
}

fn patience(field: Option<Value>) -> Result<Duration, String> {
    let milliseconds = field.map_or(Some(DEFAULT_PATIENCE), |value| value.as_u64());
    match milliseconds.filter(|milliseconds| *milliseconds <= MAX_PATIENCE) {
        Some(milliseconds) => Ok(Duration::from_millis(milliseconds)),
        None => Err(format!("`patience_ms` is not a whole number from 0 to {MAX_PATIENCE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef";

    fn why(json: &str) -> String {
        Open::parse(json.as_bytes()).err().unwrap_or_default()
    }

    #[test]
    fn a_whole_open_message_is_read() {
        let json = format!(
            r#"{{"role": "watch", "relay": "https://relay.example:4443/shows/front-door?jwt=secret",
                 "certificates": ["{HASH}"], "patience_ms": 250}}"#
        );
        let open = Open::parse(json.as_bytes()).ok().unwrap();
        assert_eq!(open.role, Role::Watch);
        assert_eq!(open.relay.as_str(), "https://relay.example:4443/shows?jwt=secret");
        assert_eq!(open.name, "front-door");
        assert_eq!(open.certificates, [HASH.to_ascii_lowercase()]);
        assert_eq!(open.patience, Duration::from_millis(250));
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let open = Open::parse(br#"{"role": "publish", "relay": "https://127.0.0.1/door"}"#);
        let open = open.ok().unwrap();
        assert_eq!(open.role, Role::Publish);
        assert_eq!(
            (open.relay.as_str(), open.name.as_str()),
            ("https://127.0.0.1/", "door")
        );
        assert!(open.certificates.is_empty());
        assert_eq!(open.patience, Duration::from_millis(500));
    }

    #[test]
    fn no_certificates_are_those_of_a_public_authority() {
        let open = Open::parse(br#"{"role": "watch", "relay": "https://h/n", "certificates": []}"#);
        assert!(open.ok().unwrap().certificates.is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        assert!(why("{").starts_with("it is not JSON: "));
        assert_eq!(why("[]"), "it is not a JSON object");
        assert_eq!(why("{}"), "there is no `role`");
        assert_eq!(why(r#"{"role": "see"}"#), "`role` is neither \"publish\" nor \"watch\"");
        assert_eq!(why(r#"{"role": "watch"}"#), "there is no `relay`");
        assert_eq!(why(r#"{"role": "watch", "relay": 4}"#), "`relay` is not a string");
        let with = |rest: &str| why(&format!(r#"{{"role": "watch", "relay": "https://h/n", {rest}}}"#));
        let many = format!(r#""certificates": [{}"{HASH}"]"#, format!(r#""{HASH}","#).repeat(16));
        assert_eq!(with(&many), "`certificates` is not a list of at most 16");
        assert!(with(r#""certificates": ["12"]"#).contains("not a SHA-256 in hex"));
        assert!(with(r#""certificates": "12""#).contains("not a list"));
        for patience in ["-1", "60001", "1.5", "\"5\"", "null"] {
            let words = with(&format!(r#""patience_ms": {patience}"#));
            assert!(words.contains("not a whole number from 0 to 60000"), "{patience}");
        }
        assert_eq!(with(r#""patience": 5"#), "there is no field `patience`");
    }

    #[test]
    fn a_url_that_is_not_one_of_a_relay_is_refused_without_being_repeated() {
        for (url, words) in [
            ("secret", "it is no URL"),
            ("http://h/n?jwt=secret", "does not begin with https://"),
            ("https://h?jwt=secret", "the broadcast's name"),
            ("https://h/a/?jwt=secret", "the broadcast's name"),
            ("https://h/.n?jwt=secret", "the broadcast's name"),
            ("https://h/a%2fb?jwt=secret", "the broadcast's name"),
            ("https://h/*?jwt=secret", "the broadcast's name"),
            ("https://user:secret@h/n", "a user, a password or a fragment"),
            ("https://h/n#secret", "a user, a password or a fragment"),
            ("https:///", "it is no URL"),
        ] {
            let said = split(url).err().unwrap_or_default();
            assert!(said.contains(words), "{url}: {said}");
            assert!(!said.contains("secret"), "{url}: {said}");
        }
        let long = format!("https://h/{}", "n".repeat(MAX_URL));
        assert!(split(&long).err().unwrap_or_default().contains("more than 8192 bytes"));
    }
}
