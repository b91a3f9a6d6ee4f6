//! (c) Gives what is clear to a decoder that conceals as much as it can, with the parameter sets of the camera's
//! model before it.

use sealcast::failure::Result;
use sealcast::media::Codec;

use super::Attacker;
use super::naive::clear;
use crate::attack::ffmpeg::{self, Care};
use crate::attack::puzzle::{Puzzle, View};

pub(super) struct Concealment;

impl Attacker for Concealment {
    fn name(&self) -> &'static str {
        "concealment"
    }

    fn words(&self) -> &'static str {
        "decodes what is clear with ffmpeg's error concealment, after the parameter sets of the camera's model"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        let mut frames: Vec<Vec<u8>> = puzzle.frames.iter().map(clear).collect();
        if puzzle.codec() == Codec::H264 {
            let first = frames.iter_mut().find(|frame| !frame.is_empty());
            if let Some(first) = first {
                let rest = std::mem::take(first);
                *first = [&*puzzle.model.info.parameters, &rest].concat();
            }
        }
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?;
        Ok(View::held(puzzle, decoded.fit(frames.len())))
    }
}
