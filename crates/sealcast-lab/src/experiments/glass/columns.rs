//! The columns computed from samples, and the charts.

use crate::harness::{Axis, Better, Chart, Column, Definition};

/// Differences of medians below this matter to nobody, in ms: the limit of the target.
const MATTERS_MS: f64 = 0.3;
/// The system whose figure is deducted.
const PIPE: &str = "pipe";
/// The value that a system without pipes has of its own, and others by the deduction.
pub(super) const NET: &str = "net_p50_ms";

/// The name of the curve's series.
pub(super) const CURVE: &str = "took_longer";

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("p50_ms", "as measured, p50", "ms")
            .digits(2)
            .found(Better::Less, MATTERS_MS)
            .judged(Better::Less),
        Column::median("p95_ms", "p95", "ms").digits(2),
        Column::median("p99_ms", "p99", "ms").digits(2),
        Column::median(NET, "net of the pipes, p50", "ms")
            .less("p50_ms", PIPE)
            .digits(2)
            .drawn()
            .found(Better::Less, MATTERS_MS),
        Column::over("over_plain_ms", NET, "net p50 over plain GStreamer", "ms").digits(2),
        Column::times("times_plain", NET, "net p50 beside plain GStreamer"),
        Column::sum("shown", "pictures shown", ""),
        Column::sum("painted", "of", ""),
        Column::sum("unreadable", "without a readable clock", ""),
        Column::median("cpu_us", "CPU time", "µs a picture")
            .digits(0)
            .drawn()
            .found_in_times(Better::Less, 0.05)
            .judged(Better::Less),
        Column::median("encode_ms", "encoding", "ms").digits(2),
        Column::median("carry_ms", "carrying", "ms").digits(2),
        Column::median("decode_ms", "decoding", "ms").digits(2),
    ]
}

pub(super) fn charts(_: &Definition) -> Vec<Chart> {
    vec![Chart {
        series: CURVE,
        words: "The share of pictures that took longer, by the latency as measured, pipes included.",
        x: latency_axis(),
        y: Axis {
            title: "took longer",
            from: 1e-3,
            to: 1.0,
            log: true,
            percent: true,
        },
        mark: None,
    }]
}

/// The axis of latencies.
pub(super) fn latency_axis() -> Axis {
    Axis {
        title: "ms from painted to decoded",
        from: 0.1,
        to: 1e3,
        log: true,
        percent: false,
    }
}
