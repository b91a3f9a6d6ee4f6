//! Findings in sentences: each relevant difference between the subject and a rival.

use super::column::{Better, Column};
use super::compared::{Compared, ROUNDS, Shown};
use super::controls::Controls;
use super::definition::Target;
use super::number::written;
use super::results::{Results, Row};
use super::statistics::Estimate;

/// One sentence for each rival: all columns with a relevant difference, and those without. If there is no subject, one
/// sentence for each shown case: the best system. Comparisons of fewer rounds than a finding takes make none.
pub(crate) fn headline(results: &Results) -> Vec<String> {
    let subject = &results.definition.subject;
    let controls = Controls::of(results);
    if subject.is_empty() {
        return leaders(results, &controls)
            .into_iter()
            .filter_map(|leader| leader.sentence())
            .collect();
    }
    let rivals = results.definition.rivals.iter();
    rivals
        .filter_map(|rival| {
            let parts: Vec<String> = results
                .columns
                .iter()
                .filter_map(|column| {
                    let mut compared = compared(results, &controls, column, rival);
                    compared.retain(|compared| !matches!(compared.shown(), Shown::Open | Shown::Withheld));
                    (!compared.is_empty()).then(|| summed_up(column, &compared))
                })
                .collect();
            (!parts.is_empty()).then(|| format!("{subject} beside {rival}: {}.", parts.join("; ")))
        })
        .collect()
}

/// Reasons why comparisons make no finding, and what nothing checks; empty if all make one.
pub(crate) fn withheld(results: &Results) -> Vec<String> {
    let controls = Controls::of(results);
    let all: Vec<Compared<'_>> = match results.definition.subject.is_empty() {
        true => leaders(results, &controls)
            .into_iter()
            .flat_map(|leader| leader.others)
            .collect(),
        false => of_subject(results, &controls),
    };
    let (open, enough): (Vec<_>, Vec<_>) = all.iter().partition(|compared| compared.shown() == Shown::Open);
    let most = open.iter().map(|compared| compared.rounds).max();
    let few = most.map(|most| {
        format!(
            "{} of {} comparisons have fewer rounds than the {ROUNDS} that a finding takes ({most} at most), so they \
             are figures without a finding. To find: {} --rounds {ROUNDS}",
            open.len(),
            all.len(),
            results.command
        )
    });
    let unchecked = if enough.is_empty() {
        Vec::new()
    } else {
        controls.remarks()
    };
    few.into_iter().chain(unchecked).collect()
}

/// The best system of a case by a column, beside the others.
struct Leader<'a> {
    best: &'a str,
    figure: Estimate,
    /// The others in their order, each as the best compares with it.
    names: Vec<&'a str>,
    others: Vec<Compared<'a>>,
    /// The figure of the next.
    second: Estimate,
}

/// For each case of the terminal and each column with a finding: the best system beside the others.
fn leaders<'a>(results: &'a Results, controls: &Controls<'_>) -> Vec<Leader<'a>> {
    let cases = &results.definition.terminal_cases;
    let shown = |row: &&Row| cases.is_empty() || cases.contains(&row.case.name);
    let shown: Vec<&Row> = results.rows.iter().filter(shown).collect();
    let mut leaders = Vec::new();
    for rows in shown.chunk_by(|a, b| a.case.name == b.case.name) {
        for (at, column) in results.columns.iter().enumerate() {
            let Some(finding) = column.finding else { continue };
            let takes_part = |row: &&&Row| !row.samples.is_empty() && row.system.name != results.definition.baseline;
            let measured = rows.iter().filter(takes_part);
            let mut ranked: Vec<(&Row, Estimate)> = measured.filter_map(|row| Some((*row, row.figures[at]?))).collect();
            ranked.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
            if matches!(finding.better, Better::More) {
                ranked.reverse();
            }
            leaders.extend(Leader::of(column, controls, &ranked));
        }
    }
    leaders
}

