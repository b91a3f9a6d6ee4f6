//! From stamps to media times: an offset for each of two tracks, and when it is another one.

use super::nanos::Nanos;
use super::recent::{Intervals, Least};
use super::{Jump, Jumps, Track};

/// Stamps that are off by no more than this, or by as many intervals, are no jump: frames come late and in bursts, and
/// pictures that refer to later ones are stamped out of order.
const LEAST_JUMP: Nanos = 1_000_000_000;
const JUMP_INTERVALS: Nanos = 10;

/// Frames that are late together, and come no less late for so long, were not held up: time passed between them.
const PATIENCE: Nanos = 1_000_000_000;

/// Time that frames must catch up at least, in that time, to have been held up.
const CATCHING_UP: Nanos = 50_000_000;

/// Bounds of the least time from the last frame to the first one after a restart, which else is the usual interval.
const STEP: (Nanos, Nanos) = (1_000_000, 40_000_000);

/// Degree to which stamps are believed against arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Belief {
    /// A stamp that jumps is replaced by the arrival.
    Judged,
    /// The same, but stamps that go on ahead are right, and so are those of a stream that falls behind.
    Forward,
    /// In any case.
    Everything,
}

impl Belief {
    /// True if frames go where their stamps jump, once a second one went there.
    fn follows(self, jump: Jump) -> bool {
        self == Self::Forward && jump == Jump::Forward
    }
}

/// A frame's stamp, by its own clock, and when it came, by ours.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamped {
    pub(super) stamp: Nanos,
    pub(super) arrival: Nanos,
}

impl Stamped {
    fn media_by(self, offset: Nanos) -> Nanos {
        self.stamp.saturating_add(offset)
    }

    /// Time from its media time to its arrival, under this offset.
    fn late_by(self, offset: Nanos) -> Nanos {
        self.arrival.saturating_sub(self.media_by(offset))
    }

    fn raw(self) -> Nanos {
        self.arrival.saturating_sub(self.stamp)
    }
}

/// Frames that came late, as long as it is not known why.
#[derive(Clone, Copy, Debug)]
struct Behind {
    since: Nanos,
    least: Nanos,
}

/// One track.
#[derive(Clone, Debug, Default)]
struct Line {
    /// Media time minus stamp.
    offset: Option<Nanos>,
    /// The last frame, and its media time.
    last: Option<(Stamped, Nanos)>,
    /// Arrival minus media time of the last frames.
    late: Least,
    intervals: Intervals,
    /// Arrival minus stamp of the last frame, which left the line: the next shows whether it went astray.
    strayed: Option<Nanos>,
    behind: Option<Behind>,
    /// Stamps stood still for so long that it was counted.
    stood: bool,
}

impl Line {
    fn limit(&self) -> Nanos {
        LEAST_JUMP.max(JUMP_INTERVALS * self.intervals.usual())
    }

    /// Forgets the clock of the stamps.
    fn cut(&mut self) {
        self.offset = None;
        self.strayed = None;
        self.behind = None;
        self.stood = false;
    }

    fn set(&mut self, offset: Nanos) {
        self.cut();
        self.offset = Some(offset);
    }

    fn note(&mut self, frame: Stamped, media: Nanos) {
        if let Some((last, _)) = self.last {
            self.intervals.add(frame.arrival.saturating_sub(last.arrival));
        }
        self.last = Some((frame, media));
    }
}

/// Knowledge of a track about the other one.
#[derive(Clone, Copy)]
struct Other {
    offset: Option<Nanos>,
    /// Arrival minus media time.
    late: Option<Nanos>,
    strayed: Option<Nanos>,
}

/// Both tracks.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    belief: Belief,
    lines: [Line; 2],
    /// The latest media time so far.
    latest: Option<Nanos>,
    jumps: Jumps,
}

impl Lines {
    pub(super) fn new(belief: Belief) -> Self {
        Self {
            belief,
            lines: <[Line; 2]>::default(),
            latest: None,
            jumps: Jumps::default(),
        }
    }

    /// Another clock stamps what follows.
    pub(super) fn restart(&mut self) {
        self.lines.iter_mut().for_each(Line::cut);
    }

    pub(super) fn take_jumps(&mut self) -> Jumps {
        std::mem::take(&mut self.jumps)
    }

    /// The media time of the next frame of a track, in the order of decoding. After a restart the first one has the
    /// media time `at`, if that is known, or else the one that fits when it came.
    pub(super) fn place(&mut self, track: Track, frame: Stamped, at: Option<Nanos>) -> Nanos {
        let other = &self.lines[1 - track as usize];
        let other = Other {
            offset: other.offset,
            late: other.late.get(),
            strayed: other.strayed,
        };
        let own = &self.lines[track as usize];
        let media = match (own.offset, other.offset) {
            (None, None) => self.begin(track, frame, at),
            (None, Some(shared)) => self.join(track, frame, shared, other.late),
            (Some(_), _) if self.belief == Belief::Everything => self.keep(track, frame),
            (Some(offset), _) => self.judge(track, frame, offset, other),
        };
        self.lines[track as usize].note(frame, media);
        self.latest = Some(self.latest.map_or(media, |latest| latest.max(media)));
        media
    }

