//! Messages in which a viewer reports received and missing records (protocol.md §7).

use super::{Malformed, Reader};

/// Maximum number of entries of a NACK.
pub const MAX_NACK_ENTRIES: usize = 64;
/// Maximum length of the bitmap in a feedback report, in bytes.
pub const MAX_RECEIVED_BYTES: usize = 128;

/// Length of one entry of a NACK in bytes.
const ENTRY: usize = 5;

/// Record numbers, encoded as runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    /// Encodes numbers into `entries` as runs of at most 256, up to [`MAX_NACK_ENTRIES`] runs; the rest is left out.
    pub fn collect(numbers: impl IntoIterator<Item = u32>, entries: &'a mut Vec<u8>) -> Self {
        entries.clear();
        for number in numbers {
            if let Some((first, more)) = entries.last_chunk_mut::<ENTRY>().map(|entry| entry.split_at_mut(4)) {
                let start = u32::from_be_bytes([first[0], first[1], first[2], first[3]]);
                if more[0] < u8::MAX && number == start.wrapping_add(u32::from(more[0])).wrapping_add(1) {
                    more[0] += 1;
                    continue;
                }
            }
            if entries.len() == MAX_NACK_ENTRIES * ENTRY {
                break;
            }
            entries.extend_from_slice(&number.to_be_bytes());
            entries.push(0);
        }
        Self(entries)
    }

    /// Iterates over the numbers.
    pub fn iter(self) -> impl Iterator<Item = u32> {
        self.0.chunks_exact(ENTRY).flat_map(|entry| {
            let first = u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]);
            (0..=u32::from(entry[4])).map(move |more| first.wrapping_add(more))
        })
    }

    pub(crate) fn put(self, out: &mut Vec<u8>) {
        out.push((self.0.len() / ENTRY) as u8);
        out.extend_from_slice(self.0);
    }

    pub(crate) fn parse(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let count = usize::from(reader.u8()?);
        if !(1..=MAX_NACK_ENTRIES).contains(&count) {
            return Err(Malformed);
        }
        reader.bytes(count * ENTRY).map(Self)
    }
}

/// A feedback report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback<'a> {
    /// Highest record number received.
    pub highest: u32,
    /// The viewer's wall clock when that record arrived, ns.
    pub arrived: u64,
    /// Delay that a frame may have beyond that of the fastest path, ms.
    pub budget: u16,
    /// Bit i, least significant first, is set if record `highest - 1 - i` has arrived. At most [`MAX_RECEIVED_BYTES`]
    /// long.
    pub received: &'a [u8],
}

impl<'a> Feedback<'a> {
    pub(crate) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.highest.to_be_bytes());
        out.extend_from_slice(&self.arrived.to_be_bytes());
        out.extend_from_slice(&self.budget.to_be_bytes());
        out.push(self.received.len() as u8);
        out.extend_from_slice(self.received);
    }

    pub(crate) fn parse(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let feedback = Self {
            highest: reader.u32()?,
            arrived: reader.u64()?,
            budget: reader.u16()?,
            received: reader.bytes8()?,
        };
        if feedback.received.len() > MAX_RECEIVED_BYTES {
            return Err(Malformed);
        }
        Ok(feedback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_come_back_one_by_one() {
        let wanted: Vec<u32> = (u32::MAX - 300..=u32::MAX).chain(0..3).chain([7, 9, 10]).collect();
        let mut entries = Vec::new();
        let numbers = Numbers::collect(wanted.iter().copied(), &mut entries);
        assert!(numbers.iter().eq(wanted.iter().copied()));
        let mut bytes = Vec::new();
        numbers.put(&mut bytes);
        assert_eq!(Numbers::parse(&mut Reader::new(&bytes)), Ok(numbers));
    }

    #[test]
    fn a_nack_has_no_more_entries_than_allowed() {
        let mut entries = Vec::new();
        let numbers = Numbers::collect((0..1000).map(|number| number * 2), &mut entries);
        assert_eq!(numbers.iter().count(), MAX_NACK_ENTRIES);
        for count in [0, MAX_NACK_ENTRIES as u8 + 1] {
            let mut bytes = vec![count];
            bytes.resize(1 + usize::from(count) * ENTRY, 0);
            assert_eq!(Numbers::parse(&mut Reader::new(&bytes)), Err(Malformed));
        }
    }
}
