//! (b) Puts other bytes in the place of those that are encrypted, so that lengths and places stay right.

use sealcast::failure::Result;

use super::Attacker;
use crate::attack::ffmpeg::{self, Care};
use crate::attack::puzzle::{Puzzle, View};

/// The bytes that are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Zeros,
    /// The last clear bytes at the same place, of a frame of the same kind.
    Last,
    /// The bytes at the same place of a grey keyframe by a camera of the same model.
    Template,
}

pub(super) struct Replacement(By);

pub(super) const ZEROS: Replacement = Replacement(By::Zeros);
pub(super) const LAST: Replacement = Replacement(By::Last);
pub(super) const TEMPLATE: Replacement = Replacement(By::Template);

impl Attacker for Replacement {
    fn name(&self) -> &'static str {
        match self.0 {
            By::Zeros => "zeros",
            By::Last => "last-clear",
            By::Template => "template",
        }
    }

    fn words(&self) -> &'static str {
        match self.0 {
            By::Zeros => "puts zeros in the place of what is encrypted, and decodes with concealment",
            By::Last => "puts the last clear bytes at the same place there, and decodes with concealment",
            By::Template => {
                "puts the bytes of a grey keyframe of the camera's model there, headers and tables among them, and \
                 decodes with concealment"
            }
        }
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        // By kind of frame, the last clear byte at each place.
        let mut memory = [Vec::new(), Vec::new()];
        let template = &puzzle.model.template;
        let frames: Vec<Vec<u8>> = puzzle
            .frames
            .iter()
            .map(|frame| {
                let last = &mut memory[usize::from(frame.keyframe)];
                let bytes = frame.filled(|place, bytes| match self.0 {
                    By::Zeros => {}
                    By::Last => copy_from(last, place.start, bytes),
                    By::Template if frame.keyframe => copy_from(template, place.start, bytes),
                    By::Template => {}
                });
                if self.0 == By::Last {
                    remember(last, &frame.runs());
                }
                match frame.known() {
                    // Nothing of it is in clear, so nothing was replaced but everything.
                    0 => Vec::new(),
                    _ => bytes,
                }
            })
            .collect();
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?;
        Ok(View::held(puzzle, decoded.fit(frames.len())))
    }
}

/// Copies as many bytes as there are from `offset` on.
fn copy_from(from: &[u8], offset: usize, to: &mut [u8]) {
    let known = from.get(offset..).unwrap_or_default();
    let length = known.len().min(to.len());
    to[..length].copy_from_slice(&known[..length]);
}

fn remember(last: &mut Vec<u8>, runs: &[(usize, Vec<u8>)]) {
    for (offset, run) in runs {
        let end = offset + run.len();
        if last.len() < end {
            last.resize(end, 0);
        }
        last[*offset..end].copy_from_slice(run);
    }
}
