//! The source: what comes out of the pipeline, as frames.

use std::time::{Duration, Instant};

use bytes::Bytes;
use gstreamer::prelude::*;
use gstreamer::{Caps, ClockTime, SampleRef, State, StateChangeSuccess};
use gstreamer_app::AppSink;
use gstreamer_video::{UpstreamForceKeyUnitEvent, VideoFrameExt, VideoFrameRef, VideoInfo};
use sealcast_proto::timeline::Jumps;

use super::attach::{SINK, attach};
use super::encoder::PipelineEncoder;
use super::stamps::{Stamped, Stamps};
use crate::failure::{Failure, FailureKind, Result};
use crate::gst::Pipeline;
use crate::media::{Codec, Frame, FrameRate, Picture, StreamInfo, Track};
use crate::source::coded::{ASSUMED_RATE, MAX_FRAME_BYTES, sane_rate};
use crate::source::gst_options::GstOptions;
use crate::source::losses::Losses;
use crate::source::picture_encoder::PictureEncoder;
use crate::source::predicted::Predicted;
use crate::source::v4l2::whole_image;
use crate::source::{Encoding, Lost, SOURCE_PATIENCE, Skip, Source, contain, stood_still};

/// Encoded frames that wait for this program at most; then the pipeline waits.
const FRAMES_WAITING: u32 = 8;

/// The source in messages about lost frames, and what helps against them.
const NAME: &str = "the GStreamer pipeline";
const ADVICE: &str = "its frames must be whole; GST_DEBUG=3 shows what its elements complain about";

/// Longest wait between two looks at what the elements report.
const LOOK: Duration = Duration::from_millis(100);

/// An encoder that makes no keyframe within this many frames after it was asked for one makes none on request.
const KEYFRAME_PATIENCE: u32 = 60;

/// Maker of frames from what the pipeline gives.
enum Maker {
    /// Access units in which frames depend on those before them, passed through.
    Predicted {
        stream: Predicted,
        /// True while waiting for a keyframe: at the start, and after a damaged frame.
        waiting: bool,
        /// The encoder that made them, if it is in the pipeline.
        encoder: Option<PipelineEncoder>,
        /// Frames since a keyframe was asked for.
        asked: Option<u32>,
        makes_keyframes: bool,
    },
    /// Images, passed through, and their size.
    Mjpeg((u16, u16)),
    /// Pictures, encoded here.
    Raw {
        encoder: Box<PictureEncoder>,
        info: VideoInfo,
    },
}

/// A GStreamer pipeline.
pub(in crate::source) struct GstSource {
    pipeline: Pipeline,
    sink: AppSink,
    encoding: Option<Encoding>,
    /// Set with the first frame, which opening waits for.
    stream: Option<(Caps, FrameRate, Maker)>,
    live: bool,
    stamps: Stamps,
    ahead: Option<Frame>,
    losses: Losses,
    /// Failure that stopped it, if it has stopped.
    failed: Option<Failure>,
}

impl GstSource {
    /// Starts the pipeline and waits for its first frame.
    ///
    /// # Errors
    /// The pipeline cannot be made or started, an element of it fails, it gives nothing, or nothing that is carried.
    pub(in crate::source) fn open(options: &GstOptions) -> Result<Self> {
        let text = format!("{} ! appsink name={SINK}", options.pipeline);
        let mut pipeline = Pipeline::parse(&text, FailureKind::Source)?;
        let sink = pipeline
            .element(SINK)
            .and_then(|element| element.downcast::<AppSink>().ok());
        let sink = sink.ok_or_else(|| pipeline.broken("it has an element named sealcast of its own"))?;
        attach(&pipeline, &sink)?;
        let live = pipeline.enter(State::Paused)? == StateChangeSuccess::NoPreroll;
        // What is live comes when it is there. Everything else is played by the clock, like a file.
        sink.set_sync(!live);
        sink.set_max_buffers(FRAMES_WAITING);
        sink.set_property("enable-last-sample", false);
        pipeline.enter(State::Playing)?;
        let mut source = Self {
            live,
            stamps: Stamps::of(&pipeline, live),
            pipeline,
            sink,
            encoding: options.encoding,
            stream: None,
            ahead: None,
            losses: Losses::new(ADVICE),
            failed: None,
        };
        source.ahead = source.take(Instant::now() + SOURCE_PATIENCE)?;
        if source.ahead.is_none() {
            let hint = "try the pipeline with gst-launch-1.0 and fakesink in sealcast's place";
            return Err(Failure::new(
                FailureKind::Source,
                "the GStreamer pipeline ended without a frame",
                hint,
            ));
        }
        source.describe();
        Ok(source)
    }

