//! Counters of data channels.

use prometheus_client::registry::Registry;
use sealcast_proto::session::DataCounts;

use super::families::Counts;
use super::labels::{ControlRefusal, DataDrop, Direction};
use super::metrics::Metrics;

/// The metric families in the registry.
pub(super) struct DataMeter {
    datagrams: Counts,
    dropped: Counts,
    refused: Counts,
}

impl DataMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let datagrams = "Datagrams on data channels, sealed or opened";
        let dropped = "Datagrams of data channels that were dropped, by cause";
        let refused = "Wishes of viewers to send on a data channel that were refused";
        Self {
            datagrams: Counts::register(registry, "data_datagrams", datagrams, "direction", Direction::NAMES),
            dropped: Counts::register(registry, "data_dropped", dropped, "cause", DataDrop::NAMES),
            refused: Counts::register(
                registry,
                "data_control_refused",
                refused,
                "reason",
                ControlRefusal::NAMES,
            ),
        }
    }
}

impl Metrics {
    /// Counts what a session's data channels did since `counted`, and sets `counted` to `counts`.
    pub(crate) fn data_counted(&self, counted: &mut DataCounts, counts: DataCounts) {
        if counts == *counted {
            return;
        }
        let meter = self.data_meter();
        meter.datagrams.add(Direction::Out as usize, counts.sent - counted.sent);
        meter
            .datagrams
            .add(Direction::In as usize, counts.received - counted.received);
        let dropped = [
            (DataDrop::TooFast, counts.too_fast - counted.too_fast),
            (DataDrop::Length, counts.length - counted.length),
            (DataDrop::Stale, counts.stale - counted.stale),
            (DataDrop::Lost, counts.lost - counted.lost),
            (DataDrop::NotAllowed, counts.not_allowed - counted.not_allowed),
            (DataDrop::NoKey, counts.no_key - counted.no_key),
        ];
        for (cause, count) in dropped {
            meter.dropped.add(cause as usize, count);
        }
        *counted = counts;
    }

    /// Counts datagrams that were dropped outside of a session.
    pub(crate) fn data_dropped(&self, cause: DataDrop, count: u64) {
        self.data_meter().dropped.add(cause as usize, count);
    }

    /// Counts a viewer that may not send on a data channel.
    pub(crate) fn control_refused(&self, reason: ControlRefusal) {
        self.data_meter().refused.add(reason as usize, 1);
    }
}
