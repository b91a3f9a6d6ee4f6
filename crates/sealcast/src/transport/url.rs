//! The URLs that say where to listen.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use sealcast_proto::wire::{Host, TransportKind};

use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};

/// The port when a URL names none: free in the lists of MediaMTX, go2rtc and moq.
pub const DEFAULT_PORT: u16 = 9553;

/// Where to listen: `tcp://ADDRESS[:PORT]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenUrl {
    /// The address; an unspecified one means all of this machine's.
    pub address: SocketAddr,
}

impl FromStr for ListenUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let usage = |what: String, hint: &str| Failure::new(FailureKind::Usage, what, hint);
        let form = "write tcp://ADDRESS:PORT, as in tcp://0.0.0.0:9553 or tcp://[::]:9553";
        let Some(rest) = text.strip_prefix("tcp://") else {
            let what = match text.split_once("://") {
                Some((scheme @ ("udp" | "quic"), _)) => format!("{scheme}:// is not in this version"),
                // Whatever was typed here by mistake may hold a secret.
                _ => format!("\"{}\" does not say where to listen", redact(text)),
            };
            return Err(usage(what, form));
        };
        let rest = rest.trim_end_matches('/');
        if let Ok(address) = rest.parse() {
            return Ok(Self { address });
        }
        let bare = rest
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(rest);
        let address: IpAddr = bare
            .parse()
            .map_err(|_| usage(format!("\"{rest}\" is not an address to listen at"), form))?;
        Ok(Self {
            address: (address, DEFAULT_PORT).into(),
        })
    }
}

impl ListenUrl {
    /// The carrier that tickets name.
    pub fn transport(&self) -> TransportKind {
        TransportKind::Tcp
    }

    /// The host for a ticket when listening at `bound`: the address itself or, for all addresses, this machine's name
    /// for itself.
    pub fn ticket_host(bound: SocketAddr) -> Host {
        match bound.ip() {
            ip if ip.is_unspecified() => own_address(bound).unwrap_or(Host::Name("localhost".to_owned())),
            IpAddr::V4(address) => Host::V4(address),
            IpAddr::V6(address) => Host::V6(address),
        }
    }
}

/// The address this machine would use towards the network. Connecting a datagram socket sends nothing.
fn own_address(bound: SocketAddr) -> Option<Host> {
    let (local, far): (SocketAddr, SocketAddr) = if bound.is_ipv4() {
        (([0, 0, 0, 0], 0).into(), ([192, 0, 2, 1], 9).into())
    } else {
        (([0_u16; 8], 0).into(), ([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1], 9).into())
    };
    let socket = std::net::UdpSocket::bind(local).ok()?;
    socket.connect(far).ok()?;
    match socket.local_addr().ok()?.ip() {
        ip if ip.is_unspecified() || ip.is_loopback() => None,
        IpAddr::V4(address) => Some(Host::V4(address)),
        IpAddr::V6(address) => Some(Host::V6(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_are_read_with_and_without_port() {
        for (text, address) in [
            ("tcp://127.0.0.1:7000", "127.0.0.1:7000"),
            ("tcp://127.0.0.1", "127.0.0.1:9553"),
            ("tcp://[::1]:7000", "[::1]:7000"),
            ("tcp://[::]/", "[::]:9553"),
        ] {
            assert_eq!(text.parse::<ListenUrl>().expect(text).address.to_string(), address);
        }
    }

    #[test]
    fn other_urls_are_refused_with_the_form_to_write() {
        for text in [
            "udp://0.0.0.0:1",
            "http://x",
            "127.0.0.1:7000",
            "tcp://camera.example:1",
            "tcp://",
            "",
        ] {
            let failure = text.parse::<ListenUrl>().expect_err(text);
            assert!(failure.hint.contains("tcp://"), "{failure}");
        }
    }
}
