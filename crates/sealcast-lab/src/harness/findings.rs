//! Findings in sentences: each relevant difference between the subject and a rival.

use super::column::{Better, Column, Finding};
use super::definition::Target;
use super::number::{signed, written};
use super::results::{Results, Row};
use super::statistics::Estimate;

/// A comparison of the subject with a rival in one case and one column.
struct Compared<'a> {
    case: &'a str,
    column: &'a Column,
    finding: Finding,
    more: Estimate,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Less,
    More,
    /// The interval includes "no difference", or the difference is irrelevant in practice.
    Alike,
}

impl Compared<'_> {
    /// A single round has no interval. Then the observed difference is reported, with a note that it is from one
    /// round.
    fn shown(&self) -> Shown {
        let even = if self.finding.ratio { 1.0 } else { 0.0 };
        match self.more {
            more if (more.median - even).abs() < self.finding.matters => Shown::Alike,
            more if more.low > even => Shown::More,
            more if more.high < even => Shown::Less,
            _ => Shown::Alike,
        }
    }

    fn unit(&self) -> &'static str {
        match self.column.unit {
            "%" => "points",
            unit => unit,
        }
    }

    /// The size of the difference, without its sign.
    fn size(&self) -> f64 {
        if self.finding.ratio {
            self.more.median
        } else {
            self.more.median.abs()
        }
    }

    fn digits(&self) -> usize {
        match self.finding.ratio {
            true if self.more.median < 0.1 => 4,
            true => 2,
            false => self.column.digits,
        }
    }

    /// A line for the list of all comparisons.
    fn detail(&self, subject: &str, rival: &str) -> String {
        let Estimate { median, low, high } = self.more;
        let digits = self.digits();
        let say = |value: f64| match self.finding.ratio {
            true => written(value, digits),
            false => signed(value, digits),
        };
        let unit = if self.finding.ratio { "times" } else { self.unit() };
        let judged = match (self.shown(), self.finding.better) {
            (Shown::Alike, _) => "not told apart",
            (Shown::Less, Better::Less) | (Shown::More, Better::More) => "better",
            _ => "worse",
        };
        let interval = match low == high {
            true => "one round, no interval".to_owned(),
            false => format!("{} to {}", say(low), say(high)),
        };
        format!(
            "{}: {} of {subject} against {rival}: {} {unit} ({interval}): {judged}",
            self.case,
            self.column.title,
            say(median)
        )
    }
}

/// One sentence for each rival: all columns with a relevant difference, and those without. If there is no subject, one
/// sentence for each shown case: the best system.
pub(crate) fn headline(results: &Results) -> Vec<String> {
    let subject = &results.definition.subject;
    if subject.is_empty() {
        return leaders(results);
    }
    let rivals = results.definition.rivals.iter();
    rivals
        .filter_map(|rival| {
            let parts: Vec<String> = results
                .columns
                .iter()
                .filter_map(|column| {
                    let compared = compared(results, column, rival);
                    (!compared.is_empty()).then(|| summed_up(column, &compared))
                })
                .collect();
            let once = once(results);
            (!parts.is_empty()).then(|| format!("{subject} beside {rival}: {}.{once}", parts.join("; ")))
        })
        .collect()
}

/// The note on results of a single round, which have no intervals.
fn once(results: &Results) -> &'static str {
    match results.rounds() {
        1 => " One round: see whether it holds.",
        _ => "",
    }
}

