//! Frames of a pipe that carries times, as fast as they come.

use std::io::Read;
use std::time::{Duration, Instant};

use sealcast_proto::timeline::{Jumps, SourceTimeline};

use super::Lost;
use super::coded::{MediaError, Result};
use super::losses::Losses;
use super::muxed::Muxed;
use super::rtp::reader::Arrived;
use crate::media::{Frame, SoundInfo, StampKind, StreamInfo, Track};

/// Bytes read at once.
const CHUNK_BYTES: usize = 32 << 10;
/// Time by which frames may be ahead of when they come. A program that reads a camera gives some seconds at once at its
/// beginning; one that reads a file goes on.
const AHEAD: Duration = Duration::from_secs(10);
/// Advice against pictures that come damaged.
const ADVICE: &str = "look at what the program before the pipe says";

/// Reads frames from a container.
pub(super) struct TimedReader<R> {
    input: R,
    muxed: Muxed,
    name: &'static str,
    timeline: SourceTimeline,
    began: Instant,
    /// Pictures are left out up to the next keyframe.
    waits: bool,
    delivered: bool,
    ended: bool,
    losses: Losses,
    ahead: Option<Frame>,
    said_fast: bool,
}

impl<R: Read> TimedReader<R> {
    /// Reads up to the first keyframe, which describes the stream of this name.
    ///
    /// # Errors
    /// There is no keyframe, or the stream has no picture that is carried.
    pub(super) fn open(input: R, muxed: Muxed, name: &'static str) -> Result<Self> {
        let mut reader = Self {
            input,
            muxed,
            name,
            timeline: SourceTimeline::live(),
            began: Instant::now(),
            waits: true,
            delivered: false,
            ended: false,
            losses: Losses::new(ADVICE),
            ahead: None,
            said_fast: false,
        };
        reader.ahead = reader.read()?;
        match reader.ahead {
            Some(_) => Ok(reader),
            None => Err(MediaError::Empty("no keyframe with its parameter sets was found")),
        }
    }

    /// Description of the picture.
    pub(super) fn info(&self) -> StreamInfo {
        self.muxed.info()
    }

    /// Description of the sound, if there is some.
    pub(super) fn sound(&self) -> Option<SoundInfo> {
        self.muxed.sound()
    }

    /// Losses since the last call.
    pub(super) fn take_lost(&mut self) -> Lost {
        self.losses.take()
    }

    /// Jumps of the stream's times since the last call.
    pub(super) fn take_jumps(&mut self) -> Jumps {
        self.timeline.take_jumps()
    }

    /// Returns the next frame, of the picture or the sound.
    ///
    /// # Errors
    /// Reading fails, or the stream is damaged.
    pub(super) fn next_frame(&mut self) -> Result<Option<Frame>> {
        match self.ahead.take() {
            Some(frame) => Ok(Some(frame)),
            None => self.read(),
        }
    }

    fn read(&mut self) -> Result<Option<Frame>> {
        let mut chunk = [0; CHUNK_BYTES];
        loop {
            while let Some(arrived) = self.muxed.next() {
                if self.takes(&arrived) {
                    return Ok(Some(self.frame(arrived)));
                }
            }
            let damaged = self.muxed.take_damaged();
            self.losses.count(
                self.name,
                Lost {
                    damaged,
                    ..Lost::default()
                },
            );
            if self.ended {
                return Ok(None);
            }
            match self.input.read(&mut chunk) {
                Ok(0) => {
                    self.ended = true;
                    self.muxed.finish(Instant::now())?;
                }
                Ok(n) => self.muxed.take(&chunk[..n], Instant::now())?,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// True if a viewer could decode the frame. Sound that was made before the first picture has no time.
    fn takes(&mut self, frame: &Arrived) -> bool {
        if frame.track == Track::Sound {
            return self.delivered;
        }
        self.waits = (self.waits || frame.lost) && !frame.keyframe;
        self.delivered |= !self.waits;
        if self.waits && self.delivered {
            self.losses.count(
                self.name,
                Lost {
                    left_out: 1,
                    ..Lost::default()
                },
            );
        }
        !self.waits
    }

    fn frame(&mut self, arrived: Arrived) -> Frame {
        let Arrived {
            track,
            keyframe,
            stamp,
            captured,
            data,
            ..
        } = arrived;
        let came = captured.saturating_duration_since(self.began);
        let media_time = self.timeline.media_time(track, stamp, came);
        if media_time > came + AHEAD && !std::mem::replace(&mut self.said_fast, true) {
            tracing::warn!(
                "{} gives more than {} s of pictures at once, of which viewers miss most: have them sent in their own \
                 time, as ffmpeg does with -re before its input",
                self.name,
                AHEAD.as_secs()
            );
        }
        Frame {
            track,
            number: 0,
            keyframe,
            media_time,
            began: captured,
            stamp: StampKind::Arrival,
            captured,
            encoded: captured,
            data,
        }
    }
}

impl<R> std::fmt::Debug for TimedReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimedReader")
            .field("muxed", &self.muxed)
            .finish_non_exhaustive()
    }
}
