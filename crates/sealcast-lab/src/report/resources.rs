//! Contents of a log of the running stream: resources and rates over time and by phase, and energy.

use jiff::Timestamp;
use sealcast::failure::Result;

use super::log::Log;
use super::series::Series;

/// A quantity of `steady_stream.csv`.
#[derive(Debug)]
pub(super) struct Quantity {
    pub(super) title: &'static str,
    pub(super) unit: &'static str,
    column: &'static str,
    /// From the column's unit to `unit`.
    factor: f64,
    /// In words where the column is empty throughout.
    pub(super) missing: &'static str,
}

const fn quantity(title: &'static str, unit: &'static str, column: &'static str, missing: &'static str) -> Quantity {
    Quantity {
        title,
        unit,
        column,
        factor: 1.0,
        missing,
    }
}

pub(super) const CPU: usize = 0;
pub(super) const MEMORY: usize = 1;
pub(super) const TEMPERATURE: usize = 2;
pub(super) const FRAMES: usize = 3;
pub(super) const THROUGHPUT: usize = 4;
pub(super) const POWER: usize = 5;
pub(super) const QUANTITIES: [Quantity; 6] = [
    quantity("CPU", "% of a core", "cpu_percent", "no processor time"),
    Quantity {
        factor: 1e-6,
        ..quantity("memory", "MB", "rss_bytes", "no resident memory")
    },
    quantity("temperature", "°C", "temperature_celsius", "no temperature sensor"),
    quantity("frame rate", "frames/s", "fps", "no frame rate"),
    quantity("on the wire", "Mbit/s", "mbit_s", "no bit rate"),
    quantity("power", "W", "power_watts", "no energy meter"),
];

pub(super) const PHASES: [&str; 3] = ["handshake", "steady", "idle"];
pub(super) const STEADY: usize = 1;

/// Length of the window whose mean is one value of the table, in seconds. A tenth of a second holds two frames or three
/// at 25 a second: its rates would show the sampler, not the stream.
const WINDOW: f64 = 1.0;

/// Weighted mean and spread of windows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    pub(super) windows: u64,
    weight: f64,
    pub(super) mean: f64,
    squares: f64,
    /// Least and greatest of all windows, and of those of at least half the full length.
    ends: [Option<(f64, f64)>; 2],
}

impl Spread {
    fn add(&mut self, value: f64, seconds: f64) {
        self.windows += 1;
        self.weight += seconds;
        let from_mean = value - self.mean;
        self.mean += from_mean * seconds / self.weight;
        self.squares += seconds * from_mean * (value - self.mean);
        let is_long = seconds >= WINDOW / 2.0;
        for (ends, counts) in self.ends.iter_mut().zip([true, is_long]) {
            if counts {
                let (least, most) = ends.unwrap_or((value, value));
                *ends = Some((least.min(value), most.max(value)));
            }
        }
    }

    /// The standard deviation of the windows, by their length; NaN for fewer than two.
    pub(super) fn deviation(&self) -> f64 {
        match self.windows {
            0 | 1 => f64::NAN,
            count => (self.squares / self.weight * count as f64 / (count - 1) as f64).sqrt(),
        }
    }

    /// Least and greatest. The rest of a phase, a moment long, counts only where there is nothing longer.
    pub(super) fn ends(&self) -> (f64, f64) {
        let [all, long] = self.ends;
        long.or(all).unwrap_or((f64::NAN, f64::NAN))
    }
}

/// Rows of one phase that follow one another.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    phase: usize,
    seconds: f64,
    /// For each quantity the time for which it is known, and the sum of its values times their durations.
    sums: [(f64, f64); QUANTITIES.len()],
}

/// The row before.
#[derive(Clone, Copy, Debug)]
struct Before {
    time: Timestamp,
    frames: f64,
    bytes: f64,
    cpu_known: bool,
    joules: Option<f64>,
}

/// Everything from the logs of one end.
#[derive(Debug)]
pub(super) struct Resources {
    pub(super) series: [Series; QUANTITIES.len()],
    /// For each phase and quantity.
    pub(super) spreads: [[Spread; QUANTITIES.len()]; PHASES.len()],
    /// Seconds in each phase.
    pub(super) seconds: [f64; PHASES.len()],
    /// Joules in each phase; `None` without a meter.
    pub(super) joules: Option<[f64; PHASES.len()]>,
    /// Largest total of frames.
    pub(super) frames: f64,
    window: Window,
    before: Option<Before>,
}

impl Resources {
    pub(super) fn new() -> Self {
        Self {
            series: std::array::from_fn(|_| Series::new()),
            spreads: Default::default(),
            seconds: Default::default(),
            joules: None,
            frames: 0.0,
            window: Window::default(),
            before: None,
        }
    }

    /// Takes in a log. Times are seconds from `origin`.
    pub(super) fn read(&mut self, log: &mut Log, origin: Timestamp) -> Result<()> {
        let quantities = QUANTITIES.each_ref().map(|quantity| log.column(quantity.column));
        let totals = ["frames", "bytes"].map(|name| log.column(name));
        let [time, phase, energy] = ["time", "phase", "energy_joules"].map(|name| log.column(name));
        while log.next()? {
            let mut values = [None; QUANTITIES.len()];
            for (value, (column, quantity)) in values.iter_mut().zip(quantities.iter().zip(&QUANTITIES)) {
                *value = log.number(*column)?.map(|value| value * quantity.factor);
            }
            let [frames, bytes] = totals.map(|column| log.needed(column));
            let now = Before {
                time: log.time(time)?,
                frames: frames?,
                bytes: bytes?,
                cpu_known: values[CPU].is_some(),
                joules: log.number(energy)?,
            };
            self.frames = self.frames.max(now.frames);
            let known = PHASES.iter().position(|name| *name == log.text(phase));
            self.row(origin, now, known.ok_or_else(|| log.no_word(phase))?, &values);
        }
        self.close();
        Ok(())
    }

