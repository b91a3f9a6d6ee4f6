//! Two builds of a system beside each other: not whether a difference is shown, but how much worse the one can be.

use super::column::Column;
use super::definition::{Against, Definition};
use super::ratio::Ratio;
use super::record::Record;
use super::results::{Results, samples};
use super::{markdown, number};

/// The confidence with which a limit is told.
pub(crate) const CONFIDENCE: f64 = 0.95;
/// The confidence at which a run that goes on until it knows may end before its time. Who looks again and again sees a
/// limit of 95 % kept by chance sooner or later; with this one the whole run errs in 6 of 100, which a test shows.
const EARLY: f64 = 0.995;
/// The verdicts: it is worse by at most the bound, by more, or neither is shown.
pub(crate) const WITHIN: &str = "within";
pub(crate) const WORSE: &str = "WORSE";
pub(crate) const OPEN: &str = "open";
/// Confidence of each end of an interval of 95 %.
const END: f64 = 0.975;

/// One figure of two builds.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The case.
    pub case: String,
    /// The names of both systems.
    pub against: Against,
    /// The figure, with its unit.
    pub head: String,
    /// The medians of the one and of the other, as reports show them.
    pub figures: [String; 2],
    /// Ratio that says how many times as bad the one is; `None` if no round has both.
    pub ratio: Option<Ratio>,
}

impl Judged {
    /// Share by which it is worse at most; `None` if there are too few rounds to tell.
    pub fn at_most(&self) -> Option<f64> {
        Some(self.ratio.as_ref()?.at_most(CONFIDENCE)? - 1.0)
    }

    /// Share by which it is worse at least.
    pub fn at_least(&self) -> Option<f64> {
        Some(self.ratio.as_ref()?.at_least(CONFIDENCE)? - 1.0)
    }

    /// Answer as far as it is known: is it worse by more than `bound`?
    pub fn verdict(&self, bound: f64) -> &'static str {
        match (self.at_least(), self.at_most()) {
            (_, Some(most)) if most <= bound => WITHIN,
            (Some(least), _) if least > bound => WORSE,
            _ => OPEN,
        }
    }

    /// The cells of its line in a table, with the verdict if there is a bound.
    pub fn line(&self, bound: Option<f64>) -> Vec<String> {
        let percent = |share: f64| number::signed(share * 100.0, 1);
        let ratio = self.ratio.as_ref();
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let interval = ratio.and_then(|ratio| Some([ratio.at_least(END)?, ratio.at_most(END)?]));
        let mut line = vec![self.case.clone(), self.against.system.clone(), self.head.clone()];
        line.extend(self.figures.clone());
        line.push(or_dash(ratio.map(|ratio| number::written(ratio.middle(), 3))));
        line.push(or_dash(interval.map(|ends| {
            let [low, high] = ends.map(|end| number::written(end, 3));
            format!("{low} to {high}")
        })));
        line.push(or_dash(self.at_most().map(percent)));
        line.push(ratio.map_or(0, |ratio| ratio.rounds).to_string());
        line.extend(bound.map(|bound| self.verdict(bound).to_owned()));
        line
    }
}

/// The head of the table of [`Judged::line`].
pub(crate) fn head(bound: Option<f64>) -> Vec<String> {
    let columns = [
        "case",
        "system",
        "figure",
        "this",
        "that",
        "times as bad",
        "95 %",
        "at most % worse, 95 %",
        "rounds",
    ];
    let mut head: Vec<String> = columns.map(str::to_owned).into();
    head.extend(bound.map(|bound| format!("{} %", number::written(bound * 100.0, 1))));
    head
}

/// All judged figures of these results, in the order of cases, systems and columns.
pub(crate) fn judged(results: &Results) -> Vec<Judged> {
    let definition = &results.definition;
    let mut all = Vec::new();
    for case in &definition.cases {
        for against in &definition.against {
            let rows = [&against.system, &against.other].map(|name| results.row(&case.name, name));
            let places = (0..results.columns.len()).filter(|&at| results.columns[at].judged.is_some());
            for (at, column) in places.map(|at| (at, &results.columns[at])) {
                let figures = rows.map(|row| Some(column.written(row?.figures[at]?.median)));
                if figures == [None, None] {
                    continue;
                }
                let ratio = rows[0].zip(rows[1]).and_then(|(own, other)| {
                    let ratios = column.times_as_bad(&own.lent(), &other.lent());
                    Ratio::of(&ratios)
                });
                all.push(Judged {
                    case: case.name.clone(),
                    against: against.clone(),
                    head: column.head(),
                    figures: figures.map(|figure| figure.unwrap_or_else(|| "-".to_owned())),
                    ratio,
                });
            }
        }
    }
    all
}

/// True if more rounds of this case are asked for: a figure of it is neither shown to keep the bound nor to break it.
pub(crate) fn is_open(definition: &Definition, columns: &[Column], case: &str, bound: f64, record: &Record) -> bool {
    definition.against.iter().any(|against| {
        let [own, other] = [&against.system, &against.other].map(|name| samples(record, case, name));
        let judged = columns.iter().filter(|column| column.judged.is_some());
        let mut ratios = judged.filter_map(|column| Ratio::of(&column.times_as_bad(&own, &other)));
        ratios.any(|ratio| !is_shown(&ratio, bound))
    })
}

