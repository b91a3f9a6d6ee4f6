//! The columns of `price`, `resolution` and `slow`, and their charts.

use sealcast::meter::resources::NOT_MEASURABLE;

use super::dose::{
    CPU_REST, ENERGY, FIRST_OPEN, FIRST_SEAL, OPEN, PUBLISHER, RESPONSE, SEAL, VIDEO, VIDEO_REST, VIEWER,
};
use crate::harness::{Axis, Better, Chart, Column, Definition};

/// A figure that differs by orders of magnitude.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

/// A difference from the baseline, or the cost of one seal: the mean of what blocks of doses say.
fn slope(key: &'static str, series: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::mean_of(key, series, title, unit).digits(2)
}

pub(super) fn price() -> Vec<Column> {
    let mut all = vec![
        Column::median("video_p50_ms", "video latency, p50", "ms")
            .digits(2)
            .drawn()
            .found(Better::Less, 0.5),
        Column::median("video_p95_ms", "video latency, p95", "ms").digits(2),
        Column::over("over_none_ms", "video_p50_ms", "added video latency", "ms").digits(3),
        Column::median("network_p50_ms", "seal to receipt, p50", "ms").digits(3),
        Column::over("over_none_network_ms", "network_p50_ms", "added, seal to receipt", "ms").digits(3),
        figure("seal_us", "sealing a frame, p50", "µs"),
        figure("open_us", "opening a frame, p50", "µs"),
        figure("cpu_us", "CPU time, both", "µs a frame").drawn(),
        Column::over("over_none_cpu_us", "cpu_us", "added CPU time", "µs a frame").digits(0),
        Column::times("cpu_times_none", "cpu_us", "CPU time beside none"),
        Column::times("cpu_times_with_aes", "cpu_us", "CPU time beside with-aes").beside("with-aes"),
        Column::over(
            "over_with_aes_celsius",
            "temperature_celsius",
            "hotter than with-aes",
            "°C",
        )
        .beside("with-aes"),
        Column::median("memory_mb", "memory, both", "MB"),
        Column::over("over_none_mb", "memory_mb", "added memory", "MB"),
        Column::median("bytes_per_frame", "on the wire, both ways", "bytes a frame").digits(0),
        Column::over(
            "over_none_bytes",
            "bytes_per_frame",
            "added on the wire",
            "bytes a frame",
        )
        .digits(0),
        figure("mj_per_frame", "energy, both", "mJ a frame").or_words(NOT_MEASURABLE),
        Column::over("over_none_mj", "mj_per_frame", "added energy", "mJ a frame").digits(2),
        Column::times("mj_times_none", "mj_per_frame", "energy beside none"),
        Column::median("delivered", "frames delivered", "").percent(),
        Column::median("verified", "records verified", "").percent(),
        Column::over("over_tcp_ms", "video_p50_ms", "video latency over TCP's", "ms")
            .beside("tcp")
            .digits(3),
        Column::over("over_tcp_cpu_us", "cpu_us", "CPU time over TCP's", "µs a frame")
            .beside("tcp")
            .digits(0),
    ];
    all.extend(by_dose());
    all.extend(common());
    all
}

fn by_dose() -> Vec<Column> {
    vec![
        slope("seal_first_us", FIRST_SEAL, "the first seal: seal stage", "µs a frame"),
        slope("seal_slope_us", SEAL, "one more seal", "µs a frame"),
        Column::median("bare_seal_us", "the bare primitive, sealing", "µs a frame").digits(2),
        Column::median("seal_times_bare", "one more seal beside the primitive", "times").digits(2),
        slope("open_first_us", FIRST_OPEN, "the first open: open stage", "µs a frame"),
        slope("open_slope_us", OPEN, "one more open", "µs a frame"),
        Column::median("bare_open_us", "the bare primitive, opening", "µs a frame").digits(2),
        Column::median("open_times_bare", "one more open beside the primitive", "times").digits(2),
        slope("video_slope_us", VIDEO, "one more of both: video latency", "µs a frame"),
        slope(
            "publisher_slope_us",
            PUBLISHER,
            "one more seal: publisher's CPU time",
            "µs a frame",
        ),
        slope(
            "viewer_slope_us",
            VIEWER,
            "one more open: viewer's CPU time",
            "µs a frame",
        ),
        slope("energy_slope_uj", ENERGY, "one more of both: energy", "µJ a frame").or_words(NOT_MEASURABLE),
        slope("video_rest_us", VIDEO_REST, "everything else: video latency", "µs"),
        slope("cpu_rest_us", CPU_REST, "everything else: CPU time", "µs a frame"),
    ]
}

