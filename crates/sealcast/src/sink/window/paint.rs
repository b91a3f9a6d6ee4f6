//! A picture as the pixels of a window: scaled, in colour, with bars beside it and a text in its corner.

use crate::media::Picture;
use crate::source::test_card::font;

/// Positions are counted in parts of a pixel.
const PART: usize = 1 << PART_BITS;
const PART_BITS: u32 = 8;

/// Numbers of bits by which the red, green and blue of a pixel are shifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shifts {
    pub(super) red: u32,
    pub(super) green: u32,
    pub(super) blue: u32,
}

/// The largest rectangle of the shape of a picture in a window: its left upper corner, and its size.
pub(super) fn fitted(picture: (usize, usize), window: (usize, usize)) -> [usize; 4] {
    let (width, height) = match picture.0 * window.1 > window.0 * picture.1 {
        true => (window.0, (window.0 * picture.1 / picture.0).max(1)),
        false => ((window.1 * picture.0 / picture.1).max(1), window.1),
    };
    [(window.0 - width) / 2, (window.1 - height) / 2, width, height]
}

/// The neighbours of each position on a line of `to` pixels in one of `from`, and the share of the second.
fn neighbours(from: usize, to: usize) -> Vec<(usize, usize, usize)> {
    let place = |at: usize| {
        // Middles of pixels fall on middles.
        let position = ((2 * at + 1) * from * PART / (2 * to)).saturating_sub(PART / 2);
        let first = (position >> PART_BITS).min(from - 1);
        (first, (first + 1).min(from - 1), position & (PART - 1))
    };
    (0..to).map(place).collect()
}

/// Paints into `pixels`, four bytes each with the lowest first, all of a window of that size.
pub(super) fn paint(picture: &Picture, window: (usize, usize), shifts: Shifts, pixels: &mut Vec<u8>) {
    let [left, top, width, height] = fitted((picture.width, picture.height), window);
    pixels.clear();
    pixels.resize(window.0 * window.1 * 4, 0);
    let (columns, rows) = (neighbours(picture.width, width), neighbours(picture.height, height));
    let half = picture.width / 2;
    let mut mixed = vec![0u32; picture.width];
    for (line, &(upper, lower, part)) in rows.iter().enumerate() {
        let y = |row: usize| &picture.y[row * picture.width..][..picture.width];
        let (first, second) = (PART as u32 - part as u32, part as u32);
        for ((mixed, upper), lower) in mixed.iter_mut().zip(y(upper)).zip(y(lower)) {
            *mixed = u32::from(*upper) * first + u32::from(*lower) * second;
        }
        let nearest = if part < PART / 2 { upper } else { lower } / 2;
        let (u, v) = (
            &picture.u[nearest * half..][..half],
            &picture.v[nearest * half..][..half],
        );
        let begin = ((top + line) * window.0 + left) * 4;
        let out = &mut pixels[begin..begin + width * 4];
        match width == picture.width {
            true => as_they_are(&mixed, (u, v), shifts, out),
            false => scaled(&mixed, (u, v), &columns, shifts, out),
        }
    }
}

/// One line of the width of the picture: the usual one, and twice as fast as the other.
fn as_they_are(luma: &[u32], (u, v): (&[u8], &[u8]), shifts: Shifts, out: &mut [u8]) {
    let chroma = u.iter().zip(v).map(|(u, v)| (i32::from(*u), i32::from(*v)));
    for ((pair, luma), (u, v)) in out.chunks_exact_mut(8).zip(luma.chunks_exact(2)).zip(chroma) {
        for (pixel, luma) in pair.chunks_exact_mut(4).zip(luma) {
            let colour = rgb((luma >> PART_BITS) as i32, u, v);
            pixel.copy_from_slice(&packed(colour, shifts).to_le_bytes());
        }
    }
}

fn scaled(luma: &[u32], (u, v): (&[u8], &[u8]), columns: &[(usize, usize, usize)], shifts: Shifts, out: &mut [u8]) {
    for (pixel, &(before, after, share)) in out.chunks_exact_mut(4).zip(columns) {
        let part = share as u32;
        let luma = (luma[before] * (PART as u32 - part) + luma[after] * part) >> (2 * PART_BITS);
        let chroma = if share < PART / 2 { before } else { after } / 2;
        let colour = rgb(luma as i32, i32::from(u[chroma]), i32::from(v[chroma]));
        pixel.copy_from_slice(&packed(colour, shifts).to_le_bytes());
    }
}

/// BT.601 in video range, as the whole program takes pictures.
fn rgb(y: i32, u: i32, v: i32) -> [u8; 3] {
    let (y, u, v) = (298 * (y - 16) + 128, u - 128, v - 128);
    [y + 409 * v, y - 100 * u - 208 * v, y + 516 * u].map(|part| (part >> 8).clamp(0, 255) as u8)
}

