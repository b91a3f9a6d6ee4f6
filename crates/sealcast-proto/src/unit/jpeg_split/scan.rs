//! Statements of the markers before a scan about its blocks, and the walk over their codes.

use super::bits::{Sink, Source};
use super::huffman::Codes;
use super::not_split::NotSplit;
use crate::unit::{JpegPart, JpegWalker};
use crate::wire::Reader;

const SOF0: u8 = 0xC0;
const SOF1: u8 = 0xC1;
const DHT: u8 = 0xC4;
const SOF15: u8 = 0xCF;
const JPG: u8 = 0xC8;
const DAC: u8 = 0xCC;
const SOS: u8 = 0xDA;
const DRI: u8 = 0xDD;

/// Most blocks of a minimum coded unit (B.2.3).
const MAX_BLOCKS: usize = 10;
/// Most components of a scan.
const MAX_COMPONENTS: usize = 4;
/// Most bits after a code: 15 keeps code and bits within 31.
const MAX_SIZE: u8 = 15;

/// A component of the frame.
#[derive(Clone, Copy)]
struct Component {
    id: u8,
    horizontal: u8,
    vertical: u8,
}

/// The tables of a block: indices into DC and AC codes.
#[derive(Clone, Copy)]
struct Block {
    dc: usize,
    ac: usize,
}

/// A scan whose codes can be walked over.
pub(super) struct Scan {
    /// Bytes before its entropy-coded data.
    pub(super) head: usize,
    dc: [Option<Codes>; 4],
    ac: [Option<Codes>; 4],
    size: (u16, u16),
    components: Vec<Component>,
    /// The blocks of a minimum coded unit, in order.
    blocks: Vec<Block>,
    /// Number of minimum coded units.
    units: u64,
    /// Units between restart markers; 0 for none.
    interval: u16,
}

impl Scan {
    /// Reads the headers of an image up to its first scan.
    pub(super) fn parse(image: &[u8]) -> Result<Self, NotSplit> {
        let mut scan = Self {
            head: 0,
            dc: [const { None }; 4],
            ac: [const { None }; 4],
            size: (0, 0),
            components: Vec::new(),
            blocks: Vec::new(),
            units: 0,
            interval: 0,
        };
        let mut walker = JpegWalker::default();
        loop {
            let from = walker.at();
            match walker.next(image)? {
                Some(JpegPart::Begin) if from == 0 => {}
                Some(JpegPart::Segment) if from > 0 => {
                    let segment = &image[from..walker.at()];
                    let fill = segment.iter().take_while(|&&byte| byte == 0xFF).count();
                    scan.segment(segment[fill], segment.get(fill + 3..).unwrap_or_default())?;
                }
                _ => return Err(NotSplit::NoScan),
            }
            if walker.is_in_scan() {
                scan.head = walker.at();
                return Ok(scan);
            }
        }
    }

    fn segment(&mut self, marker: u8, content: &[u8]) -> Result<(), NotSplit> {
        match marker {
            SOF0 | SOF1 => self.frame(content),
            DHT => self.tables(content),
            DAC => Err(NotSplit::Process),
            SOF0..=SOF15 if marker != JPG => Err(NotSplit::Process),
            DRI => {
                self.interval = Reader::new(content).u16()?;
                Ok(())
            }
            SOS => self.scan(content),
            _ => Ok(()),
        }
    }

    fn frame(&mut self, content: &[u8]) -> Result<(), NotSplit> {
        let mut reader = Reader::new(content);
        let precision = reader.u8()?;
        let (height, width) = (reader.u16()?, reader.u16()?);
        let count = usize::from(reader.u8()?);
        if precision != 8 || height == 0 || width == 0 || !self.components.is_empty() {
            return Err(NotSplit::Process);
        }
        if !(1..=MAX_COMPONENTS).contains(&count) {
            return Err(NotSplit::Scans);
        }
        self.size = (width, height);
        for _ in 0..count {
            let [id, sampling, _] = reader.array()?;
            let (horizontal, vertical) = (sampling >> 4, sampling & 15);
            if !(1..=4).contains(&horizontal) || !(1..=4).contains(&vertical) {
                return Err(NotSplit::Table);
            }
            self.components.push(Component {
                id,
                horizontal,
                vertical,
            });
        }
        Ok(())
    }

