//! Target rate for a source on carriers whose own congestion control sets the sending rate and does not report it: byte
//! streams and the streams of QUIC. If everything has to wait, the path is too slow.
//!
//! A burst, such as a keyframe's, makes a queue that soon drains; a queue that does not drain is a *standing* queue
//! (RFC 8289, section 3). So the measure is the minimum wait in an interval: of frames at this end, plus that of
//! packets on the path, which is the round trip minus its minimum. The reaction is that of the rate controller in
//! Google's congestion control (draft-ietf-rmcat-gcc-02, section 5.5): a cut to a fraction of the rate sent in that
//! interval, and slow growth near the rate at which a queue last stood.

use std::time::{Duration, Instant};

use sealcast_proto::rate::RateConfig;

/// Interval in which a queue should drain at least once: longer than a keyframe takes.
const INTERVAL: Duration = Duration::from_millis(500);
/// Shortest time in which a rate is measured. Less means that hardly anything was learnt in the interval.
const LEAST_LENGTH: Duration = Duration::from_millis(100);
/// Fraction of the sent rate to which a cut reduces the target (the draft's beta).
const CUT: f64 = 0.85;
/// Smallest fraction of the target that one cut leaves: an interval may contain only a small sample of the path.
const LEAST_PART: f64 = 0.3;
/// Growth factors per interval: far from the rate at which a queue last stood, and near it.
const GROWTH: f64 = 1.1;
const GROWTH_NEAR: f64 = 1.015;
/// Range that counts as near, as a fraction of that rate.
const NEAR: std::ops::Range<f64> = 0.8..1.1;
/// The target grows no further than this factor above the rate actually sent.
const UNUSED: f64 = 1.5;
/// Increase of the minimum round trip at each sample, so that a change to a longer path is recognised.
const BASE_DRIFT: Duration = Duration::from_millis(1);

/// Which minimum waits count as a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queues {
    /// A queue is standing if the minimum wait is at least this.
    standing: Duration,
    /// The rate may grow while the minimum wait is below this.
    free: Duration,
}

impl Queues {
    /// For the streams of QUIC, whose round trip is smoothed and apart from the wait of frames.
    pub(crate) const OF_QUIC: Self = Self {
        standing: Duration::from_millis(100),
        free: Duration::from_millis(50),
    };
    /// For byte streams, where each round trip is that of a frame, with its wait.
    pub(crate) const OF_MARKS: Self = Self {
        standing: Duration::from_millis(60),
        free: Duration::from_millis(30),
    };
}

/// A sample of the state of a viewer's path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathSample {
    /// Number of media bytes taken by the carrier so far; on a byte stream, of those that have arrived.
    pub(crate) left: u64,
    /// When that was so.
    pub(crate) at: Instant,
    /// Round trip: smoothed, or the shortest since the last sample.
    pub(crate) round_trip: Duration,
    /// True if a frame waits for the carrier.
    pub(crate) blocked: bool,
}

/// Measurements since the start of the interval.
struct Seen {
    since: Instant,
    left: u64,
    left_at: Instant,
    /// Minimum wait of the frames that left, if any did, and of packets on the path.
    frame: Option<Duration>,
    packets: Duration,
    dropped: bool,
}

impl Seen {
    fn nothing(since: Instant, path: &PathSample) -> Self {
        Self {
            since,
            left: path.left,
            left_at: path.at,
            frame: None,
            packets: Duration::MAX,
            dropped: false,
        }
    }

    /// The minimum wait in total; `None` if there was nothing to send.
    fn wait(&self, blocked: bool) -> Option<Duration> {
        if self.dropped || (blocked && self.frame.is_none()) {
            return Some(Duration::MAX);
        }
        self.frame.map(|frame| frame.saturating_add(self.packets))
    }
}

