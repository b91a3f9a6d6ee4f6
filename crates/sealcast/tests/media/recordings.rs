//! MP4 recordings of streams that are not simple: sizes that change, B pictures beside sound, clocks that stand.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use sealcast::media::{Codec, FrameRate, ReceivedFrame, StreamInfo};
use sealcast::sink;
use sealcast_testkit::media::{ffmpeg, path, pictures, pump, times, tool, unpaced};
use sealcast_testkit::skips::skipped;

const ALL: usize = usize::MAX;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A byte stream of 60 pictures whose size changes three times, as of a camera that is set to another one.
pub(super) fn with_three_sizes(dir: &Path, codec: &str) -> PathBuf {
    let ending = if codec == "libx264" { "h264" } else { "h265" };
    let parts = [("320x240", 0), ("640x480", 1), ("320x240", 2), ("640x480", 3)].map(|(size, number)| {
        let part = dir.join(format!("{number}.{ending}"));
        // Other pictures in each part: one of the wrong part would be noticed.
        let input = format!("testsrc2=size={size}:rate=15,hue=h={}", 80 * number);
        let common = [
            "-f", "lavfi", "-i", &input, "-t", "1", "-pix_fmt", "yuv420p", "-g", "5", "-bf", "0",
        ];
        let encoder: &[&str] = match ending {
            "h264" => &["-c:v", codec, "-tune", "zerolatency"],
            _ => &[
                "-c:v",
                codec,
                "-preset",
                "ultrafast",
                "-x265-params",
                "log-level=none:bframes=0:repeat-headers=1",
            ],
        };
        ffmpeg(&[&common[..], encoder, &[path(&part)]].concat());
        fs::read(part).expect("the part")
    });
    let whole = dir.join(format!("whole.{ending}"));
    fs::write(&whole, parts.concat()).expect("space");
    whole
}

fn record(input: &Path, url: &str) -> usize {
    let mut sink = sink::open(url).expect("the sink opens");
    pump(&mut unpaced(input), &mut *sink, ALL).len()
}

fn holds(file: &Path, name: &[u8]) -> bool {
    fs::read(file)
        .expect("the file")
        .windows(name.len())
        .any(|window| window == name)
}

