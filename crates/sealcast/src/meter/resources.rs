//! Resources used by this process: CPU time, memory, and the machine's temperature and energy if they can be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::power::{HWMON, Meter, NumberFile, Sample, Tally, Thermometers};
use crate::codec::decoders_cpu_time;
use crate::failure::{Failure, FailureKind, Result};

/// Sampling period if the values are logged, reported, exported or include energy: 10 Hz.
pub const SAMPLE_PERIOD: Duration = Duration::from_millis(100);
/// Sampling period if nobody requested logs, a report, metrics or energy: every sample costs the observed process CPU
/// time.
pub const UNASKED_PERIOD: Duration = Duration::from_secs(1);

/// Samples between two readings of the temperature sensors, which are slow to read and change slowly.
const SAMPLES_PER_TEMPERATURE: u32 = 10;

/// Maximum of requested samples that wait. Each handshake requests two or three.
const MAX_SAMPLE_REQUESTS: usize = 64;

/// Memory of this process in pages; the second number counts the resident ones.
const STATM: &str = "/proc/self/statm";
const RESIDENT: usize = 1;

/// Temperatures of the kernel that are used if hwmon has none.
const THERMAL: &str = "/sys/class/thermal";

/// Printed for a value that this machine cannot measure.
pub const NOT_MEASURABLE: &str = "not measurable here";

/// CPU time that all threads of this process and the processes of its decoders have used so far, user and system
/// together.
pub fn process_cpu_time() -> Duration {
    cpu_clock(ClockId::ProcessCPUTime) + decoders_cpu_time()
}

/// CPU time that the calling thread has used so far. The difference over work that stays on one thread is the cost of
/// the work, independent of the load on the CPU.
pub fn thread_cpu_time() -> Duration {
    cpu_clock(ClockId::ThreadCPUTime)
}

fn cpu_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}

/// Resources used by the process at one moment. `None` and absent entries mean that this machine cannot measure the
/// value, never 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ResourceSample {
    /// CPU seconds used since the process started, by all threads.
    pub cpu_seconds: f64,
    /// CPU use since the previous sample, in percent of one core: two busy cores make 200. `None` in the first
    /// sample.
    pub cpu_percent: Option<f64>,
    /// Resident memory in bytes.
    pub rss_bytes: Option<u64>,
    /// Temperature in °C by sensor.
    pub temperatures: BTreeMap<String, f64>,
    /// Current power in watts, of everything that the meter covers, not only this process.
    pub power_watts: Option<f64>,
    /// Energy in joules since the sampler started, of everything that the meter covers, not only this process.
    pub joules: Option<f64>,
    /// The same by channel of the meter. Channels that are parts of others are not included in the sum.
    pub energy_joules: BTreeMap<String, f64>,
}

impl ResourceSample {
    /// The hottest sensor in °C, if any can be read.
    pub fn temperature_celsius(&self) -> Option<f64> {
        self.temperatures.values().copied().reduce(f64::max)
    }
}

/// Formats a figure with its unit, or says that it is [not measurable here](NOT_MEASURABLE).
pub fn figure(value: Option<f64>, decimals: usize, unit: &str) -> String {
    value.map_or_else(
        || NOT_MEASURABLE.to_owned(),
        |value| format!("{value:.decimals$} {unit}"),
    )
}

/// A meter, and the totals of its samples.
struct Metered {
    meter: Box<dyn Meter>,
    tally: Tally,
    /// Kept to reuse the allocation, since it is filled ten times a second.
    samples: Vec<Sample>,
}

impl Metered {
    fn new(meter: Box<dyn Meter>) -> Self {
        Self {
            tally: Tally::new(&meter.about().channels),
            meter,
            samples: Vec::new(),
        }
    }

    fn read(&mut self, now: Duration) -> Result<()> {
        self.samples.clear();
        let done = self.meter.read(now, &mut self.samples);
        self.samples.iter().for_each(|sample| self.tally.add(sample));
        done
    }
}

