//! sealcast's own publisher and viewer, with a source that stamps frames and a sink that records them.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::keys::peers::{KnownPeers, Terms};
use sealcast::keys::seen_groups::SeenGroups;
use sealcast::keys::{entropy, mechanism};
use sealcast::media::{Codec, Frame, FrameRate, ReceivedFrame, StampKind, StreamInfo, Track};
use sealcast::meter::metrics::Metrics;
use sealcast::run::{
    Admission, CameraMedia, CameraOptions, DataOptions, Observation, ObserveOptions, Offer, PublishOptions,
    PublisherAt, QueueLimits, RuntimeSettings, Shape, Viewers, WatchOptions, build_info, only_camera,
};
use sealcast::sink::Sink;
use sealcast::source::Source;
use sealcast::transport::{Advertised, ListenUrl, Listener, Mtu};
use sealcast_proto::keys::{Identity, Role, Wish};
use sealcast_proto::rate::RateConfig;
use sealcast_proto::seal::suite::RECOMMENDED;
use sealcast_proto::session::RekeyPolicy;
use sealcast_proto::unit::{Selection, Unit};
use sealcast_proto::wire::Ticket;
use tokio::sync::{mpsc, watch};

use super::config::EndConfig;
use super::talk::{TICKET, hear, tell, told};
use crate::experiments::link::load::{self, GROUP, RATE, Row, STAMP_LEN, Stamp, row};
use crate::experiments::link::system::BUDGET;

type Rows = Arc<Mutex<Vec<Row>>>;

pub(super) fn publish(config: &EndConfig) -> Result<Vec<Row>> {
    let rows = Rows::default();
    let options = &config.system.options;
    let url = format!("udp://{}?latency={}&{options}", config.address, BUDGET.as_millis());
    let url: ListenUrl = url.parse()?;
    let source = Paced {
        frames: config.frames,
        next: 0,
        start: None,
        asked: false,
        rows: Arc::clone(&rows),
    };
    runtime()?.block_on(async {
        let metrics = Metrics::new(build_info());
        let identity = Arc::new(entropy::identity()?);
        let listener = Listener::bind(&url, &identity, Role::Publisher, metrics.clone())?;
        let admission = Admission::in_memory();
        let invite = admission.invite(Terms::hours(1, 24))?;
        let mut ticket = url.ticket(&Advertised::default(), listener.local_address()?, identity.peer_id());
        ticket.invite = Some(invite);
        tell(&format!("{TICKET}{}", ticket.reveal()));
        let observing = Observation::start("publish", ObserveOptions::default(), metrics.clone()).await?;
        let options = PublishOptions {
            cameras: only_camera(
                "camera",
                CameraOptions {
                    media: CameraMedia::Frames {
                        source: Ok(Box::new(source)),
                        reopen: None,
                        packets: Err("frames alone are measured"),
                    },
                    rate: RateConfig::default(),
                    sound: false,
                    settings: RuntimeSettings::new(Selection::All),
                    group: None,
                    relays: Vec::new(),
                    among_others: false,
                    shown: None,
                },
            ),
            packets_alone: None,
            offer: offer(identity),
            admission: Arc::new(admission),
            max_viewers: 1,
            queue: QueueLimits::default(),
            viewers: Viewers::Listen {
                listeners: vec![listener],
                delivery: url.options.delivery(Mtu::default()),
                stream_budget: url.options.stream_latency,
            },
            control: None,
            renewals: mpsc::channel(1).1,
            ways: None,
            data: DataOptions::default(),
        };
        let (_never, stop) = watch::channel(false);
        let published = sealcast::run::publish(options, observing.observation(), stop).await;
        leave_metrics(&config.metrics, &metrics);
        observing.finish(published)
    })?;
    Ok(lock(&rows).clone())
}

