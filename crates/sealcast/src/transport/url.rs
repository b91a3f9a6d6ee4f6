//! URLs for listening.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use sealcast_proto::keys::PeerId;
use sealcast_proto::wire::{Host, Ticket, TransportKind};

use super::advertised::Advertised;
use super::options::{DEFAULT_LATENCY_MS, NetworkOptions};
use crate::config::secrets::redact;
use crate::failure::{Failure, FailureKind, Result};

/// Default port: MediaMTX, go2rtc and moq do not use it.
pub const DEFAULT_PORT: u16 = 9553;

/// Options that a URL of each scheme may have after its `?`.
const TCP_KEYS: &[&str] = &["latency", "rate"];
const UDP_KEYS: &[&str] = &["latency", "fec", "nack", "rate", "pace", "mtu", "multicast"];
const QUIC_KEYS: &[&str] = &["latency", "fec", "nack", "rate", "pace"];

/// Address to listen at, and options for carrying the stream: `tcp://ADDRESS[:PORT]` with `[?latency=400&rate=on|off]`,
/// or `udp://` or `quic://` with
/// `[?latency=120&fec=auto|off|N&nack=on|off&rate=on|off&pace=on|off&mtu=1200|auto&multicast=GROUP:PORT]`; `mtu` and
/// `multicast` are not available for QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenUrl {
    /// The address; the unspecified address means all addresses of this machine.
    pub address: SocketAddr,
    /// Options for carrying the stream.
    pub options: NetworkOptions,
    transport: TransportKind,
}

impl FromStr for ListenUrl {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let usage = |what: String, hint: &str| Failure::new(FailureKind::Usage, what, hint);
        let form = "write tcp://ADDRESS:PORT, udp:// or quic://, as in tcp://0.0.0.0:9553 or udp://[::]:9553";
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let (transport, keys) = match scheme {
            "tcp" => (TransportKind::Tcp, TCP_KEYS),
            "udp" => (TransportKind::Udp, UDP_KEYS),
            "quic" => (TransportKind::Quic, QUIC_KEYS),
            // Do not print the text as it is: a mistyped URL may hold a secret.
            _ => {
                return Err(usage(
                    format!("\"{}\" does not say where to listen", redact(text)),
                    form,
                ));
            }
        };
        let (rest, options) = match rest.split_once('?') {
            Some((rest, query)) => (rest, NetworkOptions::parse(query, scheme, keys)?),
            None => (rest, NetworkOptions::default()),
        };
        let address = parse_address(rest.trim_end_matches('/'), DEFAULT_PORT).ok_or_else(|| {
            let what = format!("\"{}\" is not an address to listen at", redact(text));
            usage(
                what,
                "write an address of this machine in numbers, as in tcp://0.0.0.0:9553, or udp://[::]:9553 for IPv6",
            )
        })?;
        check_multicast(address, options.multicast)?;
        Ok(Self {
            address,
            options,
            transport,
        })
    }
}

/// Fails if viewers who reach this address would not be in one network with the multicast group, as far as addresses
/// tell.
fn check_multicast(address: SocketAddr, group: Option<SocketAddr>) -> Result<()> {
    let usage = |what: String, hint: &str| Err(Failure::new(FailureKind::Usage, what, hint));
    let Some(group) = group else { return Ok(()) };
    if group.is_ipv4() != address.is_ipv4() {
        let what = format!("the multicast group {group} and the address {address} are of two families");
        return usage(what, "use two addresses of IPv4, or two of IPv6");
    }
    if address.is_ipv6() && address.ip().is_unspecified() {
        let what = format!("for the multicast group {group} it must be known in which network it is");
        return usage(
            what,
            "listen at this machine's IPv6 address in that network instead of [::]",
        );
    }
    Ok(())
}

