//! The papers' figures and tables with this machine's values, as parts of the page.

use std::error::Error;
use std::fmt::Write;

use super::papers::{ELKILANI_2009, ELKILANI_2009_SOURCE, KHAN_2024, KHAN_2024_SOURCE};
use super::plot::{self, Bar};
use super::record::Record;
use super::summary::Line;
use super::table::short;
use crate::harness::statistics::Estimate;
use crate::page::{escape, row};

/// A chart: heading, unit, and the value drawn for each contender.
type Chart = (&'static str, &'static str, fn(&Line) -> Option<Estimate>);

/// Figures 3 to 9 of Khan et al. 2024, and Rank, on which E-Rank is based.
const CHARTS: [Chart; 8] = [
    (
        "Figure 3: frames enciphered per second",
        "H.264 frames per second",
        |line| line.frames_per_s,
    ),
    ("Figure 4: throughput", "kbit/s", |line| line.kbit_per_s),
    (
        "Figure 5: cycles per byte, the loop's subtracted",
        "cycles per byte",
        |line| line.cycles_per_byte,
    ),
    ("Figure 6: memory", "bytes of growth per byte of a frame", |line| {
        line.memory_bytes
    }),
    ("Figure 7: code size", "bytes", |line| line.code_bytes.map(exact)),
    ("Figure 8: energy per frame", "mJ per frame", |line| line.mj_per_frame),
    (
        "Rank, which E-Rank divides by energy",
        "(bytes/s) / (code + 2 x memory)",
        |line| line.rank,
    ),
    ("Figure 9: E-Rank", "Rank / (microjoules per byte)", |line| line.e_rank),
];

/// All charts. Contenders without a value are named below the chart.
pub(super) fn charts(record: &Record, lines: &[Line]) -> Result<String, Box<dyn Error>> {
    let mut page = String::from("<h2>Figures 3 to 9 of Khan et al. 2024, on this machine</h2>\n");
    writeln!(
        page,
        "<p>Bars are medians over rounds, lines their 95 % intervals. Axes are logarithmic where bars differ more than \
         twentyfold. Video is {}, {} bytes a frame on average. Energy: {}.</p>",
        escape(&record.settings().frames),
        short(record.frame_bytes()),
        escape(&record.energy)
    )?;
    for (heading, unit, figure) in CHARTS {
        writeln!(page, "<h3>{heading}</h3>")?;
        chart(&mut page, unit, lines, figure)?;
    }
    Ok(page)
}

fn chart(
    page: &mut String,
    unit: &str,
    lines: &[Line],
    figure: fn(&Line) -> Option<Estimate>,
) -> Result<(), Box<dyn Error>> {
    let bar = |line: &Line| figure(line).map(|known| (line.name(), known.median, known.low, known.high));
    let bars: Vec<Bar> = lines.iter().filter_map(bar).collect();
    let missing: Vec<String> = lines
        .iter()
        .filter(|line| figure(line).is_none())
        .map(Line::name)
        .collect();
    if bars.is_empty() {
        page.push_str("<p>Not measurable here.</p>\n");
        return Ok(());
    }
    writeln!(page, "<figure>{}</figure>", plot::bars(unit, &bars)?)?;
    if !missing.is_empty() {
        writeln!(page, "<p>No figure for {}.</p>", escape(&missing.join(", ")))?;
    }
    Ok(())
}

fn exact(bytes: u64) -> Estimate {
    let median = bytes as f64;
    Estimate {
        median,
        low: median,
        high: median,
    }
}

/// Table 1 of Khan et al. 2024, each line followed by the values of this machine's kernels.
pub(super) fn khan_2024(record: &Record, lines: &[Line]) -> String {
    let mut page = format!(
        "<h2>Table 1 of Khan et al. 2024, and this machine</h2>\n<p>Lines of the paper are quoted from {}. The others \
         are this machine's, with 95 % intervals. Energy: {}.</p>\n<table>\n",
        escape(KHAN_2024_SOURCE),
        escape(&record.energy)
    );
    page.push_str(&row(
        "th",
        [
            "cipher",
            "on",
            "key, bits",
            "frames/s",
            "code, bytes",
            "memory, bytes/byte",
            "cycles/byte",
            "kbit/s",
            "mJ/frame",
            "µJ/byte",
            "Rank",
            "E-Rank",
        ],
    ));
    for paper in &KHAN_2024 {
        let quoted = [
            paper.frames_per_s,
            paper.code_bytes,
            paper.memory_bytes,
            paper.cycles_per_byte,
            paper.kbit_per_s,
            paper.mj_per_frame,
            paper.uj_per_byte,
        ];
        let mut cells = vec![
            paper.cipher.to_owned(),
            "ARM11 (paper)".to_owned(),
            paper.key_bits.to_string(),
        ];
        cells.extend(quoted.map(|value| value.to_string()));
        cells.extend(["-".to_owned(), paper.e_rank.to_string()]);
        page.push_str(&row("td", cells));
        let ours = lines.iter().filter(|line| line.cipher == paper.cipher);
        ours.for_each(|line| page.push_str(&row("td", summed_up(line))));
    }
    let others = lines
        .iter()
        .filter(|line| !KHAN_2024.iter().any(|paper| paper.cipher == line.cipher));
    others.for_each(|line| page.push_str(&row("td", summed_up(line))));
    page.push_str("</table>\n");
    page
}

