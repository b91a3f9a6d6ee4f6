//! Effect of the processor's special instructions: ciphers with and without them.

use super::alone::{SWITCHED_BYTES, Switched};
use super::figures::figure;
use super::measure::Timed;
use super::record::Record;
use super::table::{Row, SHOWN, short};
use crate::harness::statistics::Estimate;
use crate::page::row;

/// The section of the page about it.
pub(super) fn part(record: &Record, rows: &[Row]) -> String {
    let detected: Vec<&str> = record.features();
    let mut page = format!(
        "<h2>The processor's instructions, on and off</h2>\n<p>Detected: {}.</p>\n<h3>AES, packets of {SWITCHED_BYTES} \
         bytes, MB/s</h3>\n<table>\n",
        if detected.is_empty() {
            "none".to_owned()
        } else {
            detected.join(", ")
        }
    );
    page.push_str(&row("th", ["cipher", "implementation", "on", "off", "times as fast"]));
    for (index, one) in record.contenders.iter().enumerate() {
        let of = record.rounds.iter().flat_map(|round| &round.switched);
        let all: Vec<&Switched> = of.filter(|switched| switched.contender == index).collect();
        let each = |of: fn(&Switched) -> f64| {
            let samples: Vec<f64> = all.iter().map(|switched| of(switched)).collect();
            Estimate::of(&samples)
        };
        let (on, off) = (each(|one| mb_per_s(&one.with)), each(|one| mb_per_s(&one.without)));
        let times = each(|one| mb_per_s(&one.with) / mb_per_s(&one.without));
        if times.is_some() {
            let [on, off, times] = [on, off, times].map(figure);
            page.push_str(&row("td", [&one.cipher, &one.implementation, &on, &off, &times]));
        }
    }
    page.push_str(
        "</table>\n<h3>Study ciphers: portable kernels and those with vector instructions, MB/s</h3>\n<table>\n",
    );
    let kernels = ["definition", "words", "avx2", "avx512"];
    page.push_str(&row("th", ["cipher"].into_iter().chain(kernels)));
    let mut ciphers: Vec<&str> = rows.iter().map(|row| row.cipher.as_str()).collect();
    ciphers.dedup();
    let mut seen: Vec<&str> = Vec::new();
    for cipher in ciphers {
        let of = |kernel: &str| {
            let here = |row: &&Row| row.workload == SHOWN && row.cipher == cipher && row.implementation == kernel;
            rows.iter()
                .find(here)
                .map_or_else(|| "-".to_owned(), |row| short(row.mb_per_s))
        };
        let speeds = kernels.map(of);
        if !seen.contains(&cipher) && speeds.iter().any(|speed| speed != "-") {
            seen.push(cipher);
            page.push_str(&row("td", std::iter::once(cipher.to_owned()).chain(speeds)));
        }
    }
    page.push_str("</table>\n");
    page
}

fn mb_per_s(timed: &Timed) -> f64 {
    timed.bytes as f64 * 1e3 / timed.seal_ns
}
