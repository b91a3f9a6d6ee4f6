//! The files that a run writes beside its record.

use std::path::Path;

use sealcast::failure::Result;

use super::record::unwritable;
use super::results::Results;
use super::{page, table};

/// Writes `definition.toml`, which `run` measures again, `table.csv`, `table.md` and `report.html` into an existing
/// folder.
///
/// # Errors
/// A file cannot be written.
pub fn write(results: &Results, method: &[String], folder: &Path) -> Result<()> {
    let csv = table::csv(results).map_err(|error| unwritable(folder, &error))?;
    let definition = toml::to_string(&results.definition).map_err(|error| unwritable(folder, &error))?;
    let files = [
        ("definition.toml", definition.into_bytes()),
        ("table.csv", csv),
        ("table.md", table::document(results).into_bytes()),
        ("report.html", page::page(results, method).into_bytes()),
    ];
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))?;
    }
    Ok(())
}
