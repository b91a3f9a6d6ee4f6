//! Common parts of the media tests: real clips, ffmpeg as the reference, and a pump from sources to sinks.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use sealcast::media::{Frame, ReceivedFrame, Track};
use sealcast::sink::Sink;
use sealcast::source::{FileOptions, FileSource, Source};

/// H.264 baseline, 640x480, 25 frames per second, a fixed camera.
pub const STREET: &str = "street-640x480-25fps.mp4";
/// The same scene as Motion JPEG in AVI.
pub const STREET_MJPEG: &str = "street-640x480-25fps-mjpeg.avi";
/// H.264 with audio, 1280x720.
pub const BUNNY: &str = "bunny-1280x720-25fps-aac.mp4";

/// Real footage if it is available, otherwise a similar clip made by ffmpeg.
pub fn clip(name: &str, scratch: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let asked = std::env::var_os("SEALCAST_CLIPS").map(PathBuf::from);
    let places = asked
        .into_iter()
        .chain(["../shared/clips", "../../shared/clips"].map(|place| root.join(place)));
    if let Some(found) = places.map(|place| place.join(name)).find(|path| path.is_file()) {
        return found;
    }
    println!("{name} is not among the clips (SEALCAST_CLIPS): using a synthetic one of the same kind");
    let made = scratch.join(name);
    let size = if name == BUNNY { "1280x720" } else { "640x480" };
    // As long as the real one: between two turns of a clip VLC as a camera stands still.
    let seconds = if name == STREET { 30 } else { 6 };
    let input = format!("testsrc2=size={size}:rate=25:duration={seconds}");
    let codec: &[&str] = match name {
        STREET_MJPEG => &["-c:v", "mjpeg", "-q:v", "5"],
        STREET => &[
            "-c:v",
            "libx264",
            "-profile:v",
            "baseline",
            "-preset",
            "ultrafast",
            "-crf",
            "30",
            "-g",
            "50",
            "-pix_fmt",
            "yuv420p",
        ],
        _ => &[
            "-f",
            "lavfi",
            "-i",
            "sine=d=6:r=48000",
            "-c:v",
            "libx264",
            "-profile:v",
            "main",
            // As in the real clip: pictures are sent in the order in which they are shown.
            "-bf",
            "0",
            "-pix_fmt",
            "yuv420p",
            "-g",
            "50",
            "-c:a",
            "aac",
            // As there, too: the sound begins with the picture, and no edit list leaves out what the encoder put
            // before.
            "-bsf:a",
            "setts=ts=PTS-STARTPTS",
            "-use_editlist",
            "0",
        ],
    };
    let (inputs, codec) = codec.split_at(if name == BUNNY { 4 } else { 0 });
    ffmpeg(&[&["-f", "lavfi", "-i", &input], inputs, codec, &[path(&made)]].concat());
    made
}

/// Four seconds of [`STREET`] coded as H.265, with a keyframe each second.
pub fn h265_clip(dir: &Path) -> PathBuf {
    let (from, made) = (clip(STREET, dir), dir.join("h265.mp4"));
    let coding = [
        "-t",
        "4",
        "-c:v",
        "libx265",
        "-preset",
        "ultrafast",
        "-g",
        "25",
        "-bf",
        "0",
    ];
    let quiet = ["-x265-params", "log-level=error", "-tag:v", "hvc1", "-an"];
    ffmpeg(&[&["-i", path(&from)][..], &coding, &quiet, &[path(&made)]].concat());
    made
}

/// The path as text.
pub fn path(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// A command that the tests need; `cargo xtask test` installs missing ones.
pub fn tool(name: &str) -> Command {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {name}")])
        .stdout(Stdio::null())
        .status();
    assert!(
        found.is_ok_and(|status| status.success()),
        "{name} is not installed: `cargo xtask test` installs it"
    );
    Command::new(name)
}

/// Runs ffmpeg, which overwrites existing files, quietly and for at most two minutes; returns its standard output.
pub fn ffmpeg(args: &[&str]) -> Vec<u8> {
    let output = tool("timeout")
        .args(["120", "ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-y"])
        .args(args)
        .output()
        .expect("ffmpeg runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.trim().is_empty(),
        "ffmpeg {args:?} said: {errors}"
    );
    output.stdout
}

/// The digest of every decoded picture.
pub fn pictures(input: &[&str]) -> Vec<String> {
    let args = [
        input,
        &["-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framemd5", "-"],
    ]
    .concat();
    let text = String::from_utf8(ffmpeg(&args)).expect("framemd5 is text");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.rsplit(',').next())
        .map(|digest| digest.trim().to_owned())
        .collect()
}

