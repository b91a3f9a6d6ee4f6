//! Containers for players behind a pipe, as ffmpeg reads them: pictures, sound, times, and what has no form in them.

use std::fs::File;
use std::path::{Path, PathBuf};

use sealcast::media::{Codec, PipeFormat, SoundCodec, SoundInfo, Track};
use sealcast::sink::{Sink, StdoutSink};
use sealcast::source::Source;
use sealcast_testkit::coded::{coded_clip, stored};
use sealcast_testkit::media::{
    BUNNY, STREET, STREET_MJPEG, assert_in_step, clip, ffmpeg, path, pictures, pump, received, times, unpaced,
};
use sealcast_testkit::program::home;

use super::recordings::{probed, with_three_sizes};

const FORMATS: [(PipeFormat, &str); 2] = [(PipeFormat::Matroska, "mkv"), (PipeFormat::MpegTs, "ts")];
const ALL: usize = usize::MAX;

/// Writes a file of frames to a pipe's stream of bytes.
fn piped(from: &Path, (format, ending): (PipeFormat, &str)) -> PathBuf {
    let out = from.with_extension(format!("out.{ending}"));
    let mut sink = sink_to(&out, format);
    pump(&mut unpaced(from), &mut sink, ALL);
    out
}

fn sink_to(out: &Path, format: PipeFormat) -> StdoutSink<File> {
    let mut sink = StdoutSink::to(File::create(out).expect("a file")).in_format(format);
    sink.leave_nothing_out();
    sink
}

/// The digest of the sound of a file, packet by packet, as MP4 holds it.
fn sound(file: &Path) -> String {
    let whole = file.with_extension("sound.mp4");
    ffmpeg(&["-i", path(file), "-map", "0:a", "-c", "copy", path(&whole)]);
    let digest = ffmpeg(&["-i", path(&whole), "-c", "copy", "-f", "streamhash", "-"]);
    String::from_utf8(digest).expect("text")
}

#[test]
fn picture_and_sound_of_a_clip_are_the_clips_own_and_in_time() {
    let dir = home();
    let whole = clip(BUNNY, dir.path());
    let opus = ["-ac", "2", "-c:a", "libopus"];
    let late = ["-ac", "1", "-af", "adelay=500", "-c:a", "aac"];
    let surround = ["-ac", "6", "-c:a", "libopus", "-mapping_family", "1"];
    for (name, coding) in [
        ("aac", &["-c:a", "copy"][..]),
        ("opus", &opus),
        ("late", &late),
        ("six", &surround),
    ] {
        let from = dir.path().join(format!("{name}.mp4"));
        ffmpeg(&[&["-i", path(&whole), "-t", "3", "-c:v", "copy"], coding, &[path(&from)]].concat());
        for format in FORMATS {
            let out = piped(&from, format);
            assert_eq!(
                pictures(&["-i", path(&out)]),
                pictures(&["-i", path(&from)]),
                "{name} {format:?}"
            );
            assert_eq!(sound(&out), sound(&from), "{name} {format:?}");
            assert_in_step(&from, &out);
        }
    }
}

#[test]
fn pictures_that_are_reordered_keep_order_and_times() {
    let dir = home();
    for (name, encoder) in [("b.mp4", "libx264"), ("b.h265.mp4", "libx265")] {
        let from = dir.path().join(name);
        let input = [
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=160x90:rate=25:duration=2",
            "-pix_fmt",
            "yuv420p",
        ];
        let coding = [
            "-c:v",
            encoder,
            "-preset",
            "fast",
            "-bf",
            "3",
            "-g",
            "25",
            "-x265-params",
            "log-level=none",
        ];
        ffmpeg(&[&input[..], &coding, &[path(&from)]].concat());
        for format in FORMATS {
            let out = piped(&from, format);
            let expected = pictures(&["-i", path(&from)]);
            assert_eq!(expected.len(), 50);
            assert_eq!(pictures(&["-i", path(&out)]), expected, "{name} {format:?}");
            assert_eq!(times(&out), times(&from), "{name} {format:?}");
        }
    }
}

#[test]
fn a_stream_goes_on_over_changes_of_size() {
    let dir = home();
    for codec in ["libx264", "libx265"] {
        let from = with_three_sizes(dir.path(), codec);
        for format in FORMATS {
            let out = piped(&from, format);
            assert_eq!(
                pictures(&["-i", path(&out)]),
                pictures(&["-i", path(&from)]),
                "{codec} {format:?}"
            );
            let sizes = probed(&out, &["-select_streams", "v", "-show_entries", "frame=width"]);
            let sizes = sizes.lines().map(|line| line.trim_end_matches(','));
            let mut sizes: Vec<&str> = sizes.filter(|size| !size.is_empty()).collect();
            sizes.dedup();
            assert_eq!(sizes, ["320", "640", "320", "640"], "{codec} {format:?}");
        }
    }
}

