//! Input of a viewer's sinks from a publisher: parameter sets and frames into MP4, images into the page. A file that
//! was written can be read again, and nothing but whole images reaches a browser.
#![no_main]

use std::io::Cursor;
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use sealcast::fuzzing::mp4;
use sealcast::media::{Codec, FrameRate, ReceivedFrame, StreamInfo};
use sealcast::source::h264::{Stream, nal_units, read_sps};
use sealcast::source::{Container, av1, h265};
use sealcast_fuzz::frames;
use sealcast_proto::unit::JpegWalker;

/// Bytes before the stream: its kind, how its times go, and what its description says.
const HEAD: usize = 16;

fuzz_target!(|bytes: &[u8]| {
    let Some((head, stream)) = bytes.split_first_chunk::<HEAD>() else {
        return;
    };
    let pair = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let codec = [Codec::H264, Codec::Mjpeg, Codec::H265, Codec::Av1][usize::from(head[0] % 4)];
    let cut = usize::from(pair(14)).min(stream.len());
    let info = StreamInfo {
        codec,
        width: pair(2),
        height: pair(4),
        rate: FrameRate {
            numerator: u32::from(pair(6)) << (head[10] % 17),
            denominator: u32::from(pair(8)) << (head[11] % 17),
        },
        parameters: if codec.predicts() {
            stream[..cut].to_vec()
        } else {
            Vec::new()
        },
    };
    // A session hands out no other description.
    if !info.is_valid() {
        return;
    }
    let frames: Vec<ReceivedFrame> = (0..)
        .zip(frames(codec, stream))
        .map(|(number, data)| ReceivedFrame {
            number,
            keyframe: number == 0 || head[12].wrapping_mul(number as u8) % 8 == 0,
            media_time: time(head[1], head[13], number),
            opened: Instant::now(),
            data: data.into(),
        })
        .collect();
    sets(&info, &frames);
    for frame in &frames {
        if let Some(length) = JpegWalker::image(&frame.data) {
            let image = &frame.data[..length];
            assert!(image.starts_with(&[0xff, 0xd8]) && image.ends_with(&[0xff, 0xd9]));
            assert_eq!(JpegWalker::image(image), Some(length), "an image is one by itself");
        }
    }
    if let Ok(file) = mp4(&info, &frames)
        && let Ok(mut container) = Container::open(Cursor::new(&file[..]), None)
    {
        for _ in 0..=frames.len() {
            if !matches!(container.next_frame(), Ok(Some(_))) {
                break;
            }
        }
    }
});

/// Times that go on, stand still, go back, or jump to the end of time.
fn time(mode: u8, step: u8, number: u64) -> Duration {
    let step = u64::from(step) * 1_000_000;
    Duration::from_nanos(match mode % 8 {
        0 => number.wrapping_mul(step),
        1 => u64::MAX - number.wrapping_mul(step),
        2 => u64::MAX,
        3 => (number ^ 3).wrapping_mul(step),
        4 => number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        5 => (number % 2).wrapping_mul(u64::MAX),
        6 => number.wrapping_mul(step << 20),
        _ => 0,
    })
}

fn sets(info: &StreamInfo, frames: &[ReceivedFrame]) {
    let (mut stream, mut newer, mut other) = (Stream::default(), h265::Stream::default(), av1::Stream::default());
    let units = frames.iter().map(|frame| &frame.data[..]);
    for unit in units.chain([&info.parameters[..]]) {
        for nal in nal_units(unit) {
            let _ = read_sps(nal);
            let _ = stream.learn(nal);
            let _ = h265::read_sps(nal);
            let _ = newer.learn(nal);
        }
        let _ = av1::read_sequence(unit);
        let _ = other.learn(unit);
        let (_, _) = (newer.finish(unit.to_vec().into()), other.finish(unit.to_vec().into()));
    }
    let learnt = stream.info(None);
    assert!(!stream.is_decodable() || learnt.codec == Codec::H264);
    assert!(!newer.is_decodable() || newer.info(None).codec == Codec::H265);
    assert!(!other.is_decodable() || other.info(None).is_valid());
}
