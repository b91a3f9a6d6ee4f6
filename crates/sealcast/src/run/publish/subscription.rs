//! A viewer's place at its camera: the frames that wait for it, and how far they are sent.

use std::sync::Arc;
use std::time::Instant;

use crate::media::Codec;
use crate::run::group::Membership;
use crate::run::media::queue::FrameQueue;
use crate::run::media::queued_frame::QueuedFrame;
use crate::run::session::media_sender::MediaSender;

/// An admitted viewer.
pub(crate) struct Subscription {
    pub(crate) id: u64,
    /// Frames that are sealed for it alone.
    pub(crate) queue: Arc<FrameQueue<QueuedFrame>>,
    /// True if the source was asked for a keyframe when it joined, and makes one.
    pub(crate) awaits_keyframe: bool,
    /// Its place in the group. From its first sheet on, frames come from there.
    pub(crate) membership: Option<Membership>,
    /// Version of the description that it was sent last.
    pub(crate) info_version: u64,
    /// Codec of the stream. With a video codec, keyframes are rare.
    pub(crate) codec: Codec,
    pub(crate) sender: MediaSender,
    /// Time of the last update of the target rate.
    pub(crate) target_told: Option<Instant>,
    /// True while the viewer does not set the rate of the source.
    pub(crate) stays_behind: bool,
    /// True from the frames that were kept for it until a frame leaves as soon as it was made.
    pub(crate) catches_up: bool,
}

impl Subscription {
    /// Its place in the group, if nothing more is sealed for it alone.
    pub(crate) fn served_by_group(&self) -> Option<&Membership> {
        let membership = self.membership.as_ref();
        membership.filter(|membership| membership.has_begun() || membership.is_due())
    }

    /// Bytes of frames that wait to be sealed or forwarded.
    pub(crate) fn waiting(&self) -> usize {
        match self.served_by_group() {
            Some(membership) => membership.frames().bytes(),
            None => self.queue.bytes(),
        }
    }

    /// True if nothing more is to be sealed or forwarded.
    pub(crate) fn finished(&self) -> bool {
        match self.served_by_group() {
            Some(membership) => membership.frames().finished(),
            None => self.queue.finished(),
        }
    }
}
