//! Malformed files, and recordings that end abruptly: each gives one clear failure, no panic, and no unbounded memory.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use sealcast::failure::{Failure, FailureKind};
use sealcast::sink::{FileSink, Sink};
use sealcast::source::{Container, FileOptions, FileSource, MAX_FRAME_BYTES, Source};
use sealcast_testkit::media::{STREET, STREET_MJPEG, clip, ffmpeg, path, received, tool, unpaced};

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn failure(file: &Path) -> Failure {
    let failure = match FileSource::open(
        file,
        FileOptions {
            paced: false,
            ..FileOptions::default()
        },
    ) {
        Err(failure) => failure,
        Ok(mut source) => loop {
            match source.next() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{} should fail", file.display()),
                Err(failure) => break failure,
            }
        },
    };
    assert_eq!(failure.kind, FailureKind::Source);
    assert!(
        failure.what.starts_with(path(file)) && !failure.hint.is_empty(),
        "{failure}"
    );
    failure
}

fn short_clip(dir: &Path, name: &str, args: &[&str]) -> PathBuf {
    let file = dir.join(name);
    let input = ["-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=1"];
    ffmpeg(&[&input[..], args, &["-pix_fmt", "yuvj420p", path(&file)]].concat());
    file
}

#[test]
fn what_sealcast_does_not_carry_is_named() {
    let dir = scratch();
    let audio = dir.path().join("audio.mp4");
    ffmpeg(&["-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", path(&audio)]);
    let cases = [
        (audio, "holds audio,"),
        (
            short_clip(dir.path(), "part2.mp4", &["-c:v", "mpeg4"]),
            "MPEG-4 part 2 video",
        ),
        (short_clip(dir.path(), "vp9.mp4", &["-c:v", "libvpx-vp9"]), "VP9"),
    ];
    for (file, name) in cases {
        let failure = failure(&file);
        assert!(
            failure.what.contains(name) && failure.hint.contains("-c:v libx264"),
            "{failure}"
        );
    }
}

#[test]
fn a_container_that_is_not_read_is_answered_with_how_to_rewrap_it() {
    let dir = scratch();
    for (name, codec, told) in [
        ("clip.mkv", "libx264", "Matroska"),
        ("clip.ts", "libx264", "MPEG transport stream"),
        ("clip.flv", "libx264", "Flash"),
        ("clip.avi", "libx264", "H264 video in AVI"),
        ("clip.ivf", "libaom-av1", "IVF"),
    ] {
        let file = short_clip(dir.path(), name, &["-c:v", codec, "-bf", "0"]);
        let failure = failure(&file);
        assert!(failure.what.contains(told), "{failure}");
        assert!(failure.hint.contains("ffmpeg -i IN -c copy OUT.mp4"), "{failure}");
        let rewrapped = dir.path().join("rewrapped.mp4");
        ffmpeg(&["-i", path(&file), "-c", "copy", path(&rewrapped)]);
        FileSource::open(&rewrapped, FileOptions::default()).expect("it plays now");
    }
}

#[test]
fn what_cannot_be_opened_is_told() {
    let dir = scratch();
    assert!(failure(&dir.path().join("missing.mp4")).hint.contains("check the path"));
    assert!(failure(dir.path()).hint.contains("name a file in it"));
    assert!(failure(Path::new("/dev/zero")).hint.contains("standard input"));
    let write = |name: &str, content: &[u8]| {
        let file = dir.path().join(name);
        std::fs::write(&file, content).expect("space");
        file
    };
    assert!(failure(&write("empty.mp4", b"")).what.contains("holds no frames"));
    assert!(
        failure(&write("text.mp4", b"this is a text, not a film"))
            .what
            .contains("no format known")
    );
    assert!(
        failure(&write("zeros.h264", &[0; 9000]))
            .what
            .contains("no format known")
    );
}

#[test]
fn a_file_that_breaks_off_delivers_what_it_has_and_fails() {
    let dir = scratch();
    let mp4 = short_clip(
        dir.path(),
        "whole.mp4",
        &["-c:v", "libx264", "-movflags", "+faststart", "-bf", "0"],
    );
    let fragments = [
        "-c:v",
        "libx264",
        "-g",
        "5",
        "-bf",
        "0",
        "-movflags",
        "+frag_keyframe+empty_moov",
    ];
    let fragmented = short_clip(dir.path(), "fragments.mp4", &fragments);
    let avi = short_clip(dir.path(), "whole.avi", &["-c:v", "mjpeg"]);
    let mjpeg = short_clip(dir.path(), "whole.mjpeg", &["-c:v", "mjpeg"]);
    for file in [mp4, fragmented, avi, mjpeg] {
        let whole = std::fs::read(&file).expect("the file");
        std::fs::write(&file, &whole[..whole.len() * 3 / 4]).expect("space");
        let mut source = unpaced(&file);
        let mut frames = 0;
        let failure = loop {
            match source.next() {
                Ok(Some(_)) => frames += 1,
                Ok(None) => panic!("{} should fail", file.display()),
                Err(failure) => break failure,
            }
        };
        assert!(failure.what.contains("breaks off"), "{failure}");
        assert!((8..25).contains(&frames), "{frames} frames of {}", file.display());
        assert!(source.next().expect("a failed source is at its end").is_none());
    }
}

