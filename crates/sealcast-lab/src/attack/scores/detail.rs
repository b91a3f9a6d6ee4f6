//! Measure of how much of the detail of a picture is seen, wherever it is: a share of blocks. Unlike measures over the
//! whole picture it tells whether a part, such as a moving person, is there while the rest is grey, and it does not ask
//! for the right brightness, which residuals on a grey picture do not have.

use sealcast::media::Picture;

/// Side of a block: a macroblock.
const BLOCK: usize = 16;
/// Standard deviation of luma from which on a block has detail.
const DETAIL: f64 = 8.0;
/// Mean change of luma from which on a block moved.
const MOVED: f64 = 12.0;
/// A block is seen if the correlation of its pixels is at least this.
const SEEN: f64 = 0.8;

/// The share of the original's blocks with detail whose pixels correlate with those of the picture shown. `None` if
/// the original has no detail.
pub(super) fn seen(original: &Picture, shown: &Picture) -> Option<f64> {
    share(original, shown, |_| true)
}

/// The same of the blocks alone that changed since an earlier picture: of what moves.
pub(super) fn seen_moving(before: &Picture, original: &Picture, shown: &Picture) -> Option<f64> {
    share(original, shown, |corner| {
        let pairs = lines(before, corner).zip(lines(original, corner));
        let differences = pairs.map(|(before, now)| f64::from(before.abs_diff(now)));
        differences.sum::<f64>() >= MOVED * (BLOCK * BLOCK) as f64
    })
}

fn share(original: &Picture, shown: &Picture, counts: impl Fn((usize, usize)) -> bool) -> Option<f64> {
    let (columns, rows) = (original.width / BLOCK, original.height / BLOCK);
    let corners = (0..rows).flat_map(|row| (0..columns).map(move |column| (column * BLOCK, row * BLOCK)));
    let (mut detailed, mut seen) = (0_u32, 0_u32);
    for corner in corners.filter(|corner| counts(*corner)) {
        let (own, deviation) = centred(original, corner);
        if deviation < DETAIL {
            continue;
        }
        detailed += 1;
        let (other, other_deviation) = centred(shown, corner);
        let together = own.iter().zip(&other).map(|(a, b)| a * b).sum::<f64>() / own.len() as f64;
        seen += u32::from(other_deviation > 0.0 && together >= SEEN * deviation * other_deviation);
    }
    (detailed > 0).then(|| f64::from(seen) / f64::from(detailed))
}

/// The luma of a block, line by line.
fn lines(picture: &Picture, (x, y): (usize, usize)) -> impl Iterator<Item = u8> {
    (y..y + BLOCK).flat_map(move |line| picture.y[line * picture.width + x..][..BLOCK].iter().copied())
}

/// The luma of a block without its mean, and its standard deviation.
fn centred(picture: &Picture, corner: (usize, usize)) -> (Vec<f64>, f64) {
    let mut values: Vec<f64> = lines(picture, corner).map(f64::from).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter_mut().for_each(|value| *value -= mean);
    let variance = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
    (values, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use sealcast_proto::sim::Random;

    use super::*;
    use crate::attack::picture::{copy_rows, grey, turned};

    fn speckled(seed: u64) -> Picture {
        let mut random = Random::new(seed);
        let mut picture = grey(64, 64);
        picture.y.fill_with(|| random.next_u64() as u8);
        picture
    }

    #[test]
    fn what_is_there_in_part_is_seen_in_part_at_any_brightness() {
        let original = speckled(1);
        let mut half = grey(64, 64);
        copy_rows(&mut half, &original, 0, 32);
        half.y.iter_mut().for_each(|luma| *luma = *luma / 2 + 20);
        assert_eq!(
            (seen(&original, &original), seen(&original, &half)),
            (Some(1.0), Some(0.5))
        );
    }

    #[test]
    fn what_moves_is_counted_alone() {
        let (original, before) = (speckled(1), speckled(1));
        assert_eq!(seen_moving(&before, &original, &original), None);
        let mut before = speckled(2);
        copy_rows(&mut before, &original, 16, 64);
        let mut shown = grey(64, 64);
        assert_eq!(seen_moving(&before, &original, &shown), Some(0.0));
        copy_rows(&mut shown, &original, 0, 16);
        assert_eq!(
            (seen_moving(&before, &original, &shown), seen(&original, &shown)),
            (Some(1.0), Some(0.25))
        );
    }

    #[test]
    fn grey_and_what_has_nothing_to_do_with_the_original_show_nothing_of_it() {
        let original = speckled(1);
        for other in [grey(64, 64), speckled(2), turned(&original)] {
            assert_eq!(seen(&original, &other), Some(0.0));
        }
    }
}
