//! The claims of a paper, each with a verdict: does it hold here?

use std::fmt::Write;

use super::data::{Beside, Claim, Comparison, Needed, Other};
use super::evidence::{Evidence, Measured};
use crate::harness::html::{escape, prose};
use crate::harness::number::{signed, written};
use crate::harness::statistics::Estimate;
use crate::harness::{Column, Results, Row};

/// The rounds that a verdict needs: if there is no difference, all of six rounds lie on one side of nothing in 3 of 100
/// records, of five in 6.
const LEAST_ROUNDS: usize = 6;

/// Verdict of our figures on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Holds,
    DoesNotHold,
    /// The interval of a difference has nothing in it.
    NotToldApart,
    TooFewRounds,
    NotMeasured,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotToldApart => "not told apart",
            Self::TooFewRounds => "not judged: too few rounds",
            Self::NotMeasured => "not measured",
        }
    }

    /// The words as a badge, in the colours of the states of items.
    fn badge(self) -> String {
        let class = match self {
            Self::Holds => "measured",
            Self::DoesNotHold => "not-measured",
            Self::NotToldApart => "partly",
            Self::TooFewRounds | Self::NotMeasured => "later",
        };
        format!("<span class=\"state s-{class}\">{}</span>", self.words())
    }

    /// That of a claim, from those of all that it says. One part that is shown to be wrong makes it wrong.
    fn of_all(parts: &[Self]) -> Self {
        let order = [
            Self::DoesNotHold,
            Self::NotMeasured,
            Self::TooFewRounds,
            Self::NotToldApart,
        ];
        let found = order.into_iter().find(|verdict| parts.contains(verdict));
        found.unwrap_or(if parts.is_empty() {
            Self::NotMeasured
        } else {
            Self::Holds
        })
    }
}

/// A comparison of a record.
struct Judged {
    verdict: Verdict,
    words: String,
}

/// The values of a row in each round, in the unit of the report.
fn of_rounds(results: &Results, column: &Column, row: &Row) -> Vec<(usize, f64)> {
    let reference = column.reference(&results.definition.baseline);
    let reference = reference.and_then(|name| results.row(&row.case.name, name));
    let reference = reference.map(Row::lent).unwrap_or_default();
    let mut values = column.of_rounds(&row.lent(), &reference);
    values.iter_mut().for_each(|(_, value)| *value *= column.scale);
    values
}

/// The row that a claim means. Of several implementations it is the one that comes out best in the claim's direction.
fn row<'a>(results: &'a Results, at: usize, beside: &Beside, is_greater: bool) -> Option<&'a Row> {
    let is_it = |row: &&Row| row.case.name == beside.case && row.system.goes_by(&beside.system);
    let figure = |row: &Row| row.figures[at].map(|figure| figure.median);
    let rows = results.rows.iter().filter(is_it).filter(|row| !row.samples.is_empty());
    let known = rows.filter_map(|row| Some((row, figure(row)?)));
    let best = match is_greater {
        true => known.max_by(|one, other| one.1.total_cmp(&other.1)),
        false => known.min_by(|one, other| one.1.total_cmp(&other.1)),
    };
    best.map(|(row, _)| row)
}

impl Comparison {
    fn judged(&self, results: &Results, key: &str) -> Judged {
        let absent = |beside: &Beside| Judged {
            verdict: Verdict::NotMeasured,
            words: format!("{} in {}: not in the record", beside.system, beside.case),
        };
        let Some(at) = results.columns.iter().position(|column| column.key == key) else {
            return absent(&self.own);
        };
        let column = &results.columns[at];
        let Some(own) = row(results, at, &self.own, self.is_greater) else {
            return absent(&self.own);
        };
        let values = of_rounds(results, column, own);
        match &self.other {
            Other::Value(bound) => {
                let differences: Vec<f64> = values.iter().map(|(_, value)| value - bound).collect();
                let of = format!("{}, {} − {bound}", own.case.name, own.system.name);
                self.told(&of, column, &differences)
            }
            Other::Ours(beside) => {
                let Some(other) = row(results, at, beside, self.is_greater) else {
                    return absent(beside);
                };
                let others = of_rounds(results, column, other);
                let paired = values.iter().filter_map(|(round, value)| {
                    let (_, other) = others.iter().find(|(of, _)| of == round)?;
                    Some(value - other)
                });
                let [one, two] = [own, other].map(|row| match own.case.name == other.case.name {
                    true => row.system.name.clone(),
                    false => format!("{} {}", row.case.name, row.system.name),
                });
                let case = match own.case.name == other.case.name {
                    true => format!("{}, ", own.case.name),
                    false => String::new(),
                };
                self.told(&format!("{case}{one} − {two}"), column, &paired.collect::<Vec<f64>>())
            }
        }
    }

