//! The end that connects.

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

/// Most addresses of one name that are tried, all at once.
const MAX_CANDIDATES: usize = 4;
/// How long nothing can be sent before the socket is taken for one of a network that is gone.
const REBIND_AFTER: Duration = Duration::from_secs(3);

/// Get ready to talk to `host`. Nothing is sent yet. What is sent goes to all addresses of a name, until one answers.
///
/// # Errors
/// The name is unknown or has no address, or no socket can be had.
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

/// Get ready to talk to whoever answers first at one of `addresses`, as [`connect`] does; `None` if this machine can
/// write to none of them.
///
/// # Errors
/// No socket can be had.
pub fn connect_any(addresses: &[SocketAddr], metrics: Metrics) -> io::Result<Option<UdpTransport>> {
    let far = FarEnd::open(&addresses[..addresses.len().min(MAX_CANDIDATES)])?;
    Ok(far.map(|far| UdpTransport::connected(far, metrics)))
}

/// The other end, as a connecting end sees it: at one address, which is perhaps still to be found out.
pub(super) struct FarEnd {
    pub(super) socket: DatagramSocket,
    /// Where it may be; one alone once it has answered.
    candidates: Vec<SocketAddr>,
    /// The connection of what was sent: an answer names it.
    connection: Option<u32>,
    /// Since when nothing could be sent.
    failing: Option<Instant>,
}

impl FarEnd {
    fn open(addresses: &[SocketAddr]) -> io::Result<Option<Self>> {
        let socket = bind_any(addresses.iter().any(SocketAddr::is_ipv6))?;
        let mut candidates: Vec<SocketAddr> = addresses.iter().map(|&address| socket.fit(address)).collect();
        // Without IPv6 on this machine the socket takes only the IPv4 ones.
        candidates.retain(|address| address.is_ipv4() == socket.local_address().is_ipv4());
        Ok((!candidates.is_empty()).then_some(Self {
            socket,
            candidates,
            connection: None,
            failing: None,
        }))
    }

    /// Go on from another port, and after a change of networks from another address.
    pub(super) fn rebind(&mut self) -> io::Result<()> {
        self.socket = bind_any(self.socket.local_address().is_ipv6())?;
        self.candidates = self
            .candidates
            .iter()
            .map(|&address| self.socket.fit(address))
            .collect();
        Ok(())
    }

    /// Where the other end is, as far as is known.
    pub(super) fn path(&self) -> Path {
        Path::to(self.candidates[0])
    }

    pub(super) fn send(&mut self, bytes: &[u8], segment: usize) -> Sent {
        self.connection = sealcast_proto::wire::connection_of(bytes);
        let mut sent = Sent::default();
        // The first address that can be written to says how it went.
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

    /// Whether a datagram comes from where we wrote to. The first that names our connection settles which address the
    /// other end has.
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
