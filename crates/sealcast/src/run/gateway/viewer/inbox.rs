//! What the session with the camera gateway hands out.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::seal::{Opened, Refusal};
use sealcast_proto::session::{Event, SessionError};
use sealcast_proto::unit::{Assembled, AssembledFrame, Assembler};

use crate::run::connection::Listener;

/// Frames and news, until the link's task gets to them.
#[derive(Default)]
pub(super) struct Inbox {
    /// On a byte stream the frames of all cameras come one after the other.
    assembler: Assembler,
    /// Frames, and when their last record arrived.
    pub(super) frames: Vec<(AssembledFrame, Instant)>,
    pub(super) events: Vec<Event>,
    pub(super) clock: Option<ClockEstimate>,
    pub(super) refused: u64,
}

impl Inbox {
    fn take(&mut self, media: Assembled, arrived: Instant) {
        // Every frame is a keyframe: what is lost is lost alone, and shows in the numbers of the frames.
        if let Assembled::Frame(frame) = media {
            self.frames.push((frame, arrived));
        }
    }
}

impl Listener for Inbox {
    fn media(&mut self, record: Opened<'_>, arrived: Instant) -> Result<(), SessionError> {
        let media = self.assembler.take(&record).map_err(|_| SessionError::PeerMisbehaved)?;
        self.take(media, arrived);
        Ok(())
    }

    fn assembled(&mut self, media: Assembled) {
        self.take(media, Instant::now());
    }

    fn event(&mut self, event: Event) {
        if let Event::Clock(estimate) = &event {
            self.clock = Some(*estimate);
        }
        self.events.push(event);
    }

    fn refused(&mut self, reason: Refusal, in_order: bool) {
        self.refused += 1;
        // Where media may be lost, what was repaired comes twice now and then.
        if self.refused.is_power_of_two() && (in_order || reason != Refusal::Replay) {
            tracing::warn!(%reason, total = self.refused, "refused a record of the camera gateway");
        }
        if in_order && reason != Refusal::Replay {
            self.assembler.lost();
        }
    }
}
