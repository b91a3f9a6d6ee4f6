//! The sink: decodes, and hands the newest picture to the window.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;

use super::age::Stamp;
use super::display::{Window, WindowOptions};
use super::shared::{Shared, Shown};
use crate::archive::wall_now;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Orientation, ReceivedFrame, StreamInfo};
use crate::sink::picture_decoder::{Decoded, PictureDecoder};
use crate::sink::proven_age::ProvenAge;
use crate::sink::{OnAge, OnAway, OnClose, Sink};
use crate::source::Options;

/// Largest side of a window, as X counts them.
const MAX_SIDE: u16 = 16_384;

/// A sink that shows the picture in a window.
pub(in crate::sink) struct WindowSink {
    decoder: PictureDecoder,
    options: WindowOptions,
    stamp: Option<Stamp>,
    shared: Arc<Shared>,
    /// The thread that draws.
    drawing: Option<JoinHandle<Result<()>>>,
    pictures: u64,
}

/// Opens the window of what follows `window:`.
///
/// # Errors
/// An option makes no sense (kind `Usage`), or there is no display (kind `Sink`).
pub(in crate::sink) fn open(text: &str) -> Result<WindowSink> {
    let options = parse(text)?;
    let shared = Shared::new().map_err(|error| {
        let what = format!("the system gives no descriptor for the window ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on open files")
    })?;
    let shared = Arc::new(shared);
    let window = Window::open(options)?;
    let drawn = Arc::clone(&shared);
    let body = move || {
        let shown = window.show(&drawn);
        drawn.close();
        shown
    };
    let drawing = thread::Builder::new().name("window".into()).spawn(body);
    let drawing = drawing.map_err(|error| {
        let what = format!("the system gives no thread for the window ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })?;
    Ok(WindowSink {
        decoder: PictureDecoder::default(),
        options,
        stamp: None,
        shared,
        drawing: Some(drawing),
        pictures: 0,
    })
}

impl WindowSink {
    /// Waits until the window is closed.
    ///
    /// # Errors
    /// Its display is gone.
    fn join(&mut self) -> Result<()> {
        let joined = self.drawing.take().map_or(Ok(Ok(())), JoinHandle::join);
        joined.unwrap_or_else(|_| {
            let what = "the window's thread panicked";
            Err(Failure::new(FailureKind::Internal, what, "please report this"))
        })
    }
}

impl Sink for WindowSink {
    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        self.decoder.orient(orientation);
        Ok(())
    }

    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.decoder.start(info.codec, "the sink window:")
    }

    fn when_closed(&mut self, closed: OnClose) {
        self.shared.when_closed(closed);
    }

    fn when_aged(&mut self) -> Option<OnAge> {
        let shared = Arc::clone(&self.shared);
        Some(Arc::new(move |standing| {
            shared.note_age(ProvenAge::new(standing, Instant::now()))
        }))
    }

    fn when_away(&mut self) -> Option<OnAway> {
        let shared = Arc::clone(&self.shared);
        Some(Arc::new(move |words| shared.note_away(words)))
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        if self.options.latency {
            self.stamp = Some(Stamp::new(stamped, clock, wall_now()));
        }
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        if self.shared.is_closed() {
            // The end of the session is on its way, or the display is gone: then that is the reason.
            return self.join();
        }
        if let Decoded::Picture(picture) = self.decoder.decode(frame) {
            self.pictures += 1;
            self.shared.show(Shown {
                picture,
                stamp: self.stamp,
            });
        }
        Ok(())
    }

    fn decode_time(&self) -> Option<Duration> {
        self.decoder.time()
    }

    fn wants_keyframe(&mut self) -> bool {
        self.decoder.wants_keyframe()
    }

    fn finish(&mut self) -> Result<()> {
        self.shared.end();
        let drawn = self.join();
        let replaced = self.shared.replaced();
        tracing::info!(pictures = self.pictures, replaced, "the window is closed");
        drawn
    }
}

impl Drop for WindowSink {
    fn drop(&mut self) {
        self.shared.end();
        let _ = self.join();
    }
}

fn parse(text: &str) -> Result<WindowOptions> {
    let (rest, mut options) = Options::split(text);
    let known = "latency, fullscreen and size=WxH";
    if !rest.is_empty() {
        let what = format!("window: takes nothing but options, and not \"{rest}\"");
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            format!("the options are {known}"),
        ));
    }
    let size = options.take("size").map(|size| {
        let side = |text: &str| text.parse().ok().filter(|side| (1..=MAX_SIDE).contains(side));
        let sides = size
            .split_once('x')
            .and_then(|(width, height)| Some((side(width)?, side(height)?)));
        let what = format!("\"size={size}\" is no size of a window");
        sides.ok_or_else(|| {
            Failure::new(
                FailureKind::Usage,
                what,
                "write width and height in pixels: size=1280x720",
            )
        })
    });
    let parsed = WindowOptions {
        latency: options.flag("latency"),
        fullscreen: options.flag("fullscreen"),
        size: size.transpose()?,
    };
    options.finish(known)?;
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_a_window_are_few() {
        assert_eq!(parse("").expect("none"), WindowOptions::default());
        let all = parse("?latency=1&fullscreen&size=320x200").expect("all");
        let expected = WindowOptions {
            latency: true,
            fullscreen: true,
            size: Some((320, 200)),
        };
        assert_eq!(all, expected);
        for wrong in ["x", "//host", "?size=3", "?size=0x5", "?size=9x99999", "?colour=red"] {
            assert_eq!(parse(wrong).expect_err(wrong).kind, FailureKind::Usage, "{wrong}");
        }
    }
}
