//! Films, and figures of what was shown of them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast_testkit::attack::{Row, ffmpeg, path};

/// A pass-through clip of this size and bit rate.
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

/// How many frames are missing between the first and the last.
pub(crate) fn missing(rows: &[Row]) -> u64 {
    let gaps = rows.windows(2).map(|pair| pair[1].number - pair[0].number - 1);
    gaps.sum()
}

/// The frames that came more than `settling` after the first.
pub(crate) fn settled(rows: &[Row], settling: Duration) -> Vec<Row> {
    let first = rows.first().expect("frames").received_ns;
    let from = first + u64::try_from(settling.as_nanos()).expect("a test is short");
    rows.iter().copied().filter(|row| row.received_ns > from).collect()
}

/// The delay that so many thousandths of the frames stay below.
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
