//! Measurement of a session's throughput: a publisher that always has another frame and a viewer that discards them,
//! each on its own thread, with the program's own session loop and carriers.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Identity, Role, Side};
use sealcast_proto::seal::Suite;
use sealcast_proto::session::{Delivery, Event, Fec, Input, Mtu, OutgoingPackets, RekeyPolicy, Session, SessionConfig};
use sealcast_proto::unit::{Assembled, Preamble, Unit};
use sealcast_proto::wire::{BASE_DATAGRAM, CloseReason, Host, Ticket, TransportKind};

use super::connection::{self, Connection, Ended};
use super::ended::end_in_words;
use super::offer::CarrierConfig;
use super::serve_viewer::VIDEO;
use super::{Clock, Offer};
use crate::failure::{Failure, FailureKind, Result};
use crate::keys::{entropy, mechanism};
use crate::meter::metrics::{BuildInfo, Metrics};
use crate::meter::resources::thread_cpu_time;
use crate::transport::{self, AnyTransport, Listener};

/// Maximum bytes in flight if the carrier does not limit the publisher: less than a socket buffer holds, and small
/// enough to stay in the processor's cache.
const CREDIT: u64 = 512 * 1024;
/// Interval of the check that the end of the stream has arrived.
const SETTLING: Duration = Duration::from_millis(20);
/// Time limit for the close messages.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);
/// The handshake's mechanism; the handshake is not measured.
const MECHANISM: &str = "x25519";

/// The load to send.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The suite.
    pub suite: Suite,
    /// The session's transport: TCP or UDP.
    pub transport: TransportKind,
    /// Frame size in bytes, 1 to [`MAX_FRAME`](sealcast_proto::unit::MAX_FRAME).
    pub frame: usize,
    /// Duration of sending.
    pub time: Duration,
}

/// Result of the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Bytes in the frames that arrived complete.
    pub bytes: u64,
    /// Time from the established session to the end of the stream, at the publisher.
    pub elapsed: Duration,
    /// CPU time of the publisher in that period, user and system.
    pub publisher_cpu: Duration,
    /// CPU time of the viewer, likewise.
    pub viewer_cpu: Duration,
    /// Media datagrams sent, including resent ones; 0 on TCP.
    pub sent: u64,
    /// Media datagrams that arrived.
    pub arrived: u64,
}

/// Run a publisher and a viewer in this process over the loopback interface.
///
/// # Errors
/// The transport cannot listen, or the session breaks.
pub fn carry(load: Load) -> Result<Carried> {
    let (port, listening) = mpsc::channel();
    let publisher = std::thread::spawn(move || runtime()?.block_on(publish(load, &port)));
    let viewed = match listening.recv() {
        Ok(port) => runtime()?.block_on(view(load, port)),
        // The publisher reports the reason.
        Err(_) => Ok(Carried::default()),
    };
    let published = publisher.join().map_err(|_| defect("the publisher panicked"))??;
    let viewed = viewed?;
    Ok(Carried {
        elapsed: published.elapsed,
        publisher_cpu: published.publisher_cpu,
        sent: published.sent,
        ..viewed
    })
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| defect(&format!("the system gives no event queue ({error})")))
}

fn defect(what: &str) -> Failure {
    Failure::new(FailureKind::Internal, what, "please report this")
}

/// Delivery at full speed: without FEC, pacing or a rate estimate.
fn delivery() -> Delivery {
    Delivery {
        fec: Fec::Off,
        rate: None,
        pace: false,
        mtu: Mtu::Fixed(BASE_DATAGRAM),
        ..Delivery::default()
    }
}

fn config(load: Load, role: Role, side: Side, carrier: sealcast_proto::session::Carrier) -> Result<SessionConfig> {
    let seed = |role| [if role == Role::Publisher { 1 } else { 2 }; 32];
    let mechanism = mechanism::by_name(MECHANISM).ok_or_else(|| defect("a mechanism is missing"))?;
    let offer = Offer {
        identity: Arc::new(Identity::from_seed(&seed(role))),
        suites: vec![load.suite],
        mechanisms: vec![mechanism],
        rekey: RekeyPolicy::default(),
        unit: Unit::Frame,
        selection_seed: 0,
    };
    let pinned = (role == Role::Viewer).then(|| Identity::from_seed(&[1; 32]).peer_id());
    let delivery = delivery();
    Ok(offer.session(role, side, pinned, None, CarrierConfig { carrier, delivery }))
}

/// Counts the bytes of received frames.
#[derive(Default)]
struct Counter {
    bytes: u64,
}

impl connection::Listener for Counter {
    fn media(&mut self, media: Assembled, _: Instant) -> bool {
        if let Assembled::Frame(frame) = media {
            self.bytes += frame.data.len() as u64;
        }
        false
    }
}

/// One end. It reads its clocks when its session is established.
struct End {
    connection: Connection<AnyTransport>,
    received: Counter,
    began: Option<(Instant, Duration)>,
}

impl End {
    fn new(carriage: AnyTransport, session: Session, clock: Clock, metrics: Metrics) -> Self {
        Self {
            connection: Connection::new(carriage, session, clock, metrics),
            received: Counter::default(),
            began: None,
        }
    }

    fn work(&mut self) -> Result<(), Ended> {
        let worked = self.connection.work(&mut self.received);
        for event in std::mem::take(&mut self.connection.events) {
            match event {
                Event::PeerProved(_) => self.connection.handle(Input::Admit, &mut self.received)?,
                Event::Established(_) => self.began = Some((Instant::now(), thread_cpu_time())),
                _ => {}
            }
        }
        worked
    }

