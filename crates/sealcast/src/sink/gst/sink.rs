//! The sink: frames, as they are, with the times at which they are due.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use gstreamer::prelude::*;
use gstreamer::{Buffer, BufferFlags, Caps, ClockTime, Fraction, PadProbeData, PadProbeReturn, PadProbeType, State};
use gstreamer_app::AppSrc;
use gstreamer_video::UpstreamForceKeyUnitEvent;

use super::timeline::Timeline;
use crate::failure::{Failure, FailureKind, Result};
use crate::gst::Pipeline;
use crate::media::{Codec, ReceivedFrame, StreamInfo};
use crate::sink::Sink;

/// Name of the element that gives the frames.
const SOURCE: &str = "sealcast";

/// Frames, and their bytes, that wait in front of the pipeline at most.
const FRAMES_WAITING: u64 = 8;
const BYTES_WAITING: u64 = 16 << 20;

/// Longest time that the pipeline may take no frame while it has enough of them.
const PATIENCE: Duration = Duration::from_secs(5);
/// Longest time for completing what the pipeline writes.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// Pause between looks at a pipeline that is full.
const LOOK: Duration = Duration::from_millis(2);

/// Least time between two requests for a keyframe.
const ASK_INTERVAL: Duration = Duration::from_secs(1);

/// A pipeline that takes the frames of a stream.
pub(in crate::sink) struct GstSink {
    pipeline: Pipeline,
    source: AppSrc,
    codec: Option<Codec>,
    timeline: Timeline,
    /// Set by a decoder of the pipeline that has lost the picture.
    lost: Arc<AtomicBool>,
    asked: Option<Instant>,
    failed: bool,
}

/// Makes the pipeline, and opens what its elements open before there is a stream, such as a display.
///
/// # Errors
/// The text is no pipeline, an element is not installed, or does not find what it needs.
pub(in crate::sink) fn open(text: &str) -> Result<GstSink> {
    if text.trim().is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "the URL gst: has no pipeline",
            "write one as for gst-launch-1.0, without a source: 'gst:decodebin ! autovideosink'",
        ));
    }
    let mut pipeline = Pipeline::parse(&format!("appsrc name={SOURCE} ! {text}"), FailureKind::Sink)?;
    let source = pipeline
        .element(SOURCE)
        .and_then(|element| element.downcast::<AppSrc>().ok());
    let source = source.ok_or_else(|| pipeline.broken("it has an element named sealcast of its own"))?;
    source.set_is_live(true);
    source.set_format(gstreamer::Format::Time);
    source.set_block(false);
    source.set_max_bytes(0);
    let lost = Arc::new(AtomicBool::new(false));
    if let Some(pad) = source.static_pad("src") {
        let lost = Arc::clone(&lost);
        pad.add_probe(PadProbeType::EVENT_UPSTREAM, move |_, probe| {
            if let Some(PadProbeData::Event(event)) = &probe.data
                && UpstreamForceKeyUnitEvent::parse(event).is_ok()
            {
                lost.store(true, Ordering::Relaxed);
            }
            PadProbeReturn::Ok
        });
    }
    pipeline.enter(State::Ready)?;
    Ok(GstSink {
        pipeline,
        source,
        codec: None,
        timeline: Timeline::default(),
        lost,
        asked: None,
        failed: false,
    })
}

impl GstSink {
    /// Waits while enough frames are in front of the pipeline.
    fn wait_for_room(&mut self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if self.pipeline.look()? {
                return Err(Failure::new(
                    FailureKind::Sink,
                    "the GStreamer pipeline ended by itself",
                    "leave out what ends it, such as num-buffers",
                ));
            }
            if self.source.current_level_buffers() < FRAMES_WAITING && self.source.current_level_bytes() < BYTES_WAITING
            {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Failure::new(
                    FailureKind::Sink,
                    format!("the GStreamer pipeline takes no frame for {} s", PATIENCE.as_secs()),
                    "put a queue before what blocks, or see with GST_DEBUG=3 in the environment what it waits for",
                ));
            }
            thread::sleep(LOOK);
        }
    }

    fn push(&mut self, frame: &ReceivedFrame) -> Result<()> {
        self.wait_for_room()?;
        let now = self
            .pipeline
            .inner()
            .current_running_time()
            .map(Duration::from)
            .unwrap_or_default();
        let due = self.timeline.due(frame.media_time, now);
        let mut buffer = Buffer::from_slice(frame.data.clone());
        if let Some(buffer) = buffer.get_mut() {
            buffer.set_pts(ClockTime::from_nseconds(
                u64::try_from(due.as_nanos()).unwrap_or(u64::MAX - 1),
            ));
            if !frame.keyframe {
                buffer.set_flags(BufferFlags::DELTA_UNIT);
            }
        }
        if self.source.push_buffer(buffer).is_err() {
            self.pipeline.look()?;
            return Err(self.pipeline.broken("it takes no more frames"));
        }
        Ok(())
    }
}

impl Sink for GstSink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.source.set_caps(Some(&caps(info)));
        if self.codec.replace(info.codec).is_none() {
            let started = self.pipeline.enter(State::Playing);
            self.failed = started.is_err();
            started?;
        }
        Ok(())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let pushed = self.push(frame);
        self.failed = pushed.is_err();
        pushed
    }

    fn wants_keyframe(&mut self) -> bool {
        let allowed = self.asked.is_none_or(|asked| asked.elapsed() >= ASK_INTERVAL);
        let wanted = allowed && self.lost.swap(false, Ordering::Relaxed);
        if wanted {
            self.asked = Some(Instant::now());
        }
        wanted
    }

    fn finish(&mut self) -> Result<()> {
        if self.failed || self.codec.is_none() {
            return Ok(());
        }
        // It fails only if the pipeline has stopped, and then that was told.
        let _ = self.source.end_of_stream();
        match self.pipeline.wait_for_end(END_PATIENCE)? {
            true => Ok(()),
            false => Err(Failure::new(
                FailureKind::Sink,
                format!("the GStreamer pipeline did not end within {} s", END_PATIENCE.as_secs()),
                "what it wrote may lack its end; see with GST_DEBUG=3 in the environment what it waits for",
            )),
        }
    }
}

/// Format of the frames, in GStreamer's words.
fn caps(info: &StreamInfo) -> Caps {
    let builder = match info.codec {
        Codec::H264 => Caps::builder("video/x-h264")
            .field("stream-format", "byte-stream")
            .field("alignment", "au"),
        Codec::H265 => Caps::builder("video/x-h265")
            .field("stream-format", "byte-stream")
            .field("alignment", "au"),
        Codec::Av1 => Caps::builder("video/x-av1")
            .field("stream-format", "obu-stream")
            .field("alignment", "tu"),
        Codec::Mjpeg => Caps::builder("image/jpeg").field("parsed", true),
    };
    let part = |number: u32| i32::try_from(number).unwrap_or(i32::MAX).max(1);
    let sized = builder
        .field("width", i32::from(info.width))
        .field("height", i32::from(info.height));
    sized
        .field(
            "framerate",
            Fraction::new(part(info.rate.numerator), part(info.rate.denominator)),
        )
        .build()
}
