//! What a run leaves behind.

use std::path::Path;

use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::platform::machine::Machine;
use sealcast::platform::versions::LIBRARIES;
use serde_json::{Value, json};

use super::plan::{GatewayOptions, GatewayResult};
use super::table;
use crate::facts;

/// Write `record.json` and `table.md` into a folder, which is made if need be.
///
/// # Errors
/// A file cannot be written.
pub fn write(folder: &Path, options: &GatewayOptions, result: &GatewayResult) -> Result<()> {
    let unwritable = |error: &dyn std::fmt::Display| {
        let what = format!("the results cannot be written to {} ({error})", folder.display());
        Failure::new(FailureKind::Sink, what, "choose another --out")
    };
    std::fs::create_dir_all(folder).map_err(|error| unwritable(&error))?;
    let record = serde_json::to_string_pretty(&record(options, result)).map_err(|error| unwritable(&error))?;
    let files = [("record.json", record + "\n"), ("table.md", table::terminal(result))];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).map_err(|error| unwritable(&error))?;
    }
    Ok(())
}

fn record(options: &GatewayOptions, result: &GatewayResult) -> Value {
    let samples = result.figures.iter().map(|figures| {
        json!({
            "load": figures.load.name,
            "system": figures.system.to_string(),
            "samples": figures.samples,
        })
    });
    let loads = options
        .loads
        .iter()
        .map(|load| json!({"name": load.name, "what": load.words()}));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "made": Timestamp::now().to_string(),
        "machine": Machine::detect(),
        "libraries": LIBRARIES.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
        "tcp_congestion_control": facts::congestion_control(),
        "load_average": std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
        "rounds": options.rounds,
        "seconds": options.time.as_secs_f64(),
        "loads": loads.collect::<Vec<_>>(),
        "rows": table::rows(result),
        "verdicts": table::verdicts(result),
        "not_measured": result.missing,
        "samples": samples.collect::<Vec<_>>(),
    })
}
