//! A run: measures turn by turn and appends to the record.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};

use super::definition::{Definition, Entry};
use super::elsewhere::Elsewhere;
use super::experiment::{Engine, Experiment, Place};
use super::number::time;
use super::plan::Plan;
use super::process::{Stop, stopped};
use super::record::{Header, Outcome, Record};
use super::results::Results;
use super::sample::Sample;
use super::turn::{Turn, turns};

/// A line about a run, and the time that it will still take.
#[derive(Clone, Debug)]
pub struct Progress {
    /// The line.
    pub words: String,
    /// The estimated time until the run is complete; `None` before the first turn.
    pub left: Option<Duration>,
}

impl std::fmt::Display for Progress {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.words)
    }
}

/// Function that is told of progress.
pub type Told<'a> = &'a (dyn Fn(&Progress) + Sync);

/// Minimum time between two progress lines, so that short turns do not fill the terminal.
const PROGRESS: Duration = Duration::from_secs(1);

struct Bench<'a> {
    plan: &'a Plan<'a>,
    engine: &'a Elsewhere<'a>,
    queue: Mutex<VecDeque<Turn>>,
    record: Mutex<Record>,
    /// The longest turn of each case so far.
    longest: Mutex<BTreeMap<String, Duration>>,
    /// Turns that would not have ended in time.
    left_out: Mutex<Vec<Turn>>,
    /// Number of turns in these rounds.
    count: usize,
    began: Instant,
    /// The time of the last progress line.
    last_told: Mutex<Option<Instant>>,
    stop: Stop<'a>,
    told: Told<'a>,
}

