//! Cost of sealing and opening a frame, compared with the same steps without a cipher.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::keys::{EpochKeys, EpochSecret, Secret, Side};
use sealcast_proto::seal::{RecordMeta, SealLimits, Sealed, Suite};
use sealcast_proto::wire::{Accept, Flags};

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::null_key::INSECURE_NONE;
use crate::meter::paired::{self, Paired, PairedSummary};

/// Number of pairs in the summary: the latest ones.
const PAIRS: usize = 1000;
/// Recompute the summary after this many frames; its bootstrap takes some milliseconds.
const FRAMES_PER_SUMMARY: usize = 20;
/// Maximum number of frames queued for measurement; further ones are skipped.
const WAITING: usize = 4;

/// Measures the frames it is given, on a thread of its own.
pub(super) struct PriceMeter {
    frames: SyncSender<Bytes>,
    summary: Arc<Mutex<Option<PairedSummary>>>,
}

impl PriceMeter {
    pub(super) fn start(suite: Suite) -> Result<Self> {
        let (frames, waiting) = sync_channel(WAITING);
        let summary = Arc::new(Mutex::new(None));
        let shared = Arc::clone(&summary);
        let body = move || measure(&waiting, suite, &shared);
        std::thread::Builder::new()
            .name("price".to_owned())
            .spawn(body)
            .map_err(|error| {
                let what = format!("the system gives no thread for the measurement ({error})");
                Failure::new(FailureKind::Internal, what, "raise the limit on threads")
            })?;
        Ok(Self { frames, summary })
    }

    /// Sender for the frames to measure. If its queue is full, frames are skipped.
    pub(super) fn frames(&self) -> SyncSender<Bytes> {
        self.frames.clone()
    }

    /// The comparison so far, in nanoseconds per frame: A without a cipher, B sealed.
    pub(super) fn summary(&self) -> Option<PairedSummary> {
        *self.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn measure(frames: &Receiver<Bytes>, suite: Suite, summary: &Mutex<Option<PairedSummary>>) {
    let (mut plain, mut sealed) = (Ends::new(INSECURE_NONE), Ends::new(suite));
    let mut pairs = Paired::new(PAIRS);
    let mut buffer = Vec::new();
    for (count, frame) in frames.iter().enumerate() {
        // Run once without timing, so that both sides find the frame and the code in the cache.
        plain.carry(&frame, &mut buffer);
        sealed.carry(&frame, &mut buffer);
        for _ in 0..2 {
            let ends = match pairs.next_side() {
                paired::Side::A => &mut plain,
                paired::Side::B => &mut sealed,
            };
            let began = Instant::now();
            ends.carry(&frame, &mut buffer);
            pairs.record(began.elapsed().as_nanos() as f64);
        }
        if count % FRAMES_PER_SUMMARY == 0 {
            *summary.lock().unwrap_or_else(PoisonError::into_inner) = pairs.summary();
        }
    }
}

/// A sealer and the matching opener.
struct Ends {
    suite: Suite,
    sealing: EpochKeys,
    opening: EpochKeys,
    epoch: u64,
}

impl Ends {
    fn new(suite: Suite) -> Self {
        let (sealing, opening) = Self::keys(&suite, 0);
        Self {
            suite,
            sealing,
            opening,
            epoch: 0,
        }
    }

    /// Keys for measuring only; they protect nothing.
    fn keys(suite: &Suite, epoch: u64) -> (EpochKeys, EpochKeys) {
        let secret = EpochSecret::new(Secret::extract(b"measurement", suite.name.as_bytes()), epoch);
        let limits = SealLimits {
            records: 1 << 20,
            ..SealLimits::COUNTER
        };
        (
            secret.keys(suite, Side::Responder, limits),
            secret.keys(suite, Side::Initiator, limits),
        )
    }

    /// Seal a frame into `buffer` and open it again.
    fn carry(&mut self, frame: &[u8], buffer: &mut Vec<u8>) {
        buffer.clear();
        let meta = RecordMeta {
            flags: Flags::frame(false, true, true),
            stream: 1,
            timestamp: 0,
        };
        if self.sealing.media_sealer.seal(meta, &[frame], buffer).is_err() {
            self.epoch += 1;
            (self.sealing, self.opening) = Self::keys(&self.suite, self.epoch);
            return;
        }
        let opened =
            Sealed::parse(buffer, Accept::EncryptedOnly).and_then(|record| self.opening.media_opener.open(record));
        debug_assert!(opened.is_ok(), "what was just sealed opens");
    }
}
