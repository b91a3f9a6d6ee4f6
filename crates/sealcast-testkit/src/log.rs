//! The standard error of a program under test.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::process::Stdio;

/// A file to which the program writes. What it wrote is there at once: a thread that read a pipe would be behind on a
/// busy machine, and a test would miss what the program had said before it did something else.
pub(crate) struct Log(File);

impl Log {
    /// An empty one, which is gone with the test.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempfile().expect("space"))
    }

    /// The program's end of it.
    pub(crate) fn end(&self) -> Stdio {
        self.0.try_clone().expect("a descriptor").into()
    }

    /// Text in it so far. Both ends have one position, at which the program writes, so it is read from the beginning
    /// without that.
    pub(crate) fn text(&self) -> String {
        let length = self.0.metadata().expect("our own file").len();
        let mut bytes = vec![0; usize::try_from(length).expect("a log")];
        self.0.read_exact_at(&mut bytes, 0).expect("it only grows");
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
