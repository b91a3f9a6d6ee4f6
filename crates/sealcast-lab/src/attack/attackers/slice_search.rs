//! Finds where macroblocks begin in slice data whose beginning, with its header, is encrypted.
//!
//! A parse from a wrong bit fails soon, or falls into step with the codes. One that ends exactly with the data, at the
//! picture's last macroblock, was in step at least there, and all macroblocks after that are in their places.

use sealcast::eavesdrop::PartialFrame;
use sealcast_proto::unit::find_start_code;
use sealcast_proto::unit::h264::{Macroblock, ParameterSets, Pps, SliceContext, SliceKind, SliceParser, Sps};

use super::h264_writer::parameter_sets;

/// How far into the clear data the first macroblock boundary is looked for, in bits, in I slices and others.
const REACH: [usize; 2] = [1024, 192];
/// How many macroblocks may be hidden before it, in I slices and others.
const HIDDEN: [u32; 2] = [16, 120];

/// Slice data that was found to be in step.
pub(super) struct Found {
    /// The data, from the first clear byte on.
    pub(super) data: Vec<u8>,
    /// The bit of it at which the first macroblock begins.
    pub(super) from: usize,
    pub(super) first_mb: u32,
    pub(super) macroblocks: Vec<Macroblock>,
}

/// Searches in pictures of one size.
pub(super) struct SliceSearch {
    parser: SliceParser,
    sps: Sps,
    pps: Pps,
}

impl SliceSearch {
    /// None if no picture is that large.
    pub(super) fn new(width: usize, height: usize) -> Option<Self> {
        let mbs = |side: usize| u32::try_from(side.div_ceil(16)).ok();
        let mut sets = ParameterSets::default();
        sets.take_all(&parameter_sets(mbs(width)?, mbs(height)?));
        let pps = *sets.pps(0)?;
        let sps = *sets.sps(pps.sps)?;
        Some(Self {
            parser: SliceParser::default(),
            sps,
            pps,
        })
    }

    pub(super) fn size_mbs(&self) -> (u32, u32) {
        (self.sps.width_mbs, self.sps.height_mbs)
    }

    /// The last slice of a frame whose tail is in clear, with the most macroblocks that fit.
    pub(super) fn last_slice(&mut self, frame: &PartialFrame) -> Option<Found> {
        let (offset, data) = frame.runs().pop()?;
        // The slice must end with the frame, and begin before what is known.
        let hidden = offset > 0 && offset + data.len() == frame.length() && find_start_code(&data, 0).is_none();
        if !hidden {
            return None;
        }
        let kind = if frame.keyframe { SliceKind::I } else { SliceKind::P };
        let index = usize::from(!frame.keyframe);
        let total = self.sps.width_mbs * self.sps.height_mbs;
        let mut best: Option<Found> = None;
        let mut macroblocks = Vec::new();
        for first_mb in 0..HIDDEN[index].min(total) {
            let context = SliceContext::new(&self.sps, &self.pps, kind, None, first_mb).ok()?;
            for from in 0..REACH[index].min(data.len() * 8) {
                let end = self.parser.parse_data(&data, from, &context, &mut macroblocks);
                let fits = end.is_exact() && first_mb + end.macroblocks == total;
                if fits {
                    best = Some(Found {
                        data: data.clone(),
                        from,
                        first_mb,
                        macroblocks: std::mem::take(&mut macroblocks),
                    });
                    break;
                }
            }
            // The fewer are hidden, the more of the picture there is.
            if best.is_some() {
                break;
            }
        }
        best
    }
}
