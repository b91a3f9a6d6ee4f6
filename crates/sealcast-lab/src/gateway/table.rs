//! The table, and what it says about the targets.

use std::fmt::Write;

use serde::Serialize;

use super::figures::{Figures, Sample};
use super::load::Load;
use super::plan::GatewayResult;
use super::system::System;
use crate::statistics::Estimate;
use crate::throughput::Carrier;

/// How much more the pair may take than a relay: the load, and microseconds at the median and at 99 %.
const DELAY_TARGETS: [(&str, f64, Option<f64>); 2] = [("udp-250", 20.0, Some(200.0)), ("tcp-30", 50.0, None)];
/// Microseconds of processor time that both gateways together may take for a packet.
const CPU_TARGET: f64 = 20.0;
/// The same as a multiple of what the plain relay takes in the same rounds: 8.9 µs for a packet over UDP, 250 a second,
/// on the machine on which the target was set. Where the relay alone takes more than the target, this one still tells.
const CPU_TARGET_IN_RELAYS: f64 = CPU_TARGET / 8.9;

/// A line of the table and of `record.json`.
#[derive(Serialize)]
pub(super) struct Row {
    load: &'static str,
    system: String,
    counted: String,
    rounds: usize,
    p50_us: Estimate,
    p99_us: Estimate,
    p999_us: Estimate,
    p50_more_than_relay_us: Option<Estimate>,
    p99_more_than_relay_us: Option<Estimate>,
    packets: u64,
    lost: u64,
    cpu_us_per_packet: Estimate,
    cpu_times_relay: Option<Estimate>,
    core_percent: Estimate,
}

/// What the columns are called.
pub(super) const COLUMNS: [&str; 12] = [
    "load",
    "system",
    "p50, µs",
    "p99, µs",
    "p99.9, µs",
    "p50 over relay, µs",
    "p99 over relay, µs",
    "lost",
    "CPU, µs/packet",
    "CPU, times the relay's",
    "CPU, % of a core",
    "processor time of",
];

pub(super) fn rows(result: &GatewayResult) -> Vec<Row> {
    result.figures.iter().map(|figures| Row::of(figures, result)).collect()
}

impl Row {
    fn of(figures: &Figures, result: &GatewayResult) -> Self {
        let relay = find(result, figures.load.name, |system| *system == System::Relay);
        let relay = relay.filter(|_| figures.system != System::Relay);
        let more = |figure: fn(&Sample) -> f64| relay.and_then(|relay| figures.more_than(relay, figure));
        Self {
            load: figures.load.name,
            system: figures.system.to_string(),
            counted: figures.system.counted(&figures.load),
            rounds: figures.samples.len(),
            p50_us: figures.middle(|sample| sample.p50_us),
            p99_us: figures.middle(|sample| sample.p99_us),
            p999_us: figures.middle(|sample| sample.p999_us),
            p50_more_than_relay_us: more(|sample| sample.p50_us),
            p99_more_than_relay_us: more(|sample| sample.p99_us),
            packets: figures.samples.iter().map(|sample| sample.packets).sum(),
            lost: figures.lost(),
            cpu_us_per_packet: figures.middle(|sample| sample.cpu_us),
            cpu_times_relay: relay.and_then(|relay| figures.times(relay, |sample| sample.cpu_us)),
            core_percent: figures.middle(|sample| sample.core_percent),
        }
    }

    /// Under [`COLUMNS`].
    pub(super) fn cells(&self) -> [String; 12] {
        [
            self.load.to_owned(),
            self.system.clone(),
            format!("{:.0}", self.p50_us.median),
            format!("{:.0}", self.p99_us.median),
            format!("{:.0}", self.p999_us.median),
            self.p50_more_than_relay_us.map_or_else(String::new, difference),
            self.p99_more_than_relay_us.map_or_else(String::new, difference),
            format!("{} of {}", self.lost, self.packets),
            between(self.cpu_us_per_packet),
            self.cpu_times_relay.map_or_else(String::new, times),
            format!("{:.1}", self.core_percent.median),
            self.counted.clone(),
        ]
    }
}

fn difference(middle: Estimate) -> String {
    with_interval(middle, |value| format!("{value:+.0}"))
}

fn between(middle: Estimate) -> String {
    with_interval(middle, |value| format!("{value:.1}"))
}