/// True if so much is known that no further round is needed.
fn is_shown(ratio: &Ratio, bound: f64) -> bool {
    let is_within = ratio.at_most(EARLY).is_some_and(|most| most <= 1.0 + bound);
    let is_beyond = ratio.at_least(EARLY).is_some_and(|least| least > 1.0 + bound);
    is_within || is_beyond
}

/// The judged figures as a table in Markdown; empty if there is none.
pub(crate) fn text(results: &Results) -> String {
    let bound = results.definition.until.map(|until| until.bound);
    let lines: Vec<Vec<String>> = judged(results).iter().map(|judged| judged.line(bound)).collect();
    if lines.is_empty() {
        return String::new();
    }
    let builds = results.definition.against.iter().map(|against| against.other.as_str());
    let builds: Vec<&str> = builds.collect();
    let all = [vec![head(bound)], lines].concat();
    format!(
        "\nThis build beside {}: above 1 is worse\n\n{}",
        builds.join(", "),
        markdown::aligned(&all, 3)
    )
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;
    use crate::harness::column::Better;
    use crate::harness::record::{Header, Outcome};
    use crate::harness::sample::Sample;
    use crate::harness::turn::Turn;

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 1\n\
        [[case]]\nname = \"c\"\n[[system]]\nname = \"one\"\n[[system]]\nname = \"other\"\n\
        [[against]]\nsystem = \"one\"\nother = \"other\"\n[until]\nbound = 0.03\nseconds = 60\n";

    fn columns() -> Vec<Column> {
        vec![
            Column::median("ms", "time", "ms").judged(Better::Less),
            Column::median("rate", "rate", "a second").judged(Better::More),
            Column::median("bytes", "length", "bytes"),
        ]
    }

    /// A measurement's error: a spread of 2 %, and in one of ten rounds 10 %.
    fn error(random: &mut Random) -> f64 {
        let spread = if random.chance(0.1) { 0.1 } else { 0.02 };
        let even: f64 = (0..12).map(|_| random.uniform(0..1_000_000) as f64 * 1e-6 - 0.5).sum();
        (even * spread).exp()
    }

    /// A record of two builds of which the first takes `times` as long as the second.
    fn results(times: f64, rounds: usize, random: &mut Random) -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let mut record = Record::open(folder.path(), Header::new(&definition, Vec::new(), Vec::new())).expect("new");
        for round in 0..rounds {
            for (system, times) in [("one", times), ("other", 1.0)] {
                let turn = Turn {
                    round,
                    case: "c".to_owned(),
                    system: system.to_owned(),
                };
                let sample = Sample::default()
                    .with("ms", 5.0 * times * error(random))
                    .with("rate", 30.0 / times * error(random))
                    .with("bytes", 1.0);
                record.add(turn, Outcome::Sample(sample)).expect("written");
            }
        }
        Results::new(definition, columns(), Vec::new(), record)
    }

    #[test]
    fn a_build_that_is_4_per_cent_slower_is_caught_and_the_same_build_is_not() {
        let mut random = Random::new(3);
        for _ in 0..10 {
            for judged in judged(&results(1.04, 30, &mut random)) {
                assert!(judged.at_least().expect("enough rounds") > 0.0, "{judged:?}");
                assert_ne!(judged.verdict(0.01), WITHIN, "{judged:?}");
            }
            for judged in judged(&results(1.0, 30, &mut random)) {
                assert_ne!(judged.verdict(0.03), WORSE, "{judged:?}");
                assert!(judged.at_most().expect("enough rounds") < 0.04, "{judged:?}");
            }
        }
    }

    #[test]
    fn the_table_has_a_line_for_each_judged_figure_and_says_where_rounds_are_too_few() {
        let mut random = Random::new(4);
        let lines = |rounds, random: &mut Random| text(&results(1.1, rounds, random));
        let many = lines(16, &mut random);
        assert_eq!(
            many.matches("| c ").count(),
            2,
            "a figure without a direction is not judged: {many}"
        );
        assert!(
            many.contains("at most % worse, 95 %") && many.contains("WORSE"),
            "{many}"
        );
        let few = lines(4, &mut random);
        assert!(few.contains("| - ") || few.contains(" - |"), "{few}");
        assert_eq!(few.matches(OPEN).count(), 2, "{few}");
    }

    #[test]
    fn who_looks_after_every_two_rounds_is_wrong_no_more_often_than_was_said() {
        let mut random = Random::new(5);
        let bound = 0.03;
        let mut kept = 0;
        let all = 600;
        for _ in 0..all {
            let mut ratios = Vec::new();
            let ratio = loop {
                let two = [(); 2].map(|()| (1.0 + bound) * error(&mut random));
                ratios.extend(two);
                let ratio = Ratio::of(&ratios).expect("rounds");
                if ratios.len() >= 40 || is_shown(&ratio, bound) {
                    break ratio;
                }
            };
            kept += usize::from(ratio.at_most(CONFIDENCE).is_some_and(|most| most <= 1.0 + bound));
        }
        assert!(kept * 100 <= all * 8, "{kept} of {all} builds at the bound pass");
    }
}
