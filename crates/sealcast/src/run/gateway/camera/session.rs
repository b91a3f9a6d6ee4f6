//! One viewer gateway's session at the camera gateway.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Peer, WishedMedia};
use sealcast_proto::rtsp::{CameraNumber, CarriedStatus, GatewayMessage, Parameters, Verb, put_packet};
use sealcast_proto::session::{Event, Input, OutgoingPackets, Session};
use sealcast_proto::unit::{Preamble, StampKind};
use sealcast_proto::wire::{CameraName, MAX_STREAM};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use super::super::arrivals::Arrivals;
use super::super::packet::Packet;
use super::super::request_mux::{Action, Question, Request};
use super::super::subscribers::{PacketQueue, Subscriber, SubscriberEvent};
use super::super::{GOODBYE_PATIENCE, MAX_EVENTS, PACKETS};
use super::asked::{Asked, Known};
use super::command::{Judged, judge};
use super::report_rate::ReportRate;
use super::shared::{Camera, CameraGateway};
use crate::meter::labels::{DropCause, PeerQueue, RtcpRefusal};
use crate::meter::stage::Stage;
use crate::rtsp::RtspOptions;
use crate::run::clock::nanos;
use crate::run::session::accept::PendingSession;
use crate::run::session::connection::{Ended, NoMedia};
use crate::run::session::media_sender::MediaSender;
use crate::run::session::rarely::Rarely;
use crate::run::session::registry::{Lost, Snapshot, shown};
use crate::run::session::role::Role;
use crate::run::session::runtime_settings::SettingsReceiver;
use crate::run::session::task::SessionTask;
use crate::transport::Transport;

/// Number of requests that are remembered with their answers, to repeat an answer that was lost.
const MAX_REMEMBERED: usize = 64;
/// Maximum bytes of packets sealed in one frame on a byte stream, if they arrived together.
const MAX_TOGETHER: usize = 64 * 1024;
/// A packet that waited longer than this for the path is dropped.
const MOST_WAIT: Duration = Duration::from_millis(400);

/// The camera gateway's end of a session.
struct SessionRole {
    shared: Arc<CameraGateway>,
    peer: Option<Peer>,
    /// Template for its subscriptions; its slot belongs to no camera.
    subscriber: Subscriber,
    events: mpsc::Receiver<SubscriberEvent>,
    snapshot: Snapshot<RtspOptions, Camera>,
    cameras: Vec<Known>,
    /// The latest requests.
    asked: VecDeque<Asked>,
    reports: ReportRate,
    /// True if the next packets can be sealed.
    ready: bool,
    /// A packet already taken from the queue that belongs to the next frame.
    ahead: Option<Packet>,
    frame: Vec<u8>,
    arrivals: Arrivals,
    sender: MediaSender,
    /// Requested settings, shared by all sessions.
    settings: SettingsReceiver,
    rarely: Rarely<Woken>,
}

type Task<T> = SessionTask<T, NoMedia>;

/// Serve one viewer gateway until it leaves or the program stops.
pub(super) async fn serve<T: Transport>(
    shared: Arc<CameraGateway>,
    pending: PendingSession<T>,
    stop: watch::Receiver<bool>,
) {
    let mut task = SessionTask::new(
        pending.transport,
        pending.session,
        NoMedia,
        &shared.observation,
        pending.timer,
        pending.remote,
    )
    .at_place(pending.place)
    .telling(pending.telling);
    let (sender, events) = mpsc::channel(MAX_EVENTS);
    let subscriber = Subscriber {
        id: shared.next_id.fetch_add(1, Ordering::Relaxed),
        slot: 0,
        queue: Arc::new(PacketQueue::new(PACKETS)),
        rtp_sender: None,
        events: sender,
    };
    let (snapshot, settings) = (Snapshot::new(shared.registry.subscribe()), shared.settings.subscribe());
    let mut role = SessionRole {
        peer: None,
        subscriber,
        events,
        rarely: Rarely::new()
            .changes(settings.changes(), || Woken::Settings)
            .changes(snapshot.changes(), || Woken::Registry),
        snapshot,
        cameras: Vec::new(),
        asked: VecDeque::new(),
        reports: ReportRate::default(),
        ready: false,
        ahead: None,
        frame: Vec::new(),
        arrivals: Arrivals::default(),
        sender: MediaSender::default(),
        settings,
        shared,
    };
    let metrics = &role.shared.observation.metrics;
    metrics.holds(PeerQueue::Media, &role.subscriber.queue);
    let ended = task.run(&mut role, stop).await;
    role.sender
        .record_counts(&task.connection.session, &role.shared.observation);
    role.shared.count_viewers();
    task.note_failed_handshake(&ended);
    task.log_end::<SessionRole>(&ended);
    role.leave_cameras().await;
    task.say_goodbye(GOODBYE_PATIENCE).await;
}

