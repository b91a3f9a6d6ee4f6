//! File sources and sinks, checked with ffmpeg: every picture is recorded bit for bit and with its time.

use std::path::Path;
use std::time::{Duration, Instant};

use sealcast::media::{Codec, FrameRate};
use sealcast::sink;
use sealcast::source::{self, FileOptions, FileSource, Source};
use sealcast_testkit::media::{BUNNY, STREET, STREET_MJPEG, clip, ffmpeg, path, pictures, pump, times, unpaced};

const ALL: usize = usize::MAX;

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// Records `input` through a source and a sink to `output` and compares the pictures.
fn assert_same_pictures(input: &Path, output: &Path) {
    let mut source = unpaced(input);
    let mut sink = sink::open(&format!("file:{}", output.display())).expect("the sink opens");
    let frames = pump(&mut source, &mut *sink, ALL);
    let (before, after) = (pictures(&["-i", path(input)]), pictures(&["-i", path(output)]));
    assert!(before.len() > 10, "the clip has pictures");
    assert_eq!(frames.len(), before.len(), "one frame per picture");
    assert_eq!(before, after);
}

#[test]
fn an_mp4_file_becomes_the_same_pictures_as_a_byte_stream() {
    let dir = scratch();
    for name in [STREET, BUNNY] {
        assert_same_pictures(&clip(name, dir.path()), &dir.path().join(format!("{name}.h264")));
    }
}

#[test]
fn an_mp4_recording_has_the_same_pictures_at_the_same_times() {
    let dir = scratch();
    for name in [STREET, BUNNY] {
        let (input, output) = (clip(name, dir.path()), dir.path().join(format!("out-{name}")));
        assert_same_pictures(&input, &output);
        assert_eq!(times(&input), times(&output), "{name}");
    }
}

#[test]
fn an_mp4_recording_can_be_played_again() {
    let dir = scratch();
    let first = dir.path().join("first.mp4");
    assert_same_pictures(&clip(BUNNY, dir.path()), &first);
    assert_same_pictures(&first, &dir.path().join("second.mp4"));
    assert_eq!(times(&first), times(&dir.path().join("second.mp4")));
}

#[test]
fn motion_jpeg_goes_through_every_container() {
    let dir = scratch();
    let input = clip(STREET_MJPEG, dir.path());
    assert_same_pictures(&input, &dir.path().join("out.mjpeg"));
    assert_same_pictures(&input, &dir.path().join("out.mp4"));
    assert_same_pictures(&dir.path().join("out.mjpeg"), &dir.path().join("again.mp4"));
    assert_same_pictures(&dir.path().join("out.mp4"), &dir.path().join("again.mjpeg"));
    assert_eq!(times(&input), times(&dir.path().join("out.mp4")));
}

#[test]
fn the_stream_is_described_as_it_is() {
    let dir = scratch();
    let (street, bunny, jpeg) = (
        clip(STREET, dir.path()),
        clip(BUNNY, dir.path()),
        clip(STREET_MJPEG, dir.path()),
    );
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    for (file, codec, width, height) in [
        (&street, Codec::H264, 640, 480),
        (&bunny, Codec::H264, 1280, 720),
        (&jpeg, Codec::Mjpeg, 640, 480),
    ] {
        let info = unpaced(file).info();
        assert_eq!(
            (info.codec, info.width, info.height, info.rate),
            (codec, width, height, rate)
        );
        assert_eq!(info.parameters.is_empty(), codec == Codec::Mjpeg);
    }
}

#[test]
fn the_content_of_a_file_decides_what_it_is() {
    let dir = scratch();
    let disguised = dir.path().join("clip.avi");
    std::fs::copy(clip(STREET, dir.path()), &disguised).expect("a copy");
    assert_eq!(unpaced(&disguised).info().codec, Codec::H264);
}

