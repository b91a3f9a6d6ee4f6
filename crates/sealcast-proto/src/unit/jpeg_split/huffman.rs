//! Huffman codes of JPEG images (ITU-T T.81, annexes C and F).

use super::not_split::NotSplit;

/// Codes of up to this length are looked up at once.
const FAST: u32 = 9;
/// The longest code in bits.
const LONGEST: usize = 16;

/// The codes of one table.
#[derive(Clone)]
pub(super) struct Codes {
    /// For each beginning of [`FAST`] bits the length of its code and its value; a length of 0 for a longer code.
    fast: [(u8, u8); 1 << FAST],
    /// For each length: one more than its last code, with zeros after it up to 16 bits.
    end: [u32; LONGEST + 1],
    /// For each length: what to add to a code for the index of its value.
    offset: [i32; LONGEST + 1],
    values: Vec<u8>,
}

impl Codes {
    /// The codes of a table definition: how many there are of each length, 1 to 16 bits, and their values in order.
    pub(super) fn new(counts: [u8; LONGEST], values: &[u8]) -> Result<Self, NotSplit> {
        let mut codes = Self {
            fast: [(0, 0); 1 << FAST],
            end: [0; LONGEST + 1],
            offset: [0; LONGEST + 1],
            values: values.to_vec(),
        };
        let (mut code, mut index) = (0_u32, 0_usize);
        for length in 1..=LONGEST {
            let count = usize::from(counts[length - 1]);
            codes.offset[length] = index as i32 - code as i32;
            for &value in values.get(index..index + count).ok_or(NotSplit::Table)? {
                if code >> length != 0 {
                    return Err(NotSplit::Table);
                }
                codes.learn(code, length as u32, value);
                code += 1;
            }
            index += count;
            codes.end[length] = code << (LONGEST - length);
            code <<= 1;
        }
        Ok(codes)
    }

    fn learn(&mut self, code: u32, length: u32, value: u8) {
        if let Some(free) = FAST.checked_sub(length) {
            let from = (code << free) as usize;
            self.fast[from..from + (1 << free)].fill((length as u8, value));
        }
    }

    /// The length and the value of the code that these bits begin with.
    pub(super) fn find(&self, bits: u32) -> Result<(u32, u8), NotSplit> {
        let (length, value) = self.fast[(bits >> (32 - FAST)) as usize];
        if length > 0 {
            return Ok((length.into(), value));
        }
        let code = bits >> 16;
        let longer = FAST as usize + 1..=LONGEST;
        let length = longer.into_iter().find(|&length| code < self.end[length]);
        let length = length.ok_or(NotSplit::Data)?;
        let index = (code >> (LONGEST - length)) as i32 + self.offset[length];
        let value = usize::try_from(index).ok().and_then(|index| self.values.get(index));
        Ok((length as u32, *value.ok_or(NotSplit::Data)?))
    }
}
