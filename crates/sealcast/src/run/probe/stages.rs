//! The stages of a probe, each on a thread of its own, with bounded queues between them that lose nothing: a stage
//! whose queue is full waits, and counts that.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;

use super::beside::PictureHash;
use super::spectrum::{ColourEvent, Detector};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Picture, ReceivedFrame, StreamInfo};
use crate::sink::Sink;
use crate::sink::picture_decoder::{Decoded, PictureDecoder};
use crate::source::test_card::{CardClock, read_clock};

/// Maximum of decoded pictures that wait to be examined: at 1080p 24 MB.
const MAX_PICTURES: usize = 8;

/// The sending end of a queue between two stages.
pub(super) struct Passing<T> {
    queue: SyncSender<T>,
    counts: Arc<PassingCounts>,
}

impl<T> Clone for Passing<T> {
    fn clone(&self) -> Self {
        Self {
            queue: self.queue.clone(),
            counts: Arc::clone(&self.counts),
        }
    }
}

/// Counters of a queue.
#[derive(Debug, Default)]
pub(super) struct PassingCounts {
    passed: AtomicU64,
    waited: AtomicU64,
}

impl PassingCounts {
    /// Number of items that were passed on.
    pub(super) fn passed(&self) -> u64 {
        self.passed.load(Ordering::Relaxed)
    }

    /// Number of times that the queue was full.
    pub(super) fn waited(&self) -> u64 {
        self.waited.load(Ordering::Relaxed)
    }
}

/// A queue between two stages with room for `capacity`.
pub(super) fn passing<T>(capacity: usize) -> (Passing<T>, Receiver<T>) {
    let (queue, taken) = sync_channel(capacity);
    let counts = Arc::default();
    (Passing { queue, counts }, taken)
}

impl<T> Passing<T> {
    /// Pass something on; waits while the queue is full. False if the next stage has ended.
    pub(super) fn pass(&self, item: T) -> bool {
        let sent = match self.queue.try_send(item) {
            Ok(()) => true,
            Err(TrySendError::Full(item)) => {
                self.counts.waited.fetch_add(1, Ordering::Relaxed);
                self.queue.send(item).is_ok()
            }
            Err(TrySendError::Disconnected(_)) => false,
        };
        self.counts.passed.fetch_add(sent.into(), Ordering::Relaxed);
        sent
    }

    /// The counters of this queue.
    pub(super) fn counts(&self) -> Arc<PassingCounts> {
        Arc::clone(&self.counts)
    }
}

/// A stamp of the picture's capture that came with its frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct CaptureStamp {
    /// By the publisher's wall clock, in ns since 1970.
    pub(super) stamped: u64,
    /// The publisher's clock.
    pub(super) clock: ClockEstimate,
}

/// A picture on its way to be examined.
pub(super) struct DecodedPicture {
    number: u64,
    picture: Picture,
    arrived: Instant,
    decoded: Instant,
    decode_time: Duration,
    session_clock: Option<ClockEstimate>,
    capture: Option<CaptureStamp>,
}

/// Result of examining a picture.
pub(super) struct Examined {
    pub(super) number: u64,
    /// The instant at which the frame was there, opened and not yet decoded.
    pub(super) arrived: Instant,
    /// The instant at which the decoded picture was there: what comes later is this program's own work.
    pub(super) decoded: Instant,
    pub(super) decode_time: Duration,
    /// Time in the queue, and for examining the picture.
    pub(super) queued: Duration,
    pub(super) examining: Duration,
    pub(super) strip: Option<CardClock>,
    pub(super) colour: Option<ColourEvent>,
    /// Hash of what it looks like, if pictures are compared.
    pub(super) hash: Option<PictureHash>,
    /// The publisher's clock, if frames come in a session.
    pub(super) session_clock: Option<ClockEstimate>,
    pub(super) capture: Option<CaptureStamp>,
}

/// Input of the last stage.
pub(super) enum Finding {
    Examined(Box<Examined>),
    Event(sealcast_proto::events::EventReport),
    End,
}

/// The first stage: decodes frames as they come.
pub(super) struct ProbeSink {
    decoder: PictureDecoder,
    pictures: Passing<Option<DecodedPicture>>,
    stamp: Option<(u64, Option<ClockEstimate>)>,
    counts: Arc<FrameCounts>,
}