impl<'a> Leader<'a> {
    /// Of systems in order of a column, the best first; `None` if there is one at most.
    fn of(column: &'a Column, controls: &Controls<'_>, ranked: &[(&'a Row, Estimate)]) -> Option<Self> {
        let [(best, figure), others @ ..] = ranked else {
            return None;
        };
        let compared = others
            .iter()
            .filter_map(|(row, _)| Some((row.system.name.as_str(), controls.compared(column, best, row)?)));
        let (names, others): (Vec<_>, Vec<_>) = compared.unzip();
        Some(Self {
            best: &best.system.name,
            figure: *figure,
            second: ranked.get(1)?.1,
            names,
            others,
        })
    }

    /// The best system, and those that are not told apart from it, or the next; `None` if rounds are too few to tell.
    fn sentence(&self) -> Option<String> {
        let first = self.others.first()?;
        let is_open = |compared: &Compared<'_>| matches!(compared.shown(), Shown::Open | Shown::Withheld);
        if self.others.iter().any(is_open) {
            return None;
        }
        let (case, column) = (first.case, first.column);
        let superlative = match first.finding.better {
            Better::More => "highest",
            Better::Less => "lowest",
        };
        let all = self.names.iter().zip(&self.others);
        let alike = all.filter(|(_, compared)| compared.shown() == Shown::Alike);
        let beside: Vec<&str> = alike.map(|(name, _)| *name).collect();
        let rest = match beside[..] {
            [] => format!("next is {} with {}", self.names[0], column.written(self.second.median)),
            _ => format!("not told apart from {}", beside.join(", ")),
        };
        let value = column.written(self.figure.median);
        Some(format!(
            "{case}: {} is {superlative} with {}, {value} {}; {rest}.",
            column.title, self.best, column.unit
        ))
    }
}

/// One line for each comparison.
pub(crate) fn details(results: &Results) -> Vec<String> {
    let controls = Controls::of(results);
    let mut details = Vec::new();
    for rival in &results.definition.rivals {
        let all = results
            .columns
            .iter()
            .flat_map(|column| compared(results, &controls, column, rival));
        details.extend(all.map(|compared| compared.detail(&results.definition.subject, rival)));
    }
    details
}

/// The subject beside each rival in each case and column.
fn of_subject<'a>(results: &'a Results, controls: &Controls<'_>) -> Vec<Compared<'a>> {
    let rivals = results.definition.rivals.iter();
    rivals
        .flat_map(|rival| {
            let columns = results.columns.iter();
            columns.flat_map(move |column| compared(results, controls, column, rival))
        })
        .collect()
}

/// The subject beside a rival by a column, in each case that has both.
fn compared<'a>(results: &'a Results, controls: &Controls<'_>, column: &'a Column, rival: &str) -> Vec<Compared<'a>> {
    let cases = results.definition.cases.iter();
    cases
        .filter_map(|case| {
            let own = results.row(&case.name, &results.definition.subject)?;
            controls.compared(column, own, results.row(&case.name, rival)?)
        })
        .collect()
}

/// A column over all cases: where the subject has less, where more, and where there is no difference.
fn summed_up(column: &Column, all: &[Compared<'_>]) -> String {
    let parts: Vec<String> = [
        (Shown::Less, "less"),
        (Shown::More, "more"),
        (Shown::Alike, "not told apart"),
    ]
    .into_iter()
    .filter_map(|(shown, words)| {
        let own: Vec<&Compared<'_>> = all.iter().filter(|compared| compared.shown() == shown).collect();
        let first = own.first()?;
        let size = match shown {
            Shown::Alike => String::new(),
            _ => format!(" ({})", range(first, &own)),
        };
        Some(match all.len() {
            1 => format!("{words}{size}"),
            count => format!("{words} in {} of {count} cases{size}", own.len()),
        })
    })
    .collect();
    format!("{} {}", column.title, parts.join(", "))
}

fn range(first: &Compared<'_>, all: &[&Compared<'_>]) -> String {
    let sizes = all.iter().map(|compared| compared.size());
    let least = written(sizes.clone().fold(f64::INFINITY, f64::min), first.digits());
    let most = written(sizes.fold(f64::NEG_INFINITY, f64::max), first.digits());
    let size = if least == most {
        least
    } else {
        format!("{least} to {most}")
    };
    match first.finding.ratio {
        true => format!("{size} times as much"),
        false => format!("by {size} {}", first.unit()).trim_end().to_owned(),
    }
}

/// Reports if the systems of each target reach it: those that it names, or else the subject and each of its variants
/// (`subject with …`).
pub(crate) fn targets(results: &Results) -> Vec<String> {
    let subject = &results.definition.subject;
    let variant = format!("{subject} ");
    let own = |row: &Row| row.system.name == *subject || row.system.name.starts_with(&variant);
    let applies = |target: &Target, row: &Row| match target.systems[..] {
        [] => own(row),
        ref named => named.contains(&row.system.name),
    };
    let mut judged = Vec::new();
    for row in &results.rows {
        let targets = results
            .definition
            .targets
            .iter()
            .filter(|target| target.cases.contains(&row.case.name) && applies(target, row));
        judged.extend(targets.filter_map(|target| judge(results, row, target)));
    }
    judged
}

