//! (h) Decodes with concealment, and has a network that has seen many damaged pictures make the scene of it.

use std::sync::{Arc, OnceLock};

use sealcast::eavesdrop::PartialFrame;
use sealcast::failure::Result;
use sealcast::media::Picture;

use super::Attacker;
use super::concealment::Concealment;
use super::naive::Naive;
use crate::attack::puzzle::{Puzzle, View};
use crate::restorer::Restorer;

pub(super) struct Learned;

static RESTORER: OnceLock<Restorer> = OnceLock::new();

impl Attacker for Learned {
    fn name(&self) -> &'static str {
        "learned"
    }

    fn words(&self) -> &'static str {
        "has a small network restore what error concealment gives"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        if puzzle.frames.iter().all(PartialFrame::is_whole) {
            return Naive.attack(puzzle);
        }
        let restorer = match RESTORER.get() {
            Some(restorer) => restorer,
            None => {
                let loaded = Restorer::load()?;
                RESTORER.get_or_init(|| loaded)
            }
        };
        let seen = Concealment.attack(puzzle)?;
        let mut pictures: Vec<Option<Arc<Picture>>> = Vec::with_capacity(seen.pictures.len());
        for (at, picture) in seen.pictures.iter().enumerate() {
            // Where nothing new was decoded, there is nothing new to restore.
            let is_same = at > 0 && Arc::ptr_eq(picture, &seen.pictures[at - 1]);
            let restored = match pictures.last() {
                Some(Some(last)) if is_same => Arc::clone(last),
                _ => Arc::new(restored(restorer, picture)?),
            };
            pictures.push(Some(restored));
        }
        Ok(View::of(puzzle, pictures))
    }
}

fn restored(restorer: &Restorer, picture: &Picture) -> Result<Picture> {
    // Which parts are lost, a decoder that conceals does not tell.
    let mask = vec![0; picture.y.len()];
    Ok(Picture {
        y: restorer.restore(&picture.y, &mask, picture.width, picture.height)?,
        ..picture.clone()
    })
}
