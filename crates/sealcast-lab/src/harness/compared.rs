//! Two systems beside each other, by their differences within rounds.

use sealcast::meter::statistics::Confidence;

use super::column::{Better, Column, Finding};
use super::number::{signed, written};
use super::results::Row;
use super::statistics::Estimate;

/// Rounds of both systems that a finding takes. The interval of six spans all of them, so that one wild round undoes
/// it; and with fewer none holds the truth in 95 of 100 measurements.
pub(crate) const ROUNDS: usize = 7;

/// A comparison of two systems in one case and one column.
pub(crate) struct Compared<'a> {
    pub(crate) case: &'a str,
    pub(crate) column: &'a Column,
    pub(crate) finding: Finding,
    /// Number of rounds that have both.
    pub(crate) rounds: usize,
    pub(crate) more: Estimate,
    /// True if a control of this column fails.
    pub(crate) is_withheld: bool,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    Less,
    More,
    /// The interval includes "no difference", or the difference is irrelevant in practice.
    Alike,
    /// There are too few rounds for a finding.
    Open,
    /// A control fails.
    Withheld,
}

impl<'a> Compared<'a> {
    /// The one system beside the other; `None` if they are not compared by this column, or have no round in common.
    pub(crate) fn of(column: &'a Column, own: &'a Row, other: &Row, confidence: Confidence) -> Option<Self> {
        let finding = column.finding?;
        let differences = column.differences(finding, &own.lent(), &other.lent());
        Some(Self {
            case: &own.case.name,
            column,
            finding,
            rounds: differences.len(),
            more: column.middle(&differences, confidence)?,
            is_withheld: false,
        })
    }

    /// The value of no difference.
    pub(crate) fn even(&self) -> f64 {
        if self.finding.ratio { 1.0 } else { 0.0 }
    }

    pub(crate) fn shown(&self) -> Shown {
        let even = self.even();
        match self.more {
            _ if self.rounds < ROUNDS => Shown::Open,
            _ if self.is_withheld => Shown::Withheld,
            more if (more.median - even).abs() < self.finding.matters => Shown::Alike,
            more if more.low > even => Shown::More,
            more if more.high < even => Shown::Less,
            _ => Shown::Alike,
        }
    }

    pub(crate) fn unit(&self) -> &'static str {
        match self.column.unit {
            "%" => "points",
            unit => unit,
        }
    }

    /// The size of the difference, without its sign.
    pub(crate) fn size(&self) -> f64 {
        if self.finding.ratio {
            self.more.median
        } else {
            self.more.median.abs()
        }
    }

    pub(crate) fn digits(&self) -> usize {
        match self.finding.ratio {
            true if self.more.median < 0.1 => 4,
            true => 2,
            false => self.column.digits,
        }
    }

    /// The comparison in words, without a verdict.
    pub(crate) fn words(&self, own: &str, other: &str) -> String {
        let Estimate { median, low, high } = self.more;
        let digits = self.digits();
        let say = |value: f64| match self.finding.ratio {
            true => written(value, digits),
            false => signed(value, digits),
        };
        let unit = if self.finding.ratio { "times" } else { self.unit() };
        let interval = match low == high {
            true => String::new(),
            false => format!(" ({} to {})", say(low), say(high)),
        };
        let rounds = match self.rounds {
            1 => "1 round".to_owned(),
            rounds => format!("{rounds} rounds"),
        };
        format!(
            "{}: {} of {own} against {other}: {} {unit}{interval}, {rounds}",
            self.case,
            self.column.title,
            say(median)
        )
    }

    /// A line for the list of all comparisons.
    pub(crate) fn detail(&self, subject: &str, rival: &str) -> String {
        let judged = match (self.shown(), self.finding.better) {
            (Shown::Open, _) => "too few rounds for a finding",
            (Shown::Withheld, _) => "no finding, since a control fails",
            (Shown::Alike, _) => "not told apart",
            (Shown::Less, Better::Less) | (Shown::More, Better::More) => "better",
            _ => "worse",
        };
        format!("{}: {judged}", self.words(subject, rival))
    }
}
