//! The logs of one run as single values and curves, for experiments that repeat a run.

use super::Report;
use super::end::End;
use super::handshakes::Group;
use super::latency::{FRAMES, Latency};
use super::resources::{POWER, QUANTITIES, STEADY};
use super::series::Series;

/// Names of the quantities of an end, in the order of [`QUANTITIES`].
const NAMES: [&str; QUANTITIES.len()] = [
    "cpu_percent",
    "memory_mb",
    "temperature_celsius",
    "frames_per_s",
    "mbit_per_s",
    "power_watts",
];
/// Number of points of the distribution of latencies, evenly spaced in the share.
const POINTS: usize = 101;

/// Summary of the logs of a sending and a receiving end. A value that is not in the logs is absent.
#[derive(Debug, Default)]
pub(crate) struct Condensed {
    /// Means of the steady phase, with the names `sender_` and `receiver_` and the quantity, latencies of frames in
    /// milliseconds, and the receiver's first handshake.
    pub(crate) values: Vec<(String, f64)>,
    /// Means of a second, with the same names and `_over_time`, and latencies in ascending order, `latency_ms_of`.
    pub(crate) curves: Vec<(String, Vec<f64>)>,
    /// In words what a log does not have.
    pub(crate) lacks: Vec<String>,
}

impl Report {
    /// Condenses the logs. Curves over time are of the last `seconds`, without the last second, in which ends stop.
    pub(crate) fn condensed(&self, seconds: f64) -> Condensed {
        let mut condensed = Condensed::default();
        let sides = [("sender", self.ends.iter().find(|end| end.role.sends()))];
        let receiver = self.ends.iter().find(|end| end.role.receives());
        for (side, end) in sides.into_iter().chain([("receiver", receiver)]) {
            let Some(end) = end else { continue };
            condensed.resources(side, end, seconds);
        }
        if let Some(end) = receiver {
            condensed.latencies(&end.latencies[FRAMES]);
            let mut groups = end.handshakes.groups.iter();
            if let Some((_, group)) = groups.find(|(kind, _)| kind.role == "initiator" && kind.outcome == "established")
            {
                condensed.handshake(group);
            }
        }
        condensed.values.retain(|(_, value)| value.is_finite());
        condensed
    }
}

impl Condensed {
    fn resources(&mut self, side: &str, end: &End, seconds: f64) {
        for (at, name) in NAMES.iter().enumerate() {
            let spread = &end.resources.spreads[STEADY][at];
            if spread.windows == 0 && at == POWER {
                // Most machines have no meter, and the paper gives no energy.
                continue;
            }
            if spread.windows == 0 {
                self.lacks.push(format!("{side}: {}", QUANTITIES[at].missing));
                continue;
            }
            self.values.push((format!("{side}_{name}"), spread.mean));
            let curve = last(&end.resources.series[at], seconds);
            self.curves.push((format!("{side}_{name}_over_time"), curve));
        }
    }

    fn latencies(&mut self, latency: &Latency) {
        let total = &latency.total;
        if total.count() == 0 {
            return;
        }
        let figures = [
            ("latency_mean_ms", total.mean()),
            ("latency_magnitude_ms", latency.magnitude.mean()),
            ("latency_sd_ms", total.deviation()),
            ("latency_median_ms", total.quantile(0.5)),
            ("latency_p10_ms", total.quantile(0.1)),
            ("latency_p90_ms", total.quantile(0.9)),
        ];
        self.values
            .extend(figures.map(|(name, us)| (name.to_owned(), us / 1e3)));
        self.values.push(("latency_frames".to_owned(), total.count() as f64));
        let share = |at: usize| at as f64 / (POINTS - 1) as f64;
        let curve = (0..POINTS).map(|at| total.quantile(share(at)) / 1e3).collect();
        self.curves.push(("latency_ms_of".to_owned(), curve));
    }

    fn handshake(&mut self, group: &Group) {
        let figures = [
            ("handshake_ms", group.duration.mean()),
            ("handshake_bytes", group.sent.mean() + group.received.mean()),
            ("handshake_cpu_percent", group.cpu_percent.mean()),
        ];
        self.values
            .extend(figures.map(|(name, value)| (name.to_owned(), value)));
    }
}

/// The means of the last seconds, without the very last.
fn last(series: &Series, seconds: f64) -> Vec<f64> {
    let mut known: Vec<f64> = series
        .points()
        .iter()
        .map(|point| point.1)
        .filter(|mean| mean.is_finite())
        .collect();
    known.pop();
    let count = (seconds / series.width) as usize;
    known.split_off(known.len().saturating_sub(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_has_the_last_seconds_without_the_one_in_which_the_run_ended() {
        let mut series = Series::new();
        for second in 0..10 {
            series.add(f64::from(second) + 1.0, 1.0, f64::from(second));
        }
        assert_eq!(last(&series, 4.0), [5.0, 6.0, 7.0, 8.0]);
        assert_eq!(last(&series, 100.0).len(), 9);
        assert_eq!(last(&Series::new(), 4.0), [0.0; 0]);
    }
}
