//! Puzzles that attackers work on, and views that they hand back.

use std::sync::Arc;

use sealcast::eavesdrop::{Overheard, PartialFrame};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::{Codec, Picture, StreamInfo};
use sealcast_proto::sim::Random;

use super::clip::Clip;
use super::picture;

/// A stream with gaps, and what is known about cameras of its model.
#[derive(Clone, Debug)]
pub(crate) struct Puzzle {
    pub(crate) model: Model,
    /// The frames as they were overheard, by their number.
    pub(crate) frames: Vec<PartialFrame>,
}

/// Knowledge of anybody who has a camera of the same model with the same settings: how it describes its stream, and how
/// it encodes a grey picture. An attacker who lacks it has to find it by trying.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) info: StreamInfo,
    /// A grey keyframe.
    pub(crate) template: Vec<u8>,
}

impl Puzzle {
    /// The puzzle that an observer of a session has, who knows the model of the camera.
    ///
    /// # Errors
    /// Nothing was overheard.
    pub(crate) fn new(overheard: &Overheard, clip: &Clip) -> Result<Self> {
        let model = Model {
            info: clip.info.clone(),
            template: clip.template.clone(),
        };
        match overheard.frames.is_empty() {
            false => Ok(Self {
                model,
                frames: overheard.frames.clone(),
            }),
            true => Err(Failure::new(
                FailureKind::Internal,
                "no frame was overheard",
                "please report this",
            )),
        }
    }

    /// The same puzzle with random bytes in place of all that is known: what an attacker finds there is not in the
    /// stream.
    pub(crate) fn of_noise(&self, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let mut noise = self.clone();
        let clear = noise.frames.iter_mut().flat_map(|frame| &mut frame.parts);
        for bytes in clear.filter_map(|part| part.clear.as_mut()) {
            bytes.fill_with(|| random.next_u64() as u8);
        }
        noise
    }

    pub(crate) fn codec(&self) -> Codec {
        self.model.info.codec
    }

    pub(crate) fn size(&self) -> (usize, usize) {
        (self.model.info.width.into(), self.model.info.height.into())
    }

    pub(crate) fn grey(&self) -> Arc<Picture> {
        let (width, height) = self.size();
        Arc::new(picture::grey(width, height))
    }
}

/// Pictures that an attacker shows, one for each frame of the stream.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) pictures: Vec<Arc<Picture>>,
    /// Share of the last picture that the attacker claims to have in clear, where the attack tells.
    pub(crate) coverage: Option<f64>,
}

impl View {
    /// Shows these pictures, and grey where there is none.
    pub(crate) fn of(puzzle: &Puzzle, pictures: Vec<Option<Arc<Picture>>>) -> Self {
        let grey = puzzle.grey();
        let shown = pictures.into_iter().map(|one| one.unwrap_or_else(|| Arc::clone(&grey)));
        Self {
            pictures: shown.collect(),
            coverage: None,
        }
    }

    /// Shows these pictures, and the one before where there is none: grey at first.
    pub(crate) fn held(puzzle: &Puzzle, pictures: Vec<Option<Arc<Picture>>>) -> Self {
        let mut last = puzzle.grey();
        let shown = pictures.into_iter().map(|one| {
            if let Some(picture) = one {
                last = picture;
            }
            Arc::clone(&last)
        });
        Self {
            pictures: shown.collect(),
            coverage: None,
        }
    }
}
