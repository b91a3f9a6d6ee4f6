//! Address of a relay, and the name of the camera's broadcast there.

use std::fmt;
use std::str::FromStr;

use sealcast_proto::keys::PeerId;
use sealcast_proto::wire::{BroadcastName, CertHash, Host, Ticket, TransportKind};
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
    /// The relay that a ticket names, if it names one.
    pub fn of_ticket(ticket: &Ticket) -> Option<Self> {
        let broadcast = ticket.broadcast.as_ref()?;
        let url = format!("https://{}:{}/{}", ticket.host, ticket.port, broadcast.as_str());
        let hex = |hash: &CertHash| hash.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Some(Self {
            // Host and name of a ticket have no letter that a URL could not have.
            url: url.parse().ok()?,
            certificates: ticket.cert_hashes.iter().map(hex).collect(),
        })
    }

    /// The ticket that names this relay and the camera, without an invite. `None` if a ticket cannot say all that is in
    /// the address: a token, or an unusual name.
    pub fn ticket(&self, camera: PeerId) -> Option<Ticket> {
        let hash = |hex: &String| Some(CertHash::new(bytes_of(hex)?));
        let ticket = Ticket {
            host: match self.url.host()? {
                url::Host::Domain(name) => Host::Name(name.to_owned()),
                url::Host::Ipv4(address) => Host::V4(address),
                url::Host::Ipv6(address) => Host::V6(address),
            },
            port: self.url.port_or_known_default()?,
            peer: camera,
            transport: TransportKind::Relay,
            latency: None,
            cert_hashes: self.certificates.iter().map(hash).collect::<Option<_>>()?,
            broadcast: Some(BroadcastName::parse(self.url.path().trim_start_matches('/'))?),
            others: Vec::new(),
            invite: None,
        };
        let says_all = self.url.query().is_none() && ticket.reveal().parse::<Ticket>().is_ok();
        says_all.then_some(ticket)
    }

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

/// The bytes of a hash in hexadecimal.
fn bytes_of(hex: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    for (byte, digits) in bytes.iter_mut().zip(hex.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
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
        let Ok(mut url) = text.parse::<Url>() else {
            return refused("this is no address of a relay".to_owned());
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

    const CAMERA: [u8; 32] = [
        0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe, 0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1,
        0x72, 0xf3, 0xda, 0xa6, 0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a,
    ];

    #[test]
    fn a_ticket_says_all_that_is_in_a_relays_address_or_there_is_none() {
        let hash = "0123456789abcdef".repeat(4);
        for text in [
            format!("https://relay.example:4443/rov/front#sha256={hash}"),
            "https://relay.example/front".to_owned(),
            "https://192.0.2.7:4443/front".to_owned(),
            "https://[2001:db8::7]:4443/front".to_owned(),
        ] {
            let relay: RelayUrl = text.parse().expect(&text);
            let ticket = relay.ticket(PeerId(CAMERA)).expect(&text);
            let again = RelayUrl::of_ticket(&ticket).expect("it names a relay");
            assert_eq!(again.settings("watch", 1), relay.settings("watch", 1), "{text}");
        }
        for text in [
            "https://relay.example/front?jwt=secret",
            "https://relay.example/a%20name",
            "https://relay_1.example/front",
        ] {
            let relay: RelayUrl = text.parse().expect(text);
            assert!(relay.ticket(PeerId(CAMERA)).is_none(), "{text}");
        }
    }

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
