//! The harness: everything that experiments have in common. An experiment is a definition (`definitions/NAME.toml`),
//! an engine that measures one turn, and columns (`experiments/NAME/{engine,columns}.rs`).
//!
//! `run` measures turn by turn and appends each to the record (`record`). `results` computes figures from the
//! record, `findings` turns them into sentences, and `report` writes the files for readers.

pub(crate) mod awake;
pub(crate) mod boxes;
pub(crate) mod chart;
pub(crate) mod column;
mod compared;
mod controls;
pub(crate) mod definition;
mod elsewhere;
pub(crate) mod environment;
pub(crate) mod experiment;
mod findings;
pub(crate) mod html;
pub(crate) mod judged;
pub(crate) mod markdown;
pub(crate) mod number;
pub(crate) mod page;
mod plan;
pub(crate) mod process;
pub(crate) mod processor;
mod ratio;
pub(crate) mod record;
mod report;
mod results;
pub(crate) mod run;
mod sample;
pub(crate) mod scheduling;
pub(crate) mod statistics;
pub(crate) mod summary;
pub(crate) mod table;
mod turn;

pub use column::{Better, Column};
pub use definition::{Against, Control, Definition, Entry, Published, Until};
pub use experiment::{Asked, Axis, Chart, Engine, Experiment, Opened, Place};
pub use judged::Judged;
pub use ratio::Ratio;
pub(crate) use record::{definition_in, obstacle_in, share_done, unwritable};
pub use report::write;
pub use results::{Results, Row};
pub use run::{Progress, Told, run};
pub use sample::Sample;
pub use statistics::Estimate;
pub use table::{csv, latex, terminal};
pub use turn::Turn;