fn judge(results: &Results, row: &Row, target: &Target) -> Option<String> {
    let at = results.columns.iter().position(|column| column.key == target.column)?;
    let (column, figure) = (&results.columns[at], row.figures[at]?);
    let value = figure.median * column.scale;
    let holds = |wanted: f64| (figure.low * column.scale..=figure.high * column.scale).contains(&wanted);
    let met = target.at_most.is_none_or(|most| value <= most)
        && target.at_least.is_none_or(|least| value >= least)
        && target.holds.is_none_or(holds);
    let bounds = [
        ("at most", target.at_most),
        ("at least", target.at_least),
        ("an interval that holds", target.holds),
    ];
    let bounds: Vec<String> = bounds
        .iter()
        .filter_map(|(words, bound)| Some(format!("{words} {} {}", written((*bound)?, column.digits), column.unit)))
        .collect();
    let interval = match figure.low == figure.high {
        true => String::new(),
        false => format!(" ({} to {})", column.written(figure.low), column.written(figure.high)),
    };
    Some(format!(
        "{}, {}: {} of {} is {}: {}{interval}",
        row.case.name,
        row.system.name,
        column.title,
        bounds.join(" and ").trim_end(),
        if met { "met" } else { "missed" },
        column.written(figure.median),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::definition::Definition;
    use crate::harness::record::{Header, Outcome, Record};
    use crate::harness::sample::Sample;
    use crate::harness::turn::Turn;

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 7\n\
        seconds = 1\nsubject = \"ours\"\nrivals = [\"theirs\"]\n[[target]]\ncases = [\"near\"]\ncolumn = \"ms\"\n\
        at_most = 5.0\n[[case]]\nname = \"near\"\n[[case]]\nname = \"far\"\n[[system]]\nname = \"ours\"\n\
        [[system]]\nname = \"theirs\"\n";

    fn results(values: &[(&str, &str, f64)]) -> Results {
        results_of(DEFINITION, values)
    }

    fn results_of(definition: &str, values: &[(&str, &str, f64)]) -> Results {
        measured(definition, ROUNDS, values)
    }

    /// Made records: in odd rounds all systems take half a millisecond more.
    fn measured(definition: &str, rounds: usize, values: &[(&str, &str, f64)]) -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(definition).expect("it is right");
        let header = Header::new(&definition, Vec::new(), Vec::new());
        let mut record = Record::open(folder.path(), header).expect("new");
        for round in 0..rounds {
            let drift = if round % 2 == 1 { 0.5 } else { 0.0 };
            for &(case, system, ms) in values {
                let turn = Turn {
                    round,
                    case: case.to_owned(),
                    system: system.to_owned(),
                };
                let sample = Sample::default()
                    .with("ms", ms + drift)
                    .with_series("good", vec![0.9, 1.0]);
                record.add(turn, Outcome::Sample(sample)).expect("written");
            }
        }
        let columns = vec![
            Column::share("good", "good", "share shown", 30).found(Better::More, 0.1),
            Column::median("ms", "delay", "ms").found(Better::Less, 1.0),
        ];
        Results::new(definition, columns, Vec::new(), record)
    }

    #[test]
    fn every_difference_that_matters_is_named_with_its_range() {
        let found = results(&[
            ("near", "ours", 4.0),
            ("near", "theirs", 130.0),
            ("far", "ours", 20.0),
            ("far", "theirs", 138.0),
        ]);
        let headline = headline(&found);
        assert_eq!(
            headline,
            [
                "ours beside theirs: share shown not told apart in 2 of 2 cases; delay less in 2 of 2 cases (by 118.0 \
                 to 126.0 ms)."
            ]
        );
        assert!(
            details(&found)
                .iter()
                .any(|line| line.contains("far: delay of ours against theirs: −118.0 ms, 7 rounds"))
        );
        assert_eq!(
            targets(&found),
            ["near, ours: delay of at most 5.0 ms is met: 4.0 (4.0 to 4.5)"]
        );
    }

    #[test]
    fn a_target_can_be_for_other_systems_and_for_an_interval() {
        let judged = |systems: &str, holds: &str| {
            let words = format!("column = \"ms\"\nsystems = [{systems}]\nholds = {holds}\n");
            let definition = DEFINITION.replace("column = \"ms\"\nat_most = 5.0\n", &words);
            targets(&results_of(
                &definition,
                &[("near", "ours", 4.0), ("near", "theirs", 130.0)],
            ))
        };
        assert_eq!(
            judged("\"theirs\"", "130.2"),
            ["near, theirs: delay of an interval that holds 130.2 ms is met: 130.0 (130.0 to 130.5)"]
        );
        assert!(judged("\"theirs\"", "129.0")[0].contains("is missed"));
        assert!(judged("", "4.5")[0].starts_with("near, ours: "));
    }

    #[test]
    fn without_a_subject_the_best_system_of_each_case_is_named() {
        let definition = DEFINITION.replace("subject = \"ours\"\nrivals = [\"theirs\"]\n", "");
        let values = [
            ("near", "ours", 4.0),
            ("near", "theirs", 4.3),
            ("far", "ours", 20.0),
            ("far", "theirs", 13.0),
        ];
        let sentences = headline(&results_of(&definition, &values));
        let has = |words: &str| sentences.iter().any(|sentence| sentence == words);
        assert!(
            has("near: delay is lowest with ours, 4.0 ms; not told apart from theirs."),
            "{sentences:?}"
        );
        assert!(
            has("far: delay is lowest with theirs, 13.0 ms; next is ours with 20.0."),
            "{sentences:?}"
        );
    }

    #[test]
    fn a_difference_that_matters_to_nobody_is_none() {
        let found = results(&[("near", "ours", 130.9), ("near", "theirs", 130.0)]);
        assert!(
            headline(&found)[0].ends_with("delay not told apart."),
            "{:?}",
            headline(&found)
        );
        assert!(targets(&found)[0].contains("is missed"), "{:?}", targets(&found));
    }

    #[test]
    fn what_swings_from_round_to_round_is_not_told_apart() {
        // In odd rounds each value is half a millisecond higher, and `ours` swings by 4 ms around `theirs` besides.
        let swings = |at: usize| [12.0, 8.0, 12.0, 8.0, 12.0, 8.0, 12.5][at];
        let made = |own: &dyn Fn(usize) -> f64| {
            let mut found = results(&[("near", "ours", 10.0), ("near", "theirs", 10.0)]);
            for (round, sample) in &mut found.rows[0].samples {
                sample.values.insert("ms".to_owned(), own(*round));
            }
            headline(&found).concat()
        };
        assert!(made(&swings).ends_with("delay not told apart."), "{}", made(&swings));
        // The same values to one side of it are a difference.
        let above = |at: usize| swings(at) + 4.0;
        assert!(made(&above).contains("delay more"), "{}", made(&above));
    }

    #[test]
    fn the_method_names_tests_that_are_there() {
        let method = include_str!("../../../../docs/method.md");
        let table = method
            .split("| sentence | tests |")
            .nth(1)
            .and_then(|rest| rest.split("\n\n").next());
        let names: Vec<&str> = table.expect("the table").split('`').skip(1).step_by(2).collect();
        let sources = [
            include_str!("findings.rs"),
            include_str!("controls.rs"),
            include_str!("judged.rs"),
        ]
        .concat();
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            assert!(
                sources.contains(&format!("#[test]\n    fn {name}()")),
                "{name} is no test"
            );
        }
    }

    #[test]
    fn fewer_rounds_than_seven_find_nothing_and_the_command_that_would_is_named() {
        let far_apart = [("near", "ours", 4.0), ("near", "theirs", 130.0)];
        for subject in [
            DEFINITION,
            &DEFINITION.replace("subject = \"ours\"\nrivals = [\"theirs\"]\n", ""),
        ] {
            let (few, enough) = (measured(subject, 6, &far_apart), measured(subject, 7, &far_apart));
            assert_eq!(headline(&few), Vec::<String>::new());
            let said = withheld(&few).concat();
            assert!(
                said.contains("comparisons have fewer rounds") && said.ends_with("sealcast-lab e --rounds 7"),
                "{said}"
            );
            assert!(!headline(&enough).is_empty());
            assert_eq!(withheld(&enough), Vec::<String>::new());
        }
    }
}