    fn describe(&self) {
        let stamp = self.ahead.as_ref().map_or("none", |frame| frame.stamp.name());
        let (encoder, follows) = match &self.stream {
            Some((
                _,
                _,
                Maker::Predicted {
                    encoder: Some(encoder), ..
                },
            )) => (encoder.name(), encoder.follows()),
            Some((_, _, Maker::Raw { .. })) => ("sealcast's".to_owned(), true),
            _ => ("none".to_owned(), false),
        };
        let live = self.live;
        tracing::info!(
            live,
            stamp,
            encoder,
            rate_follows = follows,
            "GStreamer pipeline opened"
        );
    }

    /// The next frame; `None` at the end of the stream.
    fn take(&mut self, deadline: Instant) -> Result<Option<Frame>> {
        loop {
            let Some(sample) = self.sample(deadline)? else {
                return Ok(None);
            };
            let captured = Instant::now();
            let stamped = self.stamps.place(&self.pipeline, &sample, captured);
            if let Some((data, keyframe)) = contain(|| self.make(&sample))? {
                return Ok(Some(self.frame(data, keyframe, stamped, captured)));
            }
            if Instant::now() >= deadline {
                return Err(self.nothing_usable());
            }
        }
    }

    /// The next buffer of the pipeline; `None` at the end of the stream.
    fn sample(&mut self, mut deadline: Instant) -> Result<Option<gstreamer::Sample>> {
        loop {
            let ended = self.pipeline.look()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = u64::try_from(left.min(LOOK).as_nanos()).unwrap_or(u64::MAX);
            if let Some(sample) = self.sink.try_pull_sample(ClockTime::from_nseconds(wait)) {
                return Ok(Some(sample));
            }
            if self.sink.is_eos() || ended {
                // An element that failed has said so before the end came here.
                self.pipeline.look()?;
                return Ok(None);
            }
            if left.is_zero() {
                if stood_still(deadline) {
                    deadline = Instant::now() + SOURCE_PATIENCE;
                    continue;
                }
                return Err(Failure::new(
                    FailureKind::Source,
                    format!(
                        "the GStreamer pipeline gives nothing for {} s",
                        SOURCE_PATIENCE.as_secs()
                    ),
                    "check the camera, or try the pipeline with gst-launch-1.0 and fakesink in sealcast's place",
                ));
            }
        }
    }

    /// Makes a frame of a buffer; `None` if it is left out.
    fn make(&mut self, sample: &SampleRef) -> Result<Option<(Bytes, bool)>> {
        let Some((buffer, caps)) = sample.buffer().zip(sample.caps()) else {
            return Ok(None);
        };
        if self.stream.as_ref().is_none_or(|(known, ..)| known.as_ref() != caps) {
            self.begin(&caps.to_owned())?;
        }
        let Some((.., maker)) = &mut self.stream else {
            return Ok(None);
        };
        if let Maker::Raw { encoder, info } = maker {
            let picture = picture(buffer, info)?;
            return match encoder.leaves_out() {
                true => Ok(None),
                false => encoder.encode(&picture).map(Some),
            };
        }
        let sync = !buffer.flags().contains(gstreamer::BufferFlags::DELTA_UNIT);
        let fits = (1..=MAX_FRAME_BYTES).contains(&buffer.size());
        let bytes = buffer.map_readable().ok().filter(|_| fits);
        let made = bytes.and_then(|bytes| maker.take(&bytes, sync));
        let missing = Lost {
            damaged: made.is_none().into(),
            // Before the first keyframe nothing is lost.
            left_out: (made == Some(None) && self.losses.any()).into(),
            dropped: 0,
        };
        self.losses.count(NAME, missing);
        Ok(made.flatten())
    }

