//! (d) Guesses what headers say. Of H.264, parameter sets and slice headers are written anew as small cameras have
//! them, and the first whole macroblock is searched for. Of JPEG, the usual tables and samplings are tried, and the
//! codes tell which are right: with wrong ones they do not end where the image does.

use sealcast::eavesdrop::{Decoder, ImageGuess, PartialFrame, SliceGuess};
use sealcast::failure::Result;
use sealcast::media::Codec;
use sealcast_proto::unit::h264::ParameterSets;

use super::Attacker;
use super::naive::Naive;
use crate::attack::ffmpeg::{self, Care};
use crate::attack::puzzle::{Puzzle, View};

pub(super) struct Parameters;

impl Attacker for Parameters {
    fn name(&self) -> &'static str {
        "parameters"
    }

    fn words(&self) -> &'static str {
        "writes usual headers itself, and searches for the bit at which the codes fit them"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        if puzzle.frames.iter().all(PartialFrame::is_whole) {
            return Naive.attack(puzzle);
        }
        let frames = guessed(puzzle);
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?;
        Ok(View::held(puzzle, decoded.fit(frames.len())))
    }
}

/// The part of each frame that can be shown, behind headers of our own.
fn guessed(puzzle: &Puzzle) -> Vec<Vec<u8>> {
    let (width, height) = puzzle.size();
    let guessed = match puzzle.codec() {
        Codec::H264 => SliceGuess::new(width, height, ParameterSets::default(), Decoder::Concealing)
            .map(|mut guess| puzzle.frames.iter().map(|frame| guess.take(frame).concat()).collect()),
        Codec::Mjpeg => ImageGuess::new(width, height).map(|mut guess| {
            puzzle
                .frames
                .iter()
                .map(|frame| guess.take(frame).unwrap_or_default())
                .collect()
        }),
        // Nothing of a part can be decoded.
        Codec::H265 | Codec::Av1 => None,
    };
    guessed.unwrap_or_default()
}
