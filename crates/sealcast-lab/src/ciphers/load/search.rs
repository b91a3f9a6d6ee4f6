//! The highest rate that holds.

/// Frames a second that are tried at least and at most.
const RATES: std::ops::RangeInclusive<f64> = 1.0..=100_000.0;
/// The rate that is found is no further below the lowest that does not hold.
const PRECISION: f64 = 1.05;

/// The highest rate that `holds`, within 5 %: from `guess` on it is doubled until it does not hold, or halved until it
/// does, then the middle is tried (the geometric mean). `None` if not even the lowest holds.
pub(super) fn highest(guess: f64, mut holds: impl FnMut(f64) -> bool) -> Option<f64> {
    let guess = guess.clamp(*RATES.start(), *RATES.end());
    let (mut good, mut bad) = if holds(guess) {
        let mut good = guess;
        loop {
            let next = 2.0 * good;
            if next > *RATES.end() {
                return Some(good);
            }
            if !holds(next) {
                break (good, next);
            }
            good = next;
        }
    } else {
        let mut bad = guess;
        loop {
            if bad <= *RATES.start() {
                return None;
            }
            let next = (bad / 2.0).max(*RATES.start());
            if holds(next) {
                break (next, bad);
            }
            bad = next;
        }
    };
    while bad / good > PRECISION {
        let middle = (good * bad).sqrt();
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_rate_is_found_within_five_percent_from_any_guess() {
        for limit in [1.0, 3.7, 25.0, 999.0, 12_345.0] {
            for guess in [0.1, 1.0, 30.0, 5_000.0, 1e9] {
                let found = highest(guess, |rate| rate <= limit).expect("some rate holds");
                assert!(
                    found <= limit && limit / found <= PRECISION,
                    "{found}, not {limit}, from {guess}"
                );
            }
        }
    }

    #[test]
    fn where_no_rate_holds_there_is_none_and_where_all_do_it_ends() {
        assert_eq!(highest(40.0, |_| false), None);
        let found = highest(40.0, |_| true).expect("all rates hold");
        assert!((50_000.0..=100_000.0).contains(&found), "{found}");
    }

    #[test]
    fn few_rates_are_tried() {
        let mut tried = 0;
        highest(100.0, |rate| {
            tried += 1;
            rate <= 180.0
        });
        assert!(tried <= 6, "{tried}");
    }
}
