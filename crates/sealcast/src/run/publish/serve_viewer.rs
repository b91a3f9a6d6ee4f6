//! One viewer of a publisher, served in a task of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Peer, WishedMedia};
use sealcast_proto::session::{Event, Input, OutgoingSound, Session};
use sealcast_proto::wire::{CameraName, CloseReason, MediaFrom};
use tokio::sync::watch;

use super::camera::Camera;
use super::camera_telling::CameraTelling;
use super::cameras::{PublishedCameras, SeenCameras};
use super::departure::Departure;
use super::serve_member::{self, MOST_WAIT};
use super::subscription::Subscription;
use crate::media::{Codec, Track};
use crate::meter::labels::DropCause;
use crate::meter::stage::Stage;
use crate::run::data::{PublishedData, ViewerData};
use crate::run::gateway::camera::session;
use crate::run::group::{Membership, Told};
use crate::run::media::VIDEO;
use crate::run::media::away::{AwayCause, SourceEnd};
use crate::run::media::delay_rate::DelayBasedRate;
use crate::run::media::hub::{Joined, Start};
use crate::run::media::lent::{Lender, LentFuture};
use crate::run::media::queue::{FrameQueue, Queued};
use crate::run::media::queued_frame::QueuedFrame;
use crate::run::session::accept::PendingSession;
use crate::run::session::connection::{Ended, NoMedia};
use crate::run::session::media_sender::MediaSender;
use crate::run::session::rarely::Rarely;
use crate::run::session::role::Role;
use crate::run::session::runtime_settings::SettingsReceiver;
use crate::run::session::task::SessionTask;
use crate::transport::Transport;

/// Interval of the check that the end of the stream has arrived.
const SETTLING: Duration = Duration::from_millis(20);
/// Time limit for sending the close message.
const GOODBYE_PATIENCE: Duration = Duration::from_secs(1);

/// Chance that a frame has missed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Late {
    /// To be sent at all: a keyframe comes when it is asked for.
    Always,
    /// To be sent before a newer group of pictures, once there is one.
    ForNewerGroup,
}

pub(crate) type Task<T> = SessionTask<T, NoMedia>;

/// The publisher's end of a viewer's session.
pub(crate) struct ViewerRole {
    /// The camera that it watches: the first one, before its wish is known.
    pub(crate) shared: Arc<Camera>,
    pub(crate) seen: SeenCameras,
    /// True if it wished for the names of the cameras.
    pub(crate) lists: bool,
    /// The publisher has packets for gateways alone.
    pub(crate) packets_alone: bool,
    /// True if it is a gateway, which has packets.
    pub(crate) gateway: bool,
    /// When a viewer that wished for the names of cameras is told them again.
    pub(crate) list_due: Option<Instant>,
    pub(crate) delay_rate: Option<DelayBasedRate>,
    pub(crate) subscription: Option<Subscription>,
    /// Time for which media may wait for a byte stream: what the viewer said, or the publisher's own.
    stream_budget: Duration,
    /// True if the viewer needs the session for answers to its challenges alone: else it has all from a relay.
    pub(crate) goes_on_without: bool,
    /// True if the next frame can be sealed.
    ready: bool,
    /// Requested settings, shared by all viewers' tasks.
    pub(crate) settings: SettingsReceiver,
    /// Data channels of the publisher, if it has any.
    pub(crate) channels: Option<Arc<PublishedData>>,
    /// The same at this session.
    pub(crate) data: Option<Box<ViewerData>>,
    /// Messages to it about the camera.
    pub(crate) camera: CameraTelling,
    /// Changes of the settings, of the camera and of the cameras.
    pub(crate) rarely: Rarely<Woken>,
}

/// Serve one viewer until it leaves, the source ends or the program stops.
pub(crate) async fn serve_viewer<T: Transport + 'static>(
    cameras: Arc<PublishedCameras>,
    pending: PendingSession<T>,
    stop: watch::Receiver<bool>,
) -> Departure {
    match cameras.seal_for_groups() {
        // The task that seals for a group sends as well.
        true => LentFuture::new(|lender| serve(cameras, pending, stop, Some(lender))).await,
        false => serve(cameras, pending, stop, None).await,
    }
}