fn packed([red, green, blue]: [u8; 3], shifts: Shifts) -> u32 {
    u32::from(red) << shifts.red | u32::from(green) << shifts.green | u32::from(blue) << shifts.blue
}

/// Writes a text into the left upper corner of the picture, white on black.
pub(super) fn write(text: &str, picture: (usize, usize), window: (usize, usize), pixels: &mut [u8]) {
    let [left, top, width, height] = fitted(picture, window);
    let scale = (height / 240).clamp(1, 8);
    let (across, down) = ((text.len() * font::ADVANCE + 1) * scale, (font::HEIGHT + 2) * scale);
    if across > width || down > height {
        return;
    }
    let mut fill = |x: usize, y: usize, width: usize, height: usize, value: u8| {
        for line in y..y + height {
            pixels[(line * window.0 + x) * 4..][..width * 4].fill(value);
        }
    };
    fill(left, top, across, down, 0);
    for (column, row) in font::dots(text.as_bytes()) {
        fill(left + (column + 1) * scale, top + (row + 1) * scale, scale, scale, 255);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIFTS: Shifts = Shifts {
        red: 16,
        green: 8,
        blue: 0,
    };

    fn at(pixels: &[u8], window: (usize, usize), x: usize, y: usize) -> u32 {
        let pixel = &pixels[(y * window.0 + x) * 4..][..4];
        u32::from_le_bytes(pixel.try_into().expect("four bytes"))
    }

    /// Left half red, right half blue.
    fn halves(width: usize, height: usize) -> Picture {
        let mut picture = Picture::black(width, height);
        for (plane, left, right, width) in [
            (&mut picture.y, 81, 41, width),
            (&mut picture.u, 90, 240, width / 2),
            (&mut picture.v, 240, 110, width / 2),
        ] {
            for line in plane.chunks_exact_mut(width) {
                line[..width / 2].fill(left);
                line[width / 2..].fill(right);
            }
        }
        picture
    }

    fn is_near(pixel: u32, colour: u32) -> bool {
        (0..3).all(|part| (pixel >> (8 * part) & 0xff).abs_diff(colour >> (8 * part) & 0xff) <= 3)
    }

    #[test]
    fn a_picture_keeps_its_shape_in_any_window() {
        assert_eq!(fitted((640, 480), (640, 480)), [0, 0, 640, 480]);
        assert_eq!(fitted((640, 480), (1000, 480)), [180, 0, 640, 480]);
        assert_eq!(fitted((640, 480), (640, 1000)), [0, 260, 640, 480]);
        assert_eq!(fitted((8192, 2), (1, 1)), [0, 0, 1, 1]);
        assert_eq!(fitted((2, 8192), (1, 1)), [0, 0, 1, 1]);
    }

    #[test]
    fn pixels_have_the_colours_of_the_picture_at_every_size() {
        let picture = halves(64, 48);
        for window in [(64, 48), (300, 100), (33, 200), (7, 5)] {
            let mut pixels = Vec::new();
            paint(&picture, window, SHIFTS, &mut pixels);
            assert_eq!(pixels.len(), window.0 * window.1 * 4);
            let [left, top, width, height] = fitted((64, 48), window);
            let (right, middle) = (left + width - 1, top + height / 2);
            assert!(is_near(at(&pixels, window, left, middle), 0x00ff_0000), "{window:?}");
            assert!(is_near(at(&pixels, window, right, middle), 0x0000_00ff), "{window:?}");
            if left > 0 {
                assert_eq!(at(&pixels, window, left - 1, middle), 0);
            }
            if top > 0 {
                assert_eq!(at(&pixels, window, left, top - 1), 0);
            }
        }
        let mut pixels = Vec::new();
        let other = Shifts {
            red: 0,
            green: 8,
            blue: 16,
        };
        paint(&picture, (64, 48), other, &mut pixels);
        assert!(is_near(at(&pixels, (64, 48), 0, 0), 0x0000_00ff));
    }

    #[test]
    fn a_text_is_written_where_it_fits() {
        let (picture, window) = (halves(320, 240), (320, 240));
        let mut pixels = Vec::new();
        paint(&picture, window, SHIFTS, &mut pixels);
        let before = pixels.clone();
        write("1.5 +/-0.1 ms", (320, 240), window, &mut pixels);
        // The foot of the 1.
        assert_eq!(at(&pixels, window, 3, 7), 0xffff_ffff);
        assert_eq!(at(&pixels, window, 0, 0), 0);
        assert_eq!(pixels[window.0 * 4 * 20..], before[window.0 * 4 * 20..]);
        let mut small = vec![9; 40 * 30 * 4];
        write("1.5 +/-0.1 ms", (320, 240), (40, 30), &mut small);
        assert!(small.iter().all(|byte| *byte == 9));
    }
}
