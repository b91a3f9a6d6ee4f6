//! `sealcast clock`: a page that shows events, and the server that tells probes when it did.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use sealcast_proto::events::{EventKeys, EventServer, EventTicket};
use sealcast_proto::wire::{Host, Invite};
use tokio::sync::{mpsc, watch};

use super::Schedule;
use super::server::{bind, serve};
use crate::failure::Result;
use crate::keys::entropy;
use crate::run::Clock;
use crate::run::retry::turned_on;
use crate::transport::ListenUrl;
use crate::web::Listen;
use crate::web::clock::{self, EventBoard};

/// Maximum of reports that wait for the server.
const MAX_WAITING: usize = 64;

/// The settings of a clock.
pub struct ClockOptions {
    /// Where to serve the page.
    pub page: Listen,
    /// Where to serve events.
    pub events: SocketAddr,
    /// Host for the ticket, if not the address.
    pub host: Option<Host>,
    /// Mean time between events.
    pub period: Duration,
}

/// Show events until `stop` turns true. `hand_out` gets the ticket for probes.
///
/// # Errors
/// A port cannot be bound, or the ticket cannot be handed out.
pub async fn show_clock(
    options: ClockOptions,
    hand_out: impl FnOnce(&EventTicket) -> Result<()>,
    mut stop: watch::Receiver<bool>,
) -> Result<()> {
    let clock = Clock::default();
    let socket = bind(options.events).await?;
    let bound = socket.local_addr().unwrap_or(options.events);
    let secret = Invite::new(entropy::random()?);
    let mut server = EventServer::new(EventKeys::new(&secret), &entropy::random()?);
    let ticket = EventTicket {
        host: options.host.unwrap_or_else(|| ListenUrl::ticket_host(bound)),
        port: bound.port(),
        secret,
    };
    let page = options.page.bind()?;
    hand_out(&ticket)?;
    page.announce();
    tracing::info!(events = %bound, period = ?options.period, "the clock");
    let seed = u64::from_be_bytes(entropy::random()?);
    let schedule = Schedule::new(clock.now().wall / 1000, options.period, seed);
    let (reports, mut reported) = mpsc::channel(MAX_WAITING);
    let board = Arc::new(EventBoard::new(clock, schedule, reports));
    let (closing, mut closed) = watch::channel(false);
    let serving = tokio::spawn(clock::serve(page, board, async move {
        turned_on(&mut closed).await;
    }));
    let outcome = tokio::select! {
        outcome = serve(&socket, &mut server, clock, &mut reported) => outcome,
        _ = turned_on(&mut stop) => Ok(()),
    };
    // The page ends with its server, and the server's channel with the page.
    let _ = closing.send(true);
    let _ = serving.await;
    outcome
}
