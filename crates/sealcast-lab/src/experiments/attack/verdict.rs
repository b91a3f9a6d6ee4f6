//! The verdict on a selection: is what a viewer sees recognised by an attacker? It is made from the record alone.

use crate::attack::{ALL, CLOCK, DETAIL, DETAIL_TURNED, ESS, ESS_TURNED, FACES, MOVING, MOVING_TURNED, PEOPLE, TEXT};
use crate::harness::statistics::Estimate;
use crate::harness::{Results, Row};

use super::figures;

/// A clock is read if the upper end of the interval of its bit errors is below this; chance gives 0.5.
const CLOCK_READ: f64 = 0.25;
/// Edges are seen if the lower end of their similarity is this much above both controls' upper ends.
const EDGES_SEEN: f64 = 0.05;
/// Detail is seen if the lower end of the share of blocks is this much above both controls' upper ends.
const DETAIL_SEEN: f64 = 0.03;
/// A face is seen if it is found in this share of the pictures, and in none of the control's.
const FACE_SEEN: f64 = 0.5;
/// People are seen if this share of them is found, and at most [`PEOPLE_BY_CHANCE`] in the control's pictures.
const PEOPLE_SEEN: f64 = 0.5;
const PEOPLE_BY_CHANCE: f64 = 0.1;
/// Text is read if at most this share of its characters is wrong, and more than [`NOT_READ`] of the control's.
const TEXT_READ: f64 = 0.5;
const NOT_READ: f64 = 0.8;

/// The rules in words, for the page.
pub(super) const RULES: [&str; 8] = [
    "A selection is opened in a scene if at least one attacker meets at least one of these rules. PSNR, SSIM, \
     MS-SSIM, VMAF and LSS open nothing: they measure quality, not recognition.",
    "Clock: the upper end of the 95 % interval of the share of wrong bits is below 25 %. Chance gives 50 %.",
    "Edges: the lower end of the interval of the edge similarity is more than 0.05 above the upper ends of both \
     controls: the same attacker on random bytes of the same lengths, and the attacker's pictures against the \
     original turned by 180 degrees.",
    "Detail: of the blocks of 16x16 pixels in which the original has detail, the share whose pixels correlate \
     with the original by at least 0.8 is, at the lower end of its interval, more than 0.03 above the upper ends \
     of the same two controls.",
    "Movement: the same of the blocks alone that changed within half a second. So a person who walks counts, \
     though nothing around is there.",
    "Face: the original's face is found at its place in at least half of the attacker's pictures, and in none of \
     those on random bytes.",
    "People: of those that OpenCV finds in the original, at least half are found at their places in the attacker's \
     pictures, and at most a tenth in those on random bytes.",
    "Text: at most half of the characters are read wrong, and more than 80 % on random bytes.",
];

/// Reason why a selection counts as opened in a scene.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Opened {
    pub(super) attacker: &'static str,
    pub(super) measure: &'static str,
    pub(super) figure: Estimate,
}

/// The mean of a series over all rounds.
pub(super) fn figure(row: &Row, series: &str) -> Option<Estimate> {
    let rounds = row.samples.iter().filter_map(|(_, sample)| sample.series.get(series));
    let values: Vec<f64> = rounds.flatten().copied().collect();
    Estimate::of_mean(&values)
}

/// All ways in which a selection was opened in a scene.
pub(super) fn opened(row: &Row) -> Vec<Opened> {
    ALL.iter()
        .flat_map(|attacker| opened_by(row, attacker.name()))
        .collect()
}

/// True if a figure opens the selection.
type Rule<'a> = &'a dyn Fn(&Estimate) -> bool;

fn opened_by(row: &Row, attacker: &'static str) -> Vec<Opened> {
    let own = |measure: &str| figure(row, &figures::series(attacker, measure));
    let control = |measure: &str| figure(row, &figures::control(attacker, measure));
    let is_clock = |own: &Estimate| own.high < CLOCK_READ;
    let beyond = |own: &Estimate, measure: &str, turned: &str, margin: f64| {
        let others = [control(measure), figure(row, &figures::series(attacker, turned))];
        others.into_iter().flatten().all(|other| own.low > other.high + margin)
    };
    let edges = |own: &Estimate| beyond(own, ESS, ESS_TURNED, EDGES_SEEN);
    let detail = |own: &Estimate| beyond(own, DETAIL, DETAIL_TURNED, DETAIL_SEEN);
    let is_face = |own: &Estimate| own.median >= FACE_SEEN && control(FACES).is_some_and(|none| none.median <= 0.0);
    let are_people = |own: &Estimate| {
        own.median >= PEOPLE_SEEN && control(PEOPLE).is_some_and(|none| none.median <= PEOPLE_BY_CHANCE)
    };
    let is_text = |own: &Estimate| own.median <= TEXT_READ && control(TEXT).is_some_and(|none| none.median > NOT_READ);
    let moving = |own: &Estimate| beyond(own, MOVING, MOVING_TURNED, DETAIL_SEEN);
    let rules: [(&'static str, Rule<'_>); 7] = [
        (CLOCK, &is_clock),
        (FACES, &is_face),
        (PEOPLE, &are_people),
        (TEXT, &is_text),
        (ESS, &edges),
        (DETAIL, &detail),
        (MOVING, &moving),
    ];
    let met = rules.into_iter().filter_map(|(measure, rule)| {
        let figure = own(measure).filter(|figure| rule(figure))?;
        Some(Opened {
            attacker,
            measure,
            figure,
        })
    });
    met.collect()
}

