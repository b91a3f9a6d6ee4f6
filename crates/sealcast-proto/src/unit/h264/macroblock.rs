//! Passes over macroblocks (ITU-T H.264, clause 7.3.5).

use super::bits::BitReader;
use super::mb_types::{B_PARTS, B_TYPES, DIRECT, GREY_PATTERNS, Inter, Lists, P_PARTS, P_TYPES, PATTERNS};
use super::parameter_sets::qp_change;
use super::slice_header::{SliceContext, SliceKind};
use super::{MacroblockKind, Refusal, cavlc};

/// In place of a number of coefficients: the block is not available, because it is in another slice or outside.
const UNAVAILABLE: u8 = 0xFF;

/// Number of coefficients of every block of an uncompressed macroblock, as its neighbours see it.
const PCM_COUNT: u8 = 16;

/// Numbers of coefficients of the blocks at one edge of a macroblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    luma: [u8; 4],
    chroma: [[u8; 2]; 2],
}

impl Edge {
    pub(super) const UNAVAILABLE: Self = Self::all(UNAVAILABLE);
    pub(super) const EMPTY: Self = Self::all(0);
    const PCM: Self = Self::all(PCM_COUNT);

    const fn all(count: u8) -> Self {
        Self {
            luma: [count; 4],
            chroma: [[count; 2]; 2],
        }
    }
}

/// Data that was found in a macroblock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) kind: MacroblockKind,
    pub(super) luma: u16,
    pub(super) chroma: u16,
    /// The counts that the macroblocks below and to the right need.
    pub(super) bottom: Edge,
    pub(super) right: Edge,
}

/// Which coefficients a macroblock has.
struct Coded {
    kind: MacroblockKind,
    /// A bit for each quarter.
    luma: u8,
    /// 0 for none, 1 for DC, 2 for all.
    chroma: u8,
}

/// Passes over the macroblock layer, given the edges of its neighbours above and to the left.
pub(super) fn pass(
    bits: &mut BitReader<'_>,
    context: &SliceContext,
    above: &Edge,
    left: &Edge,
) -> Result<Found, Refusal> {
    let number = bits.ue_to(48)?;
    let (types, parts): (&[Inter], &[_]) = match context.kind {
        SliceKind::P => (&P_TYPES, &P_PARTS),
        SliceKind::B => (&B_TYPES, &B_PARTS),
        _ => (&[], &[]),
    };
    let coded = match types.get(number as usize) {
        Some(inter) => inter_macroblock(bits, context, *inter, parts)?,
        None => match number - types.len() as u32 {
            0 => intra_blocks(bits, context)?,
            25 => return pcm(bits, context),
            whole @ 1..=24 => intra_whole(bits, context, whole - 1)?,
            _ => return Err(Refusal::Broken),
        },
    };
    let whole = coded.kind == MacroblockKind::Intra16x16;
    if coded.luma == 0 && coded.chroma == 0 && !whole {
        return Ok(Found {
            kind: coded.kind,
            luma: 0,
            chroma: 0,
            bottom: Edge::EMPTY,
            right: Edge::EMPTY,
        });
    }
    qp_change(bits.se()?)?;
    residual(bits, context, &coded, above, left)
}

/// An uncompressed macroblock.
fn pcm(bits: &mut BitReader<'_>, context: &SliceContext) -> Result<Found, Refusal> {
    let alignment = bits.at().wrapping_neg() % 8;
    if bits.read(alignment) != 0 {
        return Err(Refusal::Broken);
    }
    bits.skip(context.pcm_bits);
    Ok(Found {
        kind: MacroblockKind::Pcm,
        luma: 0,
        chroma: 0,
        bottom: Edge::PCM,
        right: Edge::PCM,
    })
}

/// `I_NxN`.
fn intra_blocks(bits: &mut BitReader<'_>, context: &SliceContext) -> Result<Coded, Refusal> {
    let large = context.transform_8x8 && bits.flag();
    for _ in 0..if large { 4 } else { 16 } {
        if !bits.flag() {
            bits.skip(3);
        }
    }
    chroma_mode(bits, context)?;
    let (luma, chroma) = pattern(bits, context, 0)?;
    let kind = if large {
        MacroblockKind::Intra8x8
    } else {
        MacroblockKind::Intra4x4
    };
    Ok(Coded { kind, luma, chroma })
}

/// `I_16x16`: `number` holds prediction mode, chroma and luma (table 7-11).
fn intra_whole(bits: &mut BitReader<'_>, context: &SliceContext, number: u32) -> Result<Coded, Refusal> {
    chroma_mode(bits, context)?;
    let chroma = (number / 4 % 3) as u8;
    if chroma > 0 && context.monochrome {
        return Err(Refusal::Broken);
    }
    Ok(Coded {
        kind: MacroblockKind::Intra16x16,
        luma: if number >= 12 { 15 } else { 0 },
        chroma,
    })
}

fn chroma_mode(bits: &mut BitReader<'_>, context: &SliceContext) -> Result<(), Refusal> {
    if !context.monochrome {
        bits.ue_to(3)?;
    }
    Ok(())
}

/// The coded block pattern: luma and chroma. `column` is 0 for intra, 1 for inter.
fn pattern(bits: &mut BitReader<'_>, context: &SliceContext, column: usize) -> Result<(u8, u8), Refusal> {
    let pattern = if context.monochrome {
        GREY_PATTERNS[column][bits.ue_to(15)? as usize]
    } else {
        PATTERNS[column][bits.ue_to(47)? as usize]
    };
    Ok((pattern % 16, pattern / 16))
}

