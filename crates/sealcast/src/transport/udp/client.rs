//! The connecting end of UDP.

use std::io;
use std::net::SocketAddr;

use super::far_end::FarEnd;
use super::peer::UdpTransport;
use crate::meter::metrics::Metrics;
use crate::transport::race::{MAX_TRIED, Place, Stood};

/// Prepare to talk to the first of these places that answers. Nothing is sent yet. The first datagram, a knock, goes to
/// the first place, and each one after it to one place more, until somebody answers with a cookie: then that is where
/// the peer is, and `stood` says it.
///
/// # Errors
/// This machine can send to none of them, or no socket can be opened; in words.
pub(in crate::transport) fn connect(places: &[Place], stood: Stood, metrics: Metrics) -> Result<UdpTransport, String> {
    let far = FarEnd::open(places, stood).map_err(|error| format!("no socket: {error}"))?;
    let far = far.ok_or("this machine has no address of the same family")?;
    Ok(UdpTransport::connected(far, metrics))
}

/// Prepare to talk to the first of `addresses` that answers. Returns `None` if this machine can send to none of them.
///
/// # Errors
/// No socket can be opened.
pub fn connect_any(addresses: &[SocketAddr], metrics: Metrics) -> io::Result<Option<UdpTransport>> {
    let places: Vec<Place> = addresses.iter().copied().take(MAX_TRIED).map(Place::of).collect();
    let far = FarEnd::open(&places, Stood::default())?;
    Ok(far.map(|far| UdpTransport::connected(far, metrics)))
}