/// Counters of the first stage.
#[derive(Debug, Default)]
pub(super) struct FrameCounts {
    /// Frames that came.
    pub(super) frames: AtomicU64,
    /// Frames that could not be decoded.
    pub(super) undecoded: AtomicU64,
    /// Frames without a picture, or skipped until the next keyframe.
    pub(super) without: AtomicU64,
}

impl ProbeSink {
    pub(super) fn new(pictures: Passing<Option<DecodedPicture>>, program: Option<PathBuf>) -> Self {
        let mut decoder = PictureDecoder::default();
        if let Some(program) = program {
            decoder.set_program(program);
        }
        Self {
            decoder,
            pictures,
            stamp: None,
            counts: Arc::default(),
        }
    }

    pub(super) fn counts(&self) -> Arc<FrameCounts> {
        Arc::clone(&self.counts)
    }
}

impl Sink for ProbeSink {
    fn start(&mut self, info: &StreamInfo) -> Result<()> {
        self.decoder.start(info.codec, "the probe")
    }

    fn stamped(&mut self, stamped: u64, clock: Option<ClockEstimate>) {
        self.stamp = Some((stamped, clock));
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let stamp = self.stamp.take();
        self.counts.frames.fetch_add(1, Ordering::Relaxed);
        let picture = match self.decoder.decode(frame) {
            Decoded::Picture(picture) => picture,
            Decoded::Nothing => {
                self.counts.without.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
            Decoded::Lost => {
                self.counts.undecoded.fetch_add(1, Ordering::Relaxed);
                return Ok(());
            }
        };
        let decoded = Instant::now();
        let session_clock = stamp.and_then(|(_, clock)| clock);
        let capture = stamp.and_then(|(stamped, clock)| Some(CaptureStamp { stamped, clock: clock? }));
        let passed = self.pictures.pass(Some(DecodedPicture {
            number: frame.number,
            picture,
            arrived: frame.opened,
            decoded,
            decode_time: self.decoder.time().unwrap_or_default(),
            session_clock,
            capture,
        }));
        // The next stage ends before this one only when the user stops the probe.
        if passed { Ok(()) } else { Err(stopped()) }
    }

    fn decode_time(&self) -> Option<Duration> {
        self.decoder.time()
    }

    fn wants_keyframe(&mut self) -> bool {
        self.decoder.wants_keyframe()
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The failure of a stage whose successor has ended; the successor's own reason is the one to report.
pub(super) fn stopped() -> Failure {
    Failure::new(
        FailureKind::Internal,
        "the probe's next stage has ended",
        "see what was said before",
    )
}

/// The queue of decoded pictures. `None` is the last item.
pub(super) fn picture_queue() -> (Passing<Option<DecodedPicture>>, Receiver<Option<DecodedPicture>>) {
    passing(MAX_PICTURES)
}

/// The second stage: looks for events in pictures until they end, or `found` returns false because the next stage has.
/// With `hashes` it also notes what they look like.
pub(super) fn examine(
    pictures: &Receiver<Option<DecodedPicture>>,
    hashes: bool,
    mut found: impl FnMut(Box<Examined>) -> bool,
) {
    let mut detector = Detector::default();
    while let Ok(Some(decoded)) = pictures.recv() {
        let began = Instant::now();
        let strip = read_clock(&decoded.picture);
        let colour = detector.take(&decoded.picture);
        let hash = hashes.then(|| PictureHash::of(&decoded.picture)).flatten();
        let examined = Box::new(Examined {
            number: decoded.number,
            arrived: decoded.arrived,
            decoded: decoded.decoded,
            decode_time: decoded.decode_time,
            queued: began - decoded.decoded,
            examining: began.elapsed(),
            strip,
            colour,
            hash,
            session_clock: decoded.session_clock,
            capture: decoded.capture,
        });
        if !found(examined) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_makes_its_stage_wait_and_loses_nothing() {
        let (passing, taken) = passing(2);
        let counts = passing.counts();
        let sender = std::thread::spawn(move || (0..1000).all(|number| passing.pass(number)));
        // The first item is taken only after the queue was full.
        while counts.waited() == 0 {
            std::thread::yield_now();
        }
        assert_eq!(taken.iter().collect::<Vec<_>>(), (0..1000).collect::<Vec<_>>());
        assert!(sender.join().expect("no panic"));
        assert_eq!(counts.passed(), 1000);
    }
}
