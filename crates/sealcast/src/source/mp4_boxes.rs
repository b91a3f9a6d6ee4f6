//! Headers of MP4 boxes, in files and in memory.

use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use super::coded::{MediaError, Result};

/// A box in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BoxAt {
    pub(super) kind: [u8; 4],
    pub(super) at: u64,
    pub(super) end: u64,
}

/// A box in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Child<'a> {
    pub(super) kind: [u8; 4],
    /// The box including its header.
    pub(super) whole: &'a [u8],
    pub(super) body: &'a [u8],
}

/// Type, length of the header and length of the box; a length of 0 means "to the end of the file".
fn header(head: &[u8]) -> Option<([u8; 4], usize, u64)> {
    let short = u32::from_be_bytes(*head.first_chunk()?);
    let kind = *head.get(4..)?.first_chunk()?;
    match short {
        1 => Some((kind, 16, u64::from_be_bytes(*head.get(8..)?.first_chunk()?))),
        _ => Some((kind, 8, u64::from(short))),
    }
}

/// Reads the header of the box at `at` in a file of `length` bytes; `None` at the end of the file. The box may extend
/// beyond the end.
pub(super) fn read_box_at<R: Read + Seek>(input: &mut R, at: u64, length: u64) -> Result<Option<BoxAt>> {
    let left = length.saturating_sub(at);
    if left == 0 {
        return Ok(None);
    }
    input.seek(SeekFrom::Start(at))?;
    let mut head = [0; 16];
    let have = usize::try_from(left.min(16)).unwrap_or(16);
    input.read_exact(&mut head[..have])?;
    let cut = || MediaError::Truncated(format!("inside the box header at byte {at}"));
    let (kind, header_bytes, size) = header(&head[..have]).ok_or_else(cut)?;
    // Type 0: a recorder that was killed may leave zeros behind.
    if kind == [0; 4] {
        return Err(MediaError::Truncated(format!(
            "zeros where a box should begin, at byte {at}"
        )));
    }
    let size = if size == 0 { left } else { size };
    if size < header_bytes as u64 {
        return Err(MediaError::Damaged(format!(
            "the box at byte {at} is shorter than its header"
        )));
    }
    Ok(Some(BoxAt {
        kind,
        at,
        end: at.saturating_add(size),
    }))
}

/// Iterates over the boxes in memory; stops at one that does not fit.
pub(super) fn children(mut data: &[u8]) -> impl Iterator<Item = Child<'_>> {
    std::iter::from_fn(move || {
        let (kind, header_bytes, size) = header(data)?;
        let size = if size == 0 {
            data.len()
        } else {
            usize::try_from(size).ok()?
        };
        let whole = data.get(..size)?;
        let body = whole.get(header_bytes..)?;
        data = &data[size..];
        Some(Child { kind, whole, body })
    })
}

/// Returns the first box of type `kind` in memory.
pub(super) fn child<'a>(data: &'a [u8], kind: &[u8; 4]) -> Option<Child<'a>> {
    children(data).find(|child| &child.kind == kind)
}

/// Range of the contents of a nested box in memory: the first of each type of the path, from the outermost inwards.
pub(super) fn contents(data: &[u8], path: &[&[u8; 4]]) -> Option<Range<usize>> {
    let mut within = 0..data.len();
    for kind in path {
        let mut end = within.start;
        let found = children(data.get(within)?).find(|child| {
            end += child.whole.len();
            child.kind == **kind
        })?;
        within = end - found.body.len()..end;
    }
    Some(within)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 8).expect("short");
        [&length.to_be_bytes()[..], kind, body].concat()
    }

    #[test]
    fn the_contents_of_a_nested_box_are_found_behind_others_and_behind_a_long_header() {
        let wide = [&1_u32.to_be_bytes()[..], b"wide", &18_u64.to_be_bytes(), b"ab"].concat();
        let tree = [
            boxed(b"free", b"xyz"),
            boxed(b"outr", &[boxed(b"skip", b""), wide].concat()),
        ]
        .concat();
        let at = contents(&tree, &[b"outr", b"wide"]).expect("it is there");
        assert_eq!(&tree[at], b"ab");
        assert_eq!(contents(&tree, &[]), Some(0..tree.len()));
        assert_eq!(contents(&tree, &[b"outr", b"none"]), None);
        assert_eq!(contents(&tree[..tree.len() - 1], &[b"outr", b"wide"]), None);
    }
}
