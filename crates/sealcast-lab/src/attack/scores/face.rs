//! Faces, found by SeetaFace (Wu and others, Neurocomputing 2016) in its Rust port, with the model that comes with it.

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;

/// The model of the crate `rustface` 0.1.7 (BSD 2-Clause).
const MODEL: &[u8] = include_bytes!("../../../data/seeta_fd_frontal_v1.0.bin");
/// Smallest face in pixels.
const SMALLEST: u32 = 24;
/// Score from which on something is a face, as the port's documentation uses it.
const SCORE: f64 = 2.0;
/// Two faces are the same if they have at least this share of their common area in common.
const SAME: f64 = 0.3;

/// Finds faces.
pub(crate) struct Faces {
    model: rustface::Model,
}

/// A face: left, upper, right and lower edge.
type Place = [f64; 4];

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
        if originals.is_empty() {
            return None;
        }
        let shown = self.places(shown);
        let found = originals
            .iter()
            .filter(|face| shown.iter().any(|other| overlap(face, other) >= SAME));
        Some(found.count() as f64 / originals.len() as f64)
    }
}

/// Intersection over union.
fn overlap(a: &Place, b: &Place) -> f64 {
    let side = |from: usize| (a[from + 2].min(b[from + 2]) - a[from].max(b[from])).max(0.0);
    let area = |place: &Place| (place[2] - place[0]) * (place[3] - place[1]);
    let both = side(0) * side(1);
    both / (area(a) + area(b) - both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_are_the_same_if_they_lie_on_each_other() {
        let face = [10.0, 10.0, 30.0, 30.0];
        assert_eq!(overlap(&face, &face), 1.0);
        assert_eq!(overlap(&face, &[30.0, 10.0, 50.0, 30.0]), 0.0);
        assert!((overlap(&face, &[10.0, 10.0, 30.0, 20.0]) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn grey_has_no_face() {
        let faces = Faces::new().expect("the model");
        assert_eq!(
            faces.places(&crate::attack::picture::grey(160, 120)),
            Vec::<Place>::new()
        );
    }
}
