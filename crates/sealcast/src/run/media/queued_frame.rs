//! Frames in the queues of viewers.

use std::sync::Arc;
use std::time::Duration;

use super::queue::Queued;
use crate::media::{Frame, Track};

impl Queued for Arc<Frame> {
    fn keyframe(&self) -> bool {
        self.keyframe
    }

    fn size(&self) -> usize {
        self.data.len()
    }

    fn sound(&self) -> bool {
        self.track == Track::Sound
    }

    fn media_time(&self) -> Duration {
        self.media_time
    }
}

/// A frame on its way to one viewer.
pub(crate) struct QueuedFrame {
    pub(crate) frame: Arc<Frame>,
    /// True if the viewer joined after it was made.
    pub(crate) kept: bool,
}

impl Queued for QueuedFrame {
    fn keyframe(&self) -> bool {
        self.frame.keyframe
    }

    fn size(&self) -> usize {
        self.frame.size()
    }

    fn kept(&self) -> bool {
        self.kept
    }

    fn sound(&self) -> bool {
        self.frame.track == Track::Sound
    }

    fn media_time(&self) -> Duration {
        self.frame.media_time
    }
}
