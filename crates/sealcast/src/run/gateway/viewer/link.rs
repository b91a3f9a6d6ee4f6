//! The viewer gateway's session with the camera gateway, connected again when it breaks.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::Role;
use sealcast_proto::session::{Delivery, Event, Facts, InboundCounts, Input, Session, SessionError};
use sealcast_proto::unit::Selection;
use sealcast_proto::wire::{CloseReason, Ticket};
use tokio::sync::{mpsc, watch};

use super::super::desk::Wish;
use super::super::{GOODBYE_PATIENCE, after_others};
use super::inbox::{Came, Inbox};
use super::latency::{self, Journey};
use super::table::Table;
use crate::failure::{Failure, FailureKind, Result};
use crate::meter::labels::{self, Direction};
use crate::meter::logs::Phase;
use crate::meter::stage::Stage;
use crate::run::alarm::Alarm;
use crate::run::connection::{Connection, Ended};
use crate::run::ended::{end_in_words, handshake_failure, handshake_outcome, last_words_failure};
use crate::run::observe::HandshakeTimer;
use crate::run::offer::Way;
use crate::run::retry::turned_on;
use crate::run::seldom::Seldom;
use crate::run::steering::announce;
use crate::run::{Observation, Offer, Retry};
use crate::transport::{self, AnyTransport};

/// How frames came is taken down when so many were handed on, or so long after the first of them: what that needs
/// would be fetched into the processor's caches for each.
const NOTED_TOGETHER: usize = 32;
const NOTED_WITHIN: Duration = Duration::from_millis(50);

/// The link, whether it stands or not.
pub(super) struct Link {
    ticket: Ticket,
    offer: Offer,
    budget: Duration,
    observation: Arc<Observation>,
    table: Table,
    /// A session has stood since the gateway began.
    established: bool,
}

/// How a session ended, as far as going on is concerned.
struct Departure {
    failure: Failure,
    /// The camera gateway itself, authenticated, has refused us.
    refused_in_words: bool,
    /// Whether the session stood.
    stood: bool,
}

impl Link {
    pub(super) fn new(
        ticket: Ticket,
        offer: Offer,
        budget: Duration,
        observation: Arc<Observation>,
        wishes: mpsc::Receiver<(String, Wish)>,
    ) -> Self {
        Self {
            ticket,
            offer,
            budget,
            observation,
            table: Table::new(wishes),
            established: false,
        }
    }

    /// Keep the link until `stop` turns true.
    ///
    /// # Errors
    /// The camera gateway refuses us, or is not the one in the ticket.
    pub(super) async fn keep(mut self, mut stop: watch::Receiver<bool>) -> Result<()> {
        let mut retry = Retry::default();
        loop {
            let metrics = self.observation.metrics.clone();
            let connected = tokio::select! {
                connected = transport::connect(&self.ticket, self.offer.unit, metrics) => connected,
                never = wait_offline(&mut self.table) => match never {},
                _ = turned_on(&mut stop) => return Ok(()),
            };
            let failure = match connected {
                Ok((carriage, carrier)) => {
                    let departure = self.run_session(carriage, carrier, stop.clone()).await?;
                    if departure.stood {
                        retry = Retry::default();
                    }
                    if *stop.borrow() {
                        return Ok(());
                    }
                    // Once a session stood, a handshake that fails is perhaps somebody else's doing, who must not be
                    // able to end us.
                    let refused = departure.failure.kind == FailureKind::Refused;
                    if refused && (departure.refused_in_words || !self.established) {
                        return Err(departure.failure);
                    }
                    departure.failure
                }
                Err(failure) => failure,
            };
            tracing::warn!("{failure}");
            self.observation.set_phase(Phase::Idle);
            tokio::select! {
                () = retry.wait() => {}
                never = wait_offline(&mut self.table) => match never {},
                _ = turned_on(&mut stop) => return Ok(()),
            }
        }
    }

