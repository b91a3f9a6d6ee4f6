//! The client of an event server: a thread that registers, asks for the time, and passes on what was shown.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::events::{EventClient, EventCounts, EventKeys, EventReport, EventTicket};

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::entropy;
use crate::run::clock::Clock;

/// Longer than any datagram of a server.
const MAX_DATAGRAM: usize = 2048;
/// Time for which a server may be silent before the first answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for which a probe that ends waits for the last reports.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Longest wait for a datagram, so that the thread soon sees that it is to stop.
const TURN: Duration = Duration::from_millis(50);

/// Passes a report on; false if nobody wants more.
pub trait EventFeed: FnMut(EventReport) -> bool + Send + 'static {}
impl<F: FnMut(EventReport) -> bool + Send + 'static> EventFeed for F {}

/// A client that a server has answered.
pub struct Registered {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    state: Mutex<(Option<ClockEstimate>, EventCounts)>,
}

impl Shared {
    fn state(&self) -> (Option<ClockEstimate>, EventCounts) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what is known of the server's clock.
#[derive(Clone)]
pub(crate) struct EventClock(Arc<Shared>);

impl EventClock {
    /// A server's clock that is always the same.
    #[cfg(test)]
    pub(crate) fn fixed(estimate: ClockEstimate) -> Self {
        let state = Mutex::new((Some(estimate), EventCounts::default()));
        Self(Arc::new(Shared {
            stop: AtomicBool::new(false),
            state,
        }))
    }

    /// The offset of the event server's wall clock from ours.
    pub(crate) fn estimate(&self) -> Option<ClockEstimate> {
        self.0.state().0
    }
}

/// Register at the server of `ticket`, and wait for its first answer. Reports go to `feed` from then on.
///
/// # Errors
/// The name is unknown, or nobody answers: kind `Network`.
pub fn register(ticket: &EventTicket, clock: Clock, feed: impl EventFeed) -> Result<Registered> {
    let at = ticket.address.to_string();
    let fail = |what: String| {
        let hint =
            "see that `sealcast clock` runs, that its UDP port can be reached, and that this is its latest ticket";
        Failure::new(FailureKind::Network, what, hint)
    };
    let unreachable = |error: std::io::Error| fail(format!("the event server at {at} cannot be reached ({error})"));
    let mut addresses = at.to_socket_addrs().map_err(unreachable)?;
    let address = addresses.next().ok_or_else(|| fail(format!("{at} has no address")))?;
    let any: SocketAddr = match address.is_ipv6() {
        true => (Ipv6Addr::UNSPECIFIED, 0).into(),
        false => (Ipv4Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any).map_err(unreachable)?;
    socket.connect(address).map_err(unreachable)?;
    let mut client = EventClient::new(EventKeys::new(&ticket.secret), entropy::random()?);
    let began = Instant::now();
    while client.clock().is_none() {
        turn(&socket, &mut client, clock);
        if began.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            return Err(fail(format!(
                "the event server at {at} has not answered for {seconds} s"
            )));
        }
    }
    let shared = Arc::new(Shared::default());
    let theirs = Arc::clone(&shared);
    let body = move || run(&socket, client, clock, &theirs, feed);
    let thread = std::thread::Builder::new().name("events".to_owned()).spawn(body);
    let thread = thread.map_err(|error| {
        let what = format!("the system gives no thread for events ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })?;
    Ok(Registered { shared, thread })
}

impl Registered {
    /// Reads the server's clock.
    pub(crate) fn clock(&self) -> EventClock {
        EventClock(Arc::clone(&self.shared))
    }

    /// Wait for the answer to an ask that was sent after this moment, or for [`LAST_WORDS`] if the server is gone: it
    /// has the reports of everything that was shown until now.
    pub(crate) fn catch_up(&self) {
        let began = Instant::now();
        let counts = self.shared.state().1;
        // An answer to the last ask may be under way, and was made before.
        let enough = counts.answered + 2;
        while self.shared.state().1.answered < enough && began.elapsed() < LAST_WORDS && !self.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Stop asking. Returns the counters.
    pub fn stop(self) -> EventCounts {
        self.shared.stop.store(true, Ordering::Relaxed);
        // A panic of the thread has been printed; its counters stand.
        let _ = self.thread.join();
        self.shared.state().1
    }
}

fn run(socket: &UdpSocket, mut client: EventClient, clock: Clock, shared: &Shared, mut feed: impl EventFeed) {
    loop {
        while let Some(report) = client.take_report() {
            if !feed(report) {
                return;
            }
        }
        // After the reports: who waits for an answer has those that came with it.
        *shared.state.lock().unwrap_or_else(PoisonError::into_inner) = (client.clock(), client.counts());
        if shared.stop.load(Ordering::Relaxed) {
            return;
        }
        turn(socket, &mut client, clock);
    }
}

/// Ask if it is time, and wait a short while for a datagram.
fn turn(socket: &UdpSocket, client: &mut EventClient, clock: Clock) {
    if let Some(ask) = client.poll(clock.now()) {
        // An error here is one of an earlier datagram, or of the way; the next ask may pass.
        if let Err(error) = socket.send(&ask) {
            tracing::debug!(%error, "an ask of the event server was not sent");
        }
    }
    let wait = client.deadline().saturating_sub(clock.now().monotonic).min(TURN);
    let waiting = socket.set_read_timeout(Some(wait.max(Duration::from_millis(1))));
    let mut buffer = [0; MAX_DATAGRAM];
    match waiting.and_then(|()| socket.recv(&mut buffer)) {
        Ok(length) => client.handle(clock.now(), &buffer[..length]),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
        Err(error) => {
            tracing::debug!(%error, "the event server's port says no");
            std::thread::sleep(wait);
        }
    }
}
