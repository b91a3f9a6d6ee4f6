//! Helpers for pictures.

use sealcast::eavesdrop::GREY_LUMA;
use sealcast::media::Picture;

/// A grey picture.
pub(crate) fn grey(width: usize, height: usize) -> Picture {
    let mut picture = Picture::black(width, height);
    picture.y.fill(GREY_LUMA);
    picture
}

/// Copies the rows from `from` up to `to` of one picture into another of the same size. Both are even, as chroma has
/// half the rows.
pub(crate) fn copy_rows(to_picture: &mut Picture, from_picture: &Picture, from: usize, to: usize) {
    let width = to_picture.width;
    let (from, to) = (from & !1, to.min(to_picture.height) & !1);
    let luma = from * width..to * width;
    let chroma = from / 2 * (width / 2)..to / 2 * (width / 2);
    to_picture.y[luma.clone()].copy_from_slice(&from_picture.y[luma]);
    to_picture.u[chroma.clone()].copy_from_slice(&from_picture.u[chroma.clone()]);
    to_picture.v[chroma.clone()].copy_from_slice(&from_picture.v[chroma]);
}

/// The luma of a picture turned by 180 degrees: the same brightness and as many edges, in other places.
pub(crate) fn turned(picture: &Picture) -> Picture {
    let reversed = |plane: &[u8]| plane.iter().rev().copied().collect();
    Picture {
        y: reversed(&picture.y),
        u: reversed(&picture.u),
        v: reversed(&picture.v),
        ..*picture
    }
}
