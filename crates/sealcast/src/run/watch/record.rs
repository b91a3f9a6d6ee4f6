//! An archive's node: it records what a camera seals for its group, and can open nothing of it (archive.md §8).

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sealcast_proto::archive::{Gather, Gathered};
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::group::Terms;
use sealcast_proto::session::{Event, InboundCounts, Input};
use sealcast_proto::unit::Assembled;
use sealcast_proto::wire::{CameraName, Control, GroupMessage, MediaFrom, Ticket};
use tokio::sync::watch;

use super::ViewerState;
use super::connect::ConnectingViewer;
use crate::archive::{NodeArchive, ToNode};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::labels::{Direction, DropCause};
use crate::run::group::group_of;
use crate::run::media::VIDEO;
use crate::run::relay::RelayUrl;
use crate::run::session::connection::{Ended, Listener};
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::retry::turned_on;
use crate::run::session::role::Role;
use crate::run::session::task::SessionTask;
use crate::sink::GroupProof;
use crate::transport::AnyTransport;

/// Frames and messages that may wait for the disk.
const MAX_UNWRITTEN: usize = 1024;
/// Bytes of frames that may wait for the disk.
const MAX_UNWRITTEN_BYTES: usize = 64 << 20;
/// Time for which lost records are asked for, where media may be lost, unless the ticket says longer: the camera keeps
/// them for 4 s.
const LEAST_BUDGET: Duration = Duration::from_secs(3);
/// Minimum time between two requests of a keyframe after a loss.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);

/// The settings of an archive's node.
pub struct RecordOptions {
    /// The camera.
    pub ticket: Ticket,
    /// Identity, suites, mechanisms, and the group's policy.
    pub offer: Offer,
    /// Archive to which it writes.
    pub archive: NodeArchive,
    /// True to reconnect when the connection breaks.
    pub reconnect: bool,
    /// The relay that has the camera's stream, if the ticket names one. The session says who can open it, and goes
    /// through the relay as well.
    pub relays: Vec<RelayUrl>,
}

/// Records until the stream ends or `stop` turns true.
///
/// # Errors
/// The camera refuses us or is not the one in the ticket, the archive cannot be written, or the connection breaks and
/// `reconnect` is off.
pub async fn record(
    options: RecordOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let (to_writer, told) = mpsc::sync_channel(MAX_UNWRITTEN);
    let shared = Arc::new(Shared::default());
    let (writer_failed, mut writer_fails) = watch::channel(false);
    let writer = write(options.archive, told, Arc::clone(&shared), writer_failed)?;
    let recorder = Recorder {
        to_writer,
        shared,
        observation: Arc::clone(&observation),
        skips: false,
    };
    let (session_stop, session_stopped) = watch::channel(false);
    let latency = Duration::from_millis(options.ticket.latency.unwrap_or_default().into());
    let state = ViewerState::without_sink(options.offer, observation, latency.max(LEAST_BUDGET));
    let node = ConnectingViewer::new(Arc::new(state), options.ticket, session_stopped);
    let outcome = {
        let recording = node.record(recorder, options.relays, options.reconnect);
        tokio::pin!(recording);
        tokio::select! {
            outcome = &mut recording => outcome,
            _ = turned_on(&mut stop) => super::stop_session(&session_stop, recording).await,
            _ = turned_on(&mut writer_fails) => super::stop_session(&session_stop, recording).await,
        }
    };
    // The recorder is gone, so the writer comes to its end.
    let written = tokio::task::spawn_blocking(move || writer.join()).await;
    let panicked = || {
        Failure::new(
            FailureKind::Internal,
            "the archive's thread panicked",
            "please report this",
        )
    };
    let written = match written {
        Ok(Ok(written)) => written,
        _ => Err(panicked()),
    };
    // If the archive could not be written, that is why the session ended.
    written.and(outcome)
}

/// State that the writer and the session share.
#[derive(Default)]
struct Shared {
    wants_keyframe: AtomicBool,
    waiting: AtomicUsize,
    /// Estimate of the camera's clock, for frames that come through a relay.
    clock: Mutex<Option<ClockEstimate>>,
}

