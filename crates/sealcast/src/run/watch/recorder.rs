//! The way from sessions and relays to the thread that writes a node's archive (archive.md §8).

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::archive::{Gather, Gathered};
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::group::Terms;
use sealcast_proto::session::{Event, InboundCounts, Input};
use sealcast_proto::unit::Assembled;
use sealcast_proto::wire::{CameraName, Control, GroupMessage, MediaFrom};

use crate::archive::ToNode;
use crate::meter::labels::{Direction, DropCause};
use crate::run::group::group_of;
use crate::run::media::VIDEO;
use crate::run::session::connection::{Ended, Listener};
use crate::run::session::observe::Observation;
use crate::run::session::role::Role;
use crate::run::session::task::SessionTask;
use crate::sink::GroupProof;
use crate::transport::AnyTransport;

/// Bytes of frames that may wait for the disk.
const MAX_UNWRITTEN_BYTES: usize = 64 << 20;
/// Minimum time between two requests of a keyframe after a loss.
const REQUEST_INTERVAL: Duration = Duration::from_millis(250);

/// State that the writer and the session share.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) wants_keyframe: AtomicBool,
    pub(super) waiting: AtomicUsize,
    /// Estimate of the camera's clock, for frames that come through a relay.
    pub(super) clock: Mutex<Option<ClockEstimate>>,
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
    /// Passes on to this writer.
    pub(super) fn new(to_writer: SyncSender<ToNode>, shared: Arc<Shared>, observation: Arc<Observation>) -> Self {
        Self {
            to_writer,
            shared,
            observation,
            skips: false,
        }
    }

    /// Passes on what is no frame, and must not be left out.
    fn tell(&self, told: ToNode) -> Result<(), Ended> {
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

    fn said(&mut self, task: &mut Task, message: &[u8]) -> Result<(), Ended> {
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

    fn established(&mut self, _: &mut Task) -> Result<(), Ended> {
        self.recorder.tell(ToNode::Begins)
    }

    fn event(&mut self, task: &mut Task, event: Event) -> Result<(), Ended> {
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

    async fn received(&mut self, task: &mut Task) -> Result<(), Ended> {
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

    fn send(&mut self, task: &mut Task) -> Result<(), Ended> {
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

    fn woken(&mut self, _: &mut Task, never: Infallible) -> Result<bool, Ended> {
        match never {}
    }
}
