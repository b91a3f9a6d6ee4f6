//! The implementation of each cipher that is measured.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};

use super::packet::{Codec, Medium, NONE};
use crate::ciphers::choice::{chosen, fastest};
use crate::ciphers::implementation::Implementation;
use crate::harness::Place;

/// File that keeps the choice, so that a continued run measures the implementations that it began with.
const FILE: &str = "implementations.json";
/// Time for which each implementation of a cipher is tried to find the fastest: long enough to seal some packets
/// without an interruption.
const TRIAL: Duration = Duration::from_millis(10);

/// The implementations chosen so far in a folder, by the names of ciphers.
pub(super) struct Choice {
    known: BTreeMap<String, String>,
    path: PathBuf,
}

impl Choice {
    /// Reads the choice of an earlier run in this folder, if there was one.
    pub(super) fn read(place: &Place<'_>) -> Self {
        let path = place.folder.join(FILE);
        let known = std::fs::read(&path)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        Self {
            known: known.unwrap_or_default(),
            path,
        }
    }

    /// The implementation to measure, such as `rc4/x86_64`. For the name of a cipher it is the implementation that was
    /// chosen before, or that seals packets of `medium` fastest. It reproduces the published values. [`NONE`] for
    /// [`NONE`].
    ///
    /// # Errors
    /// There is no such cipher, or it does not reproduce a published value.
    pub(super) fn of(&mut self, cipher: &str, medium: Medium) -> Result<String> {
        if cipher == NONE {
            return Ok(cipher.to_owned());
        }
        let among = chosen(&[cipher.to_owned()])?;
        let known = self.known.get(cipher);
        let at = among
            .iter()
            .position(|one| Some(&one.name()) == known || one.name() == cipher);
        let one = match at {
            Some(at) => among.into_iter().nth(at),
            None => fastest(among, |one| seal_time(one, medium))?.pop(),
        };
        let one = one.ok_or_else(|| broken(cipher, "it has no implementation here"))?;
        one.verify().map_err(|why| broken(&one.name(), &why))?;
        self.known.insert(cipher.to_owned(), one.name());
        Ok(one.name())
    }

    /// Writes the choice down.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn keep(&self) -> Result<()> {
        let written = serde_json::to_vec(&self.known).map_err(std::io::Error::from);
        let written = written.and_then(|text| std::fs::write(&self.path, text));
        written.map_err(|error| unwritable(&self.path, &error))
    }
}

/// Checks that all names are ciphers, or implementations such as `trivium/words`.
///
/// # Errors
/// A name is neither; the message lists the ciphers.
pub fn check(names: &[String]) -> Result<()> {
    let named: Vec<String> = names.iter().filter(|name| *name != NONE).cloned().collect();
    chosen(&named).map(drop)
}

/// Shortest time to seal a packet.
fn seal_time(implementation: &Implementation, medium: Medium) -> Result<Duration> {
    let broken = |why: String| broken(&implementation.name(), &why);
    let mut codec = Codec::new(medium, 0, Some(implementation)).map_err(broken)?;
    let (mut best, mut number, begun) = (Duration::MAX, 0, Instant::now());
    while number == 0 || begun.elapsed() < TRIAL {
        let began = Instant::now();
        codec.seal(number).map_err(broken)?;
        best = best.min(began.elapsed());
        number += 1;
    }
    Ok(best)
}

fn broken(name: &str, why: &str) -> Failure {
    Failure::new(FailureKind::Internal, format!("{name}: {why}"), "please report this")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let what = format!("{} cannot be written ({error})", path.display());
    Failure::new(FailureKind::Sink, what, "choose another --out, or make room")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIUM: Medium = Medium {
        packets: 500,
        bytes: 2464,
    };

    #[test]
    fn of_a_cipher_one_implementation_is_measured_unless_others_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut choice = Choice::read(&Place { folder: folder.path() });
        let mut of = |cipher: &str| choice.of(cipher, MEDIUM);
        assert_eq!(of(NONE).expect("none"), NONE);
        assert!(of("trivium").expect("it is there").starts_with("trivium/"));
        assert_eq!(of("hc-128/definition").expect("it is there"), "hc-128/definition");
        let refused = of("rot13").expect_err("it is not there");
        assert!(
            refused.what.contains("rot13") && refused.hint.contains("trivium"),
            "{refused}"
        );
    }

    #[test]
    fn a_run_that_goes_on_measures_the_implementations_it_began_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = Place { folder: folder.path() };
        std::fs::write(
            folder.path().join(FILE),
            r#"{"trivium":"trivium/definition","rc4":"rc4/none"}"#,
        )
        .expect("written");
        let mut choice = Choice::read(&place);
        // A definition is never chosen for its speed.
        assert_eq!(choice.of("trivium", MEDIUM).expect("it is there"), "trivium/definition");
        let rc4 = choice.of("rc4", MEDIUM).expect("it is there");
        assert!(rc4.starts_with("rc4/") && rc4 != "rc4/none", "{rc4}");
        choice.keep().expect("written");
        assert_eq!(Choice::read(&place).known, choice.known);
    }
}
