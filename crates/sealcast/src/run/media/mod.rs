//! Frames between a source and those who take them: source thread, hub, bounded queues, rates. It knows no session.

pub(crate) mod away;
pub(crate) mod delay_rate;
pub(crate) mod hub;
pub(crate) mod kept_group;
pub(crate) mod keyframe_requests;
pub(crate) mod lent;
pub(crate) mod queue;
pub(crate) mod queued_frame;
pub(crate) mod shape;
pub(crate) mod source_feed;
pub(crate) mod source_thread;
pub(crate) mod target_rate;

/// The number of the stream of pictures.
pub(crate) const VIDEO: u32 = 1;
