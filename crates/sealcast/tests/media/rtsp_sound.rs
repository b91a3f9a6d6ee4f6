//! The sound of RTSP cameras, from GStreamer's server: as it is, and in time with the picture.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use sealcast::media::{Frame, SoundCodec, Track};
use sealcast::sink::{FileSink, Sink as _};
use sealcast::source::Source;
use sealcast_testkit::coded::coded_clip;
use sealcast_testkit::media::{BUNNY, STREET, clip, path, received, tool, unpaced};
use sealcast_testkit::program::PATIENCE;
use sealcast_testkit::servers::{gstreamer, jpeg_clip};

use super::rtsp_cameras::{open, scratch};

/// Lips are in time within this.
const LIPS: Duration = Duration::from_millis(40);

/// Frames of picture and sound until there are so many packets of sound.
fn heard(camera: &mut dyn Source, packets: usize) -> Vec<Frame> {
    let (mut frames, mut count) = (Vec::new(), 0);
    let began = Instant::now();
    while count < packets {
        assert!(began.elapsed() < PATIENCE, "{count} packets of sound");
        let frame = camera.next().expect("a frame").expect("no end");
        count += usize::from(frame.track == Track::Sound);
        frames.push(frame);
    }
    frames
}

fn of(track: Track, frames: &[Frame]) -> Vec<&Frame> {
    frames.iter().filter(|frame| frame.track == track).collect()
}

/// Lead of the camera's media time over the file's, for each packet that the file has too.
fn ahead(camera: &[&Frame], file: &HashMap<Vec<u8>, Duration>) -> Vec<f64> {
    let known = camera.iter().filter_map(|frame| {
        let at = file.get(&frame.data[..])?;
        Some(frame.media_time.as_secs_f64() - at.as_secs_f64())
    });
    known.collect()
}

fn times(file: &[Frame], track: Track) -> HashMap<Vec<u8>, Duration> {
    let (mut times, mut twice) = (HashMap::new(), Vec::new());
    for frame in of(track, file) {
        if times.insert(frame.data.to_vec(), frame.media_time).is_some() {
            twice.push(frame.data.to_vec());
        }
    }
    // Silence looks the same at all times.
    twice.iter().for_each(|data| {
        times.remove(data);
    });
    times
}

