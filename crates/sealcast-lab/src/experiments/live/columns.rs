//! The columns computed from samples, and the charts.

use sealcast::meter::resources::NOT_MEASURABLE;

use super::figures::{CPU, CPU_TREND, DELAY, DELAY_TREND, FPS, FPS_TREND};
use crate::harness::{Axis, Better, Chart, Column, Definition};

/// A figure that differs between ciphers by orders of magnitude.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        figure("fps", "frames received", "a second").found(Better::More, 0.5),
        Column::sum("lost", "frames lost", ""),
        figure("network_p50_ms", "network, p50", "ms"),
        figure("network_p95_ms", "network, p95", "ms"),
        figure("delay_p50_ms", "picture to opened, p50", "ms")
            .drawn()
            .found(Better::Less, 1.0),
        figure("delay_p95_ms", "picture to opened, p95", "ms"),
        figure("seal_us", "sealing a frame, p50", "µs").drawn(),
        figure("open_us", "opening a frame, p50", "µs"),
        figure("publisher_cpu_us", "CPU time, publisher", "µs a frame"),
        figure("viewer_cpu_us", "CPU time, viewer", "µs a frame").drawn(),
        Column::times(
            "times_baseline",
            "viewer_cpu_us",
            "viewer's CPU time beside the baseline",
        ),
        figure("cpu_us", "CPU time, both", "µs a frame").found_in_times(Better::Less, 0.05),
        Column::median("bytes_per_frame", "on the wire, both ways", "bytes a frame").digits(0),
        figure("mj_per_frame", "energy, both", "mJ a frame").or_words(NOT_MEASURABLE),
        Column::mean_of("fps_per_hour", FPS_TREND, "change of frames a second", "an hour").digits(3),
        Column::mean_of("delay_ms_per_hour", DELAY_TREND, "change of the delay", "ms an hour").digits(3),
        Column::mean_of(
            "cpu_us_per_hour",
            CPU_TREND,
            "change of CPU time",
            "µs a frame, an hour",
        )
        .digits(1),
        Column::sum("frames", "frames", "").hidden(),
        figure("lost_share", "share of frames lost", "").hidden(),
        figure("seconds", "seconds", "s").hidden(),
        figure("joules", "joules", "J").hidden(),
        figure("idle_watts", "idle power", "W").hidden(),
    ]
}

pub(super) fn charts(_: &Definition) -> Vec<Chart> {
    let chart = |series, words, title| Chart {
        series,
        words,
        x: Axis {
            title: "share of the run",
            from: 0.0,
            to: 1.0,
            log: false,
            percent: true,
        },
        y: Axis {
            title,
            from: 0.0,
            to: f64::INFINITY,
            log: false,
            percent: false,
        },
        mark: None,
    };
    vec![
        chart(
            DELAY,
            "Median delay from the picture to the opened frame by periods: the mean over rounds.",
            "ms",
        ),
        chart(
            CPU,
            "CPU time of both ends for a frame by periods: the mean over rounds.",
            "µs",
        ),
        chart(
            FPS,
            "Frames received a second by periods: the mean over rounds.",
            "a second",
        ),
    ]
}
