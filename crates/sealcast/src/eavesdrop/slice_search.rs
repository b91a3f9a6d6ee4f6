//! Finds where macroblocks begin in slice data whose beginning, with its header, is encrypted.
//!
//! A parse from a wrong bit fails soon, or falls into step with the codes. One that ends exactly with the data, at the
//! picture's last macroblock, was in step at least there, and all macroblocks after that are in their places.

use std::collections::BTreeMap;

use sealcast_proto::unit::find_start_code;
use sealcast_proto::unit::h264::{
    Macroblock, MacroblockKind, ParameterSets, Pps, SliceContext, SliceKind, SliceParser, Sps,
};

use super::h264_writer::parameter_sets;
use super::partial::PartialFrame;

/// Distance into the clear data up to which the first macroblock boundary is looked for, in bits.
const REACH_INTRA: usize = 1024;
const REACH_PREDICTED: usize = 192;
/// Which part of the parses that fit has to share a boundary, as a divisor.
const SHARED: usize = 6;
/// Number of macroblocks of an I slice that may be hidden before it.
const HIDDEN_INTRA: u32 = 16;

/// The kind of decoder that what is found is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoder {
    /// It conceals errors. So the bit is taken from which most macroblocks follow, although the first of them may not
    /// be there at all: parses from wrong bits fall into step later.
    Concealing,
    /// It refuses pictures with errors. So the first boundary of macroblocks is taken that enough parses share.
    Strict,
}

/// Slice data that was found to be in step.
#[derive(Debug)]
pub struct FoundSlice {
    /// The data, from the first clear byte on.
    pub data: Vec<u8>,
    /// The bit of it at which the first macroblock begins.
    pub from: usize,
    /// Address of that macroblock.
    pub first_mb: u32,
    /// The macroblocks, up to the end of the slice.
    pub macroblocks: Vec<Macroblock>,
}

/// Searches in pictures of one size.
#[derive(Debug)]
pub struct SliceSearch {
    decoder: Decoder,
    parser: SliceParser,
    sps: Sps,
    pps: Pps,
    macroblocks: Vec<Macroblock>,
}

impl SliceSearch {
    /// In pictures of this size in pixels, for such a decoder; `None` if no picture is that large.
    pub fn new(width: usize, height: usize, decoder: Decoder) -> Option<Self> {
        let mbs = |side: usize| u32::try_from(side.div_ceil(16)).ok();
        let mut sets = ParameterSets::default();
        sets.take_all(&parameter_sets(mbs(width)?, mbs(height)?));
        let pps = *sets.pps(0)?;
        let sps = *sets.sps(pps.sps)?;
        Some(Self {
            decoder,
            parser: SliceParser::default(),
            sps,
            pps,
            macroblocks: Vec::new(),
        })
    }

    /// Width and height in macroblocks.
    pub fn size_mbs(&self) -> (u32, u32) {
        (self.sps.width_mbs, self.sps.height_mbs)
    }

    /// The decoder that it searches for.
    pub fn decoder(&self) -> Decoder {
        self.decoder
    }

    /// The last slice of a frame whose tail is in clear.
    pub fn last_slice(&mut self, frame: &PartialFrame) -> Option<FoundSlice> {
        let (offset, data) = frame.runs().pop()?;
        // The slice must end with the frame, and begin before what is known.
        let is_tail = offset > 0 && offset + data.len() == frame.length() && find_start_code(&data, 0).is_none();
        if !is_tail {
            return None;
        }
        if frame.keyframe {
            self.begin_of_intra(data)
        } else {
            self.begin_of_predicted(data)
        }
    }

    /// The begin of data of an I slice, in which each macroblock has codes: few are hidden.
    fn begin_of_intra(&mut self, data: Vec<u8>) -> Option<FoundSlice> {
        // The fewer are hidden, the more of the picture there is.
        for first_mb in 0..HIDDEN_INTRA.min(self.total()) {
            for from in 0..REACH_INTRA.min(data.len() * 8) {
                let parsed = self.parse(&data, from, SliceKind::I, first_mb);
                if parsed.is_some_and(|macroblocks| first_mb + macroblocks == self.total()) {
                    return Some(self.found(data, from, first_mb));
                }
            }
        }
        None
    }

    /// The begin of data of a P slice. Many of its macroblocks are skipped, so any number may be hidden; how many
    /// follow tells which is the first, and a parse has to know its column alone.
    fn begin_of_predicted(&mut self, data: Vec<u8>) -> Option<FoundSlice> {
        let mut fitting = Vec::new();
        let mut boundaries: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        for from in 0..REACH_PREDICTED.min(data.len() * 8) {
            let Some(first_mb) = self.fitting_predicted(&data, from) else {
                continue;
            };
            fitting.push((first_mb, from));
            *boundaries.entry((from, first_mb)).or_default() += 1;
            let coded = self
                .macroblocks
                .iter()
                .filter(|one| one.kind != MacroblockKind::Skipped);
            for one in coded {
                *boundaries.entry((one.end_bit, one.address + 1)).or_default() += 1;
            }
        }
        let (first_mb, from) = match self.decoder {
            Decoder::Concealing => fitting.into_iter().min()?,
            Decoder::Strict => {
                let shared = boundaries
                    .into_iter()
                    .filter(|&(_, count)| count * SHARED >= fitting.len());
                let mut begins = shared.map(|((from, first_mb), _)| (first_mb, from));
                begins.find(|&(first_mb, from)| self.ends_the_picture(&data, from, first_mb))?
            }
        };
        self.ends_the_picture(&data, from, first_mb)
            .then(|| self.found(data, from, first_mb))
    }

    /// True if the data from this bit on has all macroblocks from that one to the picture's last.
    fn ends_the_picture(&mut self, data: &[u8], from: usize, first_mb: u32) -> bool {
        let parsed = self.parse(data, from, SliceKind::P, first_mb);
        parsed.is_some_and(|number| first_mb + number == self.total())
    }

    /// The first macroblock if the data from this bit on is in step up to the picture's last one.
    fn fitting_predicted(&mut self, data: &[u8], from: usize) -> Option<u32> {
        let (width, total) = (self.sps.width_mbs, self.total());
        (0..width).find_map(|column| {
            let number = self.parse(data, from, SliceKind::P, column)?;
            let first_mb = total.checked_sub(number)?;
            let fits = first_mb % width == column && self.parse(data, from, SliceKind::P, first_mb)? == number;
            fits.then_some(first_mb)
        })
    }

    fn total(&self) -> u32 {
        self.sps.width_mbs * self.sps.height_mbs
    }

    /// The number of macroblocks if the data ends exactly after one.
    fn parse(&mut self, data: &[u8], from: usize, kind: SliceKind, first_mb: u32) -> Option<u32> {
        let context = SliceContext::new(&self.sps, &self.pps, kind, None, first_mb).ok()?;
        let end = self.parser.parse_data(data, from, &context, &mut self.macroblocks);
        (end.is_exact() && end.macroblocks > 0).then_some(end.macroblocks)
    }

    /// Slice that was parsed last.
    fn found(&mut self, data: Vec<u8>, from: usize, first_mb: u32) -> FoundSlice {
        FoundSlice {
            data,
            from,
            first_mb,
            macroblocks: std::mem::take(&mut self.macroblocks),
        }
    }
}