/// Measures the turns that the record in `folder` lacks. Reports progress to `told`, and ends when `stop` becomes
/// true.
///
/// # Errors
/// The engine cannot be set up, nothing can be measured, the record is of another measurement, or the run was
/// stopped. A turn that fails twice is noted in the record instead.
pub fn run(
    experiment: &Experiment,
    definition: &Definition,
    folder: &Path,
    stop: &AtomicBool,
    told: Told<'_>,
) -> Result<Results> {
    let began = Instant::now();
    let say = |words: String| told(&Progress { words, left: None });
    std::fs::create_dir_all(folder).map_err(|error| super::record::unwritable(folder, &error))?;
    let opened = (experiment.open)(definition, &Place { folder })?;
    for (name, value) in &opened.facts {
        say(format!("{name}: {value}"));
    }
    for (system, why) in &opened.absent {
        say(format!("{system} is left out: {why}"));
    }
    let engine = Elsewhere {
        definition,
        engine: &*opened.engine,
    };
    let there = |name: &str| !opened.absent.iter().any(|(absent, _)| absent == name);
    let suits = |case: &Entry, system: &Entry| there(&system.name) && engine.suits(case, system);
    if turns(definition, 0..1, suits).is_empty() {
        let what = "there is nothing to measure: no system can be had that suits a case";
        let hint = opened.absent.first().map_or("name others", |(_, why)| why);
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    let header = Header::new(definition, opened.facts.clone(), opened.absent.clone());
    let plan = Plan::new(definition, (experiment.columns)(), began);
    let mut record = Record::open(folder, header)?;
    let mut measured = 0..0;
    let mut left_out = Vec::new();
    while let Some(rounds) = plan.next(&record, &measured) {
        let all = turns(definition, rounds.clone(), |case, system| {
            suits(case, system) && plan.asks_for(case, &record, rounds.start)
        });
        let count = all.len();
        let left = |turn: &Turn| !record.has(turn) && !record.is_over(turn) && !plan.gave_up(turn, &record);
        let left: VecDeque<Turn> = all.into_iter().filter(left).collect();
        if left.len() < count && rounds.start == 0 {
            say(format!(
                "{} of {count} turns are in the record already",
                count - left.len()
            ));
        }
        let bench = Bench::new(&plan, &engine, left, record, (stop, told));
        bench.measure()?;
        left_out.append(&mut lock(&bench.left_out));
        record = bench.record.into_inner().unwrap_or_else(PoisonError::into_inner);
        measured = rounds;
    }
    let mut results = Results::new(
        definition.clone(),
        plan.columns.clone(),
        (experiment.charts)(definition),
        record,
    );
    results.facts.extend(plan.ending(&results));
    results.missing.extend(plan.left_out(&left_out));
    Ok(results)
}

impl<'a> Bench<'a> {
    fn new(
        plan: &'a Plan<'a>,
        engine: &'a Elsewhere<'a>,
        turns: VecDeque<Turn>,
        record: Record,
        (stop, told): (Stop<'a>, Told<'a>),
    ) -> Self {
        Self {
            plan,
            engine,
            count: turns.len(),
            queue: Mutex::new(turns),
            record: Mutex::new(record),
            longest: Mutex::default(),
            left_out: Mutex::default(),
            began: Instant::now(),
            last_told: Mutex::new(None),
            stop,
            told,
        }
    }

    /// Measures all turns, some at the same time if the definition says so.
    fn measure(&self) -> Result<()> {
        let workers = self.plan.definition.at_once.max(1);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(|| self.work())).collect();
            let ends = workers.into_iter().map(|worker| worker.join());
            ends.map(|end| end.unwrap_or_else(|_| Err(stopped())))
                .collect::<Result<Vec<()>>>()
        })?;
        Ok(())
    }

    /// Measures turns until the queue is empty.
    fn work(&self) -> Result<()> {
        loop {
            let Some(turn) = lock(&self.queue).pop_front() else {
                return Ok(());
            };
            let is_pointless = {
                let record = lock(&self.record);
                record.is_over(&turn) || self.plan.gave_up(&turn, &record)
            };
            if self.plan.is_over() || is_pointless {
                continue;
            }
            if !self.plan.has_time_for(self.expected(&turn)) {
                lock(&self.left_out).push(turn);
                continue;
            }
            let taken = self.take(&turn);
            if taken.is_err() {
                // Makes the other workers end, too.
                lock(&self.queue).clear();
                return taken;
            }
        }
    }

    /// Time that a turn may take: as long as the longest of its case. Of the first of its case nothing is known but
    /// that turns take as long as in the quickest case at least.
    fn expected(&self, turn: &Turn) -> Duration {
        let longest = lock(&self.longest);
        let least = || longest.values().min().copied().unwrap_or_default();
        longest.get(&turn.case).copied().unwrap_or_else(least)
    }

    /// Measures a turn. If it fails, it is repeated once if there is time; if it fails again, the run continues without
    /// it.
    fn take(&self, turn: &Turn) -> Result<()> {
        let began = Instant::now();
        let mut outcome = self.once(turn)?;
        let took = began.elapsed();
        let mut longest = lock(&self.longest);
        let longest_of_case = longest.entry(turn.case.clone()).or_default();
        *longest_of_case = took.max(*longest_of_case);
        drop(longest);
        if let Outcome::Failure(why) = &outcome
            && self.plan.has_time_for(took)
        {
            let words = format!("{}, {}: {why}; once more", turn.case, turn.system);
            (self.told)(&Progress { words, left: None });
            outcome = self.once(turn)?;
        }
        self.tell(turn, &outcome);
        lock(&self.record).add(turn.clone(), outcome)
    }

    /// Reports the result of the turn, the number of turns, and the remaining time. If several turns succeed within a
    /// second, only the first is reported.
    fn tell(&self, turn: &Turn, outcome: &Outcome) {
        let (said, is_good) = match outcome {
            Outcome::Sample(sample) if sample.lacks.is_empty() => (self.said(sample), true),
            Outcome::Sample(sample) => (sample.lacks.join("; "), false),
            Outcome::Failure(why) => (format!("left out: {why}"), false),
        };
        let done = self.count - lock(&self.queue).len();
        let mut last_told = lock(&self.last_told);
        let is_soon = last_told.is_some_and(|last| last.elapsed() < PROGRESS);
        if is_good && is_soon && done < self.count {
            return;
        }
        *last_told = Some(Instant::now());
        let left = self.remaining(done);
        let words = match done == self.count {
            true => String::new(),
            false => format!(", {} left", time(left)),
        };
        (self.told)(&Progress {
            words: format!(
                "{done} of {}{words}: round {}, {}, {}: {said}",
                self.count,
                turn.round + 1,
                turn.case,
                turn.system
            ),
            left: Some(left),
        });
    }

    fn once(&self, turn: &Turn) -> Result<Outcome> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        match self.engine.measure(turn, self.plan.definition.seconds, self.stop) {
            Ok(sample) => Ok(Outcome::Sample(sample)),
            Err(failure) if self.stop.load(Ordering::Relaxed) => Err(failure),
            Err(failure) => Ok(Outcome::Failure(failure.to_string())),
        }
    }

    /// The values of a sample in the columns that findings use; without findings, in the first column with a value.
    fn said(&self, sample: &Sample) -> String {
        let columns = &self.plan.columns;
        let found = columns.iter().any(|column| column.finding.is_some());
        let figures = columns.iter().filter(|column| column.finding.is_some() || !found);
        let said = figures.filter_map(|column| {
            let figure = column.figure(&[(0, sample)], &[])?;
            Some(format!(
                "{} {} {}",
                column.title,
                column.written(figure.median),
                column.unit
            ))
        });
        said.take(if found { usize::MAX } else { 1 })
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// The estimated time for the remaining turns, at the speed of the previous ones.
    fn remaining(&self, done: usize) -> Duration {
        let share = (self.count - done) as f64 / done.max(1) as f64;
        let left = self.began.elapsed().mul_f64(share);
        let until_end = self
            .plan
            .ends()
            .map(|end| end.saturating_duration_since(Instant::now()));
        until_end.map_or(left, |until_end| until_end.min(left))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::column::Column;
    use crate::harness::experiment::Opened;

    /// Fails for the named system, and is stopped after some turns.
    struct Fake {
        fails: &'static str,
    }

    impl Engine for Fake {
        fn suits(&self, case: &Entry, system: &Entry) -> bool {
            (case.name.as_str(), system.name.as_str()) != ("a", "y")
        }

        fn measure(&self, turn: &Turn, _: f64, stop: Stop<'_>) -> Result<Sample> {
            if turn.case == self.fails {
                return Err(Failure::new(FailureKind::Network, "no route", "none"));
            }
            // Stands for Ctrl-C in round 1.
            stop.fetch_or(turn.round == 1, Ordering::Relaxed);
            Ok(Sample::default().with("ms", 1.0 + turn.round as f64))
        }
    }

    const DEFINITION: &str = "experiment = \"fake\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 3\n\
        seconds = 1\n[[case]]\nname = \"a\"\n[[case]]\nname = \"b\"\n[[system]]\nname = \"x\"\n\
        [[system]]\nname = \"y\"\n";

    fn fake() -> Experiment {
        Experiment {
            name: "fake",
            definition: DEFINITION,
            open: |_, _| Ok(Opened::new(Fake { fails: "b" })),
            columns: || vec![Column::median("ms", "time", "ms")],
            charts: |_| Vec::new(),
            complete: None,
        }
    }

    #[test]
    fn a_run_that_was_stopped_goes_on_and_takes_again_only_what_failed() {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let stop = AtomicBool::new(false);
        let told = Mutex::new(Vec::new());
        let tell = |progress: &Progress| lock(&told).push(progress.to_string());
        assert!(
            run(&fake(), &definition, folder.path(), &stop, &tell).is_err(),
            "it was stopped"
        );
        let before = lock(&told).len();
        assert!(before > 0);

        stop.store(false, Ordering::Relaxed);
        let mut rest = definition.clone();
        rest.rounds = 2;
        let results = run(&fake(), &rest, folder.path(), &stop, &tell);
        // If round 1 is not in the record, it is measured again and stops the run again.
        let results = match results {
            Ok(results) => results,
            Err(_) => {
                stop.store(false, Ordering::Relaxed);
                run(&fake(), &rest, folder.path(), &stop, &tell).expect("it goes on")
            }
        };
        let samples: Vec<usize> = results.rows.iter().map(|row| row.samples.len()).collect();
        assert_eq!(
            samples,
            [2],
            "x in the case a, in two rounds; y does not suit it, b fails"
        );
        assert_eq!(results.missing.len(), 4, "{:?}", results.missing);
        assert!(results.missing[0].contains("no route"), "{:?}", results.missing);
        let said = lock(&told).join("\n");
        assert!(
            said.contains("turns are in the record already") && said.contains(" left"),
            "{said}"
        );
    }

    /// Too slow for the case `a`.
    struct Slow;

    impl Engine for Slow {
        fn measure(&self, turn: &Turn, _: f64, _: Stop<'_>) -> Result<Sample> {
            let sample = Sample::default().with("ms", 1.0);
            Ok(match turn.case.as_str() {
                "a" => Sample {
                    last: true,
                    ..Sample::default().lacking("too slow".to_owned())
                },
                _ => sample,
            })
        }
    }

    #[test]
    fn what_is_over_after_the_first_round_is_named_once_and_not_measured_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let slow = Experiment {
            open: |_, _| Ok(Opened::new(Slow)),
            ..fake()
        };
        let told = Mutex::new(Vec::new());
        let tell = |progress: &Progress| lock(&told).push(progress.to_string());
        let stop = AtomicBool::new(false);
        let results = run(&slow, &definition, folder.path(), &stop, &tell).expect("it is measured");
        assert_eq!(results.missing, ["x in a: too slow", "y in a: too slow"]);
        let cases: Vec<(&str, usize)> = results
            .rows
            .iter()
            .map(|row| (&*row.case.name, row.samples.len()))
            .collect();
        assert_eq!(cases, [("b", 3), ("b", 3)], "no row without a figure");
        let turns = std::fs::read_to_string(folder.path().join("record.jsonl"))
            .expect("a record")
            .lines()
            .count()
            - 1;
        assert_eq!(turns, 2 + 2 * 3);

        run(&slow, &definition, folder.path(), &stop, &tell).expect("it is complete");
        let said = lock(&told).join("\n");
        assert!(said.contains("12 of 12 turns are in the record already"), "{said}");
    }
}
