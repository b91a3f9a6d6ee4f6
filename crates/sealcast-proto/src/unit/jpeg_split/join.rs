//! Joins split images.

use super::bits::{Reader, Writer};
use super::not_split::NotSplit;
use super::scan::Scan;
use super::{MAX_LAST, PREFIX};
use crate::unit::MAX_FRAME;
use crate::wire;

/// Joins a frame in layout 1 to the image that it was made from.
///
/// # Errors
/// [`NotSplit`] if it is none: its parts do not fit together, or the image would be longer than [`MAX_FRAME`].
pub fn join(data: &[u8]) -> Result<Vec<u8>, NotSplit> {
    let (prefix, parts) = data.split_at_checked(PREFIX).ok_or(NotSplit::Table)?;
    let mut prefix = wire::Reader::new(prefix);
    let last = prefix.u8()?;
    if last > MAX_LAST {
        return Err(NotSplit::Table);
    }
    let mut rest = parts;
    let mut part = || -> Result<&[u8], NotSplit> {
        let length = prefix.u32()? as usize;
        let (part, after) = rest.split_at_checked(length).ok_or(NotSplit::Table)?;
        rest = after;
        Ok(part)
    };
    let (head, tail, first) = (part()?, part()?, part()?);
    let scan = Scan::parse(head)?;
    if scan.head != head.len() {
        return Err(NotSplit::Table);
    }
    let mut coded = Writer::<true>::default();
    // Stuffing makes it longer; a good guess saves growing.
    coded.data.reserve(data.len() + data.len() / 64);
    coded.data.extend_from_slice(head);
    let mut sources = [Reader::<false>::new(rest), Reader::new(first)];
    scan.copy(last, &mut sources, &mut coded)?;
    for (source, part) in sources.iter_mut().zip([rest, first]) {
        if source.end(false)? != part.len() {
            return Err(NotSplit::Data);
        }
    }
    coded.end(true);
    if coded.data.len() + tail.len() > MAX_FRAME {
        return Err(NotSplit::Length);
    }
    coded.data.extend_from_slice(tail);
    Ok(coded.data)
}
