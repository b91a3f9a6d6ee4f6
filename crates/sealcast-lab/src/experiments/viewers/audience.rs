//! The viewers: in this process, so that only the publisher's is measured. They decode nothing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::entropy;
use sealcast::keys::seen_groups::SeenGroups;
use sealcast::media::{ReceivedFrame, StreamInfo};
use sealcast::meter::metrics::Metrics;
use sealcast::run::{
    ClientRole, Observation, ObserveOptions, Observing, PublisherAt, QueueLimits, RelayClient, RelayEvent, RelayUrl,
    Track, WatchOptions, build_info,
};
use sealcast::sink::Sink;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::session::{GroupPolicy, OpenedBy};
use sealcast_proto::sign::SignMode;
use sealcast_proto::wire::Ticket;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::datagrams;
use super::publisher::Address;
use crate::experiments::link::BUDGET;
use crate::experiments::link::ends::offer;
use crate::experiments::stream::wall_clock_ns;
use crate::experiments::throughput::Carrier;
use crate::harness::process::{Stop, pause};

/// Time limit for all viewers to get their first frame.
const PATIENCE: Duration = Duration::from_secs(120);
/// Interval at which viewers are looked at until then.
const LOOK: Duration = Duration::from_millis(20);
/// Viewers that connect before these have a frame. A publisher has 16 places for sessions of one address that are not
/// established yet, and takes 20 new ones of it in a second: the others come after a pause.
const AT_ONCE: usize = 8;
const BETWEEN: Duration = Duration::from_millis(450);
/// Time that viewers have to say goodbye.
const GOODBYE: Duration = Duration::from_secs(3);
/// The longest frame that is believed to be one, in bytes.
const MAX_FRAME: usize = 16 << 20;

/// Frames that a viewer got, and their latencies.
#[derive(Default)]
struct Got {
    frames: AtomicU64,
    /// From the source until the viewer had it, in milliseconds, of each frame since they were taken.
    latencies: Mutex<Vec<f64>>,
}

impl Got {
    /// Counts a frame that the source gave at this time, in nanoseconds since 1970.
    fn frame(&self, at_ns: i64) {
        let latency = (wall_clock_ns() - at_ns) as f64 * 1e-6;
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.latencies
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(latency);
    }
}

/// Viewers of one publisher. Dropping it ends them.
pub(super) struct Audience {
    viewers: Vec<Arc<Got>>,
    /// Turns true when they are to end.
    end: watch::Sender<bool>,
    // Dropped last, when the viewers know that they end.
    runtime: Option<Runtime>,
    observing: Option<Observing>,
}

