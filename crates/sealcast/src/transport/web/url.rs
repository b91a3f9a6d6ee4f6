//! URLs of pages that carry sessions.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::parse_address;

/// Default port of the page.
pub const DEFAULT_WEB_PORT: u16 = 9443;

/// Address at which the page is served: `https://ADDRESS[:PORT][?cert=FILE&key=FILE]`, or `http://` with an address of
/// this machine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebUrl {
    /// The address; the unspecified address means all addresses of this machine.
    pub address: SocketAddr,
    /// True for `https`.
    pub tls: bool,
    /// The files of an authority's certificate: the chain and its key. Without them a certificate is made.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

impl FromStr for WebUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        // Do not print the text as it is: a mistyped URL may hold a secret.
        let shown = redact(text);
        let usage = |why: &str, hint: &str| Failure::new(FailureKind::Usage, format!("\"{shown}\" {why}"), hint);
        let form = "write https://ADDRESS:PORT, as in https://0.0.0.0:9443, or http://127.0.0.1:9443 for this machine";
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let tls = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err(usage("does not say where to serve the page", form)),
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let address = parse_address(rest.trim_end_matches('/'), DEFAULT_WEB_PORT)
            .ok_or_else(|| usage("is not an address to serve the page at", form))?;
        if !tls && !address.ip().is_loopback() {
            // Browsers give pages their cryptography, codecs and cameras only there.
            return Err(usage(
                "would be useless: browsers run the page over http only on the machine itself",
                "use https:// for other machines, or http://127.0.0.1",
            ));
        }
        let certificate = query.map(parse_certificate).transpose().map_err(|why| {
            usage(
                why,
                "write ?cert=FILE&key=FILE with both files in PEM, or leave both out: then one is made",
            )
        })?;
        Ok(Self {
            address,
            tls,
            certificate,
        })
    }
}

fn parse_certificate(query: &str) -> std::result::Result<(PathBuf, PathBuf), &'static str> {
    let (mut chain, mut key) = (None, None);
    for option in query.split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let place = match name {
            "cert" => &mut chain,
            "key" => &mut key,
            _ => return Err("has another option than cert and key"),
        };
        if value.is_empty() || place.replace(PathBuf::from(value)).is_some() {
            return Err("names no file, or two, in an option");
        }
    }
    chain.zip(key).ok_or("names only one of certificate and key")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<WebUrl> {
        text.parse()
    }

    #[test]
    fn pages_are_served_to_others_over_https_and_to_this_machine_over_either() {
        for (text, address, tls) in [
            ("https://0.0.0.0", "0.0.0.0:9443", true),
            ("https://[::]:7000/", "[::]:7000", true),
            ("https://127.0.0.1:0", "127.0.0.1:0", true),
            ("http://127.0.0.1", "127.0.0.1:9443", false),
            ("http://[::1]:80", "[::1]:80", false),
        ] {
            let url = parse(text).expect(text);
            assert_eq!(
                (url.address.to_string().as_str(), url.tls, url.certificate),
                (address, tls, None)
            );
        }
        let url = parse("https://0.0.0.0:443?key=/etc/key.pem&cert=chain.pem").expect("both files");
        assert_eq!(url.certificate, Some(("chain.pem".into(), "/etc/key.pem".into())));
    }

    #[test]
    fn other_urls_are_refused_with_the_form_to_write() {
        for (text, words) in [
            ("http://0.0.0.0:9443", "http only on the machine itself"),
            ("http://192.0.2.1", "use https://"),
            ("https://camera.example", "https://ADDRESS:PORT"),
            ("wss://0.0.0.0", "https://ADDRESS:PORT"),
            ("0.0.0.0:9443", "https://ADDRESS:PORT"),
            ("https://0.0.0.0?cert=a", "only one of"),
            ("https://0.0.0.0?cert=a&key=", "no file"),
            ("https://0.0.0.0?cert=a&cert=b&key=c", "or two"),
            ("https://0.0.0.0?crt=a&key=c", "another option"),
            ("https://0.0.0.0?", "another option"),
        ] {
            let failure = parse(text).expect_err(text);
            assert!(failure.to_string().contains(words), "{text}: {failure}");
        }
    }
}
