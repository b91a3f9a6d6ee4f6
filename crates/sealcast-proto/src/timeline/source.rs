//! Media times at a source.

use std::time::Duration;

use super::line::{Belief, Lines, Stamped};
use super::nanos::{duration, nanos};
use super::{Jumps, Track};

/// The media times of a source's frames, by the clock that stamps them as long as that can be right.
///
/// Frames are given in the order of decoding, each with its stamp and when it came. A stamp that is off from the time
/// that passed, by more than a second and ten frames' intervals, is a jump: the frame gets the media time that fits
/// when it came. If the next one follows it, the clock was set, and that is where it goes on; if not, one frame was
/// stamped wrongly. Pauses in which no frame comes are none, and neither are frames that were held up on their way and
/// come all together. Stamps that are all equal count for nothing.
#[derive(Clone, Debug)]
pub struct SourceTimeline {
    lines: Lines,
}

impl SourceTimeline {
    /// For a live source, whose clock is a camera's.
    pub fn live() -> Self {
        Self {
            lines: Lines::new(Belief::Judged),
        }
    }

    /// For a source that makes its own times, such as a file: it is believed, and only what follows a restart is joined
    /// to what came before.
    pub fn believing() -> Self {
        Self {
            lines: Lines::new(Belief::Everything),
        }
    }

    /// The media time of a frame. `stamp` is its time of presentation on the source's clock, in ns since any moment,
    /// without wraps of its own, and on one clock for both tracks; `arrival` is by a monotonic clock.
    ///
    /// The first frame of a live source has the media time 0. What was made before it has it too, so sound before the
    /// first picture is to be left out.
    pub fn media_time(&mut self, track: Track, stamp: i64, arrival: Duration) -> Duration {
        let frame = Stamped {
            stamp: stamp.into(),
            arrival: nanos(arrival),
        };
        duration(self.lines.place(track, frame, None))
    }

    /// The source was opened again: its stamps begin anew, and the next frame follows the last by the time that passed.
    pub fn restarted(&mut self) {
        self.lines.restart();
    }

    /// The jumps since the last call.
    pub fn take_jumps(&mut self) -> Jumps {
        self.lines.take_jumps()
    }
}
