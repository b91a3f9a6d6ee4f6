//! H.265 and AV1 in files and from cameras: what goes in comes out, and keyframes are known.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use sealcast::codec::BareDecoder;
use sealcast::failure::FailureKind;
use sealcast::media::{Codec, Frame, FrameRate};
use sealcast::sink;
use sealcast::source::{Container, Source, annexb, av1, h265, obu};
use sealcast_proto::unit::nal_units;
use sealcast_testkit::coded::{GROUP, PICTURES, coded_clip, keyframes, probed, rewrapped, stored};
use sealcast_testkit::media::{path, pictures, pump, times, unpaced};
use sealcast_testkit::servers::gstreamer;

use super::rtsp_cameras::{receive_all, scratch};

const ALL: usize = usize::MAX;

fn frames(file: &Path) -> Vec<Frame> {
    let mut source = unpaced(file);
    std::iter::from_fn(|| source.next().expect("a frame")).collect()
}

/// Plays a file to another.
fn recorded(input: &Path, output: &Path) {
    let mut sink = sink::open(&format!("file:{}", output.display())).expect("the sink opens");
    assert_eq!(pump(&mut unpaced(input), &mut *sink, ALL).len(), PICTURES);
}

/// True if a keyframe has all that a decoder needs to begin.
fn is_self_contained(codec: Codec, data: &[u8]) -> bool {
    if codec == Codec::Av1 {
        return data.first() == Some(&0x0a);
    }
    let kinds: Vec<u8> = nal_units(data).map(|nal| nal[0] >> 1).collect();
    [32, 33, 34].iter().all(|set| kinds.contains(set))
}

#[test]
fn files_of_h265_and_av1_are_described_and_their_keyframes_known() {
    let dir = scratch();
    let (h265, av1) = (
        coded_clip(dir.path(), "clip.h265.mp4"),
        coded_clip(dir.path(), "clip.av1.mp4"),
    );
    let (raw, obus) = (rewrapped(&h265, "clip.h265"), rewrapped(&av1, "clip.obu"));
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    for (file, codec) in [
        (&h265, Codec::H265),
        (&raw, Codec::H265),
        (&av1, Codec::Av1),
        (&obus, Codec::Av1),
    ] {
        let info = unpaced(file).info();
        let found = (info.codec, info.width, info.height, info.rate);
        assert_eq!(found, (codec, 160, 90, rate), "{}", file.display());
        assert!(info.is_valid() && !info.parameters.is_empty(), "{}", file.display());
        let frames = frames(file);
        assert_eq!(frames.len(), PICTURES, "{}", file.display());
        // Of a file with times, whichever the byte stream is.
        let expected = keyframes(if codec == Codec::H265 { &h265 } else { &av1 });
        let count = expected.iter().filter(|keyframe| **keyframe).count();
        assert_eq!(
            (expected.len(), count),
            (PICTURES, PICTURES.div_ceil(GROUP)),
            "{}",
            file.display()
        );
        for (at, frame) in frames.iter().enumerate() {
            assert_eq!(frame.keyframe, expected[at], "{}: frame {at}", file.display());
            assert!(
                !frame.keyframe || is_self_contained(codec, &frame.data),
                "{}: frame {at}",
                file.display()
            );
            assert!(
                codec != Codec::Av1 || !frame.data.starts_with(&av1::DELIMITER),
                "{}",
                file.display()
            );
        }
    }
    // Of a fragmented file, of the other kind of entry, and in the other order of pictures.
    let hev1 = dir.path().join("fragments.mp4");
    let form = ["-c", "copy", "-tag:v", "hvc1", "-movflags", "frag_keyframe+empty_moov"];
    sealcast_testkit::media::ffmpeg(&[&["-i", path(&h265)], &form[..], &[path(&hev1)]].concat());
    let again = frames(&hev1);
    let same = frames(&h265)
        .iter()
        .zip(&again)
        .all(|(one, other)| one.data == other.data);
    assert!(same && again.len() == PICTURES, "the same frames");
}

#[test]
fn h265_and_av1_are_recorded_as_they_came() {
    let dir = scratch();
    for (name, other, probe) in [
        ("clip.h265.mp4", "clip.h265", "hevc,160,90"),
        ("clip.av1.mp4", "clip.obu", "av1,160,90"),
    ] {
        let input = coded_clip(dir.path(), name);
        let (mp4, bytes) = (
            dir.path().join(format!("out-{name}")),
            dir.path().join(format!("out-{other}")),
        );
        recorded(&input, &mp4);
        recorded(&input, &bytes);
        assert_eq!((probed(&mp4), probed(&bytes)), (probe.to_owned(), probe.to_owned()));
        assert_eq!(stored(&mp4), stored(&input), "{name}");
        assert_eq!(times(&mp4), times(&input), "{name}");
        let original = pictures(&["-i", path(&input)]);
        assert_eq!(original.len(), PICTURES);
        assert_eq!(pictures(&["-i", path(&mp4)]), original, "{name}");
        assert_eq!(pictures(&["-i", path(&bytes)]), original, "{other}");
        // And the recordings play again.
        let (again, back) = (
            dir.path().join(format!("again-{name}")),
            dir.path().join(format!("back-{other}")),
        );
        recorded(&mp4, &again);
        recorded(&bytes, &back);
        assert_eq!(stored(&again), stored(&input), "{name} again");
        assert_eq!(
            fs::read(&back).expect("a file"),
            fs::read(&bytes).expect("a file"),
            "{other} again"
        );
    }
}

