//! Reads a log row by row. A log may have a gigabyte, so no more than one row is held.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Take};
use std::path::{Path, PathBuf};

use csv::{ReaderBuilder, StringRecord};
use jiff::Timestamp;
use sealcast::failure::{Failure, FailureKind, Result};

/// The longest first line that can be a header, in bytes.
const LONGEST_HEADER: u64 = 4096;

/// A log, and the row that was read last.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    columns: &'static [&'static str],
    reader: csv::Reader<Take<BufReader<File>>>,
    row: StringRecord,
    /// Bytes that follow the header.
    length: u64,
    /// True if the last line has no end: the program was killed, or is writing it.
    is_torn: bool,
    /// Rows read, without torn ones.
    pub(super) rows: u64,
    /// Rows of which only the beginning was written. They are left out.
    pub(super) torn: u64,
}

impl Log {
    /// The two files of a log of this name, the earlier one first, as far as they exist.
    pub(super) fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
        let path = folder.join(name);
        let both = [path.with_extension("old.csv"), path];
        both.into_iter().filter(|path| path.exists()).collect()
    }

    /// Opens a log that has these columns. Only what it holds now is read: the program may still write to it.
    ///
    /// # Errors
    /// It cannot be read, or is a file of something else.
    pub(super) fn open(path: &Path, columns: &'static [&'static str]) -> Result<Self> {
        let read = |error: io::Error| unreadable(path, "", &error);
        let mut file = File::open(path).map_err(read)?;
        let all = file.seek(SeekFrom::End(0)).map_err(read)?;
        let mut last = [b'\n'];
        if all > 0 {
            file.seek(SeekFrom::End(-1)).map_err(read)?;
            file.read_exact(&mut last).map_err(read)?;
        }
        file.seek(SeekFrom::Start(0)).map_err(read)?;
        let mut file = BufReader::new(file);
        let mut header = Vec::new();
        let begun = file
            .by_ref()
            .take(all.min(LONGEST_HEADER))
            .read_until(b'\n', &mut header);
        let begun = begun.map_err(read)? as u64;
        let expected = columns.join(",");
        let is_torn = last != *b"\n";
        let header = String::from_utf8_lossy(&header);
        let only_begun = is_torn && begun == all && expected.starts_with(&*header);
        if all > 0 && header.trim_end() != expected && !only_begun {
            return Err(unreadable(path, " line 1", &"its columns are not those of this log"));
        }
        let length = all - begun;
        Ok(Self {
            path: path.to_owned(),
            columns,
            reader: ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .from_reader(file.take(length)),
            row: StringRecord::new(),
            length,
            is_torn,
            rows: 0,
            torn: u64::from(only_begun),
        })
    }

    /// Reads the next row; false if there is none.
    ///
    /// # Errors
    /// The row is not one of this log.
    pub(super) fn next(&mut self) -> Result<bool> {
        loop {
            let read = self.reader.read_record(&mut self.row);
            let unread = |error: csv::Error| {
                let line = error.position().map_or(0, csv::Position::line) + 1;
                unreadable(&self.path, &format!(" line {line}"), &"it is not text")
            };
            if !read.map_err(unread)? {
                return Ok(false);
            }
            let is_last = self.is_torn && self.reader.position().byte() >= self.length;
            // A program that continues a log ends the line that a killed one left.
            if is_last || self.row.len() < self.columns.len() {
                self.torn += 1;
                continue;
            }
            if self.row.len() > self.columns.len() {
                return Err(self.wrong("it has more fields than the header"));
            }
            self.rows += 1;
            return Ok(true);
        }
    }

    /// The place of a column. The caller names one of the log's.
    pub(super) fn column(&self, name: &str) -> usize {
        let at = self.place(name);
        at.unwrap_or_else(|| panic!("{name} is no column of {}", self.path.display()))
    }

    /// The place of a column, if logs of this kind have it.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| *column == name)
    }

    /// The text in a column.
    pub(super) fn text(&self, column: usize) -> &str {
        &self.row[column]
    }

    /// The number in a column; `None` if it was not measured.
    ///
    /// # Errors
    /// There is something else.
    pub(super) fn number(&self, column: usize) -> Result<Option<f64>> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.map(Some).ok_or_else(|| self.no("number", column))
    }

    /// The number in a column that is never empty.
    ///
    /// # Errors
    /// There is something else, or nothing.
    pub(super) fn needed(&self, column: usize) -> Result<f64> {
        self.number(column)?.ok_or_else(|| self.no("number", column))
    }

    /// The whole number in a column.
    ///
    /// # Errors
    /// There is something else.
    pub(super) fn whole(&self, column: usize) -> Result<u64> {
        self.text(column).parse().map_err(|_| self.no("whole number", column))
    }

    /// The time in a column.
    ///
    /// # Errors
    /// There is something else.
    pub(super) fn time(&self, column: usize) -> Result<Timestamp> {
        self.text(column).parse().map_err(|_| self.no("time", column))
    }

    /// The failure of a word that this version does not know.
    pub(super) fn no_word(&self, column: usize) -> Failure {
        self.no("word of this log", column)
    }

    fn no(&self, what: &str, column: usize) -> Failure {
        self.wrong(&format!(
            "\"{}\" in the column {} is no {what}",
            self.text(column),
            self.columns[column]
        ))
    }

    fn wrong(&self, what: &str) -> Failure {
        // Lines count from 1, and the header is the first.
        let line = self.row.position().map_or(0, csv::Position::line) + 1;
        unreadable(&self.path, &format!(" line {line}"), &what)
    }
}

