//! Connections that were ended or turned away: counted by reason, and said in the log at powers of two and once a
//! minute, since whoever reaches a port can cause as many as it likes.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use prometheus_client::registry::Registry;

use super::families::Counts;
use super::labels::TurnedAway;
use super::metrics::Metrics;
use super::telling::Telling;

/// The metric family in the registry, and what was said of it.
pub(super) struct TurnedAwayMeter {
    counts: Counts,
    told: Mutex<Vec<Telling>>,
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

impl Metrics {
    /// Counts a connection that ended for `reason`, and is told of elsewhere.
    pub fn count_turned_away(&self, reason: TurnedAway) {
        self.turned_away_meter().counts.add(reason as usize, 1);
    }

    /// Counts a connection with somebody at `from` that was turned away or ended for `reason`, and says it in `words`
    /// if it is time to.
    pub fn turned_away(&self, reason: TurnedAway, from: &dyn Display, words: &dyn Display) {
        self.count_turned_away(reason);
        let meter = self.turned_away_meter();
        let mut told = meter.told.lock().unwrap_or_else(PoisonError::into_inner);
        let total = told[reason as usize].count(Instant::now());
        drop(told);
        let reason = reason.name();
        match total {
            Some(total) => tracing::warn!(%from, reason, total, "{words}"),
            None => tracing::debug!(%from, reason, "{words}"),
        }
    }
}
