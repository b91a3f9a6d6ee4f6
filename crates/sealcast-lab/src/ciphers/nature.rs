//! Properties of a cipher's design: block or stream, and the time to try all its keys.

/// Seconds in a year of 365.25 days.
const YEAR: f64 = 31_557_600.0;

/// The units that a cipher works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Nature {
    /// Description.
    pub(super) form: &'static str,
    /// Bytes per application of its core; for ciphers that produce single bits, the smallest amount available.
    pub(super) block_bytes: usize,
}

/// The properties of a cipher by its name. A name that is unknown here is a foreign cipher's, and counts as producing
/// single bytes.
pub(super) fn of(cipher: &str) -> Nature {
    let (form, block_bytes) = match cipher {
        "trivium" | "grain-v1" | "grain-128a" | "mickey-v1" | "mickey-v2" => ("stream of bits", 1),
        "hc-128" => ("stream of words", 4),
        "rabbit" | "sosemanuk" => ("stream of words", 16),
        "salsa20" | "chacha20" => ("stream of blocks", 64),
        "chacha20-poly1305" => ("stream of blocks, tag", 64),
        "aes-128-ctr" => ("block cipher as a stream", 16),
        "aes-128-gcm" | "aes-256-gcm" => ("block cipher as a stream, tag", 16),
        "aegis-128l" => ("stream of blocks, tag", 32),
        "aegis-128x4" => ("stream of blocks, tag", 128),
        "ascon-aead128" => ("sponge, tag", 16),
        "rc4" | "xor" => ("stream of bytes", 1),
        _ => ("not known, taken by bytes", 1),
    };
    Nature { form, block_bytes }
}

/// Years to try all keys of this many bits; on average the right one is found after half of that time.
pub(super) fn safe_years(key_bits: usize, guesses_per_second: f64) -> f64 {
    (key_bits as f64).exp2() / guesses_per_second / YEAR
}

/// Rank: bytes per second over the sum of bytes of code and twice the bytes of memory per byte of input. Source:
/// Beaulieu et al., "The SIMON and SPECK block ciphers on AVR 8-bit microcontrollers", in the units of Khan et al.
/// 2024, equation 1.
pub(super) fn rank(bytes_per_s: f64, code_bytes: f64, memory_bytes: f64) -> f64 {
    bytes_per_s / 2.0_f64.mul_add(memory_bytes, code_bytes)
}

/// E-Rank: Rank over microjoules per byte (Khan et al. 2024, equation 3).
pub(super) fn e_rank(rank: f64, uj_per_byte: f64) -> f64 {
    rank / uj_per_byte
}

#[cfg(test)]
mod tests {
    use super::super::papers::KHAN_2024;
    use super::*;

    #[test]
    fn e_ranks_of_the_paper_follow_from_its_other_figures() {
        for row in &KHAN_2024 {
            let rank = rank(row.kbit_per_s * 125.0, row.code_bytes, row.memory_bytes);
            let computed = e_rank(rank, row.uj_per_byte);
            // The paper gives two digits after the point.
            assert!((computed - row.e_rank).abs() < 0.006, "{}: {computed}", row.cipher);
        }
    }

    #[test]
    fn trying_all_keys_of_des_at_the_rate_of_deep_crack_takes_nine_days() {
        // Electronic Frontier Foundation, "Cracking DES", 1998: 90 billion keys per second, nine days at most.
        let days = safe_years(56, 90e9) * 365.25;
        assert!((9.0..9.5).contains(&days), "{days}");
    }
}
