//! `sealcast clock`: a page or a window that shows events, and the server that tells probes when it did.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sealcast_proto::events::{EventKeys, EventServer, EventTicket};
use sealcast_proto::wire::Invite;
use tokio::sync::{mpsc, watch};

use super::server::{bind, serve};
use super::window::Window;
use super::{EventBoard, Schedule};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::run::clock::Clock;
use crate::run::session::retry::turned_on;
use crate::transport::Advertised;
use crate::web::{Listen, Listener, clock};

/// Maximum of reports that wait for the server.
const MAX_WAITING: usize = 64;

/// Place where events are shown.
pub enum Display {
    /// On a page, which is served here.
    Page(Listen),
    /// In a window on this machine's X display.
    Window,
}

/// The settings of a clock.
pub struct ClockOptions {
    /// Place where events are shown.
    pub display: Display,
    /// Address at which events are served.
    pub events: SocketAddr,
    /// Addresses for the ticket, which says the first of them.
    pub advertised: Advertised,
    /// Mean time between events.
    pub period: Duration,
}

/// Show events until `stop` turns true. `hand_out` gets the ticket for probes.
///
/// # Errors
/// A port cannot be bound, there is no display for a window, or the ticket cannot be handed out.
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
    let mut addresses = options.advertised.addresses(bound);
    let ticket = EventTicket {
        address: addresses.swap_remove(0),
        secret,
    };
    let shown = match options.display {
        Display::Page(page) => Opened::Page(page.bind()?),
        Display::Window => Opened::Window(Box::new(Window::open()?)),
    };
    hand_out(&ticket)?;
    tracing::info!(events = %bound, period = ?options.period, "the clock");
    let seed = u64::from_be_bytes(entropy::random()?);
    let schedule = Schedule::new(clock.now().wall / 1000, options.period, seed);
    let (reports, mut reported) = mpsc::channel(MAX_WAITING);
    let board = Arc::new(EventBoard::new(clock, schedule, reports));
    let (closing, closed) = watch::channel(false);
    let showing = shown.show(board, closed);
    tokio::pin!(showing);
    let outcome = tokio::select! {
        outcome = serve(&socket, &mut server, clock, &mut reported) => outcome,
        outcome = &mut showing => return outcome,
        _ = turned_on(&mut stop) => Ok(()),
    };
    let _ = closing.send(true);
    outcome.and(showing.await)
}

/// A page with its port, or an open window.
enum Opened {
    Page(Listener),
    Window(Box<Window>),
}

impl Opened {
    /// Show the events of `board` until `closed` turns true.
    async fn show(self, board: Arc<EventBoard>, mut closed: watch::Receiver<bool>) -> Result<()> {
        let closing = async move {
            turned_on(&mut closed).await;
        };
        match self {
            Self::Page(page) => {
                page.announce();
                clock::serve(page, board, closing).await
            }
            Self::Window(window) => show_window(*window, board, closing).await,
        }
    }
}

async fn show_window(window: Window, board: Arc<EventBoard>, closing: impl Future<Output = ()>) -> Result<()> {
    let display = u32::from_be_bytes(entropy::random()?);
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let showing = tokio::task::spawn_blocking(move || window.show(&board, display, &stopping));
    tokio::pin!(showing);
    let ended = tokio::select! {
        ended = &mut showing => ended,
        () = closing => {
            stop.store(true, Ordering::Relaxed);
            showing.await
        }
    };
    ended.unwrap_or_else(|error| {
        let what = format!("the window's thread failed ({error})");
        Err(Failure::new(FailureKind::Internal, what, "please report this"))
    })
}
