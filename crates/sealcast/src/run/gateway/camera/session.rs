//! One viewer gateway's session at a publisher that has packets for it.

use std::collections::VecDeque;
use std::sync::Arc;

use sealcast_proto::keys::Peer;
use sealcast_proto::rtsp::CarriedStatus;
use sealcast_proto::session::{Event, Input};
use tokio::sync::mpsc;

use super::super::arrivals::Arrivals;
use super::super::packet::Packet;
use super::super::request_mux::Request;
use super::super::subscribers::{PacketQueue, Subscriber, SubscriberEvent};
use super::super::{GOODBYE_PATIENCE, MAX_EVENTS, PACKETS};
use super::asked::{Asked, Asking, Known};
use super::report_rate::ReportRate;
use crate::meter::labels::PeerQueue;
use crate::run::publish::cameras::{PublishedCameras, SeenCameras};
use crate::run::session::connection::{Ended, NoMedia};
use crate::run::session::media_sender::MediaSender;
use crate::run::session::observe::Observation;
use crate::run::session::rarely::Rarely;
use crate::run::session::registry::Lost;
use crate::run::session::role::Role;
use crate::run::session::runtime_settings::SettingsReceiver;
use crate::run::session::task::SessionTask;
use crate::transport::Transport;

/// The publisher's end of a session with a viewer gateway.
pub(super) struct PacketRole {
    pub(super) shared: Arc<PublishedCameras>,
    pub(super) observation: Arc<Observation>,
    pub(super) peer: Option<Peer>,
    /// Template for its subscriptions; its slot belongs to no camera.
    pub(super) subscriber: Subscriber,
    events: mpsc::Receiver<SubscriberEvent>,
    pub(super) seen: SeenCameras,
    pub(super) cameras: Vec<Known>,
    /// The latest requests.
    pub(super) asked: VecDeque<Asked>,
    pub(super) reports: ReportRate,
    /// True if the next packets can be sealed.
    ready: bool,
    /// A packet already taken from the queue that belongs to the next frame.
    pub(super) ahead: Option<Packet>,
    pub(super) frame: Vec<u8>,
    pub(super) arrivals: Arrivals,
    pub(super) sender: MediaSender,
    /// Requested settings, shared by all sessions.
    settings: SettingsReceiver,
    rarely: Rarely<Woken>,
}

pub(super) type Task<T> = SessionTask<T, NoMedia>;

/// Serve a viewer gateway whose session stands, until it leaves or the program stops.
pub(crate) async fn serve<T: Transport>(shared: Arc<PublishedCameras>, mut task: SessionTask<T, NoMedia>) {
    let (sender, events) = mpsc::channel(MAX_EVENTS);
    let subscriber = Subscriber {
        id: shared.gateways.next_id(),
        slot: 0,
        queue: Arc::new(PacketQueue::new(PACKETS)),
        rtp_sender: None,
        events: sender,
    };
    let (seen, settings) = (shared.seen(), shared.gateways.settings.subscribe());
    let mut role = PacketRole {
        observation: Arc::clone(&task.observation),
        peer: task.peer,
        subscriber,
        events,
        rarely: Rarely::new()
            .changes(settings.changes(), || Woken::Settings)
            .changes(seen.changes(), || Woken::Registry),
        seen,
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
    let metrics = &role.observation.metrics;
    metrics.holds(PeerQueue::Media, &role.subscriber.queue);
    let ended = task.turn_to(&mut role).await;
    role.sender.record_counts(&task.connection.session, &role.observation);
    role.shared.count_gateways();
    task.log_end::<PacketRole>(&ended);
    role.leave_cameras().await;
    task.say_goodbye(GOODBYE_PATIENCE).await;
}

/// Reason for the wake-up of a session's task.
pub(super) enum Woken {
    Packets,
    SubscriberEvent(SubscriberEvent),
    /// The requested settings have changed.
    Settings,
    /// The cameras and lists were read again.
    Registry,
}

impl<T: Transport> Role<T> for PacketRole {
    type Listener = NoMedia;
    type Woken = Woken;

    const PUBLISHES: bool = true;
    const PEER: &'static str = "viewer gateway";
    const STOPPING: &'static str = "the gateway stops";

    fn established_words(&self) -> &'static str {
        "a viewer gateway is here"
    }

    fn established(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        task.attend(&self.shared.common.admission, "");
        self.shared.count_gateways();
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
        self.sender.record_counts(&task.connection.session, &self.observation);
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

impl PacketRole {
    /// Apply the requested settings to this session.
    fn apply_settings<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.settings.apply(&mut task.connection, &mut task.listener)
    }

    /// Apply changes after the cameras and lists were read again: leave the cameras that the viewer gateway no longer
    /// sees, and tell it the names of those that it does.
    pub(super) fn take_registry<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let Some(peer) = self.peer else { return Ok(()) };
        let seer = self.shared.common.admission.seer(&peer);
        for slot in 0..self.cameras.len() {
            let Known { path, camera, .. } = &mut self.cameras[slot];
            let lost = |asking: &Asking| match self.seen.lost(path.as_deref(), &asking.camera, &seer) {
                // It may ask again.
                _ if asking.camera.leaves() => Some(CarriedStatus::of_camera(503)),
                Some(Lost::Restarted) => Some(CarriedStatus::of_camera(503)),
                Some(Lost::Gone) => Some(CarriedStatus::of_camera(404)),
                None => None,
            };
            if let Some(status) = camera.as_ref().and_then(lost)
                && let Some(camera) = camera.take()
            {
                self.lose(task, slot as u8, &camera, status)?;
            }
        }
        let names = self.seen.names_to_tell(&seer, None, 1, |camera| camera.packets.is_ok());
        match names {
            Some(names) => task.handle(Input::TellCameras(names)),
            None => Ok(()),
        }
    }

    /// Leave all cameras. Wait until each has the message: the queues move as long as the cameras' tasks run.
    async fn leave_cameras(self) {
        for (slot, known) in (0..).zip(&self.cameras) {
            if let Some(camera) = &known.camera {
                let leave = Request::Leave(self.subscriber_of(slot));
                let _ = camera.packets.requests.send(leave).await;
            }
        }
    }
}
