//! The test card: its clock remains readable after coding, also with an independent decoder, and the card keeps time.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sealcast::codec::{BareDecoder, H264Encoder, H264Settings, jpeg};
use sealcast::failure::FailureKind;
use sealcast::media::{Codec, FrameRate, Picture};
use sealcast::source::test_card::{self, CardClock, CardPainter, read_clock};

const RATE: FrameRate = FrameRate {
    numerator: 25,
    denominator: 1,
};
const FRAMES: u32 = 250;

/// A clock value for an event. Over a run all bits change, as those of real times do.
fn clock(event: u32) -> CardClock {
    CardClock {
        event,
        wall_us: 1_795_153_107_123_456 + u64::from(event) * 40_017,
    }
}

fn painter(width: usize, height: usize) -> CardPainter {
    CardPainter::new(width, height).expect("a painter")
}

/// Frames of the moving test card, encoded by `code`.
fn coded(width: usize, height: usize, mut code: impl FnMut(&Picture) -> Vec<u8>) -> Vec<Vec<u8>> {
    let mut painter = painter(width, height);
    (0..FRAMES)
        .map(|event| code(painter.paint(clock(event), Duration::from_millis(40) * event)))
        .collect()
}

fn h264(width: usize, height: usize, bitrate: u32) -> Vec<Vec<u8>> {
    let mut encoder = H264Encoder::new(H264Settings::new(width, height, RATE, bitrate)).expect("an encoder");
    coded(width, height, |picture| encoder.encode(picture).expect("a frame").0)
}

fn assert_all_read(codec: Codec, frames: &[Vec<u8>]) {
    let mut decoder = BareDecoder::new(codec).expect("a decoder");
    for (event, frame) in (0..).zip(frames) {
        let picture = decoder
            .decode(frame)
            .expect("a frame that decodes")
            .expect("a picture for every frame");
        assert_eq!(read_clock(&picture), Some(clock(event)));
    }
}

/// Decodes with ffmpeg, which shares no code with our decoder. Returns the pictures.
fn ffmpeg(format: &str, frames: &[Vec<u8>], width: usize, height: usize) -> Vec<Picture> {
    let mut child = Command::new("ffmpeg")
        .args([
            "-loglevel",
            "error",
            "-f",
            format,
            "-i",
            "-",
            "-fps_mode",
            "passthrough",
        ])
        .args(["-f", "rawvideo", "-pix_fmt", "yuv420p", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("ffmpeg does not start; `cargo xtask test` installs it");
    let mut stdin = child.stdin.take().expect("a pipe");
    let bytes = frames.concat();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes));
    let out = child.wait_with_output().expect("ffmpeg ends").stdout;
    writer
        .join()
        .expect("the writer ends")
        .expect("ffmpeg reads everything");
    let (luma, chroma) = (width * height, width * height / 4);
    out.chunks_exact(luma + 2 * chroma)
        .map(|raw| {
            let (y, uv) = raw.split_at(luma);
            let (u, v) = uv.split_at(chroma);
            Picture {
                width,
                height,
                y: y.to_vec(),
                u: u.to_vec(),
                v: v.to_vec(),
            }
        })
        .collect()
}

#[test]
fn every_clock_survives_h264_at_300_kbit() {
    let frames = h264(640, 480, 300_000);
    let bits = frames.iter().map(Vec::len).sum::<usize>() * 8;
    assert!(bits < 360_000 * FRAMES as usize / 25, "{bits} bits are not 300 kbit/s");
    assert_all_read(Codec::H264, &frames);
    let pictures = ffmpeg("h264", &frames, 640, 480);
    assert_eq!(pictures.len(), FRAMES as usize, "one picture for every frame");
    for (event, picture) in (0..).zip(&pictures) {
        assert_eq!(read_clock(picture), Some(clock(event)));
    }
}

#[test]
fn every_clock_survives_at_small_and_large_sizes() {
    assert_all_read(Codec::H264, &h264(160, 120, 150_000));
    assert_all_read(Codec::H264, &h264(320, 240, 200_000));
    assert_all_read(Codec::H264, &h264(1280, 720, 1_000_000));
}

