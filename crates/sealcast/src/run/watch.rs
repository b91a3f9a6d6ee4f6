//! The viewer: a session, a queue and a sink. It reconnects when the connection breaks.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{self, Peer, Side};
use sealcast_proto::session::{Delivery, Input, Session, SessionError};
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::sync::watch;

use super::accept::PendingSession;
use super::admission::Places;
use super::connection::Ended;
use super::ended::{handshake_failure, last_words_failure};
use super::observe::HandshakeTimer;
use super::offer::CarrierConfig;
use super::received::{Delivered, Receiver};
use super::retry::turned_on;
use super::serve_viewer::VIDEO;
use super::session_task::{Role, SessionTask};
use super::{Admission, FrameQueue, Observation, Offer, QueueLimits, Retry, sink_thread};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::meter::logs::Phase;
use crate::sink::Sink;
use crate::transport::{self, AnyTransport, Listener};

/// Time limit for sending the close message.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);

/// The direction of the connection between viewer and publisher.
pub enum PublisherAt {
    /// The viewer connects to the publisher.
    Connect(Ticket),
    /// The publisher connects to the viewer.
    Listen {
        /// The socket.
        listener: Listener,
        /// Decides which publishers are admitted.
        admission: Arc<Admission>,
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
    /// Limits of the sink's queue.
    pub queue: QueueLimits,
    /// True to reconnect when the connection breaks.
    pub reconnect: bool,
}

/// Consequence of a connection's end for the viewer.
enum After {
    /// The stream is over, or the user stopped it.
    Done,
    /// A failure that may be temporary.
    Broken(Failure),
    /// The peer that connected is not the expected publisher, or not any more. Nothing that such a peer does may end
    /// the viewer.
    Stranger,
}

struct Viewer {
    publisher: PublisherAt,
    offer: Offer,
    budget: Duration,
    observation: Arc<Observation>,
    queue: Arc<FrameQueue<Delivered>>,
    stop: watch::Receiver<bool>,
    /// True once a session has been established since the program began.
    established: bool,
    /// True if a session has been established since the last retry delay.
    connected: bool,
    /// True once the authenticated publisher itself has refused us.
    refused_in_words: bool,
}

/// Watch until the stream ends or `stop` turns true.
///
/// # Errors
/// The publisher refuses us or is not the one in the ticket, the sink fails, or the connection breaks and `reconnect`
/// is off.
pub async fn watch(
    options: WatchOptions,
    observation: Arc<Observation>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let queue = Arc::new(FrameQueue::new(options.queue));
    let (sink_failed, mut sink_fails) = watch::channel(false);
    let failed = move || {
        // Sending fails if the session has already ended.
        let _ = sink_failed.send(true);
    };
    let sink = sink_thread::start(options.sink, Arc::clone(&queue), Arc::clone(&observation), failed)?;
    let (session_stop, session_stopped) = watch::channel(false);
    let mut viewer = Viewer {
        publisher: options.publisher,
        offer: options.offer,
        budget: options.budget,
        observation,
        queue: Arc::clone(&queue),
        stop: session_stopped,
        established: false,
        connected: false,
        refused_in_words: false,
    };
    let watching = viewer.keep_watching(options.reconnect);
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
    let written = tokio::task::spawn_blocking(move || sink.join()).await;
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
async fn stop_session(stop: &watch::Sender<bool>, watching: impl Future<Output = Result<()>>) -> Result<()> {
    // Sending fails if the session is already gone.
    let _ = stop.send(true);
    let _ = tokio::time::timeout(GOODBYE_PATIENCE * 2, watching).await;
    Ok(())
}

impl Viewer {
    async fn keep_watching(&mut self, reconnect: bool) -> Result<()> {
        let mut retry = Retry::default();
        loop {
            let failure = match self.watch_once().await? {
                After::Done => return Ok(()),
                After::Broken(failure) => failure,
                After::Stranger if *self.stop.borrow() => return Ok(()),
                After::Stranger => {
                    self.observation.set_phase(Phase::Idle);
                    continue;
                }
            };
            if !reconnect || !self.may_pass(&failure) {
                return Err(failure);
            }
            tracing::warn!("{failure}");
            self.observation.set_phase(Phase::Idle);
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
        let delivery = Delivery {
            budget: self.budget,
            ..Delivery::default()
        };
        let metrics = self.observation.metrics.clone();
        let pending = match &mut self.publisher {
            PublisherAt::Connect(ticket) => {
                let remote = format!("{}:{}", ticket.host, ticket.port);
                let (transport, carrier) = match transport::connect(ticket, self.offer.unit, metrics).await {
                    Ok(connected) => connected,
                    Err(failure) => return Ok(After::Broken(failure)),
                };
                let carrier_config = CarrierConfig { carrier, delivery };
                let initiated = self
                    .offer
                    .initiate(keys::Role::Viewer, ticket, carrier_config, &self.observation)?;
                PendingSession {
                    transport,
                    session: initiated.session,
                    delay_rate: None,
                    remote,
                    timer: HandshakeTimer::begin("initiator", Some(initiated.keygen)),
                    known: Some(initiated.known),
                }
            }
            PublisherAt::Listen { listener, admission } => {
                let accepted = listener.accept(self.offer.unit).await.map_err(|error| {
                    let what = format!("a connection could not be accepted ({error})");
                    Failure::new(FailureKind::Network, what, "try again")
                })?;
                let carrier_config = CarrierConfig {
                    carrier: accepted.carrier,
                    delivery,
                };
                let config = self.offer.session(
                    keys::Role::Viewer,
                    Side::Responder,
                    None,
                    admission.hello_keys(self.offer.identity.peer_id()),
                    carrier_config,
                );
                PendingSession {
                    transport: accepted.carriage,
                    session: Session::respond(config, entropy::random()?, self.observation.clock.now()),
                    delay_rate: None,
                    remote: accepted.remote.to_string(),
                    timer: HandshakeTimer::begin("responder", None),
                    known: None,
                }
            }
        };
        self.observation.set_phase(Phase::Handshake);
        self.run_session(pending).await
    }

    async fn run_session(&mut self, pending: PendingSession) -> Result<After> {
        let observation = Arc::clone(&self.observation);
        let receiver = Receiver::new(&pending.session, Arc::clone(&observation), Arc::clone(&self.queue));
        let stop = self.stop.clone();
        let mut task = SessionTask::new(
            pending.transport,
            pending.session,
            receiver,
            &observation,
            pending.timer,
            pending.remote,
        );
        task.known = pending.known;
        let ended = task.run(self, stop).await;
        Ok(self.end(task, ended).await)
    }

    fn admission(&self) -> Option<&Arc<Admission>> {
        match &self.publisher {
            PublisherAt::Connect(_) => None,
            PublisherAt::Listen { admission, .. } => Some(admission),
        }
    }

    async fn end(&mut self, mut task: Task, ended: Ended) -> After {
        task.note_failed_handshake(&ended);
        let (established, revoked, last_words) = (task.established, task.revoked, task.last_words.take());
        let remote = std::mem::take(&mut task.remote);
        task.say_goodbye(GOODBYE_PATIENCE).await;
        if let Some((CloseReason::NotAuthorised, _)) = last_words {
            self.refused_in_words |= self.admission().is_none();
        }
        let let_in = established || self.admission().is_none();
        if !let_in {
            let words = ended.in_words().unwrap_or_else(|| "it was not let in".to_owned());
            tracing::warn!(from = remote, "not the publisher: {words}");
        }
        if revoked || !let_in {
            return After::Stranger;
        }
        match (ended, last_words) {
            (_, Some((reason, text))) => match last_words_failure(&remote, reason, &text) {
                Some(failure) => After::Broken(failure),
                None => {
                    tracing::info!("the stream has ended");
                    After::Done
                }
            },
            (Ended::Closed, None) => After::Done,
            (Ended::Session(SessionError::Handshake(error)), None) => After::Broken(handshake_failure(&remote, error)),
            (Ended::Eof, None) if !established => {
                let what = format!("{remote} closed the connection without an answer");
                let hint = "check the port, and that the ticket is this publisher's: it does not answer to any other";
                After::Broken(Failure::new(FailureKind::Network, what, hint))
            }
            (ended, None) => {
                let words = ended.in_words().unwrap_or_default();
                let hint = match ended {
                    Ended::Session(_) => "somebody between may be altering the stream",
                    _ if established => "the publisher may be restarting",
                    _ => "check that it is a sealcast publisher and that it runs",
                };
                After::Broken(Failure::new(FailureKind::Network, format!("{remote}: {words}"), hint))
            }
        }
    }
}

type Task = SessionTask<AnyTransport, Receiver>;

impl Role<AnyTransport> for Viewer {
    type Listener = Receiver;
    type Woken = Infallible;

    const PUBLISHES: bool = false;
    const PEER: &'static str = "publisher";
    const ESTABLISHED: &'static str = "watching";
    const STOPPING: &'static str = "the viewer stops";

    fn admit(&mut self, task: &mut Task, peer: &Peer) -> Input<'static> {
        match self.admission() {
            Some(admission) => task.admit_by::<Self>(admission, peer, Places::ONE_AT_A_TIME),
            None => Input::Close(CloseReason::NotAuthorised, "nobody is let in here"),
        }
    }

    fn established(&mut self, _: &mut Task) -> Result<(), Ended> {
        self.established = true;
        self.connected = true;
        Ok(())
    }

    fn send(&mut self, task: &mut Task) -> Result<(), Ended> {
        task.listener.count(task.connection.session.inbound_counts());
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
