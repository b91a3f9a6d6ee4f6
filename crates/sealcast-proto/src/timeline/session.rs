//! Media times across sessions.

use std::time::Duration;

use super::line::{Belief, Lines, Stamped};
use super::nanos::{Nanos, duration, nanos};
use super::recent::Least;
use super::{Jumps, Track};
use crate::clock::{ClockEstimate, Now};
use crate::unit::Preamble;

/// A publisher's frames have the same distance from media time to wall clock, to within this, as long as it runs.
const SAME_RUN: u64 = 250_000_000;

/// Longest time for which a frame is believed to have waited at its publisher.
const LONGEST_WAIT: u64 = 60_000_000_000;

/// Distance of a frame's arrival from the time by both clocks up to which these are believed.
const PLAUSIBLE: Nanos = 1_000_000_000;

/// A frame as it came.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    track: Track,
    session: u64,
    number: u64,
    pub(super) media_time: u64,
    /// Wall clock minus media time of the publisher, which remain at this distance.
    run: u64,
    /// When it came, by our clock, less the time that it waited at the publisher.
    arrival: Nanos,
    /// When it was captured, by our clock, if that is known.
    captured: Option<Nanos>,
}

impl Arrived {
    /// A frame of this session that was `sealed` (by the publisher's wall clock) and came `now`. `clock` is what is
    /// known of the publisher's clock.
    pub fn new(
        (track, session): (Track, u64),
        preamble: &Preamble,
        sealed: u64,
        now: Now,
        clock: Option<ClockEstimate>,
    ) -> Self {
        let waited = sealed.checked_sub(preamble.captured);
        let waited = waited.filter(|waited| *waited <= LONGEST_WAIT).unwrap_or(0);
        let came = nanos(now.monotonic);
        let arrival = came - Nanos::from(waited);
        let captured = clock.map(|clock| {
            let ours = Nanos::from(preamble.captured) - Nanos::from(clock.at(now.wall).offset);
            came - (Nanos::from(now.wall) - ours)
        });
        Self {
            captured: captured.filter(|captured| (captured - arrival).abs() <= PLAUSIBLE),
            ..Self::recorded((track, session), preamble, arrival)
        }
    }

    /// A frame of an archive, which says when it was captured: ns since 1970 by the clock of the one who recorded it.
    pub fn archived(of: (Track, u64), preamble: &Preamble, time: u64) -> Self {
        Self::recorded(of, preamble, time.into())
    }

    fn recorded((track, session): (Track, u64), preamble: &Preamble, arrival: Nanos) -> Self {
        Self {
            track,
            session,
            number: preamble.frame,
            media_time: preamble.media_time,
            run: preamble.captured.wrapping_sub(preamble.media_time),
            arrival,
            captured: None,
        }
    }
}

/// Memory of a track.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    last: Option<Placed>,
    /// The last frame of the session before, if this one goes on with the same run.
    resumed: Option<Placed>,
    /// Capture by our clock minus media time of the last frames.
    captured: Least,
}

/// A frame that was placed.
#[derive(Clone, Copy, Debug)]
struct Placed {
    run: u64,
    number: u64,
}

impl Placed {
    /// True if this frame is of the same run of the publisher.
    fn runs_with(self, frame: &Arrived) -> bool {
        let moved = frame.run.wrapping_sub(self.run);
        moved.min(moved.wrapping_neg()) <= SAME_RUN
    }
}

/// Media times for one who takes the frames of several sessions, one after the other.
///
/// Within a session they are the publisher's. A session that follows another goes on by the time that passed in
/// between: by the publisher's stamps of capture, where its clock is known in both sessions, or else by when frames
/// came. Where the publisher is the same, and only the connection was another, nothing changes.
#[derive(Clone, Debug)]
pub struct SessionTimeline {
    lines: Lines,
    session: Option<u64>,
    before: [Before; 2],
}

impl Default for SessionTimeline {
    fn default() -> Self {
        Self {
            lines: Lines::new(Belief::Forward),
            session: None,
            before: <[Before; 2]>::default(),
        }
    }
}

impl SessionTimeline {
    /// The media time of a frame, given in the order of decoding. `None` for one that came in an earlier session: who
    /// joins again gets the group of pictures so far.
    pub fn media_time(&mut self, frame: &Arrived) -> Option<Duration> {
        let mut at = None;
        if self.session != Some(frame.session) {
            at = self.begin(frame);
            self.session = Some(frame.session);
        }
        let before = &mut self.before[frame.track as usize];
        let there = |placed: Placed| frame.number <= placed.number && placed.runs_with(frame);
        if before.resumed.is_some_and(there) {
            return None;
        }
        let stamped = Stamped {
            stamp: frame.media_time.into(),
            arrival: frame.arrival,
        };
        let media = self.lines.place(frame.track, stamped, at);
        if let Some(captured) = frame.captured {
            before.captured.add(captured - media);
        }
        before.last = Some(Placed {
            run: frame.run,
            number: frame.number,
        });
        Some(duration(media))
    }

    /// A session begins with this frame. Returns its media time if the clocks say it.
    fn begin(&mut self, frame: &Arrived) -> Option<Nanos> {
        let (own, other) = (frame.track as usize, 1 - frame.track as usize);
        let last = self.before[own].last.or(self.before[other].last);
        if last.is_some_and(|last| last.runs_with(frame)) {
            for before in &mut self.before {
                before.resumed = before.last;
            }
            return None;
        }
        let least = self.before[own].captured.get().or(self.before[other].captured.get());
        self.before = <[Before; 2]>::default();
        self.lines.restart();
        frame.captured.zip(least).map(|(captured, least)| captured - least)
    }

    /// The jumps within sessions since the last call.
    pub fn take_jumps(&mut self) -> Jumps {
        self.lines.take_jumps()
    }
}
