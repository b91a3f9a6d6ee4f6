//! The columns computed from samples, and the charts.

use crate::harness::{Axis, Better, Chart, Column, Definition};

/// Differences of latencies below this matter to nobody, in ms.
const MATTERS_MS: f64 = 1.0;
/// The same of shares of a core, in percent of it.
const MATTERS_PERCENT: f64 = 3.0;

/// The name of the curve's series.
pub(super) const CURVE: &str = "took_longer";
/// The series of the heaps' sizes, in MB.
pub(super) const HEAPS: &str = "heaps";
/// The series of their growth, one value for each pair of sizes.
pub(super) const GROWTHS: &str = "growths";

pub(super) fn columns() -> Vec<Column> {
    let mut columns = latencies();
    columns.extend(processor());
    columns.extend(heaps());
    columns
}

fn latencies() -> Vec<Column> {
    let stage = |key, title| Column::median(key, title, "ms").digits(2).hidden();
    vec![
        Column::median("total_p50_ms", "capture to canvas, p50", "ms")
            .drawn()
            .found(Better::Less, MATTERS_MS),
        Column::median("total_p99_ms", "capture to canvas, p99", "ms").found(Better::Less, MATTERS_MS),
        Column::most("uncertainty_ms", "clocks within", "ms").digits(2),
        Column::median("ours_p50_ms", "seal to decoder, p50", "ms").digits(2),
        Column::median("ours_p99_ms", "seal to decoder, p99", "ms")
            .digits(2)
            .drawn()
            .found(Better::Less, MATTERS_MS),
        Column::sum("frames", "frames", ""),
        Column::median("fps", "drawn a second", ""),
        Column::sum("dropped", "not drawn", ""),
        Column::sum("refused", "records refused", "").hidden(),
        Column::median("first_paint_ms", "first paint", "ms").digits(0),
        Column::median("picture_ms", "first picture", "ms").digits(0),
        stage("capture_ms", "capture"),
        stage("encode_ms", "encode"),
        stage("queue_ms", "queue"),
        stage("seal_ms", "seal"),
        stage("send_ms", "send"),
        stage("network_ms", "network"),
        stage("open_ms", "open"),
        stage("wait_ms", "wait"),
        stage("decode_ms", "decode"),
        stage("draw_ms", "draw"),
    ]
}

fn processor() -> Vec<Column> {
    vec![
        Column::median("records_per_s", "records a second", "").digits(0),
        Column::median("opening_us", "opening", "µs a record").digits(0),
        Column::median("opening_percent", "opening", "%")
            .drawn()
            .found(Better::Less, MATTERS_PERCENT),
        Column::median("worker_percent", "the worker's thread", "%"),
        Column::median("renderer_percent", "the page's process", "%")
            .drawn()
            .found(Better::Less, MATTERS_PERCENT),
        Column::median("browser_percent", "the whole browser", "%"),
    ]
}

fn heaps() -> Vec<Column> {
    let size = |key, title| Column::median(key, title, "MB").digits(3);
    vec![
        size("heap_first_mb", "heaps at first"),
        size("heap_last_mb", "at last"),
        Column::median("heap_times", "beside at first", "times").digits(3),
        Column::median("heap_more_kb", "more", "kB"),
        size("objects_first_mb", "objects at first"),
        size("objects_last_mb", "at last"),
        Column::median("objects_times", "beside at first", "times").digits(3),
        Column::mean_of("growth_kb", GROWTHS, "growth of the heaps", "kB a minute"),
        Column::sum("heaps", "looks", ""),
        Column::sum("lost", "sessions lost", ""),
        size("page_heap_mb", "of the page, at last").hidden(),
        size("worker_heap_mb", "of the worker, at last").hidden(),
        size("outside_mb", "array buffers, at last").hidden(),
    ]
}

pub(super) fn charts(definition: &Definition) -> Vec<Chart> {
    let latencies = Chart {
        series: CURVE,
        words: "The share of frames that took longer, from the source's stamp to the canvas.",
        x: latency_axis(),
        y: Axis {
            title: "took longer",
            from: 1e-3,
            to: 1.0,
            log: true,
            percent: true,
        },
        mark: None,
    };
    let seconds = |name: &str| definition.settings.get(name).and_then(toml::Value::as_float);
    let from = seconds("heap_from_seconds").unwrap_or(0.0);
    let heaps = Chart {
        series: HEAPS,
        words: "What page and worker use after a collection, by the time since the first picture.",
        x: Axis {
            title: "s",
            from,
            to: seconds("heap_until_seconds").unwrap_or(from + 1.0),
            log: false,
            percent: false,
        },
        y: Axis {
            title: "MB",
            from: 0.0,
            to: f64::INFINITY,
            log: false,
            percent: false,
        },
        mark: None,
    };
    vec![latencies, heaps]
}

/// The axis of latencies.
pub(super) fn latency_axis() -> Axis {
    Axis {
        title: "ms from capture to canvas",
        from: 1.0,
        to: 1e3,
        log: true,
        percent: false,
    }
}
