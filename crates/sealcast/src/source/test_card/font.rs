//! Font of the test card and of the window: five by seven dots, only the characters that they need.

use crate::media::Picture;

/// Distance between the left edges of two letters, in dots.
pub(crate) const ADVANCE: usize = 6;
/// Height of a letter, in dots.
pub(crate) const HEIGHT: usize = 7;

/// Seven rows of five dots, the leftmost in bit 4. Characters not listed are blank.
fn glyph(letter: u8) -> [u8; HEIGHT] {
    match letter {
        b'0' => [0x0E, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0E],
        b'1' => [0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E],
        b'2' => [0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F],
        b'3' => [0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E],
        b'4' => [0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02],
        b'5' => [0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E],
        b'6' => [0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E],
        b'7' => [0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
        b'8' => [0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E],
        b'9' => [0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C],
        b':' => [0x00, 0x0C, 0x0C, 0x00, 0x0C, 0x0C, 0x00],
        b'-' => [0x00, 0x00, 0x00, 0x1F, 0x00, 0x00, 0x00],
        b'.' => [0x00, 0x00, 0x00, 0x00, 0x00, 0x0C, 0x0C],
        b'+' => [0x00, 0x04, 0x04, 0x1F, 0x04, 0x04, 0x00],
        b'/' => [0x01, 0x01, 0x02, 0x04, 0x08, 0x10, 0x10],
        b'm' => [0x00, 0x00, 0x1A, 0x15, 0x15, 0x15, 0x15],
        b's' => [0x00, 0x00, 0x0F, 0x10, 0x0E, 0x01, 0x1E],
        b'C' => [0x0E, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0E],
        b'T' => [0x1F, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04],
        b'U' => [0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E],
        _ => [0; HEIGHT],
    }
}

/// The dots of a text: their columns and rows.
pub(crate) fn dots(text: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    text.iter().enumerate().flat_map(|(index, &letter)| {
        let rows = glyph(letter).into_iter().enumerate();
        rows.flat_map(move |(row, dots)| {
            let columns = (0..5).filter(move |column| dots >> (4 - column) & 1 == 1);
            columns.map(move |column| (index * ADVANCE + column, row))
        })
    })
}

/// Write `text` with its upper left corner at `x`, `y`, each dot a square of `scale` pixels with luma `value`. Text
/// beyond the right edge is cut off; the caller must check the lower edge.
pub(super) fn write(picture: &mut Picture, text: &[u8], (x, y): (usize, usize), scale: usize, value: u8) {
    let width = picture.width;
    for (index, &letter) in text.iter().enumerate() {
        let left = x + index * ADVANCE * scale;
        if left + ADVANCE * scale > width {
            return;
        }
        for (row, dots) in glyph(letter).into_iter().enumerate() {
            if dots == 0 {
                continue;
            }
            for line in picture.y.chunks_exact_mut(width).skip(y + row * scale).take(scale) {
                for column in (0..5).filter(|column| dots >> (4 - column) & 1 == 1) {
                    line[left + column * scale..][..scale].fill(value);
                }
            }
        }
    }
}