#[test]
fn av1_and_jpeg_are_in_matroska_and_refused_in_words_for_mpeg_ts() {
    let dir = home();
    for (from, name) in [
        (coded_clip(dir.path(), "clip.av1.mp4"), "AV1"),
        (clip(STREET_MJPEG, dir.path()), "Motion JPEG"),
    ] {
        let own = dir.path().join(from.file_name().expect("a name"));
        if own != from {
            std::fs::copy(&from, &own).expect("space");
        }
        let out = piped(&own, FORMATS[0]);
        assert_eq!(stored(&out), stored(&own), "{name}");
        let mut sink = sink_to(&dir.path().join("refused.ts"), PipeFormat::MpegTs);
        let told = sink.start(&unpaced(&own).info()).expect_err("no form").to_string();
        assert!(told.contains(name) && told.contains("use '-?format=mkv'"), "{told}");
    }
}

#[test]
fn g711_is_in_matroska_and_left_out_of_mpeg_ts() {
    let dir = home();
    let street = clip(STREET, dir.path());
    for (codec, named) in [(SoundCodec::Ulaw, "pcm_mulaw,1"), (SoundCodec::Alaw, "pcm_alaw,1")] {
        for ((format, ending), expected) in FORMATS.into_iter().zip([named, ""]) {
            let out = dir.path().join(format!("{}.{ending}", codec.name()));
            let mut source = unpaced(&street);
            let mut sink = sink_to(&out, format);
            sink.start(&source.info()).expect("H.264");
            let info = SoundInfo {
                codec,
                channels: 1,
                samples_per_second: 8000,
                samples_per_frame: 0,
                parameters: Vec::new(),
            };
            sink.start_sound(&info).expect("taken or left out");
            let sent: Vec<u8> = (0..=255).cycle().take(50 * 320).collect();
            for packet in sent.chunks(320) {
                let mut picture = received(&source.next().expect("a picture").expect("no end"));
                sink.write(&picture).expect("written");
                picture.data = packet.to_vec().into();
                sink.write_sound(&picture).expect("written");
            }
            sink.finish().expect("written");
            let asked = ["-select_streams", "a", "-show_entries", "stream=codec_name,channels"];
            assert_eq!(probed(&out, &asked), expected);
            assert_eq!(pictures(&["-i", path(&out)]).len(), 50);
            if !expected.is_empty() {
                let form = if codec == SoundCodec::Ulaw { "mulaw" } else { "alaw" };
                assert_eq!(
                    ffmpeg(&["-i", path(&out), "-map", "0:a", "-c", "copy", "-f", form, "-"]),
                    sent
                );
            }
        }
    }
}

#[test]
fn sound_that_begins_later_is_in_mpeg_ts_and_another_codec_ends_both_in_words() {
    let dir = home();
    let bunny = clip(BUNNY, dir.path());
    for (format, ending) in FORMATS {
        let out = dir.path().join(format!("later.{ending}"));
        let (mut source, mut sink) = (unpaced(&bunny), sink_to(&dir.path().join(&out), format));
        sink.start(&source.info()).expect("H.264");
        let info = source.sound().expect("AAC");
        for number in 0..200 {
            let frame = source.next().expect("a frame").expect("no end");
            if number == 100 {
                sink.start_sound(&info).expect("taken or left out");
            }
            match frame.track {
                Track::Picture => sink.write(&received(&frame)).expect("written"),
                Track::Sound => sink.write_sound(&received(&frame)).expect("written"),
            }
        }
        let sounds = probed(
            &out,
            &[
                "-select_streams",
                "a",
                "-count_packets",
                "-show_entries",
                "stream=nb_read_packets",
            ],
        );
        // It is said of the program as well.
        let sounds: u32 = sounds
            .lines()
            .next()
            .map_or(0, |count| count.parse().expect("a number"));
        assert_eq!(
            sounds > 40,
            format == PipeFormat::MpegTs,
            "{sounds} packets in {format:?}"
        );
        let other = unpaced(&coded_clip(dir.path(), "clip.h265.mp4")).info();
        assert_eq!(other.codec, Codec::H265);
        let told = sink.start(&other).expect_err("another codec").to_string();
        assert!(told.contains("can hold only one codec"), "{told}");
    }
}