/// Reason for the wake-up of a session's task.
enum Woken {
    Packets,
    SubscriberEvent(SubscriberEvent),
    /// The requested settings have changed.
    Settings,
    /// The cameras and lists were read again.
    Registry,
}

impl<T: Transport> Role<T> for SessionRole {
    type Listener = NoMedia;
    type Woken = Woken;

    const PUBLISHES: bool = true;
    const PEER: &'static str = "viewer gateway";
    const STOPPING: &'static str = "the gateway stops";

    fn established_words(&self) -> &'static str {
        "a viewer gateway is here"
    }

    fn admit(&mut self, task: &mut Task<T>, peer: &Peer) -> Input<'static> {
        let lacks = Role::<T>::lacks(self, peer);
        task.admit_by::<Self>(&self.shared.admission, peer, &self.shared.places, lacks)
    }

    fn lacks(&mut self, peer: &Peer) -> Option<&'static str> {
        let wish = peer.wish?;
        match wish.media {
            WishedMedia::Packets if wish.camera == CameraName::NONE => None,
            WishedMedia::Packets => {
                Some("cameras of a gateway are named by the paths that players ask for; leave out --camera")
            }
            WishedMedia::Frames | WishedMedia::NothingYet | WishedMedia::Cameras => Some(
                "this is a camera gateway, which has packets for players and no pictures; take its ticket to \
                 `sealcast gateway viewer`",
            ),
        }
    }

    fn established(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.peer = task.peer;
        task.attend(&self.shared.admission, "");
        self.shared.count_viewers();
        self.apply_settings(task)?;
        self.take_registry(task)
    }

    fn event(&mut self, task: &mut Task<T>, event: Event) -> Result<(), Ended> {
        match event {
            Event::Gateway(message) => return self.take_message(task, message),
            Event::Resumed => self.subscriber.queue.clear(),
            _ => {}
        }
        Ok(())
    }

    fn send(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.send_packets(task)?;
        self.sender
            .record_counts(&task.connection.session, &self.shared.observation);
        self.ready = task.established && task.connection.ready_for_frame();
        Ok(())
    }

    async fn wait(&mut self) -> Woken {
        tokio::select! {
            biased;
            () = self.subscriber.queue.changed(), if self.ready => Woken::Packets,
            Some(event) = self.events.recv() => Woken::SubscriberEvent(event),
            woken = self.rarely.next() => woken,
        }
    }

    fn woken(&mut self, task: &mut Task<T>, woken: Woken) -> Result<bool, Ended> {
        match woken {
            Woken::Packets => return Ok(true),
            Woken::SubscriberEvent(event) => self.take_subscriber_event(task, event)?,
            Woken::Settings => self.apply_settings(task)?,
            Woken::Registry => self.take_registry(task)?,
        }
        Ok(false)
    }
}

