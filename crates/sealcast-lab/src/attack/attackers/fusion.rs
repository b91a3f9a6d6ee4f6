//! (f) Puts together over time what a random choice leaves clear now and then. What does not change in the scene is
//! complete after a while.
//!
//! The pieces are what can be decoded without anything else: the slices of H.264 keyframes, and of JPEG images the
//! data between two restart markers, here a row of macroblocks.

use std::sync::Arc;

use sealcast::eavesdrop::{PartialFrame, scan_start};
use sealcast::failure::Result;
use sealcast::media::{Codec, Picture};

use super::Attacker;
use super::naive::clear;
use crate::attack::clip::{Clip, IDR, first_macroblock, nal_units, parameter_sets};
use crate::attack::ffmpeg::{self, Care};
use crate::attack::jpeg::{MACROBLOCK, intervals};
use crate::attack::picture::copy_rows;
use crate::attack::puzzle::{Puzzle, View};

pub(super) struct Fusion;

impl Attacker for Fusion {
    fn name(&self) -> &'static str {
        "fusion"
    }

    fn words(&self) -> &'static str {
        "puts together over time the slices of keyframes, or the rows of JPEG images, that are clear now and then"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        match puzzle.codec() {
            Codec::H264 => slices(puzzle),
            Codec::Mjpeg => rows(puzzle),
            // They have no parts that could be put together.
            Codec::H265 | Codec::Av1 => super::naive::Naive.attack(puzzle),
        }
    }
}

/// Rows of macroblocks of a picture.
fn row_count(puzzle: &Puzzle) -> usize {
    puzzle.size().1.div_ceil(MACROBLOCK)
}

/// The picture that grows, and which of its rows of macroblocks were seen.
struct Mosaic {
    picture: Picture,
    seen: Vec<bool>,
}

impl Mosaic {
    fn new(puzzle: &Puzzle) -> Self {
        Self {
            picture: Picture::clone(&puzzle.grey()),
            seen: vec![false; row_count(puzzle)],
        }
    }

    fn take_all(&mut self, picture: &Picture) {
        (0..self.seen.len()).for_each(|row| self.take_row(picture, row));
    }

    fn take_row(&mut self, picture: &Picture, row: usize) {
        if let Some(seen) = self.seen.get_mut(row) {
            *seen = true;
            copy_rows(&mut self.picture, picture, row * MACROBLOCK, (row + 1) * MACROBLOCK);
        }
    }

    fn coverage(&self) -> f64 {
        self.seen.iter().filter(|seen| **seen).count() as f64 / self.seen.len().max(1) as f64
    }
}

/// A picture, and the rows of it that are in clear.
type Added = (Arc<Picture>, Vec<usize>);

/// Shows the mosaic as it is after each frame. `added` has the rows that each frame adds. A frame that is in clear like
/// all before it from its keyframe on is shown as it is.
fn grow(puzzle: &Puzzle, added: Vec<Option<Added>>) -> Result<View> {
    let exact = exact(puzzle)?;
    let mut mosaic = Mosaic::new(puzzle);
    let mut shown = puzzle.grey();
    let mut pictures = Vec::new();
    for (added, exact) in added.into_iter().zip(exact) {
        if let Some(picture) = exact {
            mosaic.take_all(&picture);
            shown = picture;
        } else if let Some((picture, rows)) = added {
            rows.into_iter().for_each(|row| mosaic.take_row(&picture, row));
            shown = Arc::new(mosaic.picture.clone());
        }
        pictures.push(Arc::clone(&shown));
    }
    Ok(View {
        pictures,
        coverage: Some(mosaic.coverage()),
    })
}

/// The pictures of frames that are in clear with all that they refer to.
fn exact(puzzle: &Puzzle) -> Result<Vec<Option<Arc<Picture>>>> {
    let mut is_exact = false;
    let frames = puzzle.frames.iter().enumerate().filter(|(_, frame)| {
        is_exact = frame.is_whole() && (frame.keyframe || is_exact);
        is_exact
    });
    let frames: Vec<(usize, Vec<u8>)> = frames.map(|(at, frame)| (at, clear(frame))).collect();
    let stamped = frames.iter().map(|(at, frame)| (*at, &**frame));
    let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Strict)?;
    Ok(decoded.fit(puzzle.frames.len()))
}

/// Whole slices of a keyframe, and the rows of macroblocks that they hold.
fn clear_slices(frame: &PartialFrame, columns: usize, rows: usize) -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut covered) = (Vec::new(), Vec::new());
    let length = frame.length();
    for (offset, run) in frame.runs() {
        let nals: Vec<_> = nal_units(&run).collect();
        for (at, nal) in nals.iter().enumerate() {
            let next = nals.get(at + 1);
            // The last of a run is whole only if the frame ends with it.
            let is_whole = next.is_some() || offset + run.len() == length;
            let Some(first) = first_macroblock(nal.payload).filter(|_| nal.kind == IDR && is_whole) else {
                continue;
            };
            let end = match next.filter(|next| next.kind == IDR) {
                Some(next) => first_macroblock(next.payload).map_or(rows, |first| first / columns),
                None => rows,
            };
            bytes.extend_from_slice(nal.bytes);
            covered.extend(first / columns..end.min(rows));
        }
    }
    (bytes, covered)
}