    async fn run_session(
        &mut self,
        carriage: AnyTransport,
        carrier: sealcast_proto::session::Carrier,
        stop: watch::Receiver<bool>,
    ) -> Result<Departure> {
        self.observation.set_phase(Phase::Handshake);
        let delivery = Delivery {
            budget: self.budget,
            tell_units: true,
            ..Delivery::default()
        };
        let way = Way { carrier, delivery };
        let (session, keygen) = self
            .offer
            .initiate(Role::Viewer, &self.ticket, way, &self.observation)?;
        let timer = HandshakeTimer::begin("initiator", Some(keygen));
        let remote = format!("{}:{}", self.ticket.host, self.ticket.port);
        let mut task = LinkTask::new(self, carriage, session, timer, remote);
        let ended = match task.run(stop).await {
            Ok(never) => match never {},
            Err(ended) => ended,
        };
        // The peer's last words may still be among the news.
        let _ = task.take_events();
        task.note_frames();
        Ok(task.end(ended).await)
    }
}

/// Take wishes while there is no session: questions wait for one.
async fn wait_offline(table: &mut Table) -> std::convert::Infallible {
    loop {
        // Reports to a camera that cannot be reached are of no use later.
        drop(table.take_wish().await);
    }
}

struct LinkTask<'a> {
    link: &'a mut Link,
    connection: Connection<AnyTransport>,
    inbox: Inbox,
    /// Frames that were handed on, and are to be taken down.
    handed: Vec<Came>,
    timer: HandshakeTimer,
    remote: String,
    facts: Option<Facts>,
    last_words: Option<(CloseReason, String)>,
    counted: InboundCounts,
}

impl<'a> LinkTask<'a> {
    fn new(
        link: &'a mut Link,
        carriage: AnyTransport,
        session: Session,
        timer: HandshakeTimer,
        remote: String,
    ) -> Self {
        let (clock, metrics) = (link.observation.clock, link.observation.metrics.clone());
        Self {
            link,
            connection: Connection::new(carriage, session, clock, metrics),
            inbox: Inbox::new(clock),
            handed: Vec::new(),
            timer,
            remote,
            facts: None,
            last_words: None,
            counted: InboundCounts::default(),
        }
    }

    async fn run(&mut self, mut stop: watch::Receiver<bool>) -> Result<std::convert::Infallible, Ended> {
        let mut again = Alarm::default();
        let mut stopping = Seldom::new(turned_on(&mut stop));
        let mut stopped = false;
        loop {
            let received = self.connection.receive(&mut self.inbox);
            self.take_events()?;
            // What came is handed on before anything is said about it.
            if self.hand_on()? {
                after_others().await;
            }
            if self.is_to_note() {
                self.note_frames();
            }
            self.connection.finish(received, &mut self.inbox)?;
            if self.facts.is_some() {
                for question in self.link.table.questions() {
                    self.connection.tell(Input::Gateway(&question), &mut self.inbox)?;
                }
            }
            let wake = self.link.table.wake();
            tokio::select! {
                biased;
                waited = self.connection.wait() => waited?,
                message = self.link.table.take_wish() => {
                    let message = message.filter(|_| self.facts.is_some());
                    // A report that is too long for any camera is dropped.
                    if let Some(Ok(bytes)) = message.map(|message| message.to_bytes()) {
                        self.connection.tell(Input::Gateway(&bytes), &mut self.inbox)?;
                    }
                }
                () = again.rings(wake) => {}
                _ = &mut stopping, if !stopped => {
                    stopped = true;
                    self.connection.tell(Input::Close(CloseReason::GoingAway, "the gateway stops"), &mut self.inbox)?;
                }
            }
        }
    }

    /// Hand on what came; whether players have to be waited for.
    fn hand_on(&mut self) -> Result<bool, Ended> {
        if self.inbox.frames.is_empty() {
            return Ok(false);
        }
        let (table, metrics) = (&mut self.link.table, &self.link.observation.metrics);
        let mut queued = false;
        for came in &mut self.inbox.frames {
            queued |= table
                .take_frame(&mut came.frame, came.arrived, metrics)
                .map_err(Ended::Session)?;
            came.queued = Instant::now();
        }
        table.send_off(metrics);
        self.handed.append(&mut self.inbox.frames);
        Ok(queued)
    }

