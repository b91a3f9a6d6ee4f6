//! Connections that were ended or turned away: counted by reason, and said in the log at powers of two and once a
//! minute, since whoever reaches a port can cause as many as it likes.

use std::collections::BTreeMap;
use std::sync::Mutex;

use prometheus_client::registry::Registry;

use super::families::Counts;
use super::labels::TurnedAway;
use super::telling::Telling;

/// The metric family in the registry, and what was said of it.
pub(super) struct TurnedAwayMeter {
    pub(super) counts: Counts,
    pub(super) told: Mutex<Vec<Telling>>,
}

impl TurnedAwayMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let help = "Connections that were turned away, or ended otherwise than by a goodbye";
        Self {
            counts: Counts::register(registry, "turned_away", help, "reason", TurnedAway::NAMES),
            told: Mutex::new(vec![Telling::default(); TurnedAway::ALL.len()]),
        }
    }
}

impl TurnedAwayMeter {
    pub(super) fn list(&self) -> BTreeMap<&'static str, u64> {
        self.counts.list()
    }
}
