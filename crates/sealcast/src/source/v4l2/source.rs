//! Frames from a camera of this machine.

use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::choose::{Choice, choose};
use super::clock::KernelClock;
use super::convert::Layout;
use super::device::{Camera, told};
use super::format::{PixelFormat, shown};
use super::options::V4l2Options;
use super::streaming::{Buffer, Streaming};
use super::uvc_jpeg::whole_image;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Frame, FrameRate, Picture, StampKind, StreamInfo, Track};
use crate::source::coded::MAX_FRAME_BYTES;
use crate::source::losses::Losses;
use crate::source::picture_encoder::PictureEncoder;
use crate::source::reconnect::{self, Backoff, Camera as _};
use crate::source::{Lost, SOURCE_PATIENCE, Skip, Source, contain, h264};

/// Advice against lost frames.
const ADVICE: &str = "take a smaller picture or a lower rate, or Motion JPEG where the bus to it is slow";

/// Longest pause between attempts to open a camera again.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Least time from one frame to the next in media time, where stamps do not grow.
const LEAST_STEP: Duration = Duration::from_micros(1);

/// Maker of frames from the buffers of a camera.
enum Maker {
    /// Access units, passed through.
    H264 {
        stream: h264::Stream,
        /// True while waiting for a keyframe: at the start, and after lost frames.
        waiting: bool,
    },
    /// Images, passed through, and their size.
    Mjpeg((u16, u16)),
    /// Pictures, encoded here.
    Raw(Box<PictureEncoder>, Layout),
}

/// Content of a buffer.
enum Content {
    H264(Bytes),
    Image(Bytes, (u16, u16)),
    Picture(Picture),
}

/// A camera.
///
/// When the camera is unplugged or falls silent, the source opens it again with increasing pauses for as long as one
/// call of [`next`](Source::next) may take; then `next` fails. Calling `next` again continues to try.
pub struct V4l2Source {
    options: V4l2Options,
    choice: Choice,
    rate: FrameRate,
    maker: Maker,
    /// `None` while the camera is away.
    streaming: Option<Streaming>,
    clock: KernelClock,
    losses: Losses,
    /// The first frame, which opening waits for.
    ahead: Option<Frame>,
    /// The stamp of the first frame, and the media time of the last one.
    times: Option<(Instant, Duration)>,
    /// Kinds of the stamps so far: at most one of each kind.
    stamps: Vec<StampKind>,
    backoff: Backoff,
}

/// Looks at a camera, which does not stream for it, and says what it would be asked for.
///
/// # Errors
/// As [`V4l2Source::open`].
pub fn look(options: &V4l2Options) -> Result<String> {
    let camera = Camera::open(&options.path)?;
    let choice = choose(&camera.offers()?, options)?;
    let (width, height) = choice.size;
    Ok(format!(
        "{} of {width}x{height} by {}",
        choice.format.name(),
        camera.about().name
    ))
}

impl V4l2Source {
    /// Opens the camera and waits for its first frame.
    ///
    /// # Errors
    /// There is no such camera, this user may not open it, another program uses it, or it does not offer what the
    /// options ask for.
    pub fn open(options: V4l2Options) -> Result<Self> {
        let camera = Camera::open(&options.path)?;
        let about = camera.about().clone();
        let choice = choose(&camera.offers()?, &options)?;
        let (streaming, layout, rate) = camera.start(&choice)?;
        tracing::info!(
            camera = %options.shown(),
            name = about.name,
            driver = about.driver,
            format = choice.format.name(),
            size = format!("{}x{}", choice.size.0, choice.size.1),
            fps = shown(rate),
            "camera opened"
        );
        let mut source = Self {
            maker: maker(&options, layout, rate)?,
            options,
            choice,
            rate,
            streaming: Some(streaming),
            clock: KernelClock::read(),
            losses: Losses::new(ADVICE),
            ahead: None,
            times: None,
            stamps: Vec::new(),
            backoff: Backoff::new(LONGEST_PAUSE),
        };
        source.ahead = Some(source.take(Instant::now() + SOURCE_PATIENCE)?);
        Ok(source)
    }

