//! Estimate of the peer's clock: its offset and rate, and how far both may be from the truth.

/// Random walk of the rate between two clocks, in ns/s per square root of a second: 0.1 ppm in a second, 0.8 ppm in a
/// minute. Crystals wander by less, unless their temperature changes fast.
const WANDER: f64 = 100.0;

/// Standard deviations in half a 95 % interval.
const TWO_SIDED_95: f64 = 1.96;

/// Nanoseconds of a second.
const SECOND: f64 = 1e9;

/// The peer's clock at an instant of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockReading {
    /// The peer's wall clock minus ours, ns.
    pub offset: i64,
    /// Half the 95 % interval of the offset, ns, *if* the path is equally fast in both directions when nothing waits on
    /// it.
    pub spread: u64,
    /// Half the 95 % interval of the offset, ns, whatever the path: the spread, half of the shortest round trip, and
    /// half of what exchanges waited beyond that as far as they count. No exchange of messages can tell a path that is
    /// slow, or a queue that is long, in one direction from a clock that is off.
    pub uncertainty: u64,
}

/// An estimate of the peer's clock, which a [`ClockFilter`](super::ClockFilter) makes. It can be read for any time, and
/// is less certain the further that is from the last exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockEstimate {
    /// Time on our wall clock at which the following hold.
    pub(super) at: u64,
    /// Offset of the first exchange, ns. What follows is relative to it, and small enough for floating point.
    pub(super) base: i64,
    /// Offset beyond `base` (ns), and rate of the peer's clock minus that of ours (ns per second).
    pub(super) state: State,
    /// Covariance of offset (ns) and rate (ns/s).
    pub(super) variance: Covariance,
    /// Error of offset (ns) and rate (ns/s) if all waiting was in one direction.
    pub(super) one_sided: State,
    /// Mean squared innovation over its expectation, at least 1: how much worse the estimate predicts than it should.
    pub(super) surprise: f64,
    /// Shortest recent round trip, ns.
    pub(super) shortest: u64,
    /// Steps found so far.
    pub(super) steps: u64,
}

/// An offset that changes at a rate: what the filter estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct State {
    /// ns
    pub(super) offset: f64,
    /// ns/s
    pub(super) rate: f64,
}

impl State {
    /// The offset `seconds` later, or earlier.
    pub(super) fn after(self, seconds: f64) -> f64 {
        self.offset + self.rate * seconds
    }
}

/// Covariance matrix of offset and rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Covariance {
    pub(super) offset: f64,
    pub(super) both: f64,
    pub(super) rate: f64,
}

impl Covariance {
    /// Covariance `seconds` later, or earlier.
    pub(super) fn aged(self, seconds: f64) -> Self {
        let wander = WANDER * WANDER;
        let length = seconds.abs();
        Self {
            offset: self.offset
                + 2.0 * seconds * self.both
                + seconds * seconds * self.rate
                + wander * length.powi(3) / 3.0,
            both: self.both + seconds * self.rate + wander * seconds * length / 2.0,
            rate: self.rate + wander * length,
        }
    }
}

impl ClockEstimate {
    /// Reads the estimate for `wall`, a time of our wall clock in ns since 1970.
    pub fn at(&self, wall: u64) -> ClockReading {
        let seconds = seconds_between(self.at, wall);
        let variance = self.variance.aged(seconds).offset * self.surprise;
        let spread = (TWO_SIDED_95 * variance.max(0.0).sqrt()).ceil() as u64;
        let one_sided = self.one_sided.after(seconds).abs().ceil() as u64;
        ClockReading {
            offset: self.base.saturating_add(self.state.after(seconds).round() as i64),
            spread,
            uncertainty: spread
                .saturating_add(self.shortest.div_ceil(2))
                .saturating_add(one_sided),
        }
    }

    /// Rate of the peer's clock minus that of ours, in parts per million, and half the 95 % interval of it.
    pub fn rate_ppm(&self) -> (f64, f64) {
        let spread = TWO_SIDED_95 * (self.variance.rate * self.surprise).max(0.0).sqrt();
        (self.state.rate / 1e3, spread / 1e3)
    }

    /// Number of steps of a clock, or changes of the path, that were found. Each began the estimate anew.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Shortest round trip among the recent exchanges, ns.
    pub fn shortest_round_trip(&self) -> u64 {
        self.shortest
    }
}

/// Seconds from one wall clock time to another.
pub(super) fn seconds_between(from: u64, to: u64) -> f64 {
    let length = from.abs_diff(to) as f64 / SECOND;
    if to < from { -length } else { length }
}
