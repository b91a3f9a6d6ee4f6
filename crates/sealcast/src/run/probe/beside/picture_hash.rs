//! A perceptual hash of a picture: what it looks like, in a form that encoding it again hardly changes.

use crate::media::Picture;

/// Fields across and down. Each is large enough to average the noise of encoders away, and small enough to show a
/// small movement.
const COLUMNS: usize = 32;
const ROWS: usize = 18;
const FIELDS: usize = COLUMNS * ROWS;
/// Samples along each axis of a field, at most.
const SAMPLES: usize = 8;
/// A picture whose fields deviate by less than this from their mean, in steps of luma, shows nothing.
const FLAT: f32 = 2.0;
/// Steps of the hash in a standard deviation.
const SCALE: f32 = 256.0;

/// The mean luma of 32 × 18 fields, less the mean of them all and in units of their standard deviation, so that
/// neither brightness nor contrast counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::run::probe) struct PictureHash(Box<[i16; FIELDS]>);

impl PictureHash {
    /// The hash of a picture; `None` if it is too small or shows nothing.
    pub(in crate::run::probe) fn of(picture: &Picture) -> Option<Self> {
        if picture.width < COLUMNS || picture.height < ROWS {
            return None;
        }
        let mut levels = [0.0_f32; FIELDS];
        for (at, level) in levels.iter_mut().enumerate() {
            *level = mean_luma(picture, at % COLUMNS, at / COLUMNS);
        }
        Self::of_levels(&levels)
    }

    fn of_levels(levels: &[f32; FIELDS]) -> Option<Self> {
        let mean = levels.iter().sum::<f32>() / FIELDS as f32;
        let squares: f32 = levels.iter().map(|level| (level - mean).powi(2)).sum();
        let deviation = (squares / FIELDS as f32).sqrt();
        let step = |level: f32| ((level - mean) / deviation * SCALE) as i16;
        (deviation >= FLAT).then(|| Self(Box::new(levels.map(step))))
    }

    /// Mean difference of the fields of two pictures, in standard deviations: 0 for the same picture, about 1 for two
    /// that have nothing in common.
    pub(super) fn distance(&self, other: &Self) -> f64 {
        let apart = self.0.iter().zip(other.0.iter());
        let sum: u32 = apart.map(|(&a, &b)| u32::from(a.abs_diff(b))).sum();
        f64::from(sum) / FIELDS as f64 / f64::from(SCALE)
    }
}

/// The mean luma of a field.
fn mean_luma(picture: &Picture, column: usize, row: usize) -> f32 {
    let (left, right) = (column * picture.width / COLUMNS, (column + 1) * picture.width / COLUMNS);
    let (top, bottom) = (row * picture.height / ROWS, (row + 1) * picture.height / ROWS);
    let across = ((right - left) / SAMPLES).max(1);
    let down = ((bottom - top) / SAMPLES).max(1);
    let (mut sum, mut count) = (0_u32, 0_u32);
    for line in picture
        .y
        .chunks_exact(picture.width)
        .take(bottom)
        .skip(top)
        .step_by(down)
    {
        for &luma in line[left..right].iter().step_by(across) {
            sum += u32::from(luma);
            count += 1;
        }
    }
    sum as f32 / count.max(1) as f32
}

#[cfg(test)]
mod tests {
    use super::super::pairing::scene;
    use super::*;
    use crate::codec::jpeg;

    #[test]
    fn the_same_picture_encoded_again_is_nearer_than_the_next_one() {
        for number in 0..20 {
            let hash = |picture: &Picture| PictureHash::of(picture).expect("a scene");
            let (picture, next) = (scene(number), scene(number + 1));
            let coded = jpeg::encode(&picture, 40).expect("a JPEG");
            let again = jpeg::decode(&coded).expect("our own");
            let (same, other) = (
                hash(&picture).distance(&hash(&again)),
                hash(&next).distance(&hash(&again)),
            );
            assert!(other > 1.5 * same && same < 0.05, "picture {number}: {same} {other}");
        }
    }

    #[test]
    fn brightness_and_contrast_do_not_count_and_what_shows_nothing_has_no_hash() {
        let (picture, mut dimmed) = (scene(3), scene(3));
        dimmed.y.iter_mut().for_each(|luma| *luma = *luma / 2 + 60);
        let [hash, dimmed] = [&picture, &dimmed].map(|picture| PictureHash::of(picture).expect("a scene"));
        assert!(hash.distance(&dimmed) < 0.02);
        assert_eq!(PictureHash::of(&Picture::black(640, 480)), None);
        assert_eq!(PictureHash::of(&Picture::black(16, 16)), None);
    }
}
