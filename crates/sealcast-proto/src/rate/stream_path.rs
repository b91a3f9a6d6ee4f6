//! The path of a byte stream, by marks in the stream that the peer answers.
//!
//! A byte stream hides what is on its way: in buffers of this machine, of routers, of tunnels and of the peer. A mark
//! is a small message between two frames that the peer answers as soon as it reads it, so its round trip, less the
//! shortest one, is the time that data waits anywhere before the peer's program. No more is put on the way while the
//! oldest mark waits for longer than [`MOST_QUEUED`]: further frames then wait where they can still be dropped.
//!
//! The shortest round trip is found as in BBR (draft-ietf-ccwg-bbr, 4.3.4): if none near it was seen for a while,
//! nothing is sent until the path is empty, and the next round trip counts.

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Now;

/// Time beyond the shortest round trip that data may wait on the path, at least: a whole round trip is granted too, in
/// which a lost packet is repaired.
pub const MOST_QUEUED: Duration = Duration::from_millis(60);
/// Most marks that wait for an answer. A path whose round trip is longer than as many frames is marked more seldom.
pub const MAX_MARKS: usize = 64;
/// Minimum time between marks while data waits on the path, and while none does.
const BUSY_INTERVAL: Duration = Duration::from_millis(15);
const CALM_INTERVAL: Duration = Duration::from_millis(100);
/// A round trip that is longer than the shortest by less than this, or by a quarter of it, is near it.
const NEAR: Duration = Duration::from_millis(10);
/// Time without a round trip near the shortest, after which that is measured anew.
const BASE_LIFE: Duration = Duration::from_secs(10);
/// Round trip that is assumed before the first answer.
const FIRST_TRIP: Duration = Duration::from_millis(300);

/// A mark that waits for its answer.
struct Mark {
    /// Its name: the wall clock when it was made.
    wall: u64,
    sent: Duration,
    /// Time that the frame after it had waited by then.
    waited: Duration,
    /// Bytes of media in the stream before it.
    position: u64,
}

/// Sample of the path of a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSample {
    /// Bytes of media that have arrived for certain.
    pub arrived: u64,
    /// When that was learnt.
    pub at: Duration,
    /// The shortest round trip since the last sample, or, if there was none, how long the oldest mark has been on its
    /// way. Each counts from when its frame began to wait.
    pub round_trip: Duration,
}

/// The path of a byte stream.
#[derive(Default)]
pub struct StreamPath {
    /// Marks without an answer, oldest first.
    marks: VecDeque<Mark>,
    arrived: u64,
    /// When that was learnt.
    at: Duration,
    /// The shortest round trip, and when one near it was last seen.
    base: Option<(Duration, Duration)>,
    /// The last round trip.
    latest: Duration,
    /// The shortest round trip since the last sample, with the waiting before it.
    best: Option<Duration>,
    /// Time of the next mark.
    next: Duration,
    /// Nothing is sent until all marks are answered.
    draining: bool,
}

impl StreamPath {
    /// True if a mark is to be made now. `frame` is true if it would stand before a frame.
    pub fn wants_mark(&mut self, now: Duration, frame: bool) -> bool {
        if self.marks.len() >= MAX_MARKS || self.draining {
            return false;
        }
        let outdated = |(_, seen): (Duration, Duration)| now > seen.saturating_add(BASE_LIFE);
        // After a pause of the source the path is empty, and any mark measures it.
        if !frame && self.base.is_some_and(outdated) && !self.marks.is_empty() {
            // This mark is the last thing on the path.
            self.draining = true;
            return true;
        }
        frame && now >= self.next
    }

    /// A mark is made now, after `position` bytes of media and before a frame that has `waited` so long. Its name is
    /// the wall clock of `now`.
    pub fn mark(&mut self, now: Now, position: u64, waited: Duration) {
        let busy = self.queued(now.monotonic) >= NEAR;
        self.next = now.monotonic + if busy { BUSY_INTERVAL } else { CALM_INTERVAL };
        self.marks.push_back(Mark {
            wall: now.wall,
            sent: now.monotonic,
            waited,
            position,
        });
    }

    /// The peer answered the mark with this name. Returns false if there is none.
    pub fn answered(&mut self, now: Duration, wall: u64) -> bool {
        let Some(at) = self.marks.iter().position(|mark| mark.wall == wall) else {
            return false;
        };
        // The stream keeps its order, so the earlier ones have arrived as well.
        let Some(mark) = self.marks.drain(..=at).next_back() else {
            return false;
        };
        (self.arrived, self.at) = (self.arrived.max(mark.position), now);
        let trip = now.saturating_sub(mark.sent);
        self.latest = trip;
        let whole = trip.saturating_add(mark.waited);
        self.best = Some(self.best.map_or(whole, |best| best.min(whole)));
        if self.draining {
            if self.marks.is_empty() {
                (self.draining, self.base, self.next) = (false, None, now);
            }
            return true;
        }
        self.base = Some(match self.base {
            Some((base, seen)) if trip >= base => {
                let near = trip - base < NEAR.max(base / 4);
                (base, if near { now } else { seen })
            }
            _ => (trip, now),
        });
        true
    }

    /// Time that data waits on the path now, at least.
    fn queued(&self, now: Duration) -> Duration {
        let (base, _) = self.base.unwrap_or((FIRST_TRIP, Duration::ZERO));
        let oldest = self.oldest(now).unwrap_or_default();
        oldest.max(self.latest).saturating_sub(base)
    }

    /// Time that the oldest mark has waited.
    fn oldest(&self, now: Duration) -> Option<Duration> {
        self.marks.front().map(|mark| now.saturating_sub(mark.sent))
    }

    /// True if nothing more should be sent before the next answer.
    pub fn is_full(&self, now: Duration) -> bool {
        let most = self
            .base
            .map_or(FIRST_TRIP, |(base, _)| base.saturating_add(MOST_QUEUED.max(base)));
        self.draining || self.oldest(now).is_some_and(|oldest| oldest > most)
    }

    /// Takes a sample of the path, and forgets the round trips so far. `None` before the first answer.
    pub fn sample(&mut self, now: Duration) -> Option<StreamSample> {
        self.base?;
        let oldest = self.oldest(now).unwrap_or_default();
        let round_trip = self.best.take().unwrap_or_else(|| oldest.max(self.latest));
        Some(StreamSample {
            arrived: self.arrived,
            at: self.at,
            round_trip,
        })
    }
}

#[cfg(test)]
#[path = "stream_path_tests.rs"]
mod tests;
