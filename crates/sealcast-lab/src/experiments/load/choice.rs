//! The implementations that take part.

use std::time::{Duration, Instant};

use sealcast::failure::Result;
use sealcast::media::Picture;

use super::pipeline::{Frames, Pipeline, Sink};
use crate::ciphers::catalogue;
use crate::ciphers::choice::{self, fastest};
use crate::ciphers::implementation::Implementation;
use crate::harness::{Asked, Definition, Entry};

/// The system without a cipher.
pub const NONE: &str = "none";
/// The setting that says that implementations were chosen by their speed.
const CHOSEN: &str = "fastest_of_each";
/// Size of the frame by which the fastest implementation is found.
const FRAME: (usize, usize) = (640, 480);

/// Lists the systems if the definition names none: no cipher, and for each cipher the implementation that enciphers a
/// frame fastest here. If `--only` names ciphers, lists all implementations, from which `--only` then selects. A
/// continued run keeps its choice, since two implementations can be equally fast.
pub(super) fn complete(definition: &mut Definition, asked: &Asked<'_>) -> Result<()> {
    let named = asked
        .only
        .iter()
        .any(|name| definition.case(name).is_none() && name != NONE);
    let is_chosen =
        |known: &&Definition| known.settings.contains_key(CHOSEN) && known.experiment == definition.experiment;
    if !definition.systems.is_empty() {
        return with_facts(definition);
    }
    if named {
        choice::complete(definition)?;
    } else if let Some(known) = asked.known.filter(is_chosen) {
        definition.systems = known
            .systems
            .iter()
            .filter(|system| system.name != NONE)
            .cloned()
            .collect();
    } else {
        definition.systems = fastest_of_each()?.iter().map(choice::entry).collect();
    }
    if !named {
        definition.settings.insert(CHOSEN.to_owned(), true.into());
    }
    definition.systems.insert(0, none());
    Ok(())
}

/// Adds the properties of the listed ciphers.
fn with_facts(definition: &mut Definition) -> Result<()> {
    let at = definition.systems.iter().position(|system| system.name == NONE);
    let none = at.map(|at| (at, definition.systems.remove(at)));
    if !definition.systems.is_empty() {
        choice::complete(definition)?;
    }
    if let Some((at, none)) = none {
        definition.systems.insert(at, none);
    }
    Ok(())
}

fn none() -> Entry {
    Entry {
        name: NONE.to_owned(),
        words: "the same without a cipher".to_owned(),
        fields: toml::Table::new(),
    }
}

/// Wrong implementations stay, so that the run reports them.
fn fastest_of_each() -> Result<Vec<Implementation>> {
    let frames = Frames::new(&[Picture::black(FRAME.0, FRAME.1)]);
    let (right, wrong): (Vec<_>, Vec<_>) = catalogue::all().into_iter().partition(|one| one.verify().is_ok());
    let mut chosen = fastest(right, |one| seal_time(&frames, one))?;
    chosen.extend(wrong);
    Ok(chosen)
}

/// The time for a second frame; the first one only warms up.
fn seal_time(frames: &Frames, one: &Implementation) -> Result<Duration> {
    let mut pipeline = Pipeline::new(frames, Some(one), false, Sink::Memory)?;
    pipeline.frame(0)?;
    let began = Instant::now();
    pipeline.frame(1)?;
    Ok(began.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(asked: &Asked<'_>) -> Definition {
        let mut definition = Definition::parse(super::super::LOAD.definition).expect("it is right");
        complete(&mut definition, asked).expect("all are there");
        definition
    }

    #[test]
    fn a_run_that_is_continued_keeps_the_implementations_that_were_fastest() {
        let mut known = completed(&Asked::default());
        let ciphers: Vec<_> = known
            .systems
            .iter()
            .skip(1)
            .map(|system| &system.fields["cipher"])
            .collect();
        let mut once = ciphers.clone();
        once.dedup();
        assert_eq!((known.systems[0].name.as_str(), once), (NONE, ciphers));
        known.systems.truncate(3);
        let again = Asked {
            known: Some(&known),
            ..Asked::default()
        };
        assert_eq!(completed(&again), known);

        let only = ["trivium".to_owned()];
        let named = completed(&Asked { only: &only, ..again });
        assert_eq!(named.systems.len(), catalogue::all().len() + 1);
        assert!(!named.settings.contains_key(CHOSEN), "another measurement");
    }
}
