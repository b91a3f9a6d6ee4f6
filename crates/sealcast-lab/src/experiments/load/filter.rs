//! An image filter, as a camera may apply before encryption.

/// Blurs a plane of `width` with the 3x3 Gaussian kernel (1 2 1, 2 4 2, 1 2 1, over 16). Pixels beyond an edge repeat
/// those at the edge.
pub(super) fn blur(plane: &[u8], width: usize, blurred: &mut [u8]) {
    let rows: Vec<&[u8]> = plane.chunks_exact(width).collect();
    let mut sums = vec![0_u16; width];
    for (number, out) in blurred.chunks_exact_mut(width).enumerate() {
        let [above, here, below] =
            [number.saturating_sub(1), number, (number + 1).min(rows.len() - 1)].map(|at| rows[at]);
        for (sum, ((&above, &here), &below)) in sums.iter_mut().zip(above.iter().zip(here).zip(below)) {
            *sum = u16::from(above) + 2 * u16::from(here) + u16::from(below);
        }
        let mean = |left: u16, middle: u16, right: u16| ((left + 2 * middle + right + 8) / 16) as u8;
        for (pixel, sums) in out[1..].iter_mut().zip(sums.windows(3)) {
            *pixel = mean(sums[0], sums[1], sums[2]);
        }
        let last = width - 1;
        out[0] = mean(sums[0], sums[0], sums[1.min(last)]);
        out[last] = mean(sums[last.saturating_sub(1)], sums[last], sums[last]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blurred(plane: &[u8], width: usize) -> Vec<u8> {
        let mut out = vec![0; plane.len()];
        blur(plane, width, &mut out);
        out
    }

    #[test]
    fn a_plane_of_one_brightness_stays_as_it_is() {
        for brightness in [0, 1, 128, 255] {
            assert!(blurred(&[brightness; 48], 8).iter().all(|&pixel| pixel == brightness));
        }
    }

    #[test]
    fn a_point_becomes_the_kernel() {
        let mut plane = [0; 25];
        plane[12] = 160;
        let expected = [
            0, 0, 0, 0, 0, //
            0, 10, 20, 10, 0, //
            0, 20, 40, 20, 0, //
            0, 10, 20, 10, 0, //
            0, 0, 0, 0, 0,
        ];
        assert_eq!(blurred(&plane, 5), expected);
    }

    #[test]
    fn pixels_beyond_an_edge_are_those_at_the_edge() {
        let mut plane = [0; 9];
        plane[0] = 160;
        assert_eq!(blurred(&plane, 3), [90, 30, 0, 30, 10, 0, 0, 0, 0]);
    }
}
