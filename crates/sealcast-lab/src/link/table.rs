//! The table, for people and for programs.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

use super::bootstrap;
use super::figures::{Figures, Share};
use super::plan::LinkResult;
use super::system::{Point, System};

/// The share that sealcast is to show in time at 2 % random loss, and with how much overhead at most.
const TARGET: (f64, f64) = (0.999, 0.25);

/// A line of `table.csv` and of `record.json`.
#[derive(Serialize)]
pub(super) struct Line {
    loss_percent: f64,
    losses: &'static str,
    system: &'static str,
    rounds: usize,
    frames: u32,
    shown_in_time: f64,
    shown_low: f64,
    shown_high: f64,
    whole_in_time: f64,
    whole_low: f64,
    whole_high: f64,
    shown_at_any_time: f64,
    shown_in_time_at_first: f64,
    delay_p50_ms: f64,
    delay_p99_ms: f64,
    overhead: f64,
    keyframes_asked_per_minute: f64,
    packets_lost: f64,
    packets_unread: u64,
    link_late_p99_ms: f64,
}

impl Line {
    pub(super) fn of(figures: &Figures) -> Self {
        Self {
            loss_percent: figures.point.percent,
            losses: figures.point.kind(),
            system: figures.system.name(),
            rounds: figures.rounds,
            frames: figures.frames,
            shown_in_time: figures.shown.share,
            shown_low: figures.shown.low,
            shown_high: figures.shown.high,
            whole_in_time: figures.whole.share,
            whole_low: figures.whole.low,
            whole_high: figures.whole.high,
            shown_at_any_time: figures.ever.share,
            shown_in_time_at_first: figures.begin.share,
            delay_p50_ms: figures.p50_ms,
            delay_p99_ms: figures.p99_ms,
            overhead: figures.overhead,
            keyframes_asked_per_minute: figures.keyframes_asked,
            packets_lost: figures.lost,
            packets_unread: figures.unread,
            link_late_p99_ms: figures.link_late_ms,
        }
    }
}

/// What the columns are called.
pub(super) const COLUMNS: [&str; 10] = [
    "loss",
    "system",
    "frames",
    "shown in time, %",
    "whole in time, %",
    "shown ever, %",
    "first 5 s, %",
    "p50, ms",
    "p99, ms",
    "overhead, %",
];

/// One line's cells, under [`COLUMNS`].
pub(super) fn cells(figures: &Figures) -> [String; 10] {
    [
        figures.point.to_string(),
        figures.system.to_string(),
        figures.frames.to_string(),
        share(figures.shown),
        share(figures.whole),
        format!("{:.2}", figures.ever.share * 1e2),
        format!("{:.1}", figures.begin.share * 1e2),
        delay(figures.p50_ms),
        delay(figures.p99_ms),
        format!("{:.1}", figures.overhead * 1e2),
    ]
}

/// In percent, with its interval.
fn share(share: Share) -> String {
    let [share, low, high] = [share.share, share.low, share.high].map(|part| part * 1e2);
    format!("{share:.2} ({low:.2} to {high:.2})")
}

/// Where nothing was ever shown there is none.
fn delay(ms: f64) -> String {
    if ms.is_nan() {
        "-".to_owned()
    } else {
        format!("{ms:.1}")
    }
}

/// The table for a terminal; as Markdown, so that it can be put into documents.
pub fn terminal(result: &LinkResult) -> String {
    let mut rows = vec![COLUMNS.map(str::to_owned)];
    rows.extend(result.figures.iter().map(cells));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(text, "| {cell:width$} ");
        }
        text.push_str("|\n");
        if index == 0 {
            widths
                .iter()
                .for_each(|width| text.push_str(&format!("|{}", "-".repeat(width + 2))));
            text.push_str("|\n");
        }
    }
    text
}

/// `table.csv`.
pub(super) fn write_csv(path: &Path, result: &LinkResult) -> csv::Result<()> {
    let mut writer = csv::Writer::from_path(path)?;
    result
        .figures
        .iter()
        .try_for_each(|figures| writer.serialize(Line::of(figures)))?;
    writer.flush().map_err(csv::Error::from)
}

/// Whether sealcast is where it should be: the target at 2 %, and no worse than SRT anywhere.
pub fn verdicts(result: &LinkResult) -> Vec<String> {
    let at = |point: Point, system| {
        result
            .figures
            .iter()
            .find(move |figures| (figures.point, figures.system) == (point, system))
    };
    let mut verdicts = Vec::new();
    for ours in result
        .figures
        .iter()
        .filter(|figures| figures.system == System::Sealcast)
    {
        if ours.point
            == (Point {
                percent: 2.0,
                bursts: false,
            })
        {
            let met = ours.shown.share >= TARGET.0 && ours.overhead <= TARGET.1;
            verdicts.push(format!(
                "the target at 2 % random (99.9 % shown in time, at most 25 % overhead) is {}: {} % with {:.1} %",
                if met { "met" } else { "missed" },
                share(ours.shown),
                ours.overhead * 1e2,
            ));
        }
        for srt in [System::Srt, System::SrtAes] {
            let Some(theirs) = at(ours.point, srt) else { continue };
            // All that SRT ever shows counts for it, however late: no choice of the deadline is to its disadvantage.
            let (low, high) = bootstrap::difference(&ours.shown_seconds, &theirs.ever_seconds);
            let judged = match (low > 0.0, high < 0.0) {
                (true, _) => "better than",
                (_, true) => "worse than",
                _ => "not told apart from",
            };
            verdicts.push(format!(
                "{}: sealcast is {judged} {srt}: shown in time less what {srt} ever shows: {:+.2} points \
                 ({:+.2} to {:+.2})",
                ours.point,
                (ours.shown.share - theirs.ever.share) * 1e2,
                low * 1e2,
                high * 1e2,
            ));
        }
    }
    verdicts
}
