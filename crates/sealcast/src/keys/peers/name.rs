//! The name of a publisher or camera gateway, and that under which a listening viewer keeps its lists.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::failure::{Failure, FailureKind, Result};
use crate::transport::{ListenUrl, WebUrl};

/// Maximum length of a name in bytes.
const MAX_NAME: usize = 64;

/// Kind of a listening end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A publisher or camera gateway, to which viewers connect.
    Publisher,
    /// A viewer, to which a publisher connects.
    Viewer,
}

impl Kind {
    /// The directory of the lists of all ends of this kind.
    pub fn directory(self, home: &Path) -> PathBuf {
        home.join(match self {
            Self::Publisher => "publishers",
            Self::Viewer => "viewers",
        })
    }
}

/// Name of a listening end: 1 to 64 letters, digits and `.-_`, the first of them no dot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListName(String);

impl FromStr for ListName {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        let whole = (1..=MAX_NAME).contains(&text.len()) && text.bytes().all(valid) && !text.starts_with('.');
        match whole {
            true => Ok(Self(text.to_owned())),
            false => Err(Failure::new(
                FailureKind::Usage,
                format!("\"{}\" is no name of a publisher or its lists", text.escape_debug()),
                "use 1 to 64 letters, digits and .-_, and no dot first",
            )),
        }
    }
}

impl From<&ListenUrl> for ListName {
    /// The name of a listening viewer that has none: its address as written, such as `tcp-0.0.0.0-9553` or `udp-__1-0`.
    fn from(listen: &ListenUrl) -> Self {
        Self::of_address(listen.transport().name(), listen.address)
    }
}

impl From<&WebUrl> for ListName {
    /// The name of an end that only browsers connect to, such as `https-0.0.0.0-9443`.
    fn from(web: &WebUrl) -> Self {
        Self::of_address(if web.tls { "https" } else { "http" }, web.address)
    }
}

impl ListName {
    /// True for a name that earlier versions made from the address where a publisher listens, or from its relay.
    pub fn is_of_address(&self) -> bool {
        ["tcp-", "udp-", "quic-", "relay-"]
            .iter()
            .any(|start| self.0.starts_with(start))
    }

    fn of_address(scheme: &str, address: SocketAddr) -> Self {
        let host = address.ip().to_string().replace(':', "_");
        Self(format!("{scheme}-{host}-{}", address.port()))
    }
}

impl fmt::Display for ListName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_makes_a_name_and_each_name_is_one_directory() {
        for (url, name) in [
            ("tcp://0.0.0.0:9553", "tcp-0.0.0.0-9553"),
            ("udp://127.0.0.1:0?latency=200", "udp-127.0.0.1-0"),
            ("quic://[::1]:9", "quic-__1-9"),
            ("tcp://[::]", "tcp-__-9553"),
        ] {
            let url: ListenUrl = url.parse().expect("a URL");
            assert_eq!(ListName::from(&url).to_string(), name);
            assert_eq!(ListName::from(&url), name.parse().expect("a name"));
        }
        let of_address = |name: &str| name.parse::<ListName>().expect("a name").is_of_address();
        assert!(of_address("relay-relay.example-4443-front") && !of_address("front"));
        for wrong in ["", ".", "..", ".hidden", "a/b", "a b", "naïve", &"x".repeat(65)] {
            assert!(wrong.parse::<ListName>().is_err(), "{wrong}");
        }
    }
}
