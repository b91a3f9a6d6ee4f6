//! Number of rounds that a run has: that of its definition, or as many as it takes to know by how much a build is
//! worse.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::column::Column;
use super::definition::{Definition, Entry};
use super::judged::{self, Judged};
use super::number::time;
use super::record::Record;
use super::results::Results;
use super::turn::Turn;

/// Rounds after which a run that goes on until it knows looks for the first time: as many as a limit of 99.5 % takes,
/// and as many in each order.
const FIRST: usize = 8;

/// Plan of what is measured, and for how long.
pub(crate) struct Plan<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) columns: Vec<Column>,
    /// When the time of a run is over that goes on until it knows.
    end: Option<Instant>,
    /// When the time of a run is over that leaves out what does not fit in.
    limit: Option<Instant>,
}

impl<'a> Plan<'a> {
    /// A plan whose time began then.
    pub(crate) fn new(definition: &'a Definition, columns: Vec<Column>, began: Instant) -> Self {
        let after = |seconds: f64| began + Duration::from_secs_f64(seconds);
        Self {
            definition,
            columns,
            end: definition.until.map(|until| after(until.seconds)),
            limit: definition.within_seconds.map(after),
        }
    }

    /// True if a turn that takes this long ends in time when it begins now.
    pub(crate) fn has_time_for(&self, turn: Duration) -> bool {
        self.limit.is_none_or(|limit| Instant::now() + turn < limit)
    }

    /// The turns that were left out, in words.
    pub(crate) fn left_out(&self, turns: &[Turn]) -> Vec<String> {
        let (Some(seconds), Some(_)) = (self.definition.within_seconds, turns.first()) else {
            return Vec::new();
        };
        let mut systems: Vec<&str> = turns.iter().map(|turn| turn.system.as_str()).collect();
        systems.sort_unstable();
        systems.dedup();
        let cases = |system: &str| {
            let own = turns.iter().filter(|turn| turn.system == system);
            let mut cases: Vec<&str> = own.map(|turn| turn.case.as_str()).collect();
            cases.sort_unstable();
            cases.dedup();
            cases.join(", ")
        };
        let why = format!(
            "left out, since it would not end within {} on this machine now; the same command with --out goes on \
             from its record, and more is measured without --quick",
            time(Duration::from_secs_f64(seconds))
        );
        systems
            .into_iter()
            .map(|system| format!("{system} in {}: {why}", cases(system)))
            .collect()
    }

    /// The rounds after those that were measured: all of the definition, or if the run goes on until it knows, as many
    /// as a limit takes, and then two at a time, one the reverse of the other. `None` at the end.
    pub(crate) fn next(&self, record: &Record, measured: &Range<usize>) -> Option<Range<usize>> {
        match self.definition.until {
            None if measured.end == 0 => Some(0..self.definition.rounds),
            None => None,
            Some(_) if self.is_over() => None,
            Some(_) if measured.end == 0 => Some(0..FIRST),
            Some(_) => {
                let mut cases = self.definition.cases.iter();
                let asked = cases.any(|case| self.asks_for(case, record, measured.end));
                asked.then(|| measured.end..measured.end + 2)
            }
        }
    }

    /// True if the round is measured in this case.
    pub(crate) fn asks_for(&self, case: &Entry, record: &Record, round: usize) -> bool {
        let Some(until) = self.definition.until else {
            return true;
        };
        round == 0 || judged::is_open(self.definition, &self.columns, &case.name, until.bound, record)
    }

    /// True if time is short, and this system has failed in this case already, or all that it is judged beside.
    pub(crate) fn gave_up(&self, turn: &Turn, record: &Record) -> bool {
        let failed = |system: &str| record.never_succeeded(&turn.case, system);
        let mut others = self.definition.beside(&turn.system).peekable();
        self.definition.until.is_some() && (failed(&turn.system) || others.peek().is_some() && others.all(failed))
    }

