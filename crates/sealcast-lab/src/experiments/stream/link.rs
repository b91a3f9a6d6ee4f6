//! A simulated link between two ends of a session: a proxy to which the viewer's ticket points.

use std::net::{Ipv4Addr, SocketAddr};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;
use sealcast_proto::wire::{Host, Ticket, TransportKind};

use crate::proxy::{Links, TcpProxy, UdpProxy};

/// A running proxy; it ends when it is dropped.
pub(crate) enum Proxy {
    Tcp(#[expect(dead_code, reason = "held")] TcpProxy),
    Udp(#[expect(dead_code, reason = "held")] UdpProxy),
}

impl Proxy {
    /// Starts a proxy before the sender of a ticket; returns the ticket of a viewer that goes through it. `up` is what
    /// the viewer sends, and `down` what it receives.
    pub(crate) fn before(ticket: &str, links: Links) -> Result<(String, Self)> {
        let mut parsed: Ticket = ticket.parse().map_err(|error| {
            let what = format!("the publisher's ticket cannot be read: {error}");
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let (any, to) = (local(0), local(parsed.port));
        let started = match parsed.transport {
            TransportKind::Tcp => TcpProxy::start(any, to, links).map(|proxy| (proxy.address(), Self::Tcp(proxy))),
            _ => UdpProxy::start(any, to, links).map(|proxy| (proxy.address(), Self::Udp(proxy))),
        };
        let (address, proxy) = started.map_err(|error| {
            let what = format!("the link's proxy cannot be started ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        })?;
        parsed.host = Host::V4(Ipv4Addr::LOCALHOST);
        parsed.port = address.port();
        Ok((parsed.reveal(), proxy))
    }
}

/// The profile of a link in a definition; none if the text is empty. `of` is the case or the system that has it.
///
/// # Errors
/// The text is no profile.
pub(crate) fn profile(of: &str, link: &str) -> Result<Option<LinkProfile>> {
    if link.is_empty() {
        return Ok(None);
    }
    link.parse().map(Some).map_err(|error| {
        let what = format!("the link of `{of}`, \"{link}\", is no profile: {error}");
        Failure::new(
            FailureKind::Usage,
            what,
            "see `sealcast-lab proxy --help` for how one is written",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_a_profile_or_nothing() {
        assert_eq!(profile("loopback", "").expect("nothing"), None);
        assert!(profile("a", "delay=20ms").expect("a profile").is_some());
        let refused = profile("mine", "delay=soon").expect_err("no profile");
        assert!(
            refused.what.contains("`mine`") && refused.what.contains("delay=soon"),
            "{refused}"
        );
    }
}
