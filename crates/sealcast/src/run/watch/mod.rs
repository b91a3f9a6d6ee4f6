//! The viewer: a session, a queue and a sink. It reconnects when the connection breaks.

pub(crate) mod camera_notice;
pub(crate) mod connect;
pub(crate) mod freezes;
pub(crate) mod group_proofs;
pub(crate) mod list_cameras;
pub(crate) mod listen;
pub(crate) mod passage;
pub(crate) mod picture_age;
pub(crate) mod received;
pub(crate) mod record;
pub(crate) mod sink_thread;
pub(crate) mod stamp_check;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sealcast_proto::keys::Peer;
use sealcast_proto::session::{Delivery, Event, Input, SessionError};
use sealcast_proto::wire::{CameraName, CloseReason, Ticket};
use tokio::sync::watch;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::seen_groups::SeenGroups;
use crate::run::control::socket::ControlSocket;
use crate::run::media::VIDEO;
use crate::run::media::queue::{FrameQueue, QueueLimits};
use crate::run::relay::RelayUrl;
use crate::run::session::accept::PendingSession;
use crate::run::session::admission::Admission;
use crate::run::session::connection::{Ended, Listener};
use crate::run::session::ended::{handshake_failure, last_words_failure, viewers_hint};
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::retry::turned_on;
use crate::run::session::role::Role;
use crate::run::session::task::SessionTask;
use crate::sink::{OnAge, OnAway, Sink, WITHOUT_SESSION};
use crate::transport::{self, AnyTransport};
use connect::ConnectingViewer;
use group_proofs::GroupProofs;
use listen::ListeningViewer;
use received::{Delivered, Receiver};

/// Time limit for sending the close message.
pub(crate) const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);

/// The direction of the connection between viewer and publisher.
pub enum PublisherAt {
    /// The viewer connects to the publisher.
    Connect(Ticket),
    /// The publisher connects to the viewer.
    Listen {
        /// The sockets; at least one.
        listeners: Vec<transport::Listener>,
        /// Decides which publishers are admitted.
        admission: Arc<Admission>,
        /// The socket for commands.
        control: Option<ControlSocket>,
    },
}

/// The settings of a viewer.
pub struct WatchOptions {
    /// The direction of the connection, with the publisher's address.
    pub publisher: PublisherAt,
    /// Identity, suites, mechanisms.
    pub offer: Offer,
    /// The destination of the frames.
    pub sink: Box<dyn Sink>,
    /// Maximum delay of a frame over the fastest path, on carriers that may lose media.
    pub budget: Duration,
    /// Time for which media may wait for a byte stream, if the user says so; else the publisher decides.
    pub stream_budget: Option<Duration>,
    /// Limits of the sink's queue.
    pub queue: QueueLimits,
    /// False to leave out the sound.
    pub sound: bool,
    /// True to reconnect when the connection breaks.
    pub reconnect: bool,
    /// True to show what comes through relays although the camera was never heard itself: it may be old.
    pub without_session: bool,
    /// Progress of this end in the camera's group.
    pub seen: Arc<SeenGroups>,
    /// Relays that have the publisher's stream. With any, it is asked itself only to enrol this viewer.
    pub relays: Vec<RelayUrl>,
}

/// Consequence of a session's end for the viewer.
pub(crate) enum After {
    /// The stream is over, or the user stopped it.
    Done,
    /// A failure that may be temporary.
    Broken(Failure),
}

/// State that all sessions of a viewer share.
pub(crate) struct ViewerState {
    pub(crate) offer: Offer,
    pub(crate) budget: Duration,
    pub(crate) stream_budget: Option<Duration>,
    pub(crate) observation: Arc<Observation>,
    /// True if frames carry their records as they came, for an archive.
    pub(crate) keeps_sealed: bool,
    /// True if what comes through relays is shown although the camera was never heard itself.
    pub(crate) without_session: bool,
    /// Progress of this end in the camera's group.
    pub(crate) seen: Arc<SeenGroups>,
    /// Channel for the cameras that the publisher names, instead of the log.
    pub(crate) cameras: Option<watch::Sender<Vec<CameraName>>>,
    /// False if the sound is left out.
    sound: bool,
    /// Function that shows the age of the picture.
    shows_age: Option<OnAge>,
    /// Function that shows that the camera is off.
    shows_away: Option<OnAway>,
    queue: Arc<FrameQueue<Delivered>>,
    /// Number of sessions that began.
    sessions: AtomicU64,
    /// Signatures of groups of pictures, for an archive.
    pub(crate) proofs: Arc<GroupProofs>,
}

impl ViewerState {
    /// The state of an end that has no sink: it opens nothing. Where media may be lost it waits so long for it.
    pub(crate) fn without_sink(offer: Offer, observation: Arc<Observation>, budget: Duration) -> Self {
        Self {
            offer,
            budget,
            stream_budget: None,
            without_session: false,
            seen: SeenGroups::nowhere(),
            cameras: None,
            sound: false,
            shows_age: None,
            shows_away: None,
            observation,
            keeps_sealed: false,
            proofs: Arc::new(GroupProofs::new(false)),
            sessions: AtomicU64::new(0),
            queue: Arc::new(FrameQueue::new(QueueLimits::default())),
        }
    }

