//! Retries with growing delays.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(200);
const LONGEST: Duration = Duration::from_secs(5);

/// Delays between attempts: 0.2 s, doubling up to 5 s.
pub(super) struct Retry {
    next: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { next: FIRST }
    }
}

impl Retry {
    pub(super) async fn wait(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(LONGEST);
    }
}

/// Wait until the switch turns true, or until its sender is gone. Returns true if it was turned on.
pub(super) async fn turned_on(switch: &mut tokio::sync::watch::Receiver<bool>) -> bool {
    switch.wait_for(|on| *on).await.is_ok()
}
