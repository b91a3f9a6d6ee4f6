//! What the session with the camera gateway hands out.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtsp::ends_picture;
use sealcast_proto::seal::{Opened, Refusal};
use sealcast_proto::session::{Event, SessionError};
use sealcast_proto::unit::{Assembled, AssembledFrame, Assembler, MAX_UNITS_TOLD, UnitArrival};

use super::latency::Unit;
use crate::run::Clock;
use crate::run::connection::Listener;

/// A frame that has come.
pub(super) struct Came {
    pub(super) frame: AssembledFrame,
    /// When its last record arrived and, where media comes in any order, nothing before it was waited for any longer.
    pub(super) arrived: Instant,
    /// When all of it was opened.
    pub(super) opened: Instant,
    /// When its packets were on their way to the players, once they are.
    pub(super) queued: Instant,
    pub(super) units: Vec<Unit>,
}

impl Came {
    fn opened(frame: AssembledFrame, arrived: Instant, opened: Instant, units: Vec<Unit>) -> Self {
        Self {
            frame,
            arrived,
            opened,
            queued: opened,
            units,
        }
    }
}

/// Frames and news, until the link's task gets to them.
pub(super) struct Inbox {
    times: Clock,
    /// On a byte stream the frames of all cameras come one after the other.
    assembler: Assembler,
    /// Of the frame that is being put together there.
    units: Vec<Unit>,
    pub(super) frames: Vec<Came>,
    pub(super) events: Vec<Event>,
    pub(super) clock: Option<ClockEstimate>,
    pub(super) refused: u64,
}

impl Inbox {
    pub(super) fn new(times: Clock) -> Self {
        Self {
            times,
            assembler: Assembler::default(),
            units: Vec::new(),
            frames: Vec::new(),
            events: Vec::new(),
            clock: None,
            refused: 0,
        }
    }

    fn note_unit(&mut self, record: &Opened<'_>, arrived: Instant) {
        if record.header().flags.first() {
            self.units.clear();
        }
        if self.units.len() < MAX_UNITS_TOLD {
            let (index, arrived) = (self.units.len() as u32, self.times.at(arrived).monotonic);
            self.units.push(Unit {
                arrival: UnitArrival::new(index, record, arrived, false),
                opened: Instant::now(),
            });
        }
    }
}

impl Listener for Inbox {
    fn media(&mut self, record: Opened<'_>, arrived: Instant) -> Result<(), SessionError> {
        self.note_unit(&record, arrived);
        // Every frame is a keyframe: what is lost is lost alone, and shows in the numbers of the frames.
        if let Assembled::Frame(frame) = self.assembler.take(&record).map_err(|_| SessionError::PeerMisbehaved)? {
            let units = std::mem::take(&mut self.units);
            self.frames.push(Came::opened(frame, arrived, Instant::now(), units));
        }
        Ok(())
    }

    fn assembled(&mut self, media: Assembled, arrived: Instant) -> bool {
        let opened = Instant::now();
        let Assembled::Frame(mut frame) = media else {
            return false;
        };
        let ends = ends_picture(&frame.data);
        let told = std::mem::take(&mut frame.units);
        let units = told.into_iter().map(|arrival| Unit { arrival, opened }).collect();
        self.frames.push(Came::opened(frame, arrived, opened, units));
        ends
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
            let what = match reason {
                Refusal::Cleartext => "refused a record in clear: the camera gateway has not said that it leaves any",
                _ => "refused a record of the camera gateway",
            };
            tracing::warn!(%reason, total = self.refused, "{what}");
        }
        if in_order && reason != Refusal::Replay {
            self.assembler.lost();
        }
    }
}
