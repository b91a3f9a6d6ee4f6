//! The tables of a report.

use super::beside_shown;
use super::distribution::Distribution;
use super::end::End;
use super::latency::Latency;
use super::published;
use super::resources::{FRAMES, PHASES, QUANTITIES, Resources, STEADY, THROUGHPUT};
use super::table::{NOTHING, Table, count, duration, figure, spread};

/// All tables, in the order of the page. One without rows and words says nothing and is left out.
pub(super) fn all(ends: &[End]) -> Vec<Table> {
    let mut tables = vec![resources(ends), energy(ends)];
    for end in ends {
        let logged = end.latencies.iter().filter(|latency| latency.count() > 0);
        tables.extend(logged.map(|latency| stages(end, latency)));
        if end.beside.count() > 0 {
            tables.push(beside_shown::table(end));
        }
    }
    tables.extend([handshakes(ends), published::table(ends), missing(ends), files(ends)]);
    tables.retain(|table| !table.rows.is_empty() || !table.notes.is_empty());
    for (at, table) in tables.iter_mut().enumerate() {
        // Each is a place on the page.
        table.id = format!("table-{}", at + 1);
    }
    tables
}

/// Table III of the paper, for each phase.
fn resources(ends: &[End]) -> Table {
    let mut rows = Vec::new();
    for end in ends {
        let Resources { spreads, seconds, .. } = &end.resources;
        // The stream first: it is what the paper's table is about.
        for phase in [STEADY, 0, 2] {
            for (at, (quantity, spread_of)) in QUANTITIES.iter().zip(&spreads[phase]).enumerate() {
                // Where nothing is streamed, the rates say nothing.
                let is_rate = matches!(at, FRAMES | THROUGHPUT);
                if spread_of.windows == 0 || (is_rate && phase != STEADY && spread_of.mean == 0.0) {
                    continue;
                }
                let (least, most) = spread_of.ends();
                let [title, unit] = match at {
                    FRAMES => end.role.frame_rate(),
                    _ => [quantity.title, quantity.unit],
                };
                rows.push(vec![
                    end.name.clone(),
                    format!("{}, {}", PHASES[phase], duration(seconds[phase])),
                    format!("{title}, {unit}"),
                    spread(spread_of.mean, spread_of.deviation()),
                    figure(least),
                    figure(most),
                    count(spread_of.windows),
                ]);
            }
        }
    }
    Table {
        title: "Resources by phase (as Table III)".to_owned(),
        words: vec![
            "Mean ± standard deviation, least and greatest of windows of a second. The rest of a phase that is shorter \
             counts in the mean by its length; least and greatest are of windows of half a second or more, where there \
             are any."
                .to_owned(),
        ],
        head: vec!["end", "phase", "quantity", "mean ± sd", "least", "greatest", "windows"],
        rows,
        texts: 3,
        ..Table::default()
    }
}

fn energy(ends: &[End]) -> Table {
    let mut rows = Vec::new();
    for end in ends {
        let Some(joules) = end.resources.joules else { continue };
        for (phase, (joules, seconds)) in joules.iter().zip(end.resources.seconds).enumerate() {
            if seconds > 0.0 {
                rows.push(vec![
                    end.name.clone(),
                    PHASES[phase].to_owned(),
                    figure(seconds),
                    figure(*joules),
                    figure(joules / seconds),
                ]);
            }
        }
    }
    Table {
        title: "Energy by phase".to_owned(),
        words: vec!["Of everything that the meter covers, whichever program uses it.".to_owned()],
        head: vec!["end", "phase", "seconds", "joules", "mean W"],
        rows,
        texts: 2,
        ..Table::default()
    }
}

fn stages(end: &End, latency: &Latency) -> Table {
    let row = |name: &str, times: &Distribution, share: Option<f64>| {
        let figures = [
            times.mean(),
            times.deviation(),
            times.quantile(0.5),
            times.quantile(0.95),
            times.quantile(0.99),
            times.most,
        ];
        let share = share.map_or(NOTHING.to_owned(), |share| format!("{} %", figure(share * 100.0)));
        let mut row = vec![name.to_owned(), count(times.count())];
        row.extend(figures.map(figure));
        row.push(share);
        row
    };
    let names = latency.kind.stages.iter().map(|name| name.replace('_', " "));
    let mut rows: Vec<_> = names
        .zip(&latency.stages)
        .enumerate()
        .map(|(at, (name, times))| row(&name, times, latency.share(at)))
        .collect();
    if latency.total.count() > 0 {
        rows.push(row("whole", &latency.total, Some(1.0)));
    }
    Table {
        title: format!("Latency of a {}, {}, in µs", latency.kind.of, end.name),
        words: Vec::new(),
        head: vec!["stage", "n", "mean", "sd", "median", "95 %", "99 %", "most", "share"],
        rows,
        texts: 1,
        notes: sums(latency).into_iter().collect(),
        ..Table::default()
    }
}

