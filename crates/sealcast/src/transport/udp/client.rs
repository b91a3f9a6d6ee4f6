//! The connecting end of UDP.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use sealcast_proto::wire::Host;
use tokio::net::lookup_host;

use super::peer::UdpTransport;
use super::socket::{DatagramSocket, Sent, bind_any};
use super::{Path, Runs};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::metrics::Metrics;

/// Maximum number of addresses of one name that are tried, all at the same time.
const MAX_CANDIDATES: usize = 4;
/// If nothing could be sent for this long, open a new socket: the network of the old one is probably gone.
const REBIND_AFTER: Duration = Duration::from_secs(3);

/// Prepare to talk to `host`. Nothing is sent yet. Datagrams go to all addresses of a name until one of them answers.
///
/// # Errors
/// The name is unknown or has no address, or no socket can be opened.
pub async fn connect(host: &Host, port: u16, metrics: Metrics) -> Result<UdpTransport> {
    let fail = |why: String, hint: &str| {
        Failure::new(
            FailureKind::Network,
            format!("cannot reach {host}:{port} over UDP ({why})"),
            hint,
        )
    };
    let addresses = match host {
        Host::V4(address) => vec![SocketAddr::from((*address, port))],
        Host::V6(address) => vec![SocketAddr::from((*address, port))],
        Host::Name(name) => lookup_host((name.as_str(), port))
            .await
            .map_err(|error| fail(error.to_string(), "check the name and the network"))?
            .take(MAX_CANDIDATES)
            .collect(),
    };
    let transport = connect_any(&addresses, metrics);
    let transport =
        transport.map_err(|error| fail(format!("no socket: {error}"), "close other programs and try again"))?;
    let hint = "check the name, and whether the other end has an IPv4 address";
    transport.ok_or_else(|| fail("this machine can write to no address of it".to_owned(), hint))
}

/// Prepare to talk to the first of `addresses` that answers, as [`connect`] does. Returns `None` if this machine can
/// send to none of them.
///
/// # Errors
/// No socket can be opened.
pub fn connect_any(addresses: &[SocketAddr], metrics: Metrics) -> io::Result<Option<UdpTransport>> {
    let far = FarEnd::open(&addresses[..addresses.len().min(MAX_CANDIDATES)])?;
    Ok(far.map(|far| UdpTransport::connected(far, metrics)))
}

/// The peer as the connecting end sees it: one address, which may still have to be found out of several.
pub(super) struct FarEnd {
    pub(super) socket: DatagramSocket,
    /// Possible addresses of the peer; only one remains after it has answered.
    candidates: Vec<SocketAddr>,
    /// The connection number of the datagrams sent; an answer carries the same one.
    connection: Option<u32>,
    /// Start of the time in which nothing could be sent.
    failing: Option<Instant>,
}

impl FarEnd {
    fn open(addresses: &[SocketAddr]) -> io::Result<Option<Self>> {
        let socket = bind_any(addresses.iter().any(SocketAddr::is_ipv6))?;
        let mut candidates: Vec<SocketAddr> = addresses.iter().map(|&address| socket.fit(address)).collect();
        // Without IPv6 on this machine the socket can only use the IPv4 addresses.
        candidates.retain(|address| address.is_ipv4() == socket.local_address().is_ipv4());
        Ok((!candidates.is_empty()).then_some(Self {
            socket,
            candidates,
            connection: None,
            failing: None,
        }))
    }

    /// Continue from a new port and, after a change of networks, from a new local address.
    pub(super) fn rebind(&mut self) -> io::Result<()> {
        self.socket = bind_any(self.socket.local_address().is_ipv6())?;
        self.candidates = self
            .candidates
            .iter()
            .map(|&address| self.socket.fit(address))
            .collect();
        Ok(())
    }

    /// The peer's address, as far as it is known.
    pub(super) fn path(&self) -> Path {
        Path::to(self.candidates[0])
    }

    pub(super) fn send(&mut self, bytes: &[u8], segment: usize) -> Sent {
        self.connection = sealcast_proto::wire::connection_of(bytes);
        let mut sent = Sent::default();
        // Report the result of the first address that can be sent to.
        for (nth, &candidate) in self.candidates.iter().enumerate() {
            let tried = self.socket.try_send_run(Path::to(candidate), bytes, segment);
            if nth == 0 || sent.unreachable > 0 {
                sent = tried;
            }
        }
        self.note_failures(sent);
        sent
    }

    fn note_failures(&mut self, sent: Sent) {
        if sent.bytes == 0 {
            return;
        }
        if sent.unreachable == 0 {
            self.failing = None;
            return;
        }
        let now = Instant::now();
        let since = *self.failing.get_or_insert(now);
        if now.duration_since(since) >= REBIND_AFTER {
            self.failing = Some(now);
            match self.rebind() {
                Ok(()) => tracing::info!(to = %self.path().shown(), "nothing could be sent: using a new socket"),
                Err(error) => tracing::warn!("nothing can be sent, and no new socket can be had ({error})"),
            }
        }
    }

    /// True if a datagram comes from an address that we sent to. The first one with our connection number decides
    /// which of the addresses is the peer's.
    pub(super) fn recognises(&mut self, path: Path, connection: Option<u32>) -> bool {
        let known = self.candidates.contains(&path.remote);
        if known && self.candidates.len() > 1 && connection.is_some() && connection == self.connection {
            self.candidates.retain(|&candidate| candidate == path.remote);
        }
        known
    }

    pub(super) fn receive(&mut self, runs: &mut Runs) -> io::Result<bool> {
        runs.receive(&self.socket)
    }
}
