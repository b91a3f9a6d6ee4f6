//! How often a source or a camera is asked for a keyframe.

use std::time::{Duration, Instant};

/// Minimum time between two requests to one source or camera, on behalf of all viewers together: a viewer that sends
/// endless requests must not spoil the picture of the others.
const KEYFRAME_INTERVAL: Duration = Duration::from_millis(250);

/// The requests to one source or camera.
#[derive(Debug, Default)]
pub(super) struct KeyframeRequests {
    last: Option<Instant>,
}

impl KeyframeRequests {
    /// True if a request may be sent now.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let since = |last| now.saturating_duration_since(last);
        self.last.is_none_or(|last| since(last) >= KEYFRAME_INTERVAL)
    }

    /// Note that a request was sent.
    pub(super) fn sent(&mut self, now: Instant) {
        self.last = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn however_often_a_keyframe_is_wanted_requests_leave_four_times_a_second() {
        let began = Instant::now();
        let mut requests = KeyframeRequests::default();
        let mut sent = 0;
        for millisecond in 0..10_000 {
            let now = began + Duration::from_millis(millisecond);
            if requests.is_due(now) {
                requests.sent(now);
                sent += 1;
            }
        }
        assert_eq!(sent, 40);
    }
}