/// Estimates the capacity of one viewer's path. Report every frame to it, and call [`look`](Self::look) several times
/// per half second.
pub(crate) struct DelayBasedRate {
    bounds: RateConfig,
    queues: Queues,
    /// Target in bit/s. `None` until a queue first stands: until then the source keeps its configured rate.
    target: Option<f64>,
    /// Rate sent while a queue last stood, bit/s.
    met: f64,
    /// Highest rate sent so far while nothing waited, bit/s.
    carried: f64,
    /// Recent minimum of the round trip.
    base: Duration,
    seen: Option<Seen>,
    /// True after a cut: the next interval still shows its causes, so it causes no second cut.
    resting: bool,
}

impl DelayBasedRate {
    /// An estimator whose target stays within `bounds`.
    pub(crate) fn new(bounds: RateConfig, queues: Queues) -> Self {
        Self {
            bounds,
            queues,
            target: None,
            met: f64::MAX,
            carried: 0.0,
            base: Duration::MAX,
            seen: None,
            resting: false,
        }
    }

    /// Note that a frame goes to the carrier after waiting this long, unless the round trips contain that.
    pub(crate) fn frame(&mut self, waited: Duration) {
        if let Some(seen) = &mut self.seen {
            seen.frame = Some(seen.frame.map_or(waited, |least| least.min(waited)));
        }
    }

    /// Note that frames were dropped because they had waited too long.
    pub(crate) fn dropped(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.dropped = true;
        }
    }

    /// A rate in bit/s that the path is taken to carry at least while there is no target: the highest that it has
    /// carried, or, before any queue stood, the one at which rate control begins.
    pub(crate) fn at_least(&self) -> u64 {
        self.bounds.start.max(self.carried as u64)
    }

    /// Take a sample and return the source's target rate in bit/s; `None` if the path has always kept up.
    pub(crate) fn look(&mut self, now: Instant, path: &PathSample) -> Option<u64> {
        self.base = self.base.saturating_add(BASE_DRIFT).min(path.round_trip);
        let mut seen = self.seen.take().unwrap_or_else(|| Seen::nothing(now, path));
        seen.packets = seen.packets.min(path.round_trip.saturating_sub(self.base));
        if now.saturating_duration_since(seen.since) >= INTERVAL {
            let bits = path.left.saturating_sub(seen.left).saturating_mul(8);
            let length = path.at.saturating_duration_since(seen.left_at).max(LEAST_LENGTH);
            self.settle(seen.wait(path.blocked), bits as f64 / length.as_secs_f64());
            seen = Seen::nothing(now, path);
        }
        self.seen = Some(seen);
        self.target.map(|target| target as u64)
    }

    /// Evaluate an interval: everything waited at least `wait`, and `rate` bit/s left.
    fn settle(&mut self, wait: Option<Duration>, rate: f64) {
        let rested = std::mem::take(&mut self.resting);
        // If nothing leaves at all, the path is interrupted and its capacity unknown.
        let Some(wait) = wait.filter(|_| rate > 0.0) else {
            return;
        };
        let target = self.target.unwrap_or(self.bounds.start as f64);
        if wait >= self.queues.standing && !rested {
            self.resting = true;
            self.met = rate;
            // A standing queue must never raise the target.
            let most = self.target.unwrap_or(f64::MAX);
            self.set((rate * CUT).max(target * LEAST_PART).min(most));
        } else if wait < self.queues.free {
            self.carried = self.carried.max(rate);
            if self.target.is_some_and(|target| target < rate * UNUSED) {
                let near = NEAR.contains(&(target / self.met));
                self.set(target * if near { GROWTH_NEAR } else { GROWTH });
            }
        }
    }

    fn set(&mut self, target: f64) {
        let (least, most) = (self.bounds.min as f64, self.bounds.max as f64);
        self.target = Some(target.min(most).max(least));
    }
}

#[cfg(test)]
#[path = "stream_rate_tests.rs"]
mod stream_tests;
#[cfg(test)]
#[path = "delay_rate_tests.rs"]
mod tests;
