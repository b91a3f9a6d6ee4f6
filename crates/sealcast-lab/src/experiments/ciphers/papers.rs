//! Figures as papers define them: Rank, E-Rank and safe time.

/// Seconds in a year of 365.25 days.
const YEAR: f64 = 31_557_600.0;

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
    use super::*;
    use crate::harness::Definition;

    #[test]
    fn e_ranks_of_the_paper_follow_from_its_other_figures() {
        let definition = Definition::parse(super::super::CIPHERS.definition).expect("it is right");
        let rows = definition
            .published
            .iter()
            .filter(|row| row.figures.contains_key("e_rank"));
        let rows: Vec<_> = rows.collect();
        assert_eq!(rows.len(), 6);
        for row in rows {
            let figure = |key| row.figures[key];
            let rank = rank(
                figure("kbit_per_s") * 125.0,
                figure("code_bytes"),
                figure("memory_bytes"),
            );
            let computed = e_rank(rank, figure("uj_per_byte"));
            // The paper gives two digits after the point.
            assert!(
                (computed - figure("e_rank")).abs() < 0.006,
                "{}: {computed}",
                row.system
            );
        }
    }

    #[test]
    fn trying_all_keys_of_des_at_the_rate_of_deep_crack_takes_nine_days() {
        // Electronic Frontier Foundation, "Cracking DES", 1998: 90 billion keys per second, nine days at most.
        let days = safe_years(56, 90e9) * 365.25;
        assert!((9.0..9.5).contains(&days), "{days}");
    }
}
