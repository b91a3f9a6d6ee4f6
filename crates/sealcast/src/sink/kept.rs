//! The sum of a recording, which is told at its end.

use std::path::{Path, PathBuf};
use std::time::Duration;

/// The extent of a recording so far.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    frames: u64,
    /// Media times of the first and of the last picture.
    span: Option<(Duration, Duration)>,
    /// Number of complete files, if there may be several, and the bytes in them.
    files: u64,
    bytes: u64,
    /// The first and the last of them.
    ends: Option<(PathBuf, PathBuf)>,
}

impl Kept {
    /// A picture of this media time was kept.
    pub(crate) fn picture(&mut self, at: Duration) {
        self.frames += 1;
        let (first, last) = self.span.unwrap_or((at, at));
        self.span = Some((first.min(at), last.max(at)));
    }

    /// The file at `path` is complete, with so many bytes.
    pub(crate) fn file(&mut self, path: &Path, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.files += 1;
        self.bytes += bytes;
        let ends = self.ends.get_or_insert_with(|| (path.to_owned(), path.to_owned()));
        path.clone_into(&mut ends.1);
    }

    /// Tells it, of a recording to this path or template.
    pub(crate) fn tell(&self, path: &Path) {
        match self.frames {
            0 => tracing::warn!("nothing is recorded to {}: no picture came", path.display()),
            _ => tracing::info!("recorded {}", self.words(path)),
        }
    }

    fn words(&self, path: &Path) -> String {
        let length = self.span.map(|(first, last)| last - first).unwrap_or_default();
        let files = match self.files {
            0 | 1 => String::new(),
            files => format!(" in {files} files"),
        };
        let size = match self.bytes {
            0 => String::new(),
            bytes => format!(", {}", size(bytes)),
        };
        let place = match &self.ends {
            Some((first, last)) if first != last => format!("from {} to {}", first.display(), last.display()),
            Some((only, _)) => format!("to {}", only.display()),
            None => format!("to {}", path.display()),
        };
        format!("{place}: {}, {} pictures{files}{size}", long(length), self.frames)
    }
}

fn long(length: Duration) -> String {
    let seconds = length.as_secs();
    match seconds {
        0..60 => format!("{:.1} s", length.as_secs_f64()),
        60..3600 => format!("{} min {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} min", seconds / 3600, seconds / 60 % 60),
    }
}

fn size(bytes: u64) -> String {
    let bytes = bytes as f64;
    match bytes {
        ..1e6 => format!("{:.0} kB", (bytes / 1e3).ceil()),
        1e6..1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.1} GB", bytes / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_has_length_pictures_files_and_size() {
        for (seconds, files, words) in [
            (14.6, &[1_234_567][..], "to 0.mp4: 14.6 s, 2 pictures, 1.2 MB"),
            (0.0, &[200], "to 0.mp4: 0.0 s, 2 pictures, 1 kB"),
            (
                725.0,
                &[5_000_000, 6_000_000, 0],
                "from 0.mp4 to 1.mp4: 12 min 05 s, 2 pictures in 2 files, 11.0 MB",
            ),
            (7325.0, &[4_000_000_000], "to 0.mp4: 2 h 02 min, 2 pictures, 4.0 GB"),
            (3.0, &[], "to %S.mp4: 3.0 s, 2 pictures"),
        ] {
            let mut kept = Kept::default();
            // Of the first session the times begin somewhere.
            let begin = Duration::from_secs(100);
            kept.picture(begin);
            kept.picture(begin + Duration::from_secs_f64(seconds));
            for (number, &bytes) in files.iter().enumerate() {
                kept.file(Path::new(&format!("{number}.mp4")), bytes);
            }
            assert_eq!(kept.words(Path::new("%S.mp4")), words);
        }
    }
}
