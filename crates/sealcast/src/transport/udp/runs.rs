//! Datagrams that were received, lying one behind the other.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use sealcast_proto::wire::{AddressBytes, connection_of};

/// Between which addresses a datagram travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// The other end, as the socket's family writes it.
    pub remote: SocketAddr,
    /// Our address, where it is known. A peer takes answers only from the address it wrote to, and a machine may have
    /// several.
    pub local: Option<IpAddr>,
}

impl Path {
    /// The way to an address, from whichever of ours the system chooses.
    pub fn to(remote: SocketAddr) -> Self {
        Self { remote, local: None }
    }

    /// The other end as people write it: an IPv4 address that came through an IPv6 socket is IPv4 again.
    pub fn shown(&self) -> SocketAddr {
        SocketAddr::new(self.remote.ip().to_canonical(), self.remote.port())
    }

    /// The other end in the form that cookies are made for.
    pub(super) fn bytes(&self) -> AddressBytes {
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

/// Datagrams that came on one path: all of `stride` bytes but for the last, which may be shorter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) path: Path,
    pub(super) stride: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Received datagrams in one buffer, handed out in place and in order.
#[derive(Debug, Default)]
pub struct Runs {
    pub(super) bytes: Vec<u8>,
    pub(super) runs: Vec<Run>,
    run: usize,
    /// How much of the first run is gone.
    taken: usize,
    pub(super) full: bool,
}

impl Runs {
    /// No datagrams, in buffers that are there already. Only what is written to takes memory.
    pub(super) fn with_buffers(bytes: usize, runs: usize) -> Self {
        Self {
            bytes: vec![0; bytes],
            runs: Vec::with_capacity(runs),
            run: 0,
            taken: 0,
            full: false,
        }
    }

    /// Whether there was room for no more, so that more may be waiting.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether all were handed out.
    pub fn is_empty(&self) -> bool {
        self.run == self.runs.len()
    }

    /// Forget all datagrams; buffers stay.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.run = 0;
        self.taken = 0;
        self.full = false;
    }

    /// The next datagram and where it came from.
    #[expect(clippy::should_implement_trait, reason = "it lends from itself")]
    pub fn next(&mut self) -> Option<(Path, &mut [u8])> {
        let (path, range) = self.next_range()?;
        Some((path, &mut self.bytes[range]))
    }

    /// The next datagram's place, for [`slice`](Self::slice).
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

    /// The next datagrams that came on one path and name one connection; `None` for one too short to name any.
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
    pub(super) fn push(&mut self, path: Path, stride: usize, datagrams: &[u8]) {
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
