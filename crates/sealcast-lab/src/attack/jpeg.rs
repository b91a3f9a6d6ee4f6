//! JPEG with restart markers: encoding as cameras do, and the parts of an image between the markers.

use std::ops::Range;

use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;

/// Height and width of a macroblock with 4:2:0 chroma.
pub(crate) const MACROBLOCK: usize = 16;

/// A baseline JPEG with a restart marker after each row of macroblocks.
pub(crate) fn encode(picture: &Picture, quality: u8) -> Result<Vec<u8>> {
    let refused = |why: String| {
        let what = format!("a picture of a scene does not encode as JPEG ({why})");
        Failure::new(FailureKind::Internal, what, "please report this")
    };
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, quality);
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    let row = picture.width.div_ceil(MACROBLOCK);
    encoder.set_restart_interval(u16::try_from(row).map_err(|error| refused(error.to_string()))?);
    encoder
        .encode_image(Planes(picture))
        .map_err(|error| refused(error.to_string()))?;
    Ok(out)
}

/// From video range to the full range of JPEG files, `span` values around `middle`.
fn full(value: u8, middle: i32, span: i32) -> u8 {
    let wide = middle + ((i32::from(value) - middle) * 255).div_euclid(span);
    u8::try_from(wide.clamp(0, 255)).unwrap_or(u8::MAX)
}

/// Gives the encoder luma and chroma in full range.
struct Planes<'a>(&'a Picture);

impl ImageBuffer for Planes<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        u16::try_from(self.0.width).unwrap_or(u16::MAX)
    }

    fn height(&self) -> u16 {
        u16::try_from(self.0.height).unwrap_or(u16::MAX)
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let (width, row) = (self.0.width, usize::from(y));
        let luma = &self.0.y[row * width..][..width];
        buffers[0].extend(luma.iter().map(|&value| full(value, 126, 219)));
        for (buffer, plane) in buffers[1..3].iter_mut().zip([&self.0.u, &self.0.v]) {
            let chroma = &plane[row / 2 * (width / 2)..][..width / 2];
            buffer.extend(chroma.iter().flat_map(|&value| [full(value, 128, 224); 2]));
        }
    }
}

/// A piece of entropy-coded data between two restart markers, or between one and the end of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    /// Its place in the bytes that were searched, without markers.
    pub(crate) place: Range<usize>,
    /// Number of the restart marker before it, 0 to 7; `None` for the first of the image.
    pub(crate) after: Option<u8>,
    /// True if the end of the image follows.
    pub(crate) is_last: bool,
}

/// The complete intervals in a run of entropy-coded bytes: those with a marker at both ends. `starts` says that the
/// run begins with the first byte of the scan.
pub(crate) fn intervals(run: &[u8], starts: bool) -> Vec<Interval> {
    let mut found = Vec::new();
    let mut open = starts.then_some((0, None));
    let mut at = 0;
    while at + 1 < run.len() {
        let marker = run[at + 1];
        if run[at] != 0xff || !matches!(marker, 0xd0..=0xd7 | 0xd9) {
            at += 1;
            continue;
        }
        if let Some((from, after)) = open {
            found.push(Interval {
                place: from..at,
                after,
                is_last: marker == 0xd9,
            });
        }
        open = (marker != 0xd9).then(|| (at + 2, Some(marker - 0xd0)));
        at += 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use sealcast::eavesdrop::scan_start;

    use super::*;

    #[test]
    fn a_run_is_cut_at_its_restart_markers_and_what_is_not_whole_is_left_out() {
        let run = [1, 2, 0xff, 0xd3, 3, 0xff, 0x00, 4, 0xff, 0xd4, 5, 6, 0xff, 0xd9];
        let places = |starts| -> Vec<(Range<usize>, Option<u8>, bool)> {
            let found = intervals(&run, starts).into_iter();
            found.map(|one| (one.place, one.after, one.is_last)).collect()
        };
        let whole = [(4..8, Some(3), false), (10..12, Some(4), true)];
        assert_eq!(places(false), whole);
        assert_eq!(places(true)[0], (0..2, None, false));
        assert_eq!(places(true)[1..], whole);
    }

    #[test]
    fn an_image_has_an_interval_for_each_row_of_macroblocks() {
        let image = encode(&super::super::picture::grey(64, 48), 80).expect("it encodes");
        let start = scan_start(&image).expect("a scan");
        let rows = intervals(&image[start..], true);
        assert_eq!(rows.len(), 3);
        assert_eq!(
            rows.iter().map(|row| row.after).collect::<Vec<_>>(),
            [None, Some(0), Some(1)]
        );
        assert!(rows[2].is_last && !rows[1].is_last);
    }
}