#[test]
fn every_size_that_is_accepted_can_be_drawn() {
    for width in [160, 162, 318, 854, 1366, 3840] {
        for height in [120, 122, 200, 480, 1078, 2160] {
            let mut painter = painter(width, height);
            for millis in [0, 999, 2650, 5299, 7999, 3_600_001] {
                let drawn = CardClock {
                    event: millis,
                    wall_us: u64::from(millis) * 1_000_003,
                };
                assert_eq!(
                    read_clock(painter.paint(drawn, Duration::from_millis(millis.into()))),
                    Some(drawn)
                );
            }
        }
    }
    // Times outside of the calendar must not break the text.
    let last = CardClock {
        event: u32::MAX,
        wall_us: u64::MAX,
    };
    assert_eq!(read_clock(painter(640, 480).paint(last, Duration::MAX)), Some(last));
    assert!(CardPainter::new(641, 480).is_none() && CardPainter::new(64, 48).is_none());
}

#[test]
fn every_clock_survives_motion_jpeg_at_quality_40() {
    let frames = coded(640, 480, |picture| jpeg::encode(picture, 40).expect("a JPEG"));
    assert_all_read(Codec::Mjpeg, &frames);
    let pictures = ffmpeg("mjpeg", &frames, 640, 480);
    assert_eq!(pictures.len(), FRAMES as usize);
    for (event, picture) in (0..).zip(&pictures) {
        assert_eq!(read_clock(picture), Some(clock(event)));
    }
    // ffmpeg leaves the values in the full range of JPEG; our decoder returns the range of the original.
    let (ours, original) = (
        jpeg::decode(&frames[9]).expect("a picture"),
        painter(640, 480).paint(clock(9), Duration::from_millis(360)).clone(),
    );
    for (name, ours, original, bound) in [
        ("Y", &ours.y, &original.y, 3.0),
        ("U", &ours.u, &original.u, 2.0),
        ("V", &ours.v, &original.v, 2.0),
    ] {
        let apart = ours
            .iter()
            .zip(original)
            .map(|(a, b)| f64::from(a.abs_diff(*b)))
            .sum::<f64>()
            / ours.len() as f64;
        assert!(apart < bound, "plane {name} is {apart} off on average");
    }
}

#[test]
fn ffmpeg_and_our_decoder_agree_on_every_pixel() {
    let frames = h264(640, 480, 800_000);
    let theirs = ffmpeg("h264", &frames, 640, 480);
    let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
    for (frame, theirs) in frames.iter().zip(&theirs) {
        assert!(
            decoder.decode(frame).expect("a frame").as_ref() == Some(theirs),
            "H.264 decoding is exact"
        );
    }
}

#[test]
fn keyframes_come_at_the_interval_and_on_demand_with_parameter_sets() {
    let mut encoder = H264Encoder::new(H264Settings::new(320, 240, RATE, 500_000)).expect("an encoder");
    let parameters = encoder.parameters().to_vec();
    assert!(parameters.starts_with(&[0, 0, 0, 1, 0x67]), "an SPS comes first");
    let mut painter = painter(320, 240);
    let mut keyframes = Vec::new();
    for event in 0..160u32 {
        if event == 70 {
            encoder.request_keyframe();
        }
        let (data, keyframe) = encoder
            .encode(painter.paint(clock(event), Duration::from_millis(40) * event))
            .expect("a frame");
        assert_eq!(data.starts_with(&parameters), keyframe, "frame {event}");
        if keyframe {
            keyframes.push(event);
            // Every keyframe can be decoded without earlier frames.
            let picture = BareDecoder::new(Codec::H264)
                .expect("a decoder")
                .decode(&data)
                .expect("a frame")
                .expect("a picture");
            assert_eq!(read_clock(&picture), Some(clock(event)));
        }
    }
    assert_eq!(keyframes, [0, 50, 70, 120]);
}

#[test]
fn a_missing_frame_is_an_error_until_the_next_keyframe() {
    let frames = h264(320, 240, 300_000);
    let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
    for frame in &frames[..10] {
        decoder.decode(frame).expect("a frame");
    }
    let failure = decoder.decode(&frames[12]).expect_err("frames 10 and 11 are missing");
    assert!(failure.hint.contains("keyframe"), "{failure}");
    let picture = decoder
        .decode(&frames[50])
        .expect("a keyframe heals")
        .expect("a picture");
    assert_eq!(read_clock(&picture), Some(clock(50)));
    assert!(
        BareDecoder::new(Codec::H264)
            .expect("a decoder")
            .decode(&[0, 0, 1, 0x65, 1, 2, 3])
            .is_err()
    );
}

