//! Where a relay is, and what the camera's broadcast is called there.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;
use url::Url;

use crate::failure::{Failure, FailureKind};

/// Maximum number of certificates that a relay may have.
const MAX_CERTIFICATES: usize = 4;

/// `https://HOST:PORT/NAME[?QUERY][#sha256=HEX[&sha256=HEX]]`. The query, which may hold a token, is for the relay
/// alone, and the fragment for us: the certificates of a relay that no public authority vouches for.
#[derive(Clone)]
pub struct RelayUrl {
    url: Url,
    certificates: Vec<String>,
}

impl RelayUrl {
    /// The settings of a relay client, as JSON.
    pub(super) fn settings(&self, role: &str, patience_ms: u64) -> String {
        #[derive(Serialize)]
        struct Settings<'a> {
            role: &'a str,
            relay: &'a str,
            certificates: &'a [String],
            patience_ms: u64,
        }
        let settings = Settings {
            role,
            relay: self.url.as_str(),
            certificates: &self.certificates,
            patience_ms,
        };
        serde_json::to_string(&settings).expect("strings and a number")
    }
}

/// Without query and fragment.
impl fmt::Display for RelayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut url = self.url.clone();
        url.set_query(None);
        f.write_str(url.as_str())
    }
}

impl FromStr for RelayUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let refused = |what: String| {
            let hint = "a relay is https://HOST:PORT/NAME, perhaps with ?jwt=TOKEN and #sha256=HASH behind it";
            Err(Failure::new(FailureKind::Usage, what, hint))
        };
        // Nothing of the text is repeated in words: it may hold a token.
        let mut url = match text.parse::<Url>() {
            Ok(url) => url,
            Err(error) => return refused(format!("this is no address of a relay: {error}")),
        };
        if url.scheme() != "https" || url.host().is_none() || !url.username().is_empty() || url.password().is_some() {
            return refused("a relay's address begins with https:// and has no user".to_owned());
        }
        if url.path().trim_matches('/').is_empty() || url.path().ends_with('/') {
            return refused("a relay's address ends with the name of the camera's broadcast".to_owned());
        }
        let parts = url.fragment().into_iter().flat_map(|fragment| fragment.split('&'));
        let hashes: Vec<String> = parts
            .map(|part| part.strip_prefix("sha256=").unwrap_or_default().to_owned())
            .collect();
        let is_hash = |hash: &String| hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hashes.len() > MAX_CERTIFICATES || !hashes.iter().all(is_hash) {
            return refused(format!(
                "behind # there may only be sha256=HASH, up to {MAX_CERTIFICATES} of them with & between"
            ));
        }
        url.set_fragment(None);
        Ok(Self {
            url,
            certificates: hashes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relays_address_is_checked_and_its_token_is_not_shown() {
        let hash = "0123456789abcdef".repeat(4);
        let text = format!("https://relay.example:4443/rov/front?jwt=secret#sha256={hash}");
        let relay: RelayUrl = text.parse().expect("an address");
        assert_eq!(relay.to_string(), "https://relay.example:4443/rov/front");
        let settings: serde_json::Value = serde_json::from_str(&relay.settings("watch", 500)).expect("JSON");
        assert_eq!(settings["relay"], "https://relay.example:4443/rov/front?jwt=secret");
        assert_eq!(settings["certificates"], serde_json::json!([hash]));
        for wrong in [
            "relay.example/name",
            "http://relay.example/name",
            "https://relay.example",
            "https://relay.example/name/",
            "https://user:secret@relay.example/name",
            "https://relay.example/name#secret",
            "https://relay.example/name#sha256=",
            "https://relay.example/name#sha256=secret",
        ] {
            let refused = wrong.parse::<RelayUrl>().err().map(|failure| failure.to_string());
            let said = refused.unwrap_or_else(|| panic!("{wrong} was taken"));
            assert!(!said.contains("secret"), "{said}");
        }
    }
}
