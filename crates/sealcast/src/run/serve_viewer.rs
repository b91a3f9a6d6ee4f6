//! One viewer of a publisher, in a task of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Peer;
use sealcast_proto::session::{Event, Facts, Input, OutboundCounts, OutgoingFrame};
use sealcast_proto::unit::Preamble;
use sealcast_proto::wire::CloseReason;
use tokio::sync::watch;

use super::FrameQueue;
use super::accept::Guest;
use super::admission::Places;
use super::clock::nanos;
use super::connection::{Connection, Ended};
use super::ended::{end_in_words, handshake_outcome};
use super::follow::Follower;
use super::hub::SourceEnd;
use super::observe::HandshakeTimer;
use super::retry::turned_on;
use super::send_times::SendTimes;
use super::sender_inbox::SenderInbox;
use super::shared::Shared;
use super::steering::Steered;
use crate::media::{Codec, Frame};
use crate::meter::labels::{self, DropCause};
use crate::meter::logs::Phase;
use crate::meter::stage::Stage;
use crate::transport::Transport;

/// How often what the path carries is told to the source.
const TARGET_INTERVAL: Duration = Duration::from_millis(100);
/// How often it is looked whether the end of the stream has arrived.
const SETTLING: Duration = Duration::from_millis(20);
/// A frame that waited longer than this for a path to be free is dropped, with its group of pictures.
const MOST_WAIT: Duration = Duration::from_millis(400);
/// How long a closing session may take to say goodbye.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(1);
/// The stream number of the video.
pub(super) const VIDEO: u32 = 1;

/// A viewer that was let in.
struct Seat {
    id: u64,
    queue: Arc<FrameQueue<Arc<Frame>>>,
    info_version: u64,
    /// How the stream is coded; the keyframes of a video codec are few and far between.
    codec: Codec,
    times: SendTimes,
    /// When the path's target was told last.
    target_told: Option<Instant>,
    /// What had left as media when it was counted last.
    counted: OutboundCounts,
}

/// How a viewer's session ended.
pub(super) struct Departure {
    pub(super) ended: Ended,
    /// The viewer's own words, if it had any.
    pub(super) reason: Option<CloseReason>,
    /// Whether a session stood.
    pub(super) stood: bool,
}

struct ViewerTask<T> {
    shared: Arc<Shared>,
    connection: Connection<T>,
    follower: Option<Follower>,
    inbox: SenderInbox,
    timer: HandshakeTimer,
    remote: String,
    peer: Option<Peer>,
    seat: Option<Seat>,
    last_words: Option<CloseReason>,
    stood: bool,
    /// What all viewers' tasks are to bring about.
    steered: Steered,
}

/// Serve one viewer until it goes, the source ends or the program stops. What its path carries is the session's to tell
/// where there is no `follower`.
pub(super) async fn serve_viewer<T: Transport>(
    shared: Arc<Shared>,
    guest: Guest<T>,
    stop: watch::Receiver<bool>,
) -> Departure {
    let observation = &shared.observation;
    let connection = Connection::new(
        guest.transport,
        guest.session,
        observation.clock,
        observation.metrics.clone(),
    );
    let shared = Arc::clone(&shared);
    let mut task = ViewerTask {
        steered: shared.steering.steered(),
        shared,
        connection,
        follower: guest.follower,
        inbox: SenderInbox::default(),
        timer: guest.timer,
        remote: guest.remote,
        peer: None,
        seat: None,
        last_words: None,
        stood: false,
    };
    let ended = match task.run(stop).await {
        Ok(never) => match never {},
        Err(ended) => ended,
    };
    // What the session still had to tell, such as the peer's last words.
    let _ = task.take_events();
    task.leave(&ended);
    task.connection.say_goodbye(GOODBYE_PATIENCE).await;
    Departure {
        ended,
        reason: task.last_words,
        stood: task.stood,
    }
}

impl<T: Transport> ViewerTask<T> {
    async fn run(&mut self, mut stop: watch::Receiver<bool>) -> Result<std::convert::Infallible, Ended> {
        loop {
            self.connection.work(&mut self.inbox)?;
            self.take_events()?;
            self.send_frames()?;
            let ready = self.seat.as_ref().filter(|_| self.connection.ready_for_frame());
            let queue = ready.map(|seat| Arc::clone(&seat.queue));
            let frame_queued = async {
                match queue {
                    Some(queue) => queue.changed().await,
                    None => std::future::pending().await,
                }
            };
            let settling = self.seat.as_ref().is_some_and(|seat| seat.queue.finished());
            tokio::select! {
                waited = self.connection.wait() => waited?,
                () = frame_queued => {}
                () = tokio::time::sleep(SETTLING), if settling => {}
                () = self.steered.changed() => self.steer()?,
                _ = turned_on(&mut stop) => {
                    self.connection.tell(Input::Close(CloseReason::GoingAway, "the publisher stops"), &mut self.inbox)?;
                }
            }
        }
    }