    /// Whether it is time to take frames down. A log tells of each as it comes.
    fn is_to_note(&self) -> bool {
        self.handed.first().is_some_and(|first| {
            let waited = self.connection.arrived.saturating_duration_since(first.arrived);
            let logged = self.link.observation.logs().is_some();
            logged || self.handed.len() >= NOTED_TOGETHER || waited >= NOTED_WITHIN
        })
    }

    /// Take down how what was handed on had come: nobody waits for that.
    fn note_frames(&mut self) {
        let observation = &self.link.observation;
        let metrics = &observation.metrics;
        let (clock, carrier) = (self.inbox.clock, self.link.ticket.transport.name());
        for came in self.handed.drain(..) {
            metrics.record_stage(Stage::Open, came.opened - came.arrived);
            metrics.record_frame(Direction::In);
            observation.since(Stage::Network, came.frame.sealed_at, came.arrived, clock);
            let journey = Journey {
                camera: self.link.table.path_of(came.frame.stream),
                carrier,
                preamble: came.frame.preamble,
                arrived: came.arrived,
                queued: came.queued,
                clock,
            };
            for (unit, opened) in came.units() {
                latency::note(observation, &journey, unit, opened);
            }
        }
        if let Some(counts) = self.connection.session.inbound_counts() {
            metrics.media_came(&mut self.counted, counts);
        }
    }

    fn take_events(&mut self) -> Result<(), Ended> {
        while !self.inbox.events.is_empty() {
            for event in std::mem::take(&mut self.inbox.events) {
                self.take_event(event);
            }
        }
        Ok(())
    }

    fn take_event(&mut self, event: Event) {
        let observation = &self.link.observation;
        match event {
            Event::Established(facts) => {
                let what = "linked to the camera gateway";
                observation.established(what, &self.timer, &facts, self.connection.cost, &self.remote);
                observation.selection(Selection::All);
                self.facts = Some(facts);
                self.link.established = true;
            }
            Event::Gateway(message) => self.link.table.heard(message),
            Event::Rekeyed { epoch, cause } => {
                observation.metrics.set_epoch(epoch);
                observation.metrics.record_rekey(labels::RekeyCause::from(cause));
                tracing::debug!(epoch, "new keys");
            }
            Event::Clock(estimate) => observation.clock_estimate(estimate.offset, estimate.uncertainty),
            Event::Closed { reason, text } => self.last_words = Some((reason, text)),
            Event::Stalled => tracing::warn!(
                from = self.remote,
                "nothing was heard from the camera gateway for 2 s: waiting for it"
            ),
            Event::Resumed => tracing::info!(from = self.remote, "the camera gateway is heard again"),
            Event::Selection(selection) => {
                announce("the camera gateway", selection);
                observation.selection(selection);
            }
            Event::PeerProved(_) | Event::KeyframeRequested(_) => {}
        }
    }

    async fn end(self, ended: Ended) -> Departure {
        let Self {
            link,
            connection,
            inbox,
            timer,
            remote,
            facts,
            last_words,
            ..
        } = self;
        link.table.end();
        if facts.is_none() {
            let row = timer.row(handshake_outcome(&ended), remote.clone(), None, connection.cost);
            link.observation.handshake(row);
        }
        if inbox.refused > 0 {
            tracing::warn!(records = inbox.refused, "records of the camera gateway were refused");
        }
        connection.say_goodbye(GOODBYE_PATIENCE).await;
        let refused_in_words = matches!(last_words, Some((CloseReason::NotAuthorised, _)));
        let said = last_words.and_then(|(reason, text)| last_words_failure(&remote, reason, &text));
        let failure = match (said, ended) {
            (Some(failure), _) => failure,
            (None, Ended::Session(SessionError::Handshake(error))) => handshake_failure(&remote, error),
            (None, ended) => {
                let words = end_in_words(&ended).unwrap_or_else(|| "the session is over".to_owned());
                let hint = "the camera gateway may be restarting, or the network is down";
                Failure::new(FailureKind::Network, format!("{remote}: {words}"), hint)
            }
        };
        Departure {
            failure,
            refused_in_words,
            stood: facts.is_some(),
        }
    }
}