#[test]
fn every_keyframe_begins_with_parameter_sets_exactly_once() {
    use sealcast_proto::unit::nal_units;
    let dir = scratch();
    let mut source = unpaced(&clip(STREET, dir.path()));
    let mut keyframes = 0;
    while let Some(frame) = source.next().expect("a frame") {
        let kinds = nal_units(&frame.data).map(|nal| nal[0] & 0x1f).collect::<Vec<_>>();
        let count = |kind| kinds.iter().filter(|found| **found == kind).count();
        let expected = usize::from(frame.keyframe);
        assert_eq!(
            (count(7), count(8)),
            (expected, expected),
            "at {:?}: {kinds:?}",
            frame.media_time
        );
        assert_eq!(frame.keyframe, kinds.contains(&5));
        keyframes += expected;
    }
    assert!(keyframes > 1);
}

/// Files of the same clip from other muxers and encoders.
#[test]
fn files_of_other_makers_play() {
    let dir = scratch();
    let input = clip(BUNNY, dir.path());
    let make = |name: &str, args: &[&str]| {
        let made = dir.path().join(name);
        let small: &[&str] = if args.contains(&"copy") {
            &[]
        } else {
            &["-s", "320x180"]
        };
        let head = [&["-i", path(&input), "-t", "2", "-an"], small].concat();
        ffmpeg(&[&head[..], args, &[path(&made)]].concat());
        made
    };
    let copy = ["-c", "copy"];
    let x264 = ["-c:v", "libx264", "-preset", "ultrafast", "-g", "25"];
    let with = |more: &[&'static str]| [&x264[..], more].concat();
    let files = [
        make("faststart.mp4", &[&copy[..], &["-movflags", "+faststart"]].concat()),
        make(
            "absolute.mp4",
            &[&copy[..], &["-movflags", "+frag_keyframe+empty_moov"]].concat(),
        ),
        make("hybrid.mp4", &[&copy[..], &["-movflags", "+frag_keyframe"]].concat()),
        make(
            "cmaf.mp4",
            &[
                &copy[..],
                &["-movflags", "+cmaf+frag_every_frame", "-frag_duration", "40000"],
            ]
            .concat(),
        ),
        make("clip.mov", &copy),
        make(
            "b-frames.mp4",
            &with(&["-preset", "fast", "-bf", "3", "-b_strategy", "0"]),
        ),
        make(
            "open-gop.mp4",
            &with(&["-bf", "3", "-flags", "-cgop", "-x264-params", "open-gop=1"]),
        ),
        make("slices.mp4", &with(&["-slices", "4"])),
        make("aud.h264", &with(&["-bf", "0", "-x264-params", "aud=1:slices=3"])),
        make("jpeg.mov", &["-c:v", "mjpeg", "-q:v", "8"]),
        make("jpeg.mp4", &["-c:v", "mjpeg", "-q:v", "8"]),
        make("odd-size.mp4", &with(&["-s", "318x178"])),
        make("ntsc.mp4", &with(&["-r", "30000/1001"])),
    ];
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let output = dir.path().join(format!("{name}.out.mp4"));
        assert_same_pictures(&file, &output);
        if file.extension().is_some_and(|extension| extension != "h264") {
            assert_eq!(times(&file), times(&output), "{name}");
        }
    }
}

#[test]
fn b_frames_come_in_decode_order_with_the_times_at_which_they_are_shown() {
    let dir = scratch();
    let file = dir.path().join("b.mp4");
    ffmpeg(&[
        "-f",
        "lavfi",
        "-i",
        "testsrc2=rate=25:duration=2",
        "-c:v",
        "libx264",
        "-bf",
        "3",
        "-b_strategy",
        "0",
        "-pix_fmt",
        "yuv420p",
        path(&file),
    ]);
    let mut source = unpaced(&file);
    let mut shown = Vec::new();
    while let Some(frame) = source.next().expect("a frame") {
        shown.push(frame.media_time.as_millis());
    }
    assert!(
        shown.windows(2).any(|pair| pair[0] > pair[1]),
        "some frame overtakes another"
    );
    shown.sort_unstable();
    assert_eq!(shown, (0..50).map(|n| n * 40).collect::<Vec<_>>());
}

#[test]
fn a_file_plays_in_real_time() {
    let dir = scratch();
    let mut source = FileSource::open(&clip(STREET, dir.path()), FileOptions::default()).expect("the clip opens");
    assert!(source.waits_for_viewers());
    let begin = Instant::now();
    for _ in 0..26 {
        source.next().expect("a frame");
    }
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(990), "{took:?} for 25 intervals");
}

