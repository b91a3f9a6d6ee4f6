//! Splits images.

use super::bits::{Reader, Writer};
use super::not_split::NotSplit;
use super::scan::Scan;
use super::{MAX_LAST, PREFIX};
use crate::unit::MAX_FRAME;

/// Splits images, and keeps its buffers from one to the next.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    /// The codes of the others, and of the first coefficients.
    parts: [Writer<false>; 2],
    frame: Vec<u8>,
}

/// A split image.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SplitFrame<'a> {
    /// Its bytes in layout 1.
    pub data: &'a [u8],
    /// Number of bytes from the beginning with everything but the codes of the other coefficients.
    pub first: usize,
}

impl Splitter {
    /// Splits an image. The codes of its coefficients up to index `last`, at most [`MAX_LAST`], go to the front with
    /// its headers. Takes time in proportion to its length.
    ///
    /// # Errors
    /// [`NotSplit`] if it is an image of another kind, is broken, or its parts would be too long.
    pub fn split(&mut self, image: &[u8], last: u8) -> Result<SplitFrame<'_>, NotSplit> {
        let last = last.min(MAX_LAST);
        let scan = Scan::parse(image)?;
        let (head, coded) = image.split_at(scan.head);
        let mut reader = Reader::<true>::new(coded);
        self.parts.iter_mut().for_each(Writer::clear);
        scan.copy(last, &mut reader, &mut self.parts)?;
        let tail = &coded[reader.end(true)?..];
        self.parts.iter_mut().for_each(|part| part.end(false));
        let [others, first] = &self.parts;
        let lengths = [head.len(), tail.len(), first.data.len()];
        let before = PREFIX + lengths.iter().sum::<usize>();
        if before + others.data.len() > MAX_FRAME {
            return Err(NotSplit::Length);
        }
        self.frame.clear();
        self.frame.push(last);
        for length in lengths {
            self.frame.extend_from_slice(&(length as u32).to_be_bytes());
        }
        for part in [head, tail, &first.data, &others.data] {
            self.frame.extend_from_slice(part);
        }
        Ok(SplitFrame {
            data: &self.frame,
            first: before,
        })
    }
}
