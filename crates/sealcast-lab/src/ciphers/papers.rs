//! Published figures, for comparison with this machine's.

/// Source of [`KHAN_2024`].
pub(super) const KHAN_2024_SOURCE: &str = "Khan, Dagenborg, Johansen: Performance Evaluation of Lightweight Stream \
    Ciphers for Real-Time Video Feed Encryption on ARM Processor. Future Internet 2024, 16, 261, Table 1: Raspberry Pi \
    Zero W (ARM11)";

/// Source of [`ELKILANI_2009`].
pub(super) const ELKILANI_2009_SOURCE: &str = "Elkilani, Abdul-Kader: Performance of Encryption Techniques for Real \
    Time Video Streaming. IJCI 2 (1), 2009, Table 1: Celeron, 3 GHz";

/// A line of the table.
pub(super) struct Lightweight {
    /// The cipher's name in this program.
    pub(super) cipher: &'static str,
    pub(super) key_bits: usize,
    pub(super) frames_per_s: f64,
    pub(super) code_bytes: f64,
    /// The process's memory per byte of a frame.
    pub(super) memory_bytes: f64,
    pub(super) cycles_per_byte: f64,
    pub(super) kbit_per_s: f64,
    pub(super) mj_per_frame: f64,
    pub(super) uj_per_byte: f64,
    pub(super) e_rank: f64,
}

/// Six ciphers on a single-core camera board.
pub(super) const KHAN_2024: [Lightweight; 6] = [
    row(
        "grain-v1",
        80,
        [0.76, 3828.0, 1604.73, 6021.1, 251.9, 11_083.55, 354.98, 0.01],
    ),
    row(
        "grain-128a",
        128,
        [2.64, 10_742.0, 1655.64, 1730.5, 4888.42, 3000.25, 96.09, 0.45],
    ),
    row(
        "mickey-v1",
        80,
        [1.5, 8088.0, 1620.82, 2424.11, 707.57, 5657.13, 181.18, 0.04],
    ),
    row(
        "trivium",
        80,
        [1.79, 6122.0, 1625.95, 2600.07, 1008.69, 4688.18, 150.15, 0.09],
    ),
    row(
        "salsa20",
        128,
        [3.19, 4025.0, 1704.79, 1487.55, 56_360.34, 2840.72, 90.98, 10.42],
    ),
    row(
        "sosemanuk",
        128,
        [3.18, 35_870.0, 1576.25, 1461.38, 91_609.07, 2696.52, 86.36, 3.4],
    ),
];

/// In the order of the paper's columns.
const fn row(cipher: &'static str, key_bits: usize, figures: [f64; 8]) -> Lightweight {
    let [
        frames_per_s,
        code_bytes,
        memory_bytes,
        cycles_per_byte,
        kbit_per_s,
        mj_per_frame,
        uj_per_byte,
        e_rank,
    ] = figures;
    Lightweight {
        cipher,
        key_bits,
        frames_per_s,
        code_bytes,
        memory_bytes,
        cycles_per_byte,
        kbit_per_s,
        mj_per_frame,
        uj_per_byte,
        e_rank,
    }
}

/// Technique, cost, size of the output, time to encrypt and to decrypt a block.
pub(super) const ELKILANI_2009: [[&str; 5]; 3] = [
    ["XOR", "low", "fixed", "stream cipher", "stream cipher"],
    ["RC4", "medium", "fixed", "stream cipher", "stream cipher"],
    ["AES", "very high", "fixed", "0.01 ms", "0.01 ms"],
];
