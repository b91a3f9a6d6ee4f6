//! The columns computed from samples. The columns of one kind of case are empty in the other cases, so each kind has a
//! table of its own.

use super::sample;
use crate::harness::{Better, Column};

/// The case by which the papers compare ciphers.
const VIDEO: &[&str] = &["h264-frames"];

pub(super) fn columns() -> Vec<Column> {
    [loads(), papers(), set_up(), instructions(), hidden()].concat()
}

/// A figure that differs between ciphers by orders of magnitude.
fn figure(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).significant()
}

/// A counted figure.
fn count(key: &'static str, title: &'static str, unit: &'static str) -> Column {
    Column::median(key, title, unit).digits(0)
}

fn loads() -> Vec<Column> {
    vec![
        figure("mb_per_s", "enciphering", "MB/s")
            .drawn_in(&["1200-bytes"])
            .found(Better::More, 0.0),
        figure("open_mb_per_s", "deciphering", "MB/s"),
        figure("cycles_per_byte", "cycles, the loop's subtracted", "per byte").drawn_in(VIDEO),
        figure("loop_cycles_per_byte", "cycles of the loop", "per byte"),
        figure("packets_per_s", "packets or frames", "a second").drawn_in(VIDEO),
        figure("mj_per_packet", "energy", "mJ a packet or frame").drawn_in(VIDEO),
        figure("uj_per_byte", "energy", "µJ a byte"),
    ]
}

/// The figures of Khan et al. 2024, for frames of video.
fn papers() -> Vec<Column> {
    vec![
        figure("kbit_per_s", "throughput", "kbit/s").drawn(),
        count("code_bytes", "code", "bytes").drawn(),
        count("rss_bytes", "memory", "bytes"),
        figure("memory_bytes", "memory", "bytes per byte of a frame").drawn(),
        count("state_bytes", "state", "bytes").drawn_in(VIDEO),
        figure("rank", "Rank", "").drawn(),
        Column::pooled("e_rank", "E-Rank", "", sample::e_rank)
            .significant()
            .drawn(),
    ]
}

/// Costs before the first byte, as in Elkilani and Abdul-Kader 2009.
fn set_up() -> Vec<Column> {
    vec![
        count("key_length_bits", "key", "bits"),
        figure("algorithm_ns", "algorithm set-up", "ns"),
        figure("key_ns", "key set-up", "ns"),
        figure("iv_ns", "IV set-up", "ns"),
        count("block_bytes", "block", "bytes"),
        figure("block_seal_ns", "enciphering a block", "ns"),
        figure("block_open_ns", "deciphering a block", "ns"),
        figure("t_ns", "T, the sum without the IV", "ns").drawn(),
        figure("safe_years", "safe time, by trying all keys", "years").drawn(),
    ]
}

fn instructions() -> Vec<Column> {
    vec![
        figure("on_mb_per_s", "with AES instructions", "MB/s").drawn(),
        figure("off_mb_per_s", "without", "MB/s").drawn(),
        figure("times_as_fast", "with them", "times as fast"),
    ]
}

/// The values from which figures were computed.
fn hidden() -> Vec<Column> {
    let hidden = |key| figure(key, key, "").hidden();
    let keys = [
        "packet_bytes",
        "at_once",
        "seal_ns",
        "open_ns",
        "joules",
        "energy_seconds",
        "idle_watts",
    ];
    keys.into_iter().map(hidden).collect()
}
