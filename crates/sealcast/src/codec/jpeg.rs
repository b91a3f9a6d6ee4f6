//! JPEG: Motion JPEG frames, snapshots and previews.

use jpeg_encoder::{Encoder, ImageBuffer, JpegColorType, SamplingFactor};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::codec::shrink;
use crate::codec::size::{MAX_SIDE, check_size};
use crate::failure::{Failure, FailureKind, Result};
use crate::media::Picture;

/// Luma from video range (16 to 235) to full range (0 to 255), which JPEG files use.
const LUMA_TO_FULL: [u8; 256] = range_table(16, 219, 0, 255);
/// Chroma from video range (16 to 240) to full range, around 128.
const CHROMA_TO_FULL: [u8; 256] = range_table(128, 224, 128, 255);
/// Luma from full range to video range.
pub(crate) const LUMA_TO_VIDEO: [u8; 256] = range_table(0, 255, 16, 219);
/// Chroma from full range to video range.
pub(crate) const CHROMA_TO_VIDEO: [u8; 256] = range_table(128, 255, 128, 224);

/// `to + (x - from) * to_span / from_span` for every byte, rounded and clamped to a byte.
const fn range_table(from: i32, from_span: i32, to: i32, to_span: i32) -> [u8; 256] {
    let mut table = [0; 256];
    let mut x = 0;
    while x < 256 {
        // The offset of 512 spans keeps the dividend positive, so that the division always rounds in the same
        // direction.
        let value = to + ((x - from) * to_span * 2 + from_span + from_span * 1024) / (from_span * 2) - 512;
        table[x as usize] = if value < 0 {
            0
        } else if value > 255 {
            255
        } else {
            value as u8
        };
        x += 1;
    }
    table
}

/// Encode a picture as a baseline JPEG with 4:2:0 chroma. `quality` is 1 to 100.
///
/// # Errors
/// The picture is too large for a JPEG.
pub fn encode(picture: &Picture, quality: u8) -> Result<Vec<u8>> {
    let fail = |why: String| {
        Failure::new(
            FailureKind::Source,
            format!("a picture does not encode as JPEG ({why})"),
            "choose a smaller size",
        )
    };
    check_size(picture.width, picture.height)?;
    // About one byte for four pixels at usual qualities, so mostly one allocation.
    let mut out = Vec::with_capacity(picture.y.len() / 4 + 1024);
    let mut encoder = Encoder::new(&mut out, quality.clamp(1, 100));
    encoder.set_sampling_factor(SamplingFactor::R_4_2_0);
    encoder
        .encode_image(FullRange(picture))
        .map_err(|e| fail(e.to_string()))?;
    Ok(out)
}

/// Encode a picture for a preview: shrunk to at most `max_width` (see [`shrink`]), then as [`encode`].
///
/// # Errors
/// As [`encode`].
pub fn preview(picture: &Picture, max_width: usize, quality: u8) -> Result<Vec<u8>> {
    encode(&shrink(picture, max_width), quality)
}

/// Presents I420 in video range to the encoder as rows of YCbCr in full range. The encoder drops every second chroma
/// value of every second row again, so doubling them loses nothing.
struct FullRange<'a>(&'a Picture);

impl ImageBuffer for FullRange<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        JpegColorType::Ycbcr
    }

    fn width(&self) -> u16 {
        // Sizes have been checked against MAX_SIDE.
        u16::try_from(self.0.width).unwrap_or(u16::MAX)
    }

    fn height(&self) -> u16 {
        u16::try_from(self.0.height).unwrap_or(u16::MAX)
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let (width, row) = (self.0.width, usize::from(y));
        buffers[0].extend(
            self.0.y[row * width..][..width]
                .iter()
                .map(|&p| LUMA_TO_FULL[usize::from(p)]),
        );
        for (buffer, plane) in buffers[1..3].iter_mut().zip([&self.0.u, &self.0.v]) {
            let old = buffer.len();
            buffer.resize(old + width, 0);
            let chroma = &plane[row / 2 * (width / 2)..][..width / 2];
            for (pair, &c) in buffer[old..].chunks_exact_mut(2).zip(chroma) {
                pair.fill(CHROMA_TO_FULL[usize::from(c)]);
            }
        }
    }
}