#[test]
fn byte_streams_are_cut_alike_whatever_pieces_they_come_in() {
    let dir = scratch();
    let h265 = fs::read(rewrapped(&coded_clip(dir.path(), "clip.h265.mp4"), "clip.h265")).expect("a file");
    let av1 = fs::read(rewrapped(&coded_clip(dir.path(), "clip.av1.mp4"), "clip.obu")).expect("a file");
    let (units, temporal) = (
        annexb::split_h265_units(&h265).expect("units"),
        obu::split_temporal_units(&av1).expect("units"),
    );
    assert_eq!((units.len(), temporal.len()), (PICTURES, PICTURES));
    assert_eq!((units.concat(), temporal.concat()), (h265.clone(), av1.clone()));
    for size in [1, 2, 3, 5, 64, 4099] {
        let (mut splitter, mut cut) = (annexb::Splitter::h265(), Vec::new());
        for piece in h265.chunks(size) {
            splitter.push(piece);
            cut.extend(std::iter::from_fn(|| splitter.next_unit().expect("a unit")));
        }
        cut.extend(splitter.finish());
        assert_eq!(cut, units, "in pieces of {size}");
        let (mut splitter, mut cut) = (obu::Splitter::default(), Vec::new());
        for piece in av1.chunks(size) {
            splitter.push(piece);
            cut.extend(std::iter::from_fn(|| splitter.next_unit().expect("a unit")));
        }
        cut.extend(splitter.finish());
        assert_eq!(cut, temporal, "in pieces of {size}");
    }
}

#[test]
fn damaged_streams_are_read_or_refused_in_words() {
    let dir = scratch();
    let (h265, av1) = (
        coded_clip(dir.path(), "clip.h265.mp4"),
        coded_clip(dir.path(), "clip.av1.mp4"),
    );
    let (mut seed, mut refused, mut read) = (0x5eed_u64, 0, 0);
    let files = [rewrapped(&h265, "clip.h265"), rewrapped(&av1, "clip.obu"), h265, av1];
    for file in files.map(|file| fs::read(file).expect("a file")) {
        for round in 0..200 {
            let mut bytes = file.clone();
            for _ in 0..=round % 8 {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                // Most parameters stand at the beginning, or at the end of an MP4 file.
                let reach = if seed & 1 == 0 {
                    bytes.len()
                } else {
                    400.min(bytes.len())
                };
                let at = (seed >> 33) as usize % reach;
                let at = if seed & 2 == 0 { at } else { bytes.len() - 1 - at };
                bytes[at] ^= (seed >> 8) as u8 | 1;
            }
            let Ok(mut container) = Container::open(Cursor::new(bytes), None) else {
                refused += 1;
                continue;
            };
            for _ in 0..2 * PICTURES {
                match container.next_frame() {
                    Ok(Some(frame)) => read += usize::from(!frame.data.is_empty()),
                    Ok(None) => break,
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
        }
    }
    assert!(refused > 0 && read > PICTURES, "{refused} refused, {read} frames read");
    // No sequence header, and one that asks for more than can be.
    assert!(av1::read_sequence(&[]).is_err() && av1::read_sequence(&[0; 2000]).is_err());
    assert!(h265::read_sps(&[0x42, 1]).is_err());
}

#[test]
fn what_cannot_decode_h265_and_av1_says_so() {
    let dir = scratch();
    for (name, title) in [("clip.h265.mp4", "H.265"), ("clip.av1.mp4", "AV1")] {
        let file = coded_clip(dir.path(), name);
        let info = unpaced(&file).info();
        let mut page = sink::open("http://127.0.0.1:0").expect("a page");
        let failure = page.start(&info).expect_err("no decoder");
        assert_eq!(failure.kind, FailureKind::Sink);
        assert!(
            failure.what.contains(title) && failure.what.contains("http:"),
            "{failure}"
        );
        assert!(failure.hint.contains("file:OUT.mp4"), "{failure}");
        let Err(failure) = BareDecoder::new(info.codec) else {
            panic!("there is no decoder of {title}");
        };
        assert!(failure.what.contains(title), "{failure}");
        let out = dir.path().join("out.h264");
        let mut h264 = sink::open(&format!("file:{}", out.display())).expect("the sink opens");
        let failure = h264.start(&info).expect_err("another codec");
        assert!(
            failure.what.contains(title) && failure.hint.contains(".mp4"),
            "{failure}"
        );
    }
}

#[test]
fn gstreamers_h265_comes_bit_for_bit_over_tcp_and_udp() {
    let dir = scratch();
    let file = coded_clip(dir.path(), "in-order.h265.mp4");
    let slices = |frame: &Frame| -> Vec<Vec<u8>> {
        let slices = nal_units(&frame.data).filter(|nal| nal[0] >> 1 < 32);
        slices.map(<[u8]>::to_vec).collect()
    };
    let expected: Vec<_> = frames(&file).iter().map(slices).collect();
    let server = gstreamer(&file, &[]);
    for transport in ["tcp", "udp"] {
        let (camera, received) = receive_all(&format!("{}?transport={transport}", server.url()), GROUP);
        let info = camera.info();
        assert_eq!((info.codec, info.width, info.height), (Codec::H265, 160, 90));
        assert!(info.is_valid() && !info.parameters.is_empty());
        assert!(received[0].keyframe && is_self_contained(Codec::H265, &received[0].data));
        let first = expected.iter().position(|frame| *frame == slices(&received[0]));
        let first = first.expect("the first frame is one of the file's");
        for (at, frame) in received.iter().enumerate() {
            assert_eq!(
                slices(frame),
                expected[(first + at) % PICTURES],
                "frame {at} of the run from {first}"
            );
        }
    }
}