    /// Makes a frame of a buffer, whose content is `None` if it is damaged, and counts what is lost. `None` if nothing
    /// of it is delivered.
    fn frame_of(&mut self, content: Option<Content>, buffer: &Buffer) -> Result<Option<Frame>> {
        let missing = Lost {
            dropped: buffer.lost.into(),
            damaged: content.is_none().into(),
            left_out: 0,
        };
        self.losses.count(&self.options.shown(), missing);
        let lost = missing != Lost::default();
        let made = match content {
            Some(content) => self.make(content, lost)?,
            None => None,
        };
        if made.is_none()
            && let Maker::H264 { waiting, .. } = &mut self.maker
        {
            *waiting |= lost;
        }
        Ok(made.map(|(data, keyframe)| self.stamped(data, keyframe, buffer)))
    }

    /// Makes a frame of a buffer's content; `None` if it is left out. `lost` is true if frames before it are missing.
    fn make(&mut self, content: Content, lost: bool) -> Result<Option<(Bytes, bool)>> {
        match (&mut self.maker, content) {
            (Maker::H264 { stream, waiting }, Content::H264(unit)) => {
                let finished = contain(|| Ok(stream.finish(unit, false)))?;
                let mut missing = Lost::default();
                let made = match finished {
                    Ok((data, keyframe)) => {
                        *waiting = (*waiting || lost) && !(keyframe && stream.is_decodable());
                        // Before the first keyframe nothing is lost.
                        missing.left_out = (*waiting && self.times.is_some()).into();
                        (!*waiting).then_some((data, keyframe))
                    }
                    Err(_) => {
                        *waiting = true;
                        missing.damaged = 1;
                        None
                    }
                };
                self.losses.count(&self.options.shown(), missing);
                Ok(made)
            }
            (Maker::Mjpeg(size), Content::Image(image, new)) => {
                *size = new;
                Ok(Some((image, true)))
            }
            (Maker::Raw(encoder, _), Content::Picture(picture)) => {
                if encoder.leaves_out() {
                    return Ok(None);
                }
                encoder.encode(&picture).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn stamped(&mut self, data: Bytes, keyframe: bool, buffer: &Buffer) -> Frame {
        let captured = buffer.arrived;
        let (began, stamp) = self.clock.place(&buffer.metadata, captured);
        if !self.stamps.contains(&stamp) {
            tracing::info!(camera = %self.options.shown(), stamp = stamp.name(), "what the camera's stamps are");
            self.stamps.push(stamp);
        }
        let media_time = match self.times {
            None => Duration::ZERO,
            Some((first, last)) => began.saturating_duration_since(first).max(last + LEAST_STEP),
        };
        self.times = Some((self.times.map_or(began, |(first, _)| first), media_time));
        let encoded = match self.maker {
            Maker::Raw(..) => Instant::now(),
            _ => captured,
        };
        Frame {
            track: Track::Picture,
            number: 0,
            keyframe,
            media_time,
            began,
            stamp,
            captured,
            encoded,
            data,
        }
    }

    fn nothing_usable(&self, after: Duration) -> Failure {
        let (named, seconds) = (self.options.shown(), after.as_secs());
        let (what, hint) = match self.maker {
            Maker::H264 { .. } => (
                format!("{named} sends no keyframe for {seconds} s"),
                "set the camera's keyframe interval to 1 or 2 s, or choose another format",
            ),
            _ => (
                format!("{named} sends nothing but damaged pictures for {seconds} s"),
                "connect it to another port, or choose a smaller size or another format",
            ),
        };
        Failure::new(FailureKind::Source, what, hint)
    }
}

/// Maker of frames from buffers of that layout.
fn maker(options: &V4l2Options, layout: Layout, rate: FrameRate) -> Result<Maker> {
    let side = |pixels: usize| u16::try_from(pixels).unwrap_or(u16::MAX);
    Ok(match layout.format {
        PixelFormat::H264 => Maker::H264 {
            stream: h264::Stream::default(),
            waiting: true,
        },
        PixelFormat::Mjpeg => Maker::Mjpeg((side(layout.width), side(layout.height))),
        _ => {
            let encoding = options.encoding.unwrap_or_default();
            let encoder = PictureEncoder::new(encoding, (layout.width, layout.height), rate)?;
            Maker::Raw(Box::new(encoder), layout)
        }
    })
}

/// Reads a buffer; `None` if its content is damaged.
fn read(maker: &Maker, bytes: &[u8]) -> Option<Content> {
    match maker {
        Maker::H264 { .. } => {
            let fits = !bytes.is_empty() && bytes.len() <= MAX_FRAME_BYTES;
            fits.then(|| Content::H264(Bytes::copy_from_slice(bytes)))
        }
        Maker::Mjpeg(_) => whole_image(bytes).map(|(image, size)| Content::Image(image, size)),
        Maker::Raw(_, layout) => layout.picture(bytes).map(Content::Picture),
    }
}

impl reconnect::Camera for V4l2Source {
    type Frame = Frame;

    fn named(&self) -> (String, &'static str) {
        (self.options.shown(), "opening the camera again")
    }

    fn reconnects(&self) -> bool {
        self.options.reconnect
    }

    fn backoff(&mut self) -> &mut Backoff {
        &mut self.backoff
    }

    fn is_open(&self) -> bool {
        self.streaming.is_some()
    }

    fn take(&mut self, deadline: Instant) -> Result<Frame> {
        let began = Instant::now();
        loop {
            let Some(streaming) = &mut self.streaming else {
                return Err(told(&self.options.path, &std::io::ErrorKind::TimedOut.into()));
            };
            let maker = &self.maker;
            let (content, buffer) = streaming
                .next(
                    deadline,
                    |bytes, buffer| {
                        if buffer.damaged { None } else { read(maker, bytes) }
                    },
                )
                .map_err(|error| told(&self.options.path, &error))?;
            if let Some(frame) = self.frame_of(content, &buffer)? {
                return Ok(frame);
            }
            if Instant::now() >= deadline {
                return Err(self.nothing_usable(began.elapsed()));
            }
        }
    }

    fn close(&mut self) {
        self.streaming = None;
    }

    fn open_again(&mut self, deadline: Instant) -> Result<()> {
        thread::sleep(self.backoff.pause(deadline));
        let camera = Camera::open(&self.options.path)?;
        let choice = choose(&camera.offers()?, &self.options)?;
        if (choice.size, choice.format) != (self.choice.size, self.choice.format) {
            let what = format!("{} came back with other pictures", self.options.shown());
            let hint = "start the publisher again, or fix size= and format=";
            return Err(Failure::new(FailureKind::Source, what, hint));
        }
        let (streaming, layout, _) = camera.start(&choice)?;
        match &mut self.maker {
            Maker::H264 { waiting, .. } => *waiting = true,
            Maker::Mjpeg(_) => {}
            Maker::Raw(encoder, of) => {
                *of = layout;
                encoder.request_keyframe();
            }
        }
        self.streaming = Some(streaming);
        tracing::info!(camera = %self.options.shown(), "the camera is on again");
        Ok(())
    }
}

impl Source for V4l2Source {
    fn info(&self) -> StreamInfo {
        match &self.maker {
            Maker::H264 { stream, .. } => stream.info(Some(self.rate)),
            Maker::Mjpeg((width, height)) => StreamInfo {
                codec: Codec::Mjpeg,
                width: *width,
                height: *height,
                rate: self.rate,
                parameters: Vec::new(),
            },
            Maker::Raw(encoder, _) => encoder.info(),
        }
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        match self.ahead.take() {
            Some(frame) => Ok(Some(frame)),
            None => reconnect::next_frame(self).map(Some),
        }
    }

    fn request_keyframe(&mut self) {
        if let Maker::Raw(encoder, _) = &mut self.maker {
            encoder.request_keyframe();
        }
    }

    fn makes_keyframes(&self) -> bool {
        matches!(self.maker, Maker::Raw(..))
    }

    fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        match &mut self.maker {
            Maker::Raw(encoder, _) => encoder.set_bitrate(bits_per_second),
            _ => false,
        }
    }

    fn aim_at(&mut self, bits_per_second: u64) -> Result<Option<u64>> {
        match &mut self.maker {
            Maker::Raw(encoder, _) => {
                // The first frame has other parameter sets.
                self.ahead = None;
                encoder.aim_at(bits_per_second)
            }
            _ => Ok(None),
        }
    }

    fn take_lost(&mut self) -> Lost {
        self.losses.take()
    }

    fn skip_if(&mut self, skip: Skip) {
        if let Maker::Raw(encoder, _) = &mut self.maker {
            encoder.skip_if(skip);
        }
    }
}

impl Drop for V4l2Source {
    fn drop(&mut self) {
        self.losses.say_rest(&self.options.shown());
    }
}

impl std::fmt::Debug for V4l2Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("V4l2Source")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
