//! Tests of encoders that follow a target bit rate, on the moving test card.

use std::num::NonZeroU32;
use std::time::Duration;

use super::{BareDecoder, H264Encoder, H264Settings, JpegRate, jpeg};
use crate::media::{Codec, FrameRate, Picture};
use crate::source::test_card::{CardClock, CardPainter};

const HZ: u64 = 25;
const RATE: FrameRate = FrameRate {
    numerator: HZ as u32,
    denominator: 1,
};

/// Draws consecutive pictures of a card of 640x480.
struct Pictures {
    painter: CardPainter,
    number: u32,
}

impl Pictures {
    fn new() -> Self {
        Self {
            painter: CardPainter::new(640, 480).expect("it fits"),
            number: 0,
        }
    }

    /// Encodes pictures for `seconds`; returns the bits per second and the number of keyframes.
    fn encode(&mut self, seconds: u64, mut encode: impl FnMut(&Picture) -> (usize, bool)) -> (u64, u32) {
        let (mut bytes, mut keyframes) = (0, 0);
        for _ in 0..seconds * HZ {
            let clock = CardClock {
                event: self.number,
                wall_us: u64::from(self.number) * 40_000,
            };
            let picture = self.painter.paint(clock, Duration::from_millis(40) * self.number);
            self.number += 1;
            let (size, keyframe) = encode(picture);
            bytes += size as u64;
            keyframes += u32::from(keyframe);
        }
        (bytes * 8 / seconds, keyframes)
    }
}

fn assert_near(made: u64, target: u64) {
    assert!(
        made.abs_diff(target) * 4 < target,
        "{made} bit/s for a target of {target}"
    );
}

fn encoder(bitrate: u32, gop: u32) -> H264Encoder {
    let mut settings = H264Settings::new(640, 480, RATE, bitrate);
    settings.keyframe_interval = NonZeroU32::new(gop);
    H264Encoder::new(settings).expect("an encoder")
}

fn h264(encoder: &mut H264Encoder, picture: &Picture) -> (usize, bool) {
    let (data, keyframe) = encoder.encode(picture).expect("it encodes");
    (data.len(), keyframe)
}

#[test]
fn h264_follows_its_target_up_and_down_with_keyframes_at_intervals_and_without() {
    for gop in [50, 0] {
        let (mut encoder, mut pictures) = (encoder(2_000_000, gop), Pictures::new());
        for target in [2_000_000, 600_000, 3_000_000, 1_000_000, 300_000] {
            encoder.set_bitrate(target);
            // A rise may wait up to two seconds.
            pictures.encode(2, |picture| h264(&mut encoder, picture));
            let (made, _) = pictures.encode(4, |picture| h264(&mut encoder, picture));
            assert_near(made, target.into());
        }
    }
}

#[test]
fn a_deep_fall_shows_within_a_second() {
    let (mut encoder, mut pictures) = (encoder(3_000_000, 50), Pictures::new());
    pictures.encode(3, |picture| h264(&mut encoder, picture));
    encoder.set_bitrate(500_000);
    let (made, _) = pictures.encode(1, |picture| h264(&mut encoder, picture));
    assert!(made < 800_000, "{made}");
}

#[test]
fn h264_makes_few_more_keyframes_however_restless_the_target_is() {
    let (mut encoder, mut pictures) = (encoder(1_000_000, 50), Pictures::new());
    let mut number = 0_u32;
    let (_, keyframes) = pictures.encode(20, |picture| {
        number += 1;
        encoder.set_bitrate(if number.is_multiple_of(2) { 1_000_000 } else { 850_000 });
        h264(&mut encoder, picture)
    });
    assert!((10..=21).contains(&keyframes), "{keyframes} in 20 s");

    let (mut encoder, mut pictures) = (self::encoder(1_000_000, 50), Pictures::new());
    let (_, keyframes) = pictures.encode(20, |picture| {
        encoder.set_bitrate(1_090_000);
        h264(&mut encoder, picture)
    });
    assert_eq!(keyframes, 10, "a change of less than a tenth restarted the encoder");
}

#[test]
fn what_is_encoded_across_restarts_decodes_without_a_gap() {
    let (mut encoder, mut pictures) = (encoder(1_000_000, 0), Pictures::new());
    let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
    for target in [1_000_000, 300_000, 2_000_000] {
        encoder.set_bitrate(target);
        pictures.encode(3, |picture| {
            let (data, keyframe) = encoder.encode(picture).expect("it encodes");
            assert!(!keyframe || data.starts_with(encoder.parameters()));
            assert!(decoder.decode(&data).expect("it decodes").is_some());
            (data.len(), keyframe)
        });
    }
}

#[test]
fn motion_jpeg_follows_its_target_up_and_down() {
    let (mut rate, mut pictures) = (JpegRate::new(RATE, 90), Pictures::new());
    for target in [6_000_000, 3_000_000, 5_000_000, 2_500_000] {
        rate.set_bitrate(target);
        let mut encode = |picture: &Picture| {
            let data = jpeg::encode(picture, rate.quality()).expect("it encodes");
            rate.made(data.len());
            (data.len(), true)
        };
        pictures.encode(1, &mut encode);
        let (made, _) = pictures.encode(4, &mut encode);
        assert_near(made, target);
    }
}
