use moq_v4l::buffer::Metadata;

use super::*;
use crate::source::Encoding;

const SIZE: (u16, u16) = (64, 48);
const RATE: FrameRate = FrameRate {
    numerator: 25,
    denominator: 1,
};

/// A camera that gives this format and is not open.
fn camera(format: PixelFormat) -> V4l2Source {
    let options = V4l2Options::parse("/dev/video0").expect("a camera");
    let size = (u32::from(SIZE.0), u32::from(SIZE.1));
    let layout = Layout {
        format,
        width: SIZE.0.into(),
        height: SIZE.1.into(),
        stride: usize::from(SIZE.0) * 2,
        full_range: false,
    };
    V4l2Source {
        maker: maker(&options, layout, RATE).expect("an encoder"),
        options,
        choice: Choice {
            code: *b"H264",
            format,
            size,
            rate: RATE,
        },
        rate: RATE,
        streaming: None,
        clock: KernelClock::read(),
        losses: Losses::new(ADVICE),
        ahead: None,
        times: None,
        stamps: Vec::new(),
        backoff: Backoff::new(LONGEST_PAUSE),
    }
}

/// A buffer before which so many were lost.
fn buffer(lost: u32) -> Buffer {
    Buffer {
        metadata: Metadata::default(),
        arrived: Instant::now(),
        lost,
        damaged: false,
    }
}

/// Access units, of which one in four is a keyframe.
fn units(count: usize) -> Vec<Content> {
    let encoding = Encoding {
        gop: Some(4),
        ..Encoding::default()
    };
    let size = (usize::from(SIZE.0), usize::from(SIZE.1));
    let mut encoder = PictureEncoder::new(encoding, size, RATE).expect("an encoder");
    let mut unit = |number: usize| {
        let mut picture = Picture::black(size.0, size.1);
        picture.y.fill(20 + 9 * number as u8);
        let (data, keyframe) = encoder.encode(&picture).expect("it encodes");
        assert_eq!(keyframe, number.is_multiple_of(4), "{number}");
        Content::H264(data)
    };
    (0..count).map(&mut unit).collect()
}

fn lost(dropped: u64, damaged: u64, left_out: u64) -> Lost {
    Lost {
        dropped,
        damaged,
        left_out,
    }
}

#[test]
fn numbers_that_the_driver_left_out_and_damaged_buffers_are_lost_frames() {
    let mut camera = camera(PixelFormat::Mjpeg);
    let image = || Some(Content::Image(Bytes::from_static(&[1]), SIZE));
    assert!(camera.frame_of(image(), &buffer(0)).expect("it works").is_some());
    assert_eq!(camera.take_lost(), lost(0, 0, 0));
    assert!(camera.frame_of(image(), &buffer(3)).expect("it works").is_some());
    assert!(camera.frame_of(None, &buffer(1)).expect("it works").is_none());
    assert_eq!(camera.take_lost(), lost(4, 1, 0));
    // Images do not build on each other.
    assert!(camera.frame_of(image(), &buffer(0)).expect("it works").is_some());
    assert_eq!(camera.take_lost(), lost(0, 0, 0));
}

#[test]
fn h264_after_a_loss_is_left_out_and_counted_up_to_the_next_keyframe() {
    let mut camera = camera(PixelFormat::H264);
    let mut delivered = Vec::new();
    // From the middle of a group on; the one before frame 5 is lost, and frame 9 comes damaged.
    for (number, unit) in units(13).into_iter().enumerate().skip(2) {
        let before = u32::from(number == 5);
        if number == 5 - 1 {
            continue;
        }
        let content = (number != 9).then_some(unit);
        if let Some(frame) = camera.frame_of(content, &buffer(before)).expect("it works") {
            delivered.push((number, frame.keyframe));
        }
    }
    assert_eq!(delivered, [(8, true), (12, true)]);
    // Frames 2, 3, 5, 6 and 7 came before the first keyframe that was delivered: only a loss is counted there.
    assert_eq!(camera.take_lost(), lost(1, 1, 2));
}

#[test]
fn a_loss_right_before_a_keyframe_costs_no_other_frame() {
    let mut camera = camera(PixelFormat::H264);
    let mut delivered = 0;
    for (number, unit) in units(8).into_iter().enumerate() {
        if number != 3 {
            let came = camera.frame_of(Some(unit), &buffer(u32::from(number == 4)));
            delivered += usize::from(came.expect("it works").is_some());
        }
    }
    assert_eq!(delivered, 7);
    assert_eq!(camera.take_lost(), lost(1, 0, 0));
}

#[test]
fn what_is_no_h264_is_damaged() {
    let mut camera = camera(PixelFormat::H264);
    let first = units(1).remove(0);
    assert!(camera.frame_of(Some(first), &buffer(0)).expect("it works").is_some());
    // A sequence parameter set that ends behind its number.
    let broken = Content::H264(Bytes::from_static(&[0, 0, 0, 1, 0x67, 0x42, 0xc0, 0x1e, 0x80]));
    assert!(camera.frame_of(Some(broken), &buffer(0)).expect("it works").is_none());
    assert_eq!(camera.take_lost(), lost(0, 1, 0));
}
