//! H.264 parsing for sources: boundaries of NAL units, contents of parameter sets, and detection of keyframes.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};
use h264_reader::nal::sps::{ChromaFormat, FrameMbsFlags, SeqParameterSet};
use h264_reader::rbsp::{BitRead, BitReader, ByteReader};
use sealcast_proto::unit::{find_start_code, nal_units};

use super::coded::{ASSUMED_RATE, MAX_FRAME_BYTES, MediaError, Result, sane_rate};
use crate::media::{Codec, FrameRate, StreamInfo};

/// The start code before every NAL unit that sealcast writes.
pub const START_CODE: [u8; 4] = [0, 0, 0, 1];

/// Longer parameter sets are ignored: real ones have some dozens of bytes, and the latest one of each number is
/// stored.
const MAX_PARAMETER_SET_BYTES: usize = 1024;

/// NAL unit types (ITU-T H.264, table 7-1).
pub(super) mod nal_type {
    pub(crate) const SLICE: u8 = 1;
    pub(crate) const IDR: u8 = 5;
    pub(crate) const SEI: u8 = 6;
    pub(crate) const SPS: u8 = 7;
    pub(crate) const PPS: u8 = 8;
    pub(crate) const AUD: u8 = 9;
}

/// The type of a NAL unit; 0 for an empty one.
pub(super) fn kind(nal: &[u8]) -> u8 {
    nal.first().map_or(0, |header| header & 0x1f)
}

/// Contents of a sequence parameter set (SPS) that describe the pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Width in pixels, after cropping.
    pub width: u16,
    /// Height in pixels, after cropping.
    pub height: u16,
    /// Frames per second, if stated.
    pub rate: Option<FrameRate>,
    /// True if pictures may be coded as fields.
    pub fields: bool,
    /// Maximum number of pictures that may precede another one in decoding order and follow it in output order.
    pub reorder: usize,
    /// Format of the samples, if the profile allows several.
    pub chroma: Option<Chroma>,
}

/// Format of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chroma {
    /// `chroma_format_idc`: 1 is 4:2:0.
    pub format: u8,
    /// Bits per luma sample.
    pub luma_bits: u8,
    /// Bits per chroma sample.
    pub chroma_bits: u8,
}

/// Parses a sequence parameter set (with its NAL header).
///
/// # Errors
/// A message if it cannot be parsed or its size is implausible.
pub fn read_sps(nal: &[u8]) -> Result<Sequence> {
    let damaged = |what: String| MediaError::Damaged(format!("its sequence parameter set {what}"));
    let bits = BitReader::new(ByteReader::skipping_h264_header(nal));
    let sps = SeqParameterSet::from_bits(bits).map_err(|e| damaged(format!("is wrong: {e:?}")))?;
    let (width, height) = sps
        .pixel_dimensions()
        .map_err(|e| damaged(format!("has no picture size: {e:?}")))?;
    let side = |side: u32| u16::try_from(side).ok().filter(|side| (1..=16_384).contains(side));
    let (Some(width), Some(height)) = (side(width), side(height)) else {
        return Err(damaged(format!("asks for pictures of {width}x{height} pixels")));
    };
    let vui = sps.vui_parameters.as_ref();
    // A tick is the duration of a field, so two ticks make a frame.
    let rate = vui
        .and_then(|vui| vui.timing_info.as_ref())
        .and_then(|timing| sane_rate(timing.time_scale, timing.num_units_in_tick.checked_mul(2)?));
    let fields = sps.frame_mbs_flags != FrameMbsFlags::Frames;
    Ok(Sequence {
        width,
        height,
        rate,
        fields,
        reorder: reorder(&sps),
        chroma: chroma(&sps),
    })
}

fn chroma(sps: &SeqParameterSet) -> Option<Chroma> {
    let info = &sps.chroma_info;
    let format = match info.chroma_format {
        ChromaFormat::Monochrome => 0,
        ChromaFormat::YUV420 => 1,
        ChromaFormat::YUV422 => 2,
        ChromaFormat::YUV444 => 3,
        ChromaFormat::Invalid(_) => return None,
    };
    let bits = |minus8: u8| (minus8 <= 6).then_some(minus8 + 8);
    let (luma, chroma) = (bits(info.bit_depth_luma_minus8)?, bits(info.bit_depth_chroma_minus8)?);
    Some(Chroma {
        format,
        luma_bits: luma,
        chroma_bits: chroma,
    })
}

