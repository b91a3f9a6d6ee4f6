//! Text, read by tesseract where it is installed.

use std::io::Write;
use std::process::{Command, Stdio};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media::Picture;

/// Reads text in pictures.
pub(crate) struct TextReader;

impl TextReader {
    /// `None` if tesseract is not installed.
    pub(crate) fn find() -> Option<Self> {
        let asked = Command::new("tesseract").arg("--version").output();
        asked.is_ok_and(|asked| asked.status.success()).then_some(Self)
    }

    /// The share of the characters of `text` that are read wrong, missing or too many; spaces do not count. At most 1.
    ///
    /// # Errors
    /// tesseract fails.
    pub(super) fn errors(&self, picture: &Picture, text: &str) -> Result<f64> {
        let read = self.read(picture)?;
        let plain = |text: &str| -> Vec<char> { text.chars().filter(|letter| !letter.is_whitespace()).collect() };
        let (text, read) = (plain(text), plain(&read));
        Ok((distance(&text, &read) as f64 / text.len().max(1) as f64).min(1.0))
    }

    fn read(&self, picture: &Picture) -> Result<String> {
        let failed = |why: String| {
            let what = format!("tesseract does not read a picture ({why})");
            Failure::new(
                FailureKind::Usage,
                what,
                "install tesseract-ocr with its English data, or remove it",
            )
        };
        let mut child = Command::new("tesseract")
            .args(["stdin", "stdout", "--psm", "6", "-l", "eng"])
            .env("OMP_THREAD_LIMIT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let mut image = format!("P5\n{} {}\n255\n", picture.width, picture.height).into_bytes();
        image.extend_from_slice(&picture.y);
        let stdin = child.stdin.take();
        let ended = std::thread::scope(|scope| {
            scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(&image)));
            child.wait_with_output()
        });
        let ended = ended.map_err(|error| failed(error.to_string()))?;
        Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
    }
}

/// Number of characters that must be changed, added or removed (Levenshtein).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, one) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (place, other) in b.iter().enumerate() {
            let changed = diagonal + usize::from(one != other);
            diagonal = row[place + 1];
            row[place + 1] = changed.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_counts_changes() {
        let of = |a: &str, b: &str| distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>());
        assert_eq!([of("kitten", "sitting"), of("", "abc"), of("abc", "abc")], [3, 3, 0]);
    }
}
