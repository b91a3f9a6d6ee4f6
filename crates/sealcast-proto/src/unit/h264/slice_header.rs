//! Slice headers (ITU-T H.264, clause 7.3.3).

use super::Refusal;
use super::bits::{BitReader, Rbsp};
use super::parameter_sets::{MAX_MACROBLOCKS, MAX_REFERENCES, OrderCount, ParameterSets, Pps, Sps, qp_change};

/// Longest list of commands in a header: one for each of 32 references, in both fields, and the end.
const MAX_COMMANDS: usize = 66;

/// Kind of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SliceKind {
    /// All its macroblocks are intra.
    I,
    /// Its macroblocks may be predicted from one picture.
    P,
    /// Its macroblocks may be predicted from two pictures.
    B,
    /// A switching slice, of intra macroblocks.
    Si,
    /// A switching slice.
    Sp,
}

impl SliceKind {
    /// By `slice_type` (table 7-6).
    fn of(number: u32) -> Self {
        match number % 5 {
            0 => Self::P,
            1 => Self::B,
            2 => Self::I,
            3 => Self::Sp,
            _ => Self::Si,
        }
    }

    /// True if all its macroblocks are intra.
    pub fn is_intra(self) -> bool {
        matches!(self, Self::I | Self::Si)
    }
}

/// Context for parsing the data of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceContext {
    pub(super) kind: SliceKind,
    /// Number of active reference indices of both lists.
    pub(super) references: [u8; 2],
    pub(super) first_mb: u32,
    pub(super) width_mbs: u32,
    pub(super) macroblocks: u32,
    pub(super) monochrome: bool,
    pub(super) transform_8x8: bool,
    pub(super) direct_8x8: bool,
    /// Number of bits of an uncompressed macroblock.
    pub(super) pcm_bits: usize,
}

impl SliceContext {
    /// A slice of this kind that begins with macroblock `first_mb`. `references` are the numbers of active reference
    /// indices of both lists, 1 to 32; if none, those of the parameter set.
    ///
    /// # Errors
    /// The [`Refusal`] of what these parameter sets announce; [`Refusal::Broken`] for a macroblock outside the picture.
    pub fn new(
        sps: &Sps,
        pps: &Pps,
        kind: SliceKind,
        references: Option<[u8; 2]>,
        first_mb: u32,
    ) -> Result<Self, Refusal> {
        if pps.cabac {
            return Err(Refusal::Cabac);
        }
        if pps.slice_groups {
            return Err(Refusal::SliceGroups);
        }
        if sps.adaptive {
            return Err(Refusal::Interlaced);
        }
        if sps.chroma_format > 1 {
            return Err(Refusal::ChromaFormat);
        }
        if matches!(kind, SliceKind::Sp | SliceKind::Si) {
            return Err(Refusal::Switching);
        }
        let references = references.unwrap_or(pps.references);
        let macroblocks = sps.width_mbs * sps.height_mbs;
        let permitted = 1..=MAX_REFERENCES as u8;
        if first_mb >= macroblocks || !references.iter().all(|number| permitted.contains(number)) {
            return Err(Refusal::Broken);
        }
        let monochrome = sps.chroma_format == 0;
        let chroma_bits = if monochrome {
            0
        } else {
            128 * usize::from(sps.depth_chroma)
        };
        Ok(Self {
            kind,
            references,
            first_mb,
            width_mbs: sps.width_mbs,
            macroblocks,
            monochrome,
            transform_8x8: pps.transform_8x8,
            direct_8x8: sps.direct_8x8,
            pcm_bits: 256 * usize::from(sps.depth_luma) + chroma_bits,
        })
    }
}

/// A slice header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceHeader {
    /// Kind of the slice.
    pub kind: SliceKind,
    /// Address of its first macroblock.
    pub first_mb: u32,
    /// Number of the picture parameter set.
    pub pps: u8,
    /// Number of the sequence parameter set.
    pub sps: u8,
    /// `frame_num`.
    pub frame_num: u32,
    /// True if the picture is an IDR picture.
    pub idr: bool,
    /// True if other pictures may refer to it.
    pub reference: bool,
    /// Quantiser of the first macroblock.
    pub qp: i32,
    /// The first bit of the slice's data, counted from the NAL unit's first byte, emulation prevention included.
    pub data_bit: usize,
    /// Context for parsing the data.
    pub context: SliceContext,
}

/// The kind of a slice NAL unit by its first bytes, without parameter sets; `None` for what is no slice header.
pub fn slice_kind(unit: &[u8]) -> Option<SliceKind> {
    // The two first fields have at most 35 + 7 bits, and emulation prevention bytes between them.
    let mut rbsp = Rbsp::default();
    kind_in(&mut rbsp, unit)
}

/// Number of bytes at the begin of a unit that hold the first two fields of a slice header.
const KIND_BYTES: usize = 16;

/// As [`slice_kind`], with a buffer.
pub(in crate::unit) fn kind_in(rbsp: &mut Rbsp, unit: &[u8]) -> Option<SliceKind> {
    rbsp.load(&unit[..unit.len().min(KIND_BYTES)]).ok()?;
    let mut bits = rbsp.reader(8);
    bits.ue_to(MAX_MACROBLOCKS - 1).ok()?;
    let kind = SliceKind::of(bits.ue_to(9).ok()?);
    bits.check().ok().map(|()| kind)
}

