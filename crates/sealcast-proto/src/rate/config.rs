//! Within what bounds the rate may move.

/// Smallest rate that can be configured, bit/s: below it a packet lasts longer than a timeout.
const LEAST: u64 = 10_000;
/// Largest rate that can be configured, bit/s.
const MOST: u64 = 10_000_000_000;

/// Bounds of the target, in bit/s. Values outside 10 kbit/s to 10 Gbit/s are brought inside, and so is a start or a
/// maximum that is below the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateConfig {
    /// Least target, kept however bad the path is.
    pub min: u64,
    /// First target.
    pub start: u64,
    /// Greatest target.
    pub max: u64,
    /// Nothing makes the source send what the target says, as nothing can make a camera behind a gateway: what is sent
    /// above it and arrives without having waited raises it.
    pub unsteered: bool,
}

impl Default for RateConfig {
    /// 150 kbit/s, 2 Mbit/s, 100 Mbit/s.
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
    /// The same bounds, in order and within what is possible.
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