/// Reads the resources used by the process, one sample at a time. All files are found and opened once: a sample may
/// cost only some microseconds, since it is taken in a gateway that handles a packet in tens of them.
pub struct ResourceProbe {
    began: Instant,
    statm: Option<NumberFile>,
    page_bytes: u64,
    thermometers: Metered,
    temperatures: BTreeMap<String, f64>,
    meter: Option<Metered>,
    /// True after the meter has failed; its current values are then no longer valid.
    failed: bool,
    before: Option<(Instant, Duration)>,
    samples: u32,
}

impl ResourceProbe {
    /// Finds out what can be measured on this machine; `meter` measures energy.
    pub fn new(meter: Option<Box<dyn Meter>>) -> Self {
        let thermometers = Thermometers::find(Path::new(HWMON), Path::new(THERMAL));
        Self {
            began: Instant::now(),
            statm: NumberFile::open(PathBuf::from(STATM)).ok(),
            page_bytes: rustix::param::page_size() as u64,
            thermometers: Metered::new(Box::new(thermometers)),
            temperatures: BTreeMap::new(),
            meter: meter.map(Metered::new),
            failed: false,
            before: None,
            samples: 0,
        }
    }

    /// Takes a sample at `now`.
    pub fn sample(&mut self, now: Instant) -> ResourceSample {
        let cpu = process_cpu_time();
        let cpu_percent = self.before.and_then(|(then, cpu_before)| {
            let wall = now.saturating_duration_since(then).as_secs_f64();
            (wall > 0.0).then(|| cpu.saturating_sub(cpu_before).as_secs_f64() / wall * 100.0)
        });
        self.before = Some((now, cpu));
        let since = now.saturating_duration_since(self.began);
        if self.samples.is_multiple_of(SAMPLES_PER_TEMPERATURE) && self.thermometers.read(since).is_ok() {
            self.temperatures = self.thermometers.tally.celsius();
        }
        self.samples = self.samples.wrapping_add(1);
        self.read_meter(since);
        let tally = self.meter.as_ref().map(|metered| &metered.tally);
        ResourceSample {
            cpu_seconds: cpu.as_secs_f64(),
            cpu_percent,
            rss_bytes: self.read_rss(),
            temperatures: self.temperatures.clone(),
            power_watts: tally.filter(|_| !self.failed).and_then(Tally::watts_now),
            joules: tally.and_then(Tally::counted_joules),
            energy_joules: tally.map(Tally::joules).unwrap_or_default(),
        }
    }

    /// Reads the meter. After a failure it is not read again: its totals are kept, and the time from then on counts
    /// as missed.
    fn read_meter(&mut self, since: Duration) {
        if let Some(metered) = self.meter.as_mut().filter(|_| !self.failed)
            && let Err(failure) = metered.read(since)
        {
            tracing::warn!("energy is measured no longer: {failure}");
            self.failed = true;
        }
    }

    fn read_rss(&self) -> Option<u64> {
        let pages = self.statm.as_ref()?.field(RESIDENT).ok()?;
        Some(pages * self.page_bytes).filter(|bytes| *bytes > 0)
    }

    /// Tells the meter that the run has ended.
    fn end(&mut self) {
        if let Some(metered) = self.meter.as_mut().filter(|_| !self.failed)
            && let Err(failure) = metered.meter.end()
        {
            tracing::warn!("{failure}");
        }
    }

    /// The time not covered by samples of the meter.
    fn missed(&self) -> Duration {
        let tally = self.meter.as_ref().map(|metered| &metered.tally);
        tally.map(Tally::missed).unwrap_or_default()
    }
}