async fn serve<T: Transport + 'static>(
    cameras: Arc<PublishedCameras>,
    pending: PendingSession<T>,
    stop: watch::Receiver<bool>,
    lender: Option<Lender>,
) -> Departure {
    let shared = cameras.first();
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
    task.known = pending.known;
    task.lender = lender;
    let mut role = ViewerRole {
        settings: shared.settings.subscribe(),
        channels: cameras.common.data.clone(),
        data: None,
        camera: CameraTelling::new(&shared.hub.standing),
        rarely: Rarely::new(),
        stream_budget: shared.stream_budget,
        shared,
        seen: cameras.seen(),
        lists: false,
        packets_alone: cameras.gateways.alone,
        gateway: false,
        list_due: None,
        delay_rate: pending.delay_rate,
        subscription: None,
        goes_on_without: false,
        ready: false,
    };
    role.wait_for_changes();
    let ended = task.run(&mut role, stop).await;
    if let Ended::Turned = ended {
        drop(role);
        return serve_gateway(cameras, task).await;
    }
    role.leave();
    task.note_failed_handshake(&ended);
    task.log_end::<ViewerRole>(&ended);
    let departure = Departure::of(&task, ended);
    task.say_goodbye(GOODBYE_PATIENCE).await;
    departure
}

/// Serve a viewer that has turned out to be a gateway.
async fn serve_gateway<T: Transport + 'static>(cameras: Arc<PublishedCameras>, mut task: Task<T>) -> Departure {
    // Nobody has frames for it.
    task.lender = None;
    let departure = Departure::of(&task, Ended::Closed);
    cameras.gateways.run(session::serve(Arc::clone(&cameras), task)).await;
    departure
}

/// Reason for the wake-up of a viewer's task.
pub(crate) enum Woken {
    /// A frame is queued, or it is time to check that the end of the stream has arrived.
    Frames,
    /// The requested settings have changed.
    Settings,
    /// There is something to say of the camera.
    Camera,
    /// There are other cameras, others may see them, or it is time to tell them again.
    Cameras,
    /// The group says something to this member, or nothing more.
    Told(Option<Told>),
    /// A datagram for the data channel at this place.
    Data(u8, Arc<[u8]>),
}

impl<T: Transport> Role<T> for ViewerRole {
    type Listener = NoMedia;
    type Woken = Woken;

    const PUBLISHES: bool = true;
    const PEER: &'static str = "viewer";
    const STOPPING: &'static str = "the publisher stops";