/// A line in the paper's columns.
fn summed_up(line: &Line) -> Vec<String> {
    let figures = [
        figure(line.frames_per_s),
        line.code_bytes
            .map_or_else(|| "not known".to_owned(), |bytes| bytes.to_string()),
        middle(line.memory_bytes),
        figure(line.cycles_per_byte),
        middle(line.kbit_per_s),
        figure(line.mj_per_frame),
        figure(line.uj_per_byte),
        figure(line.rank),
        figure(line.e_rank),
    ];
    let first = [
        line.cipher.clone(),
        line.implementation.clone(),
        line.key_bits.to_string(),
    ];
    first.into_iter().chain(figures).collect()
}

/// A figure without its interval.
fn middle(estimate: Option<Estimate>) -> String {
    estimate.map_or_else(|| "-".to_owned(), |known| short(known.median))
}

/// A figure with its interval, or a dash.
pub(super) fn figure(estimate: Option<Estimate>) -> String {
    let said = |known: Estimate| {
        format!(
            "{} ({} to {})",
            short(known.median),
            short(known.low),
            short(known.high)
        )
    };
    estimate.map_or_else(|| "-".to_owned(), said)
}

/// Times of set-up and of single blocks: the components of the cost in Elkilani and Abdul-Kader.
pub(super) fn times(lines: &[Line]) -> String {
    let mut page = String::from(
        "<h2>Set-up, one block, and their sum T</h2>\n<p>Nanoseconds, with 95 % intervals. T is algorithm, key, \
         enciphering and deciphering a packet of one block, its IV included in each of the two.</p>\n<table>\n",
    );
    page.push_str(&row(
        "th",
        [
            "cipher",
            "implementation",
            "algorithm",
            "key",
            "IV",
            "block, bytes",
            "enciphering",
            "deciphering",
            "T",
        ],
    ));
    for line in lines {
        let [algorithm, key, iv] = [line.algorithm_ns, line.key_ns, line.iv_ns].map(figure);
        let [seal, open, t] = [line.block_seal_ns, line.block_open_ns, line.t_ns].map(figure);
        let block = line.block_bytes.to_string();
        let cells = [
            &line.cipher,
            &line.implementation,
            &algorithm,
            &key,
            &iv,
            &block,
            &seal,
            &open,
            &t,
        ];
        page.push_str(&row("td", cells));
    }
    page.push_str("</table>\n");
    page
}

/// Table 1 and Figure 7 of Elkilani and Abdul-Kader.
pub(super) fn elkilani_2009(record: &Record, lines: &[Line]) -> Result<String, Box<dyn Error>> {
    let mut page = format!(
        "<h2>Table 1 and Figure 7 of Elkilani and Abdul-Kader 2009, and this machine</h2>\n<p>The paper's lines are \
         quoted from {}. Cost here is cycles per byte of H.264 frames. Its Figures 4 to 6, delay over UDP, are what \
         sealcast-lab delay measures.</p>\n<table>\n",
        escape(ELKILANI_2009_SOURCE)
    );
    page.push_str(&row(
        "th",
        [
            "cipher",
            "cost",
            "size of the output",
            "form (block, bytes)",
            "encrypting a block",
            "decrypting a block",
        ],
    ));
    for [cipher, cost, size, seal, open] in ELKILANI_2009 {
        let cipher = format!("{cipher} (paper)");
        page.push_str(&row("td", [&cipher, cost, size, "-", seal, open]));
    }
    for line in lines {
        let size = match line.tag_bytes {
            0 => "fixed".to_owned(),
            tag => format!("{tag} bytes more a packet"),
        };
        let block = |ns: Option<Estimate>| format!("{} ns", middle(ns));
        let form = format!("{} ({})", line.form, line.block_bytes);
        let [seal, open] = [block(line.block_seal_ns), block(line.block_open_ns)];
        page.push_str(&row(
            "td",
            [&line.name(), &figure(line.cycles_per_byte), &size, &form, &seal, &open],
        ));
    }
    writeln!(
        page,
        "</table>\n<h3>Figure 7: safe time</h3>\n<p>Years until all keys are tried at {:e} keys a second. The paper \
         names no rate. RC4 is broken by a shorter way, and XOR with a key that repeats without any guessing.</p>",
        record.guesses_per_second
    )?;
    let mut bars: Vec<Bar> = Vec::new();
    for line in lines {
        let name = format!("{}, {} bits", line.cipher, line.key_bits);
        if !bars.iter().any(|(drawn, ..)| *drawn == name) {
            bars.push((name, line.safe_years, line.safe_years, line.safe_years));
        }
    }
    writeln!(page, "<figure>{}</figure>", plot::bars("years", &bars)?)?;
    Ok(page)
}
