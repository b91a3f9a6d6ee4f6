//! Clips: encoded frames of a scene, and what its pictures look like.

use std::sync::Arc;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::{Codec, FrameRate, Picture, StreamInfo};
use sealcast::source::annexb::split_access_units;
use sealcast_proto::unit::find_start_code;

use super::camera::Camera;
use super::ffmpeg;

/// NAL unit types (ITU-T H.264, table 7-1).
pub(crate) const IDR: u8 = 5;
const SPS: u8 = 7;
const PPS: u8 = 8;

/// An encoded frame.
#[derive(Clone, Debug)]
pub(crate) struct ClipFrame {
    pub(crate) keyframe: bool,
    pub(crate) data: Vec<u8>,
}

/// A scene as a camera encodes it.
#[derive(Clone, Debug)]
pub(crate) struct Clip {
    pub(crate) info: StreamInfo,
    pub(crate) frames: Vec<ClipFrame>,
    /// Pictures that a decoder makes of all frames: the original that attackers are compared with.
    pub(crate) pictures: Vec<Arc<Picture>>,
    /// A grey keyframe by the same encoder. Whoever buys a camera of the same model has one.
    pub(crate) template: Vec<u8>,
}

impl Clip {
    /// Encodes pictures as a camera with these settings does, and decodes them again.
    ///
    /// # Errors
    /// ffmpeg is not installed, or an encoder refuses the pictures.
    pub(crate) fn encode(pictures: &[Picture], camera: Camera) -> Result<Self> {
        let first = pictures.first().ok_or_else(|| failed("a scene has no pictures"))?;
        let (width, height) = (first.width, first.height);
        let grey = super::picture::grey(width, height);
        let (frames, template) = match camera.codec {
            Codec::H264 => (h264(pictures, camera)?, h264(&[grey], camera)?),
            Codec::Mjpeg => (jpegs(pictures, camera)?, jpegs(&[grey], camera)?),
            codec => return Err(failed(&format!("no camera here makes {}", codec.title()))),
        };
        let template = template.into_iter().next().map(|frame| frame.data).unwrap_or_default();
        let parameters = match (camera.codec, frames.first()) {
            (Codec::H264, Some(frame)) => parameter_sets(&frame.data),
            _ => Vec::new(),
        };
        let side = |pixels: usize| u16::try_from(pixels).map_err(|_| failed("a scene is too large"));
        let info = StreamInfo {
            codec: camera.codec,
            width: side(width)?,
            height: side(height)?,
            rate: FrameRate {
                numerator: camera.rate,
                denominator: 1,
            },
            parameters,
        };
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &*frame.data));
        let pictures = ffmpeg::decode(&info, stamped, ffmpeg::Care::Strict)?;
        let decoded: Option<Vec<Arc<Picture>>> = pictures.fit(frames.len()).into_iter().collect();
        let pictures = decoded.ok_or_else(|| failed("ffmpeg does not decode a frame that was encoded for it"))?;
        Ok(Self {
            info,
            frames,
            pictures,
            template,
        })
    }
}

fn failed(what: &str) -> Failure {
    Failure::new(FailureKind::Internal, what, "please report this")
}

/// Baseline H.264 (CAVLC, no B pictures), as cameras of robots make it.
fn h264(pictures: &[Picture], camera: Camera) -> Result<Vec<ClipFrame>> {
    let stream = ffmpeg::encode_h264(pictures, camera)?;
    let units = split_access_units(&stream).map_err(|error| failed(&error.to_string()))?;
    let frames = units.iter().map(|unit| ClipFrame {
        keyframe: nal_units(unit).any(|nal| nal.kind == IDR),
        data: unit.to_vec(),
    });
    Ok(frames.collect())
}

/// Baseline JPEG with a restart marker after each row of macroblocks, as RTP cameras make it (RFC 2435).
fn jpegs(pictures: &[Picture], camera: Camera) -> Result<Vec<ClipFrame>> {
    let encoded = pictures.iter().map(|picture| {
        let data = super::jpeg::encode(picture, camera.quality)?;
        Ok(ClipFrame { keyframe: true, data })
    });
    encoded.collect()
}

/// A NAL unit and its place in an access unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nal<'a> {
    /// Offset of its start code.
    pub(crate) offset: usize,
    pub(crate) kind: u8,
    /// All of it with its start code, up to the next.
    pub(crate) bytes: &'a [u8],
    /// Bytes that follow its header byte.
    pub(crate) payload: &'a [u8],
}

/// The NAL units in bytes that begin anywhere; what stands before the first start code is passed over.
pub(crate) fn nal_units(data: &[u8]) -> impl Iterator<Item = Nal<'_>> {
    let mut at = find_start_code(data, 0);
    std::iter::from_fn(move || {
        let offset = at?;
        at = find_start_code(data, offset + 3);
        let bytes = &data[offset..at.unwrap_or(data.len())];
        let (&header, payload) = bytes.get(3..)?.split_first()?;
        Some(Nal {
            offset,
            kind: header & 0x1f,
            bytes,
            payload,
        })
    })
}

/// The parameter sets of an access unit.
pub(crate) fn parameter_sets(unit: &[u8]) -> Vec<u8> {
    let sets = nal_units(unit).filter(|nal| matches!(nal.kind, SPS | PPS));
    sets.flat_map(|nal| nal.bytes.iter().copied()).collect()
}

/// `first_mb_in_slice` of a slice: the number of its first macroblock (ITU-T H.264, 7.3.3), an Exp-Golomb code
/// of at most 32 bits.
pub(crate) fn first_macroblock(payload: &[u8]) -> Option<usize> {
    let bit = |at: usize| Some(usize::from(payload.get(at / 8)? >> (7 - at % 8) & 1));
    let mut zeros = 0;
    while bit(zeros)? == 0 {
        zeros += 1;
        if zeros > 16 {
            return None;
        }
    }
    let code = (zeros..=2 * zeros).try_fold(0, |code, at| Some(code << 1 | bit(at)?))?;
    Some(code - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_macroblock_is_an_exponential_golomb_code() {
        // ITU-T H.264, table 9-2: 1 is 0, 010 is 1, 011 is 2, 00111 is 6.
        let read = [0b1000_0000, 0b0100_0000, 0b0110_0000, 0b0011_1000].map(|byte| first_macroblock(&[byte]));
        assert_eq!(read, [Some(0), Some(1), Some(2), Some(6)]);
        assert_eq!(first_macroblock(&[0; 4]), None);
        assert_eq!(first_macroblock(&[]), None);
    }
}
