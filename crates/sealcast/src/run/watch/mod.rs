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
pub(crate) mod recorder;
pub(crate) mod sink_thread;
pub(crate) mod stamp_check;
pub(crate) mod state;
pub(crate) mod watching_role;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use sealcast_proto::wire::Ticket;
use tokio::sync::watch;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::seen_groups::SeenGroups;
use crate::run::control::socket::ControlSocket;
use crate::run::data::{DataUrl, WatchedData};
use crate::run::media::queue::{FrameQueue, QueueLimits};
use crate::run::relay::RelayUrl;
use crate::run::session::admission::Admission;
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::retry::turned_on;
use crate::sink::{Sink, WITHOUT_SESSION};
use crate::transport;
use connect::ConnectingViewer;
use group_proofs::GroupProofs;
use listen::ListeningViewer;
use state::{ViewerState, stop_session};

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
    /// Data channels beside the picture.
    pub data: Vec<DataUrl>,
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
    let data = WatchedData::open(std::mem::take(&mut options.data), &observation.metrics)?;
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
        data,
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
