//! Frames from an RTSP camera, through the `retina` library.

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::losses::Losses;
use super::reconnect::{Backoff, Camera, STALL, next_frame};
pub use super::rtsp_options::{RtspOptions, Transport};
use super::rtsp_session::{Arrived, Session, lost};
use super::{Lost, SOURCE_PATIENCE, Source};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, SoundInfo, StampKind, StreamInfo, Track};

/// Longest pause between attempts to reconnect to a camera.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What helps against pictures that come damaged.
const ADVICE: &str = "take a lower bit rate of it, or a better path to it; over UDP what is lost is not sent again";

/// A camera.
///
/// When the camera disconnects or falls silent, the source reconnects with increasing pauses for as long as one call
/// of [`next`](Source::next) may take; then `next` fails. Calling `next` again continues to try.
pub struct RtspSource {
    options: RtspOptions,
    /// `None` only during drop.
    runtime: Option<Runtime>,
    session: Option<Session>,
    info: StreamInfo,
    sound: Option<SoundInfo>,
    /// When the last picture came.
    pictured: Instant,
    ahead: Option<Arrived>,
    /// True while waiting for a keyframe: at the start, after lost packets, and after reconnecting.
    waiting: bool,
    losses: Losses,
    /// Arrival and media time of the last delivered frame.
    last: Option<(Instant, Duration)>,
    /// Offset to add to the times of the current connection.
    base: Duration,
    /// Time of the first frame of the current connection, on the camera's clock.
    first: Option<Duration>,
    backoff: Backoff,
}

impl RtspSource {
    /// Connects to the camera and waits for its first keyframe. It blocks, so do not call it from asynchronous code.
    ///
    /// # Errors
    /// The camera cannot be reached, refuses the login, lacks the requested stream, or has none that sealcast
    /// carries.
    pub fn open(options: RtspOptions) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|e| {
            Failure::new(
                FailureKind::Internal,
                format!("no runtime for the camera: {e}"),
                "check the limits of this process",
            )
        })?;
        let deadline = Instant::now() + SOURCE_PATIENCE;
        let session = runtime.block_on(Session::connect(&options, deadline))?;
        if let Some(what) = session.left_out() {
            tracing::warn!(camera = %options.shown(), "sound is left out: the camera offers {what}");
        }
        let mut source = Self {
            info: session.info(),
            sound: session.sound(),
            pictured: Instant::now(),
            options,
            runtime: Some(runtime),
            session: Some(session),
            ahead: None,
            waiting: true,
            losses: Losses::new(ADVICE),
            last: None,
            base: Duration::ZERO,
            first: None,
            backoff: Backoff::new(LONGEST_PAUSE),
        };
        source.ahead = Some(source.take(deadline)?);
        Ok(source)
    }

    /// Media time of a frame by the camera's clock, continued by our clock across connections.
    fn media_time(&mut self, frame: &Arrived) -> Duration {
        let first = match self.first {
            Some(first) => first,
            None => {
                self.base = self.last.map_or(Duration::ZERO, |(when, media)| {
                    media
                        + frame
                            .captured
                            .saturating_duration_since(when)
                            .max(Duration::from_millis(1))
                });
                *self.first.insert(frame.time)
            }
        };
        self.base + frame.time.saturating_sub(first)
    }
}

impl Camera for RtspSource {
    type Frame = Arrived;

    fn named(&self) -> (String, &'static str) {
        (self.options.shown().to_owned(), "calling the camera again")
    }

    fn reconnects(&self) -> bool {
        self.options.reconnect
    }

    fn backoff(&mut self) -> &mut Backoff {
        &mut self.backoff
    }

    fn is_open(&self) -> bool {
        self.session.is_some()
    }

