//! A viewer that connects to its publisher, again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{self, PresharedKey, PskName, Wish};
use sealcast_proto::session::{Carrier, Delivery, SessionError};
use sealcast_proto::sign::SignMode;
use sealcast_proto::wire::{Address, CameraName, CloseReason, Ticket, TransportKind};
use tokio::sync::watch;

use super::recorder::{Recorder, RecordingRole, Unopened};
use crate::failure::Result;
use crate::run::data::WatchedSession;
use crate::run::relay::{AttendingRole, RelayUrl, RelayedCamera, SessionLine, Unwatched, line, watch_relays};
use crate::run::session::accept::PendingSession;
use crate::run::session::attempts::Attempts;
use crate::run::session::connection::{Ended, Listener};
use crate::run::session::exchange::HandshakeTimer;
use crate::run::session::offer::CarrierConfig;
use crate::run::session::role::Role;
use crate::run::session::task::SessionTask;
use crate::run::watch::state::{After, GOODBYE_PATIENCE, ViewerState, after, session_task};
use crate::run::watch::watching_role::WatchingRole;
use crate::transport::{AnyTransport, Connected, Reach, RelayedStream, StreamTransport};

/// Time in which the last frames come through a relay after the camera said that the stream is over.
const LAST_FRAMES: Duration = Duration::from_secs(3);

/// A viewer that connects to its publisher.
pub(crate) struct ConnectingViewer {
    state: Arc<ViewerState>,
    reach: Reach,
    stop: watch::Receiver<bool>,
    /// Line on which its sessions meet what comes through relays, if its frames do.
    line: Option<SessionLine>,
    /// Takes what sessions bring to an archive's node.
    recorder: Option<Recorder>,
    attempts: Attempts,
    /// The wish of its sessions. If it names no camera and the publisher has several, it names the one that was given
    /// from then on: a recording is of one camera, whatever order they are in later.
    wish: Wish,
    /// The reason of the publisher's close message in the last session, if it sent one.
    said: Option<CloseReason>,
    /// Name of the secret that the last attempt proved.
    proved: Option<PskName>,
}

impl ConnectingViewer {
    /// Nothing is connected yet.
    pub(crate) fn new(state: Arc<ViewerState>, ticket: Ticket, stop: watch::Receiver<bool>) -> Self {
        let attempts = Attempts::new(state.offer.attended);
        let known = state.offer.known.clone();
        Self {
            wish: state.offer.wish,
            state,
            reach: Reach::new(ticket).kept_in(known),
            stop,
            line: None,
            recorder: None,
            attempts,
            said: None,
            proved: None,
        }
    }