/// For each case of the terminal and each column with a finding: the best system, and those that are not told apart
/// from it, or the next.
fn leaders(results: &Results) -> Vec<String> {
    let cases = &results.definition.terminal_cases;
    let shown = |row: &&Row| cases.is_empty() || cases.contains(&row.case.name);
    let shown: Vec<&Row> = results.rows.iter().filter(shown).collect();
    let mut sentences = Vec::new();
    for rows in shown.chunk_by(|a, b| a.case.name == b.case.name) {
        for (at, column) in results.columns.iter().enumerate() {
            let Some(finding) = column.finding else { continue };
            let takes_part = |row: &&&Row| !row.samples.is_empty() && row.system.name != results.definition.baseline;
            let measured = rows.iter().filter(takes_part);
            let mut ranked: Vec<(&str, Estimate)> = measured
                .filter_map(|row| Some((row.system.name.as_str(), row.figures[at]?)))
                .collect();
            ranked.sort_by(|a, b| a.1.median.total_cmp(&b.1.median));
            if matches!(finding.better, Better::More) {
                ranked.reverse();
            }
            sentences.extend(leader(&rows[0].case.name, column, finding, &ranked));
        }
    }
    sentences.into_iter().map(|sentence| sentence + once(results)).collect()
}

/// The sentence about systems in order of a column, the best first.
fn leader(case: &str, column: &Column, finding: Finding, ranked: &[(&str, Estimate)]) -> Option<String> {
    let [(best, figure), others @ ..] = ranked else {
        return None;
    };
    let (next, second) = others.first()?;
    let superlative = match finding.better {
        Better::More => "highest",
        Better::Less => "lowest",
    };
    let alike = |other: &Estimate| other.low <= figure.high && figure.low <= other.high;
    let beside: Vec<&str> = others
        .iter()
        .filter(|(_, other)| alike(other))
        .map(|(name, _)| *name)
        .collect();
    let rest = match beside[..] {
        [] => format!("next is {next} with {}", column.written(second.median)),
        _ => format!("not told apart from {}", beside.join(", ")),
    };
    let value = column.written(figure.median);
    Some(format!(
        "{case}: {} is {superlative} with {best}, {value} {}; {rest}.",
        column.title, column.unit
    ))
}

/// One line for each comparison.
pub(crate) fn details(results: &Results) -> Vec<String> {
    let mut details = Vec::new();
    for rival in &results.definition.rivals {
        let all = results
            .columns
            .iter()
            .flat_map(|column| compared(results, column, rival));
        details.extend(all.map(|compared| compared.detail(&results.definition.subject, rival)));
    }
    details
}

fn compared<'a>(results: &'a Results, column: &'a Column, rival: &str) -> Vec<Compared<'a>> {
    let Some(finding) = column.finding else {
        return Vec::new();
    };
    let cases = results.definition.cases.iter();
    cases
        .filter_map(|case| {
            let own = results.row(&case.name, &results.definition.subject)?;
            let other = results.row(&case.name, rival)?;
            let more = column.compared(finding, &own.lent(), &other.lent())?;
            Some(Compared {
                case: &case.name,
                column,
                finding,
                more,
            })
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

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 2\n\
        seconds = 1\nsubject = \"ours\"\nrivals = [\"theirs\"]\n[[target]]\ncases = [\"near\"]\ncolumn = \"ms\"\n\
        at_most = 5.0\n[[case]]\nname = \"near\"\n[[case]]\nname = \"far\"\n[[system]]\nname = \"ours\"\n\
        [[system]]\nname = \"theirs\"\n";

    fn results(values: &[(&str, &str, f64)]) -> Results {
        results_of(DEFINITION, values)
    }

    fn results_of(definition: &str, values: &[(&str, &str, f64)]) -> Results {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(definition).expect("it is right");
        let header = Header::new(&definition, Vec::new(), Vec::new());
        let mut record = Record::open(folder.path(), header).expect("new");
        for (round, drift) in [0.0, 0.5].into_iter().enumerate() {
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
                .any(|line| line.contains("far: delay of ours against theirs: −118.0 ms"))
        );
        assert_eq!(
            targets(&found),
            ["near, ours: delay of at most 5.0 ms is met: 4.2 (4.0 to 4.5)"]
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
            ["near, theirs: delay of an interval that holds 130.2 ms is met: 130.2 (130.0 to 130.5)"]
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
            has("near: delay is lowest with ours, 4.2 ms; not told apart from theirs."),
            "{sentences:?}"
        );
        assert!(
            has("far: delay is lowest with theirs, 13.2 ms; next is ours with 20.2."),
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
}
