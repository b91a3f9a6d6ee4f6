//! Contents of an archive.

use std::path::Path;

use sealcast_proto::archive::{Block, Segment};

use super::folder::{Folder, SegmentFile};
use super::index::{Entry, Index};
use crate::failure::Result;

/// A segment, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its number.
    pub number: u64,
    /// Times of its first and last frame, ns since 1970, if it has any that can be read.
    pub span: Option<(u64, u64)>,
    /// Number of its frames.
    pub frames: u64,
    /// Its length in bytes.
    pub bytes: u64,
}

/// Lists the segments of an archive. What is in the index is not read again.
///
/// # Errors
/// Kind `Source`: the folder cannot be read.
pub fn list(folder: &Path) -> Result<Vec<Row>> {
    let folder = Folder::open(folder)?;
    let index = Index::read(folder.path());
    let files = folder.segments()?;
    let rows = files.iter().map(|file| {
        let entry = index.of(file.number, file.bytes).or_else(|| entry_of(file));
        Row {
            number: file.number,
            span: entry.map(|entry| (entry.first, entry.last)),
            frames: entry.map_or(0, |entry| entry.frames),
            bytes: file.bytes,
        }
    });
    Ok(rows.collect())
}

/// Entry that the index would have for a segment, as far as it can be read. `None` without a frame.
pub(super) fn entry_of(file: &SegmentFile) -> Option<Entry> {
    let bytes = file.read().ok()?;
    let mut segment = Segment::new(&bytes).ok()?;
    let mut entry = None;
    while let Some(Ok(block)) = segment.next_block() {
        if let Block::Frame(frame) = block {
            let entry = entry.get_or_insert(Entry {
                first: frame.time,
                last: frame.time,
                frames: 0,
                bytes: file.bytes,
            });
            entry.last = frame.time;
            entry.frames += 1;
        }
    }
    entry
}
