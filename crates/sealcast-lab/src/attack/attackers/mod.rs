//! The attackers. None has a key. Each is a file of its own and stands in [`ALL`].

mod concealment;
mod fusion;
mod intra;
mod learned;
mod naive;
mod parameters;
mod replacement;
mod sketch;

use sealcast::failure::Result;

use super::puzzle::{Puzzle, View};

pub(crate) use fusion::expected_coverage;

/// An attacker.
pub(crate) trait Attacker: Sync {
    /// Its name in figures and files.
    fn name(&self) -> &'static str;

    /// What it does, in one sentence.
    fn words(&self) -> &'static str;

    /// Attacks a stream.
    ///
    /// # Errors
    /// A tool is missing. Finding nothing is no error.
    fn attack(&self, puzzle: &Puzzle) -> Result<View>;
}

/// All attackers, in the order of their letters in docs/lab.md.
pub(crate) static ALL: [&dyn Attacker; 10] = [
    &naive::Naive,
    &replacement::ZEROS,
    &replacement::LAST,
    &replacement::TEMPLATE,
    &concealment::Concealment,
    &parameters::Parameters,
    &intra::Intra,
    &fusion::Fusion,
    &sketch::Sketch,
    &learned::Learned,
];
