//! Runs every test vector of a folder on every kernel of this machine.

mod reader;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use sealcast::failure::{Failure, FailureKind};
use sealcast_cipher::IMPLEMENTATIONS;

use reader::{Fault, File, Vector};

/// Most faults of one kind printed for one kernel; the rest are counted.
const MOST_NAMED: usize = 10;

/// Results for the files of a folder.
#[derive(Debug, Default)]
pub struct Verified {
    /// A line for each kernel of each file's cipher, and one for Grain-128a with tags if a file has any.
    pub lines: Vec<Line>,
    /// Files that could not be read as test vectors, with the reason.
    pub not_understood: Vec<String>,
}

/// Result of one file on one kernel.
#[derive(Debug)]
pub struct Line {
    file: PathBuf,
    /// The cipher's name.
    pub cipher: String,
    /// The kernel's name.
    pub kernel: &'static str,
    /// Number of vectors that were compared completely and are equal.
    pub passed: usize,
    /// Faults of the vectors that differ.
    pub failed: Vec<String>,
    /// Reasons why the others were not, or not completely, compared.
    pub skipped: Vec<String>,
}

/// Runs every vector of the JSON files in a folder.
///
/// # Errors
/// The folder cannot be read, or there is no JSON file in it.
pub fn verify(folder: &Path) -> Result<Verified, Failure> {
    let unreadable = |why: &dyn fmt::Display| {
        let what = format!("{} is no folder of vectors ({why})", folder.display());
        Failure::new(FailureKind::Source, what, "name one with files such as trivium.json")
    };
    let paths = reader::json_files(folder).map_err(|error| unreadable(&error))?;
    if paths.is_empty() {
        return Err(unreadable(&"there is no JSON file in it"));
    }
    let mut verified = Verified::default();
    for path in paths {
        match reader::read_file(path) {
            Ok(file) => verified.add(&file),
            Err(why) => verified.not_understood.push(why),
        }
    }
    Ok(verified)
}

impl Verified {
    fn add(&mut self, file: &File) {
        let before = self.lines.len();
        for one in IMPLEMENTATIONS.iter().filter(|one| one.facts.name == file.cipher) {
            let missing = || Fault::NotUnderstood("this processor lacks the kernel's instructions".to_owned());
            let check = |vector: &Result<Vector, Fault>| match vector {
                _ if !(one.available)() => Err(missing()),
                Ok(vector) => vector.check(one),
                Err(fault) => Err(fault.clone()),
            };
            self.lines
                .push(Line::of(file, one.kernel, file.vectors.iter().map(check)));
        }
        let vectors = file.vectors.iter().flatten();
        let mut with_tags = vectors.filter_map(Vector::check_authentication).peekable();
        if with_tags.peek().is_some() {
            self.lines.push(Line::of(file, "with tags", with_tags));
        }
        let lines = &self.lines[before..];
        if lines.is_empty() {
            let what = format!("{}: there is no cipher `{}` here", file.path.display(), file.cipher);
            self.not_understood.push(what);
        } else if lines.iter().all(|line| line.passed == 0 && line.failed.is_empty()) {
            let why = lines.iter().flat_map(|line| &line.skipped).next();
            let why = why.map_or("nothing was compared", String::as_str);
            self.not_understood.push(format!("{}: {why}", file.path.display()));
        }
    }

    /// Numbers of vectors that passed, failed and were skipped, counted once for each kernel.
    pub fn counts(&self) -> (usize, usize, usize) {
        self.lines.iter().fold((0, 0, 0), |(passed, failed, skipped), line| {
            (
                passed + line.passed,
                failed + line.failed.len(),
                skipped + line.skipped.len(),
            )
        })
    }

    /// Fails if any vector failed.
    ///
    /// # Errors
    /// A vector failed (kind `Internal`), or a file could not be read as test vectors (kind `Source`).
    pub fn judge(&self) -> Result<(), Failure> {
        let (_, failed, _) = self.counts();
        if failed > 0 {
            let what = format!("{failed} vectors failed, counted once for each kernel");
            let hint =
                "see whether the vectors above are undamaged; if they are, the kernel is wrong: please report it";
            return Err(Failure::new(FailureKind::Internal, what, hint));
        }
        if !self.not_understood.is_empty() {
            let what = format!("nothing was understood of {} files", self.not_understood.len());
            return Err(Failure::new(FailureKind::Source, what, "correct the files named above"));
        }
        Ok(())
    }
}

impl Line {
    fn of(file: &File, kernel: &'static str, outcomes: impl Iterator<Item = Result<(), Fault>>) -> Self {
        let mut line = Self {
            file: file.path.clone(),
            cipher: file.cipher.clone(),
            kernel,
            passed: 0,
            failed: Vec::new(),
            skipped: Vec::new(),
        };
        for outcome in outcomes {
            match outcome {
                Ok(()) => line.passed += 1,
                Err(Fault::Wrong(what)) => line.failed.push(what),
                Err(Fault::NotUnderstood(what)) => line.skipped.push(what),
            }
        }
        line
    }

    /// The faults, by file, cipher and kernel. A fault that all vectors share is printed once.
    fn faults(&self, kind: &str, faults: &[String], f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut faults: Vec<&String> = faults.iter().collect();
        faults.dedup();
        let place = format!("{}, {} {}", self.file.display(), self.cipher, self.kernel);
        for what in faults.iter().take(MOST_NAMED) {
            writeln!(f, "{kind}: {place}: {what}")?;
        }
        match faults.len().saturating_sub(MOST_NAMED) {
            0 => Ok(()),
            more => writeln!(f, "{kind}: {place}: {more} more"),
        }
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| cipher       | kernel       | passed | failed | skipped | why the first was skipped |"
        )?;
        writeln!(
            f,
            "|--------------|--------------|--------|--------|---------|---------------------------|"
        )?;
        for line in &self.lines {
            let (passed, failed, skipped) = (line.passed, line.failed.len(), line.skipped.len());
            let why = line.skipped.first().map_or("", String::as_str);
            write!(f, "| {:12} | {:12} ", line.cipher, line.kernel)?;
            writeln!(f, "| {passed:6} | {failed:6} | {skipped:7} | {why} |")?;
        }
        for line in &self.lines {
            line.faults("FAILED", &line.failed, f)?;
            line.faults("skipped", &line.skipped, f)?;
        }
        for file in &self.not_understood {
            writeln!(f, "NOT UNDERSTOOD: {file}")?;
        }
        let (passed, failed, skipped) = self.counts();
        write!(
            f,
            "{passed} passed, {failed} failed, {skipped} skipped, counted once for each kernel"
        )
    }
}
