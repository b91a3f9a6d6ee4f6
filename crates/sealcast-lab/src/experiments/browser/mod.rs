//! In the browser: what a page that watches costs, and how late its pictures are. The program serves the page, and
//! `web/scripts/measure-page.mjs` drives Debian's Chromium without a window and tells its readings in lines.

mod columns;
mod engine;
mod figures;
mod lines;
mod needs;

use crate::harness::Experiment;

/// `sealcast-lab browser`.
pub const BROWSER: Experiment = Experiment {
    name: "browser",
    definition: include_str!("../../../definitions/browser.toml"),
    open: engine::open,
    columns: columns::columns,
    charts: columns::charts,
    complete: None,
};
