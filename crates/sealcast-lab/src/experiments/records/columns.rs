//! The columns computed from samples.

use crate::harness::{Better, Column};

pub(super) fn columns() -> Vec<Column> {
    let figures = [
        ("aes-128-gcm_seal_1200_ns", "AES-128-GCM, sealing 1200 bytes"),
        ("aes-128-gcm_open_1200_ns", "AES-128-GCM, opening 1200 bytes"),
        ("aes-128-gcm_path_20000_ns", "AES-128-GCM, a frame of 20 000 bytes"),
        ("aegis-128x4_seal_1200_ns", "AEGIS-128X4, sealing 1200 bytes"),
        ("aegis-128x4_open_1200_ns", "AEGIS-128X4, opening 1200 bytes"),
        ("aegis-128x4_path_20000_ns", "AEGIS-128X4, a frame of 20 000 bytes"),
    ];
    let judged = |(key, title)| Column::median(key, title, "ns").significant().judged(Better::Less);
    figures.map(judged).into()
}
