//! Received datagrams, stored back to back.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use sealcast_proto::wire::{AddressBytes, connection_of};

/// The two addresses that a datagram travels between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The peer's address, in the form of the socket's address family.
    pub remote: SocketAddr,
    /// Our address, if known. A peer accepts answers only from the address it sent to, and a machine may have
    /// several.
    pub local: Option<IpAddr>,
}

impl Path {
    /// The path to an address, from the local address that the system chooses.
    pub fn to(remote: SocketAddr) -> Self {
        Self { remote, local: None }
    }

    /// The peer's address for display: an IPv4 address mapped into IPv6 is shown as IPv4.
    pub fn shown(&self) -> SocketAddr {
        SocketAddr::new(self.remote.ip().to_canonical(), self.remote.port())
    }

    /// The peer's address in the form that retry cookies are computed from.
    pub(crate) fn bytes(&self) -> AddressBytes {
        let ip = match self.remote.ip() {
            IpAddr::V4(ip) => ip.to_ipv6_mapped(),
            IpAddr::V6(ip) => ip,
        };
        let mut bytes = [0; 18];
        bytes[..16].copy_from_slice(&ip.octets());
        bytes[16..].copy_from_slice(&self.remote.port().to_be_bytes());
        bytes
    }
}

/// Datagrams received on one path; all have `stride` bytes except the last, which may be shorter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) path: Path,
    pub(super) stride: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Received datagrams in one buffer, delivered in place and in order.
#[derive(Debug, Default)]
pub struct Runs {
    pub(super) bytes: Vec<u8>,
    pub(super) runs: Vec<Run>,
    run: usize,
    /// Bytes of the first run that have already been delivered.
    taken: usize,
    pub(super) full: bool,
}

impl Runs {
    /// Empty, with buffers allocated in advance. Pages take memory only once they are written.
    pub(super) fn with_buffers(bytes: usize, runs: usize) -> Self {
        Self {
            bytes: vec![0; bytes],
            runs: Vec::with_capacity(runs),
            run: 0,
            taken: 0,
            full: false,
        }
    }

    /// True if the buffers were filled, so that more datagrams may be waiting.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// True if all datagrams have been delivered.
    pub fn is_empty(&self) -> bool {
        self.run == self.runs.len()
    }

    /// Discards all datagrams; keeps the buffers.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.run = 0;
        self.taken = 0;
        self.full = false;
    }

    /// Returns the next datagram and its path.
    #[expect(clippy::should_implement_trait, reason = "it lends from itself")]
    pub fn next(&mut self) -> Option<(Path, &mut [u8])> {
        let (path, range) = self.next_range()?;
        Some((path, &mut self.bytes[range]))
    }

    /// Returns the position of the next datagram, for [`slice`](Self::slice).
    pub(super) fn next_range(&mut self) -> Option<(Path, Range<usize>)> {
        let run = *self.runs.get(self.run)?;
        let from = run.start + self.taken;
        let to = run.end.min(from + run.stride);
        self.advance(to);
        Some((run.path, from..to))
    }

    pub(super) fn slice(&mut self, range: Range<usize>) -> &mut [u8] {
        &mut self.bytes[range]
    }

    /// Returns the next datagrams with the same path and connection number; `None` as the number of a datagram that
    /// is too short to hold one.
    pub(super) fn next_of_connection(&mut self) -> Option<(Option<u32>, Run)> {
        let run = *self.runs.get(self.run)?;
        let from = run.start + self.taken;
        let mut datagrams = self.bytes[from..run.end].chunks(run.stride);
        let first = datagrams.next().unwrap_or_default();
        let connection = connection_of(first);
        let mut to = from + first.len();
        if connection.is_some() {
            let alike = datagrams.take_while(|datagram| connection_of(datagram) == connection);
            to += alike.map(<[u8]>::len).sum::<usize>();
        }
        self.advance(to);
        let found = Run {
            start: from,
            end: to,
            ..run
        };
        Some((connection, found))
    }

    fn advance(&mut self, to: usize) {
        let run = self.runs[self.run];
        if to == run.end {
            self.run += 1;
            self.taken = 0;
        } else {
            self.taken = to - run.start;
        }
    }

    /// Append copies of datagrams.
    pub(crate) fn push(&mut self, path: Path, stride: usize, datagrams: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(datagrams);
        self.runs.push(Run {
            path,
            stride,
            start,
            end: self.bytes.len(),
        });
    }
}
