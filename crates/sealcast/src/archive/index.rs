//! The index beside the segments: a line for each that was completed. It can always be made anew from them, and saves
//! reading all of them to find one.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;

use super::folder::open;
use crate::private_file::replace_secret;

const FILE: &str = "index.tsv";
/// Longest index that is read, bytes: that of an archive with as many segments as there may be.
const MAX_INDEX: u64 = 1 << 30;
const HEAD: &str = "segment\tfirst_ns\tlast_ns\tframes\tbytes\n";

/// Entry of the index for a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Time of the first frame, ns since 1970.
    pub(super) first: u64,
    /// Time of the last frame.
    pub(super) last: u64,
    pub(super) frames: u64,
    /// Length of the file.
    pub(super) bytes: u64,
}

/// The index of an archive, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index(pub(super) BTreeMap<u64, Entry>);

impl Index {
    /// Reads the index. A line that cannot be read is left out, and so is all of a missing file: the segments
    /// themselves are asked then.
    pub(super) fn read(folder: &Path) -> Self {
        let mut text = String::new();
        let read = open(&folder.join(FILE)).and_then(|file| file.take(MAX_INDEX).read_to_string(&mut text));
        if read.is_err() {
            text.clear();
        }
        Self(text.lines().skip(1).filter_map(parse).collect())
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let mut text = HEAD.to_owned();
        for (number, entry) in &self.0 {
            let Entry {
                first,
                last,
                frames,
                bytes,
            } = entry;
            // Writing to a string does not fail.
            let _ = writeln!(text, "{number}\t{first}\t{last}\t{frames}\t{bytes}");
        }
        replace_secret(&folder.join(FILE), text.as_bytes())
    }

    /// Entry for a segment, if it is of a file with this length.
    pub(super) fn of(&self, number: u64, bytes: u64) -> Option<Entry> {
        self.0.get(&number).copied().filter(|entry| entry.bytes == bytes)
    }
}

fn parse(line: &str) -> Option<(u64, Entry)> {
    let mut fields = line.split('\t').map(|field| field.parse::<u64>().ok());
    let mut next = || fields.next().flatten();
    let number = next()?;
    let entry = Entry {
        first: next()?,
        last: next()?,
        frames: next()?,
        bytes: next()?,
    };
    Some((number, entry))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_index_survives_its_file_and_damage_to_it() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let entry = |number| Entry {
            first: number * 10,
            last: number * 10 + 9,
            frames: 300,
            bytes: 5000 + number,
        };
        let index = Index((1..=3).map(|number| (number, entry(number))).collect());
        index.write(dir.path()).expect("written");
        assert_eq!(Index::read(dir.path()), index);
        let file = dir.path().join(FILE);
        let text = fs::read_to_string(&file).expect("there").replace("2\t20", "2\ttwenty");
        fs::write(&file, text).expect("written");
        let read = Index::read(dir.path());
        assert_eq!(
            (read.of(1, 5001), read.of(2, 5002), read.of(3, 1)),
            (Some(entry(1)), None, None)
        );
    }
}
