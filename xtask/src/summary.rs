//! Steps, their outcomes, and the table at the end.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::skips::Skips;

/// The outcome of a step; the text has details for readers. Its first line stands in the table, and the others, of a
/// step that failed, after it: what is printed in the middle of so much output is not found again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Ok(String),
    Failed(String),
    Skipped(String),
}

impl Outcome {
    pub(crate) fn ok() -> Self {
        Self::Ok(String::new())
    }

    /// Success or failure of a command.
    pub(crate) fn of(result: Result<(), String>) -> Self {
        match result {
            Ok(()) => Self::ok(),
            Err(reason) => Self::Failed(reason),
        }
    }

    /// As [`Self::of`] for tests, with those that were skipped.
    pub(crate) fn of_tests(result: Result<Skips, String>) -> Self {
        match result {
            Ok(skips) => Self::Ok(skips.note()),
            Err(reason) => Self::Failed(reason),
        }
    }

    fn words(&self) -> (&'static str, &str) {
        let (word, note) = match self {
            Self::Ok(note) => ("ok", note),
            Self::Failed(note) => ("FAILED", note),
            Self::Skipped(note) => ("SKIPPED", note),
        };
        (word, note.lines().next().unwrap_or_default())
    }

    /// The end of what a failed step said.
    fn end(&self) -> Option<&str> {
        let Self::Failed(note) = self else { return None };
        Some(note.split_once('\n')?.1).filter(|end| !end.trim().is_empty())
    }
}

/// A step: its name, and what it does.
pub(crate) type Step = (&'static str, fn() -> Outcome);

pub(crate) struct Summary {
    rows: Vec<(&'static str, Outcome, Duration)>,
    began: Instant,
}

impl Default for Summary {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            began: Instant::now(),
        }
    }
}

impl Summary {
    /// Runs one step and prints its outcome. Returns true unless it failed.
    pub(crate) fn step(&mut self, name: &'static str, run: impl FnOnce() -> Outcome) -> bool {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = run();
        self.record(name, outcome, start.elapsed())
    }

    /// Runs one step, and others beside it, those of each lane one after the other: for steps that wait most of the
    /// time. Returns true unless one of them failed.
    pub(crate) fn step_beside<'a>(&mut self, (name, run): Step, lanes: &[&'a [Step]]) -> bool {
        let timed = |&(name, run): &Step| {
            println!("\n== {name}, beside");
            let start = Instant::now();
            (name, run(), start.elapsed())
        };
        std::thread::scope(|scope| {
            let started = |steps: &&'a [Step]| {
                let steps = *steps;
                scope.spawn(move || steps.iter().map(timed).collect::<Vec<_>>())
            };
            let lanes: Vec<_> = lanes.iter().map(started).collect();
            let mut went_well = self.step(name, run);
            for lane in lanes {
                match lane.join() {
                    Ok(steps) => {
                        for (name, outcome, wall) in steps {
                            went_well &= self.record(name, outcome, wall);
                        }
                    }
                    Err(_) => {
                        let panicked = Outcome::Failed("a step panicked".to_owned());
                        went_well &= self.record("beside", panicked, Duration::ZERO);
                    }
                }
            }
            went_well
        })
    }

    pub(crate) fn skip(&mut self, name: &'static str, reason: &str) {
        self.record(name, Outcome::Skipped(reason.to_owned()), Duration::ZERO);
    }

    fn record(&mut self, name: &'static str, outcome: Outcome, wall: Duration) -> bool {
        let failed = matches!(outcome, Outcome::Failed(_));
        let (word, note) = outcome.words();
        let colon = if note.is_empty() { "" } else { ": " };
        println!("== {name} {word}{colon}{note} ({:.1} s)", wall.as_secs_f64());
        self.rows.push((name, outcome, wall));
        !failed
    }

    /// The counts as `N passed, N failed, N skipped`.
    fn count(&self) -> (String, bool) {
        let mut counts = [0_usize; 3];
        for (_, outcome, _) in &self.rows {
            let place = match outcome {
                Outcome::Ok(_) => 0,
                Outcome::Failed(_) => 1,
                Outcome::Skipped(_) => 2,
            };
            counts[place] += 1;
        }
        let [passed, failed, skipped] = counts;
        (
            format!("{passed} passed, {failed} failed, {skipped} skipped"),
            failed > 0,
        )
    }

    /// Prints the table; its last line counts the steps.
    pub(crate) fn finish(self) -> ExitCode {
        println!("\n{:<10} {:<8} {:>8}  note", "step", "outcome", "seconds");
        for (name, outcome, wall) in &self.rows {
            let (word, note) = outcome.words();
            println!("{name:<10} {word:<8} {:>8.1}  {note}", wall.as_secs_f64());
        }
        println!("{:<10} {:<8} {:>8.1}", "all", "", self.began.elapsed().as_secs_f64());
        for (name, outcome, _) in &self.rows {
            if let Some(end) = outcome.end() {
                println!("\n== what {name} said last\n{end}\n");
            }
        }
        let (line, failed) = self.count();
        println!("{line}");
        if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_what_a_failed_step_said_is_kept_for_after_the_table() {
        let failed = Outcome::Failed("it ended with 1\nnot ok: first\nwhy".to_owned());
        assert_eq!(failed.words(), ("FAILED", "it ended with 1"));
        assert_eq!(failed.end(), Some("not ok: first\nwhy"));
        assert_eq!(Outcome::Failed("it ended with 1\n".to_owned()).end(), None);
        assert_eq!(Outcome::Ok("one\ntwo".to_owned()).end(), None);
    }

    #[test]
    fn one_failure_fails_the_whole() {
        let mut summary = Summary::default();
        assert!(summary.step("first", Outcome::ok));
        summary.skip("second", "for a reason");
        assert_eq!(summary.count(), ("1 passed, 0 failed, 1 skipped".to_owned(), false));
        assert!(!summary.step("third", || Outcome::of(Err("broken".to_owned()))));
        assert_eq!(summary.count(), ("1 passed, 1 failed, 1 skipped".to_owned(), true));
    }

    #[test]
    fn one_failure_beside_a_step_fails_the_whole() {
        let mut summary = Summary::default();
        let broken: Step = ("broken", || Outcome::of(Err("broken".to_owned())));
        assert!(summary.step_beside(("first", Outcome::ok), &[&[("second", Outcome::ok)]]));
        assert!(!summary.step_beside(
            ("third", Outcome::ok),
            &[&[broken, ("fourth", Outcome::ok)], &[("fifth", Outcome::ok)]]
        ));
        assert_eq!(summary.count(), ("5 passed, 1 failed, 0 skipped".to_owned(), true));
    }
}
