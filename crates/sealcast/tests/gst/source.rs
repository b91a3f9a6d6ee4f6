//! Output of real pipelines.

use std::time::Duration;

use sealcast::codec::BareDecoder;
use sealcast::media::{Codec, Frame, Picture, StampKind, StreamInfo};
use sealcast::sink::{FileSink, Sink as _};
use sealcast::source::{Lost, Source, open};
use sealcast_testkit::media::{path, pictures, received};

/// An encoder whose pictures no decoder holds back.
const ENCODER: &str =
    "x264enc tune=zerolatency bitrate=2000 key-int-max=10000 ! video/x-h264,profile=constrained-baseline";
const SMALL: &str = "video/x-raw,width=320,height=240,framerate=25/1";

pub(crate) fn opened(pipeline: &str) -> Box<dyn Source> {
    open(&format!("gst:{pipeline}")).unwrap_or_else(|failure| panic!("{pipeline}: {failure}"))
}

/// All frames up to the end of the stream.
pub(crate) fn all(source: &mut dyn Source) -> Vec<Frame> {
    std::iter::from_fn(|| source.next().expect("no failure")).collect()
}

fn some(source: &mut dyn Source, count: usize) -> Vec<Frame> {
    let frames: Vec<Frame> = std::iter::from_fn(|| source.next().expect("no failure"))
        .take(count)
        .collect();
    assert_eq!(frames.len(), count, "the stream ended");
    frames
}

fn decoded(codec: Codec, frames: &[Frame]) -> Vec<Picture> {
    let mut decoder = BareDecoder::new(codec).expect("a decoder");
    let pictures = frames
        .iter()
        .map(|frame| decoder.decode(&frame.data).expect("it decodes"));
    pictures.flatten().collect()
}

fn keyframes(frames: &[Frame]) -> Vec<usize> {
    (0..frames.len()).filter(|&at| frames[at].keyframe).collect()
}

fn bytes(frames: &[Frame]) -> usize {
    frames.iter().map(|frame| frame.data.len()).sum()
}

fn assert_colour(picture: &Picture, colour: [u8; 3]) {
    for (plane, wanted) in [&picture.y, &picture.u, &picture.v].into_iter().zip(colour) {
        let mean = plane.iter().map(|sample| f64::from(*sample)).sum::<f64>() / plane.len() as f64;
        assert!((mean - f64::from(wanted)).abs() < 3.0, "{mean} and not {wanted}");
    }
}

#[test]
fn h264_of_an_encoder_in_the_pipeline_passes_through() {
    for ending in ["", " ! h264parse", " ! h264parse ! video/x-h264,stream-format=avc"] {
        let encoder = ENCODER.replace("10000", "25");
        let mut source = opened(&format!("videotestsrc num-buffers=50 ! {SMALL} ! {encoder}{ending}"));
        let info = source.info();
        assert_eq!(
            (info.codec, info.width, info.height),
            (Codec::H264, 320, 240),
            "{ending}"
        );
        assert_eq!((info.rate.numerator, info.rate.denominator), (25, 1));
        assert!(source.makes_keyframes() && !source.waits_for_viewers());
        let frames = all(&mut *source);
        assert_eq!((frames.len(), keyframes(&frames)), (50, vec![0, 25]), "{ending}");
        assert_eq!(decoded(Codec::H264, &frames).len(), 50);
        for (number, frame) in (0u32..).zip(&frames) {
            assert_eq!(frame.media_time, Duration::from_millis(40) * number);
            // It is played and not taken, so its stamps mean nothing.
            assert_eq!((frame.stamp, frame.began), (StampKind::Arrival, frame.captured));
        }
    }
}

/// Number of pictures that ffmpeg decodes of these frames, recorded to MP4.
fn recorded(info: &StreamInfo, frames: &[Frame]) -> usize {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = dir.path().join("out.mp4");
    let mut sink = FileSink::create(&file, false).expect("it opens");
    sink.start(info).expect("it takes the stream");
    for frame in frames {
        sink.write(&received(frame)).expect("space");
    }
    sink.finish().expect("space");
    pictures(&["-i", path(&file)]).len()
}