    /// A stream begins, or goes on in another format.
    fn begin(&mut self, caps: &Caps) -> Result<()> {
        let rate = caps
            .structure(0)
            .and_then(|structure| structure.get::<gstreamer::Fraction>("framerate").ok());
        let rate = rate.and_then(|rate| {
            let part = |number: i32| u32::try_from(number).ok();
            sane_rate(part(rate.numer())?, part(rate.denom())?)
        });
        let rate = rate.unwrap_or(ASSUMED_RATE);
        let name = caps
            .structure(0)
            .map(|structure| structure.name().to_string())
            .unwrap_or_default();
        let maker = match (self.stream.take(), name.as_str()) {
            (Some((_, _, maker)), name) if maker.codec().is_some_and(|codec| of_name(name) == Some(codec)) => maker,
            (Some((_, _, Maker::Raw { mut encoder, .. })), "video/x-raw") => {
                let (info, size) = raw(caps)?;
                encoder.restart(size, rate)?;
                Maker::Raw { encoder, info }
            }
            (Some(_), _) => {
                let what = format!("the GStreamer pipeline changed its format to {name}");
                return Err(Failure::new(FailureKind::Source, what, "start the publisher again"));
            }
            (None, name) => self.maker(name, caps, rate)?,
        };
        self.stream = Some((caps.clone(), rate, maker));
        Ok(())
    }

    fn maker(&self, name: &str, caps: &Caps, rate: FrameRate) -> Result<Maker> {
        if name == "video/x-raw" {
            let (info, size) = raw(caps)?;
            let encoder = Box::new(PictureEncoder::new(self.encoding.unwrap_or_default(), size, rate)?);
            if self.live {
                // A picture that comes while another one is encoded takes the place of one that waits.
                self.sink.set_max_buffers(1);
                self.sink.set_drop(true);
            }
            return Ok(Maker::Raw { encoder, info });
        }
        if self.encoding.is_some() {
            return Err(Failure::new(
                FailureKind::Usage,
                "the GStreamer pipeline encodes by itself, so bitrate, gop and quantizer are its encoder's",
                "write them as properties, as in x264enc bitrate=2000 (kbit/s) key-int-max=60",
            ));
        }
        let codec = of_name(name).unwrap_or(Codec::H264);
        if codec == Codec::Mjpeg {
            return Ok(Maker::Mjpeg((0, 0)));
        }
        let encoder = PipelineEncoder::before(self.sink.upcast_ref());
        Ok(Maker::Predicted {
            stream: Predicted::of(codec),
            waiting: true,
            makes_keyframes: encoder.is_some(),
            encoder,
            asked: None,
        })
    }

    fn frame(&self, data: Bytes, keyframe: bool, stamped: Stamped, captured: Instant) -> Frame {
        let encoded = match &self.stream {
            Some((.., Maker::Raw { .. })) => Instant::now(),
            _ => captured,
        };
        Frame {
            track: Track::Picture,
            number: 0,
            keyframe,
            media_time: stamped.media_time,
            began: stamped.began,
            stamp: stamped.kind,
            captured,
            encoded,
            data,
        }
    }

