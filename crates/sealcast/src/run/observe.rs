//! Observations of every long-running command: metrics, logs, resources and the report.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::session::{Facts, SealedRecords};
use sealcast_proto::unit::{PREAMBLE_LEN, Selection};

use super::Clock;
use super::connection::{HandshakeCost, overhead};
use crate::failure::Result;
use crate::keys::mechanism;
use crate::meter::labels::{Direction, HandshakeOutcome, RecordKind};
use crate::meter::logs::{HandshakeRow, LogDir, LogHandle, Phase, SteadyRow};
use crate::meter::metrics::{BuildInfo, Metrics};
use crate::meter::paired::PairedSummary;
use crate::meter::power::MeterSpec;
use crate::meter::report::{ClockReport, Report};
use crate::meter::resources::{ResourceSample, ResourceSampler, SAMPLE_PERIOD, UNASKED_PERIOD};
use crate::meter::serve::{MetricsServer, Reach};
use crate::meter::stage::Stage;
use crate::platform::kernel_clock::KernelClock;

/// Observations requested by the user.
#[derive(Clone, Debug, Default)]
pub struct ObserveOptions {
    /// File for the JSON summary at the end.
    pub report: Option<PathBuf>,
    /// Folder for CSV logs.
    pub log_dir: Option<PathBuf>,
    /// Address to serve metrics at.
    pub metrics: Option<SocketAddr>,
    /// The energy meter.
    pub meter: MeterSpec,
}

impl ObserveOptions {
    /// True if any output of the observations is requested.
    fn asks(&self) -> bool {
        self.report.is_some() || self.log_dir.is_some() || self.metrics.is_some()
    }
}

/// All observations of one run, shared by its tasks.
pub struct Observation {
    /// Counters and stage times.
    pub metrics: Metrics,
    /// The program's clocks.
    pub clock: Clock,
    logs: Option<LogHandle>,
    report: Mutex<Report>,
    phase: AtomicU8,
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
        let observation = Arc::new(Self {
            metrics: metrics.clone(),
            clock: Clock::default(),
            logs: log_dir.as_ref().map(LogDir::handle),
            report: Mutex::new(Report::new(command, build_info(), Timestamp::now())),
            phase: AtomicU8::new(Phase::Idle as u8),
        });
        if let Some(address) = options.metrics {
            let server = MetricsServer::bind(address, Reach::Loopback, metrics).await?;
            tracing::info!(address = %format!("http://{}/metrics", server.address()), "metrics");
            tokio::spawn(server.serve(std::future::pending()));
        }
        observation.setting("meter", &energy.words);
        observation.ask_kernel_clock(&options, 0);
        let asked = options.asks() || energy.meter.is_some();
        let period = if asked { SAMPLE_PERIOD } else { UNASKED_PERIOD };
        let sampler = ResourceSampler::start(energy.meter, period, steady_logger(Arc::clone(&observation)))?;
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
        change(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Set the phase of the stream, for the logs.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Phase of the stream.
    pub fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        let known = [Phase::Handshake, Phase::Steady, Phase::Idle];
        known
            .into_iter()
            .find(|known| *known as u8 == phase)
            .unwrap_or(Phase::Idle)
    }

    /// Put a setting into the report.
    pub fn setting(&self, name: &str, value: &str) {
        self.report(|report| report.setting(name, value));
    }

    /// Record the publisher's selection of the parts to encrypt, at the start and after each change.
    pub fn selection(&self, selection: Selection) {
        let selection = selection.to_string();
        self.metrics.set_selection(&selection);
        self.setting("encrypt", &selection);
    }

    /// Record the end of a handshake.
    pub fn handshake(&self, row: HandshakeRow) {
        self.metrics.record_handshake(row.outcome);
        if let Some(logs) = &self.logs {
            logs.handshake(row.clone());
        }
        self.report(|report| report.handshake(row));
    }

    /// Log an established session and record its handshake.
    pub(super) fn established(
        &self,
        what: &'static str,
        timer: &HandshakeTimer,
        facts: &Facts,
        cost: HandshakeCost,
        remote: &str,
    ) {
        let agreed = Some((facts.mechanism, facts.suite.name));
        let row = timer.row(HandshakeOutcome::Established, facts.peer.id.to_string(), agreed, cost);
        tracing::info!(
            peer = %facts.peer.id.short(),
            at = remote,
            mechanism = facts.mechanism,
            suite = facts.suite.name,
            ms = format!("{:.2}", row.duration_ms),
            "{what}"
        );
        self.handshake(row);
        self.set_phase(Phase::Steady);
    }