/// The failure of a log that cannot be used.
pub(super) fn unreadable(path: &Path, line: &str, why: &dyn std::fmt::Display) -> Failure {
    Failure::new(
        FailureKind::Source,
        format!("{}{line} cannot be read: {why}", path.display()),
        "name folders that this version's --log-dir wrote",
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const COLUMNS: &[&str] = &["time", "name", "value"];

    fn log(content: &[u8]) -> (tempfile::TempDir, Result<Log>) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.csv");
        fs::write(&path, content).expect("space");
        let log = Log::open(&path, COLUMNS);
        (folder, log)
    }

    /// The values of all rows, and the number of torn ones.
    fn values(content: &[u8]) -> Result<(Vec<Option<f64>>, u64)> {
        let mut log = log(content).1?;
        let mut values = Vec::new();
        while log.next()? {
            values.push(log.number(2)?);
        }
        assert_eq!(log.rows, values.len() as u64);
        Ok((values, log.torn))
    }

    #[test]
    fn rows_are_read_and_empty_cells_are_not_measured() {
        let read = values(b"time,name,value\n1,a,2.5\n2,\"b,c\",\n3,,-1\n").expect("a log");
        assert_eq!(read, (vec![Some(2.5), None, Some(-1.0)], 0));
        assert_eq!(values(b"time,name,value\n").expect("a log"), (vec![], 0));
        assert_eq!(values(b"").expect("a log"), (vec![], 0));
    }

    #[test]
    fn a_torn_row_is_left_out_and_counted_wherever_it_stands() {
        // The first number might be the beginning of 2.57.
        assert_eq!(
            values(b"time,name,value\n1,a,2\n1,a,2.5").expect("a log"),
            (vec![Some(2.0)], 1)
        );
        assert_eq!(
            values(b"time,name,value\n1,a\n2,a,3\n").expect("a log"),
            (vec![Some(3.0)], 1)
        );
        assert_eq!(values(b"time,na").expect("a log"), (vec![], 1));
    }

    #[test]
    fn what_is_no_row_of_the_log_is_named_with_file_and_line() {
        let cases: [(&[u8], &str); 5] = [
            (b"a,b\n1,2\n", "a.csv line 1 "),
            (b"time,name,value\n1,a,2\n1,a,x\n", "a.csv line 3 "),
            (
                b"time,name,value\n1,a,NaN\n",
                "\"NaN\" in the column value is no number",
            ),
            (b"time,name,value\n1,a,2,3\n", "a.csv line 2 "),
            (b"time,name,value\n1,a,2\n1,\xff,2\n", "a.csv line 3 "),
        ];
        for (content, words) in cases {
            let failure = values(content).expect_err("it is no log");
            assert_eq!(failure.kind, FailureKind::Source);
            assert!(failure.what.contains(words), "{failure}");
        }
    }

    #[test]
    fn rows_that_come_while_it_is_read_are_left_for_the_next_time() {
        let (folder, log) = log(b"time,name,value\n1,a,2\n");
        let mut log = log.expect("a log");
        let mut file = fs::OpenOptions::new()
            .append(true)
            .open(folder.path().join("a.csv"))
            .expect("a file");
        io::Write::write_all(&mut file, b"2,a,3\n").expect("space");
        assert!(log.next().expect("a row"));
        assert!(!log.next().expect("the end"));
    }

    #[test]
    fn the_earlier_file_of_a_log_comes_first() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["a.csv", "a.old.csv"] {
            fs::write(folder.path().join(name), "").expect("space");
        }
        let names = ["a.old.csv", "a.csv"].map(|name| folder.path().join(name));
        assert_eq!(Log::files(folder.path(), "a.csv"), names);
        assert!(Log::files(folder.path(), "b.csv").is_empty());
    }
}
