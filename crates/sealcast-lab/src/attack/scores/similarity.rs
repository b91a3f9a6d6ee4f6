//! Luminance and edge similarity after Mao and Wu, "Security evaluation for communication-friendly encryption of
//! multimedia", ICIP 2004. Both compare pictures in blocks of 8x8 pixels.

use sealcast::media::Picture;

const BLOCK: usize = 8;
/// Weight of a block whose brightness differs, and the step of brightness in which it is counted (the paper's values).
const ALPHA: f64 = 0.1;
const BETA: f64 = 3.0;
/// Length of a Sobel gradient, per pixel of the block, from which on a block has an edge.
const EDGE: f64 = 40.0;
/// Directions of edges: bins of 22.5 degrees.
const DIRECTIONS: f64 = 8.0;

/// Luminance similarity: 1 for equal pictures, below 0 for pictures that differ.
pub(super) fn luminance(original: &Picture, shown: &Picture) -> f64 {
    let (a, b) = (means(original), means(shown));
    let of_block = |(a, b): (&f64, &f64)| match (a - b).abs() {
        close if close < BETA / 2.0 => 1.0,
        far => -ALPHA * (far / BETA).round(),
    };
    a.iter().zip(&b).map(of_block).sum::<f64>() / a.len().max(1) as f64
}

/// Edge similarity: 1 if every block has an edge of the same direction, or none, in both pictures; 0 if no block has
/// one in both.
pub(super) fn edges(original: &Picture, shown: &Picture) -> f64 {
    let (a, b) = (directions(original), directions(shown));
    let (mut same, mut either) = (0.0, 0.0);
    for pair in a.iter().zip(&b) {
        match pair {
            (None, None) => {}
            (Some(a), Some(b)) => {
                same += ((a - b) * std::f64::consts::PI / DIRECTIONS).cos().abs();
                either += 1.0;
            }
            _ => either += 1.0,
        }
    }
    if either > 0.0 { same / either } else { 1.0 }
}

/// Corners of the whole blocks of a picture.
fn blocks(picture: &Picture) -> impl Iterator<Item = (usize, usize)> + use<> {
    let (columns, rows) = (picture.width / BLOCK, picture.height / BLOCK);
    (0..rows).flat_map(move |row| (0..columns).map(move |column| (column * BLOCK, row * BLOCK)))
}

fn means(picture: &Picture) -> Vec<f64> {
    let mean = |(x, y): (usize, usize)| {
        let lines = (y..y + BLOCK).map(|line| &picture.y[line * picture.width + x..][..BLOCK]);
        let sum: u32 = lines.flatten().map(|&luma| u32::from(luma)).sum();
        f64::from(sum) / (BLOCK * BLOCK) as f64
    };
    blocks(picture).map(mean).collect()
}

/// The direction of each block's edge as a bin, or none. The Sobel gradients of a block's pixels are added up with
/// their angles doubled, so that both sides of a line do not cancel.
fn directions(picture: &Picture) -> Vec<Option<f64>> {
    blocks(picture).map(|corner| direction(picture, corner)).collect()
}

fn direction(picture: &Picture, (left, top): (usize, usize)) -> Option<f64> {
    let luma = |x: usize, y: usize| f64::from(picture.y[y * picture.width + x]);
    let (mut cosine, mut sine, mut length) = (0.0, 0.0, 0.0);
    for y in top.max(1)..(top + BLOCK).min(picture.height - 1) {
        for x in left.max(1)..(left + BLOCK).min(picture.width - 1) {
            let column = |x: usize| luma(x, y - 1) + 2.0 * luma(x, y) + luma(x, y + 1);
            let row = |y: usize| luma(x - 1, y) + 2.0 * luma(x, y) + luma(x + 1, y);
            let (gx, gy) = (column(x + 1) - column(x - 1), row(y + 1) - row(y - 1));
            cosine += gx * gx - gy * gy;
            sine += 2.0 * gx * gy;
            length += gx.hypot(gy);
        }
    }
    if length < EDGE * (BLOCK * BLOCK) as f64 {
        return None;
    }
    let angle = sine.atan2(cosine).rem_euclid(std::f64::consts::TAU);
    Some((angle / std::f64::consts::TAU * DIRECTIONS).round() % DIRECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::picture::grey;

    fn stripes(across: bool) -> Picture {
        let mut picture = grey(64, 64);
        for (at, luma) in picture.y.iter_mut().enumerate() {
            let place = if across { at / 64 } else { at % 64 };
            *luma = if place / 4 % 2 == 0 { 30 } else { 200 };
        }
        picture
    }

    #[test]
    fn equal_pictures_are_similar_and_grey_shows_no_edges() {
        let (down, flat) = (stripes(false), grey(64, 64));
        assert_eq!((luminance(&down, &down), edges(&down, &down)), (1.0, 1.0));
        assert_eq!(edges(&down, &flat), 0.0);
        assert!(luminance(&grey(64, 64), &Picture::black(64, 64)) < -3.0);
    }

    #[test]
    fn edges_that_are_at_right_angles_are_not_similar() {
        assert!(edges(&stripes(false), &stripes(true)) < 0.01);
    }
}