    fn take_events(&mut self) -> Result<(), Ended> {
        while !self.inbox.events.is_empty() {
            for event in std::mem::take(&mut self.inbox.events) {
                self.take_event(event)?;
            }
        }
        Ok(())
    }

    fn take_event(&mut self, event: Event) -> Result<(), Ended> {
        let observation = &self.shared.observation;
        match event {
            Event::PeerProved(peer) => return self.judge(peer),
            Event::Established(facts) => {
                self.established(&facts);
                return self.steer();
            }
            Event::Selection(selection) => {
                tracing::info!(viewer = %self.name(), encrypt = %selection, "what is encrypted for a viewer");
            }
            Event::KeyframeRequested(_) => {
                self.shared.hub.request_keyframe();
                // A viewer that lost something may have lost the stream's description: it comes again.
                if let Some(seat) = &mut self.seat {
                    seat.info_version = 0;
                }
            }
            Event::Rekeyed { epoch, cause } => {
                observation.metrics.set_epoch(epoch);
                observation.metrics.record_rekey(labels::RekeyCause::from(cause));
                tracing::debug!(viewer = %self.name(), epoch, "new keys");
            }
            Event::Stalled => {
                let viewer = self.name();
                tracing::warn!(
                    viewer,
                    "nothing was heard from the viewer for 2 s: it is sent nothing until it is"
                );
            }
            Event::Resumed => {
                tracing::info!(viewer = %self.name(), "the viewer is heard again");
                if let Some(seat) = &mut self.seat {
                    seat.info_version = 0;
                    seat.queue.clear();
                }
                self.shared.hub.request_keyframe();
            }
            // Its gateway finds none here, and asks in vain.
            Event::Gateway(_) => {}
            Event::Clock(estimate) => observation.clock_estimate(estimate.offset, estimate.uncertainty),
            Event::Closed { reason, text } => {
                self.last_words = Some(reason);
                tracing::info!(viewer = %self.name(), %reason, text, "the viewer left");
            }
        }
        Ok(())
    }

    /// The peer has proved who it is: let it in, or tell it why not.
    fn judge(&mut self, peer: Peer) -> Result<(), Ended> {
        self.peer = Some(peer);
        let places = Places {
            taken: self.shared.hub.viewers(),
            most: self.shared.max_viewers,
        };
        let input = self.shared.admission.admit(&peer, &self.remote, places);
        self.connection.tell(input, &mut self.inbox)
    }

    fn established(&mut self, facts: &Facts) {
        let cost = self.connection.cost;
        self.shared
            .observation
            .established("a viewer watches", &self.timer, facts, cost, &self.remote);
        self.peer = Some(facts.peer);
        self.stood = true;
        let (id, queue) = self.shared.hub.join();
        self.seat = Some(Seat {
            id,
            queue,
            info_version: 0,
            // Its keyframes are all there are, until the description comes.
            codec: Codec::Mjpeg,
            times: SendTimes::default(),
            target_told: None,
            counted: OutboundCounts::default(),
        });
    }

    /// Bring about what the publisher wants of every session.
    fn steer(&mut self) -> Result<(), Ended> {
        if self.seat.is_none() {
            return Ok(());
        }
        self.steered.bring_about(&mut self.connection, &mut self.inbox)
    }

    fn send_frames(&mut self) -> Result<(), Ended> {
        self.note_sent();
        self.note_path();
        while self.connection.ready_for_frame() {
            let Some(frame) = self.next_frame() else { break };
            self.send_frame(&frame)?;
            self.take_events()?;
        }
        if let Some(seat) = &self.seat {
            self.connection.session.media_waits(seat.queue.bytes());
        }
        let finished = self.seat.as_ref().is_some_and(|seat| seat.queue.finished());
        if finished && self.connection.settled() {
            let (reason, text) = match self.shared.hub.end() {
                Some(SourceEnd::Failed(failure)) => (CloseReason::SourceFailed, failure.what),
                _ => (CloseReason::EndOfStream, String::new()),
            };
            self.connection.tell(Input::Close(reason, &text), &mut self.inbox)?;
            return Err(Ended::InWords);
        }
        Ok(())
    }