impl SessionRole {
    /// Apply the gateway's requested settings to this session.
    fn apply_settings<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        if !task.established {
            return Ok(());
        }
        self.settings.apply(&mut task.connection, &mut task.listener)
    }

    fn take_message<T: Transport>(&mut self, task: &mut Task<T>, message: GatewayMessage) -> Result<(), Ended> {
        match message {
            GatewayMessage::Describe { request, path } => {
                if self.is_new(task, request, true)? {
                    self.take_registry(task)?;
                    match self.number_of(&path) {
                        Ok(slot) => self.ask(task, slot, request, Action::Describe)?,
                        Err(status) => self.answer(task, request, 0, status, Parameters::default())?,
                    }
                }
                Ok(())
            }
            GatewayMessage::Command {
                request,
                camera,
                verb,
                with,
            } => {
                if self.is_new(task, request, false)? {
                    self.command(task, slot_of(camera), request, verb, with)?;
                }
                Ok(())
            }
            GatewayMessage::Packet { camera, channel, bytes } => {
                if !self.reports.admits(Instant::now()) {
                    self.shared.observation.metrics.rtcp_refused(RtcpRefusal::Rate, 1);
                } else if let Some(camera) = self.camera(slot_of(camera)) {
                    // If there is no room, drop the report; another will follow.
                    let _ = camera.requests.try_send(Request::Rtcp(channel, bytes));
                }
                Ok(())
            }
            GatewayMessage::Answer { .. }
            | GatewayMessage::Ended { .. }
            | GatewayMessage::InOrder { .. }
            | GatewayMessage::Unknown => Ok(()),
        }
    }

    /// True if the request is new. If it was already answered, its answer is sent again.
    fn is_new<T: Transport>(&mut self, task: &mut Task<T>, request: u32, describe: bool) -> Result<bool, Ended> {
        if let Some(asked) = self.asked.iter().find(|asked| asked.request == request) {
            if let Some(answer) = &asked.answer {
                task.handle(Input::Gateway(answer))?;
            }
            return Ok(false);
        }
        if self.asked.len() == MAX_REMEMBERED {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked {
            request,
            describe,
            slot: None,
            answer: None,
        });
        Ok(true)
    }

    /// The camera in a slot, if the viewer gateway still sees it.
    fn camera(&self, slot: u8) -> Option<&Arc<Camera>> {
        self.cameras.get(usize::from(slot))?.camera.as_ref()
    }

    /// The slot of the camera at a path. It is assigned at the camera's first description and then kept.
    fn number_of(&mut self, path: &str) -> Result<u8, CarriedStatus> {
        let admission = &self.shared.admission;
        let seen = self
            .peer
            .and_then(|peer| self.snapshot.camera(path, &admission.seer(&peer)));
        let camera = seen.ok_or(CarriedStatus::of_camera(404))?;
        if let Some(at) = self.cameras.iter().position(|known| known.path == camera.path) {
            self.cameras[at].camera = Some(camera);
            return Ok(at as u8);
        }
        if self.cameras.len() == MAX_STREAM as usize {
            return Err(CarriedStatus::of_camera(503));
        }
        self.cameras.push(Known {
            path: camera.path.clone(),
            camera: Some(camera),
            frame: 0,
            began: None,
            refused: false,
        });
        Ok((self.cameras.len() - 1) as u8)
    }

    /// Apply changes after the cameras and lists were read again: leave the cameras that the viewer gateway no longer
    /// sees, and tell it the names of those that it does.
    fn take_registry<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let Some(peer) = self.peer.filter(|_| task.established) else {
            return Ok(());
        };
        let seer = self.shared.admission.seer(&peer);
        for slot in 0..self.cameras.len() {
            let lost = |camera: &Arc<Camera>| match self.snapshot.lost(camera.path.as_deref(), camera, &seer)? {
                // It may ask again.
                Lost::Restarted => Some(CarriedStatus::of_camera(503)),
                Lost::Gone => Some(CarriedStatus::of_camera(404)),
            };
            let known = &mut self.cameras[slot].camera;
            if let Some(status) = known.as_ref().and_then(lost)
                && let Some(camera) = known.take()
            {
                self.lose(task, slot as u8, &camera, status)?;
            }
        }
        match self.snapshot.names_to_tell(&seer, None, 1) {
            Some(names) => task.handle(Input::TellCameras(names)),
            None => Ok(()),
        }
    }

    /// Leave a camera and report its end to the viewer gateway.
    fn lose<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        slot: u8,
        camera: &Camera,
        status: CarriedStatus,
    ) -> Result<(), Ended> {
        let leave = Request::Leave(self.subscriber_of(slot));
        if let Err(TrySendError::Full(leave)) = camera.requests.try_send(leave) {
            let requests = camera.requests.clone();
            // The camera must get this message, but the packets of other cameras must not wait for that.
            tokio::spawn(async move { requests.send(leave).await });
        }
        let unanswered = |asked: &&Asked| asked.slot == Some(slot) && asked.answer.is_none();
        let requests: Vec<u32> = self
            .asked
            .iter()
            .filter(unanswered)
            .map(|asked| asked.request)
            .collect();
        for request in requests {
            self.answer(task, request, slot, status, Parameters::default())?;
        }
        let Some(camera) = number(slot) else { return Ok(()) };
        self.say(task, &GatewayMessage::Ended { camera, status }).map(drop)
    }

    fn subscriber_of(&self, slot: u8) -> Subscriber {
        Subscriber {
            slot,
            ..self.subscriber.clone()
        }
    }

    /// Forward a command, or answer it: a player may not change every camera that it may watch.
    fn command<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        slot: u8,
        request: u32,
        verb: Verb,
        with: Parameters,
    ) -> Result<(), Ended> {
        let controls = match (self.camera(slot), self.peer) {
            (Some(camera), Some(peer)) => self.snapshot.controls(camera, &peer.id),
            _ => false,
        };
        match judge(verb, with, controls) {
            Judged::Forward(with) => self.ask(task, slot, request, Action::Command(verb, with)),
            Judged::Answer(status, with) => {
                if !status.is_ok() {
                    self.log_refusal(task, slot);
                }
                self.answer(task, request, slot, status, with)
            }
        }
    }

    /// Log a refused command, once per camera: a hostile viewer gateway must not fill the log.
    fn log_refusal<T: Transport>(&mut self, task: &Task<T>, slot: u8) {
        if let Some(known) = self.cameras.get_mut(usize::from(slot)).filter(|known| !known.refused) {
            known.refused = true;
            let camera = shown(known.path.as_deref());
            tracing::warn!(
                viewer = %task.name(),
                camera,
                "a player would change the camera: its viewer gateway is not in the list `control`"
            );
        }
    }

    fn ask<T: Transport>(&mut self, task: &mut Task<T>, slot: u8, request: u32, action: Action) -> Result<(), Ended> {
        let subscriber = self.subscriber_of(slot);
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.request == request) {
            asked.slot = Some(slot);
        }
        let refused = match self.camera(slot) {
            None => CarriedStatus::of_camera(404),
            Some(camera) => match camera.requests.try_send(Request::Question(Question {
                subscriber,
                request,
                action,
            })) {
                Ok(()) => return Ok(()),
                Err(_) => CarriedStatus::of_camera(503),
            },
        };
        self.answer(task, request, slot, refused, Parameters::default())
    }

    fn take_subscriber_event<T: Transport>(&mut self, task: &mut Task<T>, event: SubscriberEvent) -> Result<(), Ended> {
        let slot = event.slot();
        let (Some(camera), Some(_)) = (number(slot), self.camera(slot)) else {
            // The viewer gateway was told when the camera was lost.
            return Ok(());
        };
        let message = match event {
            SubscriberEvent::Answer {
                request,
                status,
                with,
                in_order: tracks,
                ..
            } => {
                // Before the answer, for packets may follow it at once.
                self.say(task, &GatewayMessage::InOrder { camera, tracks })?;
                return self.answer(task, request, slot, status, with);
            }
            SubscriberEvent::InOrder { tracks, .. } => GatewayMessage::InOrder { camera, tracks },
            SubscriberEvent::Ended { status, .. } => GatewayMessage::Ended { camera, status },
        };
        self.say(task, &message).map(drop)
    }

    fn answer<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        request: u32,
        slot: u8,
        status: CarriedStatus,
        with: Parameters,
    ) -> Result<(), Ended> {
        let asked = self.asked.iter().position(|asked| asked.request == request);
        let describe = asked.is_some_and(|at| self.asked[at].describe);
        let camera = number(slot).filter(|_| status.is_ok() || !describe);
        let answer = |status, with| GatewayMessage::Answer {
            request,
            camera,
            status,
            with,
        };
        let said = match self.say(task, &answer(status, with))? {
            Some(said) => Some(said),
            None => {
                tracing::warn!("a camera's answer is too long to cross and was left out");
                self.say(task, &answer(CarriedStatus::BAD_GATEWAY, Parameters::default()))?
            }
        };
        if let Some(at) = asked {
            self.asked[at].answer = said;
        }
        Ok(())
    }

    /// Send a message. Returns its bytes, or `None` if it is too long.
    fn say<T: Transport>(&mut self, task: &mut Task<T>, message: &GatewayMessage) -> Result<Option<Vec<u8>>, Ended> {
        let Ok(bytes) = message.to_bytes() else { return Ok(None) };
        task.handle(Input::Gateway(&bytes))?;
        Ok(Some(bytes))
    }

    fn send_packets<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let mut more = true;
        while more && task.established && task.connection.ready_for_frame() {
            let Some(first) = self.gather(task, Instant::now()) else {
                break;
            };
            let room = task.connection.room();
            let mut sealed = self.seal_frame(task, first)?;
            // Seal packets that arrived together up to the limit, then send them together.
            while task.connection.backlog() < room {
                let Some(frame) = self.gather(task, sealed) else {
                    more = false;
                    break;
                };
                sealed = self.seal_frame(task, frame)?;
            }
            task.connection.send(&mut task.listener)?;
            self.arrivals.left(Stage::Forward, &self.shared.observation.metrics);
            self.sender.note_sent(&task.connection, &self.shared.observation);
            task.take_events(self)?;
        }
        self.sender.note_sent(&task.connection, &self.shared.observation);
        task.connection.session.media_waits(self.subscriber.queue.bytes());
        Ok(())
    }

    /// Put packets of one camera that arrived together into a frame. Returns their slot and the arrival time of the
    /// first. On carriers that may lose media each packet gets a frame of its own, so that a loss affects only one.
    /// `now` may be slightly in the past.
    fn gather<T: Transport>(&mut self, task: &mut Task<T>, now: Instant) -> Option<(u8, Instant)> {
        let alone = task.connection.session.holds_media();
        let first = loop {
            let packet = self.ahead.take().or_else(|| self.subscriber.queue.pop())?;
            if self.camera(packet.slot).is_none() {
                continue;
            }
            if !alone || now.saturating_duration_since(packet.arrived) < MOST_WAIT {
                break packet;
            }
            self.shared.observation.metrics.record_dropped(DropCause::Queue, 1);
        };
        self.frame.clear();
        self.put(&first);
        while !alone && self.frame.len() < MAX_TOGETHER {
            let Some(next) = self.subscriber.queue.pop() else { break };
            if next.slot != first.slot {
                self.ahead = Some(next);
                break;
            }
            self.put(&next);
        }
        Some((first.slot, first.arrived))
    }

    fn put(&mut self, packet: &Packet) {
        // Cannot fail: a packet from RTSP or UDP has at most 65 535 bytes.
        let _ = put_packet(&mut self.frame, packet.channel, &packet.bytes);
        self.arrivals.push(packet.arrived);
    }

    /// Seal the gathered frame. Returns the time at which that was done.
    fn seal_frame<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        (slot, arrived): (u8, Instant),
    ) -> Result<Instant, Ended> {
        let (Some(known), Some(camera)) = (self.cameras.get_mut(usize::from(slot)), number(slot)) else {
            return Ok(Instant::now());
        };
        let clock = self.shared.observation.clock;
        let (first, came) = (*known.began.get_or_insert(arrived), clock.wall(arrived));
        let (previous_seal, previous_send) = self.sender.previous();
        let packets = OutgoingPackets {
            stream: camera.stream(),
            preamble: Preamble {
                frame: known.frame,
                media_time: nanos(arrived.saturating_duration_since(first)),
                captured: came,
                encoded: came,
                previous_seal,
                previous_send,
                capture: 0,
                stamp: StampKind::Arrival,
                ..Preamble::default()
            },
            data: &self.frame,
        };
        known.frame += 1;
        known.camera.iter().for_each(|camera| camera.count_frame());
        let seal = |session: &mut Session, now, out: &mut Vec<u8>| session.seal_packets(clock.at(now), &packets, out);
        let [_, sealed] = self.sender.seal(&mut task.connection, &self.shared.observation, seal)?;
        Ok(sealed)
    }

    /// Leave all cameras. Wait until each has the message: the queues move as long as the cameras' tasks run.
    async fn leave_cameras(self) {
        for (slot, known) in (0..).zip(&self.cameras) {
            if let Some(camera) = &known.camera {
                let _ = camera.requests.send(Request::Leave(self.subscriber_of(slot))).await;
            }
        }
    }
}

/// Slots count from 0, camera numbers from 1.
fn number(slot: u8) -> Option<CameraNumber> {
    CameraNumber::new(slot + 1)
}

fn slot_of(camera: CameraNumber) -> u8 {
    (camera.stream() - 1) as u8
}
