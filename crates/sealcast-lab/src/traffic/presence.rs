//! Presence: somebody in the picture changes the rate of a stream. A cumulative sum (Page 1954) finds the change, as
//! in Ji and others, "HomeSpy" (2018).

use sealcast::meter::statistics::{deviation, median};

/// Changes smaller than this many deviations add nothing to the sum: half of the change to be found, one deviation.
const ALLOWANCE: f64 = 0.5;

/// Appearance of an empty scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Empty {
    middle: f64,
    deviation: f64,
}

impl Empty {
    /// Learns from bytes of intervals while nobody was there; `None` from fewer than two.
    pub fn learned(intervals: &[f64]) -> Option<Self> {
        let deviation = deviation(intervals);
        deviation.is_finite().then(|| Self {
            middle: median(&mut intervals.to_vec()),
            deviation,
        })
    }

    /// The largest cumulative sum, in deviations, of a change up or down within a window. Without any deviation of the
    /// empty scene, each interval that differs counts as one.
    pub fn score(&self, intervals: &[f64]) -> f64 {
        let (mut up, mut down, mut most) = (0.0_f64, 0.0_f64, 0.0_f64);
        for bytes in intervals {
            let off = match self.deviation > 0.0 {
                true => (bytes - self.middle) / self.deviation,
                false => (bytes - self.middle).signum() * f64::from(*bytes != self.middle),
            };
            up = (up + off - ALLOWANCE).max(0.0);
            down = (down - off - ALLOWANCE).max(0.0);
            most = most.max(up).max(down);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;
    use crate::traffic::auc;

    #[test]
    fn the_sum_is_that_of_page() {
        let empty = Empty {
            middle: 100.0,
            deviation: 10.0,
        };
        // +2 - 0.5 = 1.5; +1 - 0.5 = 2.0; -3 - 0.5: 0 and, down, 2.5.
        assert_eq!(empty.score(&[120.0, 110.0]), 2.0);
        assert_eq!(empty.score(&[120.0, 110.0, 70.0]), 2.5);
        assert_eq!(empty.score(&[100.0, 104.0, 96.0]), 0.0);
        assert_eq!(Empty::learned(&[5.0]), None);
        let alike = Empty::learned(&[5.0; 9]).expect("intervals");
        assert_eq!((alike.score(&[5.0; 9]), alike.score(&[5.0, 6.0, 6.0])), (0.0, 1.0));
    }

    #[test]
    fn it_wins_where_the_rate_rises_and_guesses_where_it_does_not() {
        let mut random = Random::new(5);
        let mut window = |level: f64| -> Vec<f64> { (0..10).map(|_| level * (0.8 + 0.4 * random.unit())).collect() };
        let empty = Empty::learned(&(0..5).flat_map(|_| window(1000.0)).collect::<Vec<f64>>()).expect("intervals");
        let mut scores = |level: f64| -> Vec<f64> { (0..60).map(|_| empty.score(&window(level))).collect() };
        let (away, there) = (scores(1000.0), scores(1250.0));
        let won = auc::estimate(&there, &away).expect("scores");
        assert!(won.median > 0.99 && won.low > 0.9, "{won:?}");
        // An interval of 95 % misses now and then.
        let guessed = (0..20).filter_map(|_| auc::estimate(&scores(1000.0), &scores(1000.0)));
        let holds = guessed.filter(|seen| seen.low <= 0.5 && 0.5 <= seen.high).count();
        assert!(holds >= 16, "{holds} of 20");
    }
}
