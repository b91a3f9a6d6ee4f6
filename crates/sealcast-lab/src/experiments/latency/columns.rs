//! The columns computed from samples.

use crate::harness::{Better, Chart, Column, Definition};

/// A latency in ms, to a hundredth.
fn ms(key: &'static str, title: &'static str) -> Column {
    Column::median(key, title, "ms").digits(2)
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        ms("video_mean_ms", "video latency, mean").found(Better::Less, 1.0),
        ms("video_median_ms", "video latency, median").boxes("video_ms_box"),
        ms("video_min_ms", "least"),
        ms("video_max_ms", "greatest"),
        ms("video_sd_ms", "standard deviation"),
        Column::over("over_off_ms", "video_mean_ms", "more than off, video latency", "ms").digits(2),
        Column::over(
            "over_direct_ms",
            "video_mean_ms",
            "more than without gateways, video latency",
            "ms",
        )
        .beside("direct")
        .digits(2),
        ms("network_mean_ms", "network latency, mean"),
        ms("network_median_ms", "network latency, median").boxes("network_ms_box"),
        ms("network_min_ms", "least"),
        ms("network_max_ms", "greatest"),
        ms("network_sd_ms", "standard deviation"),
        Column::over(
            "over_off_network_ms",
            "network_mean_ms",
            "more than off, network latency",
            "ms",
        )
        .digits(3),
        ms("enc_ms", "making and encrypting, mean"),
        ms("trans_ms", "transmission, mean"),
        ms("dec_ms", "decrypting, mean").digits(3),
        ms("rest_ms", "waiting, decoding, presenting, mean"),
        Column::median("freezes", "freezes of the picture", "a turn").digits(0),
        Column::median("frozen_ms", "frozen", "ms a turn").digits(0),
        Column::median("cpu_us", "CPU time, both gateways", "µs a frame").digits(0),
        Column::over("over_off_cpu_us", "cpu_us", "more than off, CPU time", "µs a frame").digits(0),
        Column::median("mbit_s", "sealed", "Mbit/s").digits(2),
        Column::median("fps", "pictures", "a second"),
        Column::sum("frames", "pictures", ""),
    ]
}

pub(super) fn charts(_: &Definition) -> Vec<Chart> {
    Vec::new()
}
