//! Observations of every long-running command: metrics, logs, resources and the report.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::session::{Facts, SealedRecords};
use sealcast_proto::unit::{PREAMBLE_LEN, Selection};

use super::exchange::{Exchange, HandshakeTimer, Metering, Reading};
use super::phases::Phases;
use super::record_counts::overhead;
use crate::failure::{Failure, Result};
use crate::keys::mechanism;
use crate::meter::build_info::BuildInfo;
use crate::meter::labels::{Direction, HandshakeOutcome, RecordKind};
use crate::meter::logs::{HandshakeRow, LogDir, LogHandle, Phase, SteadyRow};
use crate::meter::metrics::Metrics;
use crate::meter::paired::PairedSummary;
use crate::meter::power::MeterSpec;
use crate::meter::report::{ClockReport, Report};
use crate::meter::resources::{ResourceSample, ResourceSampler, SAMPLE_PERIOD, SampleRequests, UNASKED_PERIOD};
use crate::meter::serve::MetricsServer;
use crate::meter::stage::Stage;
use crate::meter::url::MetricsUrl;
use crate::platform::kernel_clock::KernelClock;
use crate::platform::wall_time::wall_time;
use crate::run::clock::Clock;

/// Interval of the figures in the log, for who wants to see more of it.
const FIGURES: Duration = Duration::from_secs(10);

/// A step of a clock is logged from this many ns on; a machine that stands still can look like a smaller one.
const STEP_TOLD: u64 = 1_000_000;

/// Observations requested by the user.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    /// File for the JSON summary at the end.
    pub report: Option<PathBuf>,
    /// Folder for CSV logs.
    pub log_dir: Option<PathBuf>,
    /// Address at which metrics are served.
    pub metrics: Option<MetricsUrl>,
    /// The energy meter.
    pub meter: MeterSpec,
}

impl ObserveOptions {
    /// True if any output of the observations is requested.
    fn asks(&self) -> bool {
        self.report.is_some() || self.log_dir.is_some() || self.metrics.is_some()
    }
}

/// All observations of one run, shared by its tasks, with the counters of the whole program or of one of its cameras.
pub struct Observation {
    /// Counters and stage times.
    pub metrics: Metrics,
    /// The program's clocks.
    pub clock: Clock,
    /// The camera's name, if this is the observation of one.
    camera: Option<String>,
    /// Reason why a viewer has not reached its publisher once.
    unreached: Arc<Mutex<Option<Failure>>>,
    shared: Arc<Shared>,
}

/// The observations that there are once in a program.
struct Shared {
    /// The sessions, from which the phase follows.
    phases: Phases,
    logs: Option<LogHandle>,
    report: Mutex<Report>,
    sampled: Mutex<Sampled>,
    /// When the log had figures last, and the frames and bytes until then.
    told: Mutex<(Instant, u64, u64)>,
    /// Requests for samples beside the periodic ones, if the user asked for anything that shows them.
    requests: OnceLock<SampleRequests>,
    /// The meter's [step](crate::meter::power::About::step), if there is a meter.
    meter_step: Option<Duration>,
}

/// The totals of the last sample that was logged, and the phase since the last sample.
struct Sampled {
    at: Instant,
    frames: u64,
    bytes: u64,
    joules: f64,
    phase: Phase,
    /// True if a sample at a change of the phase was not taken.
    missed: bool,
}

/// Owns the parts that must be shut down: the sampler and the log thread.
pub struct Observing {
    observation: Arc<Observation>,
    options: ObserveOptions,
    log_dir: Option<LogDir>,
    sampler: ResourceSampler,
}

/// The build, for metrics and reports.
pub fn build_info() -> BuildInfo {
    BuildInfo {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        suites: sealcast_proto::seal::suite::RECOMMENDED
            .iter()
            .map(|suite| suite.name.to_owned())
            .collect(),
        mechanisms: mechanism::names().map(str::to_owned).collect(),
    }
}

impl Observation {
    /// The observation of one camera: only its counters, and its settings in the report, are its own.
    pub fn of_camera(&self, name: &str) -> Arc<Self> {
        Arc::new(Self {
            metrics: self.metrics.of_camera(name),
            clock: self.clock,
            camera: Some(name.to_owned()),
            unreached: Arc::clone(&self.unreached),
            shared: Arc::clone(&self.shared),
        })
    }

