//! Clips with known frames, and searches for these frames in other data.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sealcast::source::{FileOptions, FileSource, Source};

use crate::media::{ffmpeg, path};

/// An H.264 clip: a keyframe every ten frames, no two frames alike.
pub struct Clip {
    /// Its path.
    pub file: PathBuf,
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The frames as a publisher sends them.
    pub frames: Vec<Vec<u8>>,
}

impl Clip {
    /// Makes a new clip of `frames` frames.
    pub fn make(directory: &Path, frames: usize) -> Self {
        let file = directory.join("clip.h264");
        let input = format!("testsrc2=size=160x120:rate=25:duration={}", frames / 25 + 1);
        let count = frames.to_string();
        let codec = [
            "-c:v",
            "libx264",
            "-preset",
            "ultrafast",
            "-qp",
            "8",
            "-pix_fmt",
            "yuv420p",
            "-bf",
            "0",
            "-g",
            "10",
        ];
        let input = ["-f", "lavfi", "-i", &input, "-frames:v", &count];
        ffmpeg(&[&input[..], &codec, &[path(&file)]].concat());
        let clip = Self::of(file);
        assert_eq!(clip.frames.len(), frames);
        clip
    }

    /// Uses an existing H.264 file.
    pub fn of(file: PathBuf) -> Self {
        let options = FileOptions {
            paced: false,
            ..FileOptions::default()
        };
        let mut source = FileSource::open(&file, options).expect("a clip that opens");
        let mut frames = Vec::new();
        while let Some(frame) = source.next().expect("a clip that plays") {
            frames.push(frame.data.to_vec());
        }
        let bytes = std::fs::read(&file).expect("the clip");
        Self { file, bytes, frames }
    }

    /// The URL that publishes it at `rate` frames per second.
    pub fn url(&self, rate: u32, more: &str) -> String {
        format!("file:{}?fps={rate}{more}", self.file.display())
    }
}

/// The indices of the sent frames that were received. The received bytes must consist of sent frames only, each once
/// and in the order in which they were sent.
pub fn order(received: &[u8], sent: &[Vec<u8>]) -> Vec<usize> {
    order_of(received, sent, 0..sent.len())
}

/// As [`order`] for frames that were sent in a loop: the indices of the second round start at the length of the
/// first.
pub fn order_looped(received: &[u8], sent: &[Vec<u8>]) -> Vec<usize> {
    order_of(received, sent, 0..usize::MAX)
}

fn order_of(received: &[u8], sent: &[Vec<u8>], mut numbers: Range<usize>) -> Vec<usize> {
    let (mut at, mut found) = (0, Vec::new());
    while at < received.len() {
        // A frame that is not in the next round is not in any later one.
        let place = numbers
            .by_ref()
            .take(sent.len())
            .find(|number| received[at..].starts_with(&sent[number % sent.len()]));
        let place = place.unwrap_or_else(|| panic!("after frame {found:?}, byte {at}: none that was sent after it"));
        found.push(place);
        at += sent[place % sent.len()].len();
    }
    found
}

/// Number of frames missing between the first and the last.
pub fn missing(frames: &[usize]) -> usize {
    frames.windows(2).map(|pair| pair[1] - pair[0] - 1).sum()
}

/// Fails if `wire` contains any 16 consecutive bytes of `secret`.
pub fn lacks(wire: &[u8], secret: &[u8]) {
    // Any sixteen bytes contain eight that begin at a multiple of eight.
    let word = |bytes: &[u8]| u64::from_ne_bytes(bytes.try_into().expect("eight bytes"));
    let words: HashSet<u64> = secret.chunks_exact(8).map(word).collect();
    let suspects = wire
        .windows(8)
        .enumerate()
        .filter(|(_, bytes)| words.contains(&word(bytes)));
    for (at, _) in suspects {
        let around = &wire[at.saturating_sub(8)..(at + 16).min(wire.len())];
        let leaked = around
            .windows(16)
            .find(|run| secret.windows(16).any(|other| other == *run));
        assert!(leaked.is_none(), "plaintext on the wire at byte {at}: {leaked:02x?}");
    }
}
