//! Live streams as users run them, `publish` and `probe` or `watch` as two processes, and experiments on them: what
//! protection costs (`price`), what resolution does (`resolution`), and what slow links do (`slow`).

mod clip;
mod columns;
mod dose;
mod ends;
mod engine;
mod figures;
mod frames;
mod link;
mod power;
mod system;

pub(crate) use clip::made as made_clip;
#[cfg(test)]
pub(crate) use ends::Mark;
pub(crate) use ends::{Seen, Stream, Viewer, inside, wall_clock_ns};
pub(crate) use figures::{Figures, between, delivered, verified};
pub(crate) use frames::Frame;
pub(crate) use link::{Proxy, profile};
pub(crate) use system::Suite;

use crate::harness::Experiment;

/// `sealcast-lab price`.
pub const PRICE: Experiment = Experiment {
    name: "price",
    definition: include_str!("../../../definitions/price.toml"),
    open: engine::open,
    columns: columns::price,
    charts: columns::price_charts,
    complete: None,
};

/// `sealcast-lab resolution`.
pub const RESOLUTION: Experiment = Experiment {
    name: "resolution",
    definition: include_str!("../../../definitions/resolution.toml"),
    open: engine::open,
    columns: columns::resolution,
    charts: columns::no_charts,
    complete: None,
};

/// `sealcast-lab slow`.
pub const SLOW: Experiment = Experiment {
    name: "slow",
    definition: include_str!("../../../definitions/slow.toml"),
    open: engine::open,
    columns: columns::slow,
    charts: columns::no_charts,
    complete: None,
};
