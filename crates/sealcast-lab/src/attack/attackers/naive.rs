//! (a) Gives a decoder what is clear, and drops the rest.

use sealcast::eavesdrop::PartialFrame;
use sealcast::failure::Result;

use super::Attacker;
use crate::attack::ffmpeg::{self, Care};
use crate::attack::puzzle::{Puzzle, View};

pub(super) struct Naive;

impl Attacker for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }

    fn words(&self) -> &'static str {
        "decodes what is clear and drops the rest; the last picture stays until there is another"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        let frames: Vec<Vec<u8>> = puzzle.frames.iter().map(clear).collect();
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Strict)?;
        Ok(View::held(puzzle, decoded.fit(frames.len())))
    }
}

/// The clear bytes of a frame, one after the other.
pub(super) fn clear(frame: &PartialFrame) -> Vec<u8> {
    frame.runs().into_iter().flat_map(|(_, run)| run).collect()
}
