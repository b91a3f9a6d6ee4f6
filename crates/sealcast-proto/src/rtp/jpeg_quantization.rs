//! Quantization tables of Motion JPEG in RTP packets (RFC 2435, section 3.1.8 and appendix A).

use super::bounds::MAX_TABLES;
use super::jpeg_tables::QUANTIZATION;

/// Values of Q whose tables are made from the standard ones, and those whose tables come in the packet; a value of 255
/// says that they may change with each picture.
const FACTORS: std::ops::RangeInclusive<u8> = 1..=99;
const IN_BAND: u8 = 128;
const CHANGING: u8 = 255;

/// Values of a table.
const TABLE: usize = 64;
const HEADER: usize = 4;

const CUT: &str = "has quantization tables that are cut short";

/// The tables of a picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quantization {
    tables: Vec<Vec<u16>>,
}

impl Quantization {
    /// Number of tables.
    pub(super) fn count(&self) -> usize {
        self.tables.len()
    }

    /// True if a value needs more than one byte, which images of the simplest kind (baseline) do not have.
    pub(super) fn is_wide(&self) -> bool {
        self.tables.iter().flatten().any(|value| *value > 255)
    }

    /// Writes them as segments of an image.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let wide = self.is_wide();
        for (number, table) in (0..).zip(&self.tables) {
            if wide {
                out.extend_from_slice(&[0xff, 0xdb, 0, 131, 0x10 | number]);
                out.extend(table.iter().flat_map(|value| value.to_be_bytes()));
            } else {
                out.extend_from_slice(&[0xff, 0xdb, 0, 67, number]);
                out.extend(table.iter().map(|value| *value as u8));
            }
        }
    }

    /// The standard tables, scaled for a quality of 1 to 99.
    fn scaled(q: u8) -> Self {
        let q = u32::from(q);
        let factor = if q < 50 { 5000 / q } else { 200 - 2 * q };
        let scale = |value: &u8| ((u32::from(*value) * factor + 50) / 100).clamp(1, 255) as u16;
        Self {
            tables: QUANTIZATION
                .iter()
                .map(|table| table.iter().map(scale).collect())
                .collect(),
        }
    }

    /// The tables in a packet; a bit of `precision` for each says that its values have two bytes.
    fn parse(precision: u8, mut bytes: &[u8]) -> Result<Self, &'static str> {
        let mut tables = Vec::new();
        while !bytes.is_empty() && tables.len() < MAX_TABLES {
            let width = 1 + usize::from(precision >> tables.len() & 1);
            let (table, rest) = bytes.split_at_checked(width * TABLE).ok_or(CUT)?;
            let value = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u16::from(*byte));
            tables.push(table.chunks(width).map(value).collect());
            bytes = rest;
        }
        Ok(Self { tables })
    }
}

/// Tables that came and stay, by their values of Q; at most 127 of them.
#[derive(Debug, Default)]
pub(super) struct TableStore {
    kept: Vec<(u8, Quantization)>,
}

impl TableStore {
    /// The tables of a picture with this value of Q, and what is behind them in its first packet.
    ///
    /// # Errors
    /// Words for the reason why there are none.
    pub(super) fn of_picture<'a>(&mut self, q: u8, rest: &'a [u8]) -> Result<(Quantization, &'a [u8]), &'static str> {
        if FACTORS.contains(&q) {
            return Ok((Quantization::scaled(q), rest));
        }
        if q < IN_BAND {
            return Err("has pictures with a reserved value of Q");
        }
        let (head, after) = rest.split_first_chunk::<HEADER>().ok_or(CUT)?;
        let length = usize::from(u16::from_be_bytes([head[2], head[3]]));
        let (bytes, after) = after.split_at_checked(length).ok_or(CUT)?;
        let kept = self.kept.iter().position(|(kept, _)| *kept == q);
        if bytes.is_empty() {
            let (_, tables) = &self.kept[kept.ok_or("has pictures without quantization tables")?];
            return Ok((tables.clone(), after));
        }
        let tables = Quantization::parse(head[1], bytes)?;
        if q != CHANGING {
            if let Some(kept) = kept {
                self.kept.swap_remove(kept);
            }
            self.kept.push((q, tables.clone()));
        }
        Ok((tables, after))
    }
}
