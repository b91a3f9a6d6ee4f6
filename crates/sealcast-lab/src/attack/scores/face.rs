//! Faces, found by SeetaFace (Wu and others, Neurocomputing 2016) in its Rust port, with the model that comes with it.

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;

use super::places::{Place, share_found};

/// The model of the crate `rustface` 0.1.7 (BSD 2-Clause).
const MODEL: &[u8] = include_bytes!("../../../data/seeta_fd_frontal_v1.0.bin");
/// Smallest face in pixels.
const SMALLEST: u32 = 24;
/// Score from which on something is a face, as the port's documentation uses it.
const SCORE: f64 = 2.0;

/// Finds faces.
pub(crate) struct Faces {
    model: rustface::Model,
}

impl Faces {
    /// Reads the model.
    ///
    /// # Errors
    /// The model in the program is damaged.
    pub(crate) fn new() -> Result<Self> {
        let model = rustface::read_model(MODEL).map_err(|error| {
            let what = format!("the model that finds faces cannot be read ({error})");
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        Ok(Self { model })
    }

    fn places(&self, picture: &Picture) -> Vec<Place> {
        let mut detector = rustface::create_detector_with_model(self.model.clone());
        detector.set_min_face_size(SMALLEST);
        detector.set_score_thresh(SCORE);
        detector.set_pyramid_scale_factor(0.8);
        detector.set_slide_window_step(4, 4);
        // Sides are at most 8192 pixels.
        let image = rustface::ImageData::new(&picture.y, picture.width as u32, picture.height as u32);
        let found = detector.detect(&image).into_iter();
        found
            .map(|face| {
                let place = *face.bbox();
                let [left, top] = [place.x(), place.y()].map(f64::from);
                [
                    left,
                    top,
                    left + f64::from(place.width()),
                    top + f64::from(place.height()),
                ]
            })
            .collect()
    }

    /// The share of the original's faces that are found at the same place of another picture; `None` if the original
    /// has none.
    pub(super) fn share_found(&self, original: &Picture, shown: &Picture) -> Option<f64> {
        let originals = self.places(original);
        match originals.is_empty() {
            true => None,
            false => share_found(&originals, &self.places(shown)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_has_no_face() {
        let faces = Faces::new().expect("the model");
        assert_eq!(
            faces.places(&crate::attack::picture::grey(160, 120)),
            Vec::<Place>::new()
        );
    }
}
