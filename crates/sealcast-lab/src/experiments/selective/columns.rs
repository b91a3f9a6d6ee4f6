//! The columns computed from samples.

use sealcast::meter::resources::NOT_MEASURABLE;

use crate::harness::{Better, Column};

/// A figure with three significant digits.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

/// A resource that not every system tells.
fn used(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    figure(key, title, unit).or_words(NOT_MEASURABLE)
}

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::median("encrypted", "encrypted", "").percent().digits(1),
        figure("enc_packet_ms", "L_Enc, of a packet", "ms").drawn(),
        figure("enc_ms", "L_Enc, of a session of 500 packets", "ms").found_in_times(Better::Less, 0.05),
        figure("make_ms", "making packets, of 500", "ms"),
        figure("dec_packet_ms", "L_Dec, of a packet", "ms").drawn(),
        figure("dec_ms", "L_Dec, of a session of 500 packets", "ms").found_in_times(Better::Less, 0.05),
        Column::times("times_all", "enc_ms", "L_Enc beside all encrypted"),
        figure("enc_mb_per_s", "making and sealing", "MB/s"),
        figure("dec_mb_per_s", "opening", "MB/s"),
        figure("seal_encrypted_us", "sealing an encrypted packet, p50", "µs"),
        figure("seal_clear_us", "sealing a packet in clear, p50", "µs"),
        figure("open_encrypted_us", "opening an encrypted packet, p50", "µs"),
        figure("open_clear_us", "opening a packet in clear, p50", "µs"),
        figure("set_up_us", "keys", "µs"),
        used("sender_memory_mb", "memory, sender", "MB").drawn(),
        used("sender_more_mb", "more than at the session's start, sender", "MB"),
        used("receiver_memory_mb", "memory, receiver", "MB"),
        used("receiver_more_mb", "more than at the session's start, receiver", "MB"),
        used("sender_cpu_low_percent", "CPU, sender, lowest window", "% of a core"),
        used("sender_cpu_percent", "CPU, sender, mean", "% of a core"),
        used("sender_cpu_high_percent", "CPU, sender, highest window", "% of a core"),
        used(
            "receiver_cpu_low_percent",
            "CPU, receiver, lowest window",
            "% of a core",
        ),
        used("receiver_cpu_percent", "CPU, receiver, mean", "% of a core"),
        used(
            "receiver_cpu_high_percent",
            "CPU, receiver, highest window",
            "% of a core",
        ),
        Column::sum("packets", "packets", "").hidden(),
        Column::sum("late", "packets begun late", ""),
    ]
}
