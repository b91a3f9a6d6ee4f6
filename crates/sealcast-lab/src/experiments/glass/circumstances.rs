//! Circumstances of a turn, which systems are measured in.

use std::path::PathBuf;
use std::time::Duration;

use super::pictures::Pictures;
use crate::harness::process::Stop;

/// Time limit for programs to start, to find each other, to show their first picture and to end.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Time for pictures that were painted last to arrive.
pub(super) const DRAIN: Duration = Duration::from_millis(500);

/// The circumstances of a turn.
pub(super) struct Circumstances<'a> {
    pub(super) pictures: Pictures,
    pub(super) warm_up: Duration,
    pub(super) time: Duration,
    /// An empty folder for files.
    pub(super) folder: PathBuf,
    pub(super) stop: Stop<'a>,
}
