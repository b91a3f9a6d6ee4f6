//! People, found by OpenCV where a Python with it is there.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;

use super::places::{Place, share_found};

/// Names a Python with OpenCV 4, in place of `python3`.
const PYTHON: &str = "SEALCAST_PYTHON_OPENCV";
const PROGRAM: &str = include_str!("people.py");

/// Finds people.
pub(crate) struct People(Mutex<Finder>);

/// The process that looks.
struct Finder {
    child: Child,
    pictures: ChildStdin,
    places: BufReader<ChildStdout>,
}

impl Drop for Finder {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn failed(why: &str) -> Failure {
    let what = format!("OpenCV does not look for people ({why})");
    Failure::new(
        FailureKind::Usage,
        what,
        "install python3-opencv, name another Python in SEALCAST_PYTHON_OPENCV, or name one without OpenCV",
    )
}

impl People {
    /// `None` if there is no Python with OpenCV 4.
    pub(crate) fn find() -> Option<Self> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| OsString::from("python3"));
        let mut child = Command::new(python)
            .args(["-c", PROGRAM])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (pictures, places) = child.stdin.take().zip(child.stdout.take())?;
        let mut finder = Finder {
            child,
            pictures,
            places: BufReader::new(places),
        };
        let greeting = finder.line().ok()?;
        (greeting == "ready").then(|| Self(Mutex::new(finder)))
    }

    /// The share of the people in the original that are found at the same place of another picture; `None` if the
    /// original has none.
    ///
    /// # Errors
    /// The process failed.
    pub(super) fn share_found(&self, original: &Picture, shown: &Picture) -> Result<Option<f64>> {
        let mut finder = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let originals = finder.places(original)?;
        match originals.is_empty() {
            true => Ok(None),
            false => Ok(share_found(&originals, &finder.places(shown)?)),
        }
    }
}

impl Finder {
    fn places(&mut self, picture: &Picture) -> Result<Vec<Place>> {
        let head = format!("{} {}\n", picture.width, picture.height);
        let written = self
            .pictures
            .write_all(head.as_bytes())
            .and_then(|()| self.pictures.write_all(&picture.y))
            .and_then(|()| self.pictures.flush());
        written.map_err(|error| failed(&error.to_string()))?;
        let line = self.line()?;
        let edges: std::result::Result<Vec<f64>, _> = line.split_whitespace().map(str::parse).collect();
        let edges = edges.map_err(|_| failed("its answer is no numbers"))?;
        let places = edges.chunks_exact(4);
        Ok(places.map(|place| [place[0], place[1], place[2], place[3]]).collect())
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        let read = self.places.read_line(&mut line);
        match read {
            Ok(0) => Err(failed("it ended")),
            Ok(_) => Ok(line.trim_end().to_owned()),
            Err(error) => Err(failed(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::picture::grey;

    #[test]
    fn grey_has_nobody_if_there_is_an_opencv_to_look() {
        match People::find() {
            Some(people) => {
                let found = people.share_found(&grey(320, 240), &grey(320, 240));
                assert_eq!(found.expect("it looks"), None);
            }
            None => println!("not tested: no Python with OpenCV 4"),
        }
    }
}