/// Totals of a run's samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ResourceSummary {
    /// Number of samples.
    pub samples: u64,
    /// Wall-clock seconds covered by samples.
    pub seconds: f64,
    /// CPU seconds used in that time, by all threads.
    pub cpu_seconds: f64,
    /// Mean CPU use in percent of one core.
    pub cpu_percent: Option<f64>,
    /// Highest resident memory, in bytes.
    pub max_rss_bytes: Option<u64>,
    /// Highest temperature of any sensor, in °C.
    pub max_temperature_celsius: Option<f64>,
    /// Energy in joules, of everything that the meter covers, not only this process.
    pub joules: Option<f64>,
    /// The same by channel of the meter.
    pub energy_joules: BTreeMap<String, f64>,
    /// Seconds for which the meter delivered no sample in time; their energy is not included.
    pub energy_missed_seconds: f64,
}

#[derive(Debug, Default)]
struct Sampled {
    latest: ResourceSample,
    summary: ResourceSummary,
}

/// Function for a requested sample, and the time at which it was taken; `None` if it was not taken.
type Then = Box<dyn FnOnce(Option<(Instant, &ResourceSample)>) + Send>;

enum Order {
    Sample(Then),
    Stop,
}

/// Requests samples between the periodic ones, so that work that is shorter than a period has samples of its own.
/// Clones ask the same sampler.
#[derive(Clone, Debug)]
pub struct SampleRequests(SyncSender<Order>);

impl SampleRequests {
    /// Requests a sample, which the sampler's thread takes as soon as it runs and passes to `then`, with its time.
    /// Does not wait. If too many requests wait or the sampler has ended, `then` is called here and gets `None`: it
    /// is always called once.
    pub fn ask(&self, then: impl FnOnce(Option<(Instant, &ResourceSample)>) + Send + 'static) {
        let sent = self.0.try_send(Order::Sample(Box::new(then)));
        if let Err(TrySendError::Full(Order::Sample(then)) | TrySendError::Disconnected(Order::Sample(then))) = sent {
            then(None);
        }
    }
}

/// Samples the resources used by the process on a separate thread, until dropped. Then it first takes the samples
/// that were requested.
#[derive(Debug)]
pub struct ResourceSampler {
    shared: Arc<Mutex<Sampled>>,
    orders: SyncSender<Order>,
    thread: Option<JoinHandle<()>>,
}

impl ResourceSampler {
    /// Starts sampling every `period`; `meter` measures energy. `each` is called with every periodic sample, on the
    /// sampler's thread.
    ///
    /// # Errors
    /// The system cannot start a thread: kind `Internal`.
    pub fn start(
        meter: Option<Box<dyn Meter>>,
        period: Duration,
        each: impl FnMut(&ResourceSample) + Send + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Mutex::new(Sampled::default()));
        let (orders, ordered) = sync_channel(MAX_SAMPLE_REQUESTS);
        let thread = std::thread::Builder::new()
            .name("resources".to_owned())
            .spawn({
                let shared = Arc::clone(&shared);
                move || run_sampler(ResourceProbe::new(meter), period, &shared, &ordered, each)
            })
            .map_err(|error| {
                Failure::new(
                    FailureKind::Internal,
                    format!("the resource sampler cannot start: {error}"),
                    "the system may be out of threads or memory",
                )
            })?;
        Ok(Self {
            shared,
            orders,
            thread: Some(thread),
        })
    }

    /// Requests samples of this sampler.
    pub fn requests(&self) -> SampleRequests {
        SampleRequests(self.orders.clone())
    }

    /// Stops sampling, after the samples that were requested, and returns the totals of all samples.
    pub fn finish(mut self) -> ResourceSummary {
        self.stop();
        self.summary()
    }

    fn stop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // Sending fails only if the thread has panicked.
            let _ = self.orders.send(Order::Stop);
            let _ = thread.join();
        }
    }

    /// The latest sample; empty before the first one.
    pub fn latest(&self) -> ResourceSample {
        self.shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .latest
            .clone()
    }

    /// Totals of the samples so far.
    pub fn summary(&self) -> ResourceSummary {
        self.shared
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .summary
            .clone()
    }
}

