//! Media in QUIC datagrams, one record in each.

use std::collections::VecDeque;

use bytes::Bytes;
use quinn::{Connection, SendDatagramError};
use sealcast_proto::wire::BASE_DATAGRAM;

use super::config::DATAGRAMS_OUT;
use crate::meter::labels::DatagramUnsent;
use crate::meter::metrics::Metrics;

/// Maximum overhead of a QUIC datagram: the packet header with a connection ID of 20 bytes, the frame header and the
/// tag.
const OVERHEAD: usize = 50;
/// Maximum that quinn counts for each datagram in addition to its bytes.
const ACCOUNTED: usize = 64;

/// Maximum length of a record. Every QUIC path carries packets of 1200 bytes, so this stays valid if the path
/// changes.
pub(super) fn longest(connection: &Connection) -> usize {
    let now = connection.max_datagram_size().unwrap_or(BASE_DATAGRAM);
    now.min(BASE_DATAGRAM - OVERHEAD)
}

/// Queue of datagrams that quinn had no room for yet.
pub(super) struct Datagrams {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    metrics: Metrics,
}

impl Datagrams {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            waiting: VecDeque::new(),
            bytes: 0,
            metrics,
        }
    }

    /// Takes a run of records; returns `false` if earlier ones are still queued.
    pub(super) fn send(&mut self, connection: &Connection, packets: &[u8], size: usize) -> bool {
        self.flush(connection);
        if !self.waiting.is_empty() {
            return false;
        }
        // Copies the run once; the datagrams share the allocation.
        let run = Bytes::copy_from_slice(packets);
        let cuts = (0..run.len()).step_by(size);
        self.waiting
            .extend(cuts.map(|from| run.slice(from..run.len().min(from + size))));
        self.bytes = run.len();
        self.flush(connection);
        true
    }

    /// Passes datagrams to quinn as far as it has room; returns true if it took any.
    pub(super) fn flush(&mut self, connection: &Connection) -> bool {
        let before = self.waiting.len();
        let mut room = if before > 0 {
            connection.datagram_send_buffer_space()
        } else {
            0
        };
        while let Some(next) = self.waiting.front() {
            let needed = next.len() + ACCOUNTED;
            if needed > room {
                break;
            }
            room -= needed;
            self.bytes -= next.len();
            let Some(next) = self.waiting.pop_front() else { break };
            match connection.send_datagram(next) {
                Ok(()) => {}
                Err(SendDatagramError::TooLarge) => self.metrics.datagrams_unsent(DatagramUnsent::TooLong, 1),
                // The peer accepts no datagrams, or is gone; the control stream reports the latter.
                Err(_) => self.metrics.datagrams_unsent(DatagramUnsent::Unreachable, 1),
            }
        }
        self.waiting.len() < before
    }

    /// Drops all queued datagrams.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
        self.bytes = 0;
    }

    /// Bytes that have not left this machine yet.
    pub(super) fn backlog(&self, connection: &Connection) -> usize {
        let free = connection.datagram_send_buffer_space() + ACCOUNTED;
        self.bytes + DATAGRAMS_OUT.saturating_sub(free)
    }
}
