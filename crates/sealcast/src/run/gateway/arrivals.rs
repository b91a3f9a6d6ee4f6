//! Arrival times of packets that are being passed on.

use std::time::Instant;

use crate::meter::metrics::Metrics;
use crate::meter::stage::Stage;

/// The arrival times of packets that leave together. Packets that came with one read have the same, and count as one
/// entry here and in the metrics.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Each time, and the number of packets that arrived then.
    runs: Vec<(Instant, u64)>,
}

impl Arrivals {
    /// Add a packet.
    pub(super) fn push(&mut self, arrived: Instant) {
        match self.runs.last_mut() {
            Some((last, count)) if *last == arrived => *count += 1,
            _ => self.runs.push((arrived, 1)),
        }
    }

    /// The packets have left: record the stage that began with their arrival, and forget them.
    pub(super) fn left(&mut self, stage: Stage, metrics: &Metrics) {
        if self.runs.is_empty() {
            return;
        }
        let now = Instant::now();
        for (arrived, count) in self.runs.drain(..) {
            metrics.record_stage_together(stage, now - arrived, count);
        }
    }
}

#[cfg(test)]
impl Arrivals {
    /// Number of packets.
    pub(super) fn count(&self) -> u64 {
        self.runs.iter().map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::build_info::BuildInfo;

    #[test]
    fn each_packet_counts_whether_it_came_alone_or_with_others() {
        let metrics = Metrics::new(BuildInfo::default());
        let mut arrivals = Arrivals::default();
        let now = Instant::now();
        for ago in [30, 30, 30, 20, 10, 10] {
            arrivals.push(now - Duration::from_millis(ago));
        }
        assert_eq!((arrivals.runs.len(), arrivals.count()), (3, 6));
        arrivals.left(Stage::Forward, &metrics);
        arrivals.left(Stage::Forward, &metrics);
        let recorded = metrics.stages().snapshot(Stage::Forward);
        assert_eq!(recorded.count, 6);
        let longer = recorded.max_ns - recorded.min_ns;
        assert!((19_000_000..21_000_000).contains(&longer), "{longer}");
    }
}
