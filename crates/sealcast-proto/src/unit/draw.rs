//! Draws which units are encrypted. The result is visible in every record's flags, so nothing here is secret. The
//! numbers only have to be uniform, fast and repeatable.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), with the
/// constants of its reference implementation (prng.di.unimi.it/splitmix64.c).
#[derive(Clone, Default)]
pub(super) struct Draw {
    state: u64,
}

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns true with a probability of this many thousandths.
    pub(super) fn happens(&mut self, permille: u16) -> bool {
        // The remainders below 616 (2⁶⁴ mod 1000) are more frequent than the others by less than one part in 10¹⁶.
        self.next() % 1000 < u64::from(permille)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_generator() {
        let mut draw = Draw::new(1_234_567);
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(published.map(|_| draw.next()), published);
    }

    #[test]
    fn the_share_drawn_is_the_share_asked_for() {
        for permille in [0, 1, 125, 500, 999, 1000] {
            let mut draw = Draw::new(7);
            let drawn = (0..100_000).filter(|_| draw.happens(permille)).count();
            let expected = 100 * usize::from(permille);
            // Four standard deviations at one half, where the distribution is widest, are 632.
            assert!(drawn.abs_diff(expected) <= 632, "{permille}: {drawn}");
            assert!(permille % 1000 != 0 || drawn == expected);
        }
    }
}
