//! A viewer that connects to its publisher, again and again.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{self, PresharedKey};
use sealcast_proto::session::Carrier;
use sealcast_proto::sign::SignMode;
use sealcast_proto::wire::{CloseReason, Ticket, TransportKind};
use tokio::sync::watch;

use super::Retry;
use super::accept::PendingSession;
use super::connection::Listener;
use super::exchange::HandshakeTimer;
use super::offer::CarrierConfig;
use super::record::{Recorder, RecordingRole, Unopened};
use super::relay::{AttendingRole, RelayUrl, RelayedCamera, SessionLine, Unwatched, line, watch_relays};
use super::session_task::{Role, SessionTask};
use super::watch::{After, GOODBYE_PATIENCE, ViewerState, WatchingRole, after, session_task};
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::{self, AnyTransport, RelayedStream, StreamTransport};

/// Time in which the last frames come through a relay after the camera said that the stream is over.
const LAST_FRAMES: Duration = Duration::from_secs(3);

/// A viewer that connects to its publisher.
pub(super) struct ConnectingViewer {
    state: Arc<ViewerState>,
    ticket: Ticket,
    stop: watch::Receiver<bool>,
    /// Where its sessions meet what comes through relays, if its frames do.
    line: Option<SessionLine>,
    /// Takes what sessions bring to an archive's node.
    recorder: Option<Recorder>,
    /// True once a session has been established since the program began.
    established: bool,
    /// True if a session has been established since the last retry delay.
    connected: bool,
    /// True once the authenticated publisher itself has refused us.
    refused_in_words: bool,
}

impl ConnectingViewer {
    /// Nothing is connected yet.
    pub(super) fn new(state: Arc<ViewerState>, ticket: Ticket, stop: watch::Receiver<bool>) -> Self {
        Self {
            state,
            ticket,
            stop,
            line: None,
            recorder: None,
            established: false,
            connected: false,
            refused_in_words: false,
        }
    }

    /// Record what sessions bring, without opening it.
    ///
    /// # Errors
    /// As [`keep`](Self::keep).
    pub(super) async fn record(mut self, recorder: Recorder, relays: Vec<RelayUrl>, reconnect: bool) -> Result<()> {
        self.recorder = Some(recorder);
        self.keep(relays, reconnect).await
    }

