//! Frames of RTP: the half that receives, for cameras that are asked for it by RTSP and for senders that are not asked.

pub(super) mod choice;
mod datagrams;
mod facts;
pub(crate) mod options;
pub(crate) mod port;
pub(super) mod reader;

use std::fmt;
use std::time::{Duration, Instant};

use sealcast_proto::timeline::{Jumps, SourceTimeline};
use tokio::runtime::{Builder, Runtime};

pub(super) use self::datagrams::{Datagram, Datagrams};
pub(crate) use self::facts::Facts;
use self::reader::Arrived;
use super::losses::Losses;
use super::reconnect::{Backoff, Camera, STALL, next_frame};
use super::{Lost, SOURCE_PATIENCE, Source, Stopping, Strangers};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, SoundInfo, StampKind, StreamInfo, Track};

/// Longest pause between attempts to reconnect to a camera.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Time for the first keyframe of a camera that has not described its pictures.
const KEYFRAME_PATIENCE: Duration = Duration::from_secs(60);
/// Time between two looks whether the publisher stops.
const LOOK: Duration = Duration::from_millis(500);

/// Advice against pictures that come damaged.
const ADVICE: &str = "a lower bit rate or a better path helps; over UDP what is lost is not sent again, over TCP it is";

/// One session with a camera, of which packets come.
pub(super) trait Session: Sized + Send + 'static {
    /// Its address, and how it is reached.
    type Options: fmt::Debug + Send;

    /// Beginning of another session, in messages.
    const AGAIN: &'static str;

    /// The camera in messages, without secrets.
    fn shown(options: &Self::Options) -> &str;

    /// False if the user wants the stream to end when the camera is gone.
    fn reconnects(options: &Self::Options) -> bool;

    /// Begins it.
    ///
    /// # Errors
    /// The camera cannot be reached, or has nothing that is carried.
    async fn connect(options: &Self::Options, deadline: Instant) -> Result<Self>;

    /// Waits for the next frame, of the picture or the sound. `None` if none came until `until`.
    ///
    /// # Errors
    /// The session ended.
    async fn receive(&mut self, until: Instant) -> Result<Option<Arrived>>;

    /// Description of the picture.
    fn info(&self) -> StreamInfo;

    /// Description of the sound, if there is some.
    fn sound(&self) -> Option<SoundInfo>;

    /// Number of pictures that came damaged since the last call: at least one wherever packets are missing.
    fn take_damaged(&mut self) -> u64;

    /// Packets that were not taken since the last call, because of whom they are.
    fn take_strangers(&mut self) -> Strangers;

    /// Reason why no picture came of late, in words that follow the camera's name.
    fn silence(&self) -> String;

    /// Ends it.
    async fn tear_down(self);
}

/// A camera.
///
/// When the camera disconnects or falls silent, the source reconnects with increasing pauses for as long as one call
/// of [`next`](Source::next) may take; then `next` fails. Calling `next` again continues to try. While pictures come it
/// waits for a keyframe as long as that takes.
pub(super) struct CameraSource<S: Session> {
    options: S::Options,
    /// `None` only during drop.
    runtime: Option<Runtime>,
    session: Option<S>,
    info: StreamInfo,
    sound: Option<SoundInfo>,
    /// When the last picture came.
    pictured: Instant,
    ahead: Option<Arrived>,
    /// Since when it waits for a keyframe: at the start, after lost packets, and after reconnecting.
    waiting: Option<Instant>,
    /// When it is no longer waited for.
    give_up: Option<Instant>,
    /// True once it was said that a keyframe takes long.
    said_waiting: bool,
    losses: Losses,
    /// Since they were taken last.
    strangers: Strangers,
    timeline: SourceTimeline,
    /// Arrivals count from here.
    began: Instant,
    /// True once this connection gave a picture.
    delivered: bool,
    backoff: Backoff,
    stopping: Option<Stopping>,
}

/// The failure for a camera that was there before.
pub(super) fn lost(shown: &str, what: &str) -> Failure {
    let hint = "check the camera and the network to it";
    Failure::new(FailureKind::Source, format!("{shown} failed: {what}"), hint)
}