    fn admit(&mut self, task: &mut Task<T>, peer: &Peer) -> Input<'static> {
        let lacks = Role::<T>::lacks(self, peer);
        let kind = match peer.wish.is_some_and(|wish| wish.media == WishedMedia::Packets) {
            true => "viewer gateway",
            false => <Self as Role<T>>::PEER,
        };
        task.admit_by(&self.shared.admission, (kind, peer), &self.shared.places, lacks)
    }

    fn lacks(&mut self, peer: &Peer) -> Option<&'static str> {
        self.choose(peer)
    }

    fn established_words(&self) -> &'static str {
        match (self.lists, self.gateway) {
            (true, _) => "a viewer asks which cameras there are",
            (_, true) => "a viewer gateway is here",
            (false, false) => "a viewer watches",
        }
    }

    fn camera(&self) -> Option<CameraName> {
        (self.seen.are_several() && !self.lists && !self.gateway).then_some(self.shared.name)
    }

    fn established(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        task.observe_by(&self.shared.observation);
        if self.gateway {
            return Err(Ended::Turned);
        }
        self.tell_cameras(task)?;
        if self.lists {
            return Ok(());
        }
        task.attend(&self.shared.admission, self.shared.name.as_str());
        self.begin_data(task);
        let session = &task.connection.session;
        let elsewhere = self.sends_nothing(task);
        // A constant rate has no room for what the viewer missed.
        let start = match session.is_shaped() || elsewhere {
            true => Start::NextKeyframe,
            false => Start::KeptGroup,
        };
        let peer = task.peer.map(|peer| peer.id);
        let Joined {
            id,
            queue,
            awaits_keyframe,
        } = self.shared.hub.join(start, peer);
        self.subscription = Some(Subscription {
            id,
            queue,
            awaits_keyframe,
            membership: None,
            info_version: 0,
            // Until the description is known, treat the stream as one of keyframes only.
            codec: Codec::Mjpeg,
            sender: MediaSender::default(),
            target_told: None,
            stays_behind: false,
            catches_up: false,
        });
        if elsewhere {
            self.shared.hub.seal_by_group(id, None);
        }
        self.tell_camera(task)?;
        self.offer_group(task)?;
        self.apply_settings(task)
    }

    fn event(&mut self, task: &mut Task<T>, event: Event) -> Result<(), Ended> {
        match event {
            Event::JoinsGroup(media) => {
                if self.is_archive(task) != (media == MediaFrom::Sealed) {
                    return serve_member::refuse_archive(task, media);
                }
                self.join_group(task, media);
                return Ok(());
            }
            Event::Challenged(challenge) => {
                self.challenged(challenge);
                return Ok(());
            }
            Event::Selection(selection) => {
                self.agreed(selection);
                return Ok(());
            }
            Event::Hears(hearing) => {
                self.hears(task, hearing);
                return Ok(());
            }
            Event::BudgetStated(budget) => {
                self.stream_budget = budget;
                return Ok(());
            }
            Event::DataTold(wishes) => return self.data_wished(task, wishes),
            Event::Datagram(datagram) => return self.data_came(task, &datagram),
            Event::KeyframeRequested(_) => {
                // The viewer may also have lost the stream's description, so send it again.
                if let Some(subscription) = &mut self.subscription {
                    subscription.info_version = 0;
                }
            }
            Event::Resumed => {
                if let Some(subscription) = &mut self.subscription {
                    subscription.info_version = 0;
                    subscription.queue.clear();
                    if let Some(membership) = &subscription.membership {
                        membership.frames().clear();
                    }
                }
            }
            // Includes requests for a gateway: this end is none.
            _ => return Ok(()),
        }
        self.request_keyframe();
        Ok(())
    }

    fn send(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        if let Some(data) = &mut self.data {
            data.look(&mut task.connection, &task.observation.metrics);
        }
        self.send_frames(task)?;
        self.ready = task.connection.ready_for_frame();
        Ok(())
    }

    async fn wait(&mut self) -> Woken {
        let Self {
            subscription,
            camera,
            rarely,
            ready,
            list_due,
            ..
        } = self;
        let Some(subscription) = subscription else {
            match list_due {
                Some(due) => tokio::time::sleep_until((*due).into()).await,
                None => std::future::pending().await,
            }
            return Woken::Cameras;
        };
        let alone = subscription.served_by_group().is_none();
        let settling = subscription.finished() || subscription.membership.as_ref().is_some_and(Membership::is_due);
        let Subscription { queue, membership, .. } = subscription;
        let member = membership.is_some();
        tokio::select! {
            woken = serve_member::wait(membership, *ready), if member => woken,
            () = queue.changed(), if *ready && alone => Woken::Frames,
            () = tokio::time::sleep(SETTLING), if settling => Woken::Frames,
            woken = rarely.next() => woken,
            () = camera.repeats() => Woken::Camera,
        }
    }

    fn woken(&mut self, task: &mut Task<T>, woken: Woken) -> Result<bool, Ended> {
        match woken {
            Woken::Frames => return Ok(true),
            Woken::Settings => self.apply_settings(task)?,
            Woken::Camera => self.tell_camera(task)?,
            Woken::Cameras => self.take_cameras(task)?,
            Woken::Told(told) => self.tell_member(task, told)?,
            Woken::Data(channel, datagram) => task.handle(Input::Datagram(channel, &datagram))?,
        }
        Ok(false)
    }
}

