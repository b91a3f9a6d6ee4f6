//! Incoming connections, each served in a task of its own.

use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::keys::{Role, Side};
use sealcast_proto::session::{Delivery, Session};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::delay_rate::DelayBasedRate;
use super::observe::HandshakeTimer;
use super::offer::CarrierConfig;
use super::{Admission, Clock, Offer};
use crate::failure::Result;
use crate::keys::entropy;
use crate::keys::peers::KnownEnd;
use crate::transport::{AnyTransport, Listener};

/// Number of connections allowed beyond the maximum number of viewers, in handshake or established. It limits the
/// resources that unauthenticated peers can occupy.
const MAX_PENDING: usize = 64;
/// Pause after an error from accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A publisher's settings for incoming sessions.
pub(super) struct Acceptor<'a> {
    pub(super) offer: &'a Offer,
    pub(super) admission: &'a Admission,
    pub(super) delivery: Delivery,
    pub(super) clock: Clock,
    pub(super) max_viewers: usize,
}

/// A new connection, incoming or outgoing, whose handshake has not begun.
pub(super) struct PendingSession<T = AnyTransport> {
    pub(super) transport: T,
    pub(super) session: Session,
    /// Estimates the path's capacity if the session does not.
    pub(super) delay_rate: Option<DelayBasedRate>,
    pub(super) remote: String,
    pub(super) timer: HandshakeTimer,
    /// What is known of the other end, if this end connected.
    pub(super) known: Option<KnownEnd>,
}

impl Acceptor<'_> {
    /// Accept connections forever, and `serve` each in one of `tasks`.
    pub(super) async fn accept<F>(
        &self,
        mut listener: Listener,
        tasks: &mut JoinSet<()>,
        serve: impl Fn(PendingSession) -> F,
    ) -> Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let places = Arc::new(Semaphore::new(self.max_viewers + MAX_PENDING));
        loop {
            while tasks.try_join_next().is_some() {}
            let accepted = match listener.accept(self.offer.unit).await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Too few descriptors, or a connection that broke before it was accepted; both are temporary.
                    tracing::warn!("a connection could not be accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                tracing::warn!(from = %accepted.remote, "turned a connection away: too many are in their handshake");
                continue;
            };
            let carrier_config = CarrierConfig {
                carrier: accepted.carrier,
                delivery: self.delivery,
            };
            let hello_keys = self.admission.hello_keys(self.offer.identity.peer_id());
            let config = self
                .offer
                .session(Role::Publisher, Side::Responder, None, hello_keys, carrier_config);
            let served = serve(PendingSession {
                transport: accepted.carriage,
                delay_rate: carrier_config.delay_rate(),
                session: Session::respond(config, entropy::random()?, self.clock.now()),
                remote: accepted.remote.to_string(),
                timer: HandshakeTimer::begin("responder", None),
                known: None,
            });
            tasks.spawn(async move {
                served.await;
                drop(place);
            });
        }
    }
}