    /// Delivery of media on carriers that may lose it.
    pub(crate) fn delivery(&self) -> Delivery {
        Delivery {
            budget: self.budget,
            keep_sealed: self.keeps_sealed,
            ..Delivery::default()
        }
    }

    /// Receiver that puts frames into the sink's queue.
    pub(crate) fn receiver(&self, in_order: bool) -> Receiver {
        let receiver = Receiver::new(in_order, Arc::clone(&self.observation), Arc::clone(&self.queue));
        let receiver = receiver.numbered(self.sessions.fetch_add(1, Ordering::Relaxed));
        let receiver = receiver.with_age(self.shows_age.clone()).noting(Arc::clone(&self.seen));
        let receiver = receiver.with_away(self.shows_away.clone());
        receiver.with_sound(self.sound).keeping(Arc::clone(&self.proofs))
    }

    /// The task of a session that begins.
    pub(crate) fn task(&self, pending: PendingSession) -> Task {
        let receiver = self.receiver(pending.session.assembles_stream());
        session_task(self, pending, receiver)
    }
}

/// Watch until the stream ends or `stop` turns true.
///
/// # Errors
/// The publisher refuses us or is not the one in the ticket, the sink fails, or the connection breaks and `reconnect`
/// is off.
pub async fn watch(
    mut options: WatchOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let queue = Arc::new(FrameQueue::new(options.queue));
    let (sink_failed, mut sink_fails) = watch::channel(false);
    let failed = move || _ = sink_failed.send(true);
    let keeps_sealed = options.sink.keeps_sealed();
    let (shows_age, shows_away) = (options.sink.when_aged(), options.sink.when_away());
    if options.without_session && !options.relays.is_empty() {
        options.sink.mark(WITHOUT_SESSION);
        observation.setting("without_session", WITHOUT_SESSION);
    }
    let proofs = Arc::new(GroupProofs::new(keeps_sealed));
    let feed = (Arc::clone(&queue), Arc::clone(&proofs));
    let seen = Arc::clone(&options.seen);
    let sink = sink_thread::start(options.sink, feed, Arc::clone(&observation), failed)?;
    let (session_stop, session_stopped) = watch::channel(false);
    let state = Arc::new(ViewerState {
        offer: options.offer,
        budget: options.budget,
        stream_budget: options.stream_budget,
        keeps_sealed,
        without_session: options.without_session,
        seen: options.seen,
        cameras: None,
        sound: options.sound,
        shows_age,
        shows_away,
        observation,
        queue: Arc::clone(&queue),
        sessions: AtomicU64::new(0),
        proofs,
    });
    let watching = keep_watching(
        options.publisher,
        options.relays,
        state,
        options.reconnect,
        session_stopped,
    );
    tokio::pin!(watching);
    let outcome = tokio::select! {
        outcome = &mut watching => outcome,
        _ = turned_on(&mut stop) => stop_session(&session_stop, watching).await,
        failed = turned_on(&mut sink_fails) => {
            // Without a failure the sink's thread ends only after the queue was closed.
            if failed { stop_session(&session_stop, watching).await } else { Ok(()) }
        }
    };
    queue.close();
    let written = tokio::task::spawn_blocking(move || {
        seen.write();
        sink.join()
    })
    .await;
    let written = match written {
        Ok(Ok(written)) => written,
        _ => Err(Failure::new(
            FailureKind::Internal,
            "the sink's thread panicked",
            "please report this",
        )),
    };
    // If the sink failed, that is the reason why the session was stopped, so its failure comes first.
    written.and(outcome)
}

/// Stop the session and allow a short time for its close message.
pub(crate) async fn stop_session(stop: &watch::Sender<bool>, watching: impl Future<Output = Result<()>>) -> Result<()> {
    // Sending fails if the session is already gone.
    let _ = stop.send(true);
    let _ = tokio::time::timeout(GOODBYE_PATIENCE * 2, watching).await;
    Ok(())
}

async fn keep_watching(
    publisher: PublisherAt,
    relays: Vec<RelayUrl>,
    state: Arc<ViewerState>,
    reconnect: bool,
    stop: watch::Receiver<bool>,
) -> Result<()> {
    match publisher {
        PublisherAt::Connect(ticket) => {
            let viewer = ConnectingViewer::new(state, ticket, stop);
            viewer.keep(relays, reconnect).await
        }
        PublisherAt::Listen {
            listeners,
            admission,
            control,
        } => {
            let door = ListeningViewer::new(state, admission);
            door.keep_listening(listeners, control, reconnect, stop).await
        }
    }
}