    /// Watch, through relays if there are any, until the stream is over or the user stops.
    ///
    /// # Errors
    /// The publisher refuses this viewer or is not the one in the ticket, or the connection breaks and `reconnect` is
    /// off.
    pub(super) async fn keep(mut self, relays: Vec<RelayUrl>, reconnect: bool) -> Result<()> {
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
        let (state, stop) = (Arc::clone(&self.state), self.stop.clone());
        let camera = RelayedCamera {
            camera: self.ticket.peer,
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

    /// What this viewer and the publisher have kept from an enrolment.
    fn kept_secret(&self) -> Option<PresharedKey> {
        kept_secret(&self.state, &self.ticket)
    }

    async fn keep_connected(&mut self, reconnect: bool) -> Result<()> {
        let mut retry = Retry::default();
        loop {
            let failure = match self.watch_once().await? {
                After::Done => return Ok(()),
                After::Broken(failure) => failure,
            };
            let fatal = !reconnect || !self.may_pass(&failure);
            if fatal && (self.refused_in_words || !self.does_without()) {
                return Err(failure);
            }
            tracing::warn!("{failure}");
            if self.line.is_none() && !self.established {
                self.state.observation.unreached(failure);
            }
            if fatal && !reconnect {
                // The frames come without it.
                return std::future::pending().await;
            }
            if *self.stop.borrow() {
                return Ok(());
            }
            if std::mem::take(&mut self.connected) {
                retry = Retry::default();
            }
            retry.wait().await;
        }
    }

    /// True if another attempt makes sense. After one session was established, a failed handshake may be an
    /// attacker's doing and must not end the viewer. An authenticated refusal by the publisher does end it.
    fn may_pass(&self, failure: &Failure) -> bool {
        match failure.kind {
            FailureKind::Network | FailureKind::Limit => true,
            FailureKind::Refused => !self.refused_in_words && self.established,
            _ => false,
        }
    }

    async fn watch_once(&mut self) -> Result<After> {
        let (state, ticket) = (Arc::clone(&self.state), &self.ticket);
        let (transport, carrier, remote) = match self.connect().await {
            Ok(connected) => connected,
            Err(failure) => return Ok(After::Broken(failure)),
        };
        let carrier_config = CarrierConfig {
            carrier,
            delivery: state.delivery(),
        };
        let initiated = state
            .offer
            .initiate(keys::Role::Viewer, ticket, carrier_config, &state.observation)?;
        let pending = PendingSession {
            transport,
            session: initiated.session.into(),
            delay_rate: None,
            remote,
            timer: HandshakeTimer::begin("initiator", Some(initiated.keygen)),
            known: Some(initiated.known),
            place: None,
        };
        let stop = self.stop.clone();
        let kept_secret = || kept_secret(&state, ticket);
        let run = match (&mut self.line, &mut self.recorder) {
            (None, None) => {
                let mut role = WatchingRole {
                    applicant: None,
                    stream_budget: state.stream_budget,
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
                let task = session_task(&state, pending, Unwatched);
                let run = run(task, &mut AttendingRole::new(line, kept_secret), stop).await;
                line.closed();
                run
            }
        };
        if run.established {
            self.state.observation.reached();
        }
        self.established |= run.established;
        self.connected |= run.established;
        self.refused_in_words |= run.refused_in_words;
        Ok(run.after)
    }

    /// Connect to the publisher: itself, or through a relay where that is how it is reached.
    async fn connect(&self) -> Result<(AnyTransport, Carrier, String)> {
        let (state, ticket) = (&self.state, &self.ticket);
        let metrics = state.observation.metrics.clone();
        let itself = format!("{}:{}", ticket.host, ticket.port);
        let failure = match transport::connect(ticket, keys::Role::Viewer, state.offer.unit, metrics).await {
            Ok((transport, carrier)) => return Ok((transport, carrier, itself)),
            Err(failure) => failure,
        };
        let Some(line) = &self.line else { return Err(failure) };
        if ticket.transport != TransportKind::Relay {
            tracing::info!("{failure}: asking through the relay");
        }
        let RelayedStream { stream, relay } = line.open().await?;
        let transport = AnyTransport::Relayed(Box::new(StreamTransport::new(stream)));
        Ok((transport, Carrier::Stream, format!("the camera behind {relay}")))
    }

    /// True if it can watch through relays without a session.
    fn does_without(&self) -> bool {
        self.line.is_some() && self.kept_secret().is_some()
    }
}

/// The consequence for the program.
fn settled(after: After) -> Result<()> {
    match after {
        After::Done => Ok(()),
        After::Broken(failure) => Err(failure),
    }
}

/// What a viewer and its publisher have kept from an enrolment.
fn kept_secret(state: &ViewerState, ticket: &Ticket) -> Option<PresharedKey> {
    let (secret, known) = state.offer.known.end_of(ticket);
    secret.filter(|_| known.is_enrolled())
}

/// How a session went.
struct Run {
    after: After,
    established: bool,
    /// The authenticated publisher itself refused this viewer.
    refused_in_words: bool,
}

/// Run a session to its end.
async fn run<L: Listener, R: Role<AnyTransport, Listener = L>>(
    mut task: SessionTask<AnyTransport, L>,
    role: &mut R,
    stop: watch::Receiver<bool>,
) -> Run {
    let ended = task.run(role, stop).await;
    task.note_failed_handshake(&ended);
    let last_words = task.last_words.as_ref();
    let run = Run {
        established: task.established,
        refused_in_words: last_words.is_some_and(|(reason, _)| *reason == CloseReason::NotAuthorised),
        after: after(&task, ended),
    };
    task.say_goodbye(GOODBYE_PATIENCE).await;
    run
}
