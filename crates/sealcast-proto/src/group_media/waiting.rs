//! Frames of a relay's track that wait for their key: tracks are apart, so a frame can overtake its key.

use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of frames that wait for their key.
pub(super) const MAX_WAITING: usize = 64;
/// Maximum number of packets of sound that wait for theirs: as long as those frames at 25 a second.
pub(super) const MAX_WAITING_SOUND: usize = 128;
/// Time for which a frame waits for its key.
pub(super) const WAIT_FOR_KEY: Duration = Duration::from_secs(1);

struct Waiting {
    since: Duration,
    /// It is the first one of its group of objects.
    begins: bool,
    frame: Vec<u8>,
}

/// The frames of one track in their order.
pub(super) struct WaitingFrames {
    most: usize,
    waiting: VecDeque<Waiting>,
    /// The present group of objects is of no use: its beginning was not opened.
    skipping: bool,
}

impl WaitingFrames {
    /// None has come. At most `most` of them wait.
    pub(super) fn new(most: usize) -> Self {
        Self {
            most,
            waiting: VecDeque::new(),
            skipping: true,
        }
    }

    pub(super) fn push(&mut self, now: Duration, begins: bool, frame: Vec<u8>) {
        self.waiting.push_back(Waiting {
            since: now,
            begins,
            frame,
        });
    }

    /// Takes the next frame whose key is there, or that has waited long enough, and whether it begins a group.
    pub(super) fn take(&mut self, now: Duration, waits: impl Fn(&[u8]) -> bool) -> Option<(bool, Vec<u8>)> {
        if self.skipping {
            let next = self.waiting.iter().position(|frame| frame.begins);
            self.waiting.drain(..next.unwrap_or(self.waiting.len()));
        }
        let first = self.waiting.front()?;
        let may_wait = now < first.since + WAIT_FOR_KEY && self.waiting.len() <= self.most;
        if may_wait && waits(&first.frame) {
            return None;
        }
        let Waiting { begins, frame, .. } = self.waiting.pop_front()?;
        Some((begins, frame))
    }

    /// Notes how the frame was opened that was taken last: what follows a beginning without a key is left out.
    pub(super) fn skip_if(&mut self, skips: bool) {
        self.skipping = skips;
    }

    /// Since when the first one waits.
    pub(super) fn since(&self) -> Option<Duration> {
        self.waiting.front().map(|first| first.since)
    }
}