/// Statements of ffprobe about a file.
pub(super) fn probed(file: &Path, arguments: &[&str]) -> String {
    let output = tool("ffprobe")
        .args(["-v", "error", "-of", "csv=p=0"])
        .args(arguments)
        .arg(file)
        .output();
    let output = output.expect("ffprobe runs");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn seconds(file: &Path) -> f64 {
    let text = probed(file, &["-show_entries", "format=duration"]);
    text.parse().unwrap_or_else(|_| panic!("{text:?} is no length"))
}

#[test]
fn a_recording_over_changes_of_size_has_the_pictures_of_the_stream() {
    let dir = scratch();
    for (codec, begun, changed) in [("libx264", b"avc1", b"avc3"), ("libx265", b"hvc1", b"hev1")] {
        let input = with_three_sizes(dir.path(), codec);
        let expected = pictures(&["-i", path(&input)]);
        assert_eq!(expected.len(), 60);
        let output = dir.path().join(format!("{codec}.mp4"));
        assert_eq!(record(&input, &format!("file:{}", output.display())), 60);
        assert_eq!(pictures(&["-i", path(&output)]), expected, "{codec}");
        let entry = |name: &[u8; 4]| holds(&output, &[&[0, 0, 0, 1][..], &entry_length(&output), name].concat());
        assert!(entry(changed) && !entry(begun), "{codec}");
        // Read by this program, too.
        let again = dir.path().join(format!("again.{codec}.mp4"));
        record(&output, &format!("file:{}", again.display()));
        assert_eq!(pictures(&["-i", path(&again)]), expected, "{codec}");
    }
}

/// The length of the first sample entry.
fn entry_length(file: &Path) -> Vec<u8> {
    let bytes = fs::read(file).expect("the file");
    let at = bytes
        .windows(4)
        .position(|name| name == b"stsd")
        .expect("a sample table");
    bytes[at + 12..at + 16].to_vec()
}

/// The pictures of a recording as GStreamer takes it apart, in a byte stream.
fn parsed_by_gstreamer(file: &Path, codec: &str) -> Option<PathBuf> {
    let (parser, format, ending) = match codec {
        "libx264" => ("h264parse", "video/x-h264", "h264"),
        _ => ("h265parse", "video/x-h265", "h265"),
    };
    for element in ["qtdemux", parser] {
        let found = Command::new("gst-inspect-1.0").args(["--exists", element]).status();
        if !found.is_ok_and(|status| status.success()) {
            skipped(format_args!("GStreamer has no {element}"));
            return None;
        }
    }
    let stream = file.with_extension(format!("parsed.{ending}"));
    let format = format!("{format},stream-format=byte-stream,alignment=au");
    let places = [file, &stream].map(|place| format!("location={}", path(place)));
    let pipeline = [
        "filesrc", &places[0], "!", "qtdemux", "!", parser, "!", &format, "!", "filesink", &places[1],
    ];
    let output = tool("timeout")
        .args(["120", "gst-launch-1.0", "-q"])
        .args(pipeline)
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(stream)
}

#[test]
fn gstreamer_reads_every_picture_of_a_recording_over_changes_of_size() {
    let dir = scratch();
    for codec in ["libx264", "libx265"] {
        let input = with_three_sizes(dir.path(), codec);
        let file = dir.path().join(format!("{codec}.mp4"));
        record(&input, &format!("file:{}", file.display()));
        let Some(parsed) = parsed_by_gstreamer(&file, codec) else {
            return;
        };
        let pictures_of = |file: &Path| pictures(&["-i", path(file)]);
        let (read, expected) = (pictures_of(&parsed), pictures_of(&input));
        assert_eq!((read.len(), expected.len()), (60, 60), "{codec}");
        assert_eq!(read, expected, "{codec}");
    }
}

#[test]
fn a_recording_without_a_change_keeps_the_names_that_every_player_knows() {
    let dir = scratch();
    for (codec, name) in [("libx264", "avc1"), ("libx265", "hvc1")] {
        let whole = with_three_sizes(dir.path(), codec);
        let input = whole.with_file_name(format!("0.{}", whole.extension().expect("an ending").display()));
        let output = dir.path().join("out.mp4");
        record(&input, &format!("file:{}?overwrite", output.display()));
        assert_eq!(probed(&output, &["-show_entries", "stream=codec_tag_string"]), name);
    }
}

#[test]
fn a_pipe_goes_on_over_changes_of_size() {
    let dir = scratch();
    for codec in ["libx264", "libx265"] {
        let input = with_three_sizes(dir.path(), codec);
        let pipe = dir.path().join(format!("{codec}.pipe.mp4"));
        let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs");
        assert!(made.success());
        let reader = thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut all = Vec::new();
                File::open(pipe)
                    .expect("the pipe")
                    .read_to_end(&mut all)
                    .expect("bytes");
                all
            }
        });
        record(&input, &format!("file:{}", pipe.display()));
        let arrived = dir.path().join(format!("{codec}.arrived.mp4"));
        fs::write(&arrived, reader.join().expect("the reader")).expect("space");
        assert_eq!(
            pictures(&["-i", path(&arrived)]),
            pictures(&["-i", path(&input)]),
            "{codec}"
        );
    }
}

#[test]
fn each_segment_has_one_size_and_all_together_each_picture_once() {
    let dir = scratch();
    for codec in ["libx264", "libx265"] {
        let input = with_three_sizes(dir.path(), codec);
        let folder = dir.path().join(codec);
        let url = format!("file:{}/%Y-%m-%d/%H-%M-%S.mp4?segment=1h", folder.display());
        record(&input, &url);
        let index = folder.join("%Y-%m-%d+%H-%M-%S.mp4.index");
        let index = fs::read_to_string(index).expect("the index");
        let files = index
            .lines()
            .map(|line| folder.join(line.trim_start_matches("+ ")))
            .collect::<Vec<_>>();
        assert_eq!(files.len(), 4, "{index}");
        let mut all = Vec::new();
        for (number, file) in files.iter().enumerate() {
            let size = ["320,240", "640,480"][number % 2];
            assert_eq!(probed(file, &["-show_entries", "stream=width,height"]), size);
            let part = input.with_file_name(format!("{number}.{}", input.extension().expect("an ending").display()));
            assert_eq!(
                pictures(&["-i", path(file)]),
                pictures(&["-i", path(&part)]),
                "{number}"
            );
            all.push(probed(
                file,
                &["-count_packets", "-show_entries", "stream=nb_read_packets"],
            ));
        }
        assert_eq!(all, ["15"; 4]);
    }
}