/// The task of a session that begins.
pub(crate) fn session_task<L: Listener>(
    state: &ViewerState,
    pending: PendingSession,
    listener: L,
) -> SessionTask<AnyTransport, L> {
    let (timer, remote) = (pending.timer, pending.remote);
    let task = SessionTask::new(
        pending.transport,
        pending.session,
        listener,
        &state.observation,
        timer,
        remote,
    );
    let mut task = task.at_place(pending.place);
    task.known = pending.known;
    task
}

/// The consequence of a session's end.
pub(crate) fn after<L: Listener>(task: &SessionTask<AnyTransport, L>, ended: Ended) -> After {
    let (remote, established) = (&task.remote, task.established);
    match (ended, &task.last_words) {
        (_, Some((reason, text))) => match last_words_failure(remote, *reason, text) {
            Some(failure) => After::Broken(failure),
            None => {
                tracing::info!("the stream has ended");
                After::Done
            }
        },
        (Ended::Closed, None) => After::Done,
        (Ended::Session(SessionError::Handshake(error)), None) => After::Broken(handshake_failure(remote, error)),
        (Ended::Session(error @ SessionError::SignsTooLittle), None) => {
            let hint = "watch a program that publishes with --group --sign both, or leave out --require-sign both";
            After::Broken(Failure::new(FailureKind::Refused, format!("{remote}: {error}"), hint))
        }
        (Ended::Eof, None) if !established => {
            let what = format!("{remote} closed the connection without an answer");
            let hint = "check the port, and that the ticket is this publisher's: it does not answer to any other";
            After::Broken(Failure::new(FailureKind::Network, what, hint))
        }
        (ended, None) => {
            let words = ended.in_words().unwrap_or_default();
            let hint = viewers_hint(&ended, established);
            After::Broken(Failure::new(FailureKind::Network, format!("{remote}: {words}"), hint))
        }
    }
}

/// The task of a viewer's session.
pub(crate) type Task = SessionTask<AnyTransport, Receiver>;

/// The viewer's end of a session. A viewer that listens has a door, which decides on publishers.
pub(crate) struct WatchingRole<'a> {
    pub(crate) door: Option<&'a ListeningViewer>,
    /// Time for which media may wait for a byte stream, if the user says so.
    pub(crate) stream_budget: Option<Duration>,
    /// The camera that this end wished for.
    pub(crate) camera: CameraName,
    /// Channel for the cameras that the publisher names, instead of the log.
    pub(crate) cameras: Option<&'a watch::Sender<Vec<CameraName>>>,
}

/// Say which of several cameras is watched. The first is that of who wished for none.
fn tell_cameras(names: &[CameraName], wished: CameraName) {
    let Some((first, others)) = names.split_first().filter(|_| wished == CameraName::NONE) else {
        return;
    };
    let others: Vec<&str> = others.iter().map(CameraName::as_str).collect();
    tracing::info!(
        camera = first.as_str(),
        others = others.join(", "),
        "watching one of several cameras: --camera NAME chooses another"
    );
}

impl Role<AnyTransport> for WatchingRole<'_> {
    type Listener = Receiver;
    type Woken = Infallible;

    const PUBLISHES: bool = false;
    const PEER: &'static str = "publisher";
    const STOPPING: &'static str = "the viewer stops";

    fn established_words(&self) -> &'static str {
        "watching"
    }

    fn admit(&mut self, task: &mut Task, peer: &Peer) -> Input<'static> {
        match self.door {
            Some(door) => task.admit_by::<Self>(&door.admission, peer, &door.places, None),
            None => Input::Close(CloseReason::NotAuthorised, "this viewer lets nobody in"),
        }
    }

    fn established(&mut self, task: &mut Task) -> Result<(), Ended> {
        if let Some(door) = self.door {
            task.attend(&door.admission, "");
        }
        let on_stream = task.connection.session.assembles_stream() && task.connection.carries_media();
        match self.stream_budget.filter(|_| on_stream) {
            Some(budget) => task.handle(Input::StateBudget(budget)),
            None => Ok(()),
        }
    }

    fn event(&mut self, task: &mut Task, event: Event) -> Result<(), Ended> {
        match event {
            Event::GroupSaid(message) => task.listener.keep_proof(&message),
            Event::Oriented(orientation) => task.listener.orient(orientation),
            Event::CameraTold { on, since, why } => task.listener.camera_told(on, since, &why),
            Event::CamerasTold(names) => match self.cameras {
                Some(told) => drop(told.send_replace(names)),
                None if task.lists.count(Instant::now()).is_some() => tell_cameras(&names, self.camera),
                None => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn send(&mut self, task: &mut Task) -> Result<(), Ended> {
        task.listener.count(task.connection.session.inbound_counts());
        let now = task.observation.clock.now().monotonic;
        let session = &task.connection.session;
        task.listener.note_age(session.picture_age(now), session.proofs(now));
        task.listener.note_seen(session.seen());
        if task.established && task.listener.take_keyframe_request() {
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
