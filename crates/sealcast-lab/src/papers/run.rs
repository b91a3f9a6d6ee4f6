//! Measures the experiments of the papers one after another, each into its folder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, Result};

use super::evidence;
use crate::harness::number::time;
use crate::harness::process::stopped;
use crate::harness::{self, Definition, Experiment, Progress};

/// An experiment to measure, as its own command would.
pub(crate) struct Step {
    pub(crate) experiment: &'static Experiment,
    pub(crate) definition: Definition,
    pub(crate) folder: PathBuf,
}

/// Measures all experiments that are not in their records already. One that cannot be measured does not end the others:
/// its folder says why. Returns the failures.
///
/// # Errors
/// `stop` became true, or a folder cannot be written.
pub(crate) fn measure(
    steps: &[Step],
    stop: &AtomicBool,
    told: &(dyn Fn(&str) + Sync),
) -> Result<Vec<(String, Failure)>> {
    let mut failures = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let name = step.experiment.name;
        let clock = Clock::new(step, &steps[at + 1..]);
        let tell = |progress: &Progress| {
            told(&format!(
                "experiment {} of {}, {name}: {}; all: {} left",
                at + 1,
                steps.len(),
                progress.words,
                time(clock.left(progress))
            ));
        };
        let measured = harness::run(step.experiment, &step.definition, &step.folder, stop, &tell);
        if stop.load(Ordering::Relaxed) {
            return Err(stopped());
        }
        evidence::note(&step.folder, measured.as_ref().err())?;
        if let Err(failure) = measured {
            told(&format!("experiment {} of {}, {name}: {failure}", at + 1, steps.len()));
            failures.push((name.to_owned(), failure));
        }
    }
    Ok(failures)
}

/// The remaining time of everything: of the running experiment as it estimates it, of the others as planned.
struct Clock {
    began: Instant,
    planned: Duration,
    others: Duration,
    /// The last estimate of the running experiment, and when it was made.
    last: Mutex<Option<(Duration, Instant)>>,
}

impl Clock {
    fn new(step: &Step, others: &[Step]) -> Self {
        Self {
            began: Instant::now(),
            planned: planned(step),
            others: others.iter().map(planned).sum(),
            last: Mutex::new(None),
        }
    }

    fn left(&self, progress: &Progress) -> Duration {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(left) = progress.left {
            *last = Some((left, Instant::now()));
        }
        let own = match *last {
            Some((left, told)) => left.saturating_sub(told.elapsed()),
            None => self.planned.saturating_sub(self.began.elapsed()),
        };
        own + self.others
    }
}

/// The time that an experiment takes, without what its record has already.
fn planned(step: &Step) -> Duration {
    let left = 1.0 - harness::share_done(&step.folder, step.definition.rounds);
    Duration::try_from_secs_f64(step.definition.takes_seconds * left).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::process::Stop;
    use crate::harness::{Column, Engine, Opened, Sample, Turn};

    const DEFINITION: &str = "experiment = \"fake\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 2\n\
        seconds = 1\ntakes_seconds = 3600\n[[case]]\nname = \"a\"\n[[system]]\nname = \"x\"\n";

    struct Fake;

    impl Engine for Fake {
        fn measure(&self, _: &Turn, _: f64, _: Stop<'_>) -> Result<Sample> {
            Ok(Sample::default().with("ms", 1.0))
        }
    }

    const GOOD: Experiment = Experiment {
        name: "good",
        definition: DEFINITION,
        open: |_, _| Ok(Opened::new(Fake)),
        columns: || vec![Column::median("ms", "time", "ms")],
        charts: |_| Vec::new(),
        complete: None,
    };
    static FINE: Experiment = GOOD;
    static BROKEN: Experiment = Experiment {
        name: "broken",
        open: |_, _| {
            Err(Failure::new(
                sealcast::failure::FailureKind::Network,
                "no route",
                "none",
            ))
        },
        ..GOOD
    };

    fn step(experiment: &'static Experiment, out: &std::path::Path) -> Step {
        Step {
            experiment,
            definition: Definition::parse(DEFINITION).expect("it is right"),
            folder: out.join(experiment.name),
        }
    }

    #[test]
    fn an_experiment_that_fails_does_not_end_the_others_and_says_why_until_it_succeeds() {
        let out = tempfile::tempdir().expect("a folder");
        let told = Mutex::new(Vec::new());
        let tell = |words: &str| told.lock().expect("unpoisoned").push(words.to_owned());
        let steps = [step(&BROKEN, out.path()), step(&FINE, out.path())];
        let failures = measure(&steps, &AtomicBool::new(false), &tell).expect("not stopped");
        assert_eq!(failures.len(), 1);
        assert_eq!(
            (failures[0].0.as_str(), failures[0].1.what.as_str()),
            ("broken", "no route")
        );
        let failure = out.path().join("broken/failure.txt");
        let why = std::fs::read_to_string(&failure).expect("it says why");
        assert!(why.contains("no route"), "{why}");
        assert!(
            out.path().join("good/record.jsonl").exists(),
            "the next one was measured"
        );
        let said = told.into_inner().expect("unpoisoned").join("\n");
        assert!(
            said.contains("experiment 2 of 2, good: 2 of 2") && said.contains("; all: 0 s left"),
            "{said}"
        );

        let again = Step {
            experiment: &FINE,
            folder: out.path().join("broken"),
            ..step(&BROKEN, out.path())
        };
        measure(&[again], &AtomicBool::new(false), &|_| {}).expect("not stopped");
        assert!(!failure.exists(), "it was measured now");
    }

    #[test]
    fn what_is_in_a_record_takes_no_time() {
        let out = tempfile::tempdir().expect("a folder");
        let one = step(&FINE, out.path());
        assert_eq!(planned(&one), Duration::from_secs(3600));
        measure(std::slice::from_ref(&one), &AtomicBool::new(false), &|_| {}).expect("not stopped");
        assert_eq!(planned(&one), Duration::ZERO);
    }

    #[test]
    fn a_signal_ends_everything() {
        let out = tempfile::tempdir().expect("a folder");
        let steps = [step(&FINE, out.path()), step(&FINE, out.path())];
        assert!(measure(&steps, &AtomicBool::new(true), &|_| {}).is_err());
        assert_eq!(
            harness::share_done(&out.path().join("good"), 2),
            0.0,
            "nothing was measured"
        );
    }
}