    /// The first frame, or the first after a restart.
    fn begin(&mut self, track: Track, frame: Stamped, at: Option<Nanos>) -> Nanos {
        let [picture, sound] = &self.lines;
        let lates = match track {
            Track::Picture => [picture, sound],
            Track::Sound => [sound, picture],
        };
        let late = lates.into_iter().find_map(|line| line.late.get());
        let step = picture.intervals.usual().clamp(STEP.0, STEP.1);
        let media = match (self.latest, at.or(late.map(|late| frame.arrival.saturating_sub(late)))) {
            (None, _) if self.belief == Belief::Judged => 0,
            (None, _) => frame.stamp,
            (Some(latest), None) => latest + step,
            (Some(latest), Some(expected)) => expected.max(latest + step),
        };
        // How long frames take from here on is another matter.
        self.lines.iter_mut().for_each(|line| line.late = Least::default());
        self.lines[track as usize].set(media.saturating_sub(frame.stamp));
        self.keep(track, frame)
    }

    /// The first frame of a track beside the other one.
    fn join(&mut self, track: Track, frame: Stamped, shared: Nanos, late: Option<Nanos>) -> Nanos {
        let own = &mut self.lines[track as usize];
        let late = own.late.get().or(late).unwrap_or(0);
        let fits = frame.late_by(shared).saturating_sub(late).abs() <= own.limit();
        let offset = if fits || self.belief != Belief::Judged {
            shared
        } else {
            frame.raw().saturating_sub(late)
        };
        own.set(offset);
        self.keep(track, frame)
    }

    /// A frame in line.
    fn keep(&mut self, track: Track, frame: Stamped) -> Nanos {
        let own = &mut self.lines[track as usize];
        if own.strayed.take().is_some() {
            self.jumps.note(Jump::Stray);
        }
        let offset = own.offset.unwrap_or_default();
        own.behind = None;
        own.late.add(frame.late_by(offset));
        frame.media_by(offset)
    }

    fn judge(&mut self, track: Track, frame: Stamped, offset: Nanos, other: Other) -> Nanos {
        let own = &mut self.lines[track as usize];
        let usual = own.late.get().or(other.late).unwrap_or(0);
        let limit = own.limit();
        let (media, late) = (frame.media_by(offset), frame.late_by(offset).saturating_sub(usual));
        let Some((last, before)) = own.last else {
            return self.keep(track, frame);
        };
        if frame.stamp == last.stamp {
            let passed = frame.arrival.saturating_sub(last.arrival).max(0);
            let by_arrival = before.saturating_add(passed);
            if by_arrival.saturating_sub(media) > limit && own.strayed.is_none() && !own.stood {
                own.stood = true;
                self.jumps.note(Jump::Still);
            }
            return by_arrival;
        }
        let step = media.saturating_sub(before);
        let jump = match () {
            () if step < -limit => Some(Jump::Backward),
            () if step > limit && late < -limit => Some(Jump::Forward),
            () => None,
        };
        let late = late > limit && self.belief == Belief::Judged;
        if jump.is_none() && !late {
            own.stood = false;
            return self.keep(track, frame);
        }
        // Where one track went, the other one goes as well.
        let fits = |offset: &Nanos| frame.late_by(*offset).saturating_sub(usual).abs() <= limit;
        if let Some(shared) = other.offset.filter(fits) {
            own.set(shared);
            return self.keep(track, frame);
        }
        if let Some(jump) = jump.filter(|jump| !self.belief.follows(*jump))
            && let Some((raw, late)) = other.strayed.zip(other.late)
            && fits(&raw.saturating_sub(late))
        {
            own.set(raw.saturating_sub(late));
            self.jumps.note(jump);
            return self.keep(track, frame);
        }
        match jump {
            Some(jump) => self.leave(track, frame, jump, usual),
            None => self.lag(track, frame, usual),
        }
    }

    /// A frame whose stamp has jumped.
    fn leave(&mut self, track: Track, frame: Stamped, jump: Jump, usual: Nanos) -> Nanos {
        let own = &mut self.lines[track as usize];
        let raw = frame.raw();
        let near = own
            .strayed
            .filter(|before| raw.saturating_sub(*before).abs() <= own.limit());
        let Some(before) = near else {
            if own.strayed.replace(raw).is_some() {
                self.jumps.note(Jump::Stray);
            }
            return frame.arrival.saturating_sub(usual);
        };
        if self.belief.follows(jump) {
            own.strayed = None;
            own.late = Least::default();
            return self.keep(track, frame);
        }
        let stood = own.stood;
        own.set(raw.min(before).saturating_sub(usual));
        if !stood {
            self.jumps.note(jump);
        }
        self.keep(track, frame)
    }

    /// A frame that follows the one before by its stamp, and came late. If it was held up, those behind it catch up.
    fn lag(&mut self, track: Track, frame: Stamped, usual: Nanos) -> Nanos {
        let own = &mut self.lines[track as usize];
        let raw = frame.raw();
        let offset = own.offset.unwrap_or_default();
        match &mut own.behind {
            Some(behind) if raw + CATCHING_UP > behind.least => {
                if frame.arrival.saturating_sub(behind.since) < PATIENCE {
                    return frame.media_by(offset);
                }
                let stood = own.stood;
                let least = raw.min(behind.least);
                own.set(least.saturating_sub(usual));
                if !stood {
                    self.jumps.note(Jump::Still);
                }
                self.keep(track, frame)
            }
            behind => {
                let since = frame.arrival;
                *behind = Some(Behind { since, least: raw });
                frame.media_by(offset)
            }
        }
    }
}