    /// The observation of one of several ways that are watched at once: as of a camera of that name, and whether it
    /// reached its publisher is its own.
    pub fn of_way(&self, name: &str) -> Arc<Self> {
        Arc::new(Self {
            metrics: self.metrics.of_camera(name),
            clock: self.clock,
            camera: Some(name.to_owned()),
            unreached: Arc::default(),
            shared: Arc::clone(&self.shared),
        })
    }

    /// The sessions, from which the phase follows.
    pub(crate) fn phases(&self) -> &Phases {
        &self.shared.phases
    }

    /// A viewer has not reached its publisher.
    pub(crate) fn unreached(&self, failure: Failure) {
        *self.unreached.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }

    /// A viewer reached its publisher.
    pub(crate) fn reached(&self) {
        self.take_unreached();
    }

    /// Reason why a viewer has not reached its publisher once, if it has not.
    pub fn take_unreached(&self) -> Option<Failure> {
        let mut unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
        unreached.take()
    }

    /// Start observing `command`, whose counters are in `metrics`.
    ///
    /// # Errors
    /// The report or the log directory cannot be written, the metrics address cannot be bound, or the meter is
    /// missing.
    pub async fn start(command: &str, options: ObserveOptions, metrics: Metrics) -> Result<Observing> {
        options.report.as_deref().map_or(Ok(()), Report::check_place)?;
        let mut energy = options.meter.open()?;
        if let Some(meter) = &mut energy.meter {
            meter.begin(command)?;
        }
        let log_dir = options.log_dir.as_deref().map(LogDir::create).transpose()?;
        let shared = Shared {
            logs: log_dir.as_ref().map(LogDir::handle),
            report: Mutex::new(Report::new(command, build_info(), wall_time())),
            phases: Phases::default(),
            sampled: Mutex::new(Sampled {
                at: Instant::now(),
                frames: 0,
                bytes: 0,
                joules: 0.0,
                phase: Phase::Idle,
                missed: false,
            }),
            told: Mutex::new((Instant::now(), 0, 0)),
            requests: OnceLock::new(),
            meter_step: energy.meter.as_ref().map(|meter| meter.about().step),
        };
        let observation = Arc::new(Self {
            metrics: metrics.clone(),
            clock: Clock::default(),
            camera: None,
            unreached: Arc::default(),
            shared: Arc::new(shared),
        });
        if let Some(url) = &options.metrics {
            let server = MetricsServer::bind(url, metrics).await?;
            tracing::info!(address = server.url(), "metrics");
            tokio::spawn(server.serve(std::future::pending()));
        }
        observation.setting("meter", &energy.words);
        observation.ask_kernel_clock(&options, 0);
        let asked = options.asks() || energy.meter.is_some();
        let period = if asked { SAMPLE_PERIOD } else { UNASKED_PERIOD };
        let logging = Arc::clone(&observation);
        let sampler = ResourceSampler::start(energy.meter, period, move |sample| logging.log_sample(sample, None))?;
        if asked {
            observation.shared.requests.get_or_init(|| sampler.requests());
        }
        Ok(Observing {
            observation,
            options,
            log_dir,
            sampler,
        })
    }

    /// Put what the kernel says of its clock into the report and the log, if either was asked for.
    fn ask_kernel_clock(&self, options: &ObserveOptions, at: usize) {
        if options.report.is_none() && options.log_dir.is_none() {
            return;
        }
        let clock = KernelClock::read();
        match &clock {
            Ok(clock) => tracing::info!(
                synchronised = clock.synchronised,
                offset_us = clock.offset_us,
                maximum_error_us = clock.maximum_error_us,
                rate_ppm = format!("{:.3}", clock.rate_ppm),
                "the kernel says of this machine's clock"
            ),
            Err(why) => tracing::info!(why, "what the kernel says of this machine's clock is not known"),
        }
        self.report(|report| report.kernel_clock[at] = clock.ok());
    }

