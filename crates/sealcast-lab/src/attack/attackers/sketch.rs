//! (g) Draws how many bits each part of a picture took. Where little happens there are few, so outlines and movement
//! show though no pixel does.

use std::sync::Arc;

use sealcast::eavesdrop::{Decoder, GREY_LUMA, PartialFrame, SliceSearch, scan_start};
use sealcast::failure::Result;
use sealcast::media::{Codec, Picture};
use sealcast_proto::unit::find_start_code;
use sealcast_proto::unit::h264::{Macroblock, ParameterSets, SliceParser};

use super::Attacker;
use crate::attack::jpeg::{self, MACROBLOCK};
use crate::attack::puzzle::{Puzzle, View};

/// Share of what was drawn before that stays from picture to picture.
const PERSISTENCE: f64 = 0.8;
/// Luma for each doubling of the bits.
const PER_DOUBLING: f64 = 16.0;

pub(super) struct Sketch;

impl Attacker for Sketch {
    fn name(&self) -> &'static str {
        "sketch"
    }

    fn words(&self) -> &'static str {
        "draws the number of bits of each macroblock, or of each row of an image, that can be found"
    }

    fn attack(&self, puzzle: &Puzzle) -> Result<View> {
        let (width, height) = puzzle.size();
        let mut bits = Bits::new(width, height);
        let mut sizes = Sizes::new(puzzle);
        let mut pictures = Vec::with_capacity(puzzle.frames.len());
        let mut last = puzzle.grey();
        for frame in &puzzle.frames {
            let has_more = match puzzle.codec() {
                Codec::H264 => sizes.of_macroblocks(frame, &mut bits),
                Codec::Mjpeg => of_rows(frame, &mut bits),
                // Nothing of a part can be found.
                Codec::H265 | Codec::Av1 => false,
            };
            if has_more {
                last = Arc::new(bits.draw(width, height));
            }
            pictures.push(Some(Arc::clone(&last)));
        }
        Ok(View::of(puzzle, pictures))
    }
}

/// Bits of each macroblock, averaged over pictures.
struct Bits {
    columns: usize,
    mean: Vec<f64>,
}

impl Bits {
    fn new(width: usize, height: usize) -> Self {
        let columns = width.div_ceil(MACROBLOCK);
        Self {
            columns,
            mean: vec![0.0; columns * height.div_ceil(MACROBLOCK)],
        }
    }

    fn note(&mut self, address: usize, bits: f64) {
        if let Some(mean) = self.mean.get_mut(address) {
            *mean = *mean * PERSISTENCE + bits * (1.0 - PERSISTENCE);
        }
    }

    fn draw(&self, width: usize, height: usize) -> Picture {
        let mut picture = crate::attack::picture::grey(width, height);
        for (y, row) in picture.y.chunks_exact_mut(width).enumerate() {
            for (x, luma) in row.iter_mut().enumerate() {
                let mean = self.mean[y / MACROBLOCK * self.columns + x / MACROBLOCK];
                let shade = f64::from(GREY_LUMA) + PER_DOUBLING * ((mean + 1.0).log2() - 4.0);
                *luma = shade.clamp(16.0, 235.0) as u8;
            }
        }
        picture
    }
}

/// Finds the sizes of macroblocks.
struct Sizes {
    sets: ParameterSets,
    parser: SliceParser,
    search: Option<SliceSearch>,
    macroblocks: Vec<Macroblock>,
}

impl Sizes {
    fn new(puzzle: &Puzzle) -> Self {
        let (width, height) = puzzle.size();
        let mut sets = ParameterSets::default();
        sets.take_all(&puzzle.model.info.parameters);
        sets.take_all(&puzzle.model.template);
        Self {
            sets,
            parser: SliceParser::default(),
            search: SliceSearch::new(width, height, Decoder::Concealing),
            macroblocks: Vec::new(),
        }
    }

    /// Notes the macroblocks of all slices in clear, or else of the last one if its tail is. False if there are none.
    fn of_macroblocks(&mut self, frame: &PartialFrame, bits: &mut Bits) -> bool {
        let mut has_any = false;
        for (_, run) in frame.runs() {
            let mut unit = find_start_code(&run, 0);
            while let Some(code) = unit {
                let next = find_start_code(&run, code + 3);
                let slice = &run[code + 3..next.unwrap_or(run.len())];
                if self.parser.parse(slice, &self.sets, &mut self.macroblocks).is_ok() {
                    has_any = true;
                    note_all(&self.macroblocks, bits);
                }
                unit = next;
            }
        }
        if !has_any && let Some(found) = self.search.as_mut().and_then(|search| search.last_slice(frame)) {
            has_any = true;
            note_all(&found.macroblocks, bits);
        }
        has_any
    }
}

fn note_all(macroblocks: &[Macroblock], bits: &mut Bits) {
    for macroblock in macroblocks {
        for address in macroblock.address..macroblock.address + macroblock.count {
            bits.note(address as usize, macroblock.bits.into());
        }
    }
}

/// Notes the rows of an image between its restart markers. False if there are none.
fn of_rows(frame: &PartialFrame, bits: &mut Bits) -> bool {
    let Some((_, run)) = frame.runs().into_iter().max_by_key(|(_, run)| run.len()) else {
        return false;
    };
    let start = scan_start(&run);
    let intervals = jpeg::intervals(&run[start.unwrap_or(0)..], start.is_some());
    let rows = bits.mean.len() / bits.columns;
    // Counted from the end, which is known where the beginning is not.
    let ends = intervals.last().is_some_and(|interval| interval.is_last) || start.is_none();
    if !ends || intervals.len() > rows {
        return false;
    }
    let skipped = rows - intervals.len();
    for (row, interval) in intervals.iter().enumerate() {
        let each = interval.place.len() as f64 * 8.0 / bits.columns as f64;
        for column in 0..bits.columns {
            bits.note((skipped + row) * bits.columns + column, each);
        }
    }
    !intervals.is_empty()
}
