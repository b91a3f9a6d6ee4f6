//! Sound that begins when the header of its recording has long been written.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use sealcast::media::Track;
use sealcast::sink::{FileSink, Sink as _};
use sealcast::source::Source as _;
use sealcast_testkit::media::{BUNNY, clip, ffmpeg, packets, path, received, tool, unpaced};

/// When sound begins.
const LATE: Duration = Duration::from_millis(2_300);
/// Lips are in time within this many seconds.
const LIPS: f64 = 0.040;

/// Four seconds of a clip with sound in this form.
fn clip_with(name: &str, sound: &[&str], dir: &Path) -> PathBuf {
    let cut = dir.join(name);
    let input = clip(BUNNY, dir);
    let head = ["-i", path(&input), "-t", "4", "-c:v", "copy"];
    ffmpeg(&[&head[..], sound, &[path(&cut)]].concat());
    cut
}

/// Writes a clip without the sound of its beginning. Without `finish` the file is that of a process that was killed.
fn record(clip: &Path, output: &Path, finish: bool) {
    let mut source = unpaced(clip);
    let mut sink = FileSink::create(output, false).expect("the sink opens");
    sink.start(&source.info()).expect("it takes the stream");
    let mut silent = true;
    while let Some(frame) = source.next().expect("the clip is fine") {
        match frame.track {
            Track::Picture => sink.write(&received(&frame)).expect("space"),
            Track::Sound if frame.media_time < LATE => {}
            Track::Sound => {
                if std::mem::take(&mut silent) {
                    let sound = source.sound().expect("the clip has sound");
                    sink.start_sound(&sound).expect("the file takes it");
                }
                sink.write_sound(&received(&frame)).expect("space");
            }
        }
    }
    if finish {
        sink.finish().expect("space");
    } else {
        std::mem::forget(sink);
    }
}

/// Names of a file's streams by ffprobe, which must report no error in it.
fn streams(file: &Path) -> Vec<String> {
    let args = ["-v", "warning", "-show_entries", "stream=codec_name", "-of", "csv=p=0"];
    let found = tool("ffprobe").args(args).arg(file).output().expect("ffprobe runs");
    assert!(found.stderr.is_empty(), "{}", String::from_utf8_lossy(&found.stderr));
    let text = String::from_utf8(found.stdout).expect("text");
    text.lines().map(|line| line.trim_end_matches(',').to_owned()).collect()
}

/// Fails unless the sound of `recorded` is that of `original` from some packet on, at the place that it has there.
fn assert_is_the_rest(original: &Path, recorded: &Path, ends: bool) {
    let [all, got] = [original, recorded].map(|file| packets(file, "a:0"));
    let [picture, first] = [original, recorded].map(|file| packets(file, "v:0")[0].1);
    let begin = all
        .iter()
        .position(|packet| packet.0 == got[0].0)
        .expect("a packet of the original");
    assert!(begin > 0 && got.len() >= 20, "{} packets from {begin} on", got.len());
    for (expected, got) in all[begin..].iter().zip(&got) {
        assert_eq!(expected.0, got.0);
        let later = (got.1 - first) - (expected.1 - picture);
        assert!(later.abs() <= LIPS, "{later} s later");
    }
    if ends {
        assert_eq!(got.len(), all.len() - begin);
    }
}

#[test]
fn sound_that_begins_late_is_in_the_file_from_its_first_packet_on_and_in_time() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for (name, sound) in [
        ("aac.mp4", &["-c:a", "copy"][..]),
        ("opus.mp4", &["-ac", "2", "-c:a", "libopus"]),
    ] {
        let original = clip_with(name, sound, dir.path());
        for finish in [true, false] {
            let recorded = dir.path().join(format!("{finish}-{name}"));
            record(&original, &recorded, finish);
            assert_eq!(streams(&recorded), streams(&original), "{name}");
            assert_is_the_rest(&original, &recorded, finish);
            if finish {
                let picture = |file: &Path| {
                    packets(file, "v:0")
                        .into_iter()
                        .map(|packet| packet.0)
                        .collect::<Vec<_>>()
                };
                assert_eq!(picture(&recorded), picture(&original), "{name}");
            }
        }
    }
}

#[test]
fn a_pipe_whose_header_is_gone_has_its_picture_without_late_sound() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let original = clip_with("aac.mp4", &["-c:a", "copy"], dir.path());
    let pipe = dir.path().join("pipe.mp4");
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
    record(&original, &pipe, true);
    let arrived = dir.path().join("arrived.mp4");
    fs::write(&arrived, reader.join().expect("the reader")).expect("space");
    assert_eq!(streams(&arrived), ["h264"]);
    assert_eq!(packets(&arrived, "v:0").len(), packets(&original, "v:0").len());
}
