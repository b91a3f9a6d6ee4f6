//! What the session with the camera gateway hands out.

use std::time::Instant;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::rtsp::ends_picture;
use sealcast_proto::seal::{Opened, Refusal};
use sealcast_proto::session::{Event, SessionError};
use sealcast_proto::unit::{Assembled, AssembledFrame, Assembler, MAX_UNITS_TOLD, UnitArrival};

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
    /// When each of its units was, where that was at different times.
    opened_at: Vec<Instant>,
}

impl Came {
    fn opened(frame: AssembledFrame, arrived: Instant, opened: Instant) -> Self {
        Self {
            frame,
            arrived,
            opened,
            queued: opened,
            opened_at: Vec::new(),
        }
    }

    /// How its units came, and when each was opened.
    pub(super) fn units(&self) -> impl Iterator<Item = (UnitArrival, Instant)> {
        let opened = |at| self.opened_at.get(at).copied().unwrap_or(self.opened);
        let units = self.frame.units.iter().copied().enumerate();
        units.map(move |(at, unit)| (unit, opened(at)))
    }
}

/// Frames and news, until the link's task gets to them.
pub(super) struct Inbox {
    times: Clock,
    /// On a byte stream the frames of all cameras come one after the other.
    assembler: Assembler,
    /// Of the frame that is being put together there: its units, and when each was opened.
    units: Vec<UnitArrival>,
    opened_at: Vec<Instant>,
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
            opened_at: Vec::new(),
            frames: Vec::new(),
            events: Vec::new(),
            clock: None,
            refused: 0,
        }
    }

    fn note_unit(&mut self, record: &Opened<'_>, arrived: Instant) {
        if record.header().flags.first() {
            self.units.clear();
            self.opened_at.clear();
        }
        if self.units.len() < MAX_UNITS_TOLD {
            let (index, arrived) = (self.units.len() as u32, self.times.at(arrived).monotonic);
            self.units.push(UnitArrival::new(index, record, arrived, false));
            self.opened_at.push(Instant::now());
        }
    }
}

impl Listener for Inbox {
    fn media(&mut self, record: Opened<'_>, arrived: Instant) -> Result<(), SessionError> {
        self.note_unit(&record, arrived);
        // Every frame is a keyframe: what is lost is lost alone, and shows in the numbers of the frames.
        if let Assembled::Frame(mut frame) = self.assembler.take(&record).map_err(|_| SessionError::PeerMisbehaved)? {
            frame.units = std::mem::take(&mut self.units);
            let opened_at = std::mem::take(&mut self.opened_at);
            let came = Came::opened(frame, arrived, Instant::now());
            self.frames.push(Came { opened_at, ..came });
        }
        Ok(())
    }

    fn assembled(&mut self, media: Assembled, arrived: Instant) -> bool {
        let opened = Instant::now();
        let Assembled::Frame(frame) = media else {
            return false;
        };
        let ends = ends_picture(&frame.data);
        self.frames.push(Came::opened(frame, arrived, opened));
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
        if self.refused.is_power_of_two() {
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