/// Decode a JPEG of any chroma subsampling, or a grey one. An odd last column or row is dropped.
///
/// # Errors
/// The data is not a JPEG, is damaged, is not YCbCr or grey, or is larger than
/// [`MAX_PIXELS`](crate::codec::MAX_PIXELS).
pub fn decode(jpeg: &[u8]) -> Result<Picture> {
    let fail = |why: String| {
        Failure::new(
            FailureKind::Sink,
            format!("a frame of {} bytes does not decode as JPEG ({why})", jpeg.len()),
            "wait for the next frame; if none decodes, check that the source sends baseline or progressive JPEG",
        )
    };
    let options = DecoderOptions::default()
        .set_max_width(MAX_SIDE)
        .set_max_height(MAX_SIDE);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    decoder.decode_headers().map_err(|e| fail(format!("{e:?}")))?;
    let (full_width, height) = decoder.dimensions().ok_or_else(|| fail("it has no size".into()))?;
    let (width, height) = (full_width & !1, height & !1);
    check_size(width, height)?;
    let out = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => ColorSpace::Luma,
        Some(ColorSpace::YCbCr) => ColorSpace::YCbCr,
        other => return Err(fail(format!("its colours are {other:?}, not YCbCr or grey"))),
    };
    decoder.set_options(options.jpeg_set_out_colorspace(out));
    let pixels = decoder.decode().map_err(|e| fail(format!("{e:?}")))?;
    let mut picture = Picture::black(width, height);
    if out == ColorSpace::Luma {
        for (row, from) in picture.y.chunks_exact_mut(width).zip(pixels.chunks_exact(full_width)) {
            row.iter_mut()
                .zip(from)
                .for_each(|(to, &from)| *to = LUMA_TO_VIDEO[usize::from(from)]);
        }
    } else {
        subsample(&pixels, full_width, &mut picture);
    }
    Ok(picture)
}

/// Converts interleaved YCbCr in full range to I420 in video range; chroma is averaged over two by two pixels.
fn subsample(pixels: &[u8], full_width: usize, picture: &mut Picture) {
    let (width, half) = (picture.width, picture.width / 2);
    let planes = picture
        .y
        .chunks_exact_mut(2 * width)
        .zip(picture.u.chunks_exact_mut(half))
        .zip(picture.v.chunks_exact_mut(half));
    for (((y, u), v), rows) in planes.zip(pixels.chunks_exact(2 * full_width * 3)) {
        let (top, bottom) = rows.split_at(full_width * 3);
        let (y_top, y_bottom) = y.split_at_mut(width);
        let blocks = top.chunks_exact(6).zip(bottom.chunks_exact(6));
        let luma = y_top.chunks_exact_mut(2).zip(y_bottom.chunks_exact_mut(2));
        for ((((t, b), (yt, yb)), u), v) in blocks.zip(luma).zip(u).zip(v) {
            yt.copy_from_slice(&[LUMA_TO_VIDEO[usize::from(t[0])], LUMA_TO_VIDEO[usize::from(t[3])]]);
            yb.copy_from_slice(&[LUMA_TO_VIDEO[usize::from(b[0])], LUMA_TO_VIDEO[usize::from(b[3])]]);
            let mean = |i: usize| {
                (usize::from(t[i]) + usize::from(t[i + 3]) + usize::from(b[i]) + usize::from(b[i + 3]) + 2) / 4
            };
            *u = CHROMA_TO_VIDEO[mean(1)];
            *v = CHROMA_TO_VIDEO[mean(2)];
        }
    }
}
