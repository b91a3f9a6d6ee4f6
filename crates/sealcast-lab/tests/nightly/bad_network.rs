//! Films, and figures of the frames that viewers received of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast_testkit::attack::{Row, ffmpeg, path};

/// Creates an H.264 file of this size, duration and bit rate. It is published without encoding it again.
pub(crate) fn film(dir: &Path, size: &str, seconds: u32, bits: &str) -> PathBuf {
    let file = dir.join(format!("{size}.mp4"));
    let input = format!("testsrc2=size={size}:rate=30:duration={seconds},noise=alls=12:allf=t");
    let codec = [
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-tune",
        "zerolatency",
        "-g",
        "30",
        "-pix_fmt",
        "yuv420p",
    ];
    let rate = ["-b:v", bits, "-maxrate", bits, "-bufsize", bits];
    ffmpeg(&[&["-f", "lavfi", "-i", &input][..], &codec, &rate, &[path(&file)]].concat());
    file
}

/// Fails unless frames arrived in order and once, and each is decodable: a keyframe, or the successor of the frame
/// before.
pub(crate) fn assert_decodable(rows: &[Row]) {
    assert!(rows.first().expect("frames").keyframe);
    for pair in rows.windows(2) {
        let [before, after] = [pair[0].number, pair[1].number];
        assert!(before < after, "frame {after} came after {before}");
        assert!(pair[1].keyframe || after == before + 1, "frame {after} is of no use");
    }
}

/// Fails unless the frames of the last quarter are much shorter than `wished` bytes on average.
pub(crate) fn smaller_towards_the_end(rows: &[Row], wished: u64) {
    let last = &rows[rows.len() * 3 / 4..];
    let mean = last.iter().map(|row| row.bytes).sum::<u64>() / last.len() as u64;
    assert!(mean < wished / 2, "{mean} bytes a frame, {wished} were wished");
}

/// The delay that `thousandths` of the frames do not exceed.
pub(crate) fn quantile(rows: &[Row], thousandths: usize) -> Duration {
    let mut delays: Vec<Duration> = rows.iter().map(|row| row.delay()).collect();
    delays.sort_unstable();
    delays[(delays.len() - 1) * thousandths / 1000]
}

pub(crate) fn told(name: &str, rows: &[Row]) {
    println!(
        "{name}: {} frames, delay: median {:?}, 99 % {:?}, longest {:?}",
        rows.len(),
        quantile(rows, 500),
        quantile(rows, 990),
        quantile(rows, 1000)
    );
}
