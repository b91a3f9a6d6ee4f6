//! The search for the highest sustained rate.

/// Range of the rates tried, in frames per second.
const RATES: std::ops::RangeInclusive<f64> = 1.0..=100_000.0;
/// Largest ratio of the lowest rate that failed to the rate found.
const PRECISION: f64 = 1.05;

/// The highest rate for which `holds` is true, within 5 %. Starting from `guess`, doubles the rate until it fails or
/// halves it until it holds, then bisects at the geometric mean. `None` if not even the lowest rate holds.
///
/// # Errors
/// The first error of `holds`.
pub(super) fn highest<E>(guess: f64, mut holds: impl FnMut(f64) -> Result<bool, E>) -> Result<Option<f64>, E> {
    let guess = guess.clamp(*RATES.start(), *RATES.end());
    let (mut good, mut bad) = if holds(guess)? {
        let mut good = guess;
        loop {
            let next = 2.0 * good;
            if next > *RATES.end() {
                return Ok(Some(good));
            }
            if !holds(next)? {
                break (good, next);
            }
            good = next;
        }
    } else {
        let mut bad = guess;
        loop {
            if bad <= *RATES.start() {
                return Ok(None);
            }
            let next = (bad / 2.0).max(*RATES.start());
            if holds(next)? {
                break (next, bad);
            }
            bad = next;
        }
    };
    while bad / good > PRECISION {
        let middle = (good * bad).sqrt();
        if holds(middle)? {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Ok(Some(good))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn found(guess: f64, mut holds: impl FnMut(f64) -> bool) -> Option<f64> {
        let Ok(found) = highest::<Infallible>(guess, |rate| Ok(holds(rate)));
        found
    }

    #[test]
    fn the_highest_rate_is_found_within_five_percent_from_any_guess() {
        for limit in [1.0, 3.7, 25.0, 999.0, 12_345.0] {
            for guess in [0.1, 1.0, 30.0, 5_000.0, 1e9] {
                let found = found(guess, |rate| rate <= limit).expect("some rate holds");
                assert!(
                    found <= limit && limit / found <= PRECISION,
                    "{found}, not {limit}, from {guess}"
                );
            }
        }
    }

    #[test]
    fn where_no_rate_holds_there_is_none_and_where_all_do_it_ends() {
        assert_eq!(found(40.0, |_| false), None);
        let found = found(40.0, |_| true).expect("all rates hold");
        assert!((50_000.0..=100_000.0).contains(&found), "{found}");
    }

    #[test]
    fn few_rates_are_tried() {
        let mut tried = 0;
        found(100.0, |rate| {
            tried += 1;
            rate <= 180.0
        });
        assert!(tried <= 6, "{tried}");
    }

    #[test]
    fn an_error_ends_the_search() {
        assert_eq!(
            highest(40.0, |rate| if rate > 100.0 { Err("refused") } else { Ok(true) }),
            Err("refused")
        );
    }
}
