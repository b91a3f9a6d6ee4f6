//! The probe: receives as a viewer does, and measures the latency of what it sees.
//!
//! ```text
//! session or source ─► decode ─► examine ─► join and log
//!                                 event client ─┘
//! ```
//!
//! Each arrow is a bounded queue that loses nothing (the module `stages`). To compare two ways to the same camera, each
//! has the first stages, and the last one is another (the module `beside`).

mod beside;
mod join;
mod readings;
mod rows;
mod spectrum;
mod stages;

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use sealcast_proto::events::{EventCounts, EventTicket};
use tokio::sync::{oneshot, watch};

pub use self::beside::{Beside, BesideOptions, Control, Outcome, PairBy, Way};
use self::join::{Join, ProbeLogs, Results};
use self::stages::{DecodedPicture, Finding, FrameCounts, Passing, PassingCounts, ProbeSink, examine, passing};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::{ReceivedFrame, Track};
use crate::run::clock::Clock;
use crate::run::events::{Registered, register};
use crate::run::session::retry::turned_on;
use crate::sink::Sink;
use crate::source::{Source, contain};

/// Maximum of findings and reports that wait for the last stage.
const MAX_FINDINGS: usize = 256;

/// The settings of a probe's stages.
pub struct ProbeOptions {
    /// The event server's ticket.
    pub events: Option<EventTicket>,
    /// Folder for the logs.
    pub log_dir: Option<PathBuf>,
    /// Program file of the decoder, if not this program: for tests, which are other programs.
    pub program: Option<PathBuf>,
}

/// The running stages of a probe.
pub struct Probe {
    pictures: Passing<Option<DecodedPicture>>,
    frames: Arc<FrameCounts>,
    found: Arc<PassingCounts>,
    examining: JoinHandle<()>,
    joining: JoinHandle<Result<Results>>,
    registered: Option<Registered>,
}

fn spawn<T: Send + 'static>(name: &str, body: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(body);
    thread.map_err(|error| {
        let what = format!("the system gives no thread to {name} ({error})");
        Failure::new(FailureKind::Internal, what, "raise the limit on threads")
    })
}

impl Probe {
    /// Register at the event server, if there is one, and start the stages. Returns them with the sink that takes the
    /// frames. `clock` is that of the sessions which bring them.
    ///
    /// # Errors
    /// The event server does not answer (kind `Network`), or the logs cannot be written (kind `Sink`).
    pub fn start(options: ProbeOptions, clock: Clock) -> Result<(Self, Box<dyn Sink>)> {
        let logs = options.log_dir.as_deref().map(ProbeLogs::create).transpose()?;
        let (pictures, decoded) = stages::picture_queue();
        let (found, findings) = passing(MAX_FINDINGS);
        let feed = found.clone();
        let registered = options.events.map(|ticket| {
            let feed = move |report| feed.pass(Finding::Event(report));
            register(&ticket, clock, feed)
        });
        let registered = registered.transpose()?;
        let server = registered.as_ref().map(Registered::clock);
        let join = Join::new(clock, server, logs);
        let joining = spawn("join events", move || join.run(&findings))?;
        let counts = found.counts();
        let examining = spawn("examine pictures", move || {
            examine(&decoded, false, |examined| found.pass(Finding::Examined(examined)));
            // The last stage ends first only after a failure, which it reports.
            found.pass(Finding::End);
        })?;
        let sink = ProbeSink::new(pictures.clone(), options.program);
        let probe = Self {
            pictures,
            frames: sink.counts(),
            found: counts,
            examining,
            joining,
            registered,
        };
        Ok((probe, Box::new(sink)))
    }

    /// Let the stages finish what waits, and return the table of what they found.
    ///
    /// # Errors
    /// A log could not be written: kind `Sink`.
    pub fn finish(self) -> Result<String> {
        if let Some(registered) = &self.registered {
            registered.catch_up();
        }
        let counts = self.pictures.counts();
        let passed = counts.passed();
        // Both ends of a queue end only together, or after a failure that is reported below.
        let _ = self.pictures.pass(None);
        let panicked = |_| {
            Failure::new(
                FailureKind::Internal,
                "a stage of the probe panicked",
                "please report this",
            )
        };
        self.examining.join().map_err(panicked)?;
        let results = self.joining.join().map_err(panicked)??;
        let events = self.registered.map(Registered::stop);
        Ok(summary(&results, &self.frames, (&counts, passed), &self.found, events))
    }
}

fn summary(
    results: &Results,
    frames: &FrameCounts,
    (pictures, passed): (&PassingCounts, u64),
    found: &PassingCounts,
    events: Option<EventCounts>,
) -> String {
    let mut text = readings::table(&[
        ("events, by colour", &results.events_by_colour),
        ("events, by clock", &results.events_by_clock),
        ("frames, by clock", &results.frames_by_clock),
        ("frames, by capture stamp", &results.frames_by_capture),
    ]);
    let joined = results.counts;
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\nframes: {} came, {passed} decoded, {} examined, {} with a clock; {} could not be decoded, {} had no picture",
        frames.frames.load(Ordering::Relaxed),
        joined.examined,
        joined.strips,
        frames.undecoded.load(Ordering::Relaxed),
        frames.without.load(Ordering::Relaxed),
    );
    let _ = writeln!(
        text,
        "queues: {} pictures lost, {} times full before examining, {} times full before joining",
        passed - joined.examined.min(passed),
        pictures.waited(),
        found.waited(),
    );
    if let Some(events) = events {
        let _ = writeln!(
            text,
            "event server: {} reports, {} lost; {} of {} asks answered, {} datagrams refused; {} events seen that it \
             did not report, {} given up",
            joined.reports,
            events.lost,
            events.answered,
            events.asked,
            events.refused,
            joined.unexplained,
            joined.given_up,
        );
    }
    text
}

/// Feed a probe's sink from a source until it ends or `stop` turns true.
///
/// # Errors
/// The source fails (kind `Source`), or the sink does.
pub async fn feed(source: Box<dyn Source>, sink: Box<dyn Sink>, mut stop: watch::Receiver<bool>) -> Result<()> {
    let stopping = Arc::new(AtomicBool::new(false));
    let (ended, end) = oneshot::channel();
    let theirs = Arc::clone(&stopping);
    // A source may block for as long as it likes: when the user stops the probe, nobody waits for it.
    spawn("probe's source", move || {
        let fed = pump(source, sink, &theirs);
        // Nobody listens any more after a stop.
        let _ = ended.send(fed);
    })?;
    tokio::select! {
        fed = end => fed.unwrap_or_else(|_| {
            Err(Failure::new(FailureKind::Internal, "the source's thread panicked", "please report this"))
        }),
        _ = turned_on(&mut stop) => {
            stopping.store(true, Ordering::Relaxed);
            Ok(())
        }
    }
}

fn pump(mut source: Box<dyn Source>, mut sink: Box<dyn Sink>, stopping: &AtomicBool) -> Result<()> {
    let mut info = source.info();
    sink.start(&info)?;
    let mut number = 0;
    while !stopping.load(Ordering::Relaxed) {
        let Some(frame) = contain(|| source.next())? else { break };
        if frame.track == Track::Sound {
            continue;
        }
        let current = source.info();
        if current != info {
            sink.start(&current)?;
            info = current;
        }
        sink.write(&ReceivedFrame {
            number,
            keyframe: frame.keyframe,
            media_time: frame.media_time,
            opened: Instant::now(),
            data: frame.data,
        })?;
        number += 1;
        if sink.wants_keyframe() {
            source.request_keyframe();
        }
    }
    sink.finish()
}