    /// The verdict of the differences of rounds.
    fn told(&self, of: &str, column: &Column, differences: &[f64]) -> Judged {
        let rounds = differences.len();
        let counted = if rounds == 1 { "round" } else { "rounds" };
        let Some(Estimate { median, low, high }) = Estimate::of(differences) else {
            return Judged {
                verdict: Verdict::NotMeasured,
                words: format!("{of}: no round has both"),
            };
        };
        let verdict = match (low, high) {
            _ if rounds < LEAST_ROUNDS => Verdict::TooFewRounds,
            (low, _) if low > 0.0 && self.is_greater => Verdict::Holds,
            (_, high) if high < 0.0 && !self.is_greater => Verdict::Holds,
            (low, high) if low <= 0.0 && high >= 0.0 => Verdict::NotToldApart,
            _ => Verdict::DoesNotHold,
        };
        let digits = precise(median.abs().max(low.abs()).max(high.abs()));
        let unit = if column.unit == "%" { "points" } else { column.unit };
        let [low, high] = [low, high].map(|end| written(end, digits));
        Judged {
            verdict,
            words: format!(
                "{of} = {} {unit} ({low} to {high}; {rounds} {counted})",
                signed(median, digits)
            ),
        }
    }
}

/// Digits after the point that show three significant ones of the greatest value.
fn precise(value: f64) -> usize {
    let power = value.max(1e-9).log10().floor() as i32;
    (2 - power).clamp(0, 9) as usize
}

/// A claim as a line of the page: the paper's words, the verdict, and by which differences.
pub(super) fn line(claim: &Claim, evidence: &Evidence) -> String {
    let measured = evidence.of(&claim.experiment);
    let results = measured.and_then(|measured| measured.results.as_ref());
    let judged: Vec<Judged> = results.map_or_else(Vec::new, |results| {
        let all = claim.holds_if.iter();
        all.map(|comparison| comparison.judged(results, &claim.column))
            .collect()
    });
    let verdict = Verdict::of_all(&judged.iter().map(|one| one.verdict).collect::<Vec<_>>());
    let mut html = format!(
        "<li>The paper says: {} ({}). Here: {}",
        prose(&claim.words),
        escape(&claim.source),
        verdict.badge()
    );
    let title = results.and_then(|results| results.columns.iter().find(|column| column.key == claim.column));
    let title = title.map_or(claim.column.as_str(), |column| column.title);
    let count = |verdict| judged.iter().filter(|one| one.verdict == verdict).count();
    if judged.len() > 1 && [Verdict::DoesNotHold, Verdict::NotToldApart].contains(&verdict) {
        let parts = [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotToldApart];
        let parts = parts.map(|part| format!("{} in {}", part.words(), count(part)));
        let _ = write!(html, " ({} of {})", parts.join(", "), judged.len());
    }
    if [Verdict::TooFewRounds, Verdict::NotMeasured].contains(&verdict) {
        let _ = write!(html, " {}", prose(&asked_for(claim, measured, evidence)));
    }
    if !judged.is_empty() {
        let (name, title) = (escape(&claim.experiment), escape(title));
        let _ = write!(
            html,
            "<details><summary>by <a href=\"{name}/report.html\">{name}</a>, {title}, differences of the same round\
             </summary><ul>"
        );
        for one in &judged {
            let _ = write!(html, "<li>{}: {}</li>", escape(&one.words), one.verdict.words());
        }
        html.push_str("</ul></details>");
    }
    html + "</li>\n"
}

