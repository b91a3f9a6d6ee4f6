//! The subscribers of one camera: sessions of viewer gateways, or players. Each has a bounded queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Keyframes, Parameters, Track, TrackSet, Verb};
use tokio::sync::mpsc;

use super::kept_packets::KeptPackets;
use super::packet::Packet;
use super::rtp_sender::RtpSender;
use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;
use crate::run::media::queue::FrameQueue;

/// Maximum time to hold video back from a subscriber that joined or lost packets. It normally ends with a keyframe,
/// but some cameras refresh the picture piece by piece and send none.
pub(super) const KEYFRAME_PATIENCE: Duration = Duration::from_secs(10);

/// Most packets that were delivered and are not among those kept for subscribers that join: as many as come with one
/// read of a connection.
const MAX_RECENT: usize = 64;

/// Queue of packets for one subscriber.
pub(super) type PacketQueue = FrameQueue<Packet>;

/// An event of a camera, sent to a subscriber.
pub(super) enum SubscriberEvent {
    /// The answer to the subscriber's request with that number.
    Answer {
        request: u32,
        slot: u8,
        status: CarriedStatus,
        with: Parameters,
        /// The camera's tracks whose packets come over a connection, and so in order.
        in_order: TrackSet,
    },
    /// From now on the packets of these tracks, and of no others, come in order.
    InOrder { slot: u8, tracks: TrackSet },
    /// The camera is gone.
    Ended { slot: u8, status: CarriedStatus },
}

impl SubscriberEvent {
    /// The subscriber's number for the camera.
    pub(super) fn slot(&self) -> u8 {
        match self {
            Self::Answer { slot, .. } | Self::InOrder { slot, .. } | Self::Ended { slot, .. } => *slot,
        }
    }
}

/// A session of a viewer gateway, or a player.
#[derive(Clone)]
pub(super) struct Subscriber {
    /// A unique number.
    pub(super) id: u64,
    /// The subscriber's own number for this camera.
    pub(super) slot: u8,
    pub(super) queue: Arc<PacketQueue>,
    /// The direct UDP path to a player, which bypasses its queue.
    pub(super) rtp_sender: Option<Arc<RtpSender>>,
    pub(super) events: mpsc::Sender<SubscriberEvent>,
}

/// Result of delivering a packet to one subscriber.
#[derive(Clone, Copy, Default)]
struct Delivered {
    /// Number of packets dropped for the subscriber, possibly including this one.
    dropped: usize,
    /// True if the packet was queued.
    queued: bool,
}

impl Subscriber {
    /// Send it an event. A subscriber whose channel is full or closed is about to leave.
    pub(super) fn notify(&self, event: SubscriberEvent) {
        if self.events.try_send(event).is_err() {
            tracing::debug!(watcher = self.id, "news were not heard");
        }
    }
}

/// The part of a subscriber's request that the camera must see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Forward the request unchanged.
    Forward(Verb),
    /// Forward this verb on behalf of all subscribers, without the parameters of the one that asked.
    ForwardForAll(Verb),
    /// Forward nothing: the request is complete.
    Done,
}

struct Subscription {
    subscriber: Subscriber,
    /// The tracks that it receives; none while it pauses.
    tracks: TrackSet,
    /// Video tracks held back until a keyframe, or until `held_until`.
    held: TrackSet,
    held_until: Instant,
    /// True if the held packets continue a stream it already had, so they count as dropped.
    missing: bool,
    /// Last seen number of times that its queue was emptied.
    emptied: u64,
}

impl Subscription {
    fn hold(&mut self, tracks: TrackSet, now: Instant) {
        self.held = self.held.with(tracks).only(self.tracks);
        self.held_until = now + KEYFRAME_PATIENCE;
    }

    /// Queue the group of pictures so far of a track that is held back. If there is none, or no room, the track goes on
    /// being held back.
    fn catch_up(&mut self, track: Track, kept: &KeptPackets) {
        let (packets, bytes) = kept.size(track);
        if packets == 0 || !self.subscriber.queue.has_room(packets, bytes) {
            return;
        }
        let (slot, arrived) = (self.subscriber.slot, Instant::now());
        for bytes in kept.packets(track) {
            self.subscriber.queue.push(Packet {
                slot,
                channel: Channel { track, rtcp: false },
                bytes,
                arrived,
            });
        }
        self.held.remove(track);
    }

