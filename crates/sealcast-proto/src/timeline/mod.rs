//! Media times: when each picture and each packet of sound is to be presented, on one line from the beginning of a
//! stream to its end, whatever happens to the clocks that stamped them.
//!
//! [`SourceTimeline`] stands at a live source. It follows the stamps of the camera's clock and judges them against when
//! frames came: a camera's clock is set, wraps, stands still, or is wrong for one frame. [`SessionTimeline`] stands
//! before whoever records or shows several sessions one after the other, of which each begins its media time anew.
//!
//! Both keep, for picture and sound, the offset from stamps to media times and how late frames usually come after
//! them. The two tracks take each other's offset wherever it fits, so that their distance stays as it was stamped.

mod line;
mod nanos;
mod recent;
mod session;
#[cfg(test)]
mod session_tests;
mod source;
#[cfg(test)]
mod source_tests;

use std::ops::AddAssign;

pub use session::{Arrived, SessionTimeline};
pub use source::SourceTimeline;

/// Medium of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Track {
    /// The picture.
    Picture,
    /// The sound beside it.
    Sound,
}

/// Way in which stamps left the time in which frames came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// They went on ahead.
    Forward,
    /// They went on behind.
    Backward,
    /// One frame had a stamp of its own, and the next went on as before.
    Stray,
    /// They stood still while frames came, or time passed between frames that they do not know of.
    Still,
}

impl Jump {
    /// All of them, in the order of [`Jumps::counts`].
    pub const ALL: [Self; 4] = [Self::Forward, Self::Backward, Self::Stray, Self::Still];

    /// Their names in logs and metrics.
    pub const NAMES: &'static [&'static str] = &["forward", "backward", "stray", "still"];

    /// Its name in logs and metrics.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// Number of jumps of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Jumps {
    counts: [u64; Jump::ALL.len()],
}

impl Jumps {
    /// The numbers, each with its kind.
    pub fn counts(self) -> impl Iterator<Item = (Jump, u64)> {
        Jump::ALL.into_iter().zip(self.counts)
    }

    /// The number of jumps of one kind.
    pub fn of(self, jump: Jump) -> u64 {
        self.counts[jump as usize]
    }

    fn note(&mut self, jump: Jump) {
        self.counts[jump as usize] += 1;
    }
}

impl AddAssign for Jumps {
    fn add_assign(&mut self, more: Self) {
        for (count, more) in self.counts.iter_mut().zip(more.counts) {
            *count += more;
        }
    }
}