/// Whether the stages make up the whole.
pub(super) fn sums(latency: &Latency) -> Option<String> {
    latency.kind.total?;
    let sums = latency.sums;
    if sums.rows == 0 {
        return Some("No row has a whole latency: the clocks were not compared yet.".to_owned());
    }
    Some(format!(
        "The stages of a {} add up to the whole within the uncertainty of the clocks in {} of {} rows. The largest \
         difference is {} µs, the largest uncertainty {} µs.",
        latency.kind.of,
        count(sums.agree),
        count(sums.rows),
        figure(sums.most_us),
        figure(sums.uncertainty_us),
    ))
}

fn handshakes(ends: &[End]) -> Table {
    let mut rows = Vec::new();
    for end in ends {
        for (kind, group) in &end.handshakes.groups {
            let of = |distribution: &Distribution| spread(distribution.mean(), distribution.deviation());
            let word = |word: &str| {
                if word.is_empty() {
                    NOTHING.to_owned()
                } else {
                    word.to_owned()
                }
            };
            rows.push(vec![
                end.name.clone(),
                word(&kind.role),
                word(&kind.mechanism),
                word(&kind.suite),
                word(&kind.outcome),
                count(group.count),
                of(&group.duration),
                figure(group.duration.quantile(0.95)),
                of(&group.cpu),
                of(&group.cpu_percent),
                of(&group.keygen),
                of(&group.startup),
                of(&group.sent),
                of(&group.received),
                of(&group.energy),
            ]);
        }
    }
    Table {
        title: "Handshakes (as Table II)".to_owned(),
        words: vec![
            "Mean ± standard deviation. CPU is this end's thread; the share is of the handshake's duration.".to_owned(),
        ],
        head: vec![
            "end",
            "role",
            "mechanism",
            "suite",
            "outcome",
            "n",
            "ms",
            "95 %",
            "CPU ms",
            "CPU %",
            "key pair ms",
            "start-up ms",
            "bytes out",
            "bytes in",
            "mJ",
        ],
        rows,
        texts: 5,
        ..Table::default()
    }
}

/// Table of what the logs do not have, in words.
fn missing(ends: &[End]) -> Table {
    let mut notes = Vec::new();
    for end in ends {
        let unknown = QUANTITIES
            .iter()
            .enumerate()
            .filter(|(at, _)| !end.resources.knows(*at));
        let mut words: Vec<&str> = unknown.map(|(_, quantity)| quantity.missing).collect();
        if end.resources.seconds.iter().sum::<f64>() == 0.0 {
            words = vec!["no samples of the running stream"];
        }
        if end.handshakes.groups.is_empty() {
            words.push("no handshakes");
        }
        // Who sends knows no latency: the receiving end logs it.
        if end.role.receives() && end.latencies.iter().all(|latency| latency.count() == 0) {
            words.push("no latencies");
        }
        let without = end.latencies.iter().filter(|latency| latency.kind.total.is_some());
        let without: u64 = without.map(|latency| latency.count() - latency.total.count()).sum();
        let uncompared = format!(
            "no whole latency for {} rows, before the clocks were compared",
            count(without)
        );
        if without > 0 {
            words.push(&uncompared);
        }
        if !words.is_empty() {
            notes.push(format!("{}: {}", end.name, words.join("; ")));
        }
    }
    let any = |holds: fn(&End) -> bool| ends.iter().any(holds);
    if !any(|end| end.role.sends()) {
        notes.push("There is no log of a publisher or camera gateway here.".to_owned());
    }
    if !any(|end| end.role.receives()) {
        notes.push("There is no log of a viewer or viewer gateway here, so there are no latencies.".to_owned());
    }
    Table {
        title: "Not in the logs".to_owned(),
        notes,
        ..Table::default()
    }
}

fn files(ends: &[End]) -> Table {
    let all = ends
        .iter()
        .flat_map(|end| end.files.iter().map(move |file| (end, file)));
    let logged = all.filter(|(_, (_, rows, torn))| rows + torn > 0);
    let rows = logged.map(|(end, (path, rows, torn))| {
        vec![end.name.clone(), path.display().to_string(), count(*rows), count(*torn)]
    });
    Table {
        title: "Logs".to_owned(),
        words: vec![
            "A torn row is one that a program was writing when it was killed or the log was read. It is left out."
                .to_owned(),
        ],
        head: vec!["end", "file", "rows", "torn rows left out"],
        rows: rows.collect(),
        texts: 2,
        ..Table::default()
    }
}
