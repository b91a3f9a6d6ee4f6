//! sealcast's own sessions: a publisher that always has another frame and a viewer that discards them, each on a
//! thread of its own, with the program's own session loop and carriers.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::{entropy, mechanism};
use sealcast::meter::metrics::Metrics;
use sealcast::meter::resources::thread_cpu_time;
use sealcast::run::session::connection::{self, Connection, Ended};
use sealcast::run::{Clock, build_info};
use sealcast::transport::{AnyTransport, Listener, Reach};
use sealcast_proto::keys::{HandshakeConfig, HelloKeys, Identity, Role, Side, Wish};
use sealcast_proto::seal::Suite;
use sealcast_proto::session::{
    self, Delivery, Event, Fec, Input, Mtu, OutgoingPackets, RekeyPolicy, Session, SessionConfig,
};
use sealcast_proto::unit::{Assembled, Preamble, Unit};
use sealcast_proto::wire::{BASE_DATAGRAM, CloseReason, Host, Ticket, TransportKind};

use super::carried::{Carried, Sending};
use super::carrier::Carrier;

/// Maximum bytes in flight if the carrier does not limit the publisher: less than a socket buffer holds, and small
/// enough to stay in the processor's cache.
const CREDIT: u64 = 512 * 1024;
/// Interval of the check that the end of the stream has arrived.
const SETTLING: Duration = Duration::from_millis(20);
/// Time limit for the close messages.
const GOODBYE_PATIENCE: Duration = Duration::from_millis(500);
/// The handshake's mechanism; the handshake is not measured.
const MECHANISM: &str = "x25519";
/// The stream number of the frames.
const STREAM: u32 = 1;

/// The load of a session.
#[derive(Clone, Copy)]
pub(super) struct Load<'a> {
    pub(super) suite: Suite,
    pub(super) carrier: Carrier,
    /// Frame size in bytes, 1 to [`MAX_FRAME`](sealcast_proto::unit::MAX_FRAME).
    pub(super) frame: usize,
    pub(super) sending: Sending<'a>,
}

/// The publisher's part of the result.
struct Published {
    /// Time from the established session to the end of the stream.
    elapsed: Duration,
    /// CPU time of the publisher's thread in that period.
    cpu: Duration,
    /// Media datagrams sent, including resent ones; 0 on TCP.
    datagrams: u64,
}

/// The viewer's part of the result.
struct Viewed {
    /// Bytes in the frames that arrived complete.
    bytes: u64,
    /// CPU time of the viewer's thread since the session was established.
    cpu: Duration,
    /// Media datagrams that arrived.
    datagrams: u64,
}