/// The commands after which it is judged.
fn asked_for(claim: &Claim, measured: Option<&Measured>, evidence: &Evidence) -> String {
    let out = evidence.out.display();
    let name = &claim.experiment;
    let nothing = Needed {
        name: name.clone(),
        only: Vec::new(),
    };
    let only = &measured.map_or(&nothing, |measured| &measured.needed).only;
    let only = match only.is_empty() {
        true => String::new(),
        false => format!(" --only {}", only.join(",")),
    };
    let quick = match measured.is_some_and(Measured::is_quick) {
        true => " --quick",
        false => "",
    };
    format!(
        "– it needs {LEAST_ROUNDS} rounds that have all of it: `sealcast-lab {name}{quick}{only} --rounds \
         {LEAST_ROUNDS} --out {out}/{name} && sealcast-lab papers --rebuild --out {out}`"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::harness::record::{Header, Outcome, Record};
    use crate::harness::{Definition, Sample, Turn};

    const DEFINITION: &str = "experiment = \"e\"\ntitle = \"t\"\nasks = \"a\"\ndisproved_by = \"d\"\nrounds = 1\n\
        seconds = 1\nbaseline = \"off\"\n[quick]\nrounds = 2\n[[case]]\nname = \"udp\"\n[[case]]\nname = \"tcp\"\n\
        [[system]]\nname = \"off\"\n[[system]]\nname = \"on\"\n[[system]]\nname = \"aes/one\"\n\
        [[system]]\nname = \"aes/two\"\n";

    /// A record of these milliseconds of a system in a case, a value for each round.
    fn evidence(of: &[(&str, &str, &[f64])]) -> Evidence {
        let folder = tempfile::tempdir().expect("a folder");
        let definition = Definition::parse(DEFINITION).expect("it is right");
        let header = Header::new(&definition, Vec::new(), Vec::new());
        let mut record = Record::open(folder.path(), header).expect("new");
        for (case, system, values) in of {
            for (round, value) in values.iter().enumerate() {
                let turn = Turn {
                    round,
                    case: (*case).to_owned(),
                    system: (*system).to_owned(),
                };
                let sample = Sample::default().with("ms", *value).with("share", value / 100.0);
                record.add(turn, Outcome::Sample(sample)).expect("written");
            }
        }
        let columns = vec![
            Column::median("ms", "latency", "ms"),
            Column::over("over_off_ms", "ms", "more than off", "ms"),
            Column::median("share", "share", "").percent(),
        ];
        Evidence {
            out: Path::new("there").to_owned(),
            all: vec![Measured::made(
                "e",
                Results::new(definition, columns, Vec::new(), record),
            )],
        }
    }

    fn verdict(evidence: &Evidence, column: &str, holds_if: &[&str]) -> (Verdict, String) {
        let all: Vec<Comparison> = holds_if
            .iter()
            .map(|text| (*text).to_owned().try_into().expect("a comparison"))
            .collect();
        let results = evidence.results("e").expect("a record");
        let parts: Vec<Verdict> = all.iter().map(|one| one.judged(results, column).verdict).collect();
        let claim = Claim {
            words: "it is <so>".to_owned(),
            source: "Table 7".to_owned(),
            experiment: "e".to_owned(),
            column: column.to_owned(),
            holds_if: all,
        };
        (Verdict::of_all(&parts), line(&claim, evidence))
    }

    const OFF: (&str, &str, &[f64]) = ("udp", "off", &[10.0, 12.0, 11.0, 15.0, 9.0, 10.0]);
    const MORE: (&str, &str, &[f64]) = ("udp", "on", &[11.0, 13.5, 12.0, 16.0, 10.0, 11.5]);
    const LIKE: (&str, &str, &[f64]) = ("udp", "on", &[11.0, 11.0, 12.0, 14.0, 10.0, 9.0]);

    #[test]
    fn a_claim_holds_or_does_not_hold_or_is_not_told_apart_by_the_differences_of_rounds() {
        // The systems' own values overlap; round by round the one is always greater.
        let more = evidence(&[OFF, MORE]);
        let (holds, line) = verdict(&more, "ms", &["udp on > udp off"]);
        assert_eq!(holds, Verdict::Holds, "{line}");
        assert!(
            line.contains("The paper says: it is &lt;so&gt; (Table 7). Here: <span")
                && line.contains(">holds</span>")
                && line.contains("udp, on − off = +1.00 ms (1.00 to 1.50; 6 rounds)"),
            "{line}"
        );
        let (false_claim, line) = verdict(&more, "ms", &["udp on < udp off"]);
        assert_eq!(false_claim, Verdict::DoesNotHold, "{line}");
        let (unknown, line) = verdict(&evidence(&[OFF, LIKE]), "ms", &["udp on > udp off"]);
        assert_eq!(unknown, Verdict::NotToldApart, "{line}");
    }

    #[test]
    fn fewer_than_six_rounds_give_no_verdict_but_the_command_that_measures_more() {
        let few = evidence(&[(OFF.0, OFF.1, &OFF.2[..5]), MORE]);
        let (verdict, line) = verdict(&few, "ms", &["udp on > udp off"]);
        assert_eq!(verdict, Verdict::TooFewRounds);
        assert!(
            line.contains("sealcast-lab e --only udp --rounds 6 --out there/e")
                && line.contains("papers --rebuild --out there"),
            "{line}"
        );
    }

    #[test]
    fn a_published_value_is_compared_in_the_unit_of_the_report_and_with_relative_figures_too() {
        let more = evidence(&[OFF, MORE]);
        let (holds, line) = verdict(&more, "share", &["udp on > 5"]);
        assert_eq!(holds, Verdict::Holds, "in percent");
        assert!(line.contains("on − 5 = +6.8 points (5.0 to 11.0"), "{line}");
        assert_eq!(
            verdict(&more, "over_off_ms", &["udp on > 28.11"]).0,
            Verdict::DoesNotHold
        );
        assert_eq!(verdict(&more, "over_off_ms", &["udp on < 28.11"]).0, Verdict::Holds);
    }

    #[test]
    fn cases_are_compared_with_each_other_and_the_best_of_several_implementations_counts() {
        let one = ("tcp", "aes/one", [1.0; 6]);
        let two = ("tcp", "aes/two", [3.0; 6]);
        let all = evidence(&[OFF, (one.0, one.1, &one.2), (two.0, two.1, &two.2)]);
        let (holds, line) = verdict(&all, "ms", &["tcp aes < udp off"]);
        assert_eq!(holds, Verdict::Holds);
        assert!(line.contains("tcp aes/one − udp off"), "{line}");
        let (_, line) = verdict(&all, "ms", &["tcp aes > udp off"]);
        assert!(line.contains("tcp aes/two − udp off"), "{line}");
    }

    #[test]
    fn one_wrong_part_makes_a_claim_wrong_and_a_missing_one_leaves_it_open() {
        let slower = ("tcp", "off", [20.0; 6]);
        let faster = ("tcp", "on", [18.0; 6]);
        let both = evidence(&[
            OFF,
            MORE,
            (slower.0, slower.1, &slower.2),
            (faster.0, faster.1, &faster.2),
        ]);
        let (wrong, line) = verdict(&both, "ms", &["udp on > udp off", "tcp on > tcp off"]);
        assert_eq!(wrong, Verdict::DoesNotHold);
        assert!(
            line.contains("holds in 1, does not hold in 1, not told apart in 0 of 2"),
            "{line}"
        );
        let (open, line) = verdict(&evidence(&[OFF, MORE]), "ms", &["udp on > udp off", "tcp on > tcp off"]);
        assert_eq!(open, Verdict::NotMeasured);
        assert!(
            line.contains("on in tcp: not in the record") && line.contains("--rounds 6"),
            "{line}"
        );
        let none = Evidence {
            out: Path::new("there").to_owned(),
            all: Vec::new(),
        };
        let claim = Claim {
            words: String::new(),
            source: String::new(),
            experiment: "e".to_owned(),
            column: "ms".to_owned(),
            holds_if: vec!["udp on > udp off".to_owned().try_into().expect("a comparison")],
        };
        assert!(super::line(&claim, &none).contains("not measured"));
    }

    #[test]
    fn what_is_no_comparison_is_refused() {
        for text in ["udp on", "udp on = udp off", "udp on > off", "on > 3"] {
            assert!(Comparison::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
