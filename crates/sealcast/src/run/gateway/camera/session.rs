//! One viewer gateway's session at the camera gateway.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Peer;
use sealcast_proto::rtsp::{CameraNumber, CarriedStatus, GatewayMessage, Parameters, put_packet};
use sealcast_proto::session::{Event, Input, OutgoingFrame};
use sealcast_proto::unit::{Codec, Preamble};
use sealcast_proto::wire::{CloseReason, MAX_STREAM};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};

use super::super::audience::{News, Packet, PacketQueue, Watcher};
use super::super::desk::{Ask, What, Wish};
use super::super::{GOODBYE_PATIENCE, MAX_NEWS, PACKETS};
use super::Shared;
use super::changes::changed;
use super::notes::{Notes, Sealed};
use super::roster::{Camera, View};
use crate::meter::labels::{self, DropCause};
use crate::run::accept::Guest;
use crate::run::admission::Places;
use crate::run::clock::nanos;
use crate::run::connection::{Connection, Ended};
use crate::run::ended::{end_in_words, handshake_outcome};
use crate::run::observe::HandshakeTimer;
use crate::run::seldom::Seldom;
use crate::run::send_times::SendTimes;
use crate::run::sender_inbox::SenderInbox;
use crate::run::steering::Steered;
use crate::transport::AnyTransport;

/// Answers that are kept, to be said again to who did not hear them.
const MAX_REMEMBERED: usize = 64;
/// Bytes of packets that are sealed together on a byte stream, where they came together.
const MAX_TOGETHER: usize = 64 * 1024;
/// A packet that waited longer than this for a path to be free is dropped.
const MOST_WAIT: Duration = Duration::from_millis(400);

/// A camera that the viewer gateway has asked for; its place in the list is its number, less one.
struct Known {
    path: Option<String>,
    /// `None` once the viewer gateway does not see it any more.
    camera: Option<Arc<Camera>>,
    /// Of the next frame of its stream.
    frame: u64,
    began: Option<Instant>,
}

/// A question of the viewer gateway's.
struct Asked {
    request: u32,
    describe: bool,
    /// Of the camera that was asked.
    slot: Option<u8>,
    /// What it was answered, once it was.
    answer: Option<Vec<u8>>,
}

struct SessionTask<T> {
    shared: Arc<Shared>,
    connection: Connection<T>,
    inbox: SenderInbox,
    timer: HandshakeTimer,
    remote: String,
    peer: Option<Peer>,
    stood: bool,
    /// Everything that its seats share; the slot is that of no camera.
    watcher: Watcher,
    news: mpsc::Receiver<News>,
    view: View,
    cameras: Vec<Known>,
    /// The newest questions.
    asked: VecDeque<Asked>,
    /// A packet that is taken from the queue and belongs to the next frame.
    ahead: Option<Packet>,
    frame: Vec<u8>,
    notes: Notes,
    times: SendTimes,
    /// What all sessions are to bring about.
    steered: Steered,
}

/// Serve one viewer gateway until it goes or the program stops.
pub(super) async fn serve(shared: Arc<Shared>, guest: Guest, stop: watch::Receiver<bool>) {
    let observation = &shared.observation;
    let connection = Connection::new(
        guest.transport,
        guest.session,
        observation.clock,
        observation.metrics.clone(),
    );
    let (sender, news) = mpsc::channel(MAX_NEWS);
    let watcher = Watcher {
        id: shared.next_id.fetch_add(1, Ordering::Relaxed),
        slot: 0,
        queue: Arc::new(PacketQueue::new(PACKETS)),
        outlet: None,
        news: sender,
    };
    let mut task = SessionTask {
        connection,
        inbox: SenderInbox::default(),
        timer: guest.timer,
        remote: guest.remote,
        peer: None,
        stood: false,
        watcher,
        news,
        view: View::new(shared.roster.subscribe()),
        cameras: Vec::new(),
        asked: VecDeque::new(),
        ahead: None,
        frame: Vec::new(),
        notes: Notes::default(),
        times: SendTimes::default(),
        steered: shared.steering.steered(),
        shared,
    };
    let ended = match task.run(stop).await {
        Ok(never) => match never {},
        Err(ended) => ended,
    };
    // What the session still had to tell, such as the peer's last words.
    let _ = task.take_events();
    task.take_down_notes();
    task.leave(ended).await;
}