    fn tables(&mut self, mut content: &[u8]) -> Result<(), NotSplit> {
        while !content.is_empty() {
            let mut reader = Reader::new(content);
            let [place] = reader.array()?;
            let counts: [u8; 16] = reader.array()?;
            let values: usize = counts.iter().map(|&count| usize::from(count)).sum();
            let rest = reader.rest();
            let (values, rest) = rest.split_at_checked(values).ok_or(NotSplit::Table)?;
            let tables = match place >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(NotSplit::Table),
            };
            let table = tables.get_mut(usize::from(place & 15)).ok_or(NotSplit::Table)?;
            *table = Some(Codes::new(counts, values)?);
            content = rest;
        }
        Ok(())
    }

    fn scan(&mut self, content: &[u8]) -> Result<(), NotSplit> {
        let mut reader = Reader::new(content);
        let count = usize::from(reader.u8()?);
        if count == 0 || count != self.components.len() {
            return Err(NotSplit::Scans);
        }
        for component in &self.components {
            let [id, tables] = reader.array()?;
            if id != component.id {
                return Err(NotSplit::Scans);
            }
            let block = Block {
                dc: usize::from(tables >> 4),
                ac: usize::from(tables & 15),
            };
            let known = |tables: &[Option<Codes>; 4], at: usize| tables.get(at).is_some_and(Option::is_some);
            if !known(&self.dc, block.dc) || !known(&self.ac, block.ac) {
                return Err(NotSplit::Table);
            }
            // A scan of one component is not interleaved, so its sampling plays no part (A.2.2).
            let blocks = if count == 1 {
                1
            } else {
                component.horizontal * component.vertical
            };
            self.blocks.extend(std::iter::repeat_n(block, blocks.into()));
        }
        if reader.array()? != [0, 63, 0] {
            return Err(NotSplit::Process);
        }
        if self.blocks.len() > MAX_BLOCKS {
            return Err(NotSplit::Table);
        }
        self.units = self.units();
        Ok(())
    }

    fn units(&self) -> u64 {
        let most = |sampling: fn(&Component) -> u8| match self.components.as_slice() {
            [_] => 1,
            all => all.iter().map(sampling).max().unwrap_or(1),
        };
        let along = |pixels: u16, most: u8| u64::from(pixels).div_ceil(8 * u64::from(most));
        let (width, height) = self.size;
        along(width, most(|component| component.horizontal)) * along(height, most(|component| component.vertical))
    }

    /// Copies the codes of all blocks. Those of coefficients up to index `last` in zig-zag order are of the first part;
    /// a code for a run of zeros belongs to the coefficient at which the run begins. Ends when the source does, because
    /// each block consumes at least a bit.
    pub(super) fn copy(&self, last: u8, from: &mut impl Source, to: &mut impl Sink) -> Result<(), NotSplit> {
        let interval = u64::from(self.interval);
        for unit in 0..self.units {
            if interval > 0 && unit > 0 && unit % interval == 0 {
                let number = (unit / interval - 1) as u32;
                from.restart(number)?;
                to.restart(number)?;
            }
            for block in &self.blocks {
                let (Some(dc), Some(ac)) = (&self.dc[block.dc], &self.ac[block.ac]) else {
                    return Err(NotSplit::Table);
                };
                copy_block(dc, ac, last, from, to)?;
            }
        }
        Ok(())
    }
}

fn copy_block(dc: &Codes, ac: &Codes, last: u8, from: &mut impl Source, to: &mut impl Sink) -> Result<(), NotSplit> {
    if copy_code(dc, true, from, to)? > MAX_SIZE {
        return Err(NotSplit::Data);
    }
    let mut index = 1;
    while index < 64 {
        let value = copy_code(ac, index <= last, from, to)?;
        index += match (value >> 4, value & 15) {
            (0, 0) => return Ok(()),
            (15, 0) => 16,
            (_, 0) => return Err(NotSplit::Data),
            (run, _) => run + 1,
        };
    }
    if index > 64 { Err(NotSplit::Data) } else { Ok(()) }
}

/// Copies a code and the bits that follow it, and returns its value.
fn copy_code(codes: &Codes, first: bool, from: &mut impl Source, to: &mut impl Sink) -> Result<u8, NotSplit> {
    let bits = from.peek(first);
    let (length, value) = codes.find(bits)?;
    let count = length + u32::from(value & 15);
    from.consume(first, count)?;
    to.put(first, bits >> (32 - count), count);
    Ok(value)
}