#[test]
fn jpegs_of_cameras_decode_and_others_fail_in_words() {
    for (pixels, size) in [
        ("yuvj420p", "322x242"),
        ("yuvj422p", "320x240"),
        ("yuvj444p", "320x240"),
        ("gray", "321x241"),
    ] {
        let out = Command::new("ffmpeg")
            .args([
                "-loglevel",
                "error",
                "-f",
                "lavfi",
                "-i",
                &format!("testsrc=size={size}:rate=1"),
                "-frames:v",
                "1",
            ])
            .args(["-pix_fmt", pixels, "-f", "mjpeg", "-strict", "-1", "-"])
            .output()
            .expect("ffmpeg does not start; `cargo xtask test` installs it");
        assert!(
            out.status.success(),
            "{pixels}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        let picture = jpeg::decode(&out.stdout).unwrap_or_else(|failure| panic!("{pixels}: {failure}"));
        let wide: usize = size[..3].parse().expect("a width");
        assert_eq!(picture.width, wide & !1, "{pixels}");
        assert_eq!(picture.y.len(), picture.width * picture.height);
    }
    assert!(jpeg::decode(b"").is_err() && jpeg::decode(b"\xFF\xD8 no picture").is_err());
    // A header that announces 65500 by 65500 pixels must not make the decoder allocate them.
    let mut huge = jpeg::encode(&Picture::black(64, 64), 50).expect("a JPEG");
    let size = huge.windows(2).position(|w| w == [0xFF, 0xC0]).expect("a frame header") + 5;
    huge[size..size + 4].copy_from_slice(&[0xFF, 0xDC, 0xFF, 0xDC]);
    assert!(jpeg::decode(&huge).is_err());
}

#[test]
fn keeps_time_without_drift_and_ends_after_the_frames_asked_for() {
    let mut source = test_card::open("320x240@50?frames=60&codec=mjpeg&quality=40").expect("a source");
    let info = source.info();
    assert_eq!(
        (info.codec, info.width, info.height, info.parameters.len()),
        (Codec::Mjpeg, 320, 240, 0)
    );
    let mut frames = Vec::new();
    let began = Instant::now();
    while let Some(frame) = source.next().expect("a frame") {
        let picture = jpeg::decode(&frame.data).expect("a picture");
        assert_eq!(read_clock(&picture).expect("a clock").event, frame.number as u32);
        frames.push(frame);
    }
    assert_eq!(frames.len(), 60);
    assert!(frames[59].number >= 59 && frames.windows(2).all(|pair| pair[0].number < pair[1].number));
    assert!(
        frames
            .iter()
            .all(|frame| frame.media_time == Duration::from_millis(20) * frame.number as u32)
    );
    assert!(
        frames
            .iter()
            .all(|frame| frame.captured <= frame.encoded && frame.keyframe)
    );
    // No frame is early. A late frame has a later number, so that delays do not accumulate.
    assert!(frames.iter().all(|frame| frame.captured >= began + frame.media_time));
}

#[test]
fn a_late_reader_finds_a_gap_in_the_numbers_instead_of_a_queue() {
    let mut source = test_card::open("160x120@50?bars").expect("a source");
    assert!(source.info().parameters.starts_with(&[0, 0, 0, 1, 0x67]));
    let first = source.next().expect("a frame").expect("no end");
    std::thread::sleep(Duration::from_millis(210));
    let asked = Instant::now();
    let next = source.next().expect("a frame").expect("no end");
    assert_eq!(first.number, 0);
    assert!(next.number >= 10, "frame {} is an old one", next.number);
    assert!(next.captured > asked, "the picture is drawn when asked for, not before");
    source.request_keyframe();
    assert!(source.next().expect("a frame").expect("no end").keyframe);
    assert!(!source.next().expect("a frame").expect("no end").keyframe);
}

#[test]
fn bad_words_are_usage_failures() {
    for rest in ["640x", "639x480", "?codec=av1", "?speed=9", "@0"] {
        let failure = test_card::open(rest).err().expect("a failure");
        assert_eq!(failure.kind, FailureKind::Usage, "{failure}");
    }
}