    fn report<R>(&self, change: impl FnOnce(&mut Report) -> R) -> R {
        change(&mut self.shared.report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Phase of the stream.
    pub fn phase(&self) -> Phase {
        self.phases().phase()
    }

    /// Take a sample, since the stream enters another phase: what was used so far belongs to the phase before.
    pub(crate) fn phase_entered(self: &Arc<Self>, phase: Phase) {
        let observation = Arc::clone(self);
        self.ask(move |taken| match taken {
            Some((_, sample)) => observation.log_sample(sample, Some(phase)),
            None => observation.sampled().missed = true,
        });
    }

    /// Read the energy meter, if there is one, as soon as the sampler's thread runs; the reading comes then.
    pub(crate) fn read_meter(self: &Arc<Self>) -> Option<Arc<OnceLock<Reading>>> {
        self.shared.meter_step?;
        let reading = Arc::new(OnceLock::new());
        let (observation, place) = (Arc::clone(self), Arc::clone(&reading));
        self.ask(move |taken| {
            let Some((at, sample)) = taken else { return };
            observation.count_energy(sample);
            if let Some(reading) = Reading::of(at, sample) {
                place.get_or_init(|| reading);
            }
        });
        Some(reading)
    }

    /// Call `then` with a sample taken for it; with `None` if there is no sampler, or it has too much to do.
    fn ask(&self, then: impl FnOnce(Option<(Instant, &ResourceSample)>) + Send + 'static) {
        match self.shared.requests.get() {
            Some(requests) => requests.ask(then),
            None => then(None),
        }
    }

    fn sampled(&self) -> MutexGuard<'_, Sampled> {
        self.shared.sampled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Count the energy since the last sample to the phase since then.
    fn count_energy(&self, sample: &ResourceSample) {
        let Some(joules) = sample.joules else { return };
        let mut last = self.sampled();
        let used = joules - std::mem::replace(&mut last.joules, joules);
        self.report(|report| report.energy(last.phase, used));
    }

    /// Log the running stream at a sample. It enters the phase `next` now, if there is one: other samples keep to the
    /// changes that were told, which may wait behind them.
    fn log_sample(&self, sample: &ResourceSample, next: Option<Phase>) {
        let now_in = self.phase();
        self.metrics.set_resources(sample);
        self.count_energy(sample);
        let totals = self.metrics.totals();
        let (frames, bytes) = (totals.frames_out + totals.frames_in, totals.bytes_out + totals.bytes_in);
        let now = Instant::now();
        self.tell_figures(now, (frames, bytes), sample);
        let mut sampled = self.sampled();
        let next = Sampled {
            at: now,
            frames,
            bytes,
            joules: sampled.joules,
            phase: next.unwrap_or(if sampled.missed { now_in } else { sampled.phase }),
            missed: sampled.missed && next.is_some(),
        };
        let last = std::mem::replace(&mut *sampled, next);
        let Some(logs) = &self.shared.logs else { return };
        let seconds = now.duration_since(last.at).as_secs_f64().max(1e-6);
        logs.steady(SteadyRow {
            time: wall_time(),
            phase: last.phase,
            cpu_percent: sample.cpu_percent,
            rss_bytes: sample.rss_bytes,
            temperature_celsius: sample.temperature_celsius(),
            frames,
            fps: (frames - last.frames) as f64 / seconds,
            bytes,
            mbit_s: (bytes - last.bytes) as f64 * 8e-6 / seconds,
            records_sealed: totals.records_sealed,
            records_opened: totals.records_opened,
            open_failures: totals.all_open_failures(),
            dropped: totals.all_frames_dropped(),
            power_watts: sample.power_watts,
            energy_joules: sample.joules,
        });
    }

    /// Puts the figures of the last seconds into the log, for who wants to see more of it.
    fn tell_figures(&self, now: Instant, (frames, bytes): (u64, u64), sample: &ResourceSample) {
        let mut told = self.shared.told.lock().unwrap_or_else(PoisonError::into_inner);
        let passed = now.duration_since(told.0);
        if passed < FIGURES {
            return;
        }
        let (_, frames_before, bytes_before) = std::mem::replace(&mut *told, (now, frames, bytes));
        let each_second = |count: u64, before: u64| count.saturating_sub(before) as f64 / passed.as_secs_f64();
        tracing::debug!(
            frames_s = format!("{:.1}", each_second(frames, frames_before)),
            mbit_s = format!("{:.2}", each_second(bytes, bytes_before) * 8e-6),
            cpu_percent = sample.cpu_percent.map(|percent| format!("{percent:.1}")),
            rss_mb = sample.rss_bytes.map(|bytes| bytes / 1_000_000),
            "figures"
        );
    }

    /// Put a setting into the report.
    pub fn setting(&self, name: &str, value: &str) {
        self.report(|report| report.setting(name, value));
    }

    /// Record the publisher's selection of the parts to encrypt, at the start and after each change.
    pub fn selection(&self, selection: Selection) {
        let selection = selection.to_string();
        self.metrics.set_selection(&selection);
        match &self.camera {
            Some(name) => self.setting(&format!("encrypt of {name}"), &selection),
            None => self.setting("encrypt", &selection),
        }
    }

    /// Record the end of a handshake. With a meter, the row is kept once its energy is known.
    pub(crate) fn handshake(self: &Arc<Self>, mut row: HandshakeRow, exchange: &Exchange) {
        self.metrics.record_handshake(row.outcome);
        let Some(metering) = Metering::new(exchange, self.shared.meter_step) else {
            return self.keep_handshake(row);
        };
        let observation = Arc::clone(self);
        self.ask(move |taken| {
            if let Some((at, sample)) = taken {
                observation.count_energy(sample);
                row.energy_joules = metering.joules(at, sample);
            }
            observation.keep_handshake(row);
        });
    }

    fn keep_handshake(&self, row: HandshakeRow) {
        if let Some(logs) = &self.shared.logs {
            logs.handshake(row.clone());
        }
        self.report(|report| report.handshake(row));
    }

    /// Log an established session and record its handshake.
    pub(crate) fn established(
        self: &Arc<Self>,
        (what, camera): (&'static str, Option<&str>),
        timer: &HandshakeTimer,
        facts: &Facts,
        exchange: &Exchange,
        remote: &str,
    ) {
        let agreed = Some((facts.mechanism, facts.suite.name));
        let peer = facts.peer.id.to_string();
        let row = timer.row(self, HandshakeOutcome::Established, peer, agreed, exchange);
        tracing::info!(
            peer = %facts.peer.id.short(),
            camera,
            at = remote,
            mechanism = facts.mechanism,
            suite = facts.suite.name,
            ms = format!("{:.2}", row.duration_ms.unwrap_or_default()),
            fingerprint = crate::keys::words::words_of(&facts.peer.id),
            "{what}"
        );
        self.handshake(row, exchange);
    }

    /// Record a stage that starts at a time stamp of the peer and ends here at `end`. Returns its duration in ns, if
    /// the peer's clock is known.
    pub(crate) fn since(&self, stage: Stage, stamp: u64, end: Instant, clock: Option<ClockEstimate>) -> Option<i64> {
        let end = self.clock.wall(end);
        let clock = clock?.at(end);
        let theirs = i128::from(end) + i128::from(clock.offset);
        let difference = i64::try_from(theirs - i128::from(stamp)).unwrap_or(i64::MAX);
        let stages = self.metrics.stages();
        stages.record_between_clocks(stage, difference, clock.uncertainty);
        Some(difference)
    }

    /// Record a sealed frame and the time taken to seal it.
    pub(crate) fn frame_sealed(&self, made: SealedRecords, wire_bytes: u64, took: Duration) {
        self.metrics.record_stage(Stage::Seal, took);
        self.media_sealed(made, wire_bytes);
        self.metrics.record_frame(Direction::Out);
    }

    /// Record a sealed packet of sound. The stages are those of pictures.
    pub(crate) fn sound_sealed(&self, made: SealedRecords, wire_bytes: u64) {
        self.media_sealed(made, wire_bytes);
        self.metrics.record_sound(Direction::Out);
    }

    fn media_sealed(&self, made: SealedRecords, wire_bytes: u64) {
        let overhead = overhead(PREAMBLE_LEN as u64);
        self.metrics
            .records_sealed(RecordKind::Media, made.records, wire_bytes, overhead);
        self.metrics.records_in_clear(Direction::Out, made.in_clear);
    }

    /// Record a new estimate of the peer's clock.
    pub fn clock_estimate(&self, estimate: &ClockEstimate) {
        let reading = estimate.at(self.clock.now().wall);
        let (rate_ppm, rate_uncertainty_ppm) = estimate.rate_ppm();
        self.metrics.set_clock(reading, rate_ppm);
        let before = self.report(|report| {
            let exchanges = report.clock.map_or(0, |clock| clock.exchanges) + 1;
            report.clock.replace(ClockReport {
                offset_ns: reading.offset,
                spread_ns: reading.spread,
                uncertainty_ns: reading.uncertainty,
                rate_ppm,
                rate_uncertainty_ppm,
                shortest_round_trip_ns: estimate.shortest_round_trip(),
                exchanges,
                steps: estimate.steps(),
            })
        });
        let stepped = before.filter(|before| estimate.steps() > before.steps);
        let by = stepped.map_or(0, |before| reading.offset.saturating_sub(before.offset_ns));
        if by.unsigned_abs() >= STEP_TOLD {
            tracing::info!(
                by_ms = format!("{:.3}", by as f64 / 1e6),
                "one of the two clocks has stepped, or the path has changed: their offset is estimated anew"
            );
        }
    }

    /// Put a comparison into the report.
    pub fn paired(&self, name: &str, summary: PairedSummary) {
        self.report(|report| report.paired.insert(name.to_owned(), summary));
    }

    /// The latest successful handshake.
    pub fn last_handshake(&self) -> Option<HandshakeRow> {
        self.report(|report| report.last_handshake().cloned())
    }

    /// Uncertainty of the peer's clock, ns.
    pub fn clock_uncertainty(&self) -> Option<u64> {
        self.report(|report| report.clock.map(|clock| clock.uncertainty_ns))
    }

    /// The CSV logs, if they are enabled.
    pub fn logs(&self) -> Option<&LogHandle> {
        self.shared.logs.as_ref()
    }
}

impl Observing {
    /// The part shared by the tasks.
    pub fn observation(&self) -> Arc<Observation> {
        Arc::clone(&self.observation)
    }

    /// The latest resource sample.
    pub fn resources(&self) -> ResourceSample {
        self.sampler.latest()
    }

    /// Finish: write the remaining logs and the report. `outcome` is the result of the run.
    ///
    /// # Errors
    /// The failure of the run, if it failed; otherwise a failure to write the report.
    pub fn finish(self, outcome: Result<()>) -> Result<()> {
        let resources = self.sampler.finish();
        self.observation.ask_kernel_clock(&self.options, 1);
        let logs = self.log_dir.map(LogDir::finish);
        let totals = self.observation.metrics.totals();
        if totals.all_open_failures() + totals.all_datagrams_refused() > 0 {
            tracing::info!(
                records = listed(&totals.open_failures),
                datagrams = listed(&totals.datagrams_refused),
                "what came and was refused"
            );
        }
        let written = self.observation.report(|report| {
            report.end = wall_time();
            report.resources = Some(resources);
            report.logs = logs;
            report.take_metrics(&self.observation.metrics);
            if let Err(failure) = &outcome {
                report.outcome = failure.to_string();
            }
            self.options.report.as_deref().map_or(Ok(()), |path| report.write(path))
        });
        outcome.and(written)
    }
}

/// The counts above 0 as text.
fn listed(counts: &BTreeMap<&'static str, u64>) -> String {
    let counted = counts.iter().filter(|&(_, &count)| count > 0);
    let words: Vec<String> = counted.map(|(name, count)| format!("{name} {count}")).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_camera_has_counters_and_settings_of_its_own_and_all_else_is_the_programs() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("report.json");
        let options = ObserveOptions {
            report: Some(path.clone()),
            ..ObserveOptions::default()
        };
        let started = Observation::start("publish", options, Metrics::new(build_info())).await;
        let observing = started.expect("the place is there");
        let whole = observing.observation();
        let cameras = ["front", "yard"].map(|name| whole.of_camera(name));
        whole.selection(Selection::All);
        cameras[1].selection(Selection::None);
        cameras[1].setting("source", "test:");
        cameras[0].frame_sealed(SealedRecords::default(), 100, Duration::from_millis(1));
        cameras[1].frame_sealed(SealedRecords::default(), 20, Duration::from_millis(3));
        cameras[0].unreached(Failure::new(crate::failure::FailureKind::Sink, "why", "how"));
        assert!(whole.take_unreached().is_some() && std::ptr::eq(whole.phases(), cameras[0].phases()));
        observing.finish(Ok(())).expect("the report is written");
        let text = std::fs::read_to_string(path).expect("the report");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for (pointer, value) in [
            ("/configuration/encrypt", "\"all\""),
            ("/configuration/encrypt of yard", "\"none\""),
            ("/configuration/source", "\"test:\""),
            ("/totals/frames_out", "2"),
            ("/totals/bytes_out", "120"),
            ("/stages/seal/count", "2"),
        ] {
            let seen = report.pointer(pointer).map(ToString::to_string);
            assert_eq!(seen.as_deref(), Some(value), "{pointer} in {text}");
        }
    }
}