    /// When the run ends at the latest.
    pub(crate) fn ends(&self) -> Option<Instant> {
        self.end.or(self.limit)
    }

    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Reason why a run ended that goes on until it knows.
    pub(crate) fn ending(&self, results: &Results) -> Option<(String, String)> {
        let until = self.definition.until?;
        let all = judged::judged(results);
        let is_open = |judged: &&Judged| judged.verdict(until.bound) == judged::OPEN;
        let words = match (all.len(), all.iter().filter(is_open).count()) {
            (0, _) => "nothing that is judged could be measured".to_owned(),
            (_, 0) => "every judged figure is shown to be worse by at most the bound, or by more".to_owned(),
            (_, open) => {
                let time = time(Duration::from_secs_f64(until.seconds));
                format!("the time of {time} was over, or builds could not be measured; open: {open}")
            }
        };
        Some(("ended because".to_owned(), words))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use sealcast::failure::{Failure, FailureKind, Result};

    use super::*;
    use crate::harness::column::Better;
    use crate::harness::definition::Until;
    use crate::harness::experiment::{Engine, Experiment, Opened};
    use crate::harness::judged::judged;
    use crate::harness::process::Stop;
    use crate::harness::run::run;
    use crate::harness::sample::Sample;

    /// Two builds of a system: alike in the case `same`; the one slower by a tenth in `slow`; the other fails in
    /// `broken`.
    struct Made;

    impl Engine for Made {
        fn measure(&self, turn: &Turn, _: f64, _: Stop<'_>) -> Result<Sample> {
            if turn.case == "broken" && turn.system == "other" {
                return Err(Failure::new(FailureKind::Network, "no route", "none"));
            }
            let slow = if (turn.case.as_str(), turn.system.as_str()) == ("slow", "one") {
                1.1
            } else {
                1.0
            };
            // Up to two per cent off, differently in each round and for each build, but in no round alike for all.
            let off = (turn.round * 7 + turn.system.len() * 3) % 5;
            Ok(Sample::default().with("ms", slow * (1.0 + off as f64 * 0.005)))
        }
    }

    const DEFINITION: &str = "experiment = \"made\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 1\n\
        seconds = 1\n[[case]]\nname = \"same\"\n[[case]]\nname = \"slow\"\n[[case]]\nname = \"broken\"\n\
        [[system]]\nname = \"one\"\n[[system]]\nname = \"other\"\n\
        [[against]]\nsystem = \"one\"\nother = \"other\"\n";

    const MADE: Experiment = Experiment {
        name: "made",
        definition: DEFINITION,
        open: |_, _| Ok(Opened::new(Made)),
        columns: || vec![Column::median("ms", "time", "ms").judged(Better::Less)],
        charts: |_| Vec::new(),
        complete: None,
    };

    fn results(bound: f64, seconds: f64) -> Results {
        measured(Definition::parse(DEFINITION).expect("it is right"), bound, seconds)
    }

    fn measured(mut definition: Definition, bound: f64, seconds: f64) -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        definition.until = Some(Until { bound, seconds });
        run(&MADE, &definition, folder.path(), &AtomicBool::new(false), &|_| {}).expect("it is measured")
    }

    fn ended_because(results: &Results) -> &str {
        let fact = results.facts.iter().find(|(name, _)| name == "ended because");
        fact.map_or("", |(_, why)| why)
    }

    #[test]
    fn a_run_ends_when_each_figure_is_shown_to_keep_the_bound_or_to_break_it() {
        let found = results(0.03, 600.0);
        let all = judged(&found);
        let verdict = |case: &str| {
            let own = all.iter().find(|judged| judged.case == case);
            own.map_or("-", |judged| judged.verdict(0.03))
        };
        assert_eq!([verdict("same"), verdict("slow")], ["within", "WORSE"], "{all:?}");
        let rounds = |case| found.row(case, "one").map_or(0, |row| row.samples.len());
        assert_eq!((rounds("same"), rounds("slow")), (FIRST, FIRST));
        assert!(rounds("broken") <= 1, "what it is judged beside failed");
        assert!(
            found.missing.iter().any(|missing| missing.contains("no route")),
            "{:?}",
            found.missing
        );
    }

    #[test]
    fn a_run_says_why_it_ended() {
        let only = |case: &str, bound| {
            let mut definition = Definition::parse(DEFINITION).expect("it is right");
            definition.only(&[case.to_owned()]).expect("it is there");
            ended_because(&measured(definition, bound, 600.0)).to_owned()
        };
        assert!(
            only("same", 0.03).starts_with("every judged figure"),
            "{}",
            only("same", 0.03)
        );
        assert_eq!(
            ended_because(&results(0.03, 0.0)),
            "nothing that is judged could be measured"
        );
    }

    #[test]
    fn a_turn_that_would_not_end_in_time_is_left_out_and_named() {
        let within = |seconds| {
            let mut definition = Definition::parse(DEFINITION).expect("it is right");
            definition.only(&["same".to_owned()]).expect("it is there");
            definition.within_seconds = Some(seconds);
            let folder = tempfile::tempdir().expect("a folder");
            run(&MADE, &definition, folder.path(), &AtomicBool::new(false), &|_| {}).expect("it ends")
        };
        let all = within(600.0);
        assert_eq!((all.rows.len(), all.missing.len()), (2, 0), "{:?}", all.missing);
        let none = within(0.0);
        assert!(none.rows.is_empty());
        let of_one = none.missing.iter().find(|missing| missing.starts_with("one in same: "));
        assert!(
            of_one.is_some_and(|missing| missing.contains("left out")),
            "{:?}",
            none.missing
        );

        let mut definition = Definition::parse(DEFINITION).expect("it is right");
        definition.within_seconds = Some(60.0);
        let plan = Plan::new(&definition, Vec::new(), Instant::now());
        let [short, long] = [1, 3600].map(Duration::from_secs);
        assert_eq!((plan.has_time_for(short), plan.has_time_for(long)), (true, false));
    }

    #[test]
    fn a_tighter_bound_takes_more_rounds_of_the_cases_that_need_them() {
        let found = results(0.003, 600.0);
        let rounds = |case| found.row(case, "one").map_or(0, |row| row.samples.len());
        assert!(rounds("same") > FIRST && rounds("same") % 2 == 0, "{}", rounds("same"));
        assert_eq!(rounds("slow"), FIRST);
    }
}
