//! (d) Guesses what headers say. Of H.264, parameter sets and slice headers are written anew as small cameras have
//! them, and the first whole macroblock is searched for. Of JPEG, the usual tables and samplings are tried, and the
//! codes tell which are right: with wrong ones they do not end where the image does.

use jpeg_encoder::{ColorType, Encoder, SamplingFactor};
use sealcast::eavesdrop::PartialFrame;
use sealcast::failure::Result;
use sealcast::media::Codec;
use sealcast_proto::unit::{Splitter, join};

use super::Attacker;
use super::h264_writer::{BitWriter, USUAL_QP, grey_keyframe, header};
use super::naive::Naive;
use super::slice_search::{Found, SliceSearch};
use crate::attack::ffmpeg::{self, Care};
use crate::attack::puzzle::{Puzzle, View};

/// Quality of guessed tables. It scales contrast, and changes no shape.
const QUALITY: u8 = 75;
/// End of image.
const EOI: [u8; 2] = [0xFF, 0xD9];

pub(super) struct Parameters;

impl Attacker for Parameters {
    fn name(&self) -> &'static str {
        "parameters"
    }

    fn words(&self) -> &'static str {
        "writes usual headers itself, and searches for the bit at which the codes fit them"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        if puzzle.frames.iter().all(PartialFrame::is_whole) {
            return Naive.attack(puzzle);
        }
        let frames = match puzzle.codec() {
            Codec::H264 => slices(puzzle),
            Codec::Mjpeg => images(puzzle),
        };
        let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
        let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?;
        Ok(View::held(puzzle, decoded.fit(frames.len())))
    }
}

/// A stream of our own: a grey keyframe, and then what was found of each picture.
fn slices(puzzle: &Puzzle) -> Vec<Vec<u8>> {
    let (width, height) = puzzle.size();
    let Some(mut search) = SliceSearch::new(width, height) else {
        return Vec::new();
    };
    let (width_mbs, height_mbs) = search.size_mbs();
    let mut number = 0;
    let mut frames: Vec<Vec<u8>> = Vec::new();
    for frame in &puzzle.frames {
        let Some(found) = search.last_slice(frame) else {
            frames.push(Vec::new());
            continue;
        };
        let is_first = frames.iter().all(Vec::is_empty);
        let mut bytes = Vec::new();
        if is_first || frame.keyframe {
            bytes = grey_keyframe(width_mbs, height_mbs);
            number = 0;
        }
        // The data of an I slice follows the grey keyframe as a picture of its own.
        number += 1;
        bytes.extend(slice(&found, frame.keyframe, number));
        frames.push(bytes);
    }
    frames
}

/// Slice data behind a header of our own.
fn slice(found: &Found, is_intra: bool, number: u16) -> Vec<u8> {
    let mut writer = BitWriter::default();
    header(&mut writer, found.first_mb, (!is_intra).then_some(number), USUAL_QP);
    let (mut zeros, mut at) = (0, 0);
    for &byte in &found.data {
        let is_prevention = zeros == 2 && byte == 3;
        zeros = if byte == 0 { zeros + 1 } else { 0 };
        for bit in (0..8).rev() {
            if at >= found.from && !is_prevention {
                writer.bit(byte >> bit & 1 == 1);
            }
            at += 1;
        }
    }
    writer.nal(if is_intra { 0x65 } else { 0x41 })
}

/// A grey image with the usual tables: what stands before its codes, and where they begin.
fn usual_images(puzzle: &Puzzle) -> Vec<Vec<u8>> {
    let (width, height) = puzzle.size();
    let (Ok(width), Ok(height)) = (u16::try_from(width), u16::try_from(height)) else {
        return Vec::new();
    };
    let grey = vec![128; usize::from(width) * usize::from(height) * 3];
    let mut images = Vec::new();
    let samplings = [
        (SamplingFactor::R_4_2_0, 16),
        (SamplingFactor::R_4_2_2, 16),
        (SamplingFactor::R_4_4_4, 8),
    ];
    for (sampling, across) in samplings {
        for interval in [None, Some(width.div_ceil(across))] {
            let mut image = Vec::new();
            let mut encoder = Encoder::new(&mut image, QUALITY);
            encoder.set_sampling_factor(sampling);
            if let Some(interval) = interval {
                encoder.set_restart_interval(interval);
            }
            if encoder.encode(&grey, width, height, ColorType::Ycbcr).is_ok() {
                images.push(image);
            }
        }
    }
    images
}

/// Images with guessed headers, as far as the clear bytes fit any.
fn images(puzzle: &Puzzle) -> Vec<Vec<u8>> {
    let usual = usual_images(puzzle);
    let mut splitter = Splitter::default();
    let guess = |frame: &PartialFrame| {
        let Some((offset, run)) = frame.runs().into_iter().max_by_key(|(_, run)| run.len()) else {
            return Vec::new();
        };
        if offset == 0 {
            return run;
        }
        let fitting = usual.iter().find_map(|image| with_codes(&mut splitter, image, &run));
        fitting.unwrap_or_default()
    };
    puzzle.frames.iter().map(guess).collect()
}

/// An image with the headers of this one: with these codes, if they are all of a scan; or with flat blocks and these
/// AC codes, if they are the other part of a split image.
fn with_codes(splitter: &mut Splitter, image: &[u8], codes: &[u8]) -> Option<Vec<u8>> {
    let head = crate::attack::jpeg::scan_start(image)?;
    let whole = [&image[..head], codes, &EOI].concat();
    if splitter.split(&whole, 0).is_ok() {
        return Some(whole);
    }
    let flat = splitter.split(image, 0).ok()?;
    join(&[&flat.data[..flat.first], codes].concat()).ok()
}

#[cfg(test)]
mod tests {
    use sealcast_proto::unit::h264::{ParameterSets, SliceParser};

    use super::*;

    #[test]
    fn a_grey_keyframe_of_our_own_has_all_its_macroblocks() {
        let stream = grey_keyframe(20, 15);
        let mut sets = ParameterSets::default();
        sets.take_all(&stream);
        let at = stream
            .windows(5)
            .rposition(|bytes| bytes == [0, 0, 0, 1, 0x65])
            .expect("a slice");
        let (mut parser, mut macroblocks) = (SliceParser::default(), Vec::new());
        parser
            .parse(&stream[at + 4..], &sets, &mut macroblocks)
            .expect("it parses to its end");
        assert_eq!(macroblocks.len(), 300);
    }

    #[test]
    fn ac_codes_alone_become_an_image_of_flat_blocks() {
        let mut splitter = Splitter::default();
        let mut noisy = Vec::new();
        let pixels: Vec<u8> = (0..64 * 48 * 3)
            .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        Encoder::new(&mut noisy, 60)
            .encode(&pixels, 64, 48, ColorType::Rgb)
            .expect("it encodes");
        let split = splitter.split(&noisy, 0).expect("a baseline image");
        let others = split.data[split.first..].to_vec();
        let mut grey = Vec::new();
        Encoder::new(&mut grey, 60)
            .encode(&[128; 64 * 48 * 3], 64, 48, ColorType::Rgb)
            .expect("it encodes");
        let image = with_codes(&mut splitter, &grey, &others).expect("the codes fit");
        assert_eq!(
            splitter
                .split(&image, 0)
                .map(|split| split.data[split.first..].to_vec()),
            Ok(others)
        );
    }
}
