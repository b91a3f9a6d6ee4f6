//! Bounds of the target rate.

/// Smallest rate that can be configured, bit/s. Below it one packet takes longer than a timeout.
const LEAST: u64 = 10_000;
/// Largest rate that can be configured, bit/s.
const MOST: u64 = 10_000_000_000;

/// Bounds of the target rate, in bit/s. Values outside 10 kbit/s to 10 Gbit/s are clamped to that range, and `start`
/// and `max` are raised to `min` if they are below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateConfig {
    /// Lowest target, kept however bad the path is.
    pub min: u64,
    /// First target.
    pub start: u64,
    /// Highest target.
    pub max: u64,
    /// True if the source does not follow the target, like a camera behind a gateway. Such a source may send more than
    /// the target; as long as the path delivers that without queueing, the target is raised to the rate that arrives.
    pub unsteered: bool,
}

impl Default for RateConfig {
    /// `min` 150 kbit/s, `start` 2 Mbit/s, `max` 100 Mbit/s.
    fn default() -> Self {
        Self {
            min: 150_000,
            start: 2_000_000,
            max: 100_000_000,
            unsteered: false,
        }
    }
}

impl RateConfig {
    /// The same bounds, in order and within the supported range.
    pub(super) fn ordered(self) -> Self {
        let min = self.min.clamp(LEAST, MOST);
        let max = self.max.clamp(min, MOST);
        Self {
            min,
            start: self.start.clamp(min, max),
            max,
            ..self
        }
    }
}
