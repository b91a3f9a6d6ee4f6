//! Pairs the pictures of two ways to the same camera: which of B shows the same as which of A. It reads no clock and
//! does no I/O.
//!
//! Give it what was seen in each picture with [`Pairing::take`], in the order in which the pictures were decoded, then
//! take pairs with [`Pairing::poll`] until there are none, and at the end call [`Pairing::finish`] and poll again. All
//! ways of pairing run beside one another until [`Pairing::keep`] leaves one. What waits is bounded by [`MAX_WAITING`]
//! and [`PATIENCE`].

mod clock;
mod content;
mod keyed;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use self::clock::ByClock;
use self::content::ByContent;
use self::keyed::ByKey;
use super::picture_hash::PictureHash;
use crate::source::test_card::CardClock;

/// Maximum of pictures of a side that wait: four seconds of 240 a second.
const MAX_WAITING: usize = 1024;
/// A picture that was decoded this long before the newest one is not paired any more.
const PATIENCE: Duration = Duration::from_secs(12);
/// At the end, pictures of this time have no partner yet, beside the greatest difference that was seen.
const LAST: Duration = Duration::from_secs(1);

/// One of the two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    A,
    B,
}

impl Side {
    /// Both, in order.
    pub(super) const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Its name in messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }

    /// The other one.
    pub(super) fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// How two pictures are known to be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
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
    pub(super) const ALL: [Self; 4] = [Self::Clock, Self::Event, Self::Colour, Self::Content];

    /// Its name in logs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Event => "event",
            Self::Colour => "colour",
            Self::Content => "content",
        }
    }

    /// As words after "paired".
    pub(super) fn words(self) -> &'static str {
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
pub(super) struct Taken {
    pub(super) number: u64,
    /// The frame was there, before it was decoded.
    pub(super) arrived: Duration,
    /// The decoded picture was there.
    pub(super) decoded: Duration,
}

/// A picture's features by which it is paired.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) side: Side,
    pub(super) taken: Taken,
    pub(super) strip: Option<CardClock>,
    /// The colour of the event that begins with it.
    pub(super) colour: Option<usize>,
    pub(super) hash: Option<PictureHash>,
}

/// Two pictures that show the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) by: By,
    pub(super) a: Taken,
    pub(super) b: Taken,
    /// By how much B's picture is of a later time, by their clocks, in µs.
    pub(super) apart_us: i64,
    /// False if B's may be another picture than A's, and only the nearest.
    pub(super) same: bool,
}

impl Pair {
    /// By how much B was decoded later, in ms.
    pub(super) fn difference_ms(&self) -> f64 {
        self.later_ms(|taken| taken.decoded)
    }

    /// By how much B arrived later, in ms.
    pub(super) fn arrival_ms(&self) -> f64 {
        self.later_ms(|taken| taken.arrived)
    }

    fn later_ms(&self, at: impl Fn(&Taken) -> Duration) -> f64 {
        let (a, b) = (at(&self.a), at(&self.b));
        (b.as_secs_f64() - a.as_secs_f64()) * 1e3 - self.apart_us as f64 / 1e3
    }
}

/// How many were paired, and how many of each side could not be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) paired: u64,
    pub(super) unpaired: [u64; 2],
    /// The greatest difference of a pair, in either direction.
    pub(super) greatest: Duration,
}

impl Counts {
    fn pair(&mut self, a: &Taken, b: &Taken) {
        self.paired += 1;
        self.greatest = self.greatest.max(a.decoded.abs_diff(b.decoded));
    }

    /// Share of the pictures of the slower way that have a partner, 0 to 1.
    pub(super) fn share(&self) -> f64 {
        let fewer = self.paired + self.unpaired[0].min(self.unpaired[1]);
        match fewer {
            0 => 0.0,
            _ => self.paired as f64 / fewer as f64,
        }
    }

    /// Before this time every picture has a partner by now, or none, at the end at `now`.
    fn settled(&self, now: Duration) -> Duration {
        now.saturating_sub(self.greatest).saturating_sub(LAST)
    }
}

/// A way of pairing.
trait Matcher {
    /// Take a picture; `now` is the latest time at which one was decoded.
    fn take(&mut self, sight: &Sight, now: Duration, found: &mut VecDeque<Pair>);

    /// Pair what still waits. What came too late for a partner is not counted as without one.
    fn finish(&mut self, now: Duration, found: &mut VecDeque<Pair>);

    fn counts(&self) -> Counts;
}

/// All ways of pairing that are tried.
pub(super) struct Pairing {
    matchers: Vec<(By, Box<dyn Matcher + Send>)>,
    found: VecDeque<Pair>,
    now: Duration,
}

impl Pairing {
    /// Pair in these ways.
    pub(super) fn new(ways: &[By]) -> Self {
        let matcher = |by: By| -> Box<dyn Matcher + Send> {
            match by {
                By::Clock => Box::new(ByClock::default()),
                By::Event | By::Colour => Box::new(ByKey::new(by)),
                By::Content => Box::new(ByContent::default()),
            }
        };
        Self {
            matchers: ways.iter().map(|&by| (by, matcher(by))).collect(),
            found: VecDeque::new(),
            now: Duration::ZERO,
        }
    }

    /// Take what was seen in a picture.
    pub(super) fn take(&mut self, sight: &Sight) {
        self.now = self.now.max(sight.taken.decoded);
        for (_, matcher) in &mut self.matchers {
            matcher.take(sight, self.now, &mut self.found);
        }
    }

    /// No picture follows.
    pub(super) fn finish(&mut self) {
        for (_, matcher) in &mut self.matchers {
            matcher.finish(self.now, &mut self.found);
        }
    }

    /// The next pair.
    pub(super) fn poll(&mut self) -> Option<Pair> {
        self.found.pop_front()
    }

    /// Go on in this way alone.
    pub(super) fn keep(&mut self, by: By) {
        self.matchers.retain(|(of, _)| *of == by);
    }

    /// The ways that are tried, with what each of them found so far.
    pub(super) fn counts(&self) -> impl Iterator<Item = (By, Counts)> {
        self.matchers.iter().map(|(by, matcher)| (*by, matcher.counts()))
    }
}

#[cfg(test)]
pub(super) use tests::{Shown, as_is, moving, scene, shown};
