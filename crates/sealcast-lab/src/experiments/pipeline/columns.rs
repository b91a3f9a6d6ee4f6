//! The columns computed from samples, and the charts.

use sealcast::meter::resources::NOT_MEASURABLE;

use crate::harness::{Axis, Chart, Column, Definition};

/// A figure with three significant digits.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        figure("sender_frames_per_s", "frames sent", "a second"),
        figure("sender_mbit_per_s", "output on the wire", "Mbit/s"),
        figure("sender_cpu_percent", "CPU, sender", "% of a core"),
        figure("sender_memory_mb", "memory, sender", "MB"),
        figure("sender_temperature_celsius", "temperature, sender", "°C").or_words(NOT_MEASURABLE),
        figure("receiver_frames_per_s", "frames received", "a second"),
        figure("receiver_mbit_per_s", "received on the wire", "Mbit/s"),
        figure("receiver_cpu_percent", "CPU, receiver", "% of a core"),
        figure("receiver_memory_mb", "memory, receiver", "MB"),
        figure("receiver_temperature_celsius", "temperature, receiver", "°C").or_words(NOT_MEASURABLE),
        figure("latency_mean_ms", "latency, mean", "ms"),
        figure("latency_magnitude_ms", "latency, mean of the magnitude", "ms"),
        figure("latency_sd_ms", "latency, standard deviation", "ms"),
        figure("latency_p10_ms", "latency, 10 % below", "ms"),
        figure("latency_median_ms", "latency, median", "ms").drawn(),
        figure("latency_p90_ms", "latency, 90 % below", "ms"),
        Column::sum("latency_frames", "frames with a latency", ""),
        Column::median("delivered", "frames delivered", "").percent(),
        Column::median("verified", "records verified", "").percent(),
        figure("handshake_ms", "handshake", "ms"),
        Column::median("handshake_bytes", "handshake, both ways", "bytes").digits(0),
        figure("handshake_cpu_percent", "CPU in the handshake", "%"),
        figure("sender_power_watts", "power, sender", "W").hidden(),
        figure("receiver_power_watts", "power, receiver", "W").hidden(),
    ]
}

pub(super) fn charts(definition: &Definition) -> Vec<Chart> {
    let chart = |series, words, title| Chart {
        series,
        words,
        x: Axis {
            title: "seconds",
            from: 0.0,
            to: definition.seconds,
            log: false,
            percent: false,
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
    let latency = Chart {
        x: Axis {
            title: "share of the frames",
            from: 0.0,
            to: 1.0,
            log: false,
            percent: true,
        },
        ..chart(
            "latency_ms_of",
            "Latency of frames in ascending order: the mean over rounds.",
            "ms",
        )
    };
    vec![
        chart(
            "sender_frames_per_s_over_time",
            "Frames sent a second: the mean over rounds.",
            "a second",
        ),
        chart(
            "sender_mbit_per_s_over_time",
            "Output on the wire: the mean over rounds.",
            "Mbit/s",
        ),
        chart(
            "receiver_mbit_per_s_over_time",
            "Received on the wire: the mean over rounds.",
            "Mbit/s",
        ),
        chart(
            "receiver_frames_per_s_over_time",
            "Frames received a second: the mean over rounds.",
            "a second",
        ),
        chart(
            "receiver_temperature_celsius_over_time",
            "Temperature: the mean over rounds.",
            "°C",
        ),
        latency,
    ]
}
