//! The event server's socket.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Instant;

use sealcast_proto::events::{EventReport, EventServer, Judged};
use sealcast_proto::wire::AddressBytes;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;

use crate::failure::{Failure, FailureKind, Result};
use crate::meter::telling::Telling;
use crate::run::clock::Clock;
use crate::transport::udp::Path;

/// Longer than any datagram that is looked at.
const MAX_DATAGRAM: usize = 2048;

/// Counters of a run, for the log.
#[derive(Debug, Default)]
struct Counts {
    answered: u64,
    strangers: u64,
    replayed: u64,
    full: Telling,
}

/// Bind the server's socket.
///
/// # Errors
/// The address is taken, or does not belong to this machine: kind `Network`.
pub(super) async fn bind(address: SocketAddr) -> Result<UdpSocket> {
    UdpSocket::bind(address).await.map_err(|error| {
        let what = format!("events cannot be served at {address} ({error})");
        Failure::new(
            FailureKind::Network,
            what,
            "choose another port or an address of this machine with --events",
        )
    })
}

/// Answer clients and tell them what was shown, for ever.
pub(super) async fn serve(
    socket: &UdpSocket,
    server: &mut EventServer,
    clock: Clock,
    reports: &mut mpsc::Receiver<EventReport>,
) -> Result<()> {
    let mut buffer = [0; MAX_DATAGRAM];
    let mut counts = Counts::default();
    let v6 = socket.local_addr().is_ok_and(|address| address.is_ipv6());
    let outcome = loop {
        tokio::select! {
            received = socket.recv_from(&mut buffer) => match received {
                Ok((length, from)) => {
                    let judged = server.handle(clock.now(), Path::to(from).bytes(), &buffer[..length]);
                    counts.note(judged, from);
                }
                // Errors of earlier datagrams, such as a client's port that is closed, are reported here once each.
                Err(error) => tracing::debug!(%error, "a datagram of an event was not delivered"),
            },
            report = reports.recv() => match report {
                Some(report) => server.report(clock.now(), report),
                None => break Ok(()),
            },
        }
        while let Some((to, datagram)) = server.poll(clock.now().wall) {
            // A client that cannot be reached asks again, or is forgotten.
            if let Err(error) = socket.send_to(&datagram, address_of(&to, v6)).await {
                tracing::debug!(%error, "a datagram of an event was not sent");
            }
        }
    };
    tracing::info!(?counts, "the event server ends");
    outcome
}

impl Counts {
    fn note(&mut self, judged: Judged, from: SocketAddr) {
        let count = match judged {
            Judged::Answered => &mut self.answered,
            Judged::Stranger => &mut self.strangers,
            Judged::Replayed => &mut self.replayed,
            Judged::Full => {
                if let Some(total) = self.full.count(Instant::now()) {
                    tracing::warn!(%from, total, "there is no room for another client of the event server");
                }
                return;
            }
            Judged::Challenged => return,
        };
        *count += 1;
    }
}

/// The socket address of address bytes, in the form of the socket's address family.
fn address_of(bytes: &AddressBytes, v6: bool) -> SocketAddr {
    let (ip, port) = bytes.split_at(16);
    let ip = Ipv6Addr::from(<[u8; 16]>::try_from(ip).unwrap_or_default());
    let port = u16::from_be_bytes(<[u8; 2]>::try_from(port).unwrap_or_default());
    let ip = if v6 { ip.into() } else { ip.to_canonical() };
    SocketAddr::new(ip, port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_from_its_bytes_in_the_form_of_the_socket() {
        for (address, v6, there) in [
            ("192.0.2.1:9", false, "192.0.2.1:9"),
            ("192.0.2.1:9", true, "[::ffff:192.0.2.1]:9"),
            ("[::ffff:192.0.2.1]:9", true, "[::ffff:192.0.2.1]:9"),
            ("[2001:db8::1]:65535", true, "[2001:db8::1]:65535"),
        ] {
            let bytes = Path::to(address.parse().expect("an address")).bytes();
            assert_eq!(address_of(&bytes, v6).to_string(), there);
        }
    }
}
