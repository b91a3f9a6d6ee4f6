//! View of somebody on the demo's network.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::pictures::{Pace, show, thread};
use crate::codec::Decoder;
use crate::eavesdrop::{Carriage, FrameGatherer, GREY_LUMA, Gathered, LiveAttack, PartialFrame, Seen, Wiretap};
use crate::failure::Result;
use crate::media::{Picture, StreamInfo};
use crate::web::demo::DemoFeeds;

/// Maximum number of frames queued for the eavesdropper; further ones are not heard.
const WAITING: usize = 8;
/// An attack is followed by a rest as many times as long, so that guessing does not slow down the stream.
const RESTS: u32 = 3;
/// After as many frames of which nothing can be shown, the picture is given up.
const BLIND_FRAMES: u32 = 30;
/// After as many records that belong to no frame, the session is taken for another one.
const STRAY_RECORDS: u32 = 64;
/// Weight of what was known before in the share that is known.
const PERSISTENCE: f64 = 0.95;

/// Attacks the bytes on the network on a thread of its own, without keys.
pub(super) struct Eavesdropper {
    heard: SyncSender<Vec<u8>>,
    share: Arc<Mutex<Share>>,
}

/// Bytes of the latest frames.
#[derive(Clone, Copy, Default)]
struct Share {
    known: f64,
    all: f64,
}

impl Eavesdropper {
    /// Listens to a stream of which this is known.
    pub(super) fn start(feeds: Arc<DemoFeeds>, info: StreamInfo) -> Result<Self> {
        let (heard, waiting) = sync_channel(WAITING);
        let share = Arc::new(Mutex::new(Share::default()));
        let shared = Arc::clone(&share);
        thread("eavesdropper", move || match Listening::new(&info, feeds, shared) {
            Ok(mut listening) => listening.run(&waiting),
            Err(failure) => tracing::warn!("the eavesdropper's picture is not shown: {failure}"),
        })?;
        Ok(Self { heard, share })
    }

    /// Hears the records of a frame.
    pub(super) fn hear(&self, bytes: &[u8]) {
        // If the queue is full, the frame is missed: this must not delay the publisher.
        let _ = self.heard.try_send(bytes.to_vec());
    }

    /// Share of the latest frames' bytes that are known, in percent.
    pub(super) fn known_percent(&self) -> f64 {
        let share = *self.share.lock().unwrap_or_else(PoisonError::into_inner);
        if share.all > 0.0 {
            100.0 * share.known / share.all
        } else {
            0.0
        }
    }
}

struct Listening {
    wiretap: Wiretap,
    gatherer: FrameGatherer,
    /// Records since the last one that completed something.
    strays: u32,
    attack: Option<LiveAttack>,
    decoder: Decoder,
    /// Frames since the last one of which something was shown.
    blind: u32,
    picture: Picture,
    pace: Pace,
    feeds: Arc<DemoFeeds>,
    share: Arc<Mutex<Share>>,
}

impl Listening {
    fn new(info: &StreamInfo, feeds: Arc<DemoFeeds>, share: Arc<Mutex<Share>>) -> Result<Self> {
        Ok(Self {
            wiretap: Wiretap::new(Carriage::Stream),
            gatherer: FrameGatherer::new(Carriage::Stream),
            strays: 0,
            attack: LiveAttack::new(info),
            decoder: Decoder::new(info.codec)?,
            blind: 0,
            picture: grey(info),
            pace: Pace::default(),
            feeds,
            share,
        })
    }

    fn run(&mut self, waiting: &Receiver<Vec<u8>>) {
        let began = Instant::now();
        let grey = self.picture.clone();
        let mut rest_until = None;
        for bytes in waiting {
            for frame in self.frames(began.elapsed(), &bytes) {
                self.note(&frame);
                let since = Instant::now();
                let is_resting = rest_until.is_some_and(|end| since < end);
                if is_resting || !self.attack(&frame) {
                    self.blind += 1;
                }
                rest_until = rest_until.max(Some(since + since.elapsed() * RESTS));
            }
            if self.blind == BLIND_FRAMES {
                self.picture.clone_from(&grey);
            }
            if self.feeds.watched() && self.pace.due() {
                show(&self.picture, |jpeg| self.feeds.show_attack(jpeg));
            }
        }
    }

    /// The frames that these records complete.
    fn frames(&mut self, at: Duration, bytes: &[u8]) -> Vec<PartialFrame> {
        let Self {
            wiretap,
            gatherer,
            strays,
            ..
        } = self;
        let mut frames = Vec::new();
        wiretap.hear(at, bytes, |record| {
            let Seen::Media(media) = &record.seen else { return };
            *strays += 1;
            if *strays > STRAY_RECORDS {
                *gatherer = FrameGatherer::new(Carriage::Stream);
                *strays = 0;
            }
            if let Some(Gathered::Frame(frame)) = gatherer.take(record.at, media) {
                *strays = 0;
                frames.push(frame);
            }
        });
        frames
    }

    fn note(&self, frame: &PartialFrame) {
        let mut share = self.share.lock().unwrap_or_else(PoisonError::into_inner);
        share.known = share.known * PERSISTENCE + frame.known() as f64;
        share.all = share.all * PERSISTENCE + frame.length() as f64;
    }

    /// True if something of the frame was shown.
    fn attack(&mut self, frame: &PartialFrame) -> bool {
        let Some(attack) = &mut self.attack else { return false };
        if !self.decoder.rest().is_zero() {
            return false;
        }
        let mut has_picture = false;
        for unit in attack.take(frame) {
            match self.decoder.decode(&unit) {
                Ok(Some(picture)) => {
                    self.picture = picture;
                    self.blind = 0;
                    has_picture = true;
                }
                Ok(None) => {}
                Err(failure) => {
                    tracing::debug!(%failure, "what was guessed does not decode");
                    attack.restart();
                    break;
                }
            }
        }
        has_picture
    }
}

/// A grey picture of the stream's size.
fn grey(info: &StreamInfo) -> Picture {
    let even = |side: u16| (usize::from(side) & !1).max(2);
    let mut picture = Picture::black(even(info.width), even(info.height));
    picture.y.fill(GREY_LUMA);
    picture
}
