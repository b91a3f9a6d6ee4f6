//! H.265 parsing for sources and sinks: contents of parameter sets, and detection of keyframes.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use bytes::{BufMut, Bytes, BytesMut};
use h264_reader::rbsp::{BitRead, BitReader, BitReaderError, ByteReader};
use sealcast_proto::unit::{find_start_code, nal_units};

use super::coded::{ASSUMED_RATE, MAX_FRAME_BYTES, MediaError, Result};
use super::h264::{START_CODE, start_code_begin, too_large};
use super::h265_timing::rate_behind;
use crate::media::{Codec, FrameRate, StreamInfo};

/// Longer parameter sets are ignored: real ones have some dozens of bytes, and the latest one of each number is stored.
const MAX_PARAMETER_SET_BYTES: usize = 1024;

/// Length of a NAL unit's header in bytes.
const HEADER_BYTES: NonZeroUsize = NonZeroUsize::new(2).expect("not 0");

/// Bits of the general part of a profile, tier and level.
const PROFILE_BITS: u32 = 88;

/// Pictures that a decoder holds at most (ITU-T H.265, A.4.2).
const MAX_DPB: u32 = 16;

/// NAL unit types (ITU-T H.265, table 7-1).
pub(super) mod nal_type {
    /// Pictures at which decoding can begin (IRAP).
    pub(crate) const KEYFRAMES: std::ops::RangeInclusive<u8> = 16..=21;
    /// Segments of slices have types below this.
    pub(crate) const SLICES_END: u8 = 32;
    pub(crate) const VPS: u8 = 32;
    pub(crate) const SPS: u8 = 33;
    pub(crate) const PPS: u8 = 34;
    pub(crate) const AUD: u8 = 35;
}

/// Types of the parameter sets: VPS, SPS and PPS.
pub const PARAMETER_SETS: [u8; 3] = [nal_type::VPS, nal_type::SPS, nal_type::PPS];

/// The type of a NAL unit; `None` for one that is too short to have one, and for one of another layer.
pub(super) fn kind(nal: &[u8]) -> Option<u8> {
    match nal {
        [first, second, ..] if first & 0x81 == 0 && second & 0xf8 == 0 => Some(first >> 1),
        _ => None,
    }
}

/// True if a unit of this type, following a slice, belongs to the next picture (ITU-T H.265, 7.4.2.4.4).
pub(super) fn opens_a_unit(kind: u8) -> bool {
    matches!(kind, 32..=35 | 39 | 41..=44 | 48..=55)
}

/// Contents of a sequence parameter set (SPS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    /// Width in pixels, after cropping.
    pub width: u16,
    /// Height in pixels, after cropping.
    pub height: u16,
    /// Frames per second, if stated.
    pub rate: Option<FrameRate>,
    /// Maximum number of pictures that may precede another one in decoding order and follow it in output order.
    pub reorder: usize,
    /// `chroma_format_idc`, 0 to 3: 1 is 4:2:0.
    pub chroma: u8,
    /// Bits per luma sample, 8 to 15.
    pub luma_bits: u8,
    /// Bits per chroma sample, 8 to 15.
    pub chroma_bits: u8,
    /// Number of temporal layers, 1 to 7.
    pub layers: u8,
    /// `sps_temporal_id_nesting_flag`.
    pub nested: bool,
    /// The general profile, tier and level: profile space, tier and number; compatibility; constraints; level.
    pub profile: [u8; 12],
}

/// Parses a sequence parameter set (with its NAL header).
///
/// # Errors
/// A message if it cannot be parsed or its size is implausible.
pub fn read_sps(nal: &[u8]) -> Result<Sequence> {
    let damaged = |what: String| MediaError::Damaged(format!("its sequence parameter set {what}"));
    let (sequence, [width, height]) = read_head(nal).map_err(|e| damaged(format!("is wrong: {e}")))?;
    let side = |side: u32| u16::try_from(side).ok().filter(|side| (1..=16_384).contains(side));
    let (Some(width), Some(height)) = (side(width), side(height)) else {
        return Err(damaged(format!("asks for pictures of {width}x{height} pixels")));
    };
    Ok(Sequence {
        width,
        height,
        rate: rate(nal),
        ..sequence
    })
}

fn invalid(error: &BitReaderError) -> String {
    format!("{error:?}")
}

