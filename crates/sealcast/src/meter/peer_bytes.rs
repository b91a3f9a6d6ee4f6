//! Bytes that are held for peers until they read them: `sealcast_peer_bytes`, by the queue that they wait in.
//!
//! They are added up when the metrics are fetched. A queue that counts its bytes anyway costs nothing more by this.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::labels::PeerQueue;

/// A queue of what a peer has not read yet.
pub trait Holds: Send + Sync {
    /// Bytes that it holds now.
    fn held(&self) -> usize;
}

/// The bytes of a queue whose owner alone can count them.
#[derive(Debug, Default)]
pub struct Held(AtomicUsize);

impl Held {
    /// The queue holds so many bytes now.
    pub fn set(&self, bytes: usize) {
        self.0.store(bytes, Ordering::Relaxed);
    }
}

impl Holds for Held {
    fn held(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

type Queues = Vec<(PeerQueue, Weak<dyn Holds>)>;

/// The queues that exist.
#[derive(Clone, Default)]
pub(super) struct PeerBytes(Arc<Mutex<Queues>>);

impl PeerBytes {
    pub(super) fn lock(&self) -> MutexGuard<'_, Queues> {
        // Each statement leaves the list whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn sum(&self, of: PeerQueue) -> usize {
        let queues = self.lock();
        let alive = queues.iter().filter(|(queue, _)| *queue == of);
        alive
            .filter_map(|(_, held)| held.upgrade())
            .map(|queue| queue.held())
            .sum()
    }
}

impl fmt::Debug for PeerBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerBytes").finish_non_exhaustive()
    }
}

impl Collector for PeerBytes {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Bytes held for peers that have not read them yet";
        let mut family = encoder.encode_descriptor("peer_bytes", help, None, MetricType::Gauge)?;
        for queue in PeerQueue::ALL {
            let bytes = i64::try_from(self.sum(*queue)).unwrap_or(i64::MAX);
            let gauge = ConstGauge::new(bytes);
            gauge.encode(family.encode_family(&[("queue", queue.name())])?)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::build_info::BuildInfo;
    use super::super::metrics::Metrics;
    use super::*;

    #[test]
    fn what_queues_hold_is_added_up_by_kind_and_forgotten_with_them() {
        let metrics = Metrics::new(BuildInfo::default());
        let queues: Vec<Arc<Held>> = (0..100).map(|_| metrics.held(PeerQueue::Session)).collect();
        let other = metrics.held(PeerQueue::Player);
        queues.iter().for_each(|queue| queue.set(7));
        other.set(5);
        let text = metrics.encode();
        for line in [
            r#"sealcast_peer_bytes{queue="session"} 700"#,
            r#"sealcast_peer_bytes{queue="player"} 5"#,
            r#"sealcast_peer_bytes{queue="media"} 0"#,
        ] {
            assert!(text.lines().any(|seen| seen == line), "{line}\nis missing from\n{text}");
        }
        drop(queues);
        assert_eq!(metrics.peer_bytes_in(PeerQueue::Session), 0);
        for _ in 0..10_000 {
            metrics.held(PeerQueue::Session);
        }
        assert!(
            metrics.peer_bytes().lock().capacity() < 1000,
            "those that are gone leave the list"
        );
    }
}