/// The attacker whose picture tells most: the first that opens the selection by the strongest rule, else the one with
/// most similar edges.
pub(super) fn best(row: &Row) -> Option<&'static str> {
    let value = |name: &str, measure: &str| figure(row, &figures::series(name, measure)).map_or(0.0, |one| one.median);
    let edges = |name: &str| value(name, ESS) + value(name, DETAIL);
    let reasons = opened(row);
    let count = |name: &str| reasons.iter().filter(|reason| reason.attacker == name).count();
    let names = ALL.iter().map(|attacker| attacker.name());
    // Of equals the earlier.
    names.reduce(|best, next| {
        let rank = |name: &str| (count(name), edges(name));
        if rank(next).partial_cmp(&rank(best)) == Some(std::cmp::Ordering::Greater) {
            next
        } else {
            best
        }
    })
}

/// A selection over all scenes.
pub(super) struct Verdict {
    pub(super) system: String,
    /// The scenes in which it was measured.
    pub(super) scenes: Vec<String>,
    /// Those in which it was opened, each with the reasons.
    pub(super) opened: Vec<(String, Vec<Opened>)>,
    /// Time by which sealing and opening a frame takes less than with everything encrypted, in µs: each scene's rounds
    /// are paired with those of `all`.
    pub(super) saved_us: Option<Estimate>,
    pub(super) saved_cpu_us: Option<Estimate>,
    pub(super) cost_us: Option<Estimate>,
}

/// A verdict on each selection, in the order of the definition.
pub(super) fn verdicts(results: &Results) -> Vec<Verdict> {
    let verdict = |system: &crate::harness::Entry| {
        let rows: Vec<&Row> = results
            .rows
            .iter()
            .filter(|row| row.system.name == system.name)
            .collect();
        let opened = rows.iter().map(|row| (row.case.name.clone(), opened(row)));
        Verdict {
            system: system.name.clone(),
            scenes: rows.iter().map(|row| row.case.name.clone()).collect(),
            opened: opened.filter(|(_, reasons)| !reasons.is_empty()).collect(),
            saved_us: Estimate::of(&saved(results, &rows, &["seal_us", "open_us"])),
            saved_cpu_us: Estimate::of(&saved(results, &rows, &["cpu_us"])),
            cost_us: Estimate::of(&costs(&rows, &["seal_us", "open_us"])),
        }
    };
    let verdicts = results.definition.systems.iter().map(verdict);
    verdicts.filter(|verdict| !verdict.scenes.is_empty()).collect()
}

fn sum(sample: &crate::harness::Sample, values: &[&str]) -> Option<f64> {
    values.iter().map(|value| sample.value(value)).sum()
}

fn costs(rows: &[&Row], values: &[&str]) -> Vec<f64> {
    let samples = rows.iter().flat_map(|row| &row.samples);
    samples.filter_map(|(_, sample)| sum(sample, values)).collect()
}

/// Differences to the baseline in the same scene and round, positive if less is used.
fn saved(results: &Results, rows: &[&Row], values: &[&str]) -> Vec<f64> {
    let mut saved = Vec::new();
    for row in rows.iter().filter(|row| row.system.name != results.definition.baseline) {
        let Some(all) = results.row(&row.case.name, &results.definition.baseline) else {
            continue;
        };
        for (round, sample) in &row.samples {
            let paired = all.samples.iter().find(|(other, _)| other == round);
            if let (Some(own), Some(all)) = (sum(sample, values), paired.and_then(|(_, all)| sum(all, values))) {
                saved.push(all - own);
            }
        }
    }
    saved
}

/// The verdict in one sentence, made from the figures.
pub(super) fn sentence(results: &Results) -> String {
    let all = verdicts(results);
    let cost = |verdict: &&Verdict| verdict.cost_us.map_or(f64::INFINITY, |cost| cost.median);
    let closed = || all.iter().filter(|verdict| verdict.opened.is_empty());
    let Some(cheapest) = closed().min_by(|a, b| cost(a).total_cmp(&cost(b))) else {
        return format!("An attacker opened each of the {} selections.", all.len());
    };
    let open = all.len() - closed().count();
    let others: Vec<String> = closed()
        .filter(|verdict| verdict.system != cheapest.system)
        .map(|verdict| format!("`{}`", verdict.system))
        .collect();
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" (nor {})", others.join(", ")),
    };
    let opened = all.iter().filter(|verdict| !verdict.opened.is_empty());
    let most = opened
        .filter_map(|verdict| verdict.saved_us)
        .max_by(|a, b| a.median.total_cmp(&b.median));
    let price = most.map_or_else(String::new, |most| {
        format!(
            "; the most that an opened one saves beside `{}` is {:.1} µs a frame of sealing and opening \
             ({:.1} to {:.1})",
            results.definition.baseline, most.median, most.low, most.high
        )
    });
    format!(
        "The cheapest selection that no attacker opened is `{}`{others}: {open} of {} were opened{price}.",
        cheapest.system,
        all.len()
    )
}
