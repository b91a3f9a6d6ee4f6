//! `http://127.0.0.1:9880`: shows the decoded picture in a browser.
//!
//! Every frame is decoded when it arrives, because H.264 requires it, and in a process of its own. A JPEG is encoded
//! only while a page is open, and only once for all open pages.

mod page;

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::unit::JpegWalker;
use tokio::sync::{oneshot, watch};
use zeroize::Zeroizing;

use self::page::{Newest, Shown};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Orientation, ReceivedFrame, SoundInfo, StreamInfo};
use crate::meter::metrics::Metrics;
use crate::sink::picture_decoder::{Decoded, PictureDecoder};
use crate::sink::proven_age::ProvenAge;
use crate::sink::{OnAge, OnAway, Sink};
use crate::web::{Listen, Listener};

/// Default port of the page.
pub const DEFAULT_PORT: u16 = 9880;

/// A sink that serves the picture to browsers.
pub struct HttpSink {
    url: Zeroizing<String>,
    newest: watch::Sender<Newest>,
    codec: Option<Codec>,
    /// Decodes H.264; the browser decodes Motion JPEG.
    decoder: PictureDecoder,
    orientation: Orientation,
    /// True after a frame that is no image.
    refused: bool,
    /// Stops the server when dropped.
    _server: oneshot::Sender<()>,
}

/// Open the sink: bind the address and serve the page, which waits for a picture. Answers that wait to be taken are
/// counted in `metrics`.
///
/// # Errors
/// The URL is invalid, or would open the picture to the network without the user's consent (kind `Usage`), or the
/// address cannot be bound (kind `Network`).
pub fn open(url: &str, metrics: Option<&Metrics>) -> Result<HttpSink> {
    let listener = Listen::parse(url, DEFAULT_PORT, "the decrypted picture")?.bind()?;
    HttpSink::serve(match metrics {
        Some(metrics) => listener.counted_in(metrics),
        None => listener,
    })
}

impl HttpSink {
    fn serve(listener: Listener) -> Result<Self> {
        let fail = |e: std::io::Error| {
            Failure::new(
                FailureKind::Sink,
                format!("the page's server does not start ({e})"),
                "free some memory or threads",
            )
        };
        let url = listener.reveal_url();
        listener.announce();
        let (newest, shown) = watch::channel(Newest::default());
        let (server, closed) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(fail)?;
        thread::Builder::new()
            .name("page".into())
            .spawn(move || {
                if let Err(failure) = runtime.block_on(page::serve(listener, shown, closed)) {
                    tracing::error!(%failure, "the page is gone");
                }
                // Do not wait for a JPEG that is still being encoded.
                runtime.shutdown_background();
            })
            .map_err(fail)?;
        Ok(Self {
            url,
            newest,
            codec: None,
            decoder: PictureDecoder::default(),
            orientation: Orientation::default(),
            refused: false,
            _server: server,
        })
    }

    /// Decode with this program file of sealcast instead of this program: for tests, which are other programs.
    #[must_use]
    pub fn decoding_by(mut self, program: &Path) -> Self {
        self.decoder.set_program(program.to_owned());
        self
    }

    /// The URL that opens the page, with the actual port and the token: for the user alone.
    pub fn reveal_url(&self) -> &str {
        &self.url
    }

    /// The image of a Motion JPEG frame, which goes to the browser as it came. `None` if the frame is no image: it
    /// could be anything that a browser takes for something else.
    fn pass_through(&mut self, frame: &ReceivedFrame) -> Option<Shown> {
        let image = JpegWalker::image(&frame.data).map(|length| frame.data.slice(..length));
        let image = image.map(|image| turned(image, self.orientation));
        if image.is_none() {
            self.newest.send_modify(|newest| newest.undecoded += 1);
            if !std::mem::replace(&mut self.refused, true) {
                tracing::warn!(
                    number = frame.number,
                    "a frame is no JPEG image and is not shown, nor are others like it"
                );
            }
        }
        image.map(Shown::Jpeg)
    }

    /// The picture of a frame, or `None` if it has none or cannot be decoded.
    fn decode(&mut self, frame: &ReceivedFrame) -> Option<Shown> {
        if self.codec? == Codec::Mjpeg {
            // The browser decodes it itself.
            return self.pass_through(frame);
        }
        match self.decoder.decode(frame) {
            Decoded::Picture(picture) => Some(Shown::Picture(Arc::new(picture))),
            Decoded::Nothing => None,
            Decoded::Lost => {
                self.newest.send_modify(|newest| newest.undecoded += 1);
                None
            }
        }
    }
}

/// A JPEG image that says in a segment of its own how it is turned (Exif).
fn turned(image: Bytes, orientation: Orientation) -> Bytes {
    /// Marker, length, `Exif`, and a TIFF header with one directory of one entry, which is the orientation.
    const EXIF: [u8; 28] = *b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01";
    const START_OF_IMAGE: usize = 2;
    if orientation.is_upright() {
        return image;
    }
    let turns = usize::from(orientation.quarter_turns());
    let value = match orientation.mirrored() {
        false => [1, 6, 3, 8][turns],
        true => [2, 7, 4, 5][turns],
    };
    let (start, rest) = image.split_at(START_OF_IMAGE);
    [start, &EXIF, &[0, value, 0, 0, 0, 0, 0, 0], rest].concat().into()
}

impl Sink for HttpSink {
    fn decode_time(&self) -> Option<Duration> {
        self.decoder.time()
    }

    fn wants_keyframe(&mut self) -> bool {
        self.decoder.wants_keyframe()
    }

    fn when_aged(&mut self) -> Option<OnAge> {
        let newest = self.newest.clone();
        Some(Arc::new(move |standing| {
            newest.send_if_modified(|newest| {
                newest.age = Some(ProvenAge::new(standing, Instant::now()));
                // It is no picture to send.
                false
            });
        }))
    }

    fn when_away(&mut self) -> Option<OnAway> {
        let newest = self.newest.clone();
        Some(Arc::new(move |words| {
            newest.send_if_modified(|newest| {
                newest.away = words;
                // It is no picture to send.
                false
            });
        }))
    }

    fn start_sound(&mut self, info: &SoundInfo) -> Result<()> {
        let codec = info.codec.name();
        tracing::info!(
            codec,
            "the stream has sound, which this page does not play: record to .mp4, or watch in a browser"
        );
        Ok(())
    }

    fn orient(&mut self, orientation: Orientation) -> Result<()> {
        self.orientation = orientation;
        self.decoder.orient(orientation);
        Ok(())
    }

    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        let codec = info.codec.title();
        self.codec = Some(info.codec);
        if info.codec != Codec::Mjpeg {
            self.decoder.start(info.codec, "the sink http:")?;
        }
        let words: Bytes = format!("{codec}, {}x{} pixels", info.width, info.height).into();
        self.newest.send_modify(|newest| newest.stream = words);
        Ok(())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let shown = self.decode(frame);
        self.newest.send_if_modified(|newest| {
            newest.frames += 1;
            let new = shown.is_some();
            if let Some(shown) = shown {
                newest.shown = Some(shown);
                newest.pictures += 1;
            }
            new
        });
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        // Keep the last picture on the page until the sink is dropped.
        self.newest.send_modify(|newest| newest.ended = true);
        Ok(())
    }
}