/// The maximum reordering that the SPS allows. If it does not say, two pictures, which is the default of encoders.
fn reorder(sps: &SeqParameterSet) -> usize {
    const BASELINE: u8 = 66;
    // Pictures that a decoder holds at most (ITU-T H.264, A.3.1).
    const MAX_DPB: u32 = 16;
    let stated = sps
        .vui_parameters
        .as_ref()
        .and_then(|vui| vui.bitstream_restrictions.as_ref());
    match (stated, &sps.pic_order_cnt) {
        (Some(limits), _) => limits.max_num_reorder_frames.min(MAX_DPB) as usize,
        (None, h264_reader::nal::sps::PicOrderCntType::TypeTwo) => 0,
        (None, _) if u8::from(sps.profile_idc) == BASELINE => 0,
        (None, _) => 2,
    }
}

/// The parameter sets of a stream: the latest one of each number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterSets {
    sps: BTreeMap<u32, Bytes>,
    pps: BTreeMap<u32, Bytes>,
}

impl ParameterSets {
    /// Stores `nal` if it is a parameter set; returns true if that changed anything.
    pub fn learn(&mut self, nal: &[u8]) -> bool {
        // The range of SPS and PPS numbers bounds the size of these maps.
        let (sets, skipped_bits, last_number) = match kind(nal) {
            nal_type::SPS => (&mut self.sps, 24, 31),
            nal_type::PPS => (&mut self.pps, 0, 255),
            _ => return false,
        };
        let mut bits = BitReader::new(ByteReader::skipping_h264_header(nal));
        let number = bits
            .skip(skipped_bits, "profile and level")
            .and_then(|()| bits.read_ue("number"));
        let Ok(number) = number else { return false };
        if number > last_number
            || nal.len() > MAX_PARAMETER_SET_BYTES
            || sets.get(&number).is_some_and(|old| old == nal)
        {
            return false;
        }
        sets.insert(number, Bytes::copy_from_slice(nal));
        true
    }

    /// The sequence parameter sets, without start codes.
    pub fn sps(&self) -> impl Iterator<Item = &Bytes> {
        self.sps.values()
    }

    /// The picture parameter sets, without start codes.
    pub fn pps(&self) -> impl Iterator<Item = &Bytes> {
        self.pps.values()
    }

    /// True if a decoder could start with them.
    pub fn is_complete(&self) -> bool {
        !self.sps.is_empty() && !self.pps.is_empty()
    }

    /// All parameter sets in Annex B.
    pub fn to_annex_b(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for nal in self.sps().chain(self.pps()) {
            out.extend_from_slice(&START_CODE);
            out.extend_from_slice(nal);
        }
        out
    }
}

/// Converts the access units of one stream to self-contained frames: detects keyframes, and adds the parameter sets
/// to those that lack them.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    sets: ParameterSets,
    sequence: Option<Sequence>,
}

impl Stream {
    /// Stores a parameter set that arrived outside the stream or in it.
    ///
    /// # Errors
    /// It is a sequence parameter set that cannot be used.
    pub fn learn(&mut self, nal: &[u8]) -> Result<()> {
        if self.sets.learn(nal) && kind(nal) == nal_type::SPS {
            self.sequence = Some(read_sps(nal)?);
        }
        Ok(())
    }

    /// Contents of the latest sequence parameter set.
    pub fn sequence(&self) -> Option<Sequence> {
        self.sequence
    }

    /// True if a decoder could start at a keyframe now.
    pub fn is_decodable(&self) -> bool {
        self.sequence.is_some() && self.sets.is_complete()
    }

    /// Description of the stream; `rate` overrides the rate that the stream states.
    pub fn info(&self, rate: Option<FrameRate>) -> StreamInfo {
        let (width, height) = self
            .sequence
            .map_or((0, 0), |sequence| (sequence.width, sequence.height));
        let rate = rate
            .or(self.sequence.and_then(|sequence| sequence.rate))
            .unwrap_or(ASSUMED_RATE);
        StreamInfo {
            codec: Codec::H264,
            width,
            height,
            rate,
            parameters: self.sets.to_annex_b(),
        }
    }

