//! Raw pictures of cameras as I420 in video range.

use super::format::PixelFormat;
use crate::codec::{CHROMA_TO_VIDEO, LUMA_TO_VIDEO};
use crate::media::Picture;

/// Layout of pictures in a camera's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) format: PixelFormat,
    /// Width in pixels, even.
    pub(super) width: usize,
    /// Height in pixels, even.
    pub(super) height: usize,
    /// Bytes from one row to the next, of the first plane.
    pub(super) stride: usize,
    /// True if luma and chroma use all values from 0 to 255.
    pub(super) full_range: bool,
}

impl Layout {
    /// Bytes of a row of the first plane without padding.
    fn row(&self) -> usize {
        match self.format {
            PixelFormat::Yuyv | PixelFormat::Uyvy | PixelFormat::Yvyu => 2 * self.width,
            _ => self.width,
        }
    }

    /// The picture in a buffer; `None` if the buffer is too short for one, or the format is not raw.
    pub(super) fn picture(&self, buffer: &[u8]) -> Option<Picture> {
        let stride = self.stride.max(self.row());
        let (luma, rest) = buffer.split_at_checked(self.size_of(stride, self.height, self.row(), buffer.len())?)?;
        let mut picture = Picture::black(self.width, self.height);
        match self.format {
            PixelFormat::Yuyv => self.packed(luma, stride, [0, 1, 3], &mut picture),
            PixelFormat::Uyvy => self.packed(luma, stride, [1, 0, 2], &mut picture),
            PixelFormat::Yvyu => self.packed(luma, stride, [0, 3, 1], &mut picture),
            PixelFormat::Grey => self.rows(luma, stride, &mut picture.y, self.width),
            PixelFormat::Nv12 | PixelFormat::Nv21 => {
                self.rows(luma, stride, &mut picture.y, self.width);
                self.pairs(rest, stride, &mut picture)?;
            }
            PixelFormat::I420 | PixelFormat::Yv12 => {
                self.rows(luma, stride, &mut picture.y, self.width);
                let (half, width) = (stride / 2, self.width / 2);
                let (first, second) = rest.split_at_checked(half * self.height / 2)?;
                if second.len() < half * (self.height / 2 - 1) + width {
                    return None;
                }
                let (u, v) = match self.format {
                    PixelFormat::I420 => (first, second),
                    _ => (second, first),
                };
                self.rows(u, half, &mut picture.u, width);
                self.rows(v, half, &mut picture.v, width);
            }
            PixelFormat::H264 | PixelFormat::Mjpeg => return None,
        }
        if self.full_range {
            picture.y.iter_mut().for_each(|y| *y = LUMA_TO_VIDEO[usize::from(*y)]);
            let chroma = picture.u.iter_mut().chain(&mut picture.v);
            chroma.for_each(|c| *c = CHROMA_TO_VIDEO[usize::from(*c)]);
        }
        Some(picture)
    }

    /// Bytes of a plane. The last row's padding may be missing if nothing follows it; `None` if more is.
    fn size_of(&self, stride: usize, rows: usize, row: usize, held: usize) -> Option<usize> {
        let least = stride * (rows - 1) + row;
        (held >= least).then_some((stride * rows).min(held))
    }

    /// Copies a plane without the padding of its rows.
    fn rows(&self, plane: &[u8], stride: usize, into: &mut [u8], width: usize) {
        for (to, from) in into.chunks_exact_mut(width).zip(plane.chunks(stride)) {
            to.copy_from_slice(&from[..width]);
        }
    }

    /// Takes pictures of packed 4:2:2, in which of each four bytes the first Y, U and V are at `at`, and the second Y
    /// two after the first. Chroma is averaged over two rows.
    fn packed(&self, plane: &[u8], stride: usize, at: [usize; 3], picture: &mut Picture) {
        let [y_at, u_at, v_at] = at;
        let (row, half) = (self.row(), self.width / 2);
        let chroma = picture.u.chunks_exact_mut(half).zip(picture.v.chunks_exact_mut(half));
        let luma = picture.y.chunks_exact_mut(2 * self.width);
        for ((lines, (u, v)), rows) in luma.zip(chroma).zip(plane.chunks(2 * stride)) {
            let (top, bottom) = (&rows[..row], &rows[stride..stride + row]);
            let (y_top, y_bottom) = lines.split_at_mut(self.width);
            let pairs = top.chunks_exact(4).zip(bottom.chunks_exact(4));
            let ys = y_top.chunks_exact_mut(2).zip(y_bottom.chunks_exact_mut(2));
            for (((t, b), (yt, yb)), (u, v)) in pairs.zip(ys).zip(u.iter_mut().zip(v.iter_mut())) {
                yt.copy_from_slice(&[t[y_at], t[y_at + 2]]);
                yb.copy_from_slice(&[b[y_at], b[y_at + 2]]);
                *u = mean(t[u_at], b[u_at]);
                *v = mean(t[v_at], b[v_at]);
            }
        }
    }

    /// Takes a plane of pairs of chroma; `None` if it is too short.
    fn pairs(&self, plane: &[u8], stride: usize, picture: &mut Picture) -> Option<()> {
        let rows = self.height / 2;
        self.size_of(stride, rows, self.width, plane.len())?;
        let (first, second) = match self.format {
            PixelFormat::Nv12 => (&mut picture.u, &mut picture.v),
            _ => (&mut picture.v, &mut picture.u),
        };
        let half = self.width / 2;
        let planes = first.chunks_exact_mut(half).zip(second.chunks_exact_mut(half));
        for ((first, second), from) in planes.zip(plane.chunks(stride)) {
            for ((first, second), pair) in first.iter_mut().zip(second).zip(from.chunks_exact(2)) {
                (*first, *second) = (pair[0], pair[1]);
            }
        }
        Some(())
    }
}

/// The mean of two samples; a half is rounded up.
fn mean(a: u8, b: u8) -> u8 {
    a.midpoint(b) + ((a ^ b) & 1)
}

#[cfg(test)]
#[path = "convert_tests.rs"]
mod tests;