#[test]
fn a_looped_file_goes_on_without_a_seam() {
    let dir = scratch();
    for name in ["loop.mp4", "loop.h264", "loop.avi", "loop.mjpeg"] {
        let file = dir.path().join(name);
        let codec = if name.ends_with("4") { "libx264" } else { "mjpeg" };
        let input = "testsrc2=size=320x240:rate=25:duration=0.4";
        ffmpeg(&[
            "-f",
            "lavfi",
            "-i",
            input,
            "-c:v",
            codec,
            "-bf",
            "0",
            "-pix_fmt",
            "yuvj420p",
            path(&file),
        ]);
        let url = format!("file:{}?loop&unpaced", file.display());
        let mut source = source::open(&url).expect("the clip opens");
        assert!(!source.waits_for_viewers());
        let frames = (0..35)
            .map(|_| source.next().expect("a frame").expect("no end"))
            .collect::<Vec<_>>();
        for (at, frame) in frames.iter().enumerate() {
            assert_eq!(
                frame.media_time,
                Duration::from_millis(40) * u32::try_from(at).expect("small"),
                "{name}"
            );
            assert_eq!(frame.data, frames[at % 10].data, "{name}, frame {at}");
        }
        assert!(frames[10].keyframe && frames[20].keyframe);
    }
}

#[test]
fn a_large_file_is_not_read_into_memory() {
    let dir = scratch();
    let file = dir.path().join("large.mp4");
    let input = clip(STREET, dir.path());
    // The index comes first. A sparse box of 3 GB is appended, which a reader must skip.
    ffmpeg(&["-i", path(&input), "-c", "copy", "-movflags", "+faststart", path(&file)]);
    let before = std::fs::read(&file).expect("the file");
    let mut hole = 3_000_000_000u32.to_be_bytes().to_vec();
    hole.extend_from_slice(b"free");
    let handle = std::fs::OpenOptions::new().append(true).open(&file).expect("the file");
    std::io::Write::write_all(&mut &handle, &hole).expect("a box header");
    handle
        .set_len(before.len() as u64 + 3_000_000_000)
        .expect("a sparse file");
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("the process status");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM"))
            .expect("the peak")
            .to_owned();
        line.split_whitespace()
            .nth(1)
            .expect("a number")
            .parse::<u64>()
            .expect("kilobytes")
    };
    let start = resident();
    let mut source = unpaced(&file);
    let mut count = 0;
    while source.next().expect("a frame").is_some() {
        count += 1;
    }
    assert!(count > 10);
    assert!(
        resident() - start < 200_000,
        "the peak grew by {} kB",
        resident() - start
    );
}

#[test]
fn every_sink_and_the_test_card_open_by_their_urls() {
    let dir = scratch();
    let mut card = source::open("test:320x240@25").expect("a test card");
    for url in ["null:", &format!("file:{}/card.mp4", dir.path().display())] {
        let mut sink = sink::open(url).unwrap_or_else(|e| panic!("{url}: {e}"));
        pump(&mut *card, &mut *sink, 0);
    }
    let mut page = sink::open("http://127.0.0.1:0").expect("a page");
    // This test program is none that decodes behind a fence, and a page without one does not decode by itself.
    let failure = page.start(&card.info()).expect_err("no decoder");
    assert_eq!(failure.kind, sealcast::failure::FailureKind::Sink, "{failure}");
    assert!(failure.what.contains("the decoder's process"), "{failure}");
    for wrong in ["", "null:x", "out.mp4", "rtmp://x/", "file:", "file:out.mp4?shiny"] {
        let failure = sink::open(wrong)
            .err()
            .unwrap_or_else(|| panic!("{wrong} should not open"));
        assert_eq!(
            failure.kind,
            sealcast::failure::FailureKind::Usage,
            "{wrong}: {failure}"
        );
    }
}

#[test]
fn the_test_card_can_be_recorded() {
    let dir = scratch();
    let output = dir.path().join("card.mp4");
    let mut card = source::open("test:320x240@50").expect("a test card");
    let mut sink = sink::open(&format!("file:{}", output.display())).expect("the sink opens");
    let frames = pump(&mut *card, &mut *sink, 30);
    assert_eq!(pictures(&["-i", path(&output)]).len(), frames.len());
}
