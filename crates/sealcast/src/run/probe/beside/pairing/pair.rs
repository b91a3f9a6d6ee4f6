//! Pictures that were seen, and pairs of them.

use std::time::Duration;

use crate::run::probe::beside::picture_hash::PictureHash;
use crate::source::test_card::CardClock;

/// At the end, pictures of this time have no partner yet, beside the greatest difference that was seen.
const LAST: Duration = Duration::from_secs(1);

/// One of the two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run::probe::beside) enum Side {
    A,
    B,
}

impl Side {
    /// Both, in order.
    pub(in crate::run::probe::beside) const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its name in messages.
    pub(in crate::run::probe::beside) fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// The other one.
    pub(in crate::run::probe::beside) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// Sign by which two pictures are known to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run::probe::beside) enum By {
    /// By the time in the strip.
    Clock,
    /// By the number of an event in the strip, where it changes.
    Event,
    /// By the colour of an event, where it comes.
    Colour,
    /// By what they look like.
    Content,
}

impl By {
    /// All, the surest first.
    pub(in crate::run::probe::beside) const ALL: [Self; 4] = [Self::Clock, Self::Event, Self::Colour, Self::Content];

    /// Its name in logs.
    pub(in crate::run::probe::beside) fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Event => "event",
            Self::Colour => "colour",
            Self::Content => "content",
        }
    }

    /// As words after "paired".
    pub(in crate::run::probe::beside) fn words(self) -> &'static str {
        match self {
            Self::Clock => "by the clock",
            Self::Event => "by the events' numbers",
            Self::Colour => "by the events' colours",
            Self::Content => "by their content",
        }
    }
}

/// A picture's number and instants, since an origin that both sides share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run::probe::beside) struct Taken {
    pub(in crate::run::probe::beside) number: u64,
    /// The frame was there, before it was decoded.
    pub(in crate::run::probe::beside) arrived: Duration,
    /// The decoded picture was there.
    pub(in crate::run::probe::beside) decoded: Duration,
}

/// A picture's features by which it is paired.
#[derive(Clone, Debug)]
pub(in crate::run::probe::beside) struct Sight {
    pub(in crate::run::probe::beside) side: Side,
    pub(in crate::run::probe::beside) taken: Taken,
    pub(in crate::run::probe::beside) strip: Option<CardClock>,
    /// The colour of the event that begins with it.
    pub(in crate::run::probe::beside) colour: Option<usize>,
    pub(in crate::run::probe::beside) hash: Option<PictureHash>,
}

/// Two pictures that show the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::run::probe::beside) struct Pair {
    pub(in crate::run::probe::beside) by: By,
    pub(in crate::run::probe::beside) a: Taken,
    pub(in crate::run::probe::beside) b: Taken,
    /// By how much B's picture is of a later time, by their clocks, in µs.
    pub(in crate::run::probe::beside) apart_us: i64,
    /// False if B's may be another picture than A's, and only the nearest.
    pub(in crate::run::probe::beside) same: bool,
}

impl Pair {
    /// By how much B was decoded later, in ms.
    pub(in crate::run::probe::beside) fn difference_ms(&self) -> f64 {
        self.later_ms(|taken| taken.decoded)
    }

    /// By how much B arrived later, in ms.
    pub(in crate::run::probe::beside) fn arrival_ms(&self) -> f64 {
        self.later_ms(|taken| taken.arrived)
    }

    fn later_ms(&self, at: impl Fn(&Taken) -> Duration) -> f64 {
        let (a, b) = (at(&self.a), at(&self.b));
        (b.as_secs_f64() - a.as_secs_f64()) * 1e3 - self.apart_us as f64 / 1e3
    }
}

/// Number of pairs, and of pictures of each side that could not be paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::run::probe::beside) struct Counts {
    pub(in crate::run::probe::beside) paired: u64,
    pub(in crate::run::probe::beside) unpaired: [u64; 2],
    /// The greatest difference of a pair, in either direction.
    pub(in crate::run::probe::beside) greatest: Duration,
}

impl Counts {
    pub(super) fn pair(&mut self, a: &Taken, b: &Taken) {
        self.paired += 1;
        self.greatest = self.greatest.max(a.decoded.abs_diff(b.decoded));
    }

    /// Share of the pictures of the slower way that have a partner, 0 to 1.
    pub(in crate::run::probe::beside) fn share(&self) -> f64 {
        let fewer = self.paired + self.unpaired[0].min(self.unpaired[1]);
        match fewer {
            0 => 0.0,
            _ => self.paired as f64 / fewer as f64,
        }
    }

    /// Before this time every picture has a partner by now, or none, at the end at `now`.
    pub(super) fn settled(&self, now: Duration) -> Duration {
        now.saturating_sub(self.greatest).saturating_sub(LAST)
    }
}
