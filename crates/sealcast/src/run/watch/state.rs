//! State that all sessions of a viewer share, and what their ends mean for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sealcast_proto::session::{Delivery, SessionError};
use sealcast_proto::wire::CameraName;
use tokio::sync::watch;

use super::group_proofs::GroupProofs;
use super::received::{Delivered, Receiver};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::seen_groups::SeenGroups;
use crate::run::data::WatchedData;
use crate::run::media::queue::{FrameQueue, QueueLimits};
use crate::run::session::accept::PendingSession;
use crate::run::session::connection::{Ended, Listener};
use crate::run::session::ended::{handshake_failure, last_words_failure, viewers_hint};
use crate::run::session::observe::Observation;
use crate::run::session::offer::Offer;
use crate::run::session::task::SessionTask;
use crate::sink::{OnAge, OnAway};
use crate::transport::AnyTransport;

/// Time limit for sending the close message.
pub(crate) const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);

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
    /// Data channels beside the picture.
    pub(crate) data: Option<Arc<WatchedData>>,
    /// False if the sound is left out.
    pub(super) sound: bool,
    /// Function that shows the age of the picture.
    pub(super) shows_age: Option<OnAge>,
    /// Function that shows that the camera is off.
    pub(super) shows_away: Option<OnAway>,
    pub(super) queue: Arc<FrameQueue<Delivered>>,
    /// Number of sessions that began.
    pub(super) sessions: AtomicU64,
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
            data: None,
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

/// Stop the session and allow a short time for its close message.
pub(crate) async fn stop_session(stop: &watch::Sender<bool>, watching: impl Future<Output = Result<()>>) -> Result<()> {
    // Sending fails if the session is already gone.
    let _ = stop.send(true);
    let _ = tokio::time::timeout(GOODBYE_PATIENCE * 2, watching).await;
    Ok(())
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
