//! The viewer gateway's session with the camera gateway. It is connected again when it breaks.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{self, PskName};
use sealcast_proto::rtsp::GatewayMessage;
use sealcast_proto::session::{Delivery, Event, InboundCounts, Input, SessionError};
use sealcast_proto::wire::{Address, CameraName, CloseReason, Ticket};
use tokio::sync::{mpsc, watch};

use super::super::GOODBYE_PATIENCE;
use super::super::players::players_address;
use super::super::request_mux::Request;
use super::cameras::Cameras;
use super::latency::{self, FrameTimeline};
use super::pictures;
use super::receive_handler::{ArrivedFrame, ReceiveHandler};
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::labels::Direction;
use crate::meter::stage::Stage;
use crate::rtsp::after_others;
use crate::run::session::attempts::Attempts;
use crate::run::session::connection::Ended;
use crate::run::session::ended::{handshake_failure, last_words_failure};
use crate::run::session::exchange::HandshakeTimer;
use crate::run::session::observe::Observation;
use crate::run::session::offer::{CarrierConfig, Offer};
use crate::run::session::retry::turned_on;
use crate::run::session::role::Role;
use crate::run::session::task::SessionTask;
use crate::transport::{AnyTransport, Connected, Reach};

/// Record the metrics of frames in batches of 32 frames or 50 ms; recording frames one by one would miss the
/// processor's caches each time.
const NOTED_TOGETHER: usize = 32;
const NOTED_WITHIN: Duration = Duration::from_millis(50);

/// The link to the camera gateway, connected or not.
pub(super) struct Link {
    reach: Reach,
    offer: Offer,
    budget: Duration,
    observation: Arc<Observation>,
    cameras: Cameras,
    /// Where players are served.
    rtsp: SocketAddr,
    attempts: Attempts,
    /// Name of the secret that the last attempt proved.
    proved: Option<PskName>,
}

/// Consequence of a session's end for the link.
struct Departure {
    failure: Failure,
    /// The reason of the camera gateway's close message, if it sent one.
    said: Option<CloseReason>,
    /// True if the session was established.
    stood: bool,
    /// Addresses that the camera gateway told.
    told: Option<Vec<Address>>,
}

impl Link {
    pub(super) fn new(
        ticket: Ticket,
        offer: Offer,
        budget: Duration,
        observation: Arc<Observation>,
        (rtsp, requests): (SocketAddr, mpsc::Receiver<(String, Request)>),
    ) -> Self {
        let attended = offer.attended;
        Self {
            reach: Reach::new(ticket).kept_in(offer.known.clone()),
            offer,
            budget,
            observation,
            cameras: Cameras::new(requests),
            rtsp,
            attempts: Attempts::new(attended),
            proved: None,
        }
    }

    /// Keep the link connected until `stop` turns true.
    ///
    /// # Errors
    /// The camera gateway refuses us, or it is not the one in the ticket.
    pub(super) async fn keep(mut self, mut stop: watch::Receiver<bool>) -> Result<()> {
        loop {
            let metrics = self.observation.metrics.clone();
            let connected = tokio::select! {
                connected = self.reach.connect(keys::Role::Viewer, self.offer.unit, metrics) => connected,
                never = wait_offline(&mut self.cameras) => match never {},
                _ = turned_on(&mut stop) => return Ok(()),
            };
            let (mut failure, said) = match connected {
                Ok(connected) => {
                    let mut departure = self.run_session(connected, stop.clone()).await?;
                    self.reach.ended(departure.stood);
                    self.reach.told(departure.told.take());
                    if departure.stood {
                        self.attempts.stood();
                        self.attempts.begin_anew();
                    }
                    if *stop.borrow() {
                        return Ok(());
                    }
                    (departure.failure, departure.said)
                }
                Err(failure) => (failure, None),
            };
            if self
                .offer
                .looks_again(&mut self.reach, self.proved.take(), &mut failure)
            {
                continue;
            }
            if !self.attempts.go_on(&failure, said, Instant::now()) {
                return Err(failure);
            }
            self.attempts.tell(&failure);
            tokio::select! {
                () = self.attempts.pause() => {}
                never = wait_offline(&mut self.cameras) => match never {},
                _ = turned_on(&mut stop) => return Ok(()),
            }
        }
    }