#[test]
fn h265_and_av1_of_encoders_in_the_pipeline_pass_through() {
    let x265 = "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=25 option-string=scenecut=0";
    let aom = "av1enc cpu-used=10 usage-profile=realtime lag-in-frames=0 keyframe-max-dist=25";
    for (codec, encoder, endings) in [
        (
            Codec::H265,
            x265,
            ["", " ! h265parse", " ! h265parse ! video/x-h265,stream-format=hvc1"],
        ),
        (
            Codec::Av1,
            aom,
            ["", " ! av1parse", " ! av1parse ! video/x-av1,alignment=frame"],
        ),
    ] {
        for ending in endings {
            let mut source = opened(&format!("videotestsrc num-buffers=50 ! {SMALL} ! {encoder}{ending}"));
            let info = source.info();
            assert_eq!((info.codec, info.width, info.height), (codec, 320, 240), "{ending}");
            assert_eq!((info.rate.numerator, info.rate.denominator), (25, 1));
            let frames = all(&mut *source);
            assert_eq!(
                (frames.len(), keyframes(&frames)),
                (50, vec![0, 25]),
                "{encoder}{ending}"
            );
            assert_eq!(recorded(&source.info(), &frames), 50, "{encoder}{ending}");
            for (number, frame) in (0u32..).zip(&frames) {
                assert_eq!(
                    frame.media_time,
                    Duration::from_millis(40) * number,
                    "{encoder}{ending}"
                );
            }
        }
    }
}

#[test]
fn motion_jpeg_of_the_pipeline_passes_through() {
    let mut source = opened(&format!("videotestsrc num-buffers=10 ! {SMALL} ! jpegenc"));
    let info = source.info();
    assert_eq!((info.codec, info.width, info.height), (Codec::Mjpeg, 320, 240));
    assert!(!source.makes_keyframes() && !source.set_bitrate(100_000));
    let frames = all(&mut *source);
    assert_eq!(keyframes(&frames).len(), 10);
    assert_eq!(decoded(Codec::Mjpeg, &frames).len(), 10);
}

/// In formats that must be converted, with lines that have padding, and in the colours of another standard.
#[test]
fn raw_pictures_of_any_format_are_encoded_in_their_colours() {
    for caps in [
        "video/x-raw,format=I420",
        "video/x-raw,format=NV12",
        "video/x-raw,format=RGB",
        "video/x-raw,format=I420,colorimetry=bt709",
    ] {
        let red = "videotestsrc num-buffers=5 pattern=solid-color foreground-color=0xffff0000";
        let mut source = opened(&format!(
            "{red} ! {caps},width=322,height=242,framerate=25/1?gop=3&bitrate=4M"
        ));
        let info = source.info();
        assert_eq!((info.codec, info.width, info.height), (Codec::H264, 322, 242));
        assert!(source.makes_keyframes() && source.set_bitrate(u64::MAX));
        let frames = all(&mut *source);
        assert_eq!((frames.len(), keyframes(&frames)), (5, vec![0, 3]), "{caps}");
        for picture in decoded(Codec::H264, &frames) {
            assert_eq!((picture.width, picture.height), (322, 242));
            assert_colour(&picture, [81, 90, 240]);
        }
    }
}

#[test]
fn pictures_of_another_size_go_on_with_a_keyframe() {
    let part = |width, height| {
        format!("videotestsrc num-buffers=5 ! video/x-raw,width={width},height={height},framerate=25/1 ! c.")
    };
    let mut source = opened(&format!("{} {} concat name=c", part(320, 240), part(160, 120)));
    let mut sizes = Vec::new();
    let mut frames = Vec::new();
    while let Some(frame) = source.next().expect("no failure") {
        frames.push(frame);
        sizes.push(source.info().width);
    }
    assert_eq!(sizes, [[320; 5], [160; 5]].concat());
    assert_eq!(keyframes(&frames), [0, 5]);
    assert_eq!(decoded(Codec::H264, &frames[5..]).len(), 5);
}

#[test]
fn coded_pictures_of_another_size_go_on_with_their_own_description() {
    for (codec, chain) in [
        (Codec::H264, "x264enc tune=zerolatency ! h264parse"),
        (
            Codec::H265,
            "x265enc tune=zerolatency speed-preset=ultrafast ! h265parse",
        ),
        (
            Codec::Av1,
            "av1enc cpu-used=10 usage-profile=realtime lag-in-frames=0 ! av1parse",
        ),
    ] {
        let part = |width, height| {
            let caps = format!("video/x-raw,width={width},height={height},framerate=25/1");
            format!("videotestsrc num-buffers=5 ! {caps} ! {chain} ! c.")
        };
        let mut source = opened(&format!("{} {} concat name=c", part(320, 240), part(160, 128)));
        let (mut frames, mut sizes) = (Vec::new(), Vec::new());
        let mut before = source.info();
        let mut halves = Vec::new();
        while let Some(frame) = source.next().expect("no failure") {
            if source.info() != before {
                halves.push((before, std::mem::take(&mut frames)));
                before = source.info();
            }
            sizes.push((before.width, before.height));
            frames.push(frame);
        }
        assert_eq!(sizes, [[(320, 240); 5], [(160, 128); 5]].concat(), "{chain}");
        halves.push((before, frames));
        for (info, frames) in halves {
            assert_eq!((info.codec, keyframes(&frames)), (codec, vec![0]), "{chain}");
            assert_eq!(recorded(&info, &frames), 5, "{chain}");
        }
    }
}

