//! Addresses at which a listening end says that it can be reached.

use std::net::{IpAddr, SocketAddr};
use std::sync::Once;

use sealcast_proto::wire::{Address, Host, MAX_ADDRESSES, Ticket};

use crate::failure::{Failure, FailureKind, Result};
use crate::platform::addresses::reachable;

/// The addresses that the user gave (`--advertise`); without any, those of this machine.
#[derive(Clone, Debug, Default)]
pub struct Advertised(Vec<(Host, Option<u16>)>);

impl Advertised {
    /// Parses what the user gave, each `HOST[:PORT]`; an address of IPv6 needs brackets only before a port.
    ///
    /// # Errors
    /// Kind `Usage`: one is no address, or there are more than a ticket takes.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let usage = |what: String, hint: &str| Err(Failure::new(FailureKind::Usage, what, hint));
        if texts.len() > MAX_ADDRESSES {
            let what = format!("a ticket has at most {MAX_ADDRESSES} addresses");
            return usage(what, "give --advertise fewer times, the best first");
        }
        let mut given: Vec<(Host, Option<u16>)> = Vec::new();
        for text in texts {
            let Some(one) = one(text) else {
                let what = format!("\"{text}\" is no address for a ticket");
                let hint = "check --advertise: a name in lower case, or an address, and perhaps a port, as in \
                            camera.example, 192.0.2.7:9553 or [2001:db8::7]:9553";
                return usage(what, hint);
            };
            if given.contains(&one) {
                return usage(format!("--advertise {text} stands there twice"), "give it once");
            }
            given.push(one);
        }
        Ok(Self(given))
    }

    /// The addresses of a listener that is bound to this one, the best first: what the user gave, or the address bound
    /// to or, if that is unspecified, those at which others may reach this machine. At least one.
    pub fn addresses(&self, bound: SocketAddr) -> Vec<Address> {
        let port = bound.port();
        if !self.0.is_empty() {
            let given = self.0.iter().map(|(host, given)| Address {
                host: host.clone(),
                port: given.unwrap_or(port),
            });
            return given.collect();
        }
        let ips = match bound.ip() {
            // A socket of IPv6 takes connections of both families.
            ip if ip.is_unspecified() => reachable(bound.is_ipv6()),
            ip => vec![ip],
        };
        if ips.is_empty() {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                tracing::warn!(
                    "this machine has no address that another could reach, so the ticket says localhost: give the \
                     address or name that the other side uses with --advertise"
                );
            });
            let host = Host::Name("localhost".to_owned());
            return vec![Address { host, port }];
        }
        let host = |ip| match ip {
            IpAddr::V4(ip) => Host::V4(ip),
            IpAddr::V6(ip) => Host::V6(ip),
        };
        ips.into_iter().map(|ip| Address { host: host(ip), port }).collect()
    }

    /// Put these addresses of a listener into its ticket.
    pub(super) fn fill(&self, ticket: &mut Ticket, bound: SocketAddr) {
        let mut addresses = self.addresses(bound).into_iter();
        if let Some(Address { host, port }) = addresses.next() {
            (ticket.host, ticket.port) = (host, port);
        }
        ticket.add_addresses(addresses);
    }

    /// True if the user gave a port.
    pub fn has_port(&self) -> bool {
        self.0.iter().any(|(_, port)| port.is_some())
    }

    /// The hosts that the user gave, without brackets.
    pub(super) fn hosts(&self) -> Vec<String> {
        self.0.iter().map(|(host, _)| unbracketed(host)).collect()
    }
}

/// A host without brackets.
pub(super) fn unbracketed(host: &Host) -> String {
    let text = host.to_string();
    text.trim_start_matches('[').trim_end_matches(']').to_owned()
}

/// Parses a host with a port or without.
fn one(text: &str) -> Option<(Host, Option<u16>)> {
    let bare = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(text);
    match bare.parse() {
        Ok(IpAddr::V4(ip)) if bare == text => return Some((Host::V4(ip), None)),
        Ok(IpAddr::V4(_)) => return None,
        Ok(IpAddr::V6(ip)) => return ip.to_ipv4_mapped().is_none().then_some((Host::V6(ip), None)),
        Err(_) => {}
    }
    if let Ok(Address { host, port }) = text.parse() {
        return Some((host, Some(port)));
    }
    let whole: Address = format!("{text}:1").parse().ok()?;
    Some((whole.host, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(texts: &[&str]) -> Result<Advertised> {
        Advertised::parse(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn names_and_addresses_are_advertised_with_and_without_a_port() {
        let name = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
        for (text, expected) in [
            ("camera.example", "camera.example:9553"),
            ("camera.example:80", "camera.example:80"),
            ("192.0.2.7", "192.0.2.7:9553"),
            ("192.0.2.7:65535", "192.0.2.7:65535"),
            ("2001:DB8::7", "[2001:db8::7]:9553"),
            ("[2001:db8::7]", "[2001:db8::7]:9553"),
            ("[2001:db8::7]:80", "[2001:db8::7]:80"),
            ("localhost", "localhost:9553"),
            (name.as_str(), format!("{name}:9553").as_str()),
        ] {
            let advertised = parsed(&[text]).expect(text);
            let addresses = advertised.addresses(([0, 0, 0, 0], 9553).into());
            let shown: Vec<String> = addresses.iter().map(Address::to_string).collect();
            assert_eq!(shown, [expected], "{text}");
        }
    }

    #[test]
    fn what_no_ticket_could_say_is_refused() {
        for text in [
            "",
            "Camera.example",
            "camera.example:0",
            "camera.example:65536",
            "camera.example:",
            "[192.0.2.7]",
            "[camera.example]",
            "fe80::1%eth0",
            "[fe80::1%eth0]:9553",
            "::ffff:192.0.2.7",
            "192.0.2.256",
            "tcp://camera.example",
            "camera_1.example",
            &"a".repeat(64),
        ] {
            let failure = parsed(&[text]).expect_err(text);
            assert!(failure.hint.contains("--advertise"), "{text}: {failure}");
        }
        assert!(parsed(&["a", "b", "a"]).is_err() && parsed(&["a", "b", "c", "d", "e"]).is_err());
        assert!(parsed(&["a", "b", "c", "d"]).is_ok());
    }
}