    /// Say at which paths players find the cameras.
    fn tell_paths(&self, names: &[CameraName]) {
        let names: Vec<&str> = names.iter().map(CameraName::as_str).collect();
        let such_as = format!("rtsp://{}/{}", players_address(self.rtsp), names.first().unwrap_or(&""));
        tracing::info!(
            cameras = names.join(", "),
            such_as,
            "players open each camera at its path"
        );
    }

    async fn run_session(&mut self, connected: Connected, stop: watch::Receiver<bool>) -> Result<Departure> {
        let Connected {
            transport,
            carrier,
            remote,
        } = connected;
        let delivery = Delivery {
            budget: self.budget,
            has_others: self.reach.has_others(),
            tell_units: true,
            ..Delivery::default()
        };
        let carrier_config = CarrierConfig { carrier, delivery };
        let initiated = self
            .offer
            .initiate(
                (keys::Role::Viewer, self.offer.wish),
                self.reach.ticket(),
                carrier_config,
                &self.observation,
            )
            .await?;
        self.proved = initiated.known.proved();
        let timer = HandshakeTimer::begin("initiator", Some(initiated.keygen));
        let observation = Arc::clone(&self.observation);
        let mut task = SessionTask::new(
            transport,
            initiated.session.into(),
            ReceiveHandler::default(),
            &observation,
            timer,
            remote,
        );
        task.known = Some(initiated.known);
        let mut role = LinkRole {
            link: self,
            handed: Vec::new(),
            counted: InboundCounts::default(),
        };
        let ended = task.run(&mut role, stop).await;
        role.note_frames(&task);
        self.cameras.end();
        Ok(end(task, ended).await)
    }
}

/// Take requests while there is no session; they wait for one.
async fn wait_offline(cameras: &mut Cameras) -> std::convert::Infallible {
    loop {
        // RTCP reports are dropped: they would be outdated when the camera can be reached again.
        drop(cameras.take_request().await);
    }
}

/// The viewer gateway's end of the session.
struct LinkRole<'a> {
    link: &'a mut Link,
    /// Frames already forwarded whose metrics are not recorded yet.
    handed: Vec<ArrivedFrame>,
    counted: InboundCounts,
}

type Task = SessionTask<AnyTransport, ReceiveHandler>;

/// Reason for the wake-up of the link's task.
enum Woken {
    /// A player's request, with the message to send at once, if any.
    Request(Option<GatewayMessage>),
    /// A request must be sent again.
    AskAgain,
}

impl Role<AnyTransport> for LinkRole<'_> {
    type Listener = ReceiveHandler;
    type Woken = Woken;

    const PUBLISHES: bool = false;
    const PEER: &'static str = "camera gateway";
    const STOPPING: &'static str = "the gateway stops";

    fn established_words(&self) -> &'static str {
        "linked to the camera gateway"
    }

    fn established(&mut self, _: &mut Task) -> Result<(), Ended> {
        Ok(())
    }

    fn event(&mut self, task: &mut Task, event: Event) -> Result<(), Ended> {
        match event {
            Event::Gateway(message) => self.link.cameras.take_message(message),
            Event::CamerasTold(names) if task.lists.count(Instant::now()).is_some() => self.link.tell_paths(&names),
            _ => {}
        }
        Ok(())
    }

    async fn received(&mut self, task: &mut Task) -> Result<(), Ended> {
        // Forward the received frames before sending feedback on them.
        if self.forward(task)? {
            after_others().await;
        }
        self.link.cameras.settle();
        if self.is_to_note(task) {
            self.note_frames(task);
        }
        Ok(())
    }

    fn send(&mut self, task: &mut Task) -> Result<(), Ended> {
        if task.established {
            for question in self.link.cameras.questions() {
                task.handle(Input::Gateway(&question))?;
            }
        }
        Ok(())
    }

    async fn wait(&mut self) -> Woken {
        let cameras = &mut self.link.cameras;
        let wake = cameras.wake();
        let ask_again = async {
            match wake {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            message = cameras.take_request() => Woken::Request(message),
            () = ask_again => Woken::AskAgain,
        }
    }

    fn woken(&mut self, task: &mut Task, woken: Woken) -> Result<bool, Ended> {
        if let Woken::Request(Some(message)) = woken
            && task.established
            // Drop a report that does not fit in a message.
            && let Ok(bytes) = message.to_bytes()
        {
            task.handle(Input::Gateway(&bytes))?;
        }
        Ok(false)
    }
}