impl ViewerRole {
    /// Apply the publisher's requested settings to this session.
    fn apply_settings<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.settings.apply(&mut task.connection, &mut task.listener)
    }

    fn send_frames<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        self.note_sent(task);
        self.mark_path(task, None)?;
        self.note_path(task);
        self.forward_frames(task)?;
        while task.connection.ready_for_frame() {
            let Some(frame) = self.next_frame(task) else { break };
            self.send_frame(task, &frame)?;
            task.take_events(self)?;
        }
        if let Some(subscription) = &self.subscription {
            task.connection.session.media_waits(subscription.waiting());
            if task.connection.session.is_shaped() {
                let waits = task.connection.session.media_backlog();
                self.shared.hub.set_in_cells(subscription.id, waits);
            }
        }
        if self.has_sent_all(task)? {
            let (reason, text) = match self.shared.hub.end() {
                // The failure may name the camera's address.
                _ if self.shared.leaves() => (CloseReason::GoingAway, "this camera is started again, or taken away"),
                Some(SourceEnd::Failed(failure)) => {
                    let words = AwayCause::of(&failure).unwrap_or(AwayCause::Failed).words();
                    (CloseReason::SourceFailed, words)
                }
                _ => (CloseReason::EndOfStream, ""),
            };
            task.handle(Input::Close(reason, text))?;
            return Err(Ended::Closed);
        }
        Ok(())
    }

    /// The next frame to seal for this viewer alone.
    fn next_frame<T: Transport>(&mut self, task: &mut Task<T>) -> Option<QueuedFrame> {
        let subscription = self.subscription.as_ref()?;
        if subscription.served_by_group().is_some() {
            return None;
        }
        let queue = Arc::clone(&subscription.queue);
        let next = loop {
            let next = self.next_in_time(task, &queue, |queued| queued.frame.encoded)?;
            let sound = next.frame.track == Track::Sound;
            if !sound || !self.is_stale(task, next.frame.encoded) {
                break next;
            }
            self.shared.observation.metrics.sound_dropped(1);
        };
        let membership = self.subscription.as_mut()?.membership.as_mut();
        // Both streams go on with the same keyframe in the group.
        let picture = next.frame.track == Track::Picture;
        if membership.is_some_and(|membership| picture && membership.is_due_at(&next.frame)) {
            return None;
        }
        Some(next)
    }

    /// True for sound that waited too long, and can be left out by itself. While the viewer catches up with the
    /// picture, sound waits with it. What a source that has ended leaves is sent, as in [`late`](Self::late).
    pub(crate) fn is_stale<T: Transport>(&self, task: &Task<T>, encoded: Instant) -> bool {
        let session = &task.connection.session;
        let may_drop = session.holds_media() || session.is_shaped();
        let catches_up = |subscription: &Subscription| subscription.catches_up;
        let waits = self.subscription.as_ref().is_some_and(catches_up) || self.shared.hub.end().is_some();
        may_drop && !waits && encoded.elapsed() >= self.most_wait(task)
    }

    /// The next frame of a queue. If it waited too long, drop all frames before the newest keyframe.
    pub(crate) fn next_in_time<T: Transport, F: Queued>(
        &mut self,
        task: &mut Task<T>,
        queue: &FrameQueue<F>,
        encoded: impl Fn(&F) -> Instant,
    ) -> Option<F> {
        let frame = queue.pop()?;
        if frame.sound() {
            return Some(frame);
        }
        let waited = encoded(&frame).elapsed();
        let catches_up = &mut self.subscription.as_mut()?.catches_up;
        *catches_up = frame.kept() || (*catches_up && waited >= MOST_WAIT);
        let catches_up = *catches_up;
        // While the viewer catches up, frames are late because it came late, and not because of its path. There is
        // nothing to go on at but a keyframe that came since.
        let needs_keyframe = |late: Late| catches_up || late == Late::ForNewerGroup;
        let late = self.late(task, waited);
        if late.is_none_or(|late| needs_keyframe(late) && !queue.holds_keyframe()) {
            if let Some(delay_rate) = self.delay_rate.as_mut().filter(|_| !catches_up) {
                // On a byte stream marks count it.
                let on_streams = task.connection.session.holds_media();
                delay_rate.frame(if on_streams { waited } else { Duration::ZERO });
            }
            return Some(frame);
        }
        let skipped = queue.skip_to_keyframe(frame);
        if skipped.dropped > 0 {
            let metrics = &self.shared.observation.metrics;
            metrics.record_dropped(DropCause::Queue, skipped.dropped as u64);
            if task.connection.session.is_shaped() {
                metrics.shape_dropped(skipped.dropped as u64);
            }
            if let Some(delay_rate) = self.delay_rate.as_mut().filter(|_| !catches_up) {
                delay_rate.dropped();
            }
        }
        if skipped.next.is_none() {
            self.request_keyframe();
        }
        skipped.next
    }

    /// Whether a frame that waited so long is too late to be sent. Of a source that has ended none gives way to
    /// nothing: no later frame would show the viewer that it is missing.
    fn late<T: Transport>(&self, task: &Task<T>, waited: Duration) -> Option<Late> {
        let (session, hub) = (&task.connection.session, &self.shared.hub);
        let ended = hub.end().is_some();
        if session.holds_media() || session.is_shaped() {
            let late = if ended { Late::ForNewerGroup } else { Late::Always };
            return (waited >= self.most_wait(task)).then_some(late);
        }
        if waited < self.stream_budget || hub.plays_once() {
            return None;
        }
        let stays_behind = |subscription: &Subscription| subscription.stays_behind;
        let asks = !ended && hub.makes_keyframes() && !self.subscription.as_ref().is_some_and(stays_behind);
        Some(if asks { Late::Always } else { Late::ForNewerGroup })
    }

    fn request_keyframe(&self) {
        let behind = |subscription: &Subscription| subscription.stays_behind;
        if !self.subscription.as_ref().is_some_and(behind) {
            self.shared.hub.request_keyframe();
        }
    }

    /// Seal a frame for this viewer and pass it to the network.
    fn send_frame<T: Transport>(&mut self, task: &mut Task<T>, queued: &QueuedFrame) -> Result<(), Ended> {
        let QueuedFrame { frame, kept } = queued;
        self.mark_path(task, Some(frame.encoded))?;
        let Some(subscription) = &mut self.subscription else {
            return Ok(());
        };
        let observation = &self.shared.observation;
        let clock = observation.clock;
        let picture = frame.track == Track::Picture;
        // Repeat the descriptions with every video keyframe, so that a viewer that lost them need not ask.
        let known = if picture && frame.keyframe && subscription.codec.predicts() {
            0
        } else {
            subscription.info_version
        };
        let (version, info) = self.shared.hub.info_since(known);
        if let Some(info) = info {
            subscription.info_version = version;
            subscription.codec = info.codec;
            let sound = self.shared.hub.sound();
            task.connection.seal(|session, out| {
                if let Some(sound) = &sound {
                    session.seal_sound_info(clock.now(), sound, out)?;
                }
                session.seal_info(clock.now(), VIDEO, &info, out)
            })?;
            // Before the frame, and again with each keyframe, as it may be lost.
            self.orient(task)?;
        }
        let Some(subscription) = &mut self.subscription else {
            return Ok(());
        };
        let previous = subscription.sender.previous();
        let mut outgoing = self.shared.outgoing(frame, subscription.codec, previous);
        outgoing.preamble.kept = *kept;
        let from = task.connection.outgoing_len();
        if !picture {
            let (preamble, data) = (outgoing.preamble, outgoing.data);
            let sound = OutgoingSound { preamble, data };
            let made = task
                .connection
                .seal(|session, out| session.seal_sound(clock.now(), &sound, out))?;
            let wire_bytes = (task.connection.outgoing_len() - from) as u64;
            observation.sound_sealed(made, wire_bytes);
            if let Some(tap) = &self.shared.wire_tap {
                tap(subscription.id, task.connection.outgoing_tail(from));
            }
            task.connection.work(&mut task.listener)?;
            return Ok(());
        }
        let seal = |session: &mut Session, now, out: &mut Vec<u8>| session.seal_frame(clock.at(now), &outgoing, out);
        let [began, _] = subscription.sender.seal(&mut task.connection, observation, seal)?;
        if let Some(unsplit) = task.connection.session.unsplit() {
            self.shared.settings.tell_unsplit(unsplit);
        }
        if !kept {
            let waited = began.saturating_duration_since(frame.encoded);
            observation.metrics.record_stage(Stage::Queue, waited);
        }
        if let Some(tap) = &self.shared.wire_tap {
            tap(subscription.id, task.connection.outgoing_tail(from));
        }
        task.connection.work(&mut task.listener)?;
        self.note_sent(task);
        Ok(())
    }

    pub(crate) fn note_sent<T: Transport>(&mut self, task: &Task<T>) {
        if let Some(subscription) = &mut self.subscription {
            subscription
                .sender
                .note_sent(&task.connection, &self.shared.observation);
        }
    }

    /// Leave the hub, if this viewer had joined it.
    fn leave(&mut self) {
        if let Some(subscription) = self.subscription.take() {
            if let Some(membership) = subscription.membership {
                let hear = membership.leave(self.shared.observation.clock.now());
                self.shared.observation.metrics.multicast_viewers(hear);
            }
            self.shared.hub.leave(subscription.id);
        }
    }
}
