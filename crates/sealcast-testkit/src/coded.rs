//! Clips of H.265 and AV1, and what ffmpeg finds in files of them.

use std::path::{Path, PathBuf};

use crate::media::{ffmpeg, path, tool};

/// Pictures of a clip.
pub const PICTURES: usize = 50;
/// Pictures from keyframe to keyframe.
pub const GROUP: usize = 20;

/// Makes a clip of 25 pictures a second of 160x90 pixels, whose name says container and codec: H.265 with pictures that
/// are reordered, unless it says `in-order`, or AV1 with frames that are not shown.
pub fn coded_clip(dir: &Path, name: &str) -> PathBuf {
    let made = dir.join(name);
    let group = GROUP.to_string();
    let codec: &[&str] = match name.contains("265") {
        true => &[
            "-c:v",
            "libx265",
            "-preset",
            "ultrafast",
            "-x265-params",
            match name.contains("in-order") {
                true => "log-level=none:bframes=0",
                false => "log-level=none:bframes=2:b-adapt=0",
            },
        ],
        false => &[
            "-c:v",
            "libaom-av1",
            "-cpu-used",
            "8",
            "-lag-in-frames",
            "19",
            "-b:v",
            "100k",
        ],
    };
    let input = format!("testsrc2=size=160x90:rate=25:duration={}", PICTURES / 25);
    let input = ["-f", "lavfi", "-i", &input, "-pix_fmt", "yuv420p", "-g", &group];
    ffmpeg(&[&input, codec, &[path(&made)]].concat());
    made
}

/// The file in another container, by the ending of this name.
pub fn rewrapped(file: &Path, name: &str) -> PathBuf {
    let made = file.with_file_name(name);
    ffmpeg(&["-i", path(file), "-map", "0:v", "-c", "copy", path(&made)]);
    made
}

/// The digest of the video of a file as it is stored, frame by frame.
pub fn stored(file: &Path) -> String {
    let digest = ffmpeg(&["-i", path(file), "-map", "0:v", "-c", "copy", "-f", "streamhash", "-"]);
    String::from_utf8(digest).expect("text")
}

/// Description of a file's video by ffprobe, as `codec_name,width,height`.
pub fn probed(file: &Path) -> String {
    shown(file, "v", "stream=codec_name,width,height").trim().to_owned()
}

/// Description of a file's sound by ffprobe, as `codec_name,channels,channel_layout`.
pub fn probed_sound(file: &Path) -> String {
    shown(file, "a", "stream=codec_name,channels,channel_layout")
        .trim()
        .to_owned()
}

/// Which frames of a file ffprobe takes for keyframes, in the order in which they are stored.
pub fn keyframes(file: &Path) -> Vec<bool> {
    let flags = shown(file, "v", "packet=flags");
    flags.lines().map(|flags| flags.starts_with('K')).collect()
}

fn shown(file: &Path, stream: &str, entries: &str) -> String {
    let arguments = [
        "-v",
        "error",
        "-select_streams",
        stream,
        "-of",
        "csv=p=0",
        "-show_entries",
        entries,
    ];
    let output = tool("ffprobe").args(arguments).arg(file).output();
    String::from_utf8(output.expect("ffprobe runs").stdout).expect("text")
}
