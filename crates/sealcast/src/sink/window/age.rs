//! How old a picture is when it is shown.

use sealcast_proto::clock::ClockEstimate;

/// When the source stamped a picture, by this machine's wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// ns since 1970, and half of the 95 % interval, on any path.
    time: Option<(u64, u64)>,
}

impl Stamp {
    /// The stamp `stamped` of the publisher's wall clock; `now` is the time of ours.
    pub(super) fn new(stamped: u64, clock: Option<ClockEstimate>, now: u64) -> Self {
        let reading = clock.map(|clock| clock.at(now));
        Self {
            time: reading.map(|reading| (stamped.saturating_add_signed(-reading.offset), reading.uncertainty)),
        }
    }

    /// The age at `now` in ms, with its uncertainty: `123.4 +/-0.5 ms`.
    pub(super) fn age(self, now: u64) -> String {
        let Some((time, uncertainty)) = self.time else {
            return "-- ms".to_owned();
        };
        // Between clocks that are not quite known a small age can be negative.
        let age = i128::from(now) - i128::from(time);
        format!("{:.1} +/-{:.1} ms", age as f64 / 1e6, uncertainty as f64 / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_its_uncertainty() {
        let stamp = Stamp {
            time: Some((5_000_000_000, 450_000)),
        };
        assert_eq!(stamp.age(5_123_449_000), "123.4 +/-0.5 ms");
        assert_eq!(stamp.age(4_999_800_000), "-0.2 +/-0.5 ms");
        assert_eq!(Stamp::new(1, None, 2).age(3), "-- ms");
    }
}
