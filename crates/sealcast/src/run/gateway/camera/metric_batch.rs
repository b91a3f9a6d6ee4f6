//! Metrics of packets, recorded in batches once the packets have left.

use std::time::{Duration, Instant};

use sealcast_proto::session::{OutboundCounts, SealedRecords};

use crate::meter::stage::Stage;
use crate::run::Observation;

/// Units per batch. Recording units one by one would miss the processor's caches each time.
const TOGETHER: usize = 32;

/// The facts about a sealed frame.
pub(super) struct SealedUnit {
    pub(super) made: SealedRecords,
    pub(super) wire_bytes: u64,
    pub(super) took: Duration,
}

/// Measurements of a session's packets that are not recorded yet.
#[derive(Default)]
pub(super) struct MetricBatch {
    sealed: Vec<SealedUnit>,
    /// Arrival times of the packets about to be sent.
    arrivals: Vec<Instant>,
    /// Forwarding times of the packets sent.
    forwarded: Vec<Duration>,
    /// Times taken to pass frames to the network.
    sent: Vec<Duration>,
    counted: OutboundCounts,
}

impl MetricBatch {
    pub(super) fn sealed(&mut self, sealed: SealedUnit) {
        self.sealed.push(sealed);
    }

    /// Note that a packet that came at `arrived` is about to be sent.
    pub(super) fn arrived(&mut self, arrived: Instant) {
        self.arrivals.push(arrived);
    }

    /// Note that the pending packets were passed to the network.
    pub(super) fn handed(&mut self) {
        let now = Instant::now();
        let took = self.arrivals.drain(..).map(|arrived| now - arrived);
        self.forwarded.extend(took);
    }

    pub(super) fn sent(&mut self, took: Option<Duration>) {
        self.sent.extend(took);
    }

    /// True if it holds a whole batch.
    pub(super) fn is_full(&self) -> bool {
        self.sealed.len() >= TOGETHER
    }

    /// Record the batch and the session's counters.
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
