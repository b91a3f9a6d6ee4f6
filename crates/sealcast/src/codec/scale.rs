//! Downscaled pictures for previews.

use std::borrow::Cow;

use crate::media::Picture;

/// Shrinks the picture by a whole factor to a width of at most `max_width`, each pixel the mean of those it replaces;
/// a picture that is small enough is returned unchanged. Cheap enough for every frame, and meant for previews only.
pub fn shrink(picture: &Picture, max_width: usize) -> Cow<'_, Picture> {
    let factor = picture.width.div_ceil(max_width.max(2));
    if factor <= 1 {
        return Cow::Borrowed(picture);
    }
    let width = (picture.width / factor) & !1;
    let height = (picture.height / factor) & !1;
    if width == 0 || height == 0 {
        return Cow::Borrowed(picture);
    }
    let half = picture.width / 2;
    Cow::Owned(Picture {
        width,
        height,
        y: shrink_plane(&picture.y, picture.width, width, height, factor),
        u: shrink_plane(&picture.u, half, width / 2, height / 2, factor),
        v: shrink_plane(&picture.v, half, width / 2, height / 2, factor),
    })
}

fn shrink_plane(plane: &[u8], stride: usize, width: usize, height: usize, factor: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(width * height);
    let mut sums = vec![0u32; width];
    let area = u32::try_from(factor * factor).unwrap_or(u32::MAX);
    for rows in plane.chunks_exact(stride * factor).take(height) {
        sums.fill(0);
        for row in rows.chunks_exact(stride) {
            for (sum, pixels) in sums.iter_mut().zip(row.chunks_exact(factor)) {
                *sum += pixels.iter().map(|&p| u32::from(p)).sum::<u32>();
            }
        }
        out.extend(
            sums.iter()
                .map(|sum| u8::try_from((sum + area / 2) / area).unwrap_or(u8::MAX)),
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pictures_stay_and_large_ones_shrink_by_whole_factors() {
        let small = Picture::black(320, 240);
        assert!(matches!(shrink(&small, 480), Cow::Borrowed(_)));
        let mut large = Picture::black(1280, 720);
        large.y.fill(77);
        large.u[0] = 255;
        let seen = shrink(&large, 480);
        assert_eq!((seen.width, seen.height), (426, 240));
        assert_eq!(
            (seen.y.len(), seen.u.len(), seen.v.len()),
            (426 * 240, 213 * 120, 213 * 120)
        );
        assert!(seen.y.iter().all(|&p| p == 77));
        assert_eq!(seen.u[0], 142, "the mean of one 255 and eight 128");
    }
}
