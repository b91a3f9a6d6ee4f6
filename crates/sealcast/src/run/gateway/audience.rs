//! Who watches one camera: the sessions of viewer gateways, or players.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Particulars, TrackSet, Verb};
use tokio::sync::mpsc;

use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;
use crate::run::FrameQueue;
use crate::run::queue::Queued;

/// An RTP or RTCP packet of a camera, as it came.
pub(super) struct Packet {
    /// The watcher's own name for the camera.
    pub(super) slot: u8,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
    pub(super) arrived: Instant,
}

/// Packets on their way to one watcher.
pub(super) type PacketQueue = FrameQueue<Packet>;

impl Queued for Packet {
    /// Nobody here knows which packets need which: a queue that is full drops all but the newest.
    fn keyframe(&self) -> bool {
        true
    }

    fn size(&self) -> usize {
        self.bytes.len()
    }
}

/// What a watcher is told.
pub(super) enum News {
    /// The answer to what it asked by that number.
    Answer {
        request: u32,
        slot: u8,
        status: CarriedStatus,
        with: Particulars,
    },
    /// The camera is gone.
    Ended { slot: u8, status: CarriedStatus },
}

/// A session or a player, as a camera knows it.
#[derive(Clone)]
pub(super) struct Watcher {
    /// Another for each.
    pub(super) id: u64,
    /// Its own name for this camera.
    pub(super) slot: u8,
    pub(super) queue: Arc<PacketQueue>,
    pub(super) news: mpsc::Sender<News>,
}

impl Watcher {
    /// Tell it something. A watcher that does not listen is going.
    pub(super) fn tell(&self, news: News) {
        if self.news.try_send(news).is_err() {
            tracing::debug!(watcher = self.id, "news were not heard");
        }
    }
}

/// What the camera must hear of a watcher's wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The wish, as it is.
    Tell(Verb),
    /// This, for all who watch together: nobody's own details.
    TellForAll(Verb),
    /// Nothing: it is done.
    Granted,
}

struct Seat {
    watcher: Watcher,
    /// What it receives; none while it pauses.
    tracks: TrackSet,
}

/// Who watches one camera.
#[derive(Default)]
pub(super) struct Audience {
    seats: Mutex<Vec<Seat>>,
}

fn union(seats: &[Seat]) -> TrackSet {
    TrackSet::from_bits(seats.iter().fold(0, |bits, seat| bits | seat.tracks.bits()))
}

impl Audience {
    fn lock(&self) -> MutexGuard<'_, Vec<Seat>> {
        // The seats are consistent between statements; a panic elsewhere does not spoil them.
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hand a packet to everybody who receives its track.
    pub(super) fn deliver(&self, channel: Channel, bytes: &Bytes, arrived: Instant, metrics: &Metrics) {
        let mut dropped = 0;
        for seat in self.lock().iter().filter(|seat| seat.tracks.contains(channel.track)) {
            let pushed = seat.watcher.queue.push(Packet {
                slot: seat.watcher.slot,
                channel,
                bytes: bytes.clone(),
                arrived,
            });
            dropped += pushed.dropped as u64;
        }
        if dropped > 0 {
            metrics.record_dropped(DropCause::Queue, dropped);
        }
    }

    /// Whether nobody receives or pauses.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Whether somebody receives.
    pub(super) fn receives(&self) -> bool {
        !union(&self.lock()).is_empty()
    }

    /// Do a watcher's wish as far as it is done here, and say what the camera must hear of it. Who plays has its seat
    /// before the camera hears of it: no packet is missed.
    pub(super) fn wish(&self, watcher: &Watcher, verb: Verb) -> Outcome {
        let mut seats = self.lock();
        let seat = seats.iter().position(|seat| seat.watcher.id == watcher.id);
        let seat = seat.map(|at| seats.swap_remove(at));
        let others = union(&seats);
        let tracks = match verb {
            Verb::Play(tracks) => tracks,
            Verb::GetParameter | Verb::SetParameter => {
                seats.extend(seat);
                return Outcome::Tell(verb);
            }
            Verb::Pause => TrackSet::default(),
            Verb::Teardown if seats.is_empty() && seat.is_some() => return Outcome::Tell(verb),
            // Those who stay may all be pausing.
            Verb::Teardown if others.is_empty() && seat.is_some() => return Outcome::TellForAll(Verb::Pause),
            Verb::Teardown => return Outcome::Granted,
        };
        let watcher = watcher.clone();
        seats.push(Seat { watcher, tracks });
        let together = union(&seats);
        match verb {
            _ if others.is_empty() => Outcome::Tell(verb),
            Verb::Play(_) if together != others => Outcome::TellForAll(Verb::Play(together)),
            _ => Outcome::Granted,
        }
    }

    /// Take a watcher's seat from it, without a word to the camera: the camera refused it.
    pub(super) fn refuse(&self, id: u64) {
        self.lock().retain(|seat| seat.watcher.id != id);
    }

    /// The camera is gone: everybody is told, and gone as well.
    pub(super) fn end(&self, status: CarriedStatus) {
        for Seat { watcher, .. } in self.lock().drain(..) {
            let slot = watcher.slot;
            watcher.tell(News::Ended { slot, status });
        }
    }
}

#[cfg(test)]
#[path = "audience_tests.rs"]
mod tests;