    fn take(&mut self, deadline: Instant) -> Result<Arrived> {
        loop {
            let (Some(runtime), Some(session)) = (&self.runtime, &mut self.session) else {
                return Err(lost(&self.options, "it is gone"));
            };
            let frame = runtime.block_on(session.receive(deadline));
            let damaged = Lost {
                damaged: session.take_damaged(),
                ..Lost::default()
            };
            self.losses.count(self.options.shown(), damaged);
            let frame = frame?;
            if frame.track == Track::Sound {
                if self.pictured.elapsed() >= STALL.max(deadline.saturating_duration_since(Instant::now())) {
                    return Err(lost(&self.options, "it sends sound, and no pictures any more"));
                }
                if self.first.is_some() || self.ahead.is_some() {
                    return Ok(frame);
                }
                continue;
            }
            self.pictured = Instant::now();
            self.waiting |= frame.lost && !frame.keyframe;
            if self.waiting && !frame.keyframe {
                let left_out = Lost {
                    // Before the first keyframe nothing is lost.
                    left_out: self.first.is_some().into(),
                    ..Lost::default()
                };
                self.losses.count(self.options.shown(), left_out);
                if Instant::now() >= deadline {
                    return Err(Failure::new(
                        FailureKind::Source,
                        format!(
                            "{} sends no keyframe for {} s",
                            self.options.shown(),
                            SOURCE_PATIENCE.as_secs()
                        ),
                        "set the camera's keyframe interval (also called GOP or I frame interval) to 1 or 2 s",
                    ));
                }
                continue;
            }
            if self.waiting {
                tracing::debug!(camera = %self.options.shown(), "keyframe");
            }
            self.waiting = false;
            self.info = session.info();
            return Ok(frame);
        }
    }

    fn close(&mut self) {
        if let Some(runtime) = &self.runtime {
            let _context = runtime.enter();
            self.session = None;
        }
    }

    fn open_again(&mut self, deadline: Instant) -> Result<()> {
        let pause = self.backoff.pause(deadline);
        let Some(runtime) = &self.runtime else {
            return Err(lost(&self.options, "it is gone"));
        };
        let options = &self.options;
        let session = runtime.block_on(async {
            // Not a thread's sleep: the runtime must keep running to finish the TEARDOWN of the previous connection.
            tokio::time::sleep(pause).await;
            Session::connect(options, deadline).await
        })?;
        if session.info().codec != self.info.codec {
            let what = format!("{} came back with another codec", self.options.shown());
            return Err(Failure::new(FailureKind::Source, what, "start the publisher again"));
        }
        self.sound = session.sound();
        self.pictured = Instant::now();
        self.session = Some(session);
        (self.waiting, self.first) = (true, None);
        Ok(())
    }
}

impl Source for RtspSource {
    fn info(&self) -> StreamInfo {
        self.info.clone()
    }

    fn sound(&self) -> Option<SoundInfo> {
        self.sound.clone()
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let frame = match self.ahead.take() {
            Some(frame) => frame,
            None => next_frame(self)?,
        };
        let media_time = self.media_time(&frame);
        self.last = Some((frame.captured, media_time));
        let Arrived {
            track,
            keyframe,
            captured,
            data,
            ..
        } = frame;
        Ok(Some(Frame {
            track,
            number: 0,
            keyframe,
            media_time,
            began: captured,
            stamp: StampKind::Arrival,
            captured,
            encoded: captured,
            data,
        }))
    }

    fn request_keyframe(&mut self) {}

    fn take_lost(&mut self) -> Lost {
        self.losses.take()
    }
}

impl Drop for RtspSource {
    fn drop(&mut self) {
        self.losses.say_rest(self.options.shown());
        let (Some(runtime), Some(session)) = (self.runtime.take(), self.session.take()) else {
            return;
        };
        // On a separate thread, because a runtime must not block, nor be dropped, inside another one.
        let teardown = std::thread::Builder::new()
            .name("teardown".into())
            .spawn(move || session.tear_down(runtime));
        if let Ok(teardown) = teardown {
            let _ = teardown.join();
        }
    }
}

impl std::fmt::Debug for RtspSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RtspSource")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
