//! Clips to be passed through: encoded once, before they are published.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sealcast::failure::{Failure, FailureKind, Result};

/// Seconds of a clip, after which it begins again.
const SECONDS: u32 = 4;
/// Bits for a pixel: 3 Mbit/s for 1280x720 at 30 frames a second, as the program's encoder aims at.
const BITS_PER_PIXEL: f64 = 0.11;

/// The clip of this size and rate, such as `1280x720@30`, in H.264: ffmpeg's moving test picture, with a keyframe each
/// second. It is made in this folder if it is not there.
///
/// # Errors
/// The words are no size and rate, or ffmpeg is not installed or fails.
pub(crate) fn made(folder: &Path, words: &str) -> Result<PathBuf> {
    let (size, rate) = parsed(words).ok_or_else(|| {
        let what = format!("clip = \"{words}\" is no size and rate");
        Failure::new(FailureKind::Usage, what, "write WIDTHxHEIGHT@RATE, such as 1280x720@30")
    })?;
    let file = folder.join(format!("clip-{words}.mp4"));
    if file.is_file() {
        return Ok(file);
    }
    // A name of its own until it is whole, so that what an interrupted run left is not taken for it.
    let unfinished = folder.join(format!("unfinished-{words}.mp4"));
    let bits = f64::from(size.0) * f64::from(size.1) * f64::from(rate) * BITS_PER_PIXEL;
    let mut command = Command::new("ffmpeg");
    command.args(["-hide_banner", "-loglevel", "error", "-y", "-f", "lavfi", "-i"]);
    command.arg(format!("testsrc2=size={}x{}:rate={rate}", size.0, size.1));
    command.args([
        "-t",
        &SECONDS.to_string(),
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
        "-tune",
        "zerolatency",
    ]);
    command.args([
        "-pix_fmt",
        "yuv420p",
        "-g",
        &rate.to_string(),
        "-b:v",
        &format!("{bits:.0}"),
    ]);
    let ran = command.arg(&unfinished).stdin(Stdio::null()).output();
    let failed = |why: String| {
        let what = format!("ffmpeg could not make a clip of {words} ({why})");
        Failure::new(FailureKind::Usage, what, "see whether ffmpeg with libx264 is installed")
    };
    let ran = ran.map_err(|error| failed(error.to_string()))?;
    if !ran.status.success() {
        return Err(failed(String::from_utf8_lossy(&ran.stderr).trim().to_owned()));
    }
    std::fs::rename(&unfinished, &file).map_err(|error| failed(error.to_string()))?;
    Ok(file)
}

/// Width and height, and frames a second.
fn parsed(words: &str) -> Option<((u32, u32), u32)> {
    let (size, rate) = words.split_once('@')?;
    let (width, height) = size.split_once('x')?;
    Some(((width.parse().ok()?, height.parse().ok()?), rate.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_and_a_rate_are_three_numbers() {
        assert_eq!(parsed("1280x720@30"), Some(((1280, 720), 30)));
        assert_eq!(["1280x720", "axb@30", ""].map(parsed), [None; 3]);
    }
}
