//! Parameter sets: what of them decides how slices are read (ITU-T H.264, clauses 7.3.2.1 and 7.3.2.2).

use super::Refusal;
use super::bits::{BitReader, Rbsp};
use crate::unit::annexb::find_start_code;

/// Largest picture in macroblocks: that of level 6.2 (table A-1, MaxFS).
pub const MAX_MACROBLOCKS: u32 = 139_264;

/// Widest and highest picture in macroblocks: the root of eight times [`MAX_MACROBLOCKS`] (clause A.3.1).
pub const MAX_WIDTH: u32 = 1055;

/// Number of sequence parameter sets that a stream can have.
const MAX_SPS: u32 = 32;

/// Number of picture parameter sets that a stream can have.
const MAX_PPS: u32 = 256;

/// Highest number of reference indices of a list.
pub(super) const MAX_REFERENCES: u32 = 32;

/// A sequence parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sps {
    /// Width in macroblocks of 16 by 16 samples.
    pub width_mbs: u32,
    /// Height of a frame in macroblocks.
    pub height_mbs: u32,
    /// Width of what is shown, in luma samples.
    pub width: u32,
    /// Height of what is shown, in luma samples.
    pub height: u32,
    /// `chroma_format_idc`: 0 for 4:0:0, 1 for 4:2:0, 2 for 4:2:2, 3 for 4:4:4.
    pub chroma_format: u8,
    pub(super) depth_luma: u8,
    pub(super) depth_chroma: u8,
    /// Number of bits of `frame_num`, 4 to 16.
    pub frame_num_bits: u8,
    pub(super) order_count: OrderCount,
    pub(super) frames_only: bool,
    pub(super) adaptive: bool,
    pub(super) direct_8x8: bool,
}

/// Way in which slices tell the order of pictures: `pic_order_cnt_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OrderCount {
    /// Type 0: with this number of bits.
    Bits(u8),
    /// Type 1: with differences.
    Differences,
    /// Type 1 with `delta_pic_order_always_zero_flag`, and type 2: not at all.
    Nothing,
}

/// A picture parameter set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pps {
    /// The sequence parameter set that it refers to.
    pub sps: u8,
    /// True if slices are coded with CABAC.
    pub cabac: bool,
    pub(super) bottom_order: bool,
    pub(super) slice_groups: bool,
    pub(super) references: [u8; 2],
    pub(super) weighted_p: bool,
    pub(super) weighted_b: bool,
    pub(super) qp: i32,
    pub(super) deblocking_control: bool,
    pub(super) redundant: bool,
    pub(super) transform_8x8: bool,
}

/// The parameter sets of a stream, the latest of each number: at most 32 and 256.
#[derive(Clone, Debug, Default)]
pub struct ParameterSets {
    sps: Vec<Option<Sps>>,
    pps: Vec<Option<Pps>>,
    rbsp: Rbsp,
}

impl ParameterSets {
    /// Takes all parameter sets among the NAL units of an Annex B byte stream. One that is damaged is as if missing.
    pub fn take_all(&mut self, data: &[u8]) {
        let mut unit = find_start_code(data, 0);
        while let Some(code) = unit {
            let next = find_start_code(data, code + 3);
            self.take(&data[code + 3..next.unwrap_or(data.len())]);
            unit = next;
        }
    }

    /// Takes a NAL unit, without its start code, if it is a parameter set.
    pub fn take(&mut self, unit: &[u8]) {
        let kind = unit.first().map_or(0, |byte| byte & 0x1F);
        if !matches!(kind, 7 | 8) || self.rbsp.load(unit).is_err() {
            return;
        }
        let mut bits = self.rbsp.reader(8);
        if kind == 7 {
            bits.skip(24);
            if let Ok(id) = bits.ue_to(MAX_SPS - 1) {
                set(&mut self.sps, id, parse_sps(self.rbsp.reader(8)).ok());
            }
        } else if let Ok(id) = bits.ue_to(MAX_PPS - 1) {
            set(&mut self.pps, id, parse_pps(bits).ok());
        }
    }

    /// The sequence parameter set with this number.
    pub fn sps(&self, id: u8) -> Option<&Sps> {
        self.sps.get(usize::from(id)).and_then(Option::as_ref)
    }

    /// True if a sequence of them may code the two fields of a frame as two pictures.
    pub(crate) fn may_have_fields(&self) -> bool {
        self.sps.iter().flatten().any(|sps| !sps.frames_only)
    }

    /// The picture parameter set with this number.
    pub fn pps(&self, id: u8) -> Option<&Pps> {
        self.pps.get(usize::from(id)).and_then(Option::as_ref)
    }
}

fn set<T: Clone>(sets: &mut Vec<Option<T>>, id: u32, value: Option<T>) {
    let id = id as usize;
    if sets.len() <= id {
        sets.resize(id + 1, None);
    }
    sets[id] = value;
}

/// Profiles whose parameter sets name a chroma format (clause 7.3.2.1.1).
fn names_format(profile: u32) -> bool {
    matches!(
        profile,
        100 | 110 | 122 | 244 | 44 | 83 | 86 | 118 | 128 | 138 | 139 | 134 | 135
    )
}

