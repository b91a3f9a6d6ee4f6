//! Bits of entropy-coded data: read, and written.

use super::not_split::NotSplit;
use crate::unit::MAX_FRAME;

/// First of the eight restart markers.
const RST0: u8 = 0xD0;

/// Source of codes. `first` says of which part the code is.
pub(super) trait Source {
    /// The next 32 bits, the next one first; zeros after the end.
    fn peek(&mut self, first: bool) -> u32;

    /// Consumes up to 31 bits.
    ///
    /// # Errors
    /// There are not that many.
    fn consume(&mut self, first: bool, count: u32) -> Result<(), NotSplit>;

    /// A restart interval ends here, the `number`th of the image.
    ///
    /// # Errors
    /// It does not.
    fn restart(&mut self, number: u32) -> Result<(), NotSplit>;
}

/// Destination of codes.
pub(super) trait Sink {
    /// Appends the lowest `count` bits, up to 31.
    fn put(&mut self, first: bool, bits: u32, count: u32);

    /// A restart interval ends here, the `number`th of the image.
    ///
    /// # Errors
    /// [`NotSplit::Length`] if there is too much already.
    fn restart(&mut self, number: u32) -> Result<(), NotSplit>;
}

/// Reads bits. `STUFFED` data has a zero after each byte 0xFF, and ends at a marker.
pub(super) struct Reader<'a, const STUFFED: bool> {
    data: &'a [u8],
    at: usize,
    /// Bits that were read and not consumed, the next one highest.
    held: u64,
    count: u32,
}

impl<'a, const STUFFED: bool> Reader<'a, STUFFED> {
    pub(super) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            at: 0,
            held: 0,
            count: 0,
        }
    }

    fn fill(&mut self) {
        while self.count <= 56 {
            let Some(&byte) = self.data.get(self.at) else { return };
            if STUFFED && byte == 0xFF {
                if self.data.get(self.at + 1) != Some(&0) {
                    return;
                }
                self.at += 1;
            }
            self.at += 1;
            self.held |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    pub(super) fn peek(&mut self) -> u32 {
        if self.count < 32 {
            self.fill();
        }
        (self.held >> 32) as u32
    }

    pub(super) fn consume(&mut self, count: u32) -> Result<(), NotSplit> {
        self.count = self.count.checked_sub(count).ok_or(NotSplit::Data)?;
        self.held <<= count;
        Ok(())
    }

    /// Ends the data: less than a byte is left, and its bits are all `padding`. Returns the position of what follows.
    pub(super) fn end(&mut self, padding: bool) -> Result<usize, NotSplit> {
        self.fill();
        if self.count >= 8 {
            return Err(NotSplit::Data);
        }
        let expected = if padding { !(u64::MAX >> self.count) } else { 0 };
        if self.held != expected {
            return Err(NotSplit::Data);
        }
        (self.held, self.count) = (0, 0);
        Ok(self.at)
    }
}

/// The entropy-coded data of an image.
impl Source for Reader<'_, true> {
    fn peek(&mut self, _: bool) -> u32 {
        self.peek()
    }

    fn consume(&mut self, _: bool, count: u32) -> Result<(), NotSplit> {
        self.consume(count)
    }

    fn restart(&mut self, number: u32) -> Result<(), NotSplit> {
        let at = self.end(true)?;
        if self.data.get(at..at + 2) != Some(&[0xFF, RST0 + (number % 8) as u8]) {
            return Err(NotSplit::Data);
        }
        self.at += 2;
        Ok(())
    }
}

/// The two parts: the others, and the first ones.
impl Source for [Reader<'_, false>; 2] {
    fn peek(&mut self, first: bool) -> u32 {
        self[usize::from(first)].peek()
    }

    fn consume(&mut self, first: bool, count: u32) -> Result<(), NotSplit> {
        self[usize::from(first)].consume(count)
    }

    fn restart(&mut self, _: u32) -> Result<(), NotSplit> {
        Ok(())
    }
}

/// Writes bits, `STUFFED` or not.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer<const STUFFED: bool> {
    pub(super) data: Vec<u8>,
    held: u64,
    count: u32,
}

impl<const STUFFED: bool> Writer<STUFFED> {
    pub(super) fn put(&mut self, bits: u32, count: u32) {
        self.held = self.held << count | u64::from(bits);
        self.count += count;
        while self.count >= 8 {
            self.count -= 8;
            let byte = (self.held >> self.count) as u8;
            self.data.push(byte);
            if STUFFED && byte == 0xFF {
                self.data.push(0);
            }
        }
    }

    /// Fills up the last byte.
    pub(super) fn end(&mut self, padding: bool) {
        let missing = self.count.wrapping_neg() % 8;
        self.put(if padding { (1 << missing) - 1 } else { 0 }, missing);
    }

    pub(super) fn clear(&mut self) {
        self.data.clear();
        (self.held, self.count) = (0, 0);
    }
}

/// The entropy-coded data of an image.
impl Sink for Writer<true> {
    fn put(&mut self, _: bool, bits: u32, count: u32) {
        self.put(bits, count);
    }

    fn restart(&mut self, number: u32) -> Result<(), NotSplit> {
        // A marker is longer than the shortest interval.
        if self.data.len() > MAX_FRAME {
            return Err(NotSplit::Length);
        }
        self.end(true);
        self.data.extend_from_slice(&[0xFF, RST0 + (number % 8) as u8]);
        Ok(())
    }
}

/// The two parts: the others, and the first ones.
impl Sink for [Writer<false>; 2] {
    fn put(&mut self, first: bool, bits: u32, count: u32) {
        self[usize::from(first)].put(bits, count);
    }

    fn restart(&mut self, _: u32) -> Result<(), NotSplit> {
        Ok(())
    }
}
