//! Slices: their data from the first macroblock to the last (ITU-T H.264, clause 7.3.4).

use super::bits::{BitReader, Places, Rbsp};
use super::macroblock::{self, Edge};
use super::parameter_sets::ParameterSets;
use super::slice_header::{self, SliceContext, SliceHeader, SliceKind};
use super::{Macroblock, MacroblockKind, Refusal};

/// Parses slices. It keeps its buffers from one to the next.
#[derive(Clone, Debug, Default)]
pub struct SliceParser {
    rbsp: Rbsp,
    /// The lower edges of the last macroblocks, by column.
    above: Vec<Edge>,
}

/// Place up to which the data of a slice was parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataEnd {
    /// Number of macroblocks, skipped ones included.
    pub macroblocks: u32,
    /// The bit after the last of them, counted from the first byte of the data, emulation prevention bytes included.
    pub bit: usize,
    /// None if the data ended exactly at the bit that ends a NAL unit's payload; otherwise why the next macroblock was
    /// not parsed.
    pub refusal: Option<Refusal>,
}

impl DataEnd {
    /// True if the data ended exactly at the bit that ends a NAL unit's payload.
    pub fn is_exact(&self) -> bool {
        self.refusal.is_none()
    }
}

impl SliceParser {
    /// Parses the header of a slice: a NAL unit without its start code.
    ///
    /// # Errors
    /// Why it cannot be parsed.
    pub fn header(&mut self, unit: &[u8], sets: &ParameterSets) -> Result<SliceHeader, Refusal> {
        self.load(unit, sets).map(|(header, _)| header)
    }

    /// Parses a slice: a NAL unit without its start code. Clears `out` and writes the macroblocks to it. It allocates
    /// only while `out` and its own buffers grow to the size that the stream's slices need.
    ///
    /// # Errors
    /// Why it cannot be parsed to its end; `out` then has the macroblocks up to there, which must not be trusted.
    pub fn parse(
        &mut self,
        unit: &[u8],
        sets: &ParameterSets,
        out: &mut Vec<Macroblock>,
    ) -> Result<SliceHeader, Refusal> {
        out.clear();
        let (header, at) = self.load(unit, sets)?;
        match self.data(&header.context, at, out).refusal {
            None => Ok(header),
            Some(refusal) => Err(refusal),
        }
    }

    /// Parses slice data without its header: from bit `from` of `data` on, where a macroblock begins, in P and B slices
    /// with the run of skipped ones before it. Macroblocks before that one count as unavailable, as at the begin of a
    /// slice. Clears `out` and writes the macroblocks to it.
    pub fn parse_data(
        &mut self,
        data: &[u8],
        from: usize,
        context: &SliceContext,
        out: &mut Vec<Macroblock>,
    ) -> DataEnd {
        out.clear();
        let loaded = self.rbsp.load(data);
        if let Some(refusal) = loaded.err().or((from / 8 >= data.len()).then_some(Refusal::Broken)) {
            return DataEnd {
                macroblocks: 0,
                bit: from,
                refusal: Some(refusal),
            };
        }
        let at = self.rbsp.bit_of(from);
        self.data(context, at, out)
    }

    /// The kind of a slice by its first bytes, as [`slice_kind`](super::slice_kind) tells it.
    pub(in crate::unit) fn kind(&mut self, unit: &[u8]) -> Option<SliceKind> {
        slice_header::kind_in(&mut self.rbsp, unit)
    }

    fn load(&mut self, unit: &[u8], sets: &ParameterSets) -> Result<(SliceHeader, usize), Refusal> {
        let first = *unit.first().ok_or(Refusal::Broken)?;
        self.rbsp.load(unit)?;
        slice_header::parse(&self.rbsp, first, sets)
    }