    /// Record a stage that starts at a time stamp of the peer and ends here at `end`. Returns its duration in ns, if
    /// the peer's clock is known.
    pub(super) fn since(&self, stage: Stage, stamp: u64, end: Instant, clock: Option<ClockEstimate>) -> Option<i64> {
        let end = self.clock.wall(end);
        let clock = clock?.at(end);
        let theirs = i128::from(end) + i128::from(clock.offset);
        let difference = i64::try_from(theirs - i128::from(stamp)).unwrap_or(i64::MAX);
        let stages = self.metrics.stages();
        stages.record_between_clocks(stage, difference, clock.uncertainty);
        Some(difference)
    }

    /// Record a sealed frame and the time taken to seal it.
    pub(super) fn frame_sealed(&self, made: SealedRecords, wire_bytes: u64, took: Duration) {
        let metrics = &self.metrics;
        metrics.record_stage(Stage::Seal, took);
        let overhead = overhead(PREAMBLE_LEN as u64);
        metrics.records_sealed(RecordKind::Media, made.records, wire_bytes, overhead);
        metrics.records_in_clear(Direction::Out, made.in_clear);
        metrics.record_frame(Direction::Out);
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
        if let Some(before) = before.filter(|before| estimate.steps() > before.steps) {
            let by_ms = reading.offset.saturating_sub(before.offset_ns) as f64 / 1e6;
            tracing::warn!(
                by_ms = format!("{by_ms:.3}"),
                "one of the two clocks has stepped, or the path has changed: its offset is estimated anew"
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
        self.logs.as_ref()
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
        let resources = self.sampler.summary();
        drop(self.sampler);
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
            report.end = Timestamp::now();
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

/// Returns a function that logs the running stream; the sampler calls it ten times a second.
fn steady_logger(observation: Arc<Observation>) -> impl FnMut(&ResourceSample) + Send + 'static {
    let mut before = (Instant::now(), 0_u64, 0_u64);
    let mut joules_before = 0.0;
    move |sample| {
        observation.metrics.set_resources(sample);
        let phase = observation.phase();
        if let Some(joules) = sample.joules {
            let used = joules - std::mem::replace(&mut joules_before, joules);
            observation.report(|report| report.energy(phase, used));
        }
        let Some(logs) = &observation.logs else { return };
        let totals = observation.metrics.totals();
        let (frames, bytes) = (totals.frames_out + totals.frames_in, totals.bytes_out + totals.bytes_in);
        let now = Instant::now();
        let seconds = now.duration_since(before.0).as_secs_f64().max(1e-3);
        logs.steady(SteadyRow {
            time: Timestamp::now(),
            phase,
            cpu_percent: sample.cpu_percent,
            rss_bytes: sample.rss_bytes,
            temperature_celsius: sample.temperature_celsius(),
            frames,
            fps: (frames - before.1) as f64 / seconds,
            bytes,
            mbit_s: (bytes - before.2) as f64 * 8e-6 / seconds,
            records_sealed: totals.records_sealed,
            records_opened: totals.records_opened,
            open_failures: totals.all_open_failures(),
            dropped: totals.all_frames_dropped(),
            power_watts: sample.power_watts,
            energy_joules: sample.joules,
        });
        before = (now, frames, bytes);
    }
}

/// Times a handshake for the log.
pub(super) struct HandshakeTimer {
    start: Timestamp,
    began: Instant,
    keygen: Option<Duration>,
    role: &'static str,
}

impl HandshakeTimer {
    pub(super) fn begin(role: &'static str, keygen: Option<Duration>) -> Self {
        Self {
            start: Timestamp::now(),
            began: Instant::now(),
            keygen,
            role,
        }
    }

    pub(super) fn row(
        &self,
        outcome: HandshakeOutcome,
        peer: String,
        agreed: Option<(&str, &str)>,
        cost: HandshakeCost,
    ) -> HandshakeRow {
        let (mechanism, suite) = agreed.unwrap_or_default();
        HandshakeRow {
            start: self.start,
            end: Timestamp::now(),
            phase: Phase::Handshake,
            duration_ms: self.began.elapsed().as_secs_f64() * 1e3,
            mechanism: mechanism.to_owned(),
            suite: suite.to_owned(),
            role: self.role.to_owned(),
            peer,
            bytes_sent: cost.sent,
            bytes_received: cost.received,
            keygen_ms: self.keygen.map(|keygen| keygen.as_secs_f64() * 1e3),
            cpu_ms: Some(cost.cpu.as_secs_f64() * 1e3),
            outcome,
        }
    }
}
