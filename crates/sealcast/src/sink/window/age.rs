//! Age of a picture when it is shown.

use sealcast_proto::clock::ClockEstimate;

use crate::sink::proven_age::AgeShown;

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

/// The text in the picture's corner: its age by the clocks, where that is wanted, with the bound that the camera proved
/// behind it. An alarm is there in any case.
pub(super) fn corner(age: Option<String>, proven: Option<AgeShown>, unproven: bool) -> Option<String> {
    let bound = match proven {
        Some(AgeShown::AtMost(most)) if age.is_some() => Some(format!("<{} ms", most.as_millis() + 1)),
        Some(AgeShown::Alarm(_) | AgeShown::Unknown) => Some("MAY BE OLD".to_owned()),
        Some(AgeShown::AtMost(_)) | None => None,
    };
    let unproven = unproven.then(|| "UNPROVEN".to_owned());
    let all: Vec<String> = [age, bound, unproven].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast_proto::live::AlarmCause;

    use super::*;

    #[test]
    fn an_alarm_is_shown_though_nobody_asked_for_the_age() {
        let most = Some(AgeShown::AtMost(Duration::from_micros(129_900)));
        let alarm = Some(AgeShown::Alarm(AlarmCause::Freeze));
        let age = || Some("12.3 +/-0.5 ms".to_owned());
        for (age, proven, unproven, text) in [
            (None, most, false, None),
            (age(), None, false, Some("12.3 +/-0.5 ms")),
            (age(), most, false, Some("12.3 +/-0.5 ms <130 ms")),
            (None, alarm, false, Some("MAY BE OLD")),
            (None, Some(AgeShown::Unknown), false, Some("MAY BE OLD")),
            (age(), alarm, false, Some("12.3 +/-0.5 ms MAY BE OLD")),
            (None, most, true, Some("UNPROVEN")),
            (None, alarm, true, Some("MAY BE OLD UNPROVEN")),
        ] {
            assert_eq!(corner(age, proven, unproven).as_deref(), text);
        }
    }

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