impl<S: Session> CameraSource<S> {
    /// Connects to the camera and waits for its first keyframe. It blocks, so do not call it from asynchronous code.
    ///
    /// # Errors
    /// The camera cannot be reached, refuses the login, lacks the requested stream, or has none that sealcast
    /// carries.
    pub(super) fn open(options: S::Options) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build().map_err(|e| {
            Failure::new(
                FailureKind::Internal,
                format!("no runtime for the camera: {e}"),
                "check the limits of this process",
            )
        })?;
        let now = Instant::now();
        let deadline = now + SOURCE_PATIENCE;
        let session = runtime.block_on(S::connect(&options, deadline))?;
        let mut source = Self {
            info: session.info(),
            sound: session.sound(),
            pictured: now,
            options,
            runtime: Some(runtime),
            session: Some(session),
            ahead: None,
            waiting: Some(now),
            give_up: None,
            said_waiting: false,
            losses: Losses::new(ADVICE),
            strangers: Strangers::default(),
            timeline: SourceTimeline::live(),
            began: now,
            delivered: false,
            backoff: Backoff::new(LONGEST_PAUSE),
            stopping: None,
        };
        let described = source.info.width > 0;
        source.give_up = Some(now + if described { SOURCE_PATIENCE } else { KEYFRAME_PATIENCE });
        match source.take(deadline) {
            Ok(frame) => source.ahead = Some(frame),
            // What viewers must know is known: the keyframe is waited for with them.
            Err(_) if described && source.said_waiting => {}
            Err(failure) => return Err(failure),
        }
        source.give_up = None;
        Ok(source)
    }

    fn shown(&self) -> &str {
        S::shown(&self.options)
    }

    fn stops(&self) -> bool {
        self.stopping.as_ref().is_some_and(|stopping| stopping())
    }

    /// The next frame of the session, of the picture or the sound.
    fn receive(&mut self, patience: Duration) -> Result<Arrived> {
        loop {
            let (Some(runtime), Some(session)) = (&self.runtime, &mut self.session) else {
                return Err(lost(self.shown(), "it is gone"));
            };
            let until = (self.pictured + patience).min(Instant::now() + LOOK);
            let frame = runtime.block_on(session.receive(until));
            let damaged = Lost {
                damaged: session.take_damaged(),
                ..Lost::default()
            };
            self.strangers += session.take_strangers();
            self.losses.count(S::shown(&self.options), damaged);
            if let Some(frame) = frame? {
                return Ok(frame);
            }
            if self.stops() {
                return Err(lost(self.shown(), "the publisher stops"));
            }
            if self.pictured.elapsed() >= patience {
                let session = self.session.as_ref();
                let why = session.map_or_else(String::new, S::silence);
                return Err(lost(self.shown(), &why));
            }
        }
    }

    /// Leaves a picture out that came before the keyframe which is waited for.
    fn leave_out(&mut self, since: Instant) {
        let left_out = Lost {
            // Before the first keyframe nothing is lost.
            left_out: self.delivered.into(),
            ..Lost::default()
        };
        self.losses.count(S::shown(&self.options), left_out);
        if since.elapsed() >= STALL && !std::mem::replace(&mut self.said_waiting, true) {
            tracing::warn!(
                camera = %self.shown(),
                seconds = since.elapsed().as_secs(),
                "pictures come, and no keyframe yet: it is waited for. To begin sooner, set the camera's keyframe \
                 interval (also called GOP or I frame interval) to 1 or 2 s"
            );
        }
    }
}

impl<S: Session> Camera for CameraSource<S> {
    type Frame = Arrived;

    fn named(&self) -> (String, &'static str) {
        (self.shown().to_owned(), S::AGAIN)
    }

    fn reconnects(&self) -> bool {
        S::reconnects(&self.options) && !self.stops()
    }

    fn backoff(&mut self) -> &mut Backoff {
        &mut self.backoff
    }

    fn is_open(&self) -> bool {
        self.session.is_some()
    }

    fn take(&mut self, deadline: Instant) -> Result<Arrived> {
        let patience = deadline.saturating_duration_since(Instant::now());
        // The time since the last picture counts from the question for the next one.
        self.pictured = self.pictured.max(Instant::now());
        loop {
            let frame = self.receive(patience)?;
            if frame.track == Track::Sound {
                if self.delivered {
                    return Ok(frame);
                }
                continue;
            }
            self.pictured = Instant::now();
            if frame.lost && !frame.keyframe {
                self.waiting.get_or_insert_with(Instant::now);
            }
            if let Some(since) = self.waiting.filter(|_| !frame.keyframe) {
                self.leave_out(since);
                if self.give_up.is_some_and(|give_up| give_up <= Instant::now()) {
                    return Err(Failure::new(
                        FailureKind::Source,
                        format!("{} sends pictures, and no keyframe", self.shown()),
                        "set the camera's keyframe interval (also called GOP or I frame interval) to 1 or 2 s",
                    ));
                }
                continue;
            }
            if self.waiting.take().is_some() {
                tracing::debug!(camera = %self.shown(), "keyframe");
            }
            (self.said_waiting, self.delivered) = (false, true);
            if let Some(session) = &self.session {
                self.info = session.info();
                self.sound = session.sound();
            }
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
            return Err(lost(self.shown(), "it is gone"));
        };
        let options = &self.options;
        let session = runtime.block_on(async {
            tokio::time::sleep(pause).await;
            S::connect(options, deadline).await
        })?;
        self.sound = session.sound();
        self.pictured = Instant::now();
        self.session = Some(session);
        (self.waiting, self.delivered) = (Some(Instant::now()), false);
        self.timeline.restarted();
        Ok(())
    }
}

impl<S: Session> Source for CameraSource<S> {
    fn info(&self) -> StreamInfo {
        self.info.clone()
    }

    fn sound(&self) -> Option<SoundInfo> {
        self.sound.clone()
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let frame = match self.ahead.take() {
            Some(frame) => frame,
            None => match next_frame(self) {
                Err(_) if self.stops() => return Ok(None),
                frame => frame?,
            },
        };
        let Arrived {
            track,
            keyframe,
            stamp,
            captured,
            data,
            ..
        } = frame;
        let arrival = captured.saturating_duration_since(self.began);
        let media_time = self.timeline.media_time(track, stamp, arrival);
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

    fn stop_when(&mut self, stopping: Stopping) {
        self.stopping = Some(stopping);
    }

    fn take_lost(&mut self) -> Lost {
        self.losses.take()
    }

    fn take_strangers(&mut self) -> Strangers {
        std::mem::take(&mut self.strangers)
    }

    fn take_jumps(&mut self) -> Jumps {
        self.timeline.take_jumps()
    }
}

impl<S: Session> Drop for CameraSource<S> {
    fn drop(&mut self) {
        self.losses.say_rest(S::shown(&self.options));
        let (Some(runtime), session) = (self.runtime.take(), self.session.take()) else {
            return;
        };
        // On a separate thread, because a runtime must not block, nor be dropped, inside another one.
        let teardown = std::thread::Builder::new().name("teardown".into()).spawn(move || {
            runtime.block_on(async {
                if let Some(session) = session {
                    session.tear_down().await;
                }
            });
        });
        if let Ok(teardown) = teardown {
            let _ = teardown.join();
        }
    }
}

impl<S: Session> fmt::Debug for CameraSource<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CameraSource")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