    fn nothing_usable(&self) -> Failure {
        let seconds = SOURCE_PATIENCE.as_secs();
        let what = match &self.stream {
            Some((.., Maker::Predicted { .. })) => format!("the GStreamer pipeline gives no keyframe for {seconds} s"),
            _ => format!("the GStreamer pipeline gives nothing but damaged pictures for {seconds} s"),
        };
        Failure::new(
            FailureKind::Source,
            what,
            "set the encoder's keyframe interval to 1 or 2 s, as in x264enc key-int-max=60",
        )
    }

    fn maker_of(&self) -> Option<&Maker> {
        self.stream.as_ref().map(|(.., maker)| maker)
    }

    fn raw_encoder(&mut self) -> Option<&mut PictureEncoder> {
        match &mut self.stream {
            Some((.., Maker::Raw { encoder, .. })) => Some(encoder),
            _ => None,
        }
    }
}

impl Maker {
    /// The codec of what passes through.
    fn codec(&self) -> Option<Codec> {
        match self {
            Self::Predicted { stream, .. } => Some(stream.codec()),
            Self::Mjpeg(_) => Some(Codec::Mjpeg),
            Self::Raw { .. } => None,
        }
    }

    /// The frame of an encoded buffer: `None` if it is damaged, nothing if it is left out while a keyframe is awaited.
    fn take(&mut self, bytes: &[u8], sync: bool) -> Option<Option<(Bytes, bool)>> {
        match self {
            Self::Predicted {
                stream,
                waiting,
                asked,
                makes_keyframes,
                ..
            } => {
                let finished = stream.finish(Bytes::copy_from_slice(bytes), sync);
                let Ok((data, keyframe)) = finished else {
                    *waiting = true;
                    return None;
                };
                *waiting = *waiting && !(keyframe && stream.is_decodable());
                *asked = asked.filter(|_| !keyframe).map(|frames| frames + 1);
                if asked.is_some_and(|frames| frames > KEYFRAME_PATIENCE) {
                    *asked = None;
                    if std::mem::take(makes_keyframes) {
                        tracing::warn!("the pipeline's encoder makes no keyframe on request: viewers that join wait");
                    }
                }
                Some((!*waiting).then_some((data, keyframe)))
            }
            Self::Mjpeg(size) => {
                let (image, new) = whole_image(bytes)?;
                *size = new;
                Some(Some((image, true)))
            }
            Self::Raw { .. } => None,
        }
    }
}

/// The codec that GStreamer calls so.
fn of_name(name: &str) -> Option<Codec> {
    match name {
        "video/x-h264" => Some(Codec::H264),
        "video/x-h265" => Some(Codec::H265),
        "video/x-av1" => Some(Codec::Av1),
        "image/jpeg" => Some(Codec::Mjpeg),
        _ => None,
    }
}

/// The format of raw pictures, and their size.
fn raw(caps: &Caps) -> Result<(VideoInfo, (usize, usize))> {
    let info = VideoInfo::from_caps(caps).map_err(|_| {
        let what = "the GStreamer pipeline gives raw pictures whose format is not told";
        Failure::new(FailureKind::Source, what, "let it end in ! videoconvert")
    })?;
    let (width, height) = (info.width() as usize, info.height() as usize);
    if !width.is_multiple_of(2) || !height.is_multiple_of(2) {
        return Err(Failure::new(
            FailureKind::Source,
            format!("the GStreamer pipeline gives pictures of {width}x{height} pixels, and sides must be even"),
            "let it end in ! videoscale ! video/x-raw,width=W,height=H",
        ));
    }
    Ok((info, (width, height)))
}

