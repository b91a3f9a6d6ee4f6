//! A seeded generator for simulations and for choices that must be repeatable. It must not be used for secrets.

use std::ops::Range;

/// xoshiro256++ (D. Blackman, S. Vigna, *Scrambled Linear Pseudorandom Number Generators*, ACM TOMS 47, 2021).
/// SplitMix64 (G. L. Steele, D. Lea, C. H. Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014) fills
/// its state, as its authors advise. The same seed gives the same numbers on every machine, for ever.
///
/// A few of its numbers reveal all the others: it is for simulation, never for keys.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// A generator determined by `seed`. Every seed is good, including zero.
    pub fn new(seed: u64) -> Self {
        let mut seed = seed;
        Self {
            state: std::array::from_fn(|_| split_mix(&mut seed)),
        }
    }

    /// Returns 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// Returns a number from 0 up to, but not including, 1: a multiple of 2⁻⁵³.
    pub fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
        let numerator = (self.next_u64() >> 11) as f64;
        numerator / (1_u64 << 53) as f64
    }

    /// Returns true with probability `p`: never for 0 or less, always for 1 or more. Uses one number whatever `p` is.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Returns a number of `range`, all with the same probability up to a relative deviation of 2⁻⁶⁴ times the size of
    /// the range. An empty range gives its start. Always uses one number.
    pub fn uniform(&mut self, range: Range<u64>) -> u64 {
        let size = range.end.saturating_sub(range.start);
        // The high half of the product of a 64-bit number and `size` is below `size`.
        let offset = (u128::from(self.next_u64()) * u128::from(size)) >> 64;
        range.start + u64::try_from(offset).unwrap_or(0)
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers_come_out() {
        let mut generator = Random { state: [1, 2, 3, 4] };
        let expected = [
            41_943_041,
            58_720_359,
            3_588_806_011_781_223,
            3_591_011_842_654_386,
            9_228_616_714_210_784_205,
            9_973_669_472_204_895_162,
        ];
        assert_eq!(expected.map(|_| generator.next_u64()), expected);

        let mut seed = 1_234_567;
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!(expected.map(|_| split_mix(&mut seed)), expected);
    }

    #[test]
    fn a_uniform_number_stays_in_its_range_and_reaches_both_ends() {
        let mut random = Random::new(1);
        let drawn: Vec<u64> = (0..1000).map(|_| random.uniform(10..14)).collect();
        for wanted in 10..14 {
            let share = drawn.iter().filter(|&&number| number == wanted).count();
            assert!((200..300).contains(&share), "{wanted} came {share} times in 1000");
        }
        assert!(drawn.iter().all(|number| (10..14).contains(number)));
        assert_eq!(random.uniform(5..5), 5);
        assert!(random.uniform(0..u64::MAX) > 0);
    }

    #[test]
    fn a_chance_comes_as_often_as_it_says() {
        let mut random = Random::new(2);
        let came = (0..100_000).filter(|_| random.chance(0.3)).count();
        // Five standard deviations are 725.
        assert!((29_275..30_725).contains(&came), "{came} of 100000");
        assert!((0..1000).all(|_| random.chance(1.0)));
        assert!(!(0..1000).any(|_| random.chance(0.0)));
    }
}
