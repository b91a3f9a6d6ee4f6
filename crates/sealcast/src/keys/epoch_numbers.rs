//! Numbers of group epochs, none of which a camera uses twice, also when it is started again (docs/spec/groups.md,
//! section 1).

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sealcast_proto::keys::PeerId;

use crate::failure::{Failure, FailureKind, Result};
use crate::private_file::{remove_leftovers, update_secret};

/// Folder of the numbers.
const EPOCHS: &str = "epochs";
/// Numbers reserved at once: at one epoch a second they last twelve days.
const BLOCK: u64 = 1 << 20;

/// Store of the next number of a camera's stream.
pub struct EpochNumbers {
    /// `None` keeps nothing: for a camera whose identity ends with the program.
    file: Option<PathBuf>,
    next: u64,
}

impl EpochNumbers {
    /// The numbers of a camera's stream, in the home of the account: they go by its identity, whatever its name is.
    pub fn at(home: &Path, camera: &PeerId, stream: u16) -> Self {
        Self {
            file: Some(home.join(EPOCHS).join(format!("{camera}-{stream}"))),
            next: 0,
        }
    }

    /// Numbers of a camera that begins anew with a new identity.
    pub fn nowhere() -> Self {
        Self { file: None, next: 0 }
    }

    /// Reserves the next numbers. They are used up from here on, whatever happens to the program.
    ///
    /// # Errors
    /// Kind `Keys`: the file cannot be read or written, or has something else in it.
    pub fn reserve(&mut self) -> Result<Range<u64>> {
        let Some(file) = &self.file else {
            let first = self.next;
            self.next += BLOCK;
            return Ok(first..self.next);
        };
        remove_leftovers(file.parent().unwrap_or(file));
        // Two programs with one identity must not be given the same numbers.
        let reserved = update_secret(file, |text| {
            let first: u64 = match text {
                Some(text) => text
                    .trim()
                    .parse()
                    .map_err(|_| io::Error::other("it has no number in it"))?,
                None => 0,
            };
            let end = first.checked_add(BLOCK);
            let end = end.ok_or_else(|| io::Error::other("the numbers have run out"))?;
            Ok((format!("{end}\n"), first..end))
        });
        reserved.map_err(|error| failure(file, &error.to_string()))
    }
}

fn failure(file: &Path, why: &str) -> Failure {
    Failure::new(
        FailureKind::Keys,
        format!(
            "{}, which has the numbers of group epochs, cannot be used ({why})",
            file.display()
        ),
        "make it a file that you may write to; if it is lost, viewers that are enrolled must be enrolled again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::private_file::create_folder;

    fn camera() -> PeerId {
        sealcast_proto::keys::Identity::from_seed(&[1; 32]).peer_id()
    }

    #[test]
    fn no_number_is_given_twice_also_not_to_another_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let numbers = || EpochNumbers::at(folder.path(), &camera(), 1);
        let mut one = numbers();
        let first = one.reserve().expect("writable");
        let second = numbers().reserve().expect("writable");
        let third = one.reserve().expect("writable");
        assert_eq!(first, 0..BLOCK);
        assert_eq!(second, BLOCK..2 * BLOCK);
        assert_eq!(third, 2 * BLOCK..3 * BLOCK);
    }

    #[test]
    fn a_file_with_something_else_in_it_is_refused_in_words() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut numbers = EpochNumbers::at(folder.path(), &camera(), 1);
        let file = folder.path().join(format!("epochs/{}-1", camera()));
        create_folder(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, "many\n").expect("written");
        let failure = numbers.reserve().expect_err("no number");
        assert!(failure.what.contains("no number"), "{failure}");
        assert!(numbers.reserve().is_err(), "nothing is used instead");
    }
}