    /// Record what sessions bring, without opening it.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub(crate) async fn record(mut self, recorder: Recorder, relays: Vec<RelayUrl>, reconnect: bool) -> Result<()> {
        self.recorder = Some(recorder);
        self.keep(relays, reconnect).await
    }

    /// Watch, through relays if there are any, until the stream is over or the user stops.
    ///
    /// # Errors
    /// The publisher refuses this viewer or is not the one in the ticket, or the connection breaks and `reconnect` is
    /// off.
    pub(crate) async fn keep(mut self, relays: Vec<RelayUrl>, reconnect: bool) -> Result<()> {
        if relays.is_empty() {
            self.keep_connected(reconnect).await
        } else {
            self.keep_relayed(relays, reconnect).await
        }
    }

    /// Watch through relays, with a session beside them.
    async fn keep_relayed(mut self, relays: Vec<RelayUrl>, reconnect: bool) -> Result<()> {
        let (session_line, inlet_line) = line();
        self.line = Some(session_line);
        self.attempts.await_place();
        let (state, stop) = (Arc::clone(&self.state), self.stop.clone());
        let camera = RelayedCamera {
            camera: self.reach.ticket().peer,
            secret: self.kept_secret(),
            relays,
            least: state.offer.group.map_or(SignMode::Frame, |policy| policy.sign),
            recorder: self.recorder.clone(),
        };
        let watching = watch_relays(&state, &camera, inlet_line, reconnect, stop);
        tokio::pin!(watching);
        tokio::select! {
            after = &mut watching => return settled(after?),
            ended = self.keep_connected(reconnect) => ended?,
        }
        // The stream is over, and its last frames are on their way.
        if let Some(line) = &self.line {
            line.stream_over();
        }
        match tokio::time::timeout(LAST_FRAMES, watching).await {
            Ok(after) => settled(after?),
            Err(_) => Ok(()),
        }
    }

    /// Secret that this viewer and the publisher have kept from an enrolment.
    fn kept_secret(&self) -> Option<PresharedKey> {
        kept_secret(&self.state, self.reach.ticket())
    }

    async fn keep_connected(&mut self, reconnect: bool) -> Result<()> {
        loop {
            (self.said, self.proved) = (None, None);
            let mut failure = match self.watch_once().await? {
                After::Done => return Ok(()),
                After::Broken(failure) => failure,
            };
            if self.state.offer.looks_again(&mut self.reach, self.proved, &mut failure) {
                continue;
            }
            let fatal = !self.attempts.go_on(&failure, self.said, Instant::now()) || !reconnect;
            if fatal && (self.said == Some(CloseReason::NotAuthorised) || !self.does_without()) {
                return Err(failure);
            }
            self.attempts.tell(&failure);
            if self.line.is_none() && !self.attempts.have_stood() {
                self.state.observation.unreached(failure);
            }
            if fatal && !reconnect {
                // The frames come without it.
                return std::future::pending().await;
            }
            if *self.stop.borrow() {
                return Ok(());
            }
            self.attempts.pause().await;
        }
    }

    async fn watch_once(&mut self) -> Result<After> {
        let state = Arc::clone(&self.state);
        let Connected {
            transport,
            carrier,
            remote,
        } = match self.connect().await {
            Ok(connected) => connected,
            Err(failure) => return Ok(After::Broken(failure)),
        };
        let ticket = self.reach.ticket();
        let carrier_config = CarrierConfig {
            carrier,
            delivery: Delivery {
                has_others: self.reach.has_others(),
                ..state.delivery()
            },
        };
        let role = (keys::Role::Viewer, self.wish);
        let initiating = state.offer.initiate(role, ticket, carrier_config, &state.observation);
        let initiated = initiating.await?;
        self.proved = initiated.known.proved();
        let with = match (initiated.known.is_enrolled(), self.proved) {
            (true, _) => "what an enrolment left",
            (false, Some(_)) => "the ticket's invite",
            (false, None) => "this end's identity alone",
        };
        tracing::debug!(with, "connected: the handshake begins");
        let pending = PendingSession {
            transport,
            session: initiated.session.into(),
            delay_rate: None,
            remote,
            timer: HandshakeTimer::begin("initiator", Some(initiated.keygen)),
            known: Some(initiated.known),
            place: None,
            telling: None,
        };
        let stop = self.stop.clone();
        let kept_secret = || kept_secret(&state, ticket);
        let run = match (&mut self.line, &mut self.recorder) {
            (None, None) => {
                let mut role = WatchingRole {
                    door: None,
                    camera: self.wish.camera,
                    stream_budget: state.stream_budget,
                    cameras: state.cameras.as_ref(),
                    data: state.data.as_ref().map(WatchedSession::new),
                };
                run(state.task(pending), &mut role, stop).await
            }
            (None, Some(recorder)) => {
                let task = session_task(&state, pending, Unopened::default());
                run(task, &mut RecordingRole::new(recorder), stop).await
            }
            (Some(line), Some(recorder)) => {
                let task = session_task(&state, pending, Unopened::default());
                let run = run(task, &mut RecordingRole::new(recorder), stop).await;
                line.closed();
                run
            }
            (Some(line), None) => {
                let task = session_task(&state, pending, Unwatched(Arc::clone(&state.seen)));
                let run = run(task, &mut AttendingRole::new(line, kept_secret), stop).await;
                line.closed();
                run
            }
        };
        Ok(self.note_run(run))
    }

    /// Notes how a session went. Returns the consequence.
    fn note_run(&mut self, run: Run) -> After {
        self.reach.ended(run.established);
        self.reach.told(run.told);
        if let Some(camera) = run.told_camera.filter(|_| self.wish.camera == CameraName::NONE) {
            self.wish.camera = camera;
        }
        if run.established {
            self.state.observation.reached();
            self.attempts.stood();
            self.attempts.begin_anew();
        }
        self.said = run.said;
        run.after
    }

    /// Connect to the publisher: itself, or through a relay where that is how it is reached.
    async fn connect(&mut self) -> Result<Connected> {
        let metrics = self.state.observation.metrics.clone();
        let connected = self.reach.connect(keys::Role::Viewer, self.state.offer.unit, metrics);
        let failure = match connected.await {
            Ok(connected) => return Ok(connected),
            Err(failure) => failure,
        };
        let Some(line) = &self.line else { return Err(failure) };
        if self.reach.ticket().transport != TransportKind::Relay {
            tracing::info!("{}: asking through the relay", failure.what);
        }
        let RelayedStream { stream, relay } = line.open().await?;
        let transport = AnyTransport::Relayed(Box::new(StreamTransport::new(stream)));
        Ok(Connected {
            transport,
            carrier: Carrier::Stream,
            remote: format!("the camera behind {relay}"),
        })
    }

    /// True if it can watch through relays without a session: it has had one, or the user wants it so.
    fn does_without(&self) -> bool {
        let may = self.state.without_session || self.attempts.have_stood();
        self.line.is_some() && may && self.kept_secret().is_some()
    }
}

/// The consequence for the program.
fn settled(after: After) -> Result<()> {
    match after {
        After::Done => Ok(()),
        After::Broken(failure) => Err(failure),
    }
}

/// Secret that a viewer and its publisher have kept from an enrolment.
fn kept_secret(state: &ViewerState, ticket: &Ticket) -> Option<PresharedKey> {
    let (secret, known) = state.offer.known.end_of(ticket);
    secret.filter(|_| known.is_enrolled())
}

/// Outcome of a session.
struct Run {
    after: After,
    established: bool,
    /// The reason of the publisher's close message, or that it cannot do what is required.
    said: Option<CloseReason>,
    /// Addresses that it told.
    told: Option<Vec<Address>>,
    /// The first camera that it told.
    told_camera: Option<CameraName>,
}

/// Run a session to its end.
async fn run<L: Listener, R: Role<AnyTransport, Listener = L>>(
    mut task: SessionTask<AnyTransport, L>,
    role: &mut R,
    stop: watch::Receiver<bool>,
) -> Run {
    let ended = task.run(role, stop).await;
    task.note_failed_handshake(&ended);
    let unfit = matches!(ended, Ended::Session(SessionError::SignsTooLittle));
    let said = task.last_words.as_ref().map(|(reason, _)| *reason);
    let run = Run {
        established: task.established,
        said: said.or(unfit.then_some(CloseReason::NotOffered)),
        after: after(&task, ended),
        told: task.told.take(),
        told_camera: task.told_camera,
    };
    task.say_goodbye(GOODBYE_PATIENCE).await;
    run
}
