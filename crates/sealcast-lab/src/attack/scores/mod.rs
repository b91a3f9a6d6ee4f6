//! Measures of how much of a scene an attacker's pictures show: of quality, and of what can be recognised.
//!
//! Quality alone does not tell what can be recognised (Hofbauer, Autrusseau and Uhl, 2024), so the verdict rests on
//! the second kind.

mod clock;
mod detail;
mod face;
mod measures;
mod people;
mod places;
mod quality;
mod similarity;
mod text;

use std::cell::RefCell;
use std::sync::Arc;

use sealcast::failure::Result;
use sealcast::media::Picture;

use super::picture::turned;
pub(crate) use face::Faces;
pub(crate) use measures::{
    CLOCK, DETAIL, DETAIL_TURNED, ESS, ESS_TURNED, FACES, LSS, MOVING, MOVING_TURNED, MS_SSIM, PEOPLE, PSNR, SSIM,
    Scores, TEXT, VMAF,
};
pub(crate) use people::People;
pub(crate) use quality::vmaf_program;
pub(crate) use text::TextReader;

/// Things in a scene that can be recognised, and the tools that recognise them.
pub(crate) struct Judge<'a> {
    /// True if the scene has the test card's clock.
    pub(crate) has_clock: bool,
    /// Recognises faces, if the scene has one.
    pub(crate) faces: Option<&'a Faces>,
    /// Finds people, if the scene has some and there is something that finds them.
    pub(crate) people: Option<&'a People>,
    /// The text of the scene, and what reads it, if there is one and it is installed.
    pub(crate) text: Option<(&'a str, &'a TextReader)>,
    /// Results of recognition so far: attackers often show the same.
    pub(crate) known: Known,
}

/// Results of recognition in pictures, by original and picture shown. A trial has less than a hundred.
#[derive(Default)]
pub(crate) struct Known(RefCell<Vec<Recognised>>);

/// An original, what was shown of it, and what was recognised there.
type Recognised = (Arc<Picture>, Arc<Picture>, Option<f64>);

impl Known {
    fn or(&self, original: &Arc<Picture>, shown: &Arc<Picture>, look: impl FnOnce() -> Result<Option<f64>>) -> Found {
        let is_same = |known: &&Recognised| known.0 == *original && known.1 == *shown;
        if let Some((.., found)) = self.0.borrow().iter().find(is_same) {
            return Ok(*found);
        }
        let found = look()?;
        let known = (Arc::clone(original), Arc::clone(shown), found);
        self.0.borrow_mut().push(known);
        Ok(found)
    }
}

type Found = Result<Option<f64>>;

/// Pictures in which faces, people and text are looked for, of those that are scored: all take long.
const RECOGNISED: usize = 4;

impl Judge<'_> {
    /// Scores `shown` against `originals`, picture by picture; `before` has the original half a second before each.
    ///
    /// # Errors
    /// ffmpeg cannot be run.
    pub(crate) fn scores(
        &self,
        before: &[Arc<Picture>],
        originals: &[Arc<Picture>],
        shown: &[Arc<Picture>],
    ) -> Result<Scores> {
        let pairs = || originals.iter().zip(shown);
        let mut scores = quality::scores(originals, shown)?;
        scores.insert(LSS, pairs().map(|(a, b)| similarity::luminance(a, b)).collect());
        scores.insert(ESS, pairs().map(|(a, b)| similarity::edges(a, b)).collect());
        scores.insert(
            ESS_TURNED,
            pairs().map(|(a, b)| similarity::edges(&turned(a), b)).collect(),
        );
        scores.insert(DETAIL, pairs().filter_map(|(a, b)| detail::seen(a, b)).collect());
        scores.insert(
            DETAIL_TURNED,
            pairs().filter_map(|(a, b)| detail::seen(&turned(a), b)).collect(),
        );
        let moving = before.iter().zip(pairs());
        let moved =
            |(before, (a, b)): (&Arc<Picture>, (&Arc<Picture>, &Arc<Picture>))| detail::seen_moving(before, a, b);
        scores.insert(MOVING, moving.clone().filter_map(moved).collect());
        let turned = moving.filter_map(|(before, (a, b))| detail::seen_moving(&turned(before), &turned(a), b));
        scores.insert(MOVING_TURNED, turned.collect());
        if self.has_clock {
            scores.insert(CLOCK, pairs().filter_map(|(a, b)| clock::errors(a, b)).collect());
        }
        let step = originals.len().div_ceil(RECOGNISED).max(1);
        if let Some(faces) = self.faces {
            let found = pairs()
                .step_by(step)
                .map(|(a, b)| self.known.or(a, b, || Ok(faces.share_found(a, b))));
            let found: Vec<Option<f64>> = found.collect::<Result<_>>()?;
            scores.insert(FACES, found.into_iter().flatten().collect());
        }
        if let Some(people) = self.people {
            let found = pairs()
                .step_by(step)
                .map(|(a, b)| self.known.or(a, b, || people.share_found(a, b)));
            let found: Vec<Option<f64>> = found.collect::<Result<_>>()?;
            scores.insert(PEOPLE, found.into_iter().flatten().collect());
        }
        if let Some((text, reader)) = self.text {
            let read = shown.iter().step_by(step).map(|picture| {
                let look = || reader.errors(picture, text).map(Some);
                self.known.or(picture, picture, look)
            });
            let read: Vec<Option<f64>> = read.collect::<Result<_>>()?;
            scores.insert(TEXT, read.into_iter().flatten().collect());
        }
        Ok(scores)
    }
}
