//! A seeded bad network in front of a ticket.

use std::net::{Ipv4Addr, SocketAddr};

use sealcast_lab::proxy::{Links, UdpProxy};
use sealcast_testkit::attack::Proxy;

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// A bad network in front of the port of a ticket, and the ticket through it.
pub(crate) fn behind(ticket: &str, link: &str, seed: u64) -> (UdpProxy, String) {
    let port = Proxy::port_of(ticket);
    let links = Links::both(link.parse().expect("a profile"), seed);
    let proxy = UdpProxy::start(HERE.into(), SocketAddr::from((Ipv4Addr::LOCALHOST, port)), links);
    let proxy = proxy.expect("a proxy");
    let ticket = Proxy::redirect(ticket, proxy.address().port());
    (proxy, ticket)
}