/// Copies a picture without the padding of its lines.
fn picture(buffer: &gstreamer::BufferRef, info: &VideoInfo) -> Result<Picture> {
    let broken = || {
        let what = "the GStreamer pipeline gave a picture that cannot be read";
        Failure::new(FailureKind::Source, what, "let it end in ! videoconvert")
    };
    let frame = VideoFrameRef::from_buffer_ref_readable(buffer, info).map_err(|_| broken())?;
    let (width, height) = (info.width() as usize, info.height() as usize);
    let plane = |index: u32, width: usize, height: usize| {
        let stride = usize::try_from(*frame.plane_stride().get(index as usize)?).ok()?;
        let data = frame.plane_data(index).ok()?;
        let mut out = Vec::with_capacity(width * height);
        for line in 0..height {
            out.extend_from_slice(data.get(line * stride..)?.get(..width)?);
        }
        Some(out)
    };
    let planes = (
        plane(0, width, height),
        plane(1, width / 2, height / 2),
        plane(2, width / 2, height / 2),
    );
    let (Some(y), Some(u), Some(v)) = planes else {
        return Err(broken());
    };
    Ok(Picture { width, height, y, u, v })
}

impl Source for GstSource {
    fn info(&self) -> StreamInfo {
        match &self.stream {
            Some((_, rate, Maker::Predicted { stream, .. })) => stream.info(Some(*rate)),
            Some((.., Maker::Raw { encoder, .. })) => encoder.info(),
            Some((_, rate, Maker::Mjpeg((width, height)))) => images(*rate, (*width, *height)),
            None => images(ASSUMED_RATE, (0, 0)),
        }
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        if let Some(frame) = self.ahead.take() {
            return Ok(Some(frame));
        }
        if let Some(failure) = &self.failed {
            return Err(failure.clone());
        }
        let taken = self.take(Instant::now() + SOURCE_PATIENCE);
        if let Err(failure) = &taken {
            // It lets go of its devices, so that the source can be opened again. What that says is no news.
            let _ = self.pipeline.enter(State::Null);
            self.failed = Some(failure.clone());
        }
        taken
    }

    fn request_keyframe(&mut self) {
        match &mut self.stream {
            Some((.., Maker::Raw { encoder, .. })) => encoder.request_keyframe(),
            Some((
                ..,
                Maker::Predicted {
                    encoder: Some(_),
                    asked,
                    ..
                },
            )) => {
                let event = UpstreamForceKeyUnitEvent::builder().all_headers(true).build();
                let sent = self.sink.static_pad("sink").is_some_and(|pad| pad.push_event(event));
                tracing::debug!(sent, "a keyframe was asked of the pipeline's encoder");
                asked.get_or_insert(0);
            }
            _ => {}
        }
    }

    fn makes_keyframes(&self) -> bool {
        match self.maker_of() {
            Some(Maker::Predicted { makes_keyframes, .. }) => *makes_keyframes,
            Some(Maker::Raw { .. }) => true,
            _ => false,
        }
    }

    fn set_bitrate(&mut self, bits_per_second: u64) -> bool {
        match &mut self.stream {
            Some((
                ..,
                Maker::Predicted {
                    encoder: Some(encoder), ..
                },
            )) => encoder.set_bitrate(bits_per_second),
            Some((.., Maker::Raw { encoder, .. })) => encoder.set_bitrate(bits_per_second),
            _ => false,
        }
    }

    fn aim_at(&mut self, bits_per_second: u64) -> Result<Option<u64>> {
        let Some(encoder) = self.raw_encoder() else {
            return Ok(None);
        };
        let aimed = encoder.aim_at(bits_per_second);
        // The first frame has other parameter sets.
        self.ahead = None;
        aimed
    }

    fn take_lost(&mut self) -> Lost {
        self.losses.take()
    }

    fn take_jumps(&mut self) -> Jumps {
        self.stamps.take_jumps()
    }

    fn skip_if(&mut self, skip: Skip) {
        if let Some(encoder) = self.raw_encoder() {
            encoder.skip_if(skip);
        }
    }
}

fn images(rate: FrameRate, (width, height): (u16, u16)) -> StreamInfo {
    StreamInfo {
        codec: Codec::Mjpeg,
        width,
        height,
        rate,
        parameters: Vec::new(),
    }
}

impl Drop for GstSource {
    fn drop(&mut self) {
        self.losses.say_rest(NAME);
    }
}
