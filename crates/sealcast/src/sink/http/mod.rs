//! `http://127.0.0.1:9880`: the decoded picture in a browser.
//!
//! Every frame is decoded as it comes, because H.264 needs it; a JPEG is made only while somebody looks, once for all
//! who do.

mod page;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{oneshot, watch};

use self::page::{Newest, Shown};
use crate::codec::Decoder;
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, ReceivedFrame, StreamInfo};
use crate::sink::Sink;
use crate::web::{Listen, Listener};

/// Port of the page unless the URL names one.
pub const DEFAULT_PORT: u16 = 9880;

/// A sink that serves the picture to browsers.
pub struct HttpSink {
    address: Listen,
    newest: watch::Sender<Newest>,
    decoder: Option<Decoder>,
    /// Set after a frame that did not decode, until the next keyframe.
    lost: bool,
    decode_time: Option<Duration>,
    /// Ends the server when dropped.
    _server: oneshot::Sender<()>,
}

/// Open the sink: bind the address and serve the page, which waits for a picture.
///
/// # Errors
/// If the URL makes no sense or would open the picture to the network unasked (kind `Usage`), or the address cannot be
/// bound (kind `Network`).
pub fn open(url: &str) -> Result<HttpSink> {
    let listener = Listen::parse(url, DEFAULT_PORT, "the decrypted picture")?.bind()?;
    HttpSink::serve(listener)
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
        let address = listener.listen();
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
                // A JPEG under way must not hold up the end.
                runtime.shutdown_background();
            })
            .map_err(fail)?;
        Ok(Self {
            address,
            newest,
            decoder: None,
            lost: false,
            decode_time: None,
            _server: server,
        })
    }

    /// Where the page is, with the port that was really taken.
    pub fn address(&self) -> Listen {
        self.address
    }

    /// The picture of a frame, or `None` where it has none or does not decode.
    fn decode(&mut self, frame: &ReceivedFrame) -> Option<Shown> {
        let decoder = self.decoder.as_mut()?;
        match decoder {
            // The browser decodes it itself.
            Decoder::Mjpeg => return Some(Shown::Jpeg(frame.data.clone())),
            Decoder::H264(_) if self.lost && !frame.keyframe => return None,
            Decoder::H264(_) => {}
        }
        let began = Instant::now();
        let decoded = decoder.decode(&frame.data);
        self.decode_time = Some(began.elapsed());
        match decoded {
            Ok(picture) => {
                self.lost = false;
                picture.map(|picture| Shown::Picture(Arc::new(picture)))
            }
            Err(failure) => {
                // A picture that is not shown is no reason to end the stream: the next keyframe heals it.
                tracing::warn!(number = frame.number, %failure, "a frame is not shown");
                self.lost = true;
                self.newest.send_modify(|newest| newest.undecoded += 1);
                None
            }
        }
    }
}

impl Sink for HttpSink {
    fn decode_time(&self) -> Option<Duration> {
        self.decode_time
    }

    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        let codec = match info.codec {
            Codec::H264 => "H.264",
            Codec::Mjpeg => "Motion JPEG",
        };
        self.decoder = Some(Decoder::new(info.codec)?);
        self.lost = false;
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
        // The last picture stays until the sink is dropped.
        self.newest.send_modify(|newest| newest.ended = true);
        Ok(())
    }
}
