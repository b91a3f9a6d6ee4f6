//! Receiver of the media from the session with the camera gateway.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtsp::ends_picture;
use sealcast_proto::seal::Refusal;
use sealcast_proto::unit::{Assembled, AssembledFrame};

use crate::meter::telling::Telling;
use crate::run::session::connection::Listener;

/// A received frame with its time stamps.
pub(super) struct ArrivedFrame {
    pub(super) frame: AssembledFrame,
    /// Time at which its last record arrived. If media may arrive out of order: the time at which, in addition,
    /// everything before it had arrived or been given up.
    pub(super) arrived: Instant,
    /// Time at which all of it was opened.
    pub(super) opened: Instant,
    /// Time at which its packets had been queued for or sent to the players.
    pub(super) queued: Instant,
}

/// Collects frames until the link's task forwards them.
#[derive(Default)]
pub(super) struct ReceiveHandler {
    pub(super) frames: Vec<ArrivedFrame>,
    pub(super) clock: Option<ClockEstimate>,
    refused: Telling,
}

impl Listener for ReceiveHandler {
    fn media(&mut self, media: Assembled, arrived: Instant) -> bool {
        let opened = Instant::now();
        // Ignore reports of loss: frames do not depend on each other, and gaps show in the frame numbers.
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

    fn refused(&mut self, reason: Refusal, _: bool) {
        if let Some(total) = self.refused.count(Instant::now()) {
            let what = match reason {
                Refusal::Cleartext => "refused a record in clear: the camera gateway has not said that it leaves any",
                _ => "refused a record of the camera gateway",
            };
            tracing::warn!(%reason, total, "{what}");
        }
    }
}