    /// Queue or send a packet, unless its track is held back.
    fn deliver(&mut self, packet: Packet, keyframes: &Keyframes) -> Delivered {
        let (channel, arrived) = (packet.channel, packet.arrived);
        let (dropped, emptied) = self.subscriber.queue.make_room(packet.bytes.len());
        let mut handed = Delivered { dropped, queued: false };
        if emptied != std::mem::replace(&mut self.emptied, emptied) {
            // The rest of a picture would be shown broken, and so would all pictures until the next keyframe.
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
        let refused = match &self.subscriber.rtp_sender {
            Some(rtp_sender) => rtp_sender.take(packet),
            None => Err(packet),
        };
        if let Err(packet) = refused {
            handed.dropped += self.subscriber.queue.push(packet).dropped;
            handed.queued = true;
        }
        handed
    }
}

/// The subscriptions to one camera.
#[derive(Default)]
pub(super) struct Subscribers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    subscriptions: Vec<Subscription>,
    keyframes: Keyframes,
    /// The groups of pictures so far, without the recent packets.
    kept: KeptPackets,
    /// Packets that were just delivered, each with the bytes of memory that it was the first to keep in use. Which of
    /// them to keep is decided once all have left.
    recent: Vec<(Channel, Bytes, usize)>,
    /// Bytes of memory in which the last packets came, if none of them was kept so far.
    unkept: usize,
    /// Arrival time of the camera's last packet.
    delivered: Option<Instant>,
    /// The tracks that run whether somebody receives them or not: the first to join is in the middle of them, as all
    /// others.
    runs: TrackSet,
}

impl State {
    /// Keep the recent packets.
    fn settle(&mut self) {
        for (channel, bytes, memory) in self.recent.drain(..) {
            if memory > 0 {
                self.unkept = memory;
            }
            self.kept.take(channel, bytes, &mut self.unkept, &self.keyframes);
        }
    }

    /// Forget the groups of pictures so far: what follows does not continue them.
    fn forget(&mut self) {
        self.recent.clear();
        self.kept.clear();
    }
}

fn union(subscriptions: &[Subscription]) -> TrackSet {
    TrackSet::from_bits(
        subscriptions
            .iter()
            .fold(0, |bits, subscription| bits | subscription.tracks.bits()),
    )
}

