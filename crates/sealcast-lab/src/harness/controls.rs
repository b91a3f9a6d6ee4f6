//! Controls: comparisons whose result is known beforehand. A measurement that gets them wrong finds nothing.

use sealcast::meter::statistics::Confidence;

use super::column::Column;
use super::compared::{Compared, ROUNDS};
use super::definition::Control;
use super::number::signed;
use super::results::{Results, Row};

/// A control by one column.
struct Checked<'a> {
    control: &'a Control,
    compared: Compared<'a>,
}

impl Checked<'_> {
    /// True if there are rounds enough to judge it.
    fn is_measured(&self) -> bool {
        self.compared.rounds >= ROUNDS
    }

    /// True if the interval misses what is known.
    fn fails(&self) -> bool {
        let (known, seen) = (self.compared.even() + self.control.adds, self.compared.more);
        let is_held = seen.low <= known + self.control.within && known - self.control.within <= seen.high;
        self.is_measured() && !is_held
    }

    fn words(&self) -> String {
        let Control {
            system,
            other,
            adds,
            within,
            ..
        } = self.control;
        let unit = self.compared.unit();
        let digits = self.compared.column.digits;
        let known = match (*adds == 0.0, *within == 0.0) {
            (true, _) => "the same".to_owned(),
            (false, true) => format!("{} {unit}", signed(*adds, digits)),
            (false, false) => format!("{} {unit} \u{b1} {within}", signed(*adds, digits)),
        };
        let verdict = match (self.is_measured(), self.fails()) {
            (false, _) => "too few rounds to judge it",
            (true, true) => "fails",
            (true, false) => "holds",
        };
        format!("{}; known: {known}: {verdict}", self.compared.words(system, other))
    }
}

/// The controls of a run.
pub(crate) struct Controls<'a> {
    checked: Vec<Checked<'a>>,
    /// Number of controls that the definition names.
    named: usize,
}

impl<'a> Controls<'a> {
    pub(crate) fn of(results: &'a Results) -> Self {
        let controls = &results.definition.controls;
        let checked = controls.iter().flat_map(|control| {
            let columns = results.columns.iter();
            columns.filter_map(move |column| check(results, control, column))
        });
        Self {
            checked: checked.collect(),
            named: controls.len(),
        }
    }

    /// Two systems beside each other by a column, without a finding if its controls fail.
    pub(crate) fn compared<'b>(&self, column: &'b Column, own: &'b Row, other: &Row) -> Option<Compared<'b>> {
        let is_its = |checked: &&Checked<'_>| checked.compared.column.key == column.key;
        let is_withheld = self.fails() || self.checked.iter().filter(is_its).any(Checked::fails);
        let compared = Compared::of(column, own, other, Confidence::P95)?;
        Some(Compared {
            is_withheld,
            ..compared
        })
    }

    /// The titles of the columns that are controlled, and of those whose control fails.
    fn columns(&self) -> [Vec<&'static str>; 2] {
        let titles = |is_it: fn(&&Checked<'_>) -> bool| {
            let mut titles: Vec<_> = self
                .checked
                .iter()
                .filter(is_it)
                .map(|one| one.compared.column.title)
                .collect();
            titles.dedup();
            titles.sort_unstable();
            titles.dedup();
            titles
        };
        [
            titles(|checked| checked.is_measured()),
            titles(|checked| checked.fails()),
        ]
    }

    /// True if the run finds nothing: more than a quarter of what is controlled fails.
    fn fails(&self) -> bool {
        let [controlled, failed] = self.columns();
        failed.len() * 4 > controlled.len()
    }

    /// Remarks on why findings are withheld, and on whether nothing checks them.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let [controlled, failed] = self.columns();
        let (names, all) = (failed.join(", "), controlled.len());
        let again = "Measure again on a quieter machine, or with more rounds.";
        if self.fails() {
            let count = failed.len();
            return vec![format!(
                "This run finds nothing: {count} of {all} controlled figures fail their control ({names}). {again}"
            )];
        }
        let mut remarks = Vec::new();
        if !failed.is_empty() {
            remarks.push(format!("No findings by {names}, since a control fails. {again}"));
        }
        if self.named > 0 && controlled.is_empty() {
            remarks.push(format!(
                "No control was measured in {ROUNDS} rounds, so nothing checks these findings."
            ));
        }
        remarks
    }

    /// A line for each control by each column, and whether it fails.
    pub(crate) fn lines(&self) -> Vec<(String, bool)> {
        let line = |checked: &Checked<'_>| (checked.words(), checked.fails());
        self.checked.iter().map(line).collect()
    }
}

/// A control by a column; `None` if it does not check the column, or was not measured.
fn check<'a>(results: &'a Results, control: &'a Control, column: &'a Column) -> Option<Checked<'a>> {
    if !control.column.is_empty() && control.column != column.key {
        return None;
    }
    let own = results.row(&control.case, &control.system)?;
    let other = results.row(&control.case, &control.other)?;
    let compared = Compared::of(column, own, other, Confidence::P99)?;
    Some(Checked { control, compared })
}

