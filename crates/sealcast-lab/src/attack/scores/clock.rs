//! The bit error rate of the test card's clock, read by the program's own reader. Chance gives 0.5 where bits are
//! equally often 0 and 1, so it measures absolutely how much of the picture is there.

use sealcast::media::Picture;
use sealcast::source::test_card::{CLOCK_BITS, read_clock_bits};

/// Share of the bits that differ between the clock of the original and of the attacker's picture. `None` if the
/// picture is too small for a clock.
pub(super) fn errors(original: &Picture, shown: &Picture) -> Option<f64> {
    let (original, shown) = (read_clock_bits(original)?, read_clock_bits(shown)?);
    // Where all cells look alike nothing was read: every bit is a guess.
    if shown.iter().all(|bit| *bit == shown[0]) {
        return Some(0.5);
    }
    let wrong = original.iter().zip(&shown).filter(|(a, b)| a != b).count();
    Some(wrong as f64 / CLOCK_BITS as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast::source::test_card::{CardClock, CardPainter};

    use super::*;

    #[test]
    fn a_clock_is_without_errors_against_itself_and_a_guess_against_grey() {
        let mut painter = CardPainter::new(320, 240).expect("a card");
        let clock = CardClock {
            event: 77,
            wall_us: 0x1234_5678_9abc,
        };
        let card = painter.paint(clock, Duration::ZERO).clone();
        assert_eq!(errors(&card, &card), Some(0.0));
        assert_eq!(errors(&card, &crate::attack::picture::grey(320, 240)), Some(0.5));
    }
}
