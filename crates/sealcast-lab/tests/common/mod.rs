//! An impaired network with a seed, in front of a ticket's port.

use std::net::{Ipv4Addr, SocketAddr};

use sealcast_lab::proxy::{Links, UdpProxy};
use sealcast_testkit::attack::Proxy;

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// Starts an impaired network in front of a ticket's port. Returns it and the ticket that leads through it.
pub(crate) fn behind(ticket: &str, link: &str, seed: u64) -> (UdpProxy, String) {
    let port = Proxy::port_of(ticket);
    let links = Links::both(link.parse().expect("a profile"), seed);
    let proxy = UdpProxy::start(HERE.into(), SocketAddr::from((Ipv4Addr::LOCALHOST, port)), links);
    let proxy = proxy.expect("a proxy");
    let ticket = Proxy::redirect(ticket, proxy.address().port());
    (proxy, ticket)
}