/// Writes what sessions bring, on a thread of its own.
fn write(
    mut archive: NodeArchive,
    told: Receiver<ToNode>,
    shared: Arc<Shared>,
    failed: watch::Sender<bool>,
) -> Result<JoinHandle<Result<()>>> {
    let body = move || {
        let written = told.into_iter().try_for_each(|told| {
            if let ToNode::Frame { frame, .. } = &told {
                shared.waiting.fetch_sub(frame.bytes(), Ordering::Relaxed);
            }
            if archive.take(told)? {
                shared.wants_keyframe.store(true, Ordering::Relaxed);
            }
            Ok(())
        });
        if written.is_err() {
            // It fails only if nobody waits any more.
            let _ = failed.send(true);
        }
        written.and(archive.finish())
    };
    let started = thread::Builder::new().name("recording".to_owned()).spawn(body);
    started.map_err(|error| {
        let what = format!("the system gives no thread for the archive ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })
}

/// Passes on what sessions and relays bring to the thread that writes.
#[derive(Clone)]
pub(crate) struct Recorder {
    to_writer: SyncSender<ToNode>,
    shared: Arc<Shared>,
    observation: Arc<Observation>,
    /// Frames are left out up to the next keyframe, because the disk was too slow.
    skips: bool,
}

impl Recorder {
    /// Passes on what is no frame, and must not be left out.
    fn tell(&self, told: ToNode) -> std::result::Result<(), Ended> {
        self.to_writer.try_send(told).map_err(|refused| {
            let words = match refused {
                TrySendError::Full(_) => "the disk is too slow for the archive",
                TrySendError::Disconnected(_) => "the archive is not written any more",
            };
            Ended::Carrier(io::Error::other(words))
        })
    }

    /// A relay brings a frame.
    pub(crate) fn relayed(&mut self, frame: Gathered) {
        let clock = *self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner);
        self.frame(frame, clock);
    }

    /// The camera says what signs groups of pictures; other messages are of no use to an archive.
    pub(crate) fn proof(&self, message: GroupMessage<'_>) {
        let proof = match message {
            GroupMessage::Certificate(bytes) => GroupProof::Key(bytes.to_vec()),
            GroupMessage::Signature(bytes) => GroupProof::Signature(bytes.to_vec()),
            _ => return,
        };
        if self.to_writer.try_send(ToNode::Proof(proof)).is_err() {
            tracing::warn!("a signature of a group of pictures is not in the archive: the disk is too slow");
        }
    }

    fn frame(&mut self, frame: Gathered, clock: Option<ClockEstimate>) {
        let metrics = &self.observation.metrics;
        let sound = frame.is_sound();
        match sound {
            true => metrics.record_sound(Direction::In),
            false => metrics.record_frame(Direction::In),
        }
        let (keyframe, bytes) = (frame.keyframe && !sound, frame.bytes());
        let room = self.shared.waiting.load(Ordering::Relaxed) + bytes <= MAX_UNWRITTEN_BYTES;
        let dependent = self.skips && !keyframe && !sound;
        self.shared.waiting.fetch_add(bytes, Ordering::Relaxed);
        let passed = room && !dependent && self.to_writer.try_send(ToNode::Frame { frame, clock }).is_ok();
        if passed {
            self.skips &= sound;
            return;
        }
        self.shared.waiting.fetch_sub(bytes, Ordering::Relaxed);
        if sound {
            metrics.sound_dropped(1);
            return;
        }
        if !std::mem::replace(&mut self.skips, true) {
            tracing::warn!("the disk is too slow: frames are not in the archive up to the next keyframe");
        }
        metrics.record_dropped(DropCause::Queue, 1);
        self.shared.wants_keyframe.store(true, Ordering::Relaxed);
    }
}

/// The listener of a session that opens no media.
#[derive(Default)]
pub(crate) struct Unopened {
    clock: Option<ClockEstimate>,
    /// The camera seals for this end alone.
    served_alone: bool,
    /// It joined the camera's group: what comes is the group's.
    joined: bool,
    /// The records of frames that came where media may be lost, each behind its length.
    carried: Vec<Vec<u8>>,
    /// Frames were lost: a keyframe should be requested.
    lost: bool,
    last_request: Option<Instant>,
    /// Media counters of the session at the last update of the metrics.
    counted: InboundCounts,
}

impl Unopened {
    /// True if a keyframe should be requested after a loss. The answer counts as one request.
    fn take_request(&mut self) -> bool {
        let waits = self.last_request.is_some_and(|last| last.elapsed() < REQUEST_INTERVAL);
        let due = self.lost && !waits;
        if due {
            (self.lost, self.last_request) = (false, Some(Instant::now()));
        }
        due
    }
}

impl Listener for Unopened {
    fn media(&mut self, media: Assembled, _: Instant) -> bool {
        match media {
            _ if !self.joined => self.served_alone = true,
            Assembled::Frame(frame) => {
                let pauses = frame.stream == VIDEO;
                self.carried.push(frame.data);
                return pauses;
            }
            Assembled::Undecodable { .. } | Assembled::Lost => self.lost = true,
            Assembled::Info(_) | Assembled::Sound(_) => self.served_alone = true,
        }
        false
    }

    fn clock(&mut self, estimate: ClockEstimate) {
        self.clock = Some(estimate);
    }
}

type Task = SessionTask<AnyTransport, Unopened>;

/// The node's end of a session.
pub(crate) struct RecordingRole<'a> {
    recorder: &'a mut Recorder,
    gather: Option<Gather>,
}

impl<'a> RecordingRole<'a> {
    /// The end of a session that begins.
    pub(crate) fn new(recorder: &'a mut Recorder) -> Self {
        Self { recorder, gather: None }
    }

    fn said(&mut self, task: &mut Task, message: &[u8]) -> std::result::Result<(), Ended> {
        let Ok(Control::Group(message)) = Control::parse(message) else {
            return Ok(());
        };
        match message {
            GroupMessage::Terms(terms) => {
                // The session has verified them.
                let camera = task.connection.session.facts().map(|facts| facts.peer.id);
                let terms = camera.map(|camera| Terms::verified(terms, &group_of(camera), &CameraName::NONE));
                let proofs = terms.is_some_and(|terms| terms.is_ok_and(|terms| terms.sign().frames()));
                self.gather = Some(Gather::new(proofs));
                task.listener.joined = true;
                task.handle(Input::JoinGroup(MediaFrom::Sealed))
            }
            GroupMessage::Recipients(recipients) => self.recorder.tell(ToNode::Recipients(recipients.to_vec())),
            GroupMessage::ArchiveKey { epoch, file } => {
                let file = file.to_vec();
                self.recorder.tell(ToNode::Key { epoch, file })
            }
            GroupMessage::Certificate(_) | GroupMessage::Signature(_) => {
                self.recorder.proof(message);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl Role<AnyTransport> for RecordingRole<'_> {
    type Listener = Unopened;
    type Woken = Infallible;

    const PUBLISHES: bool = false;
    const PEER: &'static str = "publisher";
    const STOPPING: &'static str = "the archive's node stops";

    fn established_words(&self) -> &'static str {
        "recording what can be opened elsewhere"
    }

    fn established(&mut self, _: &mut Task) -> std::result::Result<(), Ended> {
        self.recorder.tell(ToNode::Begins)
    }

    fn event(&mut self, task: &mut Task, event: Event) -> std::result::Result<(), Ended> {
        match event {
            Event::GroupSaid(message) => self.said(task, &message),
            Event::Oriented(orientation) => self.recorder.tell(ToNode::Orient(orientation)),
            Event::SealedRecord(record) => {
                let gathered = self.gather.as_mut().map(|gather| gather.take(record));
                if let Some(Ok(Some(frame))) = gathered {
                    self.recorder.frame(frame, task.listener.clock);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn received(&mut self, task: &mut Task) -> std::result::Result<(), Ended> {
        let carried = std::mem::take(&mut task.listener.carried);
        let Some(gather) = &mut self.gather else { return Ok(()) };
        for records in carried {
            match gather.take_framed(&records) {
                Ok(Some(frame)) => self.recorder.frame(frame, task.listener.clock),
                Ok(None) => {}
                Err(_) => task.listener.served_alone = true,
            }
        }
        Ok(())
    }

    fn send(&mut self, task: &mut Task) -> std::result::Result<(), Ended> {
        if let Some(counts) = task.connection.session.inbound_counts() {
            task.observation.metrics.media_came(&mut task.listener.counted, counts);
        }
        if task.listener.served_alone {
            let words = "it sends its stream for this node alone: name this node there with --archive-node";
            return Err(Ended::Carrier(io::Error::other(words)));
        }
        if task.listener.clock.is_some() {
            let mut known = self
                .recorder
                .shared
                .clock
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *known = task.listener.clock;
        }
        let lost = task.listener.take_request();
        let wanted = self.recorder.shared.wants_keyframe.swap(false, Ordering::Relaxed);
        if task.established && (lost || wanted) {
            task.handle(Input::RequestKeyframe(VIDEO))?;
        }
        Ok(())
    }

    async fn wait(&mut self) -> Infallible {
        std::future::pending().await
    }

    fn woken(&mut self, _: &mut Task, never: Infallible) -> std::result::Result<bool, Ended> {
        match never {}
    }
}
