//! The columns computed from samples, and the charts.

use crate::harness::{Axis, Better, Chart, Column, Definition};

/// The name of the curve's series.
pub(super) const CURVE: &str = "took_longer";

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("p50_us", "delay at 50 %", "µs")
            .digits(0)
            .drawn()
            .found(Better::Less, 5.0)
            .judged(Better::Less),
        Column::median("p99_us", "at 99 %", "µs").digits(0),
        Column::median("p999_us", "at 99.9 %", "µs").digits(0),
        Column::over("p50_more_than_relay_us", "p50_us", "50 % over the relay", "µs").digits(0),
        Column::over("p99_more_than_relay_us", "p99_us", "99 % over the relay", "µs").digits(0),
        Column::sum("packets", "packets", ""),
        Column::sum("lost", "lost", ""),
        Column::median("cpu_us_per_packet", "processor time", "µs a packet")
            .drawn()
            .found_in_times(Better::Less, 0.05)
            .judged(Better::Less),
        Column::times(
            "cpu_times_relay",
            "cpu_us_per_packet",
            "processor time beside the relay",
        ),
        Column::median("core_percent", "of a core", "%"),
    ]
}

pub(super) fn charts(_: &Definition) -> Vec<Chart> {
    vec![Chart {
        series: CURVE,
        words: "The share of frames that took longer, by the delay from camera to player.",
        x: delay_axis(),
        y: Axis {
            title: "took longer",
            from: 1e-4,
            to: 1.0,
            log: true,
            percent: true,
        },
        mark: None,
    }]
}

/// The axis of delays.
pub(super) fn delay_axis() -> Axis {
    Axis {
        title: "µs from camera to player",
        from: 10.0,
        to: 1e6,
        log: true,
        percent: false,
    }
}
