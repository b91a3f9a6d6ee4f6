//! An attacker, which has no key.

use sealcast::failure::Result;

use crate::attack::puzzle::{Puzzle, View};

/// An attacker.
pub(crate) trait Attacker: Sync {
    /// Its name in figures and files.
    fn name(&self) -> &'static str;

    /// A sentence that says what it does.
    fn words(&self) -> &'static str;

    /// Attacks a stream.
    ///
    /// # Errors
    /// A tool is missing. Finding nothing is no error.
    fn attack(&self, puzzle: &Puzzle) -> Result<View>;
}
