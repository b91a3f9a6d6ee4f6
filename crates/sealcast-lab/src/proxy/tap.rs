//! A tap on a link: what anybody on the path sees of packets whose content is sealed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use super::direction::Direction;

/// Maximum number of packets that a tap holds: an hour at more than a thousand packets a second. It ignores the rest.
const MAX_PASSED: usize = 4_000_000;

/// A tap's observation of one packet, or of one read of a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passed {
    /// When it came to the proxy, in nanoseconds since 1970.
    pub at_ns: i64,
    /// Its length in bytes: of a datagram's payload, or of what was read of a stream.
    pub bytes: u32,
    /// Its direction.
    pub direction: Direction,
}

/// Records time, length and direction of everything that a proxy's links are given, before they delay or lose it.
/// Clones share one record.
#[derive(Clone, Debug, Default)]
pub struct Tap(Arc<Mutex<Vec<Passed>>>);

impl Tap {
    /// Everything that has passed, in the order of arrival at the proxy.
    pub fn passed(&self) -> Vec<Passed> {
        self.lock().clone()
    }

    pub(super) fn note(&self, direction: Direction, bytes: usize) {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut passed = self.lock();
        if passed.len() < MAX_PASSED {
            passed.push(Passed {
                at_ns: i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
                direction,
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Passed>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