fn median(mut values: Vec<f64>) -> f64 {
    assert!(values.len() >= 10, "{values:?}");
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_aac_of_a_camera_comes_bit_for_bit_and_lips_are_in_time() {
    let dir = scratch();
    let file = clip(BUNNY, dir.path());
    let mut source = unpaced(&file);
    let described = source.sound().expect("the clip has sound");
    let whole: Vec<Frame> = std::iter::from_fn(|| source.next().expect("a frame")).collect();
    let server = gstreamer(&file, &["--audio"]);
    for transport in ["tcp", "udp"] {
        let mut camera = open(&format!("{}?transport={transport}", server.url()));
        let sound = camera.sound().expect("the camera has sound");
        assert_eq!((sound.codec, sound.channels), (SoundCodec::Aac, described.channels));
        assert_eq!(sound.samples_per_second, described.samples_per_second);
        let frames = heard(&mut *camera, 90);
        let file_times = [Track::Picture, Track::Sound].map(|track| times(&whole, track));
        let sounds = of(Track::Sound, &frames);
        let known = ahead(&sounds, &file_times[1]);
        assert!(
            known.len() * 10 >= sounds.len() * 8,
            "{} of {} packets",
            known.len(),
            sounds.len()
        );
        let pictures = of(Track::Picture, &frames);
        let skew = median(known) - median(ahead(&pictures, &file_times[0]));
        assert!(skew.abs() <= LIPS.as_secs_f64(), "{transport}: {skew} s");
        drop(camera);
    }
}

#[test]
fn the_g711_of_a_camera_comes_as_it_is() {
    let dir = scratch();
    let file = clip(STREET, dir.path());
    for (law, codec) in [("pcmu", SoundCodec::Ulaw), ("pcma", SoundCodec::Alaw)] {
        let server = gstreamer(&file, &["--law", law]);
        let mut camera = open(&server.url());
        let sound = camera.sound().expect("the camera has sound");
        assert_eq!(
            (sound.codec, sound.channels, sound.samples_per_second),
            (codec, 1, 8000)
        );
        let frames = heard(&mut *camera, 60);
        let sounds = of(Track::Sound, &frames);
        let samples: usize = sounds[..59].iter().map(|frame| frame.data.len()).sum();
        let lasted = sounds[59].media_time - sounds[0].media_time;
        let missing = lasted.as_secs_f64() - samples as f64 / 8000.0;
        // What a busy machine drops is missing from the samples, and never too many come.
        assert!((-0.005..1.0).contains(&missing), "{law}: {missing} s");
        // A tone is no silence.
        assert!(
            sounds
                .iter()
                .all(|frame| frame.data.iter().any(|&byte| byte != frame.data[0]))
        );
    }
}

/// Opens the camera, listens, and checks that pictures came and as much sound as time has passed; returns what came.
/// `samples`: those of a packet, if they are not its bytes.
fn assert_heard(url: &str, codec: SoundCodec, samples: Option<usize>) -> (Box<dyn Source>, Vec<Frame>) {
    let mut camera = open(url);
    let sound = camera.sound().expect("the camera has sound");
    assert_eq!(sound.codec, codec);
    let frames = heard(&mut *camera, 60);
    let sounds = of(Track::Sound, &frames);
    let counted = |frame: &Frame| samples.unwrap_or(frame.data.len());
    let whole: usize = sounds[..59].iter().map(|frame| counted(frame)).sum();
    let lasted = sounds[59].media_time - sounds[0].media_time;
    let missing = lasted.as_secs_f64() - whole as f64 / f64::from(sound.samples_per_second);
    // What a busy machine drops is missing from the samples, and never too many come, but for the 6.5 ms by which an
    // encoder of Opus is behind: its first packet lasts so much shorter.
    assert!((-0.01..1.0).contains(&missing), "{url}: {missing} s");
    let pictures = of(Track::Picture, &frames);
    assert!(pictures.len() >= 10, "{url}: {} pictures", pictures.len());
    (camera, frames)
}

/// Writes what came of a camera into a file, and returns the frequency of its sound, in hertz.
fn tone(camera: &dyn Source, frames: &[Frame], file: &Path) -> f64 {
    let mut sink = FileSink::create(file, true).expect("the sink opens");
    sink.start(&camera.info()).expect("it takes the stream");
    sink.start_sound(&camera.sound().expect("sound"))
        .expect("it takes the sound");
    for frame in frames {
        match frame.track {
            Track::Picture => sink.write(&received(frame)).expect("space"),
            Track::Sound => sink.write_sound(&received(frame)).expect("space"),
        }
    }
    sink.finish().expect("space");
    let mut decoder = tool("ffmpeg");
    decoder.args(["-v", "error", "-i", path(file), "-map", "0:a"]);
    decoder.args(["-ac", "1", "-ar", "8000", "-f", "s16le", "-"]);
    let decoded = decoder.output().expect("ffmpeg runs");
    assert!(
        decoded.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&decoded.stderr)
    );
    let samples: Vec<i16> = decoded
        .stdout
        .chunks_exact(2)
        .map(|pair| i16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    assert!(samples.len() >= 8000, "{} samples", samples.len());
    let waves = samples.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
    waves as f64 * 8000.0 / samples.len() as f64
}

#[test]
fn the_sound_of_a_motion_jpeg_camera_comes_beside_its_pictures() {
    let dir = scratch();
    let file = jpeg_clip(dir.path());
    for (law, codec, samples) in [
        ("pcmu", SoundCodec::Ulaw, None),
        ("aac", SoundCodec::Aac, Some(1024)),
        ("opus", SoundCodec::Opus, Some(960)),
    ] {
        let server = gstreamer(&file, &["--law", law]);
        for transport in ["tcp", "udp"] {
            assert_heard(&format!("{}?transport={transport}", server.url()), codec, samples);
        }
    }
}

#[test]
fn the_opus_of_a_camera_comes_beside_every_picture_and_is_the_tone_that_it_was() {
    let dir = scratch();
    for clip in [clip(STREET, dir.path()), coded_clip(dir.path(), "clip.h265.mp4")] {
        let server = gstreamer(&clip, &["--law", "opus"]);
        for transport in ["tcp", "udp"] {
            let url = format!("{}?transport={transport}", server.url());
            let (camera, frames) = assert_heard(&url, SoundCodec::Opus, Some(960));
            assert_eq!(camera.sound().map(|sound| sound.channels), Some(2));
            let hertz = tone(&*camera, &frames, &dir.path().join("heard.mp4"));
            assert!((430.0..450.0).contains(&hertz), "{url}: {hertz} Hz");
        }
    }
}

#[test]
fn sound_that_cannot_be_carried_leaves_the_picture() {
    let dir = scratch();
    let server = gstreamer(&clip(STREET, dir.path()), &["--law", "g722"]);
    let mut camera = open(&server.url());
    assert_eq!(camera.sound(), None);
    for _ in 0..30 {
        let frame = camera.next().expect("a frame").expect("no end");
        assert_eq!(frame.track, Track::Picture);
    }
}
