//! Which runs there are, and in which order.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::Random;

use super::bench::{self, Ground, Outcome, Run};
use super::figures::{self, Figures, TAIL, WARM_UP};
use super::load::RATE;
use super::program::stopped;
use super::system::{Point, System};
use crate::net::Net;

/// What to measure.
#[derive(Clone, Debug)]
pub struct LinkOptions {
    /// What the link does.
    pub points: Vec<Point>,
    /// What is compared.
    pub systems: Vec<System>,
    /// Runs of each system at each point, at least 1.
    pub rounds: usize,
    /// Seconds that count in each run, at least 1.
    pub seconds: u32,
    /// Decides which packets are lost.
    pub seed: u64,
    /// Points that are measured at the same time, each on links of its own.
    pub at_once: usize,
    /// Use the proxy even where namespaces can be had.
    pub proxy: bool,
    /// What the ends note is kept there.
    pub folder: PathBuf,
}

/// What was measured.
pub struct LinkResult {
    /// A line for each system at each point, in the order of the options.
    pub figures: Vec<Figures>,
    /// Where the link was, in words.
    pub ground: String,
    /// The TCP congestion control where the programs ran.
    pub congestion_control: String,
    /// What `srt-live-transmit` says of itself; none where it is not installed.
    pub srt: Option<String>,
    /// Runs that were done again, since something failed that has nothing to do with the figures.
    pub repeated: usize,
    /// Those that failed again; they are missing from the figures.
    pub failed: usize,
}

/// The systems of one point in one round, back to back.
struct Turn {
    round: usize,
    point: Point,
}

struct Bench<'a> {
    options: &'a LinkOptions,
    ground: Ground,
    systems: Vec<System>,
    turns: Mutex<VecDeque<Turn>>,
    outcomes: Mutex<Vec<(Point, System, Outcome)>>,
    /// Runs so far, which makes their names unique.
    begun: AtomicUsize,
    repeated: AtomicUsize,
    failed: AtomicUsize,
    stop: &'a AtomicBool,
    progress: &'a (dyn Fn(&str) + Sync),
}

/// Measure. `progress` is told in words what goes on; `stop` ends it when it turns true.
///
/// # Errors
/// There is nothing to measure, or `stop` was told.
pub fn measure(options: &LinkOptions, stop: &AtomicBool, progress: &(dyn Fn(&str) + Sync)) -> Result<LinkResult> {
    let srt = bench::srt_version();
    let systems: Vec<System> = options
        .systems
        .iter()
        .copied()
        .filter(|system| srt.is_some() || !system.is_srt())
        .collect();
    if systems.len() < options.systems.len() {
        progress("srt-live-transmit is not installed (apt-get install srt-tools): SRT is left out");
    }
    if systems.is_empty() || options.points.is_empty() {
        return Err(Failure::new(
            FailureKind::Usage,
            "there is nothing to measure",
            "name systems that can be had",
        ));
    }
    let (ground, words) = ground(options.proxy);
    progress(&format!("the link is {words}"));
    let turns = (0..options.rounds).flat_map(|round| options.points.iter().map(move |&point| Turn { round, point }));
    let bench = Bench {
        options,
        ground,
        systems,
        turns: Mutex::new(turns.collect()),
        outcomes: Mutex::default(),
        begun: AtomicUsize::new(0),
        repeated: AtomicUsize::new(0),
        failed: AtomicUsize::new(0),
        stop,
        progress,
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..options.at_once.max(1))
            .map(|_| scope.spawn(|| bench.work()))
            .collect();
        let ends = workers.into_iter().map(|worker| worker.join());
        ends.map(|end| end.unwrap_or_else(|_| Err(stopped())))
            .collect::<Result<Vec<()>>>()
    })?;
    Ok(bench.result(words, srt))
}