    /// The next frame to seal. What waited for too long is dropped, up to the newest keyframe.
    fn next_frame(&mut self) -> Option<Arc<Frame>> {
        let seat = self.seat.as_ref()?;
        let frame = seat.queue.pop()?;
        let waited = frame.encoded.elapsed();
        if !self.connection.session.holds_media() || waited < MOST_WAIT {
            if let Some(follower) = &mut self.follower {
                follower.frame(waited);
            }
            return Some(frame);
        }
        let skipped = seat.queue.skip_to_keyframe(frame);
        if skipped.dropped > 0 {
            let metrics = &self.shared.observation.metrics;
            metrics.record_dropped(DropCause::Queue, skipped.dropped as u64);
            if let Some(follower) = &mut self.follower {
                follower.dropped();
            }
        }
        if skipped.next.is_none() {
            self.shared.hub.request_keyframe();
        }
        skipped.next
    }

    /// Tell the source what the path carries, and the meters what left.
    fn note_path(&mut self) {
        let Some(seat) = &mut self.seat else { return };
        let session = &self.connection.session;
        if let Some(counts) = session.outbound_counts() {
            self.shared.observation.metrics.media_left(&mut seat.counted, counts);
        }
        let now = Instant::now();
        if seat.target_told.is_some_and(|told| now < told + TARGET_INTERVAL) {
            return;
        }
        seat.target_told = Some(now);
        let target = match &mut self.follower {
            Some(follower) => {
                let look = self.connection.look(seat.queue.bytes() > 0);
                look.and_then(|look| follower.look(now, &look))
            }
            None => session.target(),
        };
        if let Some(target) = target {
            self.shared.hub.set_target(seat.id, Some(target));
            let loss = session.path_loss().map(|(share, _)| share);
            self.shared.observation.metrics.path(loss, Some(target));
        }
    }

    /// Seal a frame for this viewer and hand it to the network.
    fn send_frame(&mut self, frame: &Frame) -> Result<(), Ended> {
        let Some(seat) = &mut self.seat else { return Ok(()) };
        let observation = &self.shared.observation;
        let clock = observation.clock;
        // A video keyframe carries its description along: a viewer that missed a new one need not ask.
        let known = if frame.keyframe && seat.codec == Codec::H264 {
            0
        } else {
            seat.info_version
        };
        let (version, info) = self.shared.hub.info_since(known);
        if let Some(info) = info {
            seat.info_version = version;
            seat.codec = info.codec;
            self.connection
                .seal(|session, out| session.seal_info(clock.now(), VIDEO, &info, out))?;
        }
        let (previous_seal, previous_send) = seat.times.previous();
        let outgoing = OutgoingFrame {
            stream: VIDEO,
            codec: seat.codec,
            keyframe: frame.keyframe,
            preamble: Preamble {
                frame: frame.number,
                media_time: nanos(frame.media_time),
                captured: clock.wall(frame.captured),
                encoded: clock.wall(frame.encoded),
                previous_seal,
                previous_send,
            },
            data: &frame.data,
        };
        let from = self.connection.outgoing_len();
        let began = Instant::now();
        let made = self
            .connection
            .seal(|session, out| session.seal_frame(clock.at(began), &outgoing, out))?;
        let sealed = Instant::now();
        let took = sealed - began;
        let wire_bytes = (self.connection.outgoing_len() - from) as u64;
        if let Some(tap) = &self.shared.wire_tap {
            tap(self.connection.outgoing_tail(from));
        }
        seat.times.sealed(took, sealed);
        observation.frame_sealed(made, wire_bytes, took);
        self.connection.work(&mut self.inbox)?;
        self.note_sent();
        Ok(())
    }

    /// When the last frame has left, take down how long that took.
    fn note_sent(&mut self) {
        let backlog = self.connection.backlog();
        let seat = self.seat.as_mut().filter(|_| backlog == 0);
        if let Some(took) = seat.and_then(|seat| seat.times.left()) {
            self.shared.observation.metrics.record_stage(Stage::Send, took);
        }
    }

    fn name(&self) -> String {
        self.peer.map_or_else(|| self.remote.clone(), |peer| peer.id.short())
    }

    fn leave(&mut self, ended: &Ended) {
        if let Some(seat) = self.seat.take() {
            self.shared.hub.leave(seat.id);
            if self.shared.hub.viewers() == 0 {
                self.shared.observation.set_phase(Phase::Idle);
            }
        } else {
            let peer = self
                .peer
                .map_or_else(|| self.remote.clone(), |peer| peer.id.to_string());
            let row = self
                .timer
                .row(handshake_outcome(ended), peer, None, self.connection.cost);
            self.shared.observation.handshake(row);
        }
        if self.inbox.refused > 0 {
            tracing::warn!(viewer = %self.name(), records = self.inbox.refused, "records of this viewer were refused");
        }
        if let Some(words) = end_in_words(ended) {
            tracing::warn!(viewer = %self.name(), from = self.remote, "{words}");
        }
    }
}