#[test]
fn an_encoder_makes_a_keyframe_when_it_is_asked() {
    let x265 = "x265enc tune=zerolatency speed-preset=ultrafast key-int-max=10000 option-string=scenecut=0";
    for encoder in [ENCODER, "openh264enc gop-size=10000", x265] {
        let mut source = opened(&format!("videotestsrc is-live=true ! {SMALL} ! {encoder}"));
        assert!(source.makes_keyframes(), "{encoder}");
        let before = some(&mut *source, 20);
        assert_eq!(keyframes(&before), [0], "{encoder}");
        source.request_keyframe();
        // What waits in the pipeline is ahead of it.
        let after = some(&mut *source, 40);
        assert_eq!(keyframes(&after).len(), 1, "{encoder}: {:?}", keyframes(&after));
        assert!(keyframes(&after)[0] < 15, "{encoder}: {:?}", keyframes(&after));
        let from_there = &after[keyframes(&after)[0]..];
        assert_eq!(recorded(&source.info(), from_there), from_there.len(), "{encoder}");
    }
}

#[test]
fn an_encoder_that_was_made_elsewhere_is_asked_for_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("clip.h264");
    let mut encoder = opened(&format!(
        "videotestsrc num-buffers=30 ! {SMALL} ! x264enc tune=zerolatency key-int-max=10"
    ));
    let stream: Vec<u8> = all(&mut *encoder)
        .iter()
        .flat_map(|frame| frame.data.to_vec())
        .collect();
    std::fs::write(&file, stream).expect("space");
    let mut source = opened(&format!("filesrc location={} ! h264parse", file.display()));
    assert!(!source.makes_keyframes() && !source.set_bitrate(50_000));
    source.request_keyframe();
    let frames = all(&mut *source);
    assert_eq!((frames.len(), keyframes(&frames)), (30, vec![0, 10, 20]));
}

#[test]
fn an_encoder_whose_unit_is_known_follows_the_rate() {
    let moving = "videotestsrc is-live=true pattern=zone-plate kx2=20 ky2=20 kt=10";
    for encoder in [
        ENCODER,
        "openh264enc rate-control=bitrate bitrate=2000000 gop-size=10000",
        "x265enc tune=zerolatency speed-preset=ultrafast bitrate=2000 key-int-max=10000",
    ] {
        let mut source = opened(&format!("{moving} ! {SMALL} ! {encoder}"));
        some(&mut *source, 30);
        let usual = bytes(&some(&mut *source, 50));
        assert!(source.set_bitrate(300_000), "{encoder}");
        some(&mut *source, 30);
        let less = bytes(&some(&mut *source, 50));
        assert!(less * 2 < usual, "{encoder}: {usual} and then {less} bytes");
        assert!(source.set_bitrate(u64::MAX), "{encoder}");
        some(&mut *source, 30);
        let again = bytes(&some(&mut *source, 50));
        assert!(again > less * 2, "{encoder}: {less} and then {again} bytes");
    }
}

#[test]
fn stamps_of_what_is_live_are_those_of_its_source() {
    // It holds back a third of a second of pictures.
    let held = "queue min-threshold-time=333000000";
    let mut source = opened(&format!(
        "videotestsrc is-live=true ! {SMALL} ! {held} ! x264enc tune=zerolatency"
    ));
    for frame in some(&mut *source, 20) {
        assert_eq!(frame.stamp, StampKind::FrameEnd);
        let age = frame.captured - frame.began;
        assert!(age >= Duration::from_millis(300), "{age:?}");
    }
}

#[test]
fn a_picture_of_the_pipeline_that_is_none_is_left_out_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |number: usize| folder.path().join(format!("{number}.jpg"));
    let mut made = opened(&format!("videotestsrc num-buffers=3 ! {SMALL} ! jpegenc"));
    for (number, frame) in all(&mut *made).iter().enumerate() {
        let cut = frame.data.len() / if number == 1 { 2 } else { 1 };
        std::fs::write(at(number), &frame.data[..cut]).expect("a file");
    }
    let files = folder.path().join("%d.jpg");
    let mut source = opened(&format!(
        "multifilesrc location={} caps=image/jpeg,framerate=25/1",
        path(&files)
    ));
    assert_eq!(all(&mut *source).len(), 2);
    let damaged = Lost {
        damaged: 1,
        ..Lost::default()
    };
    assert_eq!(source.take_lost(), damaged);
}