/// Runs a publisher and a viewer over the loopback interface.
///
/// # Errors
/// The transport cannot listen, or the session breaks.
pub(super) fn carry(load: Load<'_>) -> Result<Carried> {
    let (port, listening) = mpsc::channel();
    let (published, viewed) = thread::scope(|scope| {
        let publisher = scope.spawn(move || runtime()?.block_on(publish(load, port)));
        let viewed = listening.recv().ok().map(|port| runtime()?.block_on(view(load, port)));
        (publisher.join(), viewed)
    });
    let published = published.map_err(|_| defect("the publisher panicked"))??;
    let viewed = viewed.ok_or_else(|| defect("the publisher named no port"))??;
    Ok(Carried {
        bytes: viewed.bytes,
        elapsed: published.elapsed,
        cpu: published.cpu + viewed.cpu,
        sent: published.datagrams,
        lost: published.datagrams.saturating_sub(viewed.datagrams),
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

/// The identity of an end; not secret, since it protects only test data.
fn identity(role: Role) -> Identity {
    Identity::from_seed(&[if role == Role::Publisher { 1 } else { 2 }; 32])
}

fn config(suite: Suite, role: Role, side: Side, carrier: session::Carrier) -> Result<SessionConfig> {
    let mechanism = mechanism::by_name(MECHANISM).ok_or_else(|| defect("a mechanism is missing"))?;
    Ok(SessionConfig {
        handshake: HandshakeConfig {
            role,
            identity: Arc::new(identity(role)),
            suites: vec![suite],
            mechanisms: vec![mechanism],
            pinned: (role == Role::Viewer).then(|| identity(Role::Publisher).peer_id()),
            hello_keys: Arc::new(HelloKeys::new(&identity(Role::Publisher).peer_id(), [])),
            wish: Wish::default(),
        },
        side,
        carrier,
        rekey: RekeyPolicy::default(),
        delivery: delivery(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: None,
        group: None,
    })
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
        self.connection.work(&mut self.received)?;
        while let Some(event) = self.connection.next_event() {
            match event {
                Event::PeerProved(_) => self.connection.handle(Input::Admit, &mut self.received)?,
                Event::Established(_) => self.began = Some((Instant::now(), thread_cpu_time())),
                _ => {}
            }
        }
        Ok(())
    }

    /// Elapsed time and CPU time since the session was established.
    fn spent(&self) -> (Duration, Duration) {
        self.began.map_or_else(Default::default, |(began, cpu)| {
            (began.elapsed(), thread_cpu_time().saturating_sub(cpu))
        })
    }

    /// Sends frames, at least one, until the time is over and all have arrived.
    async fn flood(&mut self, load: Load<'_>, clock: Clock) -> Result<(), Ended> {
        let data = vec![0x5A; load.frame];
        let mut frame = 0;
        loop {
            self.work()?;
            let goes_on = |began| frame == 0 || load.sending.goes_on(began);
            let sending = self.began.is_some_and(|(began, _)| goes_on(began));
            while sending && self.connection.ready_for_frame() && self.connection.session().media_in_flight() < CREDIT {
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
            stream: STREAM,
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

async fn publish(load: Load<'_>, port: mpsc::Sender<u16>) -> Result<Published> {
    let metrics = Metrics::new(build_info());
    let clock = Clock::default();
    let url = format!("{}://127.0.0.1:0", load.carrier).parse()?;
    let mut listener = Listener::bind(&url, &identity(Role::Publisher), Role::Publisher, metrics.clone())?;
    // Sending fails only if the viewer is gone.
    let _ = port.send(listener.local_address()?.port());
    let accepted = listener.accept(Unit::Frame).await;
    let accepted = accepted.map_err(|error| defect(&format!("the viewer's connection broke ({error})")))?;
    let config = config(load.suite, Role::Publisher, Side::Responder, accepted.carrier)?;
    let session = Session::respond(config, entropy::random()?, clock.now());
    let mut end = End::new(accepted.carriage, session, clock, metrics);
    end.flood(load, clock)
        .await
        .map_err(|ended| broken("publisher", &ended))?;
    let (elapsed, cpu) = end.spent();
    let counts = end.connection.session().outbound_counts().unwrap_or_default();
    let close = Input::Close(CloseReason::EndOfStream, "");
    let closed = end.connection.handle(close, &mut end.received);
    closed.map_err(|ended| broken("publisher", &ended))?;
    end.connection.say_goodbye(GOODBYE_PATIENCE).await;
    Ok(Published {
        elapsed,
        cpu,
        datagrams: counts.sources + counts.repairs + counts.resent,
    })
}

async fn view(load: Load<'_>, port: u16) -> Result<Viewed> {
    let metrics = Metrics::new(build_info());
    let clock = Clock::default();
    let ticket = Ticket {
        host: Host::V4([127, 0, 0, 1].into()),
        port,
        peer: identity(Role::Publisher).peer_id(),
        transport: match load.carrier {
            Carrier::Udp => TransportKind::Udp,
            Carrier::Tcp => TransportKind::Tcp,
        },
        latency: None,
        cert_hashes: Vec::new(),
        broadcast: None,
        others: Vec::new(),
        invite: None,
    };
    let connected = Reach::new(ticket)
        .connect(Role::Viewer, Unit::Frame, metrics.clone())
        .await?;
    let (carriage, carrier) = (connected.transport, connected.carrier);
    let config = config(load.suite, Role::Viewer, Side::Initiator, carrier)?;
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
    let counts = end.connection.session().inbound_counts().unwrap_or_default();
    Ok(Viewed {
        bytes: end.received.bytes,
        cpu: end.spent().1,
        datagrams: counts.sources + counts.repairs + counts.late,
    })
}

fn broken(whose: &str, ended: &Ended) -> Failure {
    let words = ended.in_words().unwrap_or_else(|| "it was closed".to_owned());
    let what = format!("the {whose}'s session over the loopback interface broke: {words}");
    Failure::new(FailureKind::Network, what, "try again; if it stays, please report this")
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn frames_are_carried_over_both_transports() {
        let stop = AtomicBool::new(false);
        for (carrier, frame) in [(Carrier::Udp, 73_304), (Carrier::Tcp, 64 << 10)] {
            let carried = carry(Load {
                suite: sealcast_proto::seal::suite::AEGIS_128X4,
                carrier,
                frame,
                sending: Sending {
                    time: Duration::from_millis(100),
                    stop: &stop,
                },
            });
            let carried = carried.expect("the loopback interface carries it");
            assert!(
                carried.bytes > 0 && carried.bytes.is_multiple_of(frame as u64),
                "{carried:?}"
            );
            assert!(carried.cpu > Duration::ZERO);
            assert_eq!(carried.sent > 0, carrier == Carrier::Udp, "{carried:?}");
        }
    }
}