fn slices(puzzle: &Puzzle) -> Result<View> {
    let columns = puzzle.size().0.div_ceil(MACROBLOCK);
    let rows = row_count(puzzle);
    let sets = parameter_sets(&puzzle.model.template);
    let pieces: Vec<(Vec<u8>, Vec<usize>)> = puzzle
        .frames
        .iter()
        .map(|frame| match frame.keyframe {
            true => clear_slices(frame, columns, rows),
            false => (Vec::new(), Vec::new()),
        })
        .collect();
    let frames: Vec<Vec<u8>> = pieces
        .iter()
        .map(|(bytes, _)| match bytes.is_empty() {
            true => Vec::new(),
            false => [&*sets, bytes].concat(),
        })
        .collect();
    let stamped = frames.iter().enumerate().map(|(at, frame)| (at, &**frame));
    let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?;
    let decoded = decoded.fit(frames.len());
    let added = decoded.into_iter().zip(pieces);
    let added = added.map(|(picture, (_, rows))| picture.map(|picture| (picture, rows)));
    grow(puzzle, added.collect())
}

/// A row of a JPEG image: its entropy-coded data.
struct Row {
    number: usize,
    data: Vec<u8>,
}

/// The rows of an image that are in clear. A restart marker has the row's number modulo eight; where a run of clear
/// bytes lies in the image says which of them it is.
fn clear_rows(frame: &PartialFrame, head: usize, rows: usize) -> Vec<Row> {
    let mut found = Vec::new();
    let scan = frame.length().saturating_sub(head).max(1);
    for (offset, run) in frame.runs() {
        let starts = offset <= head && head <= offset + run.len();
        let (from, run) = match starts {
            true => (head, &run[head - offset..]),
            false => (offset, &run[..]),
        };
        for interval in intervals(run, starts) {
            let place = (from + interval.place.start).saturating_sub(head);
            let estimate = place * rows / scan;
            let number = match interval.after {
                None => 0,
                Some(_) if interval.is_last => rows - 1,
                Some(marker) => nearest(estimate, usize::from(marker) + 1, rows),
            };
            found.push(Row {
                number,
                data: run[interval.place].to_vec(),
            });
        }
    }
    found
}

/// The row closest to `estimate` whose number is `modulo` modulo eight.
fn nearest(estimate: usize, modulo: usize, rows: usize) -> usize {
    // The first row has no marker before it.
    let candidates = (1..rows).filter(|row| row % 8 == modulo % 8);
    candidates.min_by_key(|row| row.abs_diff(estimate)).unwrap_or(0)
}

/// An image of these rows; the others are those of the grey image.
fn assemble(head: &[u8], grey: &[Vec<u8>], rows: &[Row]) -> Vec<u8> {
    let mut image = head.to_vec();
    for (number, of_grey) in grey.iter().enumerate() {
        let own = rows.iter().find(|row| row.number == number);
        image.extend_from_slice(own.map_or(of_grey, |row| &row.data));
        let marker = match number + 1 == grey.len() {
            true => 0xd9,
            false => 0xd0 + (number % 8) as u8,
        };
        image.extend_from_slice(&[0xff, marker]);
    }
    image
}

fn rows(puzzle: &Puzzle) -> Result<View> {
    let template = &puzzle.model.template;
    let Some(start) = scan_start(template) else {
        return Ok(View::of(puzzle, vec![None; puzzle.frames.len()]));
    };
    let (head, scan) = template.split_at(start);
    let grey: Vec<Vec<u8>> = intervals(scan, true)
        .into_iter()
        .map(|row| scan[row.place].to_vec())
        .collect();
    // Images of one camera have heads of one length.
    let found: Vec<Vec<Row>> = puzzle
        .frames
        .iter()
        .map(|frame| clear_rows(frame, start, grey.len()))
        .collect();
    let images: Vec<Vec<u8>> = found
        .iter()
        .map(|rows| match rows.is_empty() {
            true => Vec::new(),
            false => assemble(head, &grey, rows),
        })
        .collect();
    let stamped = images.iter().enumerate().map(|(at, image)| (at, &**image));
    let decoded = ffmpeg::decode(&puzzle.model.info, stamped, Care::Conceal)?.fit(images.len());
    let numbers = found
        .into_iter()
        .map(|rows| rows.into_iter().map(|row| row.number).collect());
    let added = decoded.into_iter().zip(numbers);
    grow(
        puzzle,
        added
            .map(|(picture, rows)| picture.map(|picture| (picture, rows)))
            .collect(),
    )
}

