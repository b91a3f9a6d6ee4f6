//! Two boards beside each other.

use std::fmt::Write;

use super::{Board, Figure};
use crate::harness::{markdown, number};

/// Both machines, a table of all figures that both have, and what only one of them has.
pub(crate) fn compared(a: &Board, b: &Board) -> String {
    let mut text = String::new();
    for (name, board) in [("A", a), ("B", b)] {
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "{name}: {}; {}; load {}",
            board.environment.machine_line(),
            board.environment.versions_line(),
            board.load.split_whitespace().next().unwrap_or("unknown"),
        );
    }
    let head = ["part", "case", "system", "figure", "A", "B", "B is A times"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let pairs = a.figures.iter().filter_map(|one| Some((one, one.among(&b.figures)?)));
    lines.extend(pairs.map(|(one, other)| line(one, other)));
    let _ = write!(text, "\n{}", markdown::aligned(&lines, 4));
    let _ = writeln!(
        text,
        "\nMedians with their 95 % intervals (from to). The last column is the ratio of the medians; its range goes \
         from the one's lower end beside the other's upper end to the reverse, so it is wider than a 95 % interval. \
         Where it holds 1 the two are not told apart (=)."
    );
    for (name, board, other) in [("A", a, b), ("B", b, a)] {
        let alone = board
            .figures
            .iter()
            .filter(|one| one.among(&other.figures).is_none())
            .count();
        if alone > 0 {
            let _ = writeln!(text, "* {alone} figures of {name} alone");
        }
        for why in &board.missing {
            let _ = writeln!(text, "* not measured on {name}: {why}");
        }
    }
    text
}

fn line(one: &Figure, other: &Figure) -> Vec<String> {
    let unit = if one.unit.is_empty() {
        String::new()
    } else {
        format!(", {}", one.unit)
    };
    vec![
        one.part.clone(),
        one.case.clone(),
        one.system.clone(),
        format!("{}{unit}", one.title),
        one.shown(),
        other.shown(),
        times(one, other),
    ]
}

/// Ratio of the other figure to the one, with its range.
fn times(one: &Figure, other: &Figure) -> String {
    let (a, b) = (one.value, other.value);
    if [a.low, a.high, b.low, b.high].iter().any(|end| *end <= 0.0) {
        return "-".to_owned();
    }
    let (low, high) = (b.low / a.high, b.high / a.low);
    let alike = if low <= 1.0 && 1.0 <= high { " =" } else { "" };
    let [middle, low, high] = [b.median / a.median, low, high].map(significant);
    format!("{middle} ({low} to {high}){alike}")
}

/// Three significant digits, or all before the point.
fn significant(value: f64) -> String {
    let before = value.abs().max(1e-9).log10().floor() as i32;
    number::written(value, usize::try_from(2 - before).unwrap_or(0).min(6))
}

impl Figure {
    /// The same figure among those of another board.
    fn among<'a>(&self, others: &'a [Self]) -> Option<&'a Self> {
        let name = |figure: &Self| [&figure.part, &figure.case, &figure.system, &figure.key].map(String::clone);
        others.iter().find(|other| name(other) == name(self))
    }

    fn shown(&self) -> String {
        let [median, low, high] = [self.value.median, self.value.low, self.value.high].map(significant);
        match low == high {
            true => median,
            false => format!("{median} ({low} to {high})"),
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::harness::Estimate;

    pub(crate) fn figure(system: &str, median: f64, low: f64, high: f64) -> Figure {
        Figure {
            part: "ciphers".to_owned(),
            case: "1200-bytes".to_owned(),
            system: system.to_owned(),
            key: "mb_per_s".to_owned(),
            title: "enciphering".to_owned(),
            unit: "MB/s".to_owned(),
            value: Estimate { median, low, high },
            rounds: 7,
        }
    }

    #[test]
    fn figures_of_both_stand_beside_each_other_and_those_of_one_are_counted() {
        let (mut a, mut b) = (Board::here(), Board::here());
        a.figures = vec![
            figure("trivium", 100.0, 95.0, 105.0),
            figure("rc4", 50.0, 45.0, 55.0),
            figure("grain-v1", 1.0, 1.0, 1.0),
        ];
        b.figures = vec![figure("rc4", 52.0, 47.0, 58.0), figure("trivium", 300.0, 290.0, 310.0)];
        b.missing = vec!["a stream: no ffmpeg".to_owned()];
        let text = compared(&a, &b);
        for words in [
            "3.00 (2.76 to 3.26) |",
            "1.04 (0.855 to 1.29) = |",
            "* 1 figures of A alone",
            "* not measured on B: a stream: no ffmpeg",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(!text.contains("grain-v1"), "{text}");
    }

    #[test]
    fn a_ratio_of_nothing_is_not_told() {
        let energy = figure("rc4", 0.0, -0.1, 0.1);
        assert_eq!(times(&energy, &figure("rc4", 1.0, 0.9, 1.1)), "-");
    }
}