impl SessionTask<AnyTransport> {
    async fn run(&mut self, mut stop: watch::Receiver<bool>) -> Result<std::convert::Infallible, Ended> {
        let queue = Arc::clone(&self.watcher.queue);
        let (mut packets_came, mut stopped) = (false, false);
        // Before it is waited for, all of it is looked at once.
        stop.mark_changed();
        let mut changes = Seldom::new(changed(&self.steered, &self.view, Some(&stop)));
        loop {
            // Packets are on their way before anything else is looked at.
            let only_packets = std::mem::take(&mut packets_came);
            if !only_packets {
                self.connection.work(&mut self.inbox)?;
                self.take_events()?;
            }
            self.send_packets()?;
            if !only_packets || self.notes.are_many() {
                self.take_down_notes();
            }
            tokio::select! {
                // Packets first: they all leave above, and then everything else is looked at before this waits.
                biased;
                () = queue.changed(), if self.stood && self.connection.ready_for_frame() => packets_came = true,
                waited = self.connection.wait() => waited?,
                Some(news) = self.news.recv() => self.take_news(news)?,
                () = &mut changes => {
                    let over = *stop.borrow_and_update() || stop.has_changed().is_err();
                    // From here on: what is done now takes everything until then into account.
                    let stop = (!over).then_some(&stop);
                    changes.set(changed(&self.steered, &self.view, stop));
                    self.steer()?;
                    self.take_roster()?;
                    if over && !std::mem::replace(&mut stopped, true) {
                        let close = Input::Close(CloseReason::GoingAway, "the gateway stops");
                        self.connection.tell(close, &mut self.inbox)?;
                    }
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
            Event::PeerProved(peer) => {
                self.peer = Some(peer);
                let places = Places {
                    taken: self.shared.viewers.load(Ordering::Relaxed),
                    most: self.shared.max_viewers,
                };
                let input = self.shared.admission.admit(&peer, &self.remote, places);
                return self.connection.tell(input, &mut self.inbox);
            }
            Event::Established(facts) => {
                let cost = self.connection.cost;
                observation.established("a viewer gateway is here", &self.timer, &facts, cost, &self.remote);
                self.peer = Some(facts.peer);
                self.stood = true;
                self.shared.count_viewer(true);
                self.steer()?;
                return self.take_roster();
            }
            Event::Gateway(message) => return self.take_message(message),
            Event::Rekeyed { epoch, cause } => {
                observation.metrics.set_epoch(epoch);
                observation.metrics.record_rekey(labels::RekeyCause::from(cause));
                tracing::debug!(viewer = %self.name(), epoch, "new keys");
            }
            Event::Stalled => tracing::warn!(
                viewer = %self.name(),
                "nothing was heard from the viewer gateway for 2 s: it is sent nothing until it is"
            ),
            Event::Resumed => {
                tracing::info!(viewer = %self.name(), "the viewer gateway is heard again");
                self.watcher.queue.clear();
            }
            Event::Clock(estimate) => observation.clock_estimate(estimate.offset, estimate.uncertainty),
            Event::Closed { reason, text } => {
                tracing::info!(viewer = %self.name(), %reason, text, "the viewer gateway left");
            }
            Event::Selection(selection) => {
                tracing::info!(viewer = %self.name(), encrypt = %selection, "what is encrypted for a viewer gateway");
            }
            Event::KeyframeRequested(_) => {}
        }
        Ok(())
    }

    /// Bring about what the gateway wants of every session.
    fn steer(&mut self) -> Result<(), Ended> {
        if !self.stood {
            return Ok(());
        }
        self.steered.bring_about(&mut self.connection, &mut self.inbox)
    }

    fn take_message(&mut self, message: GatewayMessage) -> Result<(), Ended> {
        match message {
            GatewayMessage::Describe { request, path } => {
                if self.is_new(request, true)? {
                    self.take_roster()?;
                    match self.number_of(&path) {
                        Ok(slot) => self.ask(slot, request, What::Describe)?,
                        Err(status) => self.answer(request, 0, status, Parameters::default())?,
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
                if self.is_new(request, false)? {
                    self.ask(slot_of(camera), request, What::Command(verb, with))?;
                }
                Ok(())
            }
            GatewayMessage::Packet { camera, channel, bytes } => {
                if let Some(camera) = self.camera(slot_of(camera)) {
                    // A report that finds no room is followed by another.
                    let _ = camera.wishes.try_send(Wish::Rtcp(channel, bytes));
                }
                Ok(())
            }
            GatewayMessage::Answer { .. } | GatewayMessage::Ended { .. } | GatewayMessage::Unknown => Ok(()),
        }
    }

    /// Whether a question is asked for the first time. One that was answered is answered again.
    fn is_new(&mut self, request: u32, describe: bool) -> Result<bool, Ended> {
        if let Some(asked) = self.asked.iter().find(|asked| asked.request == request) {
            if let Some(answer) = &asked.answer {
                self.connection.tell(Input::Gateway(answer), &mut self.inbox)?;
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

    /// The camera in a slot, if the viewer gateway sees it.
    fn camera(&self, slot: u8) -> Option<&Arc<Camera>> {
        self.cameras.get(usize::from(slot))?.camera.as_ref()
    }

    /// The slot of the camera at a path, from its first description on.
    fn number_of(&mut self, path: &str) -> Result<u8, CarriedStatus> {
        let seen = self.peer.and_then(|peer| self.view.camera(path, &peer.id));
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
        });
        Ok((self.cameras.len() - 1) as u8)
    }

    /// Cameras and lists may have been read again: leave what the viewer gateway does not see any more.
    fn take_roster(&mut self) -> Result<(), Ended> {
        let Some(peer) = self.peer.filter(|_| self.stood) else {
            return Ok(());
        };
        if !self.shared.admission.admits(&peer.id) {
            let why = "not on the allow list any more";
            tracing::warn!(viewer = %self.name(), "{why}: the session ends");
            let close = Input::Close(CloseReason::NotAuthorised, why);
            return self.connection.tell(close, &mut self.inbox);
        }
        for slot in 0..self.cameras.len() {
            let lost = |camera: &Arc<Camera>| self.view.lost(camera, &peer.id);
            let known = &mut self.cameras[slot].camera;
            if let Some(status) = known.as_ref().and_then(lost)
                && let Some(camera) = known.take()
            {
                self.lose(slot as u8, &camera, status)?;
            }
        }
        Ok(())
    }

    /// Leave a camera, and tell the viewer gateway that it has ended.
    fn lose(&mut self, slot: u8, camera: &Camera, status: CarriedStatus) -> Result<(), Ended> {
        let leave = Wish::Leave(self.watcher_of(slot));
        if let Err(TrySendError::Full(leave)) = camera.wishes.try_send(leave) {
            let wishes = camera.wishes.clone();
            // The camera must hear of it, and the other cameras' packets must not wait for that.
            tokio::spawn(async move { wishes.send(leave).await });
        }
        let unanswered = |asked: &&Asked| asked.slot == Some(slot) && asked.answer.is_none();
        let requests: Vec<u32> = self
            .asked
            .iter()
            .filter(unanswered)
            .map(|asked| asked.request)
            .collect();
        for request in requests {
            self.answer(request, slot, status, Parameters::default())?;
        }
        let Some(camera) = number(slot) else { return Ok(()) };
        self.say(&GatewayMessage::Ended { camera, status }).map(drop)
    }

    fn watcher_of(&self, slot: u8) -> Watcher {
        Watcher {
            slot,
            ..self.watcher.clone()
        }
    }

    fn ask(&mut self, slot: u8, request: u32, what: What) -> Result<(), Ended> {
        let watcher = self.watcher_of(slot);
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.request == request) {
            asked.slot = Some(slot);
        }
        let refused = match self.camera(slot) {
            None => CarriedStatus::of_camera(404),
            Some(camera) => match camera.wishes.try_send(Wish::Ask(Ask { watcher, request, what })) {
                Ok(()) => return Ok(()),
                Err(_) => CarriedStatus::of_camera(503),
            },
        };
        self.answer(request, slot, refused, Parameters::default())
    }

    fn take_news(&mut self, news: News) -> Result<(), Ended> {
        let (News::Answer { slot, .. } | News::Ended { slot, .. }) = &news;
        if self.camera(*slot).is_none() {
            // What was to be said was said when it was lost.
            return Ok(());
        }
        match news {
            News::Answer {
                request,
                slot,
                status,
                with,
            } => self.answer(request, slot, status, with),
            News::Ended { slot, status } => {
                let Some(camera) = number(slot) else { return Ok(()) };
                self.say(&GatewayMessage::Ended { camera, status }).map(drop)
            }
        }
    }

    fn answer(&mut self, request: u32, slot: u8, status: CarriedStatus, with: Parameters) -> Result<(), Ended> {
        let asked = self.asked.iter().position(|asked| asked.request == request);
        let describe = asked.is_some_and(|at| self.asked[at].describe);
        let camera = number(slot).filter(|_| status.is_ok() || !describe);
        let answer = |status, with| GatewayMessage::Answer {
            request,
            camera,
            status,
            with,
        };
        let said = match self.say(&answer(status, with))? {
            Some(said) => Some(said),
            None => {
                tracing::warn!("a camera's answer is too long to cross and was left out");
                self.say(&answer(CarriedStatus::BAD_GATEWAY, Parameters::default()))?
            }
        };
        if let Some(at) = asked {
            self.asked[at].answer = said;
        }
        Ok(())
    }

    /// Say something; the bytes that were said, or `None` if they are too many.
    fn say(&mut self, message: &GatewayMessage) -> Result<Option<Vec<u8>>, Ended> {
        let Ok(bytes) = message.to_bytes() else { return Ok(None) };
        self.connection.tell(Input::Gateway(&bytes), &mut self.inbox)?;
        Ok(Some(bytes))
    }

    fn send_packets(&mut self) -> Result<(), Ended> {
        let mut more = true;
        while more && self.stood && self.connection.ready_for_frame() {
            let Some(first) = self.gather(Instant::now()) else {
                break;
            };
            let room = self.connection.room();
            let mut sealed = self.seal_frame(first)?;
            // What came together leaves together.
            while self.connection.backlog() < room {
                let Some(frame) = self.gather(sealed) else {
                    more = false;
                    break;
                };
                sealed = self.seal_frame(frame)?;
            }
            self.connection.send(&mut self.inbox)?;
            self.notes.handed();
            self.note_sent();
            self.take_events()?;
        }
        self.note_sent();
        self.connection.session.media_waits(self.watcher.queue.bytes());
        Ok(())
    }

    /// Put packets of one camera that came together into a frame: their slot, and when the first came. Where media may
    /// be lost a packet travels alone, so that it is lost alone. `now` may be a little while ago.
    fn gather(&mut self, now: Instant) -> Option<(u8, Instant)> {
        let alone = self.connection.session.holds_media();
        let first = loop {
            let packet = self.ahead.take().or_else(|| self.watcher.queue.pop())?;
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
            let Some(next) = self.watcher.queue.pop() else { break };
            if next.slot != first.slot {
                self.ahead = Some(next);
                break;
            }
            self.put(&next);
        }
        Some((first.slot, first.arrived))
    }

    fn put(&mut self, packet: &Packet) {
        // A packet of RTSP or UDP has at most 65 535 bytes.
        let _ = put_packet(&mut self.frame, packet.channel, &packet.bytes);
        self.notes.arrived(packet.arrived);
    }

    /// Seal the frame that was gathered; when that was done.
    fn seal_frame(&mut self, (slot, arrived): (u8, Instant)) -> Result<Instant, Ended> {
        let (Some(known), Some(camera)) = (self.cameras.get_mut(usize::from(slot)), number(slot)) else {
            return Ok(Instant::now());
        };
        let clock = self.shared.observation.clock;
        let first = *known.began.get_or_insert(arrived);
        let came = clock.wall(arrived);
        let (previous_seal, previous_send) = self.times.previous();
        let outgoing = OutgoingFrame {
            stream: camera.stream(),
            // Nobody here reads what it is; a selection that would have to is refused.
            codec: Codec::Mjpeg,
            keyframe: true,
            preamble: Preamble {
                frame: known.frame,
                media_time: nanos(arrived.saturating_duration_since(first)),
                captured: came,
                encoded: came,
                previous_seal,
                previous_send,
            },
            data: &self.frame,
        };
        known.frame += 1;
        let from = self.connection.outgoing_len();
        let began = Instant::now();
        let made = self
            .connection
            .seal(|session, out| session.seal_frame(clock.at(began), &outgoing, out))?;
        let sealed = Instant::now();
        let took = sealed - began;
        let wire_bytes = (self.connection.outgoing_len() - from) as u64;
        self.times.sealed(took, sealed);
        self.notes.sealed(Sealed { made, wire_bytes, took });
        Ok(sealed)
    }

    fn note_sent(&mut self) {
        if self.connection.backlog() == 0 {
            self.notes.sent(self.times.left());
        }
    }

    fn take_down_notes(&mut self) {
        let counts = self.connection.session.outbound_counts();
        self.notes.take_down(&self.shared.observation, counts);
    }

    fn name(&self) -> String {
        self.peer.map_or_else(|| self.remote.clone(), |peer| peer.id.short())
    }

    async fn leave(self, ended: Ended) {
        let name = self.name();
        let observation = &self.shared.observation;
        if self.stood {
            self.shared.count_viewer(false);
        } else {
            let peer = self
                .peer
                .map_or_else(|| self.remote.clone(), |peer| peer.id.to_string());
            let row = self
                .timer
                .row(handshake_outcome(&ended), peer, None, self.connection.cost);
            observation.handshake(row);
        }
        if self.inbox.refused > 0 {
            tracing::warn!(viewer = %name, records = self.inbox.refused, "records of this viewer gateway were refused");
        }
        if let Some(words) = end_in_words(&ended) {
            tracing::warn!(viewer = %name, from = self.remote, "{words}");
        }
        for (slot, known) in (0..).zip(&self.cameras) {
            if let Some(camera) = &known.camera {
                // The camera must hear of it: its queue moves as long as the camera's task runs.
                let _ = camera.wishes.send(Wish::Leave(self.watcher_of(slot))).await;
            }
        }
        self.connection.say_goodbye(GOODBYE_PATIENCE).await;
    }
}

/// Slots count from 0, cameras from 1.
fn number(slot: u8) -> Option<CameraNumber> {
    CameraNumber::new(slot + 1)
}

fn slot_of(camera: CameraNumber) -> u8 {
    (camera.stream() - 1) as u8
}
