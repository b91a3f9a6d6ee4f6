//! Keyframe requests where they may be lost (protocol.md §7): sent twice by the viewer, acted on once by the
//! publisher.

use std::time::Duration;

/// The repetition follows after half a round trip, but no later than this.
const MOST_LATER: Duration = Duration::from_millis(20);

/// The viewer's half.
#[derive(Default)]
pub(super) struct KeyframeRequester {
    again: Option<(u32, Duration)>,
}

impl KeyframeRequester {
    /// The program asks for a keyframe of `stream`.
    pub(super) fn asked(&mut self, now: Duration, stream: u32, round_trip: Duration) {
        self.again = Some((stream, now + (round_trip / 2).min(MOST_LATER)));
    }

    /// The stream whose request must be repeated now.
    pub(super) fn take(&mut self, now: Duration) -> Option<u32> {
        let (stream, _) = self.again.take_if(|(_, at)| now >= *at)?;
        Some(stream)
    }

    pub(super) fn deadline(&self) -> Duration {
        self.again.map_or(Duration::MAX, |(_, at)| at)
    }
}

/// The publisher's half.
#[derive(Default)]
pub(super) struct KeyframeResponder {
    last: Option<(u32, Duration)>,
}

impl KeyframeResponder {
    /// True if a request is new. A repetition within a round trip is a copy: its sender cannot have seen the answer.
    pub(super) fn is_new(&mut self, now: Duration, stream: u32, round_trip: Duration) -> bool {
        let copy = (self.last).is_some_and(|(last, at)| last == stream && now < at + round_trip);
        if !copy {
            self.last = Some((stream, now));
        }
        !copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_question_is_said_once_more_and_no_more() {
        let mut asking = KeyframeRequester::default();
        assert_eq!(asking.deadline(), Duration::MAX);
        asking.asked(MS * 100, 1, MS * 10);
        assert_eq!((asking.take(MS * 104), asking.deadline()), (None, MS * 105));
        assert_eq!((asking.take(MS * 105), asking.take(MS * 106)), (Some(1), None));
        asking.asked(MS * 200, 2, MS * 600);
        assert_eq!(asking.deadline(), MS * 220);
    }

    #[test]
    fn what_is_asked_again_within_a_round_trip_is_the_same_question() {
        let mut heard = KeyframeResponder::default();
        assert!(heard.is_new(MS * 100, 1, MS * 40));
        assert!(!heard.is_new(MS * 120, 1, MS * 40));
        assert!(heard.is_new(MS * 121, 2, MS * 40), "of another stream");
        assert!(heard.is_new(MS * 161, 2, MS * 40));
    }
}
