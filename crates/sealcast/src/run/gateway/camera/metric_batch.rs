//! Metrics of packets, recorded in batches once the packets have left.

use std::time::{Duration, Instant};

use sealcast_proto::session::{OutboundCounts, SealedRecords};

use crate::meter::stage::Stage;
use crate::run::Observation;

/// Units of a batch: recording each by itself would miss the processor's caches each time.
const TOGETHER: usize = 32;

/// A frame that was sealed.
pub(super) struct SealedUnit {
    pub(super) made: SealedRecords,
    pub(super) wire_bytes: u64,
    pub(super) took: Duration,
}

/// What is known of a session's packets and not recorded yet.
#[derive(Default)]
pub(super) struct MetricBatch {
    sealed: Vec<SealedUnit>,
    /// When the packets came that are about to leave.
    arrivals: Vec<Instant>,
    /// How long those took that have left.
    forwarded: Vec<Duration>,
    /// How long it took to hand frames to the network.
    sent: Vec<Duration>,
    counted: OutboundCounts,
}

impl MetricBatch {
    pub(super) fn sealed(&mut self, sealed: SealedUnit) {
        self.sealed.push(sealed);
    }

    /// A packet that `arrived` is about to leave.
    pub(super) fn arrived(&mut self, arrived: Instant) {
        self.arrivals.push(arrived);
    }

    /// What was about to leave was handed to the network.
    pub(super) fn handed(&mut self) {
        let now = Instant::now();
        let took = self.arrivals.drain(..).map(|arrived| now - arrived);
        self.forwarded.extend(took);
    }

    pub(super) fn sent(&mut self, took: Option<Duration>) {
        self.sent.extend(took);
    }

    /// Whether it holds a whole batch.
    pub(super) fn is_full(&self) -> bool {
        self.sealed.len() >= TOGETHER
    }

    /// Record it, and what the session counted.
    pub(super) fn record(&mut self, observation: &Observation, counts: Option<OutboundCounts>) {
        let metrics = &observation.metrics;
        for sealed in self.sealed.drain(..) {
            observation.frame_sealed(sealed.made, sealed.wire_bytes, sealed.took);
        }
        for took in self.forwarded.drain(..) {
            metrics.record_stage(Stage::Forward, took);
        }
        for took in self.sent.drain(..) {
            metrics.record_stage(Stage::Send, took);
        }
        if let Some(counts) = counts {
            metrics.media_left(&mut self.counted, counts);
        }
    }
}
