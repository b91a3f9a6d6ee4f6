//! How long sealing a session's last frame took, and handing it to the network.

use std::time::{Duration, Instant};

/// The stamps of the frame before, which the next one carries.
#[derive(Default)]
pub(super) struct SendTimes {
    seal: Duration,
    send: Duration,
    sending_since: Option<Instant>,
}

impl SendTimes {
    /// What sealing and sending the frame before took, in nanoseconds, saturating.
    pub(super) fn previous(&self) -> (u32, u32) {
        let nanos = |time: Duration| u32::try_from(time.as_nanos()).unwrap_or(u32::MAX);
        (nanos(self.seal), nanos(self.send))
    }

    /// A frame is sealed since `now`.
    pub(super) fn sealed(&mut self, took: Duration, now: Instant) {
        self.seal = took;
        self.sending_since = Some(now);
    }

    /// Nothing waits to be sent: how long that took, when the last frame has left with it.
    pub(super) fn left(&mut self) -> Option<Duration> {
        self.send = self.sending_since.take()?.elapsed();
        Some(self.send)
    }
}