    /// Parses from bit `at` of the payload on.
    fn data(&mut self, context: &SliceContext, at: usize, out: &mut Vec<Macroblock>) -> DataEnd {
        let columns = context.width_mbs as usize;
        if self.above.len() < columns {
            self.above.resize(columns, Edge::EMPTY);
        }
        let mut places = self.rbsp.places();
        let end_bit = places.of(at);
        let mut walk = Walk {
            context,
            bits: self.rbsp.reader(at),
            places,
            above: &mut self.above[..columns],
            left: Edge::UNAVAILABLE,
            address: context.first_mb,
            column: (context.first_mb % context.width_mbs) as usize,
            end_bit,
        };
        let refusal = walk.run(out).err();
        DataEnd {
            macroblocks: walk.address - context.first_mb,
            bit: walk.end_bit,
            refusal,
        }
    }
}

/// A walk over the data of a slice. Its state is that after the last whole macroblock.
struct Walk<'a> {
    context: &'a SliceContext,
    bits: BitReader<'a>,
    places: Places<'a>,
    above: &'a mut [Edge],
    /// The right edge of the last macroblock.
    left: Edge,
    /// Address of the next macroblock, and its column.
    address: u32,
    column: usize,
    /// The bit of the unit after the last macroblock.
    end_bit: usize,
}

impl Walk<'_> {
    /// Walks to the end.
    fn run(&mut self, out: &mut Vec<Macroblock>) -> Result<(), Refusal> {
        loop {
            let mut next = self.bits;
            if self.context.kind != SliceKind::I {
                let count = next.ue_to(self.context.macroblocks - self.address)?;
                next.check()?;
                if count > 0 {
                    self.skip(next, count, out);
                    if !next.has_more() {
                        return Ok(());
                    }
                }
            }
            self.macroblock(next, out)?;
            if !self.bits.has_more() {
                return Ok(());
            }
        }
    }

    /// Passes over a run of skipped macroblocks that ends before `next`.
    fn skip(&mut self, next: BitReader<'_>, count: u32, out: &mut Vec<Macroblock>) {
        self.end_bit = self.places.of(next.at());
        self.bits.skip(next.at() - self.bits.at());
        out.push(Macroblock {
            address: self.address,
            count,
            kind: MacroblockKind::Skipped,
            first_bit: self.end_bit,
            end_bit: self.end_bit,
            bits: 0,
            luma: 0,
            chroma: 0,
        });
        // They have no coefficients.
        let columns = self.above.len();
        let to_end = (count as usize).min(columns - self.column);
        let wrapped = (count as usize - to_end).min(columns);
        self.above[self.column..self.column + to_end].fill(Edge::EMPTY);
        self.above[..wrapped].fill(Edge::EMPTY);
        self.left = Edge::EMPTY;
        self.address += count;
        self.column = (self.address % self.context.width_mbs) as usize;
    }

    /// Passes over a macroblock that begins at `next`.
    fn macroblock(&mut self, mut next: BitReader<'_>, out: &mut Vec<Macroblock>) -> Result<(), Refusal> {
        let context = self.context;
        if self.address >= context.macroblocks {
            return Err(Refusal::Broken);
        }
        let above = if self.address - context.first_mb < context.width_mbs {
            Edge::UNAVAILABLE
        } else {
            self.above[self.column]
        };
        if self.column == 0 {
            self.left = Edge::UNAVAILABLE;
        }
        let begin = next.at();
        let found = macroblock::pass(&mut next, context, &above, &self.left)?;
        next.check()?;
        let first_bit = self.places.of(begin);
        self.end_bit = self.places.of(next.at());
        out.push(Macroblock {
            address: self.address,
            count: 1,
            kind: found.kind,
            first_bit,
            end_bit: self.end_bit,
            bits: (next.at() - begin) as u32,
            luma: found.luma,
            chroma: found.chroma,
        });
        self.bits.skip(next.at() - self.bits.at());
        self.above[self.column] = found.bottom;
        self.left = found.right;
        self.address += 1;
        self.column = if self.column + 1 == self.above.len() {
            0
        } else {
            self.column + 1
        };
        Ok(())
    }
}
