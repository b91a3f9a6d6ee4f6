//! One viewer of a publisher, in a task of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Peer;
use sealcast_proto::session::{Event, Input, OutboundCounts, OutgoingFrame};
use sealcast_proto::unit::Preamble;
use sealcast_proto::wire::CloseReason;
use tokio::sync::watch;

use super::FrameQueue;
use super::accept::Guest;
use super::admission::Places;
use super::clock::nanos;
use super::connection::{Ended, NoMedia};
use super::follow::Follower;
use super::hub::SourceEnd;
use super::send_times::SendTimes;
use super::session_task::{Role, SessionTask};
use super::shared::Shared;
use super::steering::Steered;
use crate::media::{Codec, Frame};
use crate::meter::labels::DropCause;
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

type Task<T> = SessionTask<T, NoMedia>;

/// The publisher's end of a viewer's session.
struct ViewerRole {
    shared: Arc<Shared>,
    follower: Option<Follower>,
    seat: Option<Seat>,
    /// The next frame can be sealed.
    ready: bool,
    /// What all viewers' tasks are to bring about.
    steered: Steered,
}

/// Serve one viewer until it goes, the source ends or the program stops.
pub(super) async fn serve_viewer<T: Transport>(
    shared: Arc<Shared>,
    guest: Guest<T>,
    stop: watch::Receiver<bool>,
) -> Departure {
    let mut task = SessionTask::new(
        guest.transport,
        guest.session,
        NoMedia,
        &shared.observation,
        guest.timer,
        guest.remote,
    );
    let mut role = ViewerRole {
        steered: shared.steering.steered(),
        shared,
        follower: guest.follower,
        seat: None,
        ready: false,
    };
    let ended = task.run(&mut role, stop).await;
    role.leave();
    task.note_failed_handshake(&ended);
    task.log_end::<ViewerRole>(&ended);
    let departure = Departure {
        ended,
        reason: task.last_words.as_ref().map(|(reason, _)| *reason),
        stood: task.established,
    };
    task.say_goodbye(GOODBYE_PATIENCE).await;
    departure
}

/// Why a viewer's task woke up.
enum Woken {
    /// A frame waits, or it is time to look whether the end of the stream has arrived.
    Frames,
    /// Something else is wanted of all sessions.
    Steered,
}

impl<T: Transport> Role<T> for ViewerRole {
    type Listener = NoMedia;
    type Woken = Woken;

    const PUBLISHES: bool = true;
    const PEER: &'static str = "viewer";
    const ESTABLISHED: &'static str = "a viewer watches";
    const STOPPING: &'static str = "the publisher stops";

    fn admit(&mut self, task: &Task<T>, peer: &Peer) -> Input<'static> {
        let places = Places {
            taken: self.shared.hub.viewers(),
            most: self.shared.max_viewers,
        };
        self.shared.admission.admit(peer, &task.remote, places)
    }

    fn established(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
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
        self.steer(task)
    }

    fn event(&mut self, _: &mut Task<T>, event: Event) -> Result<(), Ended> {
        match event {
            Event::KeyframeRequested(_) => {
                // A viewer that lost something may have lost the stream's description: it comes again.
                if let Some(seat) = &mut self.seat {
                    seat.info_version = 0;
                }
            }
            Event::Resumed => {
                if let Some(seat) = &mut self.seat {
                    seat.info_version = 0;
                    seat.queue.clear();
                }
            }
            // A viewer gateway's questions among them: there is no gateway here.
            _ => return Ok(()),
        }
        self.shared.hub.request_keyframe();
        Ok(())
    }

    fn send(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.send_frames(task)?;
        self.ready = task.connection.ready_for_frame();
        Ok(())
    }

    async fn wait(&mut self) -> Woken {
        let Self {
            seat, steered, ready, ..
        } = self;
        let Some(seat) = seat else {
            return std::future::pending().await;
        };
        let settling = seat.queue.finished();
        tokio::select! {
            () = seat.queue.changed(), if *ready => Woken::Frames,
            () = tokio::time::sleep(SETTLING), if settling => Woken::Frames,
            () = steered.changed() => Woken::Steered,
        }
    }

    fn woken(&mut self, task: &mut Task<T>, woken: Woken) -> Result<bool, Ended> {
        if let Woken::Steered = woken {
            self.steer(task)?;
        }
        Ok(false)
    }
}

impl ViewerRole {
    /// Bring about what the publisher wants of every session.
    fn steer<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.steered.bring_about(&mut task.connection, &mut task.listener)
    }

    fn send_frames<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.note_sent(task);
        self.note_path(task);
        while task.connection.ready_for_frame() {
            let Some(frame) = self.next_frame(task) else { break };
            self.send_frame(task, &frame)?;
            task.take_events(self)?;
        }
        if let Some(seat) = &self.seat {
            task.connection.session.media_waits(seat.queue.bytes());
        }
        let finished = self.seat.as_ref().is_some_and(|seat| seat.queue.finished());
        if finished && task.connection.settled() {
            let (reason, text) = match self.shared.hub.end() {
                Some(SourceEnd::Failed(failure)) => (CloseReason::SourceFailed, failure.what),
                _ => (CloseReason::EndOfStream, String::new()),
            };
            task.connection.tell(Input::Close(reason, &text), &mut task.listener)?;
            return Err(Ended::Closed);
        }
        Ok(())
    }

    /// The next frame to seal. What waited for too long is dropped, up to the newest keyframe.
    fn next_frame<T: Transport>(&mut self, task: &mut Task<T>) -> Option<Arc<Frame>> {
        let seat = self.seat.as_ref()?;
        let frame = seat.queue.pop()?;
        let waited = frame.encoded.elapsed();
        if !task.connection.session.holds_media() || waited < MOST_WAIT {
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
    fn note_path<T: Transport>(&mut self, task: &mut Task<T>) {
        let Some(seat) = &mut self.seat else { return };
        let session = &task.connection.session;
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
                let look = task.connection.look(seat.queue.bytes() > 0);
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
    fn send_frame<T: Transport>(&mut self, task: &mut Task<T>, frame: &Frame) -> Result<(), Ended> {
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
            task.connection
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
        let from = task.connection.outgoing_len();
        let began = Instant::now();
        let made = task
            .connection
            .seal(|session, out| session.seal_frame(clock.at(began), &outgoing, out))?;
        let sealed = Instant::now();
        let took = sealed - began;
        let wire_bytes = (task.connection.outgoing_len() - from) as u64;
        if let Some(tap) = &self.shared.wire_tap {
            tap(task.connection.outgoing_tail(from));
        }
        seat.times.sealed(took, sealed);
        observation.frame_sealed(made, wire_bytes, took);
        task.connection.work(&mut task.listener)?;
        self.note_sent(task);
        Ok(())
    }

    /// When the last frame has left, take down how long that took.
    fn note_sent<T: Transport>(&mut self, task: &mut Task<T>) {
        let backlog = task.connection.backlog();
        let seat = self.seat.as_mut().filter(|_| backlog == 0);
        if let Some(took) = seat.and_then(|seat| seat.times.left()) {
            self.shared.observation.metrics.record_stage(Stage::Send, took);
        }
    }

    /// Give up the place at the hub, if there was one.
    fn leave(&mut self) {
        if let Some(seat) = self.seat.take() {
            self.shared.hub.leave(seat.id);
            if self.shared.hub.viewers() == 0 {
                self.shared.observation.set_phase(Phase::Idle);
            }
        }
    }
}