/// An inter macroblock up to its coded block pattern and transform size.
fn inter_macroblock(
    bits: &mut BitReader<'_>,
    context: &SliceContext,
    inter: Inter,
    parts: &[(Lists, u8)],
) -> Result<Coded, Refusal> {
    let may_be_large = match inter {
        Inter::Direct => context.direct_8x8,
        Inter::One(lists) => {
            prediction(bits, context, &[(lists, 1)], true)?;
            true
        }
        Inter::Two(first, second) => {
            prediction(bits, context, &[(first, 1), (second, 1)], true)?;
            true
        }
        Inter::Four(no_references) => {
            let mut quarters = [(DIRECT, 0); 4];
            for quarter in &mut quarters {
                let number = bits.ue_to(parts.len() as u32 - 1)?;
                *quarter = parts[number as usize];
            }
            prediction(bits, context, &quarters, !no_references)?;
            quarters.iter().all(|(lists, count)| match *lists {
                DIRECT => context.direct_8x8,
                _ => *count == 1,
            })
        }
    };
    let (luma, chroma) = pattern(bits, context, 1)?;
    if luma > 0 && context.transform_8x8 && may_be_large {
        bits.skip(1);
    }
    let kind = MacroblockKind::Inter;
    Ok(Coded { kind, luma, chroma })
}

/// The reference indices and the motion vectors of partitions, each with its lists and number of vectors.
fn prediction(
    bits: &mut BitReader<'_>,
    context: &SliceContext,
    partitions: &[(Lists, u8)],
    references: bool,
) -> Result<(), Refusal> {
    for list in 0..2 {
        let most = u32::from(context.references[list]) - 1;
        if !references || most == 0 {
            continue;
        }
        for _ in partitions.iter().filter(|(lists, _)| lists.has(list)) {
            bits.te(most)?;
        }
    }
    for list in 0..2 {
        for (_, vectors) in partitions.iter().filter(|(lists, _)| lists.has(list)) {
            for _ in 0..2 * vectors {
                bits.se()?;
            }
        }
    }
    Ok(())
}

/// The coefficients. With the large transform, CAVLC codes them as four blocks too.
fn residual(
    bits: &mut BitReader<'_>,
    context: &SliceContext,
    coded: &Coded,
    above: &Edge,
    left: &Edge,
) -> Result<Found, Refusal> {
    let mut grid = Grid::<5, 25>::new(&above.luma, &left.luma);
    let mut luma = 0;
    let mut most = 16;
    if coded.kind == MacroblockKind::Intra16x16 {
        luma += u16::from(cavlc::block(bits, grid.expected(0, 0), 16)?);
        most = 15;
    }
    for quarter in (0..4).filter(|quarter| coded.luma >> quarter & 1 == 1) {
        for block in 0..4 {
            let (x, y) = (quarter % 2 * 2 + block % 2, quarter / 2 * 2 + block / 2);
            let total = cavlc::block(bits, grid.expected(x, y), most)?;
            grid.set(x, y, total);
            luma += u16::from(total);
        }
    }
    let mut found = Found {
        kind: coded.kind,
        luma,
        chroma: 0,
        bottom: Edge::EMPTY,
        right: Edge::EMPTY,
    };
    for index in 0..4 {
        found.bottom.luma[index] = grid.get(index, 3);
        found.right.luma[index] = grid.get(3, index);
    }
    if context.monochrome || coded.chroma == 0 {
        return Ok(found);
    }
    for _ in 0..2 {
        found.chroma += u16::from(cavlc::chroma_dc(bits)?);
    }
    if coded.chroma == 2 {
        for plane in 0..2 {
            let mut grid = Grid::<3, 9>::new(&above.chroma[plane], &left.chroma[plane]);
            for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let total = cavlc::block(bits, grid.expected(x, y), 15)?;
                grid.set(x, y, total);
                found.chroma += u16::from(total);
            }
            found.bottom.chroma[plane] = [grid.get(0, 1), grid.get(1, 1)];
            found.right.chroma[plane] = [grid.get(1, 0), grid.get(1, 1)];
        }
    }
    Ok(found)
}

/// The numbers of coefficients of a macroblock's blocks, with a row above and a column to the left: `SIDE` squared.
struct Grid<const SIDE: usize, const CELLS: usize>([u8; CELLS]);

impl<const SIDE: usize, const CELLS: usize> Grid<SIDE, CELLS> {
    fn new(above: &[u8], left: &[u8]) -> Self {
        let mut cells = [0; CELLS];
        cells[1..SIDE].copy_from_slice(above);
        for (row, count) in left.iter().enumerate() {
            cells[(row + 1) * SIDE] = *count;
        }
        Self(cells)
    }

    fn get(&self, x: usize, y: usize) -> u8 {
        self.0[(y + 1) * SIDE + x + 1]
    }

    fn set(&mut self, x: usize, y: usize, count: u8) {
        self.0[(y + 1) * SIDE + x + 1] = count;
    }

    /// The number of coefficients that a block's neighbours suggest: nC (clause 9.2.1).
    fn expected(&self, x: usize, y: usize) -> u8 {
        let (left, above) = (self.0[(y + 1) * SIDE + x], self.0[y * SIDE + x + 1]);
        match (left, above) {
            (UNAVAILABLE, UNAVAILABLE) => 0,
            (one, UNAVAILABLE) | (UNAVAILABLE, one) => one,
            _ => (left + above).div_ceil(2),
        }
    }
}
