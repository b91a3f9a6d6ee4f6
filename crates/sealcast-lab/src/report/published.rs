//! Figures that paper 004 published, beside the same quantities of a run.

use super::end::{End, Role};
use super::handshakes::Group;
use super::latency::{FRAMES, Latency};
use super::resources::{CPU, FRAMES as RATE, MEMORY, STEADY, TEMPERATURE, THROUGHPUT};
use super::table::{NOTHING, Table, figure, spread};

/// Where the figures come from, and under which conditions.
const SOURCE: &str = "Briano, Gaon, Ortiz, Hein: Tables II and III, Figures 2 to 4 and their text. Two Raspberry Pi 5, \
a camera in 640x480 at 25 frames/s as H.264, AES-128-GCM over TCP, 75 s; clocks that nothing \
compared.";

const OF_WHAT: &str = "theirs: of what is not said; ours: this process, of one core";
const MEMORY_OF: &str = "theirs is probably the whole machine's; ours is this process's resident memory";
const SENSOR: &str = "theirs: the processor's sensor; ours: the hottest one";
const CLOCKS: &str = "theirs: to the display, clocks not compared; ours: to what the sink passed on, clocks compared";
const BUNDLES: &str = "a gateway counts bundles of packets, which are no frames";
const NETWORK: &str = "theirs: ECDH-P256; ours: the mechanism, suite and peer of the table of handshakes";

/// A row of an end's steady phase: what, the end's figure, the paper's, and what differs.
type OfEnd = (&'static str, usize, [&'static str; 2], &'static str);

const TABLE_III: [OfEnd; 5] = [
    ("CPU, %", CPU, ["11.64", "12.14"], OF_WHAT),
    ("memory, MB", MEMORY, ["2388.85", "2393.82"], MEMORY_OF),
    ("temperature, °C", TEMPERATURE, ["47.77", "47.97"], SENSOR),
    (
        "frames/s",
        RATE,
        ["24.52", "14.77"],
        "theirs: a camera, and a display of 15 frames/s; ours: sent, and received and opened",
    ),
    ("Mbit/s", THROUGHPUT, ["2.46", "1.98"], "ours: everything on the wire"),
];

/// The table; without rows if no end has anything to compare.
pub(super) fn table(ends: &[End]) -> Table {
    let sender = ends.iter().find(|end| end.role.sends());
    let receiver = ends.iter().find(|end| end.role.receives());
    let mut rows = Vec::new();
    for (side, end, at) in [("sender", sender, 0), ("receiver", receiver, 1)] {
        let Some(end) = end else { continue };
        for (what, quantity, theirs, differs) in TABLE_III {
            let ours = end.resources.spreads[STEADY][quantity];
            let is_gateway = matches!(end.role, Role::CameraGateway | Role::ViewerGateway);
            // Its bundles of packets are no frames.
            let is_same = quantity != RATE || !is_gateway;
            let known = (ours.windows > 0 && is_same).then(|| spread(ours.mean, ours.deviation()));
            let differs = if is_same { differs } else { BUNDLES };
            rows.push(row(&format!("{side}: {what}"), theirs[at], known, differs));
        }
    }
    if let Some(latency) = receiver
        .map(|end| &end.latencies[FRAMES])
        .filter(|latency| latency.count() > 0)
    {
        rows.extend(latencies(latency));
    }
    let groups = ends.iter().flat_map(|end| &end.handshakes.groups);
    if let Some((_, group)) = groups
        .into_iter()
        .find(|(kind, _)| kind.role == "initiator" && kind.outcome == "established")
    {
        rows.extend(handshake(group));
    }
    Table {
        title: "Beside published figures".to_owned(),
        words: vec![SOURCE.to_owned()],
        head: vec!["what", "what differs", "published", "this run"],
        rows,
        texts: 2,
        ..Table::default()
    }
}

fn latencies(latency: &Latency) -> Vec<Vec<String>> {
    let total = &latency.total;
    let some = |value: f64| value.is_finite().then(|| figure(value / 1e3));
    vec![
        row("latency, ms: median", "−6.71", some(total.quantile(0.5)), CLOCKS),
        row(
            "latency, ms: mean of the magnitude",
            "6.89",
            some(latency.magnitude.mean()),
            CLOCKS,
        ),
        row(
            "latency, ms: standard deviation",
            "1.28",
            some(total.deviation()),
            CLOCKS,
        ),
        row("latency, ms: 10 % below", "−8.5", some(total.quantile(0.1)), CLOCKS),
        row("latency, ms: 90 % below", "−4.5", some(total.quantile(0.9)), CLOCKS),
        row("latency: frames", "1026", Some(total.count().to_string()), ""),
    ]
}

fn handshake(group: &Group) -> Vec<Vec<String>> {
    let bytes = group.sent.mean() + group.received.mean();
    let some = |value: f64, text: String| value.is_finite().then_some(text);
    let (duration, cpu) = (&group.duration, &group.cpu_percent);
    vec![
        row(
            "handshake, ms",
            "4.00 ± 1.41",
            some(duration.mean(), spread(duration.mean(), duration.deviation())),
            NETWORK,
        ),
        row("handshake, bytes", "192", some(bytes, figure(bytes)), NETWORK),
        row(
            "handshake, CPU %",
            "9.37",
            some(cpu.mean(), spread(cpu.mean(), cpu.deviation())),
            "theirs: of what is not said; ours: this end's thread, of the handshake's time",
        ),
    ]
}

fn row(what: &str, theirs: &str, ours: Option<String>, differs: &str) -> Vec<String> {
    let ours = ours.unwrap_or_else(|| NOTHING.to_owned());
    vec![what.to_owned(), differs.to_owned(), theirs.to_owned(), ours]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_papers_has_the_same_figures() {
        let paper = include_str!("../../papers/raspberry-pi.toml");
        for (what, _, published, _) in TABLE_III {
            for value in published {
                assert!(paper.contains(&format!("\"{value}\"")), "{what}: {value}");
            }
        }
    }
}