/// Parses from the profile on.
fn parse_sps(mut bits: BitReader<'_>) -> Result<Sps, Refusal> {
    let profile = bits.read(8);
    bits.skip(16);
    bits.ue_to(MAX_SPS - 1)?;
    let (mut chroma_format, mut depth_luma, mut depth_chroma) = (1, 8, 8);
    if names_format(profile) {
        chroma_format = bits.ue_to(3)?;
        if chroma_format == 3 {
            bits.skip(1);
        }
        depth_luma = 8 + bits.ue_to(6)?;
        depth_chroma = 8 + bits.ue_to(6)?;
        bits.skip(1);
        if bits.flag() {
            skip_scaling(&mut bits, if chroma_format == 3 { 12 } else { 8 })?;
        }
    }
    let frame_num_bits = 4 + bits.ue_to(12)?;
    let order_count = parse_order_count(&mut bits)?;
    bits.ue_to(MAX_REFERENCES)?;
    bits.skip(1);
    let width_mbs = 1 + bits.ue_to(MAX_WIDTH - 1)?;
    let map_units = 1 + bits.ue_to(MAX_WIDTH - 1)?;
    let frames_only = bits.flag();
    let height_mbs = map_units * if frames_only { 1 } else { 2 };
    let adaptive = !frames_only && bits.flag();
    let direct_8x8 = bits.flag();
    let mut crop = [0; 4];
    if bits.flag() {
        for side in &mut crop {
            *side = bits.ue_to(16 * MAX_WIDTH)?;
        }
    }
    bits.check()?;
    if width_mbs * height_mbs > MAX_MACROBLOCKS {
        return Err(Refusal::TooLarge);
    }
    let unit_x = if matches!(chroma_format, 1 | 2) { 2 } else { 1 };
    let unit_y = if chroma_format == 1 { 2 } else { 1 } * if frames_only { 1 } else { 2 };
    Ok(Sps {
        width_mbs,
        height_mbs,
        width: (16 * width_mbs).saturating_sub(unit_x * (crop[0] + crop[1])),
        height: (16 * height_mbs).saturating_sub(unit_y * (crop[2] + crop[3])),
        chroma_format: chroma_format as u8,
        depth_luma: depth_luma as u8,
        depth_chroma: depth_chroma as u8,
        frame_num_bits: frame_num_bits as u8,
        order_count,
        frames_only,
        adaptive,
        direct_8x8,
    })
}

/// Passes over scaling lists (clause 7.3.2.1.1.1).
fn skip_scaling(bits: &mut BitReader<'_>, lists: usize) -> Result<(), Refusal> {
    for list in 0..lists {
        if !bits.flag() {
            continue;
        }
        let (mut last, mut next) = (8, 8);
        for _ in 0..if list < 6 { 16 } else { 64 } {
            if next != 0 {
                next = (last + bits.se()?.rem_euclid(256)) % 256;
            }
            if next != 0 {
                last = next;
            }
        }
    }
    Ok(())
}

fn parse_order_count(bits: &mut BitReader<'_>) -> Result<OrderCount, Refusal> {
    match bits.ue_to(2)? {
        0 => Ok(OrderCount::Bits(4 + bits.ue_to(12)? as u8)),
        1 => {
            let nothing = bits.flag();
            bits.se()?;
            bits.se()?;
            for _ in 0..bits.ue_to(255)? {
                bits.se()?;
            }
            Ok(if nothing {
                OrderCount::Nothing
            } else {
                OrderCount::Differences
            })
        }
        _ => Ok(OrderCount::Nothing),
    }
}

/// Parses from behind the set's own number.
fn parse_pps(mut bits: BitReader<'_>) -> Result<Pps, Refusal> {
    let sps = bits.ue_to(MAX_SPS - 1)? as u8;
    let cabac = bits.flag();
    let bottom_order = bits.flag();
    let mut pps = Pps {
        sps,
        cabac,
        bottom_order,
        slice_groups: bits.ue()? > 0,
        references: [1; 2],
        weighted_p: false,
        weighted_b: false,
        qp: 26,
        deblocking_control: false,
        redundant: false,
        transform_8x8: false,
    };
    if pps.slice_groups {
        // Its slices are refused, so the rest does not matter.
        return Ok(pps);
    }
    pps.references = [
        1 + bits.ue_to(MAX_REFERENCES - 1)? as u8,
        1 + bits.ue_to(MAX_REFERENCES - 1)? as u8,
    ];
    pps.weighted_p = bits.flag();
    pps.weighted_b = bits.read(2) == 1;
    pps.qp = 26 + qp_change(bits.se()?)?;
    qp_change(bits.se()?)?;
    qp_change(bits.se()?)?;
    pps.deblocking_control = bits.flag();
    bits.skip(1);
    pps.redundant = bits.flag();
    bits.check()?;
    pps.transform_8x8 = bits.has_more() && bits.flag();
    Ok(pps)
}

/// Checks a change of the quantiser; with 14 bits per sample it is -87 to 87.
pub(super) fn qp_change(change: i32) -> Result<i32, Refusal> {
    if (-87..=87).contains(&change) {
        Ok(change)
    } else {
        Err(Refusal::Broken)
    }
}
