//! Plans the parts of frames that a publisher encrypts (protocol.md §4, Selection). Whatever it leaves in clear is
//! still authenticated.

use super::annexb::find_start_code;
use super::codec_headers::{self, SLICE_HEAD, is_slice};
use super::h264::{Macroblock, ParameterSets, Refusal, SliceKind, SliceParser};
use super::info::{Codec, StreamInfo};
use super::jpeg_split::NotSplit;
use super::select::{Plan, PlannedRange};
use crate::wire::{Level, MAX_STREAM, Selection};

/// Level 2 encrypts this part of an intra slice, one in so many: a quarter. That is the top of the picture, and what
/// follows can be read only by who finds a macroblock in it, since every code depends on those before it.
const BEGIN_PART: usize = 4;

/// The least that level 2 encrypts of an intra slice, in bytes. A quarter of a short slice would be no more than its
/// header and a few macroblocks.
const BEGIN_LEAST: usize = 512;

/// Slices and images that levels 2 and 3 encrypted whole because their parts could not be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsplit {
    /// Their number.
    pub count: u64,
    /// Reason why the latest could not be split.
    pub reason: UnsplitReason,
}

/// Reason why a slice or an image could not be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsplitReason {
    /// The macroblocks of a slice could not be found.
    #[error("{0}")]
    Slice(#[from] Refusal),
    /// The coefficients of an image could not be found.
    #[error("{0}")]
    Image(#[from] NotSplit),
}

/// Plans frames. It knows the parameter sets of the streams, and keeps its buffers from one frame to the next.
#[derive(Clone, Default)]
pub struct Planner {
    /// For each stream that has parameter sets.
    streams: Vec<(u32, ParameterSets)>,
    parser: SliceParser,
    macroblocks: Vec<Macroblock>,
    unsplit: Option<Unsplit>,
}

impl Planner {
    /// Takes the parameter sets in a stream's description. Those with the same numbers that came before are replaced.
    pub fn describe(&mut self, stream: u32, info: &StreamInfo) {
        if info.codec == Codec::H264
            && let Some(sets) = sets_of(&mut self.streams, stream)
        {
            sets.take_all(&info.parameters);
        }
    }

    /// Plans which bytes of one frame of a stream (1 to 15) are encrypted. Clears `out` and writes the ranges to it, in
    /// order and up to the end of the frame; an empty frame has one empty range. Without a codec no headers can be
    /// found, and a selection by content encrypts the whole frame. For [`Selection::Rate`] the plan only says that
    /// everything may be encrypted: the [`Cutter`](super::Cutter) draws. Takes time in proportion to the length of the
    /// frame, whatever its content, and allocates only while its buffers and `out` grow to the size that the stream's
    /// frames need; `out` to 2048 ranges at most.
    pub fn plan(
        &mut self,
        selection: Selection,
        stream: u32,
        codec: Option<Codec>,
        keyframe: bool,
        data: &[u8],
        out: &mut Vec<PlannedRange>,
    ) {
        let level = match selection {
            Selection::All | Selection::Rate(_) | Selection::Level(Level::All) => return whole(data, true, out),
            Selection::None => return whole(data, false, out),
            Selection::Keyframes => return whole(data, keyframe, out),
            Selection::HeadersAndKeyframes if keyframe => return whole(data, true, out),
            Selection::Headers | Selection::HeadersAndKeyframes => Level::Headers,
            Selection::Level(level) => level,
        };
        let mut plan = Plan::new(data, out);
        match (codec, level) {
            (Some(Codec::H264), Level::Headers) => codec_headers::h264(&mut plan),
            (Some(Codec::H264), _) => self.h264(level, stream, &mut plan),
            (Some(Codec::Mjpeg), Level::Headers) => codec_headers::jpeg(&mut plan),
            // An image comes here only if its coefficients are not told apart.
            // The parts of other codecs are not known.
            (Some(Codec::Mjpeg | Codec::H265 | Codec::Av1) | None, _) => {}
        }
        plan.finish();
    }

    /// The slices and images that were encrypted whole because they could not be split; `None` if there were none.
    pub fn unsplit(&self) -> Option<Unsplit> {
        self.unsplit
    }

    /// Counts one more.
    pub(super) fn note_unsplit(&mut self, reason: impl Into<UnsplitReason>) {
        let count = self.unsplit.map_or(0, |unsplit| unsplit.count).saturating_add(1);
        let reason = reason.into();
        self.unsplit = Some(Unsplit { count, reason });
    }

    /// Plans a frame at level 2 or 3.
    fn h264(&mut self, level: Level, stream: u32, plan: &mut Plan<'_>) {
        let data = plan.data;
        let mut unit = find_start_code(data, 0);
        while let Some(code) = unit {
            let first = code + 3;
            let next = find_start_code(data, first);
            // A start code of four bytes begins one byte earlier.
            let end = next.map_or(data.len(), |next| next - usize::from(data[next - 1] == 0));
            let bytes = &data[first..end.max(first)];
            match bytes.first().map_or(0, |byte| byte & 0x1F) {
                kind if is_slice(kind) => self.slice(level, stream, first, bytes, plan),
                7 | 8 if level == Level::Intra => {
                    if let Some(sets) = sets_of(&mut self.streams, stream) {
                        sets.take(bytes);
                    }
                    plan.encrypt_to(end);
                }
                _ => plan.encrypt_to(end),
            }
            unit = next;
        }
    }

    /// Plans a slice whose NAL unit begins at `first`.
    fn slice(&mut self, level: Level, stream: u32, first: usize, unit: &[u8], plan: &mut Plan<'_>) {
        let end = first + unit.len();
        let head = end.min(first + 1 + SLICE_HEAD);
        let kind = self.parser.kind(unit);
        match kind.filter(|_| level == Level::IntraBegin) {
            Some(kind) if kind.is_intra() => {
                plan.encrypt_to(end.min(first + (unit.len() / BEGIN_PART).max(BEGIN_LEAST)));
                plan.clear_to(end);
                return;
            }
            Some(_) => {
                plan.encrypt_to(head);
                plan.clear_to(end);
                return;
            }
            None => {}
        }
        // Level 3, or a slice of which not even the kind is known.
        if level == Level::Intra && !kind.is_some_and(SliceKind::is_intra) {
            match self.inter_slice(stream, first, unit, plan) {
                Ok(()) => return,
                Err(reason) => self.note_unsplit(reason),
            }
        }
        plan.encrypt_to(end);
    }

    /// Plans a P or B slice at level 3: its header and its intra macroblocks are encrypted.
    fn inter_slice(&mut self, stream: u32, first: usize, unit: &[u8], plan: &mut Plan<'_>) -> Result<(), Refusal> {
        let sets = self.streams.iter().find(|(number, _)| *number == stream);
        let (_, sets) = sets.ok_or(Refusal::NoParameterSets)?;
        let header = self.parser.parse(unit, sets, &mut self.macroblocks)?;
        let head = (1 + SLICE_HEAD).max(header.data_bit.div_ceil(8)).min(unit.len());
        plan.encrypt_to(first + head);
        for macroblock in self.macroblocks.iter().filter(|macroblock| macroblock.kind.is_intra()) {
            plan.clear_to(first + macroblock.first_bit / 8);
            plan.encrypt_to(first + macroblock.end_bit.div_ceil(8));
        }
        plan.clear_to(first + unit.len());
        Ok(())
    }
}

/// One range.
fn whole(data: &[u8], encrypt: bool, out: &mut Vec<PlannedRange>) {
    out.clear();
    out.push(PlannedRange {
        end: data.len(),
        encrypt,
    });
}

/// The parameter sets of a stream; `None` for a number that no stream has.
fn sets_of(streams: &mut Vec<(u32, ParameterSets)>, stream: u32) -> Option<&mut ParameterSets> {
    let known = streams.iter().position(|(number, _)| *number == stream);
    let index = match known {
        Some(index) => index,
        None if (1..=MAX_STREAM).contains(&stream) => {
            streams.push((stream, ParameterSets::default()));
            streams.len() - 1
        }
        None => return None,
    };
    streams.get_mut(index).map(|(_, sets)| sets)
}