#[cfg(test)]
mod tests {
    use crate::harness::column::{Better, Column};
    use crate::harness::definition::Definition;
    use crate::harness::findings::{headline, withheld};
    use crate::harness::record::{Header, Outcome, Record};
    use crate::harness::results::Results;
    use crate::harness::sample::Sample;
    use crate::harness::turn::Turn;

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 7\n\
        subject = \"ours\"\nrivals = [\"theirs\"]\n[[case]]\nname = \"near\"\n[[case]]\nname = \"check\"\n\
        [[system]]\nname = \"ours\"\n[[system]]\nname = \"theirs\"\n[[system]]\nname = \"again\"\n\
        [[system]]\nname = \"late\"\n\
        [[control]]\ncase = \"check\"\nsystem = \"again\"\nother = \"theirs\"\n\
        [[control]]\ncase = \"check\"\nsystem = \"late\"\nother = \"theirs\"\ncolumn = \"delay\"\nadds = 5.0\n\
        within = 0.1\n";
    const METRICS: [&str; 5] = ["delay", "cpu", "memory", "bytes", "energy"];

    /// Fault of a made measurement.
    #[derive(Clone, Copy, Default)]
    struct Wrong {
        /// By how much the same system differs from itself, in the first so many metrics.
        by: f64,
        metrics: usize,
        /// Part of the delay of 5 that is not seen.
        unseen: f64,
        /// Rounds that are missing of seven.
        fewer: usize,
        without_controls: bool,
    }

    /// `ours` truly takes 2 less than `theirs`, by every metric. All vary by a tenth from round to round.
    fn made(wrong: Wrong) -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let mut record = Record::open(folder.path(), Header::new(&definition, Vec::new(), Vec::new())).expect("new");
        let systems = [
            ("near", "ours"),
            ("near", "theirs"),
            ("check", "theirs"),
            ("check", "again"),
            ("check", "late"),
        ];
        for round in 0..7 - wrong.fewer {
            for (case, system) in systems {
                if case == "check" && wrong.without_controls {
                    continue;
                }
                let sample = METRICS
                    .iter()
                    .enumerate()
                    .fold(Sample::default(), |sample, (at, metric)| {
                        let off = ((round * 7 + system.len() * 3 + at) % 5) as f64 * 0.05 - 0.1;
                        let more = match system {
                            "ours" => -2.0,
                            "again" if at < wrong.metrics => wrong.by,
                            "late" if at == 0 => 5.0 - wrong.unseen,
                            _ => 0.0,
                        };
                        sample.with(metric, 10.0 + more + off)
                    });
                let turn = Turn {
                    round,
                    case: case.to_owned(),
                    system: system.to_owned(),
                };
                record.add(turn, Outcome::Sample(sample)).expect("written");
            }
        }
        let columns = METRICS.map(|metric| Column::median(metric, metric, "ms").found(Better::Less, 1.0));
        Results::new(definition, columns.into(), Vec::new(), record)
    }

    #[test]
    fn a_finding_is_there_when_it_is_true_and_its_controls_hold_and_only_then() {
        let right = Wrong::default();
        let table = [
            ("true, and all controls hold", right, &METRICS[..], ""),
            (
                "a control that is off by less than rounds vary",
                Wrong {
                    by: 0.01,
                    metrics: 5,
                    ..right
                },
                &METRICS[..],
                "",
            ),
            (
                "six rounds",
                Wrong { fewer: 1, ..right },
                &[],
                "fewer rounds than the 7",
            ),
            (
                "one metric differs from itself",
                Wrong {
                    by: 1.0,
                    metrics: 1,
                    ..right
                },
                &METRICS[1..],
                "No findings by delay, since a control fails",
            ),
            (
                "half of an added delay is not seen",
                Wrong { unseen: 2.5, ..right },
                &METRICS[1..],
                "No findings by delay, since a control fails",
            ),
            (
                "more than a quarter of the metrics differ from themselves",
                Wrong {
                    by: -1.0,
                    metrics: 2,
                    ..right
                },
                &[],
                "This run finds nothing: 2 of 5 controlled figures",
            ),
            (
                "no control was measured",
                Wrong {
                    without_controls: true,
                    ..right
                },
                &METRICS[..],
                "nothing checks these findings",
            ),
        ];
        for (what, wrong, found, why) in table {
            let results = made(wrong);
            let (sentences, said) = (headline(&results).concat(), withheld(&results).concat());
            for metric in METRICS {
                let finding = format!("{metric} less (by 2.0 ms)");
                let is_there = sentences.contains(&finding);
                assert_eq!(is_there, found.contains(&metric), "{what}: {metric}: {sentences}");
            }
            assert!(
                said.contains(why) && (said.is_empty() == why.is_empty()),
                "{what}: {said}"
            );
        }
    }

    #[test]
    fn each_control_is_told_with_what_is_known_and_what_was_seen() {
        let lines = |wrong| super::Controls::of(&made(wrong)).lines();
        let all = lines(Wrong {
            unseen: 2.5,
            ..Wrong::default()
        });
        assert_eq!(all.len(), METRICS.len() + 1);
        assert!(all[0].0.contains("delay of again against theirs") && all[0].0.ends_with("known: the same: holds"));
        let (late, fails) = all.last().expect("it was measured");
        assert!(*fails && late.ends_with("known: +5.0 ms \u{b1} 0.1: fails"), "{late}");
        let few = lines(Wrong {
            fewer: 1,
            ..Wrong::default()
        });
        assert!(
            few.iter()
                .all(|(words, fails)| !fails && words.ends_with("too few rounds to judge it"))
        );
    }
}
