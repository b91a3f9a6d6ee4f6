//! What a source should make where the carrier's own congestion control decides how fast it leaves, and does not say:
//! the path is too slow when everything waits.
//!
//! A burst, such as a keyframe's, makes a queue that runs empty again; one that does not *stands* (RFC 8289, section
//! 3). So it is the least wait of an interval that counts: of frames at this end, and of packets on the path, where it
//! is the round trip beyond the shortest. What answers is the rate controller of Google's congestion control
//! (draft-ietf-rmcat-gcc-02, section 5.5): a cut to a part of what left meanwhile, and slow growth near the rate at
//! which a queue stood last.

use std::time::{Duration, Instant};

use sealcast_proto::rate::RateConfig;

/// How long it is watched whether a queue runs empty: longer than a keyframe takes.
const INTERVAL: Duration = Duration::from_millis(500);
/// A queue in which everything waits so long stands.
const STANDING: Duration = Duration::from_millis(100);
/// The rate may grow where something waits less than this.
const FREE: Duration = Duration::from_millis(50);
/// Part of what left that a cut leaves (the draft's beta).
const CUT: f64 = 0.85;
/// Least part of the target that one cut leaves: an interval may have seen little of the path.
const LEAST_PART: f64 = 0.3;
/// Growth in an interval, far from the rate at which a queue stood and near it.
const GROWTH: f64 = 1.1;
const GROWTH_NEAR: f64 = 1.015;
/// How near that is, as parts of that rate.
const NEAR: std::ops::Range<f64> = 0.8..1.1;
/// The target grows no further above what really leaves than by this factor.
const UNUSED: f64 = 1.5;
/// How much longer the shortest round trip is taken for at each look, so that another path's is found.
const BASE_DRIFT: Duration = Duration::from_millis(1);

/// What a viewer's path looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct PathSample {
    /// Bytes of media that the carrier has taken so far.
    pub(super) left: u64,
    /// The round trip, smoothed.
    pub(super) round_trip: Duration,
    /// A frame waits for the carrier.
    pub(super) blocked: bool,
}

/// What was seen since the interval began.
struct Seen {
    since: Instant,
    left: u64,
    /// The least wait of a frame, where one left, and of packets on the path.
    frame: Option<Duration>,
    packets: Duration,
    dropped: bool,
}

impl Seen {
    fn nothing(since: Instant, left: u64) -> Self {
        Self {
            since,
            left,
            frame: None,
            packets: Duration::MAX,
            dropped: false,
        }
    }

    /// The least that anything waited; `None` where nothing wanted to leave.
    fn wait(&self, blocked: bool) -> Option<Duration> {
        if self.dropped || (blocked && self.frame.is_none()) {
            return Some(Duration::MAX);
        }
        self.frame.map(|frame| frame.saturating_add(self.packets))
    }
}

/// Finds out what one viewer's path carries. Tell it of every frame, and have it [`look`](Self::look) several times in
/// half a second.
pub(super) struct DelayBasedRate {
    bounds: RateConfig,
    /// Bit/s; none until a queue stood for the first time: the source makes what it was configured for.
    target: Option<f64>,
    /// What left when a queue stood last, bit/s.
    met: f64,
    /// The shortest round trip of late.
    base: Duration,
    seen: Option<Seen>,
    /// A cut was made in the last interval, and this one still shows what was before it.
    resting: bool,
}

impl DelayBasedRate {
    /// One that keeps its target within `bounds`.
    pub(super) fn new(bounds: RateConfig) -> Self {
        Self {
            bounds,
            target: None,
            met: f64::MAX,
            base: Duration::MAX,
            seen: None,
            resting: false,
        }
    }

    /// A frame goes to the carrier, after so long a wait.
    pub(super) fn frame(&mut self, waited: Duration) {
        if let Some(seen) = &mut self.seen {
            seen.frame = Some(seen.frame.map_or(waited, |least| least.min(waited)));
        }
    }

    /// Frames were dropped because they had waited for too long.
    pub(super) fn dropped(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.dropped = true;
        }
    }

    /// What the source should make, bit/s, by the way the path looks `now`; none where it has always kept up.
    pub(super) fn look(&mut self, now: Instant, path: &PathSample) -> Option<u64> {
        self.base = self.base.saturating_add(BASE_DRIFT).min(path.round_trip);
        let mut seen = self.seen.take().unwrap_or_else(|| Seen::nothing(now, path.left));
        seen.packets = seen.packets.min(path.round_trip.saturating_sub(self.base));
        let length = now.saturating_duration_since(seen.since);
        if length >= INTERVAL {
            let bits = path.left.saturating_sub(seen.left).saturating_mul(8);
            self.settle(seen.wait(path.blocked), bits as f64 / length.as_secs_f64());
            seen = Seen::nothing(now, path.left);
        }
        self.seen = Some(seen);
        self.target.map(|target| target as u64)
    }

    /// An interval is over, in which everything waited for at least `wait` and so many bit/s left.
    fn settle(&mut self, wait: Option<Duration>, rate: f64) {
        let rested = std::mem::take(&mut self.resting);
        // Where nothing leaves at all the path is away, and how fast it is nobody knows.
        let Some(wait) = wait.filter(|_| rate > 0.0) else {
            return;
        };
        let target = self.target.unwrap_or(self.bounds.start as f64);
        if wait >= STANDING && !rested {
            self.resting = true;
            self.met = rate;
            // What waits is no reason to make more.
            let most = self.target.unwrap_or(f64::MAX);
            self.set((rate * CUT).max(target * LEAST_PART).min(most));
        } else if wait < FREE && self.target.is_some_and(|target| target < rate * UNUSED) {
            let near = NEAR.contains(&(target / self.met));
            self.set(target * if near { GROWTH_NEAR } else { GROWTH });
        }
    }

    fn set(&mut self, target: f64) {
        let (least, most) = (self.bounds.min as f64, self.bounds.max as f64);
        self.target = Some(target.min(most).max(least));
    }
}

#[cfg(test)]
#[path = "delay_rate_tests.rs"]
mod tests;
