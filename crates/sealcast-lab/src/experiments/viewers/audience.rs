//! The viewers: in this process, so that only the publisher's is measured. They decode nothing.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::entropy;
use sealcast::media::{ReceivedFrame, StreamInfo};
use sealcast::meter::metrics::Metrics;
use sealcast::run::{Observation, ObserveOptions, Observing, PublisherAt, QueueLimits, WatchOptions, build_info};
use sealcast::sink::Sink;
use sealcast_proto::session::GroupPolicy;
use sealcast_proto::sign::SignMode;
use sealcast_proto::wire::Ticket;
use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::plain::PREFIX;
use super::publisher::Address;
use crate::experiments::link::BUDGET;
use crate::experiments::link::ends::offer;
use crate::harness::process::{Stop, pause};

/// Time limit for all viewers to get their first frame.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often viewers are looked at until then.
const LOOK: Duration = Duration::from_millis(20);
/// Time that viewers have to say goodbye.
const GOODBYE: Duration = Duration::from_secs(3);
/// The longest frame that is believed to be one, in bytes.
const MAX_FRAME: usize = 16 << 20;

/// Viewers of one publisher. Dropping it ends them.
pub(super) struct Audience {
    frames: Vec<Arc<AtomicU64>>,
    stop: watch::Sender<bool>,
    // Dropped last, when the viewers know that they end.
    runtime: Option<Runtime>,
    _observing: Option<Observing>,
}

impl Audience {
    /// As many viewers as this connect.
    ///
    /// # Errors
    /// The system gives no threads or no randomness.
    pub(super) fn start(address: &Address, viewers: usize) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| {
                let what = format!("the system gives no threads ({error})");
                Failure::new(FailureKind::Internal, what, "raise the limit on threads")
            })?;
        let frames: Vec<Arc<AtomicU64>> = (0..viewers).map(|_| Arc::default()).collect();
        let (stop, stopped) = watch::channel(false);
        let mut observing = None;
        match address {
            Address::Plain(address) => {
                for frames in &frames {
                    runtime.spawn(read_plain(*address, Arc::clone(frames)));
                }
            }
            Address::Sealed(ticket) => {
                let metrics = Metrics::new(build_info());
                let started = runtime.block_on(Observation::start("watch", ObserveOptions::default(), metrics))?;
                for frames in &frames {
                    let options = watching(ticket.clone(), Arc::clone(frames))?;
                    runtime.spawn(sealcast::run::watch(options, started.observation(), stopped.clone()));
                }
                observing = Some(started);
            }
        }
        Ok(Self {
            frames,
            stop,
            runtime: Some(runtime),
            _observing: observing,
        })
    }

    /// Number of frames that each viewer has.
    pub(super) fn frames(&self) -> Vec<u64> {
        self.frames
            .iter()
            .map(|frames| frames.load(Ordering::Relaxed))
            .collect()
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
                let what = format!(
                    "{without} of {} viewers got no frame, or not all joined",
                    self.frames.len()
                );
                return Err(Failure::new(FailureKind::Network, what, "measure fewer viewers"));
            }
            pause(LOOK, stop)?;
        }
    }
}

impl Drop for Audience {
    fn drop(&mut self) {
        // It fails only if all viewers have ended.
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GOODBYE);
        }
    }
}

/// A viewer as the program has it, that joins a group which signs frames.
fn watching(ticket: Ticket, frames: Arc<AtomicU64>) -> Result<WatchOptions> {
    let mut offer = offer(Arc::new(entropy::identity()?));
    offer.group = Some(GroupPolicy {
        sign: SignMode::Frame,
        relayed: false,
    });
    Ok(WatchOptions {
        publisher: PublisherAt::Connect(ticket),
        offer,
        sink: Box::new(Counting { frames }),
        budget: BUDGET,
        queue: QueueLimits::default(),
        reconnect: false,
        relays: Vec::new(),
    })
}

/// A sink that counts frames.
struct Counting {
    frames: Arc<AtomicU64>,
}

impl Sink for Counting {
    fn start(&mut self, _: &StreamInfo) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, _: &ReceivedFrame) -> Result<()> {
        self.frames.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A viewer of the plain fan-out, until the connection ends.
async fn read_plain(address: SocketAddr, frames: Arc<AtomicU64>) -> std::io::Result<()> {
    let mut stream = BufReader::with_capacity(64 << 10, TcpStream::connect(address).await?);
    let mut frame = Vec::new();
    loop {
        let mut length = [0; PREFIX];
        stream.read_exact(&mut length).await?;
        let length = u32::from_be_bytes(length) as usize;
        if length > MAX_FRAME {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        frame.resize(length, 0);
        stream.read_exact(&mut frame).await?;
        frames.fetch_add(1, Ordering::Relaxed);
    }
}
