//! `sealcast-lab report`: what the logs of a run show, as tables, charts and a trace.
//!
//! `log` reads rows one by one; `resources`, `latency`, `handshakes` and `beside` each condense one kind of log in
//! bounded memory. `end` joins the logs of a folder; `condensed` gives experiments the values of a whole run. `tables`
//! and `figures` are what readers see, and `trace` goes through the frames again.

mod beside;
mod beside_shown;
pub(crate) mod condensed;
mod distribution;
mod end;
mod figure;
mod figures;
mod handshakes;
mod latency;
mod log;
mod page;
mod published;
mod resources;
mod series;
mod table;
mod tables;
mod trace;

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sealcast::failure::Result;

use end::End;
pub(crate) use latency::FRAME_STAGES;
use table::Table;
pub use trace::Frames;

use crate::harness::record::unwritable;

/// Everything that a report shows.
#[derive(Debug)]
pub struct Report {
    ends: Vec<End>,
    /// The time of the first row of all logs.
    origin: Timestamp,
    tables: Vec<Table>,
}

impl Report {
    /// Reads the logs in these folders, in any order.
    ///
    /// # Errors
    /// A folder has no logs, or one of them cannot be read; the failure names file and line.
    pub fn read(folders: &[PathBuf]) -> Result<Self> {
        let origin = end::origin(folders)?.unwrap_or_default();
        let ends = folders.iter().map(|folder| End::read(folder, origin));
        let mut ends = ends.collect::<Result<Vec<_>>>()?;
        end::name(&mut ends);
        let tables = tables::all(&ends);
        Ok(Self { ends, origin, tables })
    }

    /// Findings, and all tables, in Markdown.
    pub fn text(&self) -> String {
        let found = page::found(&self.ends).into_iter().map(|words| words + "\n\n");
        found.chain(self.tables.iter().map(Table::markdown)).collect()
    }

    /// Writes `report.html`, `tables.md` and `figures.csv` into a folder, which is made if it does not exist.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        let over_time = figures::over_time(&self.ends);
        let latencies = figures::latencies(&self.ends);
        let page = page::page(&self.ends, self.origin, &self.tables, [&over_time, &latencies]);
        let all: Vec<_> = over_time.into_iter().chain(latencies).collect();
        let numbers = figures::csv(&all).map_err(|error| unwritable(folder, &error))?;
        let files = [
            ("report.html", page.into_bytes()),
            ("tables.md", self.text().into_bytes()),
            ("figures.csv", numbers),
        ];
        for (name, bytes) in files {
            let path = folder.join(name);
            fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))?;
        }
        Ok(())
    }

    /// Writes a Chrome trace of these frames into a folder: `trace.json`, and `trace-2.json` and so on for further ends
    /// with frames, because their numbers are the same. Returns a sentence about each.
    ///
    /// # Errors
    /// A file cannot be written, or no log has a frame of these.
    pub fn trace(&self, folder: &Path, frames: Frames) -> Result<Vec<String>> {
        trace::write(&self.ends, self.origin, folder, frames)
    }
}