impl LinkRole<'_> {
    /// Forward the received frames. Returns true if packets were queued, so that the players' tasks should run.
    fn forward(&mut self, task: &mut Task) -> Result<bool, Ended> {
        let frames = &mut task.listener.frames;
        if frames.is_empty() {
            return Ok(false);
        }
        let (cameras, metrics) = (&mut self.link.cameras, &self.link.observation.metrics);
        let mut queued = false;
        for came in frames.iter_mut() {
            queued |= cameras
                .take_frame(&mut came.frame, came.arrived, metrics)
                .map_err(Ended::Session)?;
            came.queued = Instant::now();
        }
        cameras.send_off(metrics);
        self.handed.append(frames);
        Ok(queued)
    }

    /// True if it is time to record the forwarded frames. With a log, each frame is recorded as it comes.
    fn is_to_note(&self, task: &Task) -> bool {
        self.handed.first().is_some_and(|first| {
            let waited = task.connection.arrived.saturating_duration_since(first.arrived);
            let logged = self.link.observation.logs().is_some();
            logged || self.handed.len() >= NOTED_TOGETHER || waited >= NOTED_WITHIN
        })
    }

    /// Record the metrics of the forwarded frames. This runs after forwarding, so it delays no packet.
    fn note_frames(&mut self, task: &Task) {
        let observation = &self.link.observation;
        let metrics = &observation.metrics;
        let (clock, carrier) = (task.listener.clock, self.link.reach.ticket().transport.name());
        for came in self.handed.drain(..) {
            metrics.record_stage(Stage::Open, came.opened - came.arrived);
            metrics.record_frame(Direction::In);
            observation.since(Stage::Network, came.frame.sealed_at, came.arrived, clock);
            let timeline = FrameTimeline {
                camera: self.link.cameras.path_of(came.frame.stream),
                carrier,
                preamble: came.frame.preamble,
                arrived: came.arrived,
                queued: came.queued,
                clock,
            };
            for unit in &came.frame.units {
                latency::note(observation, &timeline, *unit, came.opened);
            }
        }
        self.link
            .cameras
            .note_pictures(|camera, picture| pictures::note(observation, camera, picture, clock));
        if let Some(counts) = task.connection.session.inbound_counts() {
            metrics.media_came(&mut self.counted, counts);
        }
    }
}

async fn end(mut task: Task, ended: Ended) -> Departure {
    task.note_failed_handshake(&ended);
    let refused = task.connection.refused;
    if refused > 0 {
        tracing::warn!(records = refused, "records of the camera gateway were refused");
    }
    let (stood, last_words, told) = (task.established, task.last_words.take(), task.told.take());
    let remote = std::mem::take(&mut task.remote);
    task.say_goodbye(GOODBYE_PATIENCE).await;
    let said = last_words.as_ref().map(|(reason, _)| *reason);
    let words = last_words.and_then(|(reason, text)| last_words_failure(&remote, reason, &text));
    let failure = match (words, ended) {
        (Some(failure), _) => failure,
        (None, Ended::Session(SessionError::Handshake(error))) => handshake_failure(&remote, error),
        (None, ended) => {
            let words = ended.in_words().unwrap_or_else(|| "the session is over".to_owned());
            let hint = "the camera gateway may be restarting, or the network is down";
            Failure::new(FailureKind::Network, format!("{remote}: {words}"), hint)
        }
    };
    Departure {
        failure,
        said,
        stood,
        told,
    }
}
