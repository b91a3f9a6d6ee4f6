//! The subscribers of one camera: sessions of viewer gateways, or players. Each has a bounded queue.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Keyframes, Parameters, TrackSet, Verb};
use tokio::sync::mpsc;

use super::rtp_sender::RtpSender;
use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;
use crate::run::FrameQueue;
use crate::run::queue::Queued;

/// Video is held back from a subscriber that joins, or lost some of it, until a keyframe begins, and at most for this
/// long: some cameras refresh their pictures piece by piece and send no keyframes.
pub(super) const KEYFRAME_PATIENCE: Duration = Duration::from_secs(10);

/// An RTP or RTCP packet of a camera, as it came.
pub(super) struct Packet {
    /// The subscriber's own name for the camera.
    pub(super) slot: u8,
    pub(super) channel: Channel,
    pub(super) bytes: Bytes,
    pub(super) arrived: Instant,
}

/// Packets on their way to one subscriber.
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

/// What a subscriber hears of its camera.
pub(super) enum SubscriberEvent {
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

/// A session or a player.
#[derive(Clone)]
pub(super) struct Subscriber {
    /// Another for each.
    pub(super) id: u64,
    /// Its own name for this camera.
    pub(super) slot: u8,
    pub(super) queue: Arc<PacketQueue>,
    /// Where packets may leave for a player without passing through its queue.
    pub(super) rtp_sender: Option<Arc<RtpSender>>,
    pub(super) events: mpsc::Sender<SubscriberEvent>,
}

/// What became of a packet for one subscriber.
#[derive(Clone, Copy, Default)]
struct Delivered {
    /// Packets that were dropped for it, or it itself.
    dropped: usize,
    /// It waits in a queue.
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

/// What the camera must be sent for a subscriber's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The request as it is.
    Forward(Verb),
    /// This, on behalf of all subscribers: without the details of the one that asked.
    ForwardForAll(Verb),
    /// Nothing: the request is done.
    Done,
}

struct Subscription {
    subscriber: Subscriber,
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

impl Subscription {
    fn hold(&mut self, tracks: TrackSet, now: Instant) {
        self.held = self.held.with(tracks).only(self.tracks);
        self.held_until = now + KEYFRAME_PATIENCE;
    }

    /// Queue or send a packet, unless it is held back.
    fn deliver(&mut self, packet: Packet, keyframes: &Keyframes) -> Delivered {
        let (channel, arrived) = (packet.channel, packet.arrived);
        let (dropped, emptied) = self.subscriber.queue.make_room(packet.bytes.len());
        let mut handed = Delivered { dropped, queued: false };
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

/// Who watches one camera.
#[derive(Default)]
pub(super) struct Subscribers {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    subscriptions: Vec<Subscription>,
    keyframes: Keyframes,
    /// When the camera's last packet came.
    delivered: Option<Instant>,
}

fn union(subscriptions: &[Subscription]) -> TrackSet {
    TrackSet::from_bits(
        subscriptions
            .iter()
            .fold(0, |bits, subscription| bits | subscription.tracks.bits()),
    )
}

impl Subscribers {
    fn lock(&self) -> MutexGuard<'_, State> {
        // It is consistent between statements; a panic elsewhere does not spoil it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The camera has described itself.
    pub(super) fn described(&self, sdp: &[u8]) {
        self.lock().keyframes = Keyframes::of_description(sdp);
    }

    /// Deliver a packet to all subscribers of its track. Returns whether it waits in a queue. Where subscribers have
    /// RTP senders, call [`send_off`](Self::send_off) after the last packet.
    pub(super) fn deliver(&self, channel: Channel, bytes: &Bytes, arrived: Instant, metrics: &Metrics) -> bool {
        let (mut dropped, mut queued) = (0, false);
        let state = &mut *self.lock();
        state.delivered = Some(arrived);
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

    /// Send what is in the RTP senders of those who watch.
    pub(super) fn send_off(&self, metrics: &Metrics) {
        for subscription in &self.lock().subscriptions {
            if let Some(rtp_sender) = &subscription.subscriber.rtp_sender {
                rtp_sender.send(metrics);
            }
        }
    }

    /// When the camera's last packet came, if one did.
    pub(super) fn delivered(&self) -> Option<Instant> {
        self.lock().delivered
    }

    /// Whether nobody receives or pauses.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().subscriptions.is_empty()
    }

    /// What anybody receives.
    pub(super) fn receives(&self) -> TrackSet {
        union(&self.lock().subscriptions)
    }

    /// Handle a subscriber's request locally where possible; return what to forward to the camera. A subscriber that
    /// plays is registered before the camera is asked, so that it misses no packet. One that joins others begins with a
    /// keyframe.
    pub(super) fn request(&self, subscriber: &Subscriber, verb: Verb) -> Outcome {
        let State {
            subscriptions,
            keyframes,
            ..
        } = &mut *self.lock();
        let subscription = subscriptions
            .iter()
            .position(|subscription| subscription.subscriber.id == subscriber.id);
        let subscription = subscription.map(|at| subscriptions.swap_remove(at));
        let others = union(subscriptions);
        let tracks = match verb {
            Verb::Play(tracks) => tracks,
            Verb::GetParameter | Verb::SetParameter => {
                subscriptions.extend(subscription);
                return Outcome::Forward(verb);
            }
            Verb::Pause => TrackSet::default(),
            Verb::Teardown if subscriptions.is_empty() && subscription.is_some() => return Outcome::Forward(verb),
            // Those who stay may all be pausing.
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
        let missed = keyframes.tracks().only(others).without(received).with(held);
        joined.hold(missed, Instant::now());
        subscriptions.push(joined);
        let together = union(subscriptions);
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

    /// The camera is gone: tell all subscribers, and remove them.
    pub(super) fn end(&self, status: CarriedStatus) {
        for Subscription { subscriber, .. } in self.lock().subscriptions.drain(..) {
            let slot = subscriber.slot;
            subscriber.notify(SubscriberEvent::Ended { slot, status });
        }
    }
}

#[cfg(test)]
#[path = "subscribers_tests.rs"]
mod tests;