impl Drop for ResourceSampler {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run_sampler(
    mut probe: ResourceProbe,
    period: Duration,
    shared: &Mutex<Sampled>,
    orders: &Receiver<Order>,
    mut each: impl FnMut(&ResourceSample),
) {
    let start = Instant::now();
    let cpu_at_start = process_cpu_time();
    let mut take = |then: &mut dyn FnMut(Instant, &ResourceSample)| {
        let now = Instant::now();
        let sample = probe.sample(now);
        then(now, &sample);
        let mut sampled = shared.lock().unwrap_or_else(PoisonError::into_inner);
        sampled.summary.add(&sample, now.duration_since(start), cpu_at_start);
        sampled.summary.energy_missed_seconds = probe.missed().as_secs_f64();
        sampled.latest = sample;
    };
    let mut due = start;
    loop {
        take(&mut |_, sample| each(sample));
        // A late sample delays the following ones: catching up would take several in a short time.
        due = (due + period).max(Instant::now());
        loop {
            match orders.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(Order::Sample(then)) => {
                    let mut then = Some(then);
                    take(&mut |now, sample| {
                        if let Some(then) = then.take() {
                            then(Some((now, sample)));
                        }
                    });
                }
                Err(RecvTimeoutError::Timeout) => break,
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return probe.end(),
            }
        }
    }
}

impl ResourceSummary {
    fn add(&mut self, sample: &ResourceSample, since_start: Duration, cpu_at_start: Duration) {
        self.samples += 1;
        self.seconds = since_start.as_secs_f64();
        self.cpu_seconds = (sample.cpu_seconds - cpu_at_start.as_secs_f64()).max(0.0);
        self.cpu_percent = (self.seconds > 0.0).then(|| self.cpu_seconds / self.seconds * 100.0);
        self.max_rss_bytes = self.max_rss_bytes.max(sample.rss_bytes);
        self.max_temperature_celsius = [self.max_temperature_celsius, sample.temperature_celsius()]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        self.joules = sample.joules;
        self.energy_joules.clone_from(&sample.energy_joules);
    }
}

#[cfg(test)]
mod tests {
    use super::super::power::{About, Channel, Quantity, Rapl};
    use super::*;

    fn burn(time: Duration) {
        let start = thread_cpu_time();
        while thread_cpu_time() - start < time {
            std::hint::black_box((0..1000).fold(1u64, |a, b| a.wrapping_mul(b | 1)));
        }
    }

    #[test]
    fn cpu_time_counts_work_and_not_waiting() {
        let (thread, process) = (thread_cpu_time(), process_cpu_time());
        let began = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        assert!(thread_cpu_time() - thread < began.elapsed());
        let thread = thread_cpu_time();
        burn(Duration::from_millis(30));
        assert!(thread_cpu_time() - thread >= Duration::from_millis(30));
        assert!(process_cpu_time() - process >= Duration::from_millis(30));
    }

    #[test]
    fn a_sample_shows_memory_and_work_since_the_one_before() {
        let mut probe = ResourceProbe::new(None);
        let first = probe.sample(Instant::now());
        assert_eq!(first.cpu_percent, None);
        assert!(first.rss_bytes.unwrap() > 1_000_000, "{first:?}");
        burn(Duration::from_millis(50));
        let second = probe.sample(Instant::now());
        assert!(second.cpu_percent.unwrap() > 1.0, "{second:?}");
        assert!(second.cpu_seconds - first.cpu_seconds >= 0.05);
    }

    #[test]
    fn what_cannot_be_measured_is_said_and_not_zero() {
        assert_eq!(figure(None, 1, "°C"), "not measurable here");
        assert_eq!(figure(Some(41.25), 1, "°C"), "41.2 °C");
        assert_eq!(ResourceSample::default().temperature_celsius(), None);
        let without = ResourceProbe::new(None).sample(Instant::now());
        assert_eq!((without.power_watts, without.joules), (None, None));
    }

