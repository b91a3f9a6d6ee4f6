//! Messages after the end.

use std::collections::VecDeque;
use std::time::Duration;

/// Messages that are still to be sent after the end of the session.
pub(super) struct Farewell {
    pub(super) messages: VecDeque<Vec<u8>>,
    /// Messages that are sent together.
    pub(super) at_once: usize,
    pub(super) interval: Duration,
    pub(super) next: Duration,
}
