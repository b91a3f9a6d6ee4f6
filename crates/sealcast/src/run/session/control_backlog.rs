//! Detection of a peer that sends requests and does not read the answers.

/// Maximum bytes of control records queued while the peer reads nothing of the data queued before them. An honest
/// peer would not reach this in minutes.
const MAX_UNREAD_CONTROL: u64 = 512 * 1024;

/// Counts the control records queued for a peer that does not read. Frames need no such count: unsent frames are
/// dropped from their queue.
#[derive(Default)]
pub(crate) struct ControlBacklog {
    queued: u64,
    /// Value of `queued` at the start of the count. Once that much has been sent, the count starts again.
    since: u64,
    control: u64,
}

impl ControlBacklog {
    /// A frame was queued.
    pub(crate) fn frame(&mut self, bytes: u64) {
        self.queued += bytes;
    }

    /// A control record was queued.
    pub(crate) fn control(&mut self, bytes: u64) {
        self.queued += bytes;
        self.control += bytes;
    }

    /// Bytes of control and data records that wait for the peer, at the last look.
    pub(crate) fn waiting(&self) -> u64 {
        self.control
    }

    /// True if too much waits. `backlog` is the number of queued bytes not yet sent.
    pub(crate) fn too_much(&mut self, backlog: usize) -> bool {
        if self.queued.saturating_sub(backlog as u64) >= self.since {
            self.since = self.queued;
            self.control = 0;
        }
        self.control > MAX_UNREAD_CONTROL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_asks_and_does_not_read_is_found_out() {
        let mut unread = ControlBacklog::default();
        let mut backlog = 0;
        let asked = (0..u32::MAX).find(|_| {
            unread.control(69);
            backlog += 69;
            unread.too_much(backlog)
        });
        assert!(asked.is_some_and(|asked| u64::from(asked) * 69 < 2 * MAX_UNREAD_CONTROL));
    }

    #[test]
    fn a_slow_peer_that_reads_may_go_on_for_ever() {
        let mut unread = ControlBacklog::default();
        for _ in 0..100_000 {
            unread.frame(20_000);
            unread.control(69);
            assert!(!unread.too_much(60_000), "there is always a backlog, but it moves");
        }
    }
}