    #[test]
    fn the_sampler_samples_ten_times_a_second_and_stops_when_dropped() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let sampler = ResourceSampler::start(None, SAMPLE_PERIOD, move |sample| {
            let _ = sender.send(sample.cpu_seconds);
        })
        .unwrap();
        let started = Instant::now();
        (0..5).for_each(|_| assert!(receiver.recv().unwrap() > 0.0));
        assert!(
            started.elapsed() >= Duration::from_millis(390),
            "{:?}",
            started.elapsed()
        );
        let summary = sampler.summary();
        assert!(summary.samples >= 4 && summary.max_rss_bytes.is_some(), "{summary:?}");
        drop(sampler);
        receiver.try_iter().for_each(drop);
        assert!(
            receiver.recv().is_err(),
            "the thread is gone, and its end of the channel with it"
        );
    }
    #[test]
    fn memory_is_what_the_kernel_says_in_status() {
        let sample = ResourceProbe::new(None).sample(Instant::now());
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
        let rss = sample.rss_bytes.unwrap();
        assert!(rss.abs_diff(kib * 1024) < rss / 2, "{rss} bytes, and {kib} KiB");
    }

    /// A meter that measures 4 W and reports on a channel when the run ends.
    struct Told(About, std::sync::mpsc::Sender<&'static str>);

    impl Meter for Told {
        fn about(&self) -> &About {
            &self.0
        }

        fn end(&mut self) -> Result<()> {
            self.1.send("end").unwrap();
            Ok(())
        }

        fn read(&mut self, now: Duration, samples: &mut Vec<Sample>) -> Result<()> {
            samples.push(Sample {
                channel: 0,
                at: now,
                value: 4.0,
            });
            Ok(())
        }
    }

    #[test]
    fn power_is_integrated_while_sampled_and_the_meter_hears_of_the_end() {
        let (sender, heard) = std::sync::mpsc::channel();
        let about = About {
            name: "told".to_owned(),
            covers: "nothing".to_owned(),
            resolution: "exact",
            period: SAMPLE_PERIOD,
            step: SAMPLE_PERIOD,
            channels: vec![Channel {
                name: "told".to_owned(),
                quantity: Quantity::Watts,
                counted: true,
            }],
        };
        let sampler = ResourceSampler::start(Some(Box::new(Told(about, sender))), SAMPLE_PERIOD, |_| {}).unwrap();
        while sampler.summary().samples < 4 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let summary = sampler.summary();
        let most = 4.0 * (summary.seconds - summary.energy_missed_seconds) + 1e-6;
        let joules = summary.joules.unwrap();
        assert!(0.0 < joules && joules <= most, "{summary:?}");
        assert_eq!(sampler.latest().power_watts, Some(4.0));
        assert!(heard.try_recv().is_err());
        drop(sampler);
        assert_eq!(heard.recv(), Ok("end"));
    }

    #[test]
    fn the_energy_of_a_counter_adds_up_until_the_counter_fails() {
        let tree = tempfile::tempdir().unwrap();
        let zone = tree.path().join("intel-rapl:0");
        std::fs::create_dir(&zone).unwrap();
        std::fs::write(zone.join("name"), "package-0\n").unwrap();
        let count = |text: &str| std::fs::write(zone.join("energy_uj"), text).unwrap();
        count("1000000\n");
        let mut probe = ResourceProbe::new(Some(Box::new(Rapl::open(tree.path()).unwrap())));
        let start = Instant::now();
        let mut at = |tenths: u64| probe.sample(start + Duration::from_millis(100 * tenths));
        assert_eq!((at(0).joules, at(0).power_watts), (Some(0.0), None));
        count("1500000\n");
        let sample = at(1);
        assert_eq!(
            (sample.joules, sample.power_watts.map(f64::round)),
            (Some(0.5), Some(5.0))
        );
        assert_eq!(sample.energy_joules.values().copied().collect::<Vec<_>>(), [0.5]);
        count("gone\n");
        let sample = at(2);
        assert_eq!((sample.joules, sample.power_watts), (Some(0.5), None));
        count("9000000\n");
        assert_eq!(at(3).joules, Some(0.5), "nobody knows what happened meanwhile");
    }
}
