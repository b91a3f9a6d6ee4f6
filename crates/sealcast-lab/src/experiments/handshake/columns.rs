//! The columns computed from samples, and the charts.

use sealcast::meter::resources::NOT_MEASURABLE;

use crate::harness::{Axis, Better, Chart, Column, Definition};

/// The series of the durations of a turn, from the shortest to the longest.
pub(super) const CURVE: &str = "duration_ms_of";
/// Number of points of that series.
pub(super) const POINTS: usize = 21;

/// A figure that differs between mechanisms by orders of magnitude.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

/// A counted figure, which is the same each time.
fn count(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).digits(0)
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        figure("duration_ms", "wall time, mean", "ms"),
        figure("duration_sd_ms", "standard deviation", "ms"),
        // Publications have means. Systems are compared by medians: one handshake in which the machine does something
        // else outweighs all others in a mean.
        figure("duration_p50_ms", "wall time, p50", "ms")
            .drawn()
            .found_in_times(Better::Less, 0.05)
            .judged(Better::Less),
        figure("duration_p95_ms", "wall time, p95", "ms"),
        figure("initiator_cpu_ms", "CPU time, initiator", "ms"),
        figure("responder_cpu_ms", "CPU time, responder", "ms"),
        figure("cpu_ms", "CPU time, both", "ms")
            .drawn()
            .found_in_times(Better::Less, 0.05)
            .judged(Better::Less),
        Column::times("times_baseline", "cpu_ms", "CPU time beside the baseline"),
        Column::median("cpu_percent", "CPU, initiator", "%").digits(1),
        count("sent_bytes", "initiator to responder", "bytes"),
        count("received_bytes", "responder to initiator", "bytes"),
        count("bytes", "both ways", "bytes").drawn().found(Better::Less, 1.0),
        count("round_trips", "round trips", ""),
        figure("keygen_ms", "key pair, mean", "ms").drawn(),
        figure("mj_per_handshake", "energy with the key pair", "mJ").or_words(NOT_MEASURABLE),
        figure("mj_per_keygen", "energy of the key pair", "mJ").or_words(NOT_MEASURABLE),
        figure("keygen_p95_ms", "key pair, p95", "ms").hidden(),
        figure("responder_ms", "responder's wall time, mean", "ms").hidden(),
        count("handshakes", "handshakes of a turn", "").hidden(),
        figure("joules", "joules", "J").hidden(),
        figure("energy_seconds", "seconds of handshakes beside the meter", "s").hidden(),
        figure("idle_watts", "idle power", "W").hidden(),
    ]
}

pub(super) fn charts(_: &Definition) -> Vec<Chart> {
    vec![Chart {
        series: CURVE,
        words: "The durations of a turn's handshakes in ascending order, as the initiator sees them: the mean over \
                rounds.",
        x: Axis {
            title: "share of the handshakes",
            from: 0.0,
            to: 1.0,
            log: false,
            percent: true,
        },
        y: Axis {
            title: "ms",
            from: 0.0,
            to: f64::INFINITY,
            log: false,
            percent: false,
        },
        mark: None,
    }]
}
