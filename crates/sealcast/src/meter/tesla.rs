//! Meters of frames that are shown before they are proved, in mode `tesla`.

use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::families::Counts;
use super::labels::TeslaOutcome;
use super::metrics::Metrics;

/// Upper bounds of the times to proof in seconds. The longest delay that `publish` takes is 4 s.
const BUCKETS: [f64; 12] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 2.0, 5.0, 10.0];

/// The metric families in the registry.
pub(super) struct TeslaMeter {
    frames: Counts,
    proof: Histogram,
}

impl TeslaMeter {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let proof = Histogram::new(BUCKETS);
        registry.register(
            "group_tesla_proof_seconds",
            "From showing a frame of a group to the key that proves it",
            proof.clone(),
        );
        Self {
            frames: Counts::register(
                registry,
                "group_tesla_frames",
                "Frames of a group that are proved by keys which are disclosed later, by what became of them",
                "outcome",
                TeslaOutcome::NAMES,
            ),
            proof,
        }
    }
}

impl Metrics {
    /// Counts what became of a frame.
    pub fn tesla(&self, outcome: TeslaOutcome) {
        self.delivery().tesla.frames.add(outcome as usize, 1);
    }

    /// Counts a frame that was proved so long after it was shown.
    pub fn tesla_proved(&self, after: Duration) {
        self.tesla(TeslaOutcome::Proved);
        self.delivery().tesla.proof.observe(after.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::build_info;

    #[test]
    fn what_became_of_frames_is_told_and_how_long_proof_took() {
        let metrics = Metrics::new(build_info());
        metrics.tesla(TeslaOutcome::Shown);
        metrics.tesla(TeslaOutcome::Shown);
        metrics.tesla_proved(Duration::from_millis(250));
        metrics.tesla(TeslaOutcome::Unsafe);
        let text = metrics.encode();
        for line in [
            "sealcast_group_tesla_frames_total{outcome=\"shown\"} 2",
            "sealcast_group_tesla_frames_total{outcome=\"proved\"} 1",
            "sealcast_group_tesla_frames_total{outcome=\"forged\"} 0",
            "sealcast_group_tesla_frames_total{outcome=\"unsafe\"} 1",
            "sealcast_group_tesla_proof_seconds_sum 0.25",
            "sealcast_group_tesla_proof_seconds_bucket{le=\"0.2\"} 0",
            "sealcast_group_tesla_proof_seconds_bucket{le=\"0.3\"} 1",
        ] {
            assert!(text.lines().any(|said| said == line), "{line} is not in {text}");
        }
    }
}