fn ground(proxy: bool) -> (Ground, String) {
    let obstacle = if proxy { None } else { Net::obstacle() };
    match (proxy, obstacle) {
        (true, _) => (Ground::Proxy, "a proxy in this process, as was asked for".to_owned()),
        (false, Some(failure)) => (
            Ground::Proxy,
            format!("a proxy in this process, since {}", failure.what),
        ),
        (false, None) => (Ground::Namespaces, "between two network namespaces".to_owned()),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bench<'_> {
    fn frames(&self) -> u32 {
        WARM_UP + self.options.seconds * RATE + TAIL
    }

    /// Take turns until there are none.
    fn work(&self) -> Result<()> {
        loop {
            let Some(turn) = lock(&self.turns).pop_front() else {
                return Ok(());
            };
            let taken = self.take(&turn);
            if taken.is_err() {
                // The others need not go on.
                lock(&self.turns).clear();
                return taken;
            }
        }
    }

    /// The systems of a turn: A B C D in one round, D C B A in the next, so that a drift of the machine falls on all.
    fn take(&self, turn: &Turn) -> Result<()> {
        let mut systems = self.systems.clone();
        if turn.round % 2 == 1 {
            systems.reverse();
        }
        for system in systems {
            let Some(outcome) = self.run_twice(turn, system)? else {
                continue;
            };
            let done = {
                let mut outcomes = lock(&self.outcomes);
                outcomes.push((turn.point, system, outcome));
                outcomes.len()
            };
            let all = self.systems.len() * self.options.points.len() * self.options.rounds;
            (self.progress)(&format!(
                "{done} of {all}: {} {system}, round {}",
                turn.point,
                turn.round + 1
            ));
        }
        Ok(())
    }

    /// A run that fails is done once more; if it fails again, a long measurement goes on without it.
    fn run_twice(&self, turn: &Turn, system: System) -> Result<Option<Outcome>> {
        for count in [&self.repeated, &self.failed] {
            let failure = match self.run(turn, system) {
                Ok(outcome) => return Ok(Some(outcome)),
                Err(failure) if self.stop.load(Ordering::Relaxed) => return Err(failure),
                Err(failure) => failure,
            };
            count.fetch_add(1, Ordering::Relaxed);
            (self.progress)(&format!("{} {system}, round {}: {failure}", turn.point, turn.round + 1));
        }
        Ok(None)
    }

    fn run(&self, turn: &Turn, system: System) -> Result<Outcome> {
        let place = self
            .options
            .points
            .iter()
            .position(|point| *point == turn.point)
            .unwrap_or(0);
        // All systems of a turn meet the same losses, by the number of the packet.
        let mut seeds = Random::new(self.options.seed ^ ((turn.round as u64) << 32) ^ place as u64);
        let run = Run {
            system,
            point: turn.point,
            ground: self.ground,
            seed: seeds.next_u64(),
            frames: self.frames(),
            name: format!(
                "link-{}-{}",
                std::process::id(),
                self.begun.fetch_add(1, Ordering::Relaxed)
            ),
            folder: self
                .options
                .folder
                .join(format!("{}-{system}-{}", turn.point.key(), turn.round + 1)),
            stop: self.stop,
        };
        run.measure()
    }

    fn result(self, ground: String, srt: Option<String>) -> LinkResult {
        let frames = self.frames();
        let outcomes = self.outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        let congestion_control = outcomes
            .first()
            .map(|(_, _, outcome)| outcome.congestion_control.clone());
        let mut lines = Vec::new();
        let mut rest = outcomes;
        for &point in &self.options.points {
            for &system in &self.systems {
                let (own, others): (Vec<_>, Vec<_>) =
                    rest.into_iter().partition(|run| (run.0, run.1) == (point, system));
                rest = others;
                let own: Vec<Outcome> = own.into_iter().map(|(_, _, outcome)| outcome).collect();
                let counted = self.options.seconds * RATE;
                if !own.is_empty() {
                    lines.push(figures::figures(point, system, &own, frames, counted));
                }
            }
        }
        LinkResult {
            figures: lines,
            ground,
            congestion_control: congestion_control.unwrap_or_default(),
            srt,
            repeated: self.repeated.into_inner(),
            failed: self.failed.into_inner(),
        }
    }
}
