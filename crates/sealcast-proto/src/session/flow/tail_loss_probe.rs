//! When what was sent last should be sent again unasked: nothing follows by which the viewer could tell that it is
//! lost. The timer is QUIC's probe timeout (RFC 9002, section 6.2), with reports in the place of acknowledgements.

use std::time::Duration;

use super::Path;

/// What a report takes beyond the round trip at most: they are 20 ms apart (RFC 9002: the peer's max_ack_delay).
const REPORT_SLACK: Duration = Duration::from_millis(30);
/// The wait doubles no more often than this.
const MAX_STEPS: u32 = 6;

/// What is known of the end of what was sent.
#[derive(Default)]
pub(super) struct TailLossProbe {
    /// One more than the highest number that a report spoke of.
    told: u64,
    /// When the last packet left, while a report on it is awaited.
    since: Option<Duration>,
    /// How often the end was sent again since a report last spoke of all there was: each time the wait doubles. On a
    /// path whose own queue holds reports up, nothing is lost and repetition makes it worse.
    steps: u32,
}

impl TailLossProbe {
    /// The first number of which nothing was told.
    pub(super) fn told(&self) -> u64 {
        self.told
    }

    /// A packet left.
    pub(super) fn sent(&mut self, now: Duration) {
        self.since = Some(now);
    }

    /// A report spoke of number `highest`; `end` is one more than the last that the viewer needs.
    pub(super) fn reported(&mut self, highest: u64, end: u64) {
        self.told = self.told.max(highest + 1);
        if self.told >= end {
            *self = Self {
                told: self.told,
                ..Self::default()
            };
        }
    }

    /// When the report on the last packet is overdue; `Duration::MAX` where none is awaited.
    pub(super) fn due(&self, path: Path) -> Duration {
        let spread = path.round_trip.map_or(Duration::ZERO, |trip| trip.variation * 4);
        let wait = path.smoothed() + spread + REPORT_SLACK;
        self.since
            .map_or(Duration::MAX, |since| since.saturating_add(wait * (1 << self.steps)))
    }

    /// The report is overdue, and the end is sent `again` or can no longer be. What leaves next is waited for anew.
    pub(super) fn missed(&mut self, again: bool) {
        self.since = None;
        self.steps = (self.steps + u32::from(again)).min(MAX_STEPS);
    }

    /// Nothing is awaited any more.
    pub(super) fn forget(&mut self) {
        self.since = None;
        self.steps = 0;
    }
}