impl Audience {
    /// As many viewers as this connect, some at a time, each of which gets a frame.
    ///
    /// # Errors
    /// The system gives no threads or no randomness, or a viewer gets no frame for two minutes.
    pub(super) fn start(address: &Address, viewers: usize, stop: Stop<'_>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| {
                let what = format!("the system gives no threads ({error})");
                Failure::new(FailureKind::Internal, what, "raise the limit on threads")
            })?;
        let (end, stopped) = watch::channel(false);
        let mut observing = None;
        if let Address::Sealed(..) = address {
            let metrics = Metrics::new(build_info());
            let started = Observation::start("watch", ObserveOptions::default(), metrics);
            observing = Some(runtime.block_on(started)?);
        }
        let mut audience = Self {
            viewers: Vec::new(),
            end,
            runtime: Some(runtime),
            observing,
        };
        while audience.viewers.len() < viewers {
            audience.seat(address, stopped.clone())?;
            if audience.viewers.len().is_multiple_of(AT_ONCE) {
                audience.until_all_watch(|| true, stop)?;
                pause(BETWEEN, stop)?;
            }
        }
        Ok(audience)
    }

    /// One more viewer connects.
    fn seat(&mut self, address: &Address, stopped: watch::Receiver<bool>) -> Result<()> {
        let got: Arc<Got> = Arc::default();
        self.viewers.push(Arc::clone(&got));
        let Some(runtime) = &self.runtime else {
            return Ok(());
        };
        match (address, &self.observing) {
            (Address::Sealed(ticket, relay), Some(observing)) => {
                let options = watching(ticket.clone(), relay.clone(), got)?;
                runtime.spawn(sealcast::run::watch(options, observing.observation(), stopped));
            }
            (Address::PlainRelay(relay), _) => drop(runtime.spawn(take_plain(relay.clone(), got))),
            (Address::Plain(Carrier::Tcp, address), _) => drop(runtime.spawn(read_plain(*address, got))),
            (Address::Plain(Carrier::Udp, address), _) => {
                let each = move |at_ns| got.frame(at_ns);
                drop(runtime.spawn(datagrams::receive(*address, each)));
            }
            (Address::Sealed(..), None) => {}
        }
        Ok(())
    }

    /// Number of frames that each viewer has.
    pub(super) fn frames(&self) -> Vec<u64> {
        self.viewers
            .iter()
            .map(|got| got.frames.load(Ordering::Relaxed))
            .collect()
    }

    /// The latencies of all frames that came since the last call, in milliseconds.
    pub(super) fn take_latencies(&self) -> Vec<f64> {
        let taken = self.viewers.iter().map(|got| {
            let mut latencies = got.latencies.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *latencies)
        });
        taken.flatten().collect()
    }

    /// Waits until each viewer has a frame, and `there` is true as well.
    ///
    /// # Errors
    /// One has none for two minutes, or the user stopped the measurement.
    pub(super) fn until_all_watch(&self, there: impl Fn() -> bool, stop: Stop<'_>) -> Result<()> {
        let began = Instant::now();
        loop {
            let without = self.frames().iter().filter(|&&frames| frames == 0).count();
            if without == 0 && there() {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                let all = self.viewers.len();
                let what = format!("{without} of {all} viewers got no frame, or not all joined");
                return Err(Failure::new(FailureKind::Network, what, "measure fewer viewers"));
            }
            pause(LOOK, stop)?;
        }
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        // It fails only if all viewers have ended.
        let _ = self.end.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GOODBYE);
        }
    }
}

/// A viewer as the program has it. It joins a group whatever that signs, and verifies what is signed.
fn watching(ticket: Ticket, relay: Option<RelayUrl>, got: Arc<Got>) -> Result<WatchOptions> {
    let mut offer = offer(Arc::new(entropy::identity()?));
    offer.join_groups(GroupPolicy {
        sign: SignMode::Off,
        opened_by: match relay {
            Some(_) => OpenedBy::Program,
            None => OpenedBy::Session,
        },
    });
    Ok(WatchOptions {
        publisher: PublisherAt::Connect(ticket),
        offer,
        sink: Box::new(Noting { got, stamped: 0 }),
        budget: BUDGET,
        stream_budget: None,
        queue: QueueLimits::default(),
        sound: false,
        reconnect: false,
        without_session: false,
        seen: SeenGroups::nowhere(),
        relays: relay.into_iter().collect(),
        data: Vec::new(),
    })
}

/// A sink that notes when frames come.
struct Noting {
    got: Arc<Got>,
    /// When the source gave the next frame.
    stamped: u64,
}

impl Sink for Noting {
    fn start(&mut self, _: &StreamInfo) -> Result<()> {
        Ok(())
    }

    fn stamped(&mut self, stamped: u64, _: Option<ClockEstimate>) {
        // Publisher and viewer have one clock.
        self.stamped = stamped;
    }

    fn write(&mut self, _: &ReceivedFrame) -> Result<()> {
        self.got.frame(i64::try_from(self.stamped).unwrap_or(i64::MAX));
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A viewer of the plain fan-out, until the connection ends.
async fn read_plain(address: SocketAddr, got: Arc<Got>) -> std::io::Result<()> {
    let mut stream = BufReader::with_capacity(64 << 10, TcpStream::connect(address).await?);
    let mut frame = Vec::new();
    loop {
        let length = stream.read_u32().await? as usize;
        let at_ns = stream.read_i64().await?;
        if length > MAX_FRAME {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        frame.resize(length, 0);
        stream.read_exact(&mut frame).await?;
        got.frame(at_ns);
    }
}

/// A viewer of plain objects through a relay, until its relay client ends.
async fn take_plain(relay: RelayUrl, got: Arc<Got>) -> Result<()> {
    let mut client = RelayClient::start(&relay, ClientRole::Watch).await?;
    while let Some(event) = client.event().await {
        if let RelayEvent::Object(Track::Video, object) = event
            && let Some(stamp) = object.first_chunk()
        {
            got.frame(i64::from_be_bytes(*stamp));
        }
    }
    Ok(())
}
