//! Incoming connections, each served in a task of its own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Role, Side};
use sealcast_proto::session::{Delivery, Session};
use tokio::task::JoinSet;

use super::address_telling::AddressTelling;
use super::admission::Admission;
use super::exchange::HandshakeTimer;
use super::gate::Gate;
use super::offer::{CarrierConfig, Offer};
use super::ways::Ways;
use crate::failure::Result;
use crate::keys::entropy;
use crate::keys::peers::KnownEnd;
use crate::meter::labels::TurnedAway;
use crate::meter::metrics::Metrics;
use crate::run::clock::Clock;
use crate::run::media::delay_rate::DelayBasedRate;
use crate::transport::{AnyTransport, Listener, Place, accept_any};

/// Pause after an error from accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The settings of incoming sessions.
pub(crate) struct Acceptor<'a> {
    pub(crate) role: Role,
    pub(crate) offer: &'a Offer,
    pub(crate) admission: &'a Admission,
    pub(crate) delivery: Delivery,
    pub(crate) clock: Clock,
    pub(crate) metrics: &'a Metrics,
    /// The ways to this end, if peers are told of them.
    pub(crate) ways: Option<&'a Arc<Ways>>,
}

/// A new connection, incoming or outgoing, whose handshake has not begun.
pub(crate) struct PendingSession<T = AnyTransport> {
    pub(crate) transport: T,
    pub(crate) session: Box<Session>,
    /// Estimates the path's capacity if the session does not.
    pub(crate) delay_rate: Option<DelayBasedRate>,
    pub(crate) remote: String,
    pub(crate) timer: HandshakeTimer,
    /// Knowledge of the other end, if this end connected.
    pub(crate) known: Option<KnownEnd>,
    /// The place that an incoming connection holds until the session is established.
    pub(crate) place: Option<Place>,
    /// Tells the other end the addresses of this one.
    pub(crate) telling: Option<AddressTelling>,
}

impl Acceptor<'_> {
    /// Accept connections of all `listeners` forever, and `serve` each in one of `tasks`.
    pub(crate) async fn accept<F>(
        &self,
        mut listeners: Vec<Listener>,
        tasks: &mut JoinSet<()>,
        serve: impl Fn(PendingSession) -> F,
    ) -> Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut gate = Gate::default();
        loop {
            while tasks.try_join_next().is_some() {}
            let accepted = match accept_any(&mut listeners, self.offer.unit).await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too few descriptors, or a connection that broke before it was accepted; both are temporary.
                    let words = format!("a connection could not be accepted: {error}");
                    self.metrics.turned_away(TurnedAway::Broken, &"anybody", &words);
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Some(place) = gate.enter(&accepted.remote, Instant::now()) else {
                let words = "turned a connection away: too many are in their handshake";
                self.metrics.turned_away(TurnedAway::Crowded, &accepted.remote, &words);
                continue;
            };
            tracing::debug!(from = %accepted.remote, "a connection: the handshake begins");
            let carrier_config = CarrierConfig {
                carrier: accepted.carrier,
                delivery: self.delivery,
            };
            let hello_keys = self.admission.hello_keys(self.offer.identity.peer_id());
            let config = self
                .offer
                .session(self.role, Side::Responder, None, hello_keys, carrier_config);
            let transports = accepted.carriage.of_tickets();
            tasks.spawn(serve(PendingSession {
                transport: accepted.carriage,
                delay_rate: carrier_config.delay_rate(),
                session: Session::respond(config, entropy::random()?, self.clock.now()).into(),
                remote: accepted.remote.to_string(),
                timer: HandshakeTimer::begin("responder", None),
                known: None,
                place: Some(place),
                telling: self.ways.map(|ways| AddressTelling::new(ways, transports)),
            }));
        }
    }
}