/// Parses what comes before the tools (ITU-T H.265, 7.3.2.2.1); returns it with the size of the picture.
fn read_head(nal: &[u8]) -> std::result::Result<(Sequence, [u32; 2]), String> {
    let mut bits = BitReader::new(ByteReader::skipping_bytes(nal, HEADER_BYTES));
    let (sub_layers, nested, profile) = read_profile(&mut bits).map_err(|e| invalid(&e))?;
    let fields = read_format(&mut bits).map_err(|e| invalid(&e))?;
    let Format {
        chroma,
        size,
        crop,
        bits: [luma, chroma_bits],
    } = fields;
    let mut reorder = 0;
    let mut read_order = || -> std::result::Result<(), BitReaderError> {
        bits.read_ue("log2_max_pic_order_cnt_lsb_minus4")?;
        let each = bits.read_bool("sps_sub_layer_ordering_info_present_flag")?;
        for _ in 0..=(if each { sub_layers } else { 0 }) {
            bits.read_ue("sps_max_dec_pic_buffering_minus1")?;
            reorder = bits.read_ue("sps_max_num_reorder_pics")?;
            bits.read_ue("sps_max_latency_increase_plus1")?;
        }
        Ok(())
    };
    read_order().map_err(|e| invalid(&e))?;
    if chroma > 3 || luma > 7 || chroma_bits > 7 || reorder > MAX_DPB {
        return Err(format!(
            "chroma format {chroma}, {luma} and {chroma_bits} more than 8 bits, {reorder} reordered"
        ));
    }
    // Cropping is counted in samples of chroma.
    let unit = |subsampled: bool| if subsampled { 2 } else { 1 };
    let units = [unit(matches!(chroma, 1 | 2)), unit(chroma == 1)];
    let cropped = |at: usize| {
        let [begin, end] = crop[at];
        let cut = begin.saturating_add(end).saturating_mul(units[at]);
        size[at].saturating_sub(cut)
    };
    let small = |value: u32| u8::try_from(value).unwrap_or(0);
    let sequence = Sequence {
        width: 0,
        height: 0,
        rate: None,
        reorder: reorder as usize,
        chroma: small(chroma),
        luma_bits: small(luma) + 8,
        chroma_bits: small(chroma_bits) + 8,
        layers: sub_layers + 1,
        nested,
        profile,
    };
    Ok((sequence, [cropped(0), cropped(1)]))
}

/// Reads up to the level; returns the number of sub-layers, whether they nest, and the general profile.
fn read_profile(bits: &mut impl BitRead) -> std::result::Result<(u8, bool, [u8; 12]), BitReaderError> {
    bits.skip(4, "sps_video_parameter_set_id")?;
    let sub_layers = bits.read::<u8>(3, "sps_max_sub_layers_minus1")?;
    let nested = bits.read_bool("sps_temporal_id_nesting_flag")?;
    let mut profile = [0; 12];
    for byte in &mut profile {
        *byte = bits.read::<u8>(8, "profile_tier_level")?;
    }
    let mut present = Vec::new();
    for _ in 0..sub_layers {
        present.push((
            bits.read_bool("sub_layer_profile_present_flag")?,
            bits.read_bool("sub_layer_level_present_flag")?,
        ));
    }
    if sub_layers > 0 {
        for _ in sub_layers..8 {
            bits.skip(2, "reserved_zero_2bits")?;
        }
    }
    for (profile, level) in present {
        bits.skip(if profile { PROFILE_BITS } else { 0 }, "sub_layer_profile")?;
        bits.skip(if level { 8 } else { 0 }, "sub_layer_level_idc")?;
    }
    Ok((sub_layers, nested, profile))
}

/// The format of the pictures.
struct Format {
    chroma: u32,
    /// Width and height before cropping.
    size: [u32; 2],
    /// Crop on the left and right, and at the top and bottom.
    crop: [[u32; 2]; 2],
    /// Bits beyond 8 of luma and chroma.
    bits: [u32; 2],
}

fn read_format(bits: &mut impl BitRead) -> std::result::Result<Format, BitReaderError> {
    bits.read_ue("sps_seq_parameter_set_id")?;
    let chroma = bits.read_ue("chroma_format_idc")?;
    if chroma == 3 {
        bits.skip(1, "separate_colour_plane_flag")?;
    }
    let size = [bits.read_ue("pic_width")?, bits.read_ue("pic_height")?];
    let mut crop = [[0; 2]; 2];
    if bits.read_bool("conformance_window_flag")? {
        for side in crop.as_flattened_mut() {
            *side = bits.read_ue("conf_win_offset")?;
        }
    }
    let depths = [
        bits.read_ue("bit_depth_luma_minus8")?,
        bits.read_ue("bit_depth_chroma_minus8")?,
    ];
    Ok(Format {
        chroma,
        size,
        crop,
        bits: depths,
    })
}

/// The rate in the set's usability information; none if what stands before it cannot be read.
fn rate(nal: &[u8]) -> Option<FrameRate> {
    let mut bits = BitReader::new(ByteReader::skipping_bytes(nal, HEADER_BYTES));
    let (sub_layers, ..) = read_profile(&mut bits).ok()?;
    read_format(&mut bits).ok()?;
    rate_behind(&mut bits, sub_layers)
}