/// The presentation times of a file's frames in milliseconds, sorted, relative to the first.
pub fn times(file: &Path) -> Vec<i64> {
    let output = tool("ffprobe")
        .args([
            "-v",
            "error",
            "-select_streams",
            "v:0",
            "-show_entries",
            "packet=pts_time",
            "-of",
            "csv=p=0",
        ])
        .arg(file)
        .output()
        .expect("ffprobe runs");
    let text = String::from_utf8(output.stdout).expect("ffprobe writes text");
    let seconds = text
        .lines()
        .filter_map(|line| line.trim_end_matches(',').parse::<f64>().ok());
    #[expect(clippy::cast_possible_truncation, reason = "milliseconds of a clip")]
    let mut times = seconds
        .map(|second| (second * 1000.0).round() as i64)
        .collect::<Vec<_>>();
    times.sort_unstable();
    let first = times.first().copied().unwrap_or(0);
    times.iter_mut().for_each(|time| *time -= first);
    times
}

/// Digest and time of each packet of a stream of a file, in seconds.
pub fn packets(file: &Path, stream: &str) -> Vec<(String, f64)> {
    let args = ["-v", "error", "-select_streams", stream, "-show_data_hash", "md5"];
    let shown = ["-show_entries", "packet=pts_time,data_hash", "-of", "compact=p=0"];
    let output = tool("ffprobe")
        .args(args)
        .args(shown)
        .arg(file)
        .output()
        .expect("ffprobe runs");
    let text = String::from_utf8(output.stdout).expect("text");
    // A container's words beside a packet stand between the two, and in lines of their own.
    let mut time = None;
    let fields = text.split(['|', '\n']);
    let packets = fields.filter_map(|field| match field.split_once('=')? {
        ("pts_time", seconds) => {
            time = seconds.parse().ok();
            None
        }
        ("data_hash", digest) => Some((digest.to_owned(), time?)),
        _ => None,
    });
    packets.collect()
}

/// Presentation times of a stream's packets in seconds, in order.
fn stamps(file: &Path, stream: &str) -> Vec<f64> {
    let mut stamps: Vec<f64> = packets(file, stream).into_iter().map(|(_, time)| time).collect();
    stamps.sort_by(f64::total_cmp);
    stamps
}

/// Fails unless each picture of a stream that was received whole, and each packet of sound of which the first may be
/// missing, has the distance from the first picture that it has in the original.
pub fn assert_in_step(original: &Path, received: &Path) {
    /// Half of the unit of Matroska's times at both ends, and what the files' own times are rounded by.
    const ROUNDED: f64 = 0.0025;
    let later = |stream: &str, missing: usize| {
        let [original, received] = [original, received].map(|file| stamps(file, stream));
        let fewer = original.len().checked_sub(received.len());
        let fewer = fewer.filter(|fewer| *fewer <= missing);
        let fewer = fewer.unwrap_or_else(|| panic!("{stream}: {} of {} packets", received.len(), original.len()));
        let pairs = original.iter().skip(fewer).zip(&received);
        pairs
            .map(|(original, received)| received - original)
            .collect::<Vec<f64>>()
    };
    let (picture, sound) = (later("v", 0), later("a", usize::MAX));
    assert!(sound.len() > 10, "{} packets of sound", sound.len());
    for delay in picture.iter().chain(&sound) {
        let first = picture[0];
        assert!(
            (delay - first).abs() <= ROUNDED,
            "{delay} s later, and the first picture {first} s"
        );
    }
}

/// Opens a file without pacing, to be read at full speed.
pub fn unpaced(file: &Path) -> FileSource {
    FileSource::open(
        file,
        FileOptions {
            paced: false,
            ..FileOptions::default()
        },
    )
    .expect("the clip opens")
}

/// A frame as a viewer receives it.
pub fn received(frame: &Frame) -> ReceivedFrame {
    ReceivedFrame {
        number: frame.number,
        keyframe: frame.keyframe,
        media_time: frame.media_time,
        opened: Instant::now(),
        data: frame.data.clone(),
    }
}

/// Pumps up to `limit` pictures, and the sound between them, from a source into a sink; returns the pictures.
pub fn pump(source: &mut dyn Source, sink: &mut dyn Sink, limit: usize) -> Vec<Frame> {
    sink.start(&source.info()).expect("the sink takes the stream");
    if let Some(sound) = source.sound() {
        sink.start_sound(&sound).expect("the sink takes the sound");
    }
    let mut frames = Vec::new();
    while frames.len() < limit {
        let Some(frame) = source.next().expect("the source delivers") else {
            break;
        };
        if frame.track == Track::Sound {
            sink.write_sound(&received(&frame)).expect("the sink writes sound");
            continue;
        }
        sink.write(&received(&frame)).expect("the sink writes");
        frames.push(frame);
    }
    sink.finish().expect("the sink finishes");
    frames
}
