//! Frames of a group on their way to a multicast group: each record is sent once for all who hear it.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::group_media::SealedFrame;
use sealcast_proto::session::Pacer;
use sealcast_proto::wire::MulticastGroup;
use tokio::sync::mpsc;

use crate::failure::Result;
use crate::keys::entropy;
use crate::meter::labels::DatagramUnsent;
use crate::meter::metrics::Metrics;
use crate::run::Clock;
use crate::transport::udp::{MulticastOut, Path};

/// Frames that may wait. Who misses one asks for it.
const MAX_FRAMES: usize = 64;
/// All that waits leaves within this time, however slow the slowest path: its viewer asks for what it loses, and the
/// encoder follows it.
const EMPTIES_WITHIN: Duration = Duration::from_millis(40);

/// A frame, and the rate in bit/s of the slowest path to a viewer who hears it.
struct Queued {
    frame: Arc<SealedFrame>,
    rate: Option<u64>,
}

/// The multicast group of a publisher.
pub(super) struct Multicast {
    pub(super) group: MulticastGroup,
    frames: mpsc::Sender<Queued>,
}

impl Multicast {
    /// Begins to send what is [given](Self::send), in a task that ends with this.
    ///
    /// # Errors
    /// There is no randomness for the tag.
    pub(super) fn start(out: MulticastOut, clock: Clock, metrics: Metrics) -> Result<Self> {
        let tag = u32::from_be_bytes(entropy::random()?);
        let group = MulticastGroup {
            tag,
            address: out.group.ip(),
            port: out.group.port(),
        };
        let (frames, queue) = mpsc::channel(MAX_FRAMES);
        let sender = Sender {
            out,
            tag,
            clock,
            metrics,
            pacer: Pacer::new(clock.now().monotonic),
            unreachable: false,
        };
        tokio::spawn(sender.run(queue));
        tracing::info!(group = %group.address, port = group.port, "viewers in this network are sent each record once");
        Ok(Self { group, frames })
    }

    /// Sends a frame. One that does not fit the queue is lost, as it may be on the way.
    pub(super) fn send(&self, frame: Arc<SealedFrame>, rate: Option<u64>) {
        let _ = self.frames.try_send(Queued { frame, rate });
    }
}

struct Sender {
    out: MulticastOut,
    tag: u32,
    clock: Clock,
    metrics: Metrics,
    pacer: Pacer,
    /// It was said that nothing can be sent.
    unreachable: bool,
}

impl Sender {
    async fn run(mut self, mut queue: mpsc::Receiver<Queued>) {
        while let Some(Queued { frame, rate }) = queue.recv().await {
            let within = u64::try_from(EMPTIES_WITHIN.as_millis()).unwrap_or(1);
            let bytes = frame.bytes.len() as u64 * (queue.len() as u64 + 1);
            let rate = rate.map(|rate| rate.max(bytes * 8 * 1000 / within));
            for run in frame.datagrams(self.tag) {
                self.send_run(&run.bytes, run.size, rate).await;
            }
        }
    }

    /// Sends datagrams of `size` bytes, at this rate if there is one.
    async fn send_run(&mut self, bytes: &[u8], size: usize, rate: Option<u64>) {
        let mut left = bytes;
        while !left.is_empty() {
            let now = self.clock.now().monotonic;
            let allowed = rate.map_or(u64::MAX, |rate| self.pacer.allowance(now, rate));
            if let (0, Some(rate)) = (allowed, rate) {
                let next = self.pacer.next(rate).saturating_sub(now);
                tokio::time::sleep(next).await;
                continue;
            }
            let count = usize::try_from(allowed).unwrap_or(usize::MAX).div_ceil(size);
            let length = count.saturating_mul(size).min(left.len());
            self.send_now(&left[..length], size).await;
            self.pacer.sent(length);
            left = &left[length..];
        }
    }

    async fn send_now(&mut self, mut bytes: &[u8], size: usize) {
        while !bytes.is_empty() {
            let sent = self.out.socket.try_send_run(Path::to(self.out.group), bytes, size);
            if sent.bytes == 0 {
                self.out.socket.writable().await;
                continue;
            }
            self.note(
                sent.bytes.div_ceil(size) as u64,
                sent.bytes as u64,
                sent.unreachable as u64,
            );
            bytes = &bytes[sent.bytes..];
        }
    }

    fn note(&mut self, datagrams: u64, bytes: u64, unreachable: u64) {
        self.metrics.multicast_sent(datagrams - unreachable, bytes);
        if unreachable > 0 {
            self.metrics.datagrams_unsent(DatagramUnsent::Unreachable, unreachable);
        }
        if unreachable > 0 && !self.unreachable {
            tracing::warn!(
                group = %self.out.group,
                "nothing can be sent to the multicast group, so each viewer is sent all itself: listen at an address \
                 of this machine in the network of the viewers"
            );
        }
        self.unreachable |= unreachable > 0;
    }
}
