//! The files that a run writes.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde_json::{Value, json};

use super::plan::{DelayOptions, DelayResult, MEDIA};
use super::table::Row;
use super::{browse, table};
use crate::harness::environment::load_average;

/// Description of the method, for the report.
pub(super) const METHOD: &[&str] = &[
    "Two processes on one machine, joined by UDP over loopback. A packet has 8 bytes in clear, which tell the run \
     and the packet's number, then the data, enciphered under an IV made of the number, and the tag of an AEAD. \
     Ciphers without IVs (RC4, XOR) begin anew with their key for each packet, which is not safe. Keys are loaded \
     before.",
    "A delay is from just before the first packet is enciphered until the last one of the first tenth, of the \
     first two tenths and so on has been received and deciphered; both ends read the same monotonic clock, and go \
     before other programs where the system lets them (as root). The receiver compares each packet with what was \
     sent, after it has read the clock.",
    "The sender goes as fast as it can, with a bounded number of packets under way (`window`): what the receiving \
     socket holds for sure, 1024 at most. Eight times in a window the receiver tells how far it is. What is lost \
     all the same is counted; a sender that waits a second for a report goes on without, which is counted, too.",
    "Each run has processes of its own. In a round every cipher takes a turn with every medium, in the next round \
     in the opposite order. Figures are medians over rounds; intervals are 95 %, bootstrap over rounds; `more \
     than none` is the difference within a round, and its median. Foreign: packets of no run, or that are not \
     what was sent.",
    "Sending and receiving one packet at a time costs more than most ciphers do. Kernels that work on many \
     packets side by side have one at a time here.",
];

/// Writes `record.json`, `table.csv` and `report.html` into a folder, which is created if needed.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path, options: &DelayOptions, result: &DelayResult) -> Result<()> {
    let unwritable = |error: &dyn std::fmt::Display| {
        let what = format!("the results cannot be written to {} ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out, or make room")
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
    let machine = Machine::detect();
    let rows = table::rows(result);
    let page = browse::page(result, &rows, &facts(options, &machine)).map_err(|error| unwritable(&error))?;
    let record = serde_json::to_string_pretty(&record(options, result, &rows, &machine));
    let record = record.map_err(|error| unwritable(&error))? + "\n";
    table::write_csv(&folder.join("table.csv"), &rows).map_err(|error| unwritable(&error))?;
    for (name, text) in [("record.json", record), ("report.html", page)] {
        std::fs::write(folder.join(name), text).map_err(|error| unwritable(&error))?;
    }
    Ok(())
}

/// The facts above the page's curves.
fn facts(options: &DelayOptions, machine: &Machine) -> Vec<(&'static str, String)> {
    let Machine {
        cpu_model,
        cores,
        kernel,
        ..
    } = machine;
    vec![
        ("made", Timestamp::now().to_string()),
        ("machine", format!("{cpu_model}, {cores} cores, {kernel}")),
        ("sealcast", env!("CARGO_PKG_VERSION").to_owned()),
        ("rounds", options.rounds.to_string()),
        ("load average", load_average()),
    ]
}

fn record(options: &DelayOptions, result: &DelayResult, rows: &[Row], machine: &Machine) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "made": Timestamp::now().to_string(),
        "machine": machine,
        "libraries": LIBRARIES.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "load_average": load_average(),
        "method": METHOD,
        "rounds": options.rounds,
        "media": MEDIA,
        "ciphers": result.ciphers,
        "samples": result.samples,
        "table": rows,
    })
}
