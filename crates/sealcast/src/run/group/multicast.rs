//! Frames of a group on their way to a multicast group: each record is sent once for all who hear it.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::group_media::SealedFrame;
use sealcast_proto::wire::MulticastGroup;
use tokio::sync::mpsc;

use crate::failure::Result;
use crate::keys::entropy;
use crate::meter::labels::DatagramUnsent;
use crate::meter::metrics::Metrics;
use crate::transport::udp::{MulticastOut, Path};

/// Frames that may wait. Who misses one asks for it.
const MAX_FRAMES: usize = 64;
/// Datagrams that leave at once. More of them would fill the buffers of small switches.
const BURST: usize = 16;
/// Time between them, so that a keyframe of 60 kB takes 3 ms. The viewers' sessions count a frame as sent when it is
/// sealed, and would take more for a queue on the path.
const PAUSE: Duration = Duration::from_millis(1);

/// The multicast group of a publisher.
pub(super) struct Multicast {
    pub(super) group: MulticastGroup,
    frames: mpsc::Sender<Arc<SealedFrame>>,
}

impl Multicast {
    /// Begins to send what is [given](Self::send), in a task that ends with this.
    ///
    /// # Errors
    /// There is no randomness for the tag.
    pub(super) fn start(out: MulticastOut, metrics: Metrics) -> Result<Self> {
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
            metrics,
            unreachable: false,
        };
        tokio::spawn(sender.run(queue));
        tracing::info!(group = %group.address, port = group.port, "viewers in this network are sent each record once");
        Ok(Self { group, frames })
    }

    /// Sends a frame. One that does not fit the queue is lost, as it may be on the way.
    pub(super) fn send(&self, frame: Arc<SealedFrame>) {
        let _ = self.frames.try_send(frame);
    }
}

struct Sender {
    out: MulticastOut,
    tag: u32,
    metrics: Metrics,
    /// It was said that nothing can be sent.
    unreachable: bool,
}

impl Sender {
    async fn run(mut self, mut queue: mpsc::Receiver<Arc<SealedFrame>>) {
        while let Some(frame) = queue.recv().await {
            for run in frame.datagrams(self.tag) {
                let mut bursts = run.bytes.chunks(run.size * BURST).peekable();
                while let Some(burst) = bursts.next() {
                    self.send_now(burst, run.size).await;
                    if bursts.peek().is_some() {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
        }
    }

    async fn send_now(&mut self, mut bytes: &[u8], size: usize) {
        while !bytes.is_empty() {
            let sent = self.out.socket.try_send_run(Path::to(self.out.group), bytes, size);
            if sent.bytes == 0 {
                self.out.socket.writable().await;
                continue;
            }
            let datagrams = sent.bytes.div_ceil(size) as u64;
            self.note(datagrams, sent.bytes as u64, sent.unreachable as u64);
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