#[test]
fn b_pictures_are_as_far_from_the_sound_as_in_the_source() {
    let dir = scratch();
    let input = dir.path().join("b.mp4");
    let picture = ["-f", "lavfi", "-i", "testsrc2=size=160x120:rate=25"];
    let sound = ["-f", "lavfi", "-i", "sine=440:sample_rate=48000"];
    let encoders = [
        "-t", "4", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-bf", "3", "-g", "25", "-c:a", "aac",
    ];
    ffmpeg(&[&picture[..], &sound, &encoders, &[path(&input)]].concat());
    let output = dir.path().join("out.mp4");
    assert_eq!(record(&input, &format!("file:{}", output.display())), 100);
    assert_eq!(pictures(&["-i", path(&output)]), pictures(&["-i", path(&input)]));
    assert_eq!(times(&output), times(&input));
    let begins = |file: &Path, stream| {
        let times = probed(file, &["-select_streams", stream, "-show_entries", "packet=pts_time"]);
        let times = times
            .lines()
            .filter_map(|line| line.trim_end_matches(',').parse::<f64>().ok());
        times.fold(f64::INFINITY, f64::min)
    };
    let apart = |file: &Path| begins(file, "v:0") - begins(file, "a:0");
    let moved = apart(&output) - apart(&input);
    assert!(moved.abs() < 0.001, "{moved} s later");
    // Players do not read offsets below zero alike.
    let order = probed(&output, &["-select_streams", "v:0", "-show_entries", "packet=pts,dts"]);
    for line in order.lines() {
        let (shown, decoded) = line.trim_end_matches(',').split_once(',').expect("two numbers");
        let number = |text: &str| text.parse::<i64>().expect("a number");
        assert!(number(shown) >= number(decoded), "{line}");
    }
    assert!((seconds(&output) - 4.0).abs() < 0.06, "{}", seconds(&output));
}

#[test]
fn the_header_says_when_the_recording_began() {
    let dir = scratch();
    let output = dir.path().join("out.mp4");
    let mut sink = sink::open(&format!("file:{}", output.display())).expect("the sink opens");
    sink.start(&jpegs()).expect("fine");
    for number in 0..30 {
        sink.stamped(1_000_000_000_000_000_000 + number * 40_000_000, None);
        sink.write(&picture(number, Duration::from_millis(40 * number)))
            .expect("space");
    }
    sink.finish().expect("space");
    let tags = "format_tags=creation_time:stream_tags=creation_time";
    assert_eq!(
        probed(&output, &["-show_entries", tags]).lines().next(),
        Some("2001-09-09T01:46:40.000000Z")
    );
}

fn jpegs() -> StreamInfo {
    StreamInfo {
        codec: Codec::Mjpeg,
        width: 16,
        height: 16,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: Vec::new(),
    }
}

fn picture(number: u64, media_time: Duration) -> ReceivedFrame {
    let mut image = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut image, 60);
    let shade = u8::try_from(number * 7 % 256).expect("a byte");
    encoder
        .encode(&[shade; 256], 16, 16, jpeg_encoder::ColorType::Luma)
        .expect("a picture");
    ReceivedFrame {
        number,
        keyframe: true,
        media_time,
        opened: Instant::now(),
        data: image.into(),
    }
}

#[test]
fn the_last_picture_and_those_of_a_clock_that_stands_have_their_length() {
    let dir = scratch();
    let of = |name: &str, time: &dyn Fn(u64) -> u64| {
        let output = dir.path().join(name);
        let mut sink = sink::open(&format!("file:{}", output.display())).expect("the sink opens");
        sink.start(&jpegs()).expect("fine");
        for number in 0..50 {
            sink.write(&picture(number, Duration::from_millis(time(number))))
                .expect("space");
        }
        sink.finish().expect("space");
        assert_eq!(
            probed(&output, &["-count_frames", "-show_entries", "stream=nb_read_frames"]),
            "50",
            "{name}"
        );
        seconds(&output)
    };
    assert!((of("even.mp4", &|number| 40 * number) - 2.0).abs() < 0.001);
    assert!((of("standing.mp4", &|_| 7000) - 2.0).abs() < 0.001);
    // Pairs of the same time.
    assert!((of("pairs.mp4", &|number| 80 * (number / 2)) - 2.0).abs() < 0.05);
    // A pause before the last picture is not its length.
    assert!((of("pause.mp4", &|number| 40 * number + if number == 49 { 5000 } else { 0 }) - 7.0).abs() < 0.001);
    assert!(of("back.mp4", &|number| 5000 - 20 * number) > 1.9);
}