pub(super) fn watch(config: &EndConfig) -> Result<Vec<Row>> {
    let ticket: Ticket = hear()?.parse().map_err(|error| {
        let what = format!("what came on standard input is no ticket: {error}");
        Failure::new(FailureKind::Keys, what, "give the publisher's")
    })?;
    let rows = Rows::default();
    let sink = Noting {
        rows: Arc::clone(&rows),
    };
    let end = told();
    runtime()?.block_on(async {
        let metrics = Metrics::new(build_info());
        let observing = Observation::start("watch", ObserveOptions::default(), metrics.clone()).await?;
        let options = WatchOptions {
            publisher: PublisherAt::Connect(ticket),
            offer: offer(Arc::new(entropy::identity()?)),
            sink: Box::new(sink),
            budget: BUDGET,
            stream_budget: None,
            queue: QueueLimits::default(),
            sound: false,
            reconnect: false,
            without_session: false,
            seen: SeenGroups::nowhere(),
            relays: Vec::new(),
            data: Vec::new(),
        };
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(async move {
            while !end.load(std::sync::atomic::Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            // The session may have ended by itself.
            let _ = stop.send(true);
        });
        let watched = sealcast::run::watch(options, observing.observation(), stopped).await;
        leave_metrics(&config.metrics, &metrics);
        observing.finish(watched)
    })?;
    Ok(lock(&rows).clone())
}

/// Frames with the clip's sizes and times. A requested keyframe is the next frame, as from an encoder.
struct Paced {
    frames: u32,
    next: u32,
    start: Option<Instant>,
    asked: bool,
    rows: Rows,
}

impl Source for Paced {
    fn info(&self) -> StreamInfo {
        StreamInfo {
            codec: Codec::H264,
            width: 1280,
            height: 720,
            rate: FrameRate {
                numerator: RATE,
                denominator: 1,
            },
            parameters: Vec::new(),
        }
    }

    fn next(&mut self) -> Result<Option<Frame>> {
        let number = self.next;
        if number >= self.frames {
            return Ok(None);
        }
        self.next += 1;
        load::sleep_until_due(*self.start.get_or_insert_with(Instant::now), number);
        let keyframe = number.is_multiple_of(GROUP) || std::mem::take(&mut self.asked);
        let mut data = vec![0; load::size(number, keyframe)];
        let captured = Instant::now();
        let stamp = Stamp {
            number,
            keyframe,
            sent: load::now(),
        };
        data[..STAMP_LEN].copy_from_slice(&stamp.to_bytes());
        lock(&self.rows).push(row(stamp, data.len(), 0));
        Ok(Some(Frame {
            track: Track::Picture,
            number: number.into(),
            keyframe,
            media_time: Duration::from_secs(1) * number / RATE,
            began: captured,
            stamp: StampKind::Arrival,
            captured,
            encoded: captured,
            data: data.into(),
        }))
    }

    fn request_keyframe(&mut self) {
        self.asked = true;
    }

    fn makes_keyframes(&self) -> bool {
        true
    }

    fn waits_for_viewers(&self) -> bool {
        true
    }
}

/// Records the arrival of frames.
struct Noting {
    rows: Rows,
}

impl Sink for Noting {
    fn start(&mut self, _: &StreamInfo) -> Result<()> {
        Ok(())
    }

    fn write(&mut self, frame: &ReceivedFrame) -> Result<()> {
        let received = load::now();
        let stamp = Stamp::parse(&frame.data).ok_or_else(|| {
            Failure::new(
                FailureKind::Internal,
                "a frame came without its stamp",
                "please report this",
            )
        })?;
        lock(&self.rows).push(row(stamp, frame.data.len(), received));
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

fn lock(rows: &Rows) -> MutexGuard<'_, Vec<Row>> {
    rows.lock().unwrap_or_else(PoisonError::into_inner)
}

fn leave_metrics(path: &Path, metrics: &Metrics) {
    // Metrics help to understand a run, but the figures do not need them.
    if let Err(error) = std::fs::write(path, metrics.encode()) {
        eprintln!("{} cannot be written ({error})", path.display());
    }
}

/// The settings of an end that the program has by default, without groups.
pub(crate) fn offer(identity: Arc<Identity>) -> Offer {
    let mechanisms = mechanism::DEFAULT.iter().filter_map(|name| mechanism::by_name(name));
    Offer {
        identity,
        suites: RECOMMENDED.to_vec(),
        mechanisms: mechanisms.collect(),
        rekey: RekeyPolicy::default(),
        unit: Unit::Frame,
        selection_seed: 0,
        shape: Shape::Off,
        known: KnownPeers::nowhere(),
        group: None,
        wish: Wish::default(),
        attended: false,
    }
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    runtime.map_err(|error| {
        let what = format!("the system gives no threads ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })
}
