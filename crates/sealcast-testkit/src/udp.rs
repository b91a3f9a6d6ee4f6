//! A peer without keys, which speaks only the part of the protocol before a session (protocol.md §7).

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use sealcast::meter::build_info::BuildInfo;
use sealcast::meter::metrics::Metrics;
use sealcast_proto::keys::{PeerId, ticket_mac};

use crate::ends::identity;

/// Time limit for anything that a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Metrics with all counters zero.
pub fn metrics() -> Metrics {
    Metrics::new(BuildInfo::default())
}

/// The end that listens in tests without a program.
pub fn responder() -> PeerId {
    identity(2).peer_id()
}

/// A request for a cookie to [`responder`].
pub fn knock(connection: u32) -> Vec<u8> {
    knock_to(&responder(), connection)
}

/// A request for a cookie to this end: `connection | 0x07 | random | mac | zeros`.
pub fn knock_to(responder: &PeerId, connection: u32) -> Vec<u8> {
    let mut out = connection.to_be_bytes().to_vec();
    out.push(0x07);
    out.extend_from_slice(&[0x5A; 16]);
    out.extend_from_slice(&ticket_mac(responder).of_knock(0x07, &[0x5A; 16], connection));
    out.resize(64, 0);
    out
}

/// A handshake fragment: `connection | 0x06 | cookie | message 0 | index 0 | count 1 | part`.
pub fn fragment(connection: u32, cookie: &[u8], part: &[u8]) -> Vec<u8> {
    let mut out = connection.to_be_bytes().to_vec();
    out.push(0x06);
    out.extend_from_slice(cookie);
    out.extend_from_slice(&[0, 0, 1]);
    out.extend_from_slice(part);
    out
}

/// A media record with a valid kind but arbitrary content: without keys more is not possible.
pub fn record(connection: u32, length: usize) -> Vec<u8> {
    let mut out = connection.to_be_bytes().to_vec();
    out.push(0x10);
    out.resize(length, 0xEE);
    out
}

/// A plain socket of the standard library.
pub fn bare_socket(address: &str) -> UdpSocket {
    let socket = UdpSocket::bind(address).expect("the loopback interface");
    socket
        .set_read_timeout(Some(PATIENCE))
        .expect("an option of all systems");
    socket
}

/// The next datagram and its source address.
pub fn receive(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut bytes = [0; 10_000];
    let (length, from) = socket.recv_from(&mut bytes).expect("a datagram arrives");
    (bytes[..length].to_vec(), from)
}

/// Requests a cookie of [`responder`] and returns it.
pub fn cookie_for(socket: &UdpSocket, to: SocketAddr, connection: u32) -> Vec<u8> {
    cookie_of(&responder(), socket, to, connection)
}

/// Requests a cookie of this end and returns it.
pub fn cookie_of(responder: &PeerId, socket: &UdpSocket, to: SocketAddr, connection: u32) -> Vec<u8> {
    socket.send_to(&knock_to(responder, connection), to).expect("sent");
    let (answer, from) = receive(socket);
    assert_eq!((from, answer.len()), (to, 37));
    assert_eq!(&answer[..5], &[&connection.to_be_bytes()[..], &[0x08]].concat());
    assert_eq!(answer[5..21], [0x5A; 16]);
    answer[21..].to_vec()
}