/// The failure to open a socket that listens at `scheme://address`.
pub(crate) fn cannot_listen(scheme: &str, address: SocketAddr, error: &io::Error) -> Failure {
    let hint = match error.kind() {
        io::ErrorKind::AddrInUse => "another program listens there: stop it or choose another port",
        io::ErrorKind::PermissionDenied => "choose a port above 1023",
        io::ErrorKind::AddrNotAvailable => "choose an address of this machine, or 0.0.0.0 or [::] for all",
        _ => "choose another address",
    };
    let what = format!("cannot listen at {scheme}://{address} ({error})");
    Failure::new(FailureKind::Network, what, hint)
}

/// Parses an address with or without a port. An IPv6 address without a port may also lack its brackets.
pub(crate) fn parse_address(text: &str, default_port: u16) -> Option<SocketAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    let address: IpAddr = bare.parse().ok()?;
    Some((address, default_port).into())
}

/// As [`parse_address`], of this machine, which may be called `localhost`.
pub(crate) fn parse_local_address(text: &str, default_port: u16) -> Option<SocketAddr> {
    let local = text.strip_prefix("localhost").map(|port| format!("127.0.0.1{port}"));
    parse_address(local.as_deref().unwrap_or(text), default_port)
}

impl ListenUrl {
    /// Fails if the URL has a multicast group, which `end` does not send to, or an option of `tcp://`, which a
    /// publisher's end keeps.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub fn without_publishers_options(&self, end: &str) -> Result<()> {
        if self.transport == TransportKind::Tcp && self.options != NetworkOptions::default() {
            return Err(Failure::new(
                FailureKind::Usage,
                format!("tcp:// has no options for {end}"),
                "leave out what follows the ?: only `sealcast publish` has it",
            ));
        }
        match self.options.multicast {
            None => Ok(()),
            Some(_) => {
                let what = format!("{end} sends to no multicast group");
                Err(Failure::new(
                    FailureKind::Usage,
                    what,
                    "leave out multicast=: only `sealcast publish` has it",
                ))
            }
        }
    }

    /// The transport that tickets name.
    pub fn transport(&self) -> TransportKind {
        self.transport
    }

    /// The latency budget for tickets, in milliseconds. `None` for TCP, and if it equals the viewers' default.
    fn ticket_latency(&self) -> Option<u16> {
        let latency = u16::try_from(self.options.latency.as_millis()).unwrap_or(u16::MAX);
        (self.transport != TransportKind::Tcp && latency != DEFAULT_LATENCY_MS).then_some(latency)
    }

    /// The ticket of `peer`, which listens at `bound`.
    pub fn ticket(&self, advertised: &Advertised, bound: SocketAddr, peer: PeerId) -> Ticket {
        let mut ticket = Ticket {
            host: Host::V4(Ipv4Addr::UNSPECIFIED),
            port: bound.port(),
            peer,
            transport: self.transport,
            latency: self.ticket_latency(),
            cert_hashes: Vec::new(),
            broadcast: None,
            others: Vec::new(),
            invite: None,
        };
        advertised.fill(&mut ticket, bound);
        ticket
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::transport::{Fec, Mtu};

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
            "http://x",
            "127.0.0.1:7000",
            "tcp://camera.example:1",
            "udp://camera.example:1",
            "UDP://127.0.0.1",
            "tcp://",
            "",
        ] {
            let failure = text.parse::<ListenUrl>().expect_err(text);
            assert!(failure.hint.contains("tcp://"), "{failure}");
        }
    }

    #[test]
    fn a_carrier_of_datagrams_has_options() {
        let url: ListenUrl = "udp://[::]".parse().expect("all have a default");
        assert_eq!(
            (url.transport(), url.options),
            (TransportKind::Udp, NetworkOptions::default())
        );
        assert_eq!(url.ticket_latency(), None);
        let url: ListenUrl = "udp://0.0.0.0:7000?mtu=auto&latency=0&fec=25&nack=off&rate=off&pace=off"
            .parse()
            .expect("in any order");
        let expected = NetworkOptions {
            latency: Duration::ZERO,
            stream_latency: Duration::ZERO,
            fec: Fec::Percent(25),
            nack: false,
            rate: false,
            pace: false,
            multicast: None,
            mtu: Some(Mtu::Auto),
        };
        assert_eq!((url.options, url.ticket_latency()), (expected, Some(0)));
        let url: ListenUrl = "quic://127.0.0.1/?fec=off&latency=10000".parse().expect("QUIC too");
        assert_eq!((url.transport(), url.options.fec), (TransportKind::Quic, Fec::Off));
        assert!(url.options.rate, "the encoder follows unless told otherwise");
        assert_eq!(url.ticket_latency(), Some(10_000));
        let url: ListenUrl = "udp://127.0.0.1?mtu=8972".parse().expect("the longest");
        assert_eq!(url.options.mtu, Some(Mtu::Bytes(8972)));
    }

    #[test]
    fn a_multicast_group_has_an_address_of_the_same_family_in_a_known_network() {
        for (text, group) in [
            ("udp://0.0.0.0?multicast=239.1.2.3:5000", "239.1.2.3:5000"),
            (
                "udp://192.168.1.5:7000?multicast=239.1.2.3:5000&fec=10",
                "239.1.2.3:5000",
            ),
            ("udp://[fd00::1]?multicast=[ff02::5]:5000", "[ff02::5]:5000"),
        ] {
            let url: ListenUrl = text.parse().expect(text);
            assert_eq!(url.options.multicast, Some(group.parse().expect(group)));
            assert!(url.without_publishers_options("a viewer").is_err());
        }
        for (text, words) in [
            ("udp://0.0.0.0?multicast=192.168.1.5:5000", "239.1.2.3:5000"),
            ("udp://0.0.0.0?multicast=239.1.2.3", "239.1.2.3:5000"),
            ("udp://0.0.0.0?multicast=239.1.2.3:0", "239.1.2.3:5000"),
            ("udp://0.0.0.0?multicast=[ff02::5]:5000", "two addresses of IPv4"),
            ("udp://[fd00::1]?multicast=239.1.2.3:5000", "two addresses of IPv4"),
            ("udp://[::]?multicast=[ff02::5]:5000", "instead of [::]"),
            ("quic://0.0.0.0?multicast=239.1.2.3:5000", "quic:// takes latency"),
            ("tcp://0.0.0.0?multicast=239.1.2.3:5000", "tcp:// takes latency"),
        ] {
            let failure = text.parse::<ListenUrl>().expect_err(text);
            assert!(failure.hint.contains(words), "{text}: {failure}");
        }
    }

    #[test]
    fn wrong_options_are_refused_with_what_there_is() {
        for (text, words) in [
            (
                "udp://127.0.0.1?latncy=5",
                "write latency=; udp:// takes latency, fec, nack, rate, pace, mtu",
            ),
            ("udp://127.0.0.1?", "udp:// takes latency"),
            ("udp://127.0.0.1?fec=on&", "auto, off, or percent, 0 to 50"),
            ("udp://127.0.0.1?fec=51", "0 to 50"),
            ("udp://127.0.0.1?latency=10001", "0ms to 10s"),
            ("udp://127.0.0.1?latency=+5", "0ms to 10s"),
            ("udp://127.0.0.1?latency", "0ms to 10s"),
            ("udp://127.0.0.1?mtu=1199", "1200 to 8972"),
            ("udp://127.0.0.1?mtu=8973", "1200 to 8972"),
            ("udp://127.0.0.1?nack=yes", "on or off"),
            ("udp://127.0.0.1?pace=on&pace=on", "once"),
            (
                "quic://127.0.0.1?mtu=1200",
                "quic:// takes latency, fec, nack, rate, pace",
            ),
            ("tcp://127.0.0.1?fec=5", "tcp:// takes latency, rate"),
        ] {
            let failure = text.parse::<ListenUrl>().expect_err(text);
            assert!(failure.hint.contains(words), "{text}: {failure}");
        }
    }
}