    fn row(&mut self, origin: Timestamp, now: Before, phase: usize, values: &[Option<f64>]) {
        let before = self.before.replace(now);
        // The first row of a run has rates of nothing: its totals begin again, and it knows no processor time.
        let follows = |before: &Before| {
            now.time > before.time
                && now.frames >= before.frames
                && now.bytes >= before.bytes
                && (now.cpu_known || !before.cpu_known)
        };
        if now.joules.is_some() {
            self.joules.get_or_insert_default();
        }
        let Some(before) = before.filter(follows) else {
            self.close();
            return;
        };
        let seconds = between(before.time, now.time);
        self.seconds[phase] += seconds;
        if let (Some(joules), Some(from), Some(to)) = (&mut self.joules, before.joules, now.joules) {
            joules[phase] += (to - from).max(0.0);
        }
        if self.window.phase != phase || self.window.seconds + seconds / 2.0 > WINDOW {
            self.close();
            self.window.phase = phase;
        }
        self.window.seconds += seconds;
        for (at, value) in values.iter().enumerate() {
            if let Some(value) = value {
                self.series[at].add(between(origin, now.time), seconds, *value);
                self.window.sums[at].0 += seconds;
                self.window.sums[at].1 += seconds * value;
            }
        }
    }

    /// Counts the window that was being filled.
    fn close(&mut self) {
        let window = std::mem::take(&mut self.window);
        for (at, (seconds, sum)) in window.sums.into_iter().enumerate() {
            if seconds > 0.0 {
                self.spreads[window.phase][at].add(sum / seconds, seconds);
            }
        }
    }

    /// True if the quantity stands in any row.
    pub(super) fn knows(&self, quantity: usize) -> bool {
        self.spreads.iter().any(|phase| phase[quantity].windows > 0)
    }
}

/// Seconds from one time to another.
pub(super) fn between(from: Timestamp, to: Timestamp) -> f64 {
    (to.as_nanosecond() - from.as_nanosecond()) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use sealcast::meter::logs::SteadyRow;

    use super::*;

    const HEAD: &str = "2026-01-01T00:00:";

    /// Rows of a second, phase, CPU, frames, rate and joules.
    fn read(rows: &[(f64, &str, &str, u64, f64, &str)]) -> Resources {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("steady_stream.csv");
        let lines = rows.iter().map(|(second, phase, cpu, frames, fps, joules)| {
            format!("{HEAD}{second:09.6}Z,{phase},{cpu},1000000,,{frames},{fps},{frames},8,0,0,0,0,,{joules}\n")
        });
        std::fs::write(&path, SteadyRow::HEADER.join(",") + "\n" + &lines.collect::<String>()).expect("space");
        let mut resources = Resources::new();
        let mut log = Log::open(&path, SteadyRow::HEADER).expect("a log");
        let origin = format!("{HEAD}00Z").parse().expect("a time");
        resources.read(&mut log, origin).expect("rows");
        resources
    }

    #[test]
    fn time_energy_and_means_belong_to_the_phase_that_ends_with_the_row() {
        let resources = read(&[
            (0.0, "idle", "", 0, 0.0, "0"),
            (1.0, "idle", "10", 0, 0.0, "2"),
            (1.5, "handshake", "90", 0, 0.0, "3"),
            (2.5, "steady", "40", 25, 25.0, "7"),
            (3.5, "steady", "60", 40, 15.0, "9"),
        ]);
        assert_eq!(resources.seconds, [0.5, 2.0, 1.0]);
        assert_eq!(resources.joules, Some([1.0, 6.0, 2.0]));
        let cpu = resources.spreads[STEADY][CPU];
        assert_eq!((cpu.windows, cpu.mean, cpu.ends()), (2, 50.0, (40.0, 60.0)));
        assert!((cpu.deviation() - 200_f64.sqrt()).abs() < 1e-9);
        assert_eq!(resources.spreads[STEADY][MEMORY].mean, 1.0);
        assert!(!resources.knows(TEMPERATURE) && resources.knows(CPU));
    }

    #[test]
    fn a_second_run_in_the_same_log_begins_anew() {
        let resources = read(&[
            (0.0, "steady", "", 0, 0.0, "0"),
            (1.0, "steady", "10", 25, 25.0, "5"),
            (40.0, "idle", "", 0, 0.0, "0"),
            (41.0, "steady", "20", 25, 25.0, "1"),
        ]);
        assert_eq!(resources.seconds, [0.0, 2.0, 0.0]);
        assert_eq!(resources.joules, Some([0.0, 6.0, 0.0]));
        assert_eq!(resources.spreads[STEADY][CPU].mean, 15.0);
    }

    #[test]
    fn a_moment_counts_by_its_length_and_is_no_extreme() {
        let resources = read(&[
            (0.0, "idle", "", 0, 0.0, ""),
            (1.0, "steady", "10", 10, 10.0, ""),
            (1.01, "steady", "100", 11, 99.0, ""),
        ]);
        let cpu = resources.spreads[STEADY][CPU];
        assert!((cpu.mean - 11.0 / 1.01).abs() < 1e-9, "{cpu:?}");
        assert_eq!((cpu.windows, cpu.ends()), (2, (10.0, 10.0)));
        assert_eq!(resources.joules, None);
    }
}
