//! Retries with growing delays.

use std::fmt::Display;
use std::time::{Duration, Instant};

use crate::meter::telling::Telling;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

/// Delays between attempts: 0.2 s, doubling up to 5 s; and which of their failures are told.
pub(crate) struct Retry {
    next: Duration,
    failures: Telling,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            next: FIRST,
            failures: Telling::default(),
        }
    }
}

impl Retry {
    /// Says in the log that an attempt failed, if it is time to.
    pub(crate) fn failed(&mut self, failure: &dyn Display) {
        if let Some(total) = self.failures.count(Instant::now()) {
            tracing::warn!(total, "{failure}");
        }
    }

    pub(crate) async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST);
    }
}

/// Wait until the switch turns true, or until its sender is gone. Returns true if it was turned on.
pub(crate) async fn turned_on(switch: &mut tokio::sync::watch::Receiver<bool>) -> bool {
    switch.wait_for(|on| *on).await.is_ok()
}