/// The share of a still picture's pieces that chance leaves clear at least once: the mean of `1 - (1 - q)^k` over
/// pieces, where `q` is the probability that all records with bytes of a piece are in clear. `encrypted` is the share
/// of records that is encrypted, 0 to 1. `None` for a clip whose pieces cannot be told.
pub(crate) fn expected_coverage(clip: &Clip, frames: &[PartialFrame], encrypted: f64) -> Option<f64> {
    let rows = usize::from(clip.info.height).div_ceil(MACROBLOCK);
    let columns = usize::from(clip.info.width).div_ceil(MACROBLOCK);
    let mut missed = vec![1.0; rows];
    for (frame, seen) in clip.frames.iter().zip(frames).filter(|(frame, _)| frame.keyframe) {
        for (place, covered) in pieces(clip.info.codec, &frame.data, columns, rows)? {
            let touched = seen.parts.iter().filter(|part| part.length > 0);
            let records = touched
                .filter(|part| part.offset < place.end && place.start < part.range().end)
                .count();
            let clear = (1.0 - encrypted).powi(i32::try_from(records).unwrap_or(i32::MAX));
            covered.for_each(|row| missed[row] *= 1.0 - clear);
        }
    }
    Some(1.0 - missed.iter().sum::<f64>() / rows as f64)
}

type Piece = (std::ops::Range<usize>, std::ops::Range<usize>);

/// The pieces of a keyframe: their bytes, with what must be clear to find their ends, and their rows.
fn pieces(codec: Codec, data: &[u8], columns: usize, rows: usize) -> Option<Vec<Piece>> {
    if codec == Codec::Mjpeg {
        let start = scan_start(data)?;
        let found = intervals(&data[start..], true).into_iter().enumerate();
        let piece = |(row, interval): (usize, crate::attack::jpeg::Interval)| {
            let marker = if interval.after.is_some() { 2 } else { 0 };
            (
                start + interval.place.start - marker..start + interval.place.end + 2,
                row..row + 1,
            )
        };
        return Some(found.map(piece).collect());
    }
    let slices: Vec<_> = nal_units(data).filter(|nal| nal.kind == IDR).collect();
    let piece = |(at, nal): (usize, &crate::attack::clip::Nal<'_>)| {
        let next = slices.get(at + 1);
        let first = first_macroblock(nal.payload)? / columns;
        let last = match next {
            Some(next) => first_macroblock(next.payload)? / columns,
            None => rows,
        };
        // The next start code and its first bytes say that the slice is whole.
        let end = next.map_or(data.len(), |next| next.offset + 5);
        Some((nal.offset..end, first..last))
    };
    slices.iter().enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sealcast::eavesdrop::Part;
    use sealcast::source::test_card::{CardClock, CardPainter};
    use sealcast_proto::sim::Random;

    use super::*;
    use crate::attack::jpeg;

    /// The image in packets of 1100 bytes, of which a quarter is in clear.
    fn torn(image: &[u8], random: &mut Random) -> PartialFrame {
        let parts = image.chunks(1100).enumerate().map(|(at, bytes)| Part {
            offset: at * 1100,
            length: bytes.len(),
            clear: random.chance(0.25).then(|| bytes.to_vec()),
        });
        PartialFrame {
            number: 0,
            number_read: false,
            keyframe: true,
            at: Duration::ZERO,
            parts: parts.collect(),
        }
    }

    #[test]
    fn rows_of_a_torn_image_are_found_where_they_belong() {
        let (width, height) = (320, 240);
        let mut painter = CardPainter::new(width, height).expect("a card");
        let card = painter.paint(CardClock { event: 9, wall_us: 99 }, Duration::ZERO);
        let image = jpeg::encode(card, 80).expect("it encodes");
        let head = scan_start(&image).expect("a scan");
        let rows = height / MACROBLOCK;
        let mut random = Random::new(4);
        let mut right = 0;
        for _ in 0..200 {
            let frame = torn(&image, &mut random);
            let is_clear = |place: &std::ops::Range<usize>| {
                let touched = frame
                    .parts
                    .iter()
                    .filter(|part| part.offset < place.end && place.start < part.range().end);
                touched.clone().all(|part| part.clear.is_some())
            };
            let whole = pieces(Codec::Mjpeg, &image, width / MACROBLOCK, rows).expect("rows");
            let expected: Vec<usize> = whole
                .into_iter()
                .filter(|(place, _)| is_clear(place))
                .map(|(_, row)| row.start)
                .collect();
            let found: Vec<usize> = clear_rows(&frame, head, rows).iter().map(|row| row.number).collect();
            assert_eq!(found.len(), expected.len(), "{expected:?} and {found:?}");
            right += usize::from(found == expected);
        }
        assert!(
            right >= 180,
            "of 200 images the rows of {right} were put where they belong"
        );
    }
}