    /// Elapsed time and CPU time since the session was established.
    fn spent(&self) -> (Duration, Duration) {
        self.began.map_or_else(Default::default, |(began, cpu)| {
            (began.elapsed(), thread_cpu_time().saturating_sub(cpu))
        })
    }

    /// Send frames until the time is over and all have arrived.
    async fn flood(&mut self, load: Load, clock: Clock) -> Result<(), Ended> {
        let data = vec![0x5A; load.frame];
        let mut frame = 0;
        loop {
            self.work()?;
            let sending = self.began.is_some_and(|(began, _)| began.elapsed() < load.time);
            while sending && self.connection.ready_for_frame() && self.connection.session.media_in_flight() < CREDIT {
                self.send(frame, &data, clock)?;
                frame += 1;
            }
            if self.began.is_some() && !sending && self.connection.backlog() == 0 && self.connection.settled() {
                return Ok(());
            }
            let waited = tokio::time::timeout(SETTLING, self.connection.wait()).await;
            waited.unwrap_or(Ok(()))?;
        }
    }

    fn send(&mut self, number: u64, data: &[u8], clock: Clock) -> Result<(), Ended> {
        let now = clock.now();
        let bytes = OutgoingPackets {
            stream: VIDEO,
            preamble: Preamble {
                frame: number,
                captured: now.wall,
                encoded: now.wall,
                ..Preamble::default()
            },
            data,
        };
        self.connection
            .seal(|session, out| session.seal_packets(now, &bytes, out))?;
        self.work()
    }
}

async fn publish(load: Load, port: &mpsc::Sender<u16>) -> Result<Carried> {
    let metrics = Metrics::new(BuildInfo::default());
    let clock = Clock::default();
    let name = if load.transport == TransportKind::Udp {
        "udp"
    } else {
        "tcp"
    };
    let url = format!("{name}://127.0.0.1:0").parse()?;
    let identity = Identity::from_seed(&[1; 32]);
    let mut listener = Listener::bind(&url, &identity, metrics.clone())?;
    // Sending fails only if the viewer is gone.
    let _ = port.send(listener.local_address()?.port());
    let accepted = listener.accept(Unit::Frame).await;
    let accepted = accepted.map_err(|error| defect(&format!("the viewer's connection broke ({error})")))?;
    let config = config(load, Role::Publisher, Side::Responder, accepted.carrier)?;
    let session = Session::respond(config, entropy::random()?, clock.now());
    let mut end = End::new(accepted.carriage, session, clock, metrics);
    end.flood(load, clock)
        .await
        .map_err(|ended| broken("publisher", &ended))?;
    let (elapsed, publisher_cpu) = end.spent();
    let counts = end.connection.session.outbound_counts().unwrap_or_default();
    let close = Input::Close(CloseReason::EndOfStream, "");
    let closed = end.connection.handle(close, &mut end.received);
    closed.map_err(|ended| broken("publisher", &ended))?;
    end.connection.say_goodbye(GOODBYE_PATIENCE).await;
    Ok(Carried {
        elapsed,
        publisher_cpu,
        sent: counts.sources + counts.repairs + counts.resent,
        ..Carried::default()
    })
}

async fn view(load: Load, port: u16) -> Result<Carried> {
    let metrics = Metrics::new(BuildInfo::default());
    let clock = Clock::default();
    let ticket = Ticket {
        host: Host::V4([127, 0, 0, 1].into()),
        port,
        peer: Identity::from_seed(&[1; 32]).peer_id(),
        transport: load.transport,
        latency: None,
        invite: None,
    };
    let (carriage, carrier) = transport::connect(&ticket, Unit::Frame, metrics.clone()).await?;
    let config = config(load, Role::Viewer, Side::Initiator, carrier)?;
    let session = Session::initiate(config, entropy::random()?, clock.now());
    let session = session.map_err(|error| defect(&format!("the handshake cannot begin: {error}")))?;
    let mut end = End::new(carriage, session, clock, metrics);
    let ended = loop {
        if let Err(ended) = end.work() {
            break ended;
        }
        if let Err(ended) = end.connection.wait().await {
            break ended;
        }
    };
    if !matches!(ended, Ended::Closed) {
        return Err(broken("viewer", &ended));
    }
    let counts = end.connection.session.inbound_counts().unwrap_or_default();
    Ok(Carried {
        bytes: end.received.bytes,
        viewer_cpu: end.spent().1,
        arrived: counts.sources + counts.repairs + counts.late,
        ..Carried::default()
    })
}

fn broken(whose: &str, ended: &Ended) -> Failure {
    let words = end_in_words(ended).unwrap_or_else(|| "it was closed".to_owned());
    let what = format!("the {whose}'s session over the loopback interface broke: {words}");
    Failure::new(FailureKind::Network, what, "try again; if it stays, please report this")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_carried_over_both_transports() {
        for (transport, frame) in [(TransportKind::Udp, 73_304), (TransportKind::Tcp, 64 << 10)] {
            let load = Load {
                suite: sealcast_proto::seal::suite::AEGIS_128X4,
                transport,
                frame,
                time: Duration::from_millis(100),
            };
            let carried = carry(load).expect("the loopback interface carries it");
            assert!(
                carried.bytes > 0 && carried.bytes.is_multiple_of(frame as u64),
                "{carried:?}"
            );
            assert!(carried.publisher_cpu + carried.viewer_cpu > Duration::ZERO);
            assert_eq!(carried.arrived > 0, transport == TransportKind::Udp, "{carried:?}");
        }
    }
}