fn times(middle: Estimate) -> String {
    with_interval(middle, |value| format!("{value:.2}"))
}

/// One round has no interval.
fn with_interval(middle: Estimate, shown: impl Fn(f64) -> String) -> String {
    let Estimate { median, low, high } = middle;
    if low == high {
        shown(median)
    } else {
        format!("{} ({} to {})", shown(median), shown(low), shown(high))
    }
}

fn find<'a>(result: &'a GatewayResult, load: &str, who: impl Fn(&System) -> bool) -> Option<&'a Figures> {
    let mut all = result.figures.iter();
    all.find(|figures| figures.load.name == load && who(&figures.system))
}

/// The table in Markdown, and below it the notes.
pub fn terminal(result: &GatewayResult) -> String {
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    line(&COLUMNS.map(str::to_owned));
    line(&COLUMNS.map(|_| "---".to_owned()));
    for row in rows(result) {
        line(&row.cells());
    }
    text.push('\n');
    for note in notes(result) {
        let _ = writeln!(text, "* {note}");
    }
    text
}

/// What the loads are, the verdicts, and who could not be measured.
pub(super) fn notes(result: &GatewayResult) -> Vec<String> {
    let mut loads: Vec<&Load> = result.figures.iter().map(|figures| &figures.load).collect();
    loads.dedup_by_key(|load| load.name);
    let loads = loads.into_iter().map(|load| format!("{}: {}", load.name, load.words()));
    let missing = result.missing.iter().map(|missing| format!("not measured: {missing}"));
    loads.chain(verdicts(result)).chain(missing).collect()
}

/// Whether the pair of gateways is where it should be.
pub fn verdicts(result: &GatewayResult) -> Vec<String> {
    let ours = result
        .figures
        .iter()
        .filter(|figures| matches!(figures.system, System::Sealcast(_)));
    ours.flat_map(|figures| {
        let relay = find(result, figures.load.name, |system| *system == System::Relay);
        judge(figures, relay)
    })
    .collect()
}

fn judge(ours: &Figures, relay: Option<&Figures>) -> Vec<String> {
    let name = format!("{}: {}", ours.load.name, ours.system);
    let mut verdicts = Vec::new();
    let targets = DELAY_TARGETS.iter().find(|(load, ..)| *load == ours.load.name);
    if let (Some((_, median, tail)), Some(relay)) = (targets, relay) {
        let mut judged = |what: &str, figure: fn(&Sample) -> f64, target: f64| {
            if let Some(more) = ours.more_than(relay, figure) {
                let met = met(more.median <= target);
                verdicts.push(format!(
                    "{name}: at most {target:.0} µs over the relay {what} is {met}: {}",
                    difference(more)
                ));
            }
        };
        judged("at the median", |sample| sample.p50_us, *median);
        if let Some(tail) = tail {
            judged("at 99 %", |sample| sample.p99_us, *tail);
        }
    }
    if ours.load.cameras == 1 {
        verdicts.extend(judge_processor_time(&name, ours, relay));
    } else {
        let (core, lost) = (ours.middle(|sample| sample.core_percent), ours.lost());
        let (in_time, whole) = (met(core.median <= 100.0), met(lost == 0));
        verdicts.push(format!(
            "{name}: no more than one core is {in_time}: {} %; no packet lost is {whole}: {lost}",
            between(core)
        ));
    }
    verdicts
}

fn judge_processor_time(name: &str, ours: &Figures, relay: Option<&Figures>) -> Vec<String> {
    let cpu = ours.middle(|sample| sample.cpu_us);
    let mut verdicts = vec![format!(
        "{name}: at most {CPU_TARGET:.0} µs of processor time a packet is {}: {}",
        met(cpu.median <= CPU_TARGET),
        between(cpu)
    )];
    let relay = relay.filter(|relay| relay.load.carrier == Carrier::Udp);
    if let Some(cpu) = relay.and_then(|relay| ours.times(relay, |sample| sample.cpu_us)) {
        verdicts.push(format!(
            "{name}: at most {CPU_TARGET_IN_RELAYS:.2} times the relay's, as where that was set, is {}: {}",
            met(cpu.median <= CPU_TARGET_IN_RELAYS),
            times(cpu)
        ));
    }
    verdicts
}

fn met(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}
