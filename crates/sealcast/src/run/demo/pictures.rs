//! The demo's three pictures: the camera's own, the data on the network, and the viewer's.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::codec::{Decoder, jpeg};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Codec, Frame, Picture, ReceivedFrame, StreamInfo};
use crate::sink::Sink;
use crate::web::demo::DemoFeeds;
use crate::web::wire_picture;

/// Width of the previews.
const PREVIEW_WIDTH: usize = 480;
const PREVIEW_QUALITY: u8 = 75;
/// Size of the picture of sealed bytes.
const WIRE_SIZE: (u16, u16) = (128, 96);
/// Minimum time between previews; people would not notice more.
const PREVIEW_INTERVAL: Duration = Duration::from_millis(80);

/// Limits the rate of previews.
#[derive(Default)]
pub(super) struct Pace(Option<Instant>);

impl Pace {
    pub(super) fn due(&mut self) -> bool {
        let due = self.0.is_none_or(|last| last.elapsed() >= PREVIEW_INTERVAL);
        if due {
            self.0 = Some(Instant::now());
        }
        due
    }
}

/// A decoder that skips from a frame that cannot be decoded to the next keyframe, and says so once.
struct Preview {
    decoder: Decoder,
    lost: bool,
}

impl Preview {
    fn new(codec: Codec) -> Result<Self> {
        Ok(Self {
            decoder: Decoder::new(codec)?,
            lost: false,
        })
    }

    fn decode(&mut self, frame: &[u8], keyframe: bool) -> Option<Picture> {
        if self.lost && !(keyframe && self.decoder.rest().is_zero()) {
            return None;
        }
        match self.decoder.decode(frame) {
            Ok(picture) => {
                self.lost = false;
                picture
            }
            Err(failure) => {
                if !std::mem::replace(&mut self.lost, true) {
                    tracing::warn!(%failure, "a frame of the demo is not shown");
                }
                None
            }
        }
    }
}

/// Shows the camera's own picture: a separate thread decodes its frames before they are sealed.
pub(super) struct CameraTap {
    frames: SyncSender<(Bytes, bool)>,
    measured: SyncSender<Bytes>,
    lost: bool,
}

impl CameraTap {
    pub(super) fn new(feeds: Arc<DemoFeeds>, codec: Codec, measured: SyncSender<Bytes>) -> Result<Self> {
        let (frames, waiting) = sync_channel::<(Bytes, bool)>(8);
        let (started, start) = sync_channel(1);
        thread("camera picture", move || {
            // On this thread: the decoder's process ends with the one that started it.
            let mut decoder = match Preview::new(codec) {
                Ok(decoder) => decoder,
                Err(failure) => return drop(started.send(Err(failure))),
            };
            drop(started.send(Ok(())));
            let mut pace = Pace::default();
            for (frame, keyframe) in waiting {
                if let Some(picture) = decoder.decode(&frame, keyframe)
                    && feeds.watched()
                    && pace.due()
                {
                    show(&picture, |jpeg| feeds.show_camera(jpeg));
                }
            }
        })?;
        start.recv().map_err(|_| {
            let what = "the thread for the camera picture failed";
            Failure::new(FailureKind::Internal, what, "please report this")
        })??;
        Ok(Self {
            frames,
            measured,
            lost: false,
        })
    }

    pub(super) fn take(&mut self, frame: &Frame) {
        // If the queue is full, skip the frame: measurements and previews must not delay the camera.
        let _ = self.measured.try_send(frame.data.clone());
        if self.lost && !frame.keyframe {
            return;
        }
        self.lost = self.frames.try_send((frame.data.clone(), frame.keyframe)).is_err();
    }
}

/// Shows the data on the network: the bytes of the sealed records as grey dots.
pub(super) struct WirePicture {
    records: SyncSender<Vec<u8>>,
    pace: Mutex<Pace>,
}

impl WirePicture {
    pub(super) fn start(feeds: Arc<DemoFeeds>) -> Result<Self> {
        let (records, waiting) = sync_channel::<Vec<u8>>(1);
        thread("wire picture", move || {
            for bytes in waiting {
                if feeds.watched() {
                    feeds.show_wire(wire_picture(&bytes, WIRE_SIZE.0, WIRE_SIZE.1));
                }
            }
        })?;
        Ok(Self {
            records,
            pace: Mutex::default(),
        })
    }

    pub(super) fn take(&self, bytes: &[u8]) {
        let due = self.pace.lock().is_ok_and(|mut pace| pace.due());
        if due {
            let size = usize::from(WIRE_SIZE.0) * usize::from(WIRE_SIZE.1);
            // If the queue is full, skip this record.
            let _ = self.records.try_send(bytes[..bytes.len().min(size)].to_vec());
        }
    }
}

/// The viewer's end: decodes every frame and shows the picture.
pub(super) struct PreviewSink {
    feeds: Arc<DemoFeeds>,
    decoder: Option<Preview>,
    decode_time: Option<Duration>,
    pace: Pace,
    pictures: Option<SyncSender<Picture>>,
}

impl PreviewSink {
    pub(super) fn new(feeds: Arc<DemoFeeds>) -> Self {
        Self {
            feeds,
            decoder: None,
            decode_time: None,
            pace: Pace::default(),
            pictures: None,
        }
    }
}

impl Sink for PreviewSink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.decoder = Some(Preview::new(info.codec)?);
        let (pictures, waiting) = sync_channel::<Picture>(1);
        let feeds = Arc::clone(&self.feeds);
        thread("viewer picture", move || {
            for picture in waiting {
                show(&picture, |jpeg| feeds.show_viewer(jpeg));
            }
        })?;
        self.pictures = Some(pictures);
        Ok(())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(());
        };
        let began = Instant::now();
        let decoded = decoder.decode(&frame.data, frame.keyframe);
        self.decode_time = Some(began.elapsed());
        if let (Some(picture), Some(pictures)) = (decoded, &self.pictures)
            && self.feeds.watched()
            && self.pace.due()
        {
            // If the queue is full, skip this picture; the page gets a newer one soon.
            let _ = pictures.try_send(picture);
        }
        Ok(())
    }

    fn decode_time(&self) -> Option<Duration> {
        self.decode_time
    }

    fn finish(&mut self) -> Result<()> {
        self.pictures = None;
        Ok(())
    }
}

pub(super) fn show(picture: &Picture, feed: impl FnOnce(Vec<u8>)) {
    match jpeg::preview(picture, PREVIEW_WIDTH, PREVIEW_QUALITY) {
        Ok(jpeg) => feed(jpeg),
        Err(failure) => tracing::debug!(%failure, "a preview could not be made"),
    }
}

pub(super) fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(body)
        .map(drop)
        .map_err(|error| {
            let what = format!("the system gives no thread for the {name} ({error})");
            Failure::new(FailureKind::Internal, what, "raise the limit on threads")
        })
}