    /// Inspects an access unit in Annex B; returns the frame to deliver, and true if it is a keyframe. `sync` is true
    /// if the container marks it as one.
    ///
    /// # Errors
    /// A parameter set in it cannot be used, or the frame is too large.
    pub fn finish(&mut self, unit: Bytes, sync: bool) -> Result<(Bytes, bool)> {
        let (mut keyframe, mut intra, mut has_sps, mut has_pps) = (false, sync, false, false);
        for nal in nal_units(&unit) {
            match kind(nal) {
                nal_type::IDR => keyframe = true,
                nal_type::SLICE => intra = intra && is_intra_slice(nal),
                nal_type::SEI => keyframe |= is_exact_recovery_point(nal),
                nal_type::SPS => has_sps = true,
                nal_type::PPS => has_pps = true,
                _ => {}
            }
            self.learn(nal)?;
        }
        // Trust the container's mark only if the slices do not contradict it: some containers mark every frame.
        keyframe |= intra;
        let unit = if keyframe && !(has_sps && has_pps) {
            self.with_sets(&unit, has_sps, has_pps)
        } else {
            unit
        };
        if unit.len() > MAX_FRAME_BYTES {
            return Err(too_large(unit.len()));
        }
        Ok((unit, keyframe))
    }

    /// The access unit with the missing parameter sets inserted, after the access unit delimiter, which must stay
    /// first. All other bytes are unchanged.
    fn with_sets(&self, unit: &[u8], has_sps: bool, has_pps: bool) -> Bytes {
        let sets = self
            .sets
            .sps()
            .filter(|_| !has_sps)
            .chain(self.sets.pps().filter(|_| !has_pps));
        let split = match nal_units(unit).next() {
            // A PPS must follow its SPS, so insert it after all units before the first slice.
            _ if has_sps => first_slice(unit),
            Some(nal) if kind(nal) == nal_type::AUD => {
                let begin = find_start_code(unit, 0).unwrap_or(0) + 3;
                start_code_begin(unit, find_start_code(unit, begin).unwrap_or(unit.len()))
            }
            _ => 0,
        };
        let mut out = BytesMut::with_capacity(unit.len() + 256);
        out.put_slice(&unit[..split]);
        for nal in sets {
            out.put_slice(&START_CODE);
            out.put_slice(nal);
        }
        out.put_slice(&unit[split..]);
        out.freeze()
    }
}

/// The error for a frame that does not fit into a record.
pub(super) fn too_large(bytes: usize) -> MediaError {
    MediaError::Damaged(format!(
        "a frame of {bytes} bytes is larger than the limit of {MAX_FRAME_BYTES}"
    ))
}

/// Position of the start code of the first slice.
fn first_slice(unit: &[u8]) -> usize {
    let mut from = 0;
    while let Some(at) = find_start_code(unit, from) {
        if unit
            .get(at + 3)
            .is_some_and(|header| (nal_type::SLICE..=nal_type::IDR).contains(&(header & 0x1f)))
        {
            return start_code_begin(unit, at);
        }
        from = at + 3;
    }
    unit.len()
}

/// Start of the start code at `at`: a start code of four bytes begins one byte before `00 00 01`.
pub(super) fn start_code_begin(data: &[u8], at: usize) -> usize {
    if at > 0 && data.get(at - 1) == Some(&0) {
        at - 1
    } else {
        at
    }
}

/// True if a SEI unit begins with a recovery point after which every picture is correct at once: this is how encoders
/// mark the keyframe of an open group of pictures.
fn is_exact_recovery_point(nal: &[u8]) -> bool {
    const RECOVERY_POINT: u8 = 6;
    // Payload type, payload size, then recovery_frame_cnt as ue(v), where a leading 1 bit means zero.
    matches!(nal, [_, RECOVERY_POINT, size, first, ..] if *size > 0 && *size < 255 && first & 0x80 != 0)
}

/// True if a slice is intra-predicted only (slice types I and SI).
fn is_intra_slice(nal: &[u8]) -> bool {
    let mut bits = BitReader::new(ByteReader::skipping_h264_header(nal));
    let slice_type = bits
        .read_ue("first_mb_in_slice")
        .and_then(|_| bits.read_ue("slice_type"));
    slice_type.is_ok_and(|slice_type| matches!(slice_type % 5, 2 | 4))
}

#[cfg(test)]
#[path = "h264_tests.rs"]
mod tests;
