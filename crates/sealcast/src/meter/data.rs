//! Counters of data channels.

use prometheus_client::registry::Registry;

use super::families::Counts;
use super::labels::{ControlRefusal, DataDrop, Direction};

/// The metric families in the registry.
pub(super) struct DataMeter {
    pub(super) datagrams: Counts,
    pub(super) dropped: Counts,
    pub(super) refused: Counts,
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
