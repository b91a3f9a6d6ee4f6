//! A way of pairing.

use std::collections::VecDeque;
use std::time::Duration;

use super::pair::{Counts, Pair, Sight};

/// Maximum of pictures of a side that wait: four seconds of 240 a second.
pub(super) const MAX_WAITING: usize = 1024;
/// A picture that was decoded this long before the newest one is not paired any more.
pub(super) const PATIENCE: Duration = Duration::from_secs(12);

/// A way of pairing.
pub(super) trait Matcher {
    /// Take a picture; `now` is the latest time at which one was decoded.
    fn take(&mut self, sight: &Sight, now: Duration, found: &mut VecDeque<Pair>);

    /// Pair what still waits. What came too late for a partner is not counted as without one.
    fn finish(&mut self, now: Duration, found: &mut VecDeque<Pair>);

    fn counts(&self) -> Counts;
}
