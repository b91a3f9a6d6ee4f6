//! `sealcast-lab papers`: each figure and table with results of five research papers beside the same of this machine.
//!
//! `data` has what the papers published and which of our figures belong beside it. `run` measures the experiments that
//! this needs, each into a folder of its own. `evidence` reads their records; `item`, `plot` and `page` make the page
//! of them, from the records alone. `claim` judges what a paper says by differences of these records.

mod claim;
mod data;
mod evidence;
mod item;
mod page;
mod plot;
mod run;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use data::{Library, Needed};
pub(crate) use page::write;
pub(crate) use run::{Step, measure};
