//! Who watches one camera: the sessions of viewer gateways, or players.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Keyframes, Parameters, TrackSet, Verb};
use tokio::sync::mpsc;

use super::outlet::Outlet;
use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;
use crate::run::FrameQueue;
use crate::run::queue::Queued;

/// How long video is held back from who joins it, or missed some of it, until a keyframe begins. After that it flows
/// as it is: there are cameras that refresh their pictures piece by piece.
pub(super) const KEYFRAME_PATIENCE: Duration = Duration::from_secs(10);

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
    /// Where one may begin is decided before packets are queued.
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
        with: Parameters,
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
    /// Where packets may leave for a player without passing through its queue.
    pub(super) outlet: Option<Arc<Outlet>>,
    pub(super) news: mpsc::Sender<News>,
}

/// What became of a packet that was handed to somebody.
#[derive(Clone, Copy, Default)]
struct Handed {
    /// Packets that were dropped for it, or it itself.
    dropped: usize,
    /// It waits in a queue.
    queued: bool,
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
    /// Video of which it receives nothing before a keyframe, or before that time.
    held: TrackSet,
    held_until: Instant,
    /// What is held back follows what it had already, and is counted.
    missing: bool,
    /// How often its queue had been emptied when that was last looked at.
    emptied: u64,
}

impl Seat {
    fn hold(&mut self, tracks: TrackSet, now: Instant) {
        self.held = self.held.with(tracks).only(self.tracks);
        self.held_until = now + KEYFRAME_PATIENCE;
    }

    /// Hand it a packet, if it is to have it now.
    fn deliver(&mut self, packet: Packet, keyframes: &Keyframes) -> Handed {
        let (channel, arrived) = (packet.channel, packet.arrived);
        let (dropped, emptied) = self.watcher.queue.make_room(packet.bytes.len());
        let mut handed = Handed { dropped, queued: false };
        if emptied != std::mem::replace(&mut self.emptied, emptied) {
            // Half a picture would be shown broken, and so would all until the next keyframe.
            self.hold(keyframes.tracks(), arrived);
            self.missing = true;
        }
        if !channel.rtcp && self.held.contains(channel.track) {
            if arrived < self.held_until && !keyframes.begins(channel, &packet.bytes) {
                handed.dropped += usize::from(self.missing);
                return handed;
            }
            self.held.remove(channel.track);
        }
        let refused = match &self.watcher.outlet {
            Some(outlet) => outlet.take(packet),
            None => Err(packet),
        };
        if let Err(packet) = refused {
            handed.dropped += self.watcher.queue.push(packet).dropped;
            handed.queued = true;
        }
        handed
    }
}

/// Who watches one camera.
#[derive(Default)]
pub(super) struct Audience {
    house: Mutex<House>,
}

#[derive(Default)]
struct House {
    seats: Vec<Seat>,
    keyframes: Keyframes,
    /// When the camera's last packet came.
    delivered: Option<Instant>,
}

fn union(seats: &[Seat]) -> TrackSet {
    TrackSet::from_bits(seats.iter().fold(0, |bits, seat| bits | seat.tracks.bits()))
}

impl Audience {
    fn lock(&self) -> MutexGuard<'_, House> {
        // It is consistent between statements; a panic elsewhere does not spoil it.
        self.house.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The camera has described itself.
    pub(super) fn described(&self, sdp: &[u8]) {
        self.lock().keyframes = Keyframes::of_description(sdp);
    }

    /// Hand a packet to everybody who receives its track; whether it waits in anybody's queue. Where watchers have
    /// outlets, [`send_off`](Self::send_off) follows.
    pub(super) fn deliver(&self, channel: Channel, bytes: &Bytes, arrived: Instant, metrics: &Metrics) -> bool {
        let (mut dropped, mut queued) = (0, false);
        let house = &mut *self.lock();
        house.delivered = Some(arrived);
        for seat in &mut house.seats {
            if seat.tracks.contains(channel.track) {
                let packet = Packet {
                    slot: seat.watcher.slot,
                    channel,
                    bytes: bytes.clone(),
                    arrived,
                };
                let handed = seat.deliver(packet, &house.keyframes);
                dropped += handed.dropped as u64;
                queued |= handed.queued;
            }
        }
        if dropped > 0 {
            metrics.record_dropped(DropCause::Queue, dropped);
        }
        queued
    }

    /// Send what is in the outlets of those who watch.
    pub(super) fn send_off(&self, metrics: &Metrics) {
        for seat in &self.lock().seats {
            if let Some(outlet) = &seat.watcher.outlet {
                outlet.send(metrics);
            }
        }
    }

    /// When the camera's last packet came, if one did.
    pub(super) fn delivered(&self) -> Option<Instant> {
        self.lock().delivered
    }

    /// Whether nobody receives or pauses.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().seats.is_empty()
    }

    /// What anybody receives.
    pub(super) fn receives(&self) -> TrackSet {
        union(&self.lock().seats)
    }

    /// Do a watcher's wish as far as it is done here, and say what the camera must hear of it. Who plays has its seat
    /// before the camera hears of it: no packet is missed. Who joins others begins with a keyframe.
    pub(super) fn wish(&self, watcher: &Watcher, verb: Verb) -> Outcome {
        let House { seats, keyframes, .. } = &mut *self.lock();
        let seat = seats.iter().position(|seat| seat.watcher.id == watcher.id);
        let seat = seat.map(|at| seats.swap_remove(at));
        let others = union(seats);
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
        let mut joined = Seat {
            watcher: watcher.clone(),
            tracks,
            held: TrackSet::default(),
            held_until: Instant::now(),
            missing: false,
            emptied: watcher.queue.emptied(),
        };
        let (received, held) = seat.map_or_else(Default::default, |seat| (seat.tracks, seat.held));
        let missed = keyframes.tracks().only(others).without(received).with(held);
        joined.hold(missed, Instant::now());
        seats.push(joined);
        let together = union(seats);
        match verb {
            _ if others.is_empty() => Outcome::Tell(verb),
            Verb::Play(_) if together != others => Outcome::TellForAll(Verb::Play(together)),
            _ => Outcome::Granted,
        }
    }

    /// Take a watcher's seat from it, without a word to the camera: the camera refused it.
    pub(super) fn refuse(&self, id: u64) {
        self.lock().seats.retain(|seat| seat.watcher.id != id);
    }

    /// The camera is gone: everybody is told, and gone as well.
    pub(super) fn end(&self, status: CarriedStatus) {
        for Seat { watcher, .. } in self.lock().seats.drain(..) {
            let slot = watcher.slot;
            watcher.tell(News::Ended { slot, status });
        }
    }
}

#[cfg(test)]
#[path = "audience_tests.rs"]
mod tests;