pub(super) fn slow() -> Vec<Column> {
    let mut all = vec![
        Column::median("network_p50_ms", "seal to receipt, p50", "ms")
            .digits(1)
            .drawn()
            .found(Better::Less, 1.0),
        Column::times("network_times_udp", "network_p50_ms", "seal to receipt beside UDP"),
        Column::median("opened_p50_ms", "picture to opened, p50", "ms").digits(1),
        Column::median("opened_p95_ms", "picture to opened, p95", "ms").digits(1),
        Column::times("opened_times_udp", "opened_p50_ms", "picture to opened beside UDP"),
        Column::median("bytes_per_frame", "on the wire, both ways", "bytes a frame").digits(0),
    ];
    all.extend(common());
    all
}

/// Columns that all experiments show last, or in `table.csv` alone.
fn common() -> Vec<Column> {
    vec![
        figure("fps", "frames received", "a second"),
        Column::sum("lost", "frames lost", ""),
        Column::sum("freezes", "freezes", ""),
        Column::sum("frozen_ms", "frozen", "ms"),
        Column::sum("frames", "frames", ""),
        figure("publisher_cpu_us", "CPU time, publisher", "µs a frame").hidden(),
        figure("viewer_cpu_us", "CPU time, viewer", "µs a frame").hidden(),
        figure("seconds", "seconds", "s").hidden(),
        figure("joules", "joules", "J").hidden(),
        figure("idle_watts", "idle power", "W").hidden(),
    ]
}

pub(super) fn resolution() -> Vec<Column> {
    let stages = [
        ("capture_us", "drawing or reading"),
        ("encode_us", "encoding"),
        ("queue_us", "queue"),
        ("seal_us", "sealing"),
        ("send_us", "sending"),
        ("network_us", "network"),
        ("reassembly_us", "reassembly"),
        ("open_us", "opening"),
        ("wait_us", "waiting"),
        ("decode_us", "decoding"),
        ("present_us", "presenting"),
    ];
    let mut all = vec![
        figure("fps", "frames received", "a second")
            .drawn()
            .found(Better::More, 0.5),
        Column::sum("lost", "frames lost", ""),
        Column::sum("freezes", "freezes", ""),
        Column::median("video_p50_ms", "video latency, p50", "ms")
            .digits(2)
            .drawn(),
        Column::median("video_p95_ms", "video latency, p95", "ms").digits(2),
        Column::over("over_none_ms", "video_p50_ms", "added video latency", "ms").digits(3),
    ];
    all.extend(stages.map(|(key, title)| figure(key, title, "µs, p50")));
    all.extend([
        figure("publisher_cpu_us", "CPU time, publisher", "µs a frame"),
        figure("viewer_cpu_us", "CPU time, viewer", "µs a frame"),
        Column::over("over_none_cpu_us", "cpu_us", "added CPU time", "µs a frame").digits(0),
        figure("publisher_mb", "memory, publisher", "MB"),
        figure("viewer_mb", "memory, viewer", "MB"),
        Column::median("bytes_per_frame", "on the wire, both ways", "bytes a frame").digits(0),
        figure("mj_per_frame", "energy, both", "mJ a frame").or_words(NOT_MEASURABLE),
        Column::sum("frames", "frames", ""),
        figure("cpu_us", "CPU time, both", "µs a frame").hidden(),
        figure("seconds", "seconds", "s").hidden(),
    ]);
    all
}

pub(super) fn price_charts(_: &Definition) -> Vec<Chart> {
    vec![Chart {
        series: RESPONSE,
        words: "Dose and response: the seal stage of a frame by how many times it is sealed, the median over blocks.",
        x: Axis {
            title: "times",
            from: 1.0,
            to: 64.0,
            log: true,
            percent: false,
        },
        y: Axis {
            title: "µs",
            from: 10.0,
            to: f64::INFINITY,
            log: true,
            percent: false,
        },
        mark: None,
    }]
}

pub(super) fn no_charts(_: &Definition) -> Vec<Chart> {
    Vec::new()
}
