//! A simulated energy counter: a powercap tree in a temporary folder, which counts at a known power.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Interval between updates of the counter.
const UPDATE: Duration = Duration::from_millis(1);
/// Distance of its start value from the wrap-around, in microjoules.
const RANGE_UJ: u64 = 1_000_000_000;
const BEFORE_WRAP_UJ: u64 = 3_000_000;

/// Counts until dropped.
pub struct Counter {
    tree: TempDir,
    began: Instant,
    watts: f64,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Counter {
    /// Starts a counter with one package, which draws `watts`.
    pub fn start(watts: f64) -> Self {
        let tree = tempfile::tempdir().expect("a folder");
        let zone = tree.path().join("intel-rapl:0");
        fs::create_dir(&zone).expect("a folder in it");
        fs::write(zone.join("name"), "package-0\n").expect("a file");
        fs::write(zone.join("max_energy_range_uj"), format!("{RANGE_UJ}\n")).expect("a file");
        let counter = File::create(zone.join("energy_uj")).expect("a file");
        // Always the same number of digits, so that a reader never sees part of an old number.
        let count = move |uj: u64| counter.write_all_at(format!("{:010}\n", uj % RANGE_UJ).as_bytes(), 0);
        count(RANGE_UJ - BEFORE_WRAP_UJ).expect("it is written");
        let (stop, stopped) = channel();
        let began = Instant::now();
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(UPDATE) == Err(RecvTimeoutError::Timeout) {
                let used = (began.elapsed().as_secs_f64() * watts * 1e6) as u64;
                count(RANGE_UJ - BEFORE_WRAP_UJ + used).expect("it is written");
            }
        });
        Self {
            tree,
            began,
            watts,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// At least the energy that it has counted so far.
    #[allow(dead_code, reason = "not every test binary asks")]
    pub fn joules(&self) -> f64 {
        self.began.elapsed().as_secs_f64() * self.watts
    }

    /// The path for `--meter rapl:`.
    pub fn tree(&self) -> &Path {
        self.tree.path()
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
