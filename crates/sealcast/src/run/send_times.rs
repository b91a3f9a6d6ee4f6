//! Time taken to seal a session's last frame and to pass it to the network.

use std::time::{Duration, Instant};

/// The seal and send times of the previous frame. The next frame carries them to the viewer.
#[derive(Default)]
pub(super) struct SendTimes {
    seal: Duration,
    send: Duration,
    sending_since: Option<Instant>,
}

impl SendTimes {
    /// The times taken to seal and to send the previous frame, in nanoseconds, saturating.
    pub(super) fn previous(&self) -> (u32, u32) {
        let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
        (nanos(self.seal), nanos(self.send))
    }

    /// Note that a frame was sealed: sealing took `took` and ended at `now`.
    pub(super) fn sealed(&mut self, took: Duration, now: Instant) {
        self.seal = took;
        self.sending_since = Some(now);
    }

    /// Note that nothing is queued for sending. Returns the send time of the last frame if that has just left.
    pub(super) fn left(&mut self) -> Option<Duration> {
        self.send = self.sending_since.take()?.elapsed();
        Some(self.send)
    }
}
