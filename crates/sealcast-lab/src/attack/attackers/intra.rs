//! (e) Decodes what refers to pictures that are encrypted as if they were grey. Residuals and intra macroblocks then
//! draw what moves, and add up to a picture.

use sealcast::failure::Result;
use sealcast::media::Codec;

use super::Attacker;
use super::naive::{Naive, clear};
use crate::attack::ffmpeg::{self, Care};
use crate::attack::puzzle::{Puzzle, View};

pub(super) struct Intra;

impl Attacker for Intra {
    fn name(&self) -> &'static str {
        "intra-leakage"
    }

    fn words(&self) -> &'static str {
        "decodes clear P pictures on a grey keyframe of the camera's model, and lets them add up"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        if puzzle.codec() != Codec::H264 {
            // Each JPEG image stands alone: there is nothing more to be had than by the naive attacker.
            return Naive.attack(puzzle);
        }
        let mut frames: Vec<Vec<u8>> = puzzle.frames.iter().map(clear).collect();
        // A keyframe in clear is better than a grey one.
        let is_needed = puzzle.frames.first().is_none_or(|frame| !frame.is_whole());
        if is_needed && frames.iter().any(|frame| !frame.is_empty()) {
            frames[0].clone_from(&puzzle.model.template);
        }
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?;
        Ok(View::held(puzzle, decoded.fit(frames.len())))
    }
}
