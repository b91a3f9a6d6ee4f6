//! Costs of operations on a group.

use std::time::Duration;

use sealcast::meter::resources::process_cpu_time;

/// Cost of one operation to those who take part in it. Processor time is that of all threads of this process: OpenMLS
/// computes on several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Cost {
    /// Processor time of the camera.
    pub(super) camera: Duration,
    /// Processor time of one viewer who was a member before, where it has anything to do.
    pub(super) member: Option<Duration>,
    /// Processor time of one viewer who joins, where one does.
    pub(super) joiner: Option<Duration>,
    /// Bytes that the camera sends, each object once, as to a relay.
    pub(super) sent: usize,
    /// Bytes that the camera receives.
    pub(super) received: usize,
}

/// The same operations under any protocol, one after another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Operations {
    /// All viewers become members of an empty group together.
    pub(super) create: Cost,
    /// One more joins.
    pub(super) add: Cost,
    /// One is removed.
    pub(super) remove: Cost,
    /// The camera draws a new secret.
    pub(super) rekey: Cost,
}

/// The result of `work`, and the processor time that it took.
pub(super) fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let before = process_cpu_time();
    let result = work();
    (result, process_cpu_time().saturating_sub(before))
}

/// The mean of several times; `None` of none.
pub(super) fn mean(times: &[Duration]) -> Option<Duration> {
    let sum: Duration = times.iter().sum();
    sum.checked_div(u32::try_from(times.len()).ok()?)
}
