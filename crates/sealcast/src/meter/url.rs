//! Address of metrics, as users write it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use crate::failure::{Failure, FailureKind, Result};

/// `[https://]ADDRESS:PORT[?token=@FILE&cert=FILE&key=FILE]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct MetricsUrl {
    /// Address and port; port 0 takes a free port.
    pub address: SocketAddr,
    /// True if they are served within TLS.
    pub tls: bool,
    /// File with the token that whoever reads them shows.
    pub token_file: Option<PathBuf>,
    /// The files of a certificate for TLS: the chain and its key. Without them it is that of pages.
    pub certificate: Option<(PathBuf, PathBuf)>,
}

/// Reason why a text does not say where to serve metrics. It repeats nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}; write ADDRESS:PORT, as in 127.0.0.1:9464, or https://0.0.0.0:9464?token=@FILE[&cert=FILE&key=FILE]")]
pub struct NoMetricsUrl(&'static str);

impl FromStr for MetricsUrl {
    type Err = NoMetricsUrl;

    fn from_str(text: &str) -> std::result::Result<Self, NoMetricsUrl> {
        let (tls, rest) = match text.split_once("://") {
            None => (false, text),
            Some(("http", rest)) => (false, rest),
            Some(("https", rest)) => (true, rest),
            Some(_) => return Err(NoMetricsUrl("metrics are served over http or https")),
        };
        let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = authority.strip_suffix('/').unwrap_or(authority);
        let address = authority.parse().map_err(|_| NoMetricsUrl("that is no ADDRESS:PORT"))?;
        let (mut token, mut chain, mut key) = (None, None, None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (place, file) = match option.split_once('=') {
                Some(("token", file)) => (&mut token, file.strip_prefix('@').unwrap_or_default()),
                Some(("cert", file)) => (&mut chain, file),
                Some(("key", file)) => (&mut key, file),
                _ => return Err(NoMetricsUrl("the options are token, cert and key")),
            };
            if file.is_empty() || place.replace(PathBuf::from(file)).is_some() {
                return Err(NoMetricsUrl("an option names no file, or two"));
            }
        }
        let certificate = match (chain, key) {
            (None, None) => None,
            (Some(chain), Some(key)) if tls => Some((chain, key)),
            (Some(_), Some(_)) => return Err(NoMetricsUrl("a certificate is for https://")),
            _ => return Err(NoMetricsUrl("cert and key belong together")),
        };
        Ok(Self {
            address,
            tls,
            token_file: token,
            certificate,
        })
    }
}

impl TryFrom<String> for MetricsUrl {
    type Error = NoMetricsUrl;

    fn try_from(text: String) -> std::result::Result<Self, NoMetricsUrl> {
        text.parse()
    }
}

impl MetricsUrl {
    /// Other machines need a token.
    ///
    /// # Errors
    /// Kind `Usage`: other machines could read the metrics without one.
    pub fn check(&self) -> Result<()> {
        if self.address.ip().is_loopback() || self.token_file.is_some() {
            return Ok(());
        }
        let address = self.address;
        Err(Failure::new(
            FailureKind::Usage,
            format!("the metrics address {address} can be reached from other machines, and has no token"),
            format!("use 127.0.0.1, or write a token into a file of yours, and https://{address}?token=@FILE"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> MetricsUrl {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn metrics_are_at_an_address_within_tls_or_not() {
        for (text, address, tls) in [
            ("127.0.0.1:9464", "127.0.0.1:9464", false),
            ("[::1]:0", "[::1]:0", false),
            ("http://127.0.0.1:9464/", "127.0.0.1:9464", false),
            ("https://127.0.0.1:9464", "127.0.0.1:9464", true),
        ] {
            let url = parse(text);
            assert_eq!((url.address.to_string().as_str(), url.tls), (address, tls));
            assert_eq!((url.token_file, url.certificate), (None, None));
        }
        let url = parse("https://0.0.0.0:9464?token=@a/b&key=k&cert=c");
        assert_eq!(url.token_file, Some("a/b".into()));
        assert_eq!(url.certificate, Some(("c".into(), "k".into())));
    }

    #[test]
    fn other_texts_are_refused_and_not_repeated() {
        for text in [
            "hunter2",
            "127.0.0.1",
            "localhost:9464",
            "ftp://127.0.0.1:1",
            "127.0.0.1:1?token=hunter2hunter2hunter2",
            "127.0.0.1:1?token=@",
            "127.0.0.1:1?token=@a&token=@b",
            "127.0.0.1:1?public",
            "https://127.0.0.1:1?cert=a",
            "127.0.0.1:1?cert=a&key=b",
        ] {
            let error = text.parse::<MetricsUrl>().expect_err(text).to_string();
            assert!(
                error.contains("ADDRESS:PORT") && !error.contains("hunter2"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn other_machines_need_a_token() {
        for text in ["0.0.0.0:1", "[::]:1", "https://192.0.2.1:1"] {
            let failure = parse(text).check().expect_err(text);
            assert_eq!(failure.kind, FailureKind::Usage);
            assert!(failure.hint.contains("?token=@FILE"), "{failure}");
        }
        for text in ["127.0.0.1:1", "[::1]:1", "0.0.0.0:1?token=@file"] {
            parse(text).check().expect(text);
        }
    }
}