impl Subscribers {
    /// Those of a stream that does not begin for the first of them.
    pub(super) fn of_running_stream() -> Self {
        let state = State {
            runs: TrackSet::from_bits(u16::MAX),
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each statement leaves the state consistent, so a panic in another thread does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The video tracks, as far as their codecs are known.
    pub(super) fn video(&self) -> TrackSet {
        self.lock().keyframes.tracks()
    }

    /// Take the camera's description (SDP), which tells how to recognise keyframes.
    pub(super) fn described(&self, sdp: &[u8]) {
        let state = &mut *self.lock();
        let keyframes = Keyframes::of_description(sdp);
        // Each player that comes asks for the description.
        if keyframes != state.keyframes {
            state.keyframes = keyframes;
            state.forget();
        }
    }

    /// Deliver a packet to all subscribers of its track. `memory` are the bytes that it keeps in use, or 0 if the
    /// packet before it does. Returns true if it was queued for any of them. After the last packet that came, call
    /// [`send_off`](Self::send_off) for subscribers with an RTP sender, and [`settle`](Self::settle) once all have
    /// left.
    pub(super) fn deliver(
        &self,
        channel: Channel,
        bytes: &Bytes,
        memory: usize,
        arrived: Instant,
        metrics: &Metrics,
    ) -> bool {
        let (mut dropped, mut queued) = (0, false);
        let state = &mut *self.lock();
        state.delivered = Some(arrived);
        if state.recent.len() == MAX_RECENT {
            state.settle();
        }
        state.recent.push((channel, bytes.clone(), memory));
        for subscription in &mut state.subscriptions {
            if subscription.tracks.contains(channel.track) {
                let packet = Packet {
                    slot: subscription.subscriber.slot,
                    channel,
                    bytes: bytes.clone(),
                    arrived,
                };
                let handed = subscription.deliver(packet, &state.keyframes);
                dropped += handed.dropped as u64;
                queued |= handed.queued;
            }
        }
        if dropped > 0 {
            metrics.record_dropped(DropCause::Queue, dropped);
        }
        queued
    }

    /// Send the packets that wait in the subscribers' RTP senders.
    pub(super) fn send_off(&self, metrics: &Metrics) {
        for subscription in &self.lock().subscriptions {
            if let Some(rtp_sender) = &subscription.subscriber.rtp_sender {
                rtp_sender.send(metrics);
            }
        }
    }

    /// Keep the delivered packets for subscribers that join. Done after they have left, this delays none of them.
    pub(super) fn settle(&self) {
        self.lock().settle();
    }

    /// Arrival time of the camera's last packet, if there was one.
    pub(super) fn delivered(&self) -> Option<Instant> {
        self.lock().delivered
    }

    /// True if there are no subscribers, not even paused ones.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().subscriptions.is_empty()
    }

    /// From now on these tracks run, whether somebody receives them or not. Returns true if somebody receives others.
    pub(super) fn run(&self, tracks: TrackSet) -> bool {
        let state = &mut *self.lock();
        state.runs = tracks;
        !union(&state.subscriptions).without(tracks).is_empty()
    }

    /// The tracks that at least one subscriber receives, or that run.
    pub(super) fn receives(&self) -> TrackSet {
        let state = self.lock();
        union(&state.subscriptions).with(state.runs)
    }

    /// Handle a subscriber's request locally if possible; return the part to forward to the camera. On PLAY the
    /// subscriber is registered before the camera is asked, so that it misses no packet. If others already receive
    /// the stream, it starts with a keyframe: the last one, if the group of pictures so far is kept.
    pub(super) fn request(&self, subscriber: &Subscriber, verb: Verb) -> Outcome {
        let state = &mut *self.lock();
        state.settle();
        let State {
            subscriptions,
            keyframes,
            kept,
            runs,
            ..
        } = state;
        let subscription = subscriptions
            .iter()
            .position(|subscription| subscription.subscriber.id == subscriber.id);
        let subscription = subscription.map(|at| subscriptions.swap_remove(at));
        let others = union(subscriptions).with(*runs);
        let tracks = match verb {
            Verb::Play(tracks) => tracks,
            Verb::GetParameter | Verb::SetParameter => {
                subscriptions.extend(subscription);
                return Outcome::Forward(verb);
            }
            Verb::Pause => TrackSet::default(),
            Verb::Teardown if others.is_empty() && subscriptions.is_empty() && subscription.is_some() => {
                return Outcome::Forward(verb);
            }
            // The remaining subscribers may all be paused.
            Verb::Teardown if others.is_empty() && subscription.is_some() => {
                return Outcome::ForwardForAll(Verb::Pause);
            }
            Verb::Teardown => return Outcome::Done,
        };
        let mut joined = Subscription {
            subscriber: subscriber.clone(),
            tracks,
            held: TrackSet::default(),
            held_until: Instant::now(),
            missing: false,
            emptied: subscriber.queue.emptied(),
        };
        let (received, held) = subscription.map_or_else(Default::default, |subscription| {
            (subscription.tracks, subscription.held)
        });
        if others.is_empty() {
            // The camera may go on elsewhere.
            kept.clear();
        }
        let missed = keyframes.tracks().only(others).without(received);
        joined.hold(missed.with(held), Instant::now());
        for track in missed.only(tracks).iter() {
            joined.catch_up(track, kept);
        }
        subscriptions.push(joined);
        let together = union(subscriptions).with(*runs);
        match verb {
            _ if others.is_empty() => Outcome::Forward(verb),
            Verb::Play(_) if together != others => Outcome::ForwardForAll(Verb::Play(together)),
            _ => Outcome::Done,
        }
    }

    /// Remove a subscription that the camera refused.
    pub(super) fn refuse(&self, id: u64) {
        self.lock()
            .subscriptions
            .retain(|subscription| subscription.subscriber.id != id);
    }

    /// The camera was away, and is back: what it sends continues no earlier group of pictures.
    pub(super) fn resume(&self) {
        self.lock().forget();
    }

    /// Tell all subscribers which tracks come in order from now on.
    pub(super) fn tell_in_order(&self, tracks: TrackSet) {
        for Subscription { subscriber, .. } in &self.lock().subscriptions {
            let slot = subscriber.slot;
            subscriber.notify(SubscriberEvent::InOrder { slot, tracks });
        }
    }

    /// The camera is gone: notify all subscribers and remove them.
    pub(super) fn end(&self, status: CarriedStatus) {
        let state = &mut *self.lock();
        state.forget();
        for Subscription { subscriber, .. } in state.subscriptions.drain(..) {
            let slot = subscriber.slot;
            subscriber.notify(SubscriberEvent::Ended { slot, status });
        }
    }
}

#[cfg(test)]
#[path = "subscribers_tests.rs"]
mod tests;