/// Parses the header of a slice whose NAL unit is in `rbsp`. Returns it with the first bit of the data in the payload.
pub(super) fn parse(rbsp: &Rbsp, first: u8, sets: &ParameterSets) -> Result<(SliceHeader, usize), Refusal> {
    let (unit_type, reference) = (first & 0x1F, first & 0x60 != 0);
    if !matches!(unit_type, 1 | 5) {
        return Err(Refusal::UnitType);
    }
    let idr = unit_type == 5;
    let mut bits = rbsp.reader(8);
    let bits = &mut bits;
    let first_mb = bits.ue_to(MAX_MACROBLOCKS - 1)?;
    let kind = SliceKind::of(bits.ue_to(9)?);
    let pps_id = bits.ue_to(255)? as u8;
    let pps = sets.pps(pps_id).ok_or(Refusal::NoParameterSets)?;
    let sps = sets.sps(pps.sps).ok_or(Refusal::NoParameterSets)?;
    // Refuses what the rest of the header would need.
    let mut context = SliceContext::new(sps, pps, kind, None, first_mb)?;
    let frame_num = bits.read(sps.frame_num_bits.into());
    if !sps.frames_only && bits.flag() {
        return Err(Refusal::Interlaced);
    }
    if idr {
        bits.ue()?;
    }
    skip_order(bits, sps, pps)?;
    if pps.redundant {
        bits.ue_to(127)?;
    }
    if kind == SliceKind::B {
        bits.skip(1);
    }
    references(bits, &mut context)?;
    let weighted = match kind {
        SliceKind::P => pps.weighted_p,
        SliceKind::B => pps.weighted_b,
        _ => false,
    };
    if weighted {
        weights(bits, &context)?;
    }
    if reference {
        marking(bits, idr)?;
    }
    let qp = pps.qp + qp_change(bits.se()?)?;
    if pps.deblocking_control && bits.ue_to(2)? != 1 {
        bits.se()?;
        bits.se()?;
    }
    bits.check()?;
    let header = SliceHeader {
        kind,
        first_mb,
        pps: pps_id,
        sps: pps.sps,
        frame_num,
        idr,
        reference,
        qp,
        data_bit: rbsp.places().of(bits.at()),
        context,
    };
    Ok((header, bits.at()))
}

/// Passes over the fields that tell the order of pictures.
fn skip_order(bits: &mut BitReader<'_>, sps: &Sps, pps: &Pps) -> Result<(), Refusal> {
    match sps.order_count {
        OrderCount::Bits(count) => {
            bits.skip(count.into());
            if pps.bottom_order {
                bits.se()?;
            }
        }
        OrderCount::Differences => {
            bits.se()?;
            if pps.bottom_order {
                bits.se()?;
            }
        }
        OrderCount::Nothing => {}
    }
    Ok(())
}

/// The number of active references and the modification of their lists (clause 7.3.3.1).
fn references(bits: &mut BitReader<'_>, context: &mut SliceContext) -> Result<(), Refusal> {
    let lists = match context.kind {
        SliceKind::P => 1,
        SliceKind::B => 2,
        _ => return Ok(()),
    };
    if bits.flag() {
        for number in &mut context.references[..lists] {
            *number = 1 + bits.ue_to(MAX_REFERENCES - 1)? as u8;
        }
    }
    for _ in 0..lists {
        if !bits.flag() {
            continue;
        }
        commands(bits, |bits, command| match command {
            3 => Ok(false),
            0..=2 => bits.ue().map(|_| true),
            _ => Err(Refusal::Broken),
        })?;
    }
    Ok(())
}

/// Reads commands until one is the last.
fn commands(
    bits: &mut BitReader<'_>,
    mut one: impl FnMut(&mut BitReader<'_>, u32) -> Result<bool, Refusal>,
) -> Result<(), Refusal> {
    for _ in 0..MAX_COMMANDS {
        let command = bits.ue()?;
        if !one(bits, command)? {
            return Ok(());
        }
    }
    Err(Refusal::Broken)
}

/// The prediction weight table (clause 7.3.3.2).
fn weights(bits: &mut BitReader<'_>, context: &SliceContext) -> Result<(), Refusal> {
    bits.ue_to(7)?;
    if !context.monochrome {
        bits.ue_to(7)?;
    }
    let lists = if context.kind == SliceKind::B { 2 } else { 1 };
    for number in &context.references[..lists] {
        for _ in 0..*number {
            let luma = if bits.flag() { 2 } else { 0 };
            for _ in 0..luma {
                bits.se()?;
            }
            let chroma = if !context.monochrome && bits.flag() { 4 } else { 0 };
            for _ in 0..chroma {
                bits.se()?;
            }
        }
    }
    Ok(())
}

/// The marking of references (clause 7.3.3.3).
fn marking(bits: &mut BitReader<'_>, idr: bool) -> Result<(), Refusal> {
    if idr {
        bits.skip(2);
        return Ok(());
    }
    if !bits.flag() {
        return Ok(());
    }
    commands(bits, |bits, command| {
        let fields = match command {
            0 => return Ok(false),
            1 | 2 | 4 | 6 => 1,
            3 => 2,
            5 => 0,
            _ => return Err(Refusal::Broken),
        };
        for _ in 0..fields {
            bits.ue()?;
        }
        Ok(true)
    })
}
