//! Pairs the pictures of two ways to the same camera: which of B shows the same as which of A. It reads no clock and
//! does no I/O.
//!
//! Give it what was seen in each picture with [`Pairing::take`], in the order in which the pictures were decoded, then
//! take pairs with [`Pairing::poll`] until there are none, and at the end call [`Pairing::finish`] and poll again. All
//! ways of pairing run beside one another until [`Pairing::keep`] leaves one. What waits is bounded by `MAX_WAITING`
//! and `PATIENCE`.

mod clock;
mod content;
mod keyed;
mod matcher;
mod pair;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use self::clock::ByClock;
use self::content::ByContent;
use self::keyed::ByKey;
use self::matcher::Matcher;
pub(super) use self::pair::{By, Counts, Pair, Side, Sight, Taken};

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