/// The parameter sets of a stream: the latest one of each number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParameterSets {
    vps: BTreeMap<u32, Bytes>,
    sps: BTreeMap<u32, Bytes>,
    pps: BTreeMap<u32, Bytes>,
}

impl ParameterSets {
    /// Stores `nal` if it is a parameter set; returns true if that changed anything.
    pub fn learn(&mut self, nal: &[u8]) -> bool {
        let Some(kind) = kind(nal) else { return false };
        // The range of numbers bounds the size of these maps.
        let (sets, last_number) = match kind {
            nal_type::VPS => (&mut self.vps, 15),
            nal_type::SPS => (&mut self.sps, 15),
            nal_type::PPS => (&mut self.pps, 63),
            _ => return false,
        };
        let Some(number) = number(kind, nal) else { return false };
        if number > last_number
            || nal.len() > MAX_PARAMETER_SET_BYTES
            || sets.get(&number).is_some_and(|old| old == nal)
        {
            return false;
        }
        sets.insert(number, Bytes::copy_from_slice(nal));
        true
    }

    /// The video, sequence and picture parameter sets, without start codes.
    pub fn lists(&self) -> [Vec<Vec<u8>>; 3] {
        [&self.vps, &self.sps, &self.pps].map(|sets| sets.values().map(|nal| nal.to_vec()).collect())
    }

    /// True if a decoder could start with them.
    pub fn is_complete(&self) -> bool {
        !self.vps.is_empty() && !self.sps.is_empty() && !self.pps.is_empty()
    }

    /// All parameter sets in Annex B.
    pub fn to_annex_b(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for nal in [&self.vps, &self.sps, &self.pps].into_iter().flat_map(BTreeMap::values) {
            out.extend_from_slice(&START_CODE);
            out.extend_from_slice(nal);
        }
        out
    }
}

/// The number of a parameter set of this type.
fn number(kind: u8, nal: &[u8]) -> Option<u32> {
    let mut bits = BitReader::new(ByteReader::skipping_bytes(nal, HEADER_BYTES));
    match kind {
        nal_type::VPS => bits.read::<u32>(4, "vps_video_parameter_set_id").ok(),
        nal_type::SPS => {
            read_profile(&mut bits).ok()?;
            bits.read_ue("sps_seq_parameter_set_id").ok()
        }
        _ => bits.read_ue("pps_pic_parameter_set_id").ok(),
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
        if self.sets.learn(nal) && kind(nal) == Some(nal_type::SPS) {
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
        let stated = self.sequence.and_then(|sequence| sequence.rate);
        StreamInfo {
            codec: Codec::H265,
            width,
            height,
            rate: rate.or(stated).unwrap_or(ASSUMED_RATE),
            parameters: self.sets.to_annex_b(),
        }
    }

    /// Inspects an access unit in Annex B; returns the frame to deliver, and true if it is a keyframe.
    ///
    /// # Errors
    /// A parameter set in it cannot be used, or the frame is too large.
    pub fn finish(&mut self, unit: Bytes) -> Result<(Bytes, bool)> {
        let (mut keyframe, mut own) = (false, [false; 3]);
        for nal in nal_units(&unit) {
            match kind(nal) {
                Some(kind) if nal_type::KEYFRAMES.contains(&kind) => keyframe = true,
                Some(kind @ nal_type::VPS..=nal_type::PPS) => own[usize::from(kind - nal_type::VPS)] = true,
                _ => {}
            }
            self.learn(nal)?;
        }
        let unit = match keyframe && own != [true; 3] {
            true => self.with_sets(&unit),
            false => unit,
        };
        if unit.len() > MAX_FRAME_BYTES {
            return Err(too_large(unit.len()));
        }
        Ok((unit, keyframe))
    }

    /// The access unit with all parameter sets before its own, which say the same, and after the access unit delimiter,
    /// which must stay first. All other bytes are unchanged.
    fn with_sets(&self, unit: &[u8]) -> Bytes {
        let split = match nal_units(unit).next() {
            Some(nal) if kind(nal) == Some(nal_type::AUD) => {
                let begin = find_start_code(unit, 0).unwrap_or(0) + 3;
                find_start_code(unit, begin).map_or(unit.len(), |next| start_code_begin(unit, next))
            }
            _ => 0,
        };
        let sets = self.sets.to_annex_b();
        let mut out = BytesMut::with_capacity(unit.len() + sets.len());
        out.put_slice(&unit[..split]);
        out.put_slice(&sets);
        out.put_slice(&unit[split..]);
        out.freeze()
    }
}