#[test]
fn an_index_at_the_end_that_was_cut_off_is_told() {
    let dir = scratch();
    let file = short_clip(dir.path(), "cut.mp4", &["-c:v", "libx264"]);
    let whole = std::fs::read(&file).expect("the file");
    std::fs::write(&file, &whole[..whole.len() / 2]).expect("space");
    assert!(failure(&file).what.contains("before its index"), "{}", failure(&file));
}

/// A small deterministic generator, so that the damage is the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }
}

#[test]
fn damage_anywhere_is_an_error_and_never_a_panic() {
    let dir = scratch();
    let x264 = ["-c:v", "libx264", "-g", "5", "-bf", "2", "-b_strategy", "0"];
    let fragments = [&x264[..], &["-movflags", "+frag_keyframe+empty_moov"]].concat();
    let files = [
        short_clip(dir.path(), "a.mp4", &[&x264[..], &["-movflags", "+faststart"]].concat()),
        short_clip(dir.path(), "b.mp4", &fragments),
        short_clip(dir.path(), "c.h264", &x264),
        short_clip(dir.path(), "d.avi", &["-c:v", "mjpeg"]),
        short_clip(dir.path(), "e.mjpeg", &["-c:v", "mjpeg"]),
    ];
    let mut dice = Dice(7);
    for file in files {
        let whole = std::fs::read(&file).expect("the file");
        for round in 0..1500 {
            let mut broken = whole.clone();
            // Most of the damage is at the beginning of the file, where the lengths are.
            let reach = if round % 3 == 0 {
                whole.len()
            } else {
                whole.len().min(2500)
            };
            for _ in 0..1 + dice.below(4) {
                let at = dice.below(reach);
                match dice.below(4) {
                    0 => broken[at] ^= 1 << dice.below(8),
                    1 => broken[at] = [0, 1, 0x7f, 0x80, 0xff][dice.below(5)],
                    2 => broken[at..(at + 4).min(whole.len())].fill([0, 0xff][dice.below(2)]),
                    _ => broken.truncate(whole.len() - dice.below(whole.len())),
                }
                if broken.len() < whole.len() {
                    break;
                }
            }
            let Ok(mut container) = Container::open(Cursor::new(broken), None) else {
                continue;
            };
            let mut frames = 0;
            while let Ok(Some(frame)) = container.next_frame() {
                assert!(frame.data.len() <= MAX_FRAME_BYTES);
                frames += 1;
                assert!(frames < 10_000, "a small file has no end");
            }
        }
    }
}

#[test]
fn a_recording_whose_process_was_killed_plays_but_for_its_last_second() {
    let dir = scratch();
    for (input, name) in [
        (STREET, "killed.mp4"),
        (STREET_MJPEG, "killed.mjpeg"),
        (STREET, "killed.h264"),
    ] {
        let mut source = unpaced(&clip(input, dir.path()));
        let output = dir.path().join(name);
        let mut sink = FileSink::create(&output, false).expect("the sink opens");
        sink.start(&source.info()).expect("it takes the stream");
        for _ in 0..110 {
            let frame = source.next().expect("a frame").expect("no end");
            sink.write(&received(&frame)).expect("space");
        }
        // A process that is killed neither finishes nor drops anything.
        std::mem::forget(sink);
        let count = [
            "-v",
            "error",
            "-count_frames",
            "-show_entries",
            "stream=nb_read_frames",
            "-of",
            "csv=p=0",
        ];
        let found = tool("ffprobe").args(count).arg(&output).output().expect("ffprobe runs");
        assert!(found.stderr.is_empty(), "{}", String::from_utf8_lossy(&found.stderr));
        let frames = String::from_utf8_lossy(&found.stdout)
            .trim()
            .parse::<usize>()
            .expect("a number");
        assert!((85..=110).contains(&frames), "{frames} of 110 frames in {name}");
    }
}
