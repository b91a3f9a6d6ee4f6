//! What the session with the camera gateway hands out.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtsp::ends_picture;
use sealcast_proto::seal::Refusal;
use sealcast_proto::unit::{Assembled, AssembledFrame};

use crate::run::connection::Listener;

/// A frame that has come.
pub(super) struct ArrivedFrame {
    pub(super) frame: AssembledFrame,
    /// When its last record arrived and, where media comes in any order, nothing before it was waited for any longer.
    pub(super) arrived: Instant,
    /// When all of it was opened.
    pub(super) opened: Instant,
    /// When its packets were on their way to the players, once they are.
    pub(super) queued: Instant,
}

/// Frames, until the link's task forwards them.
#[derive(Default)]
pub(super) struct ReceiveHandler {
    pub(super) frames: Vec<ArrivedFrame>,
    pub(super) clock: Option<ClockEstimate>,
}

impl Listener for ReceiveHandler {
    fn media(&mut self, media: Assembled, arrived: Instant) -> bool {
        let opened = Instant::now();
        // Every frame is a keyframe: a lost one is lost alone, and shows in the numbers of the frames.
        let Assembled::Frame(frame) = media else {
            return false;
        };
        let ends = ends_picture(&frame.data);
        self.frames.push(ArrivedFrame {
            frame,
            arrived,
            opened,
            queued: opened,
        });
        ends
    }

    fn clock(&mut self, estimate: ClockEstimate) {
        self.clock = Some(estimate);
    }

    fn refused(&mut self, reason: Refusal, total: u64, _: bool) {
        if total.is_power_of_two() {
            let what = match reason {
                Refusal::Cleartext => "refused a record in clear: the camera gateway has not said that it leaves any",
                _ => "refused a record of the camera gateway",
            };
            tracing::warn!(%reason, total, "{what}");
        }
    }
}
