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

/// The mean squared error of the luma of what `data` decodes to.
fn error_of(decoder: &mut BareDecoder, data: &[u8], picture: &Picture) -> f64 {
    let shown = decoder.decode(data).expect("it decodes").expect("a picture");
    let squares = shown
        .y
        .iter()
        .zip(&picture.y)
        .map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2));
    squares.sum::<f64>() / picture.y.len() as f64
}

/// The peak signal-to-noise ratio in decibels of a mean squared error.
fn decibels(error: f64) -> f64 {
    10.0 * (255.0_f64.powi(2) / error).log10()
}

#[test]
fn h264_follows_its_target_up_and_down_with_keyframes_at_intervals_and_without() {
    for gop in [50, 0] {
        let (mut encoder, mut pictures) = (encoder(3_000_000, gop), Pictures::new());
        for target in [2_000_000, 600_000, 3_000_000, 1_000_000, 300_000] {
            encoder.set_bitrate(target);
            pictures.encode(2, |picture| h264(&mut encoder, picture));
            let (made, _) = pictures.encode(4, |picture| h264(&mut encoder, picture));
            assert_near(made, target.into());
        }
    }
}

#[test]
fn a_deep_fall_and_a_high_rise_show_within_a_second() {
    let (mut encoder, mut pictures) = (encoder(3_000_000, 50), Pictures::new());
    pictures.encode(3, |picture| h264(&mut encoder, picture));
    encoder.set_bitrate(500_000);
    let (made, _) = pictures.encode(1, |picture| h264(&mut encoder, picture));
    assert!(made < 800_000, "{made}");
    pictures.encode(2, |picture| h264(&mut encoder, picture));
    encoder.set_bitrate(3_000_000);
    let (made, _) = pictures.encode(1, |picture| h264(&mut encoder, picture));
    assert!(made > 1_500_000, "{made}");
}

#[test]
fn a_change_of_the_target_makes_no_keyframe_however_restless_it_is() {
    for (gop, expected) in [(50, 10), (0, 1)] {
        let (mut encoder, mut pictures) = (encoder(1_000_000, gop), Pictures::new());
        let mut number = 0_u32;
        let (_, keyframes) = pictures.encode(20, |picture| {
            number += 1;
            encoder.set_bitrate(if number.is_multiple_of(2) { 1_000_000 } else { 250_000 });
            h264(&mut encoder, picture)
        });
        assert_eq!(keyframes, expected, "gop={gop}");
    }
}

#[test]
fn a_target_before_the_first_picture_holds_from_the_first_picture() {
    let (mut encoder, mut pictures) = (encoder(3_000_000, 50), Pictures::new());
    encoder.set_bitrate(300_000);
    let (made, keyframes) = pictures.encode(4, |picture| h264(&mut encoder, picture));
    assert_near(made, 300_000);
    assert_eq!(keyframes, 2);
}

#[test]
fn pictures_after_a_change_are_as_good_as_those_of_an_encoder_that_started_at_the_new_rate() {
    for (before, after) in [(2_000_000, 500_000), (400_000, 2_000_000)] {
        let (mut running, mut pictures) = (encoder(2_000_000, 50), Pictures::new());
        let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
        running.set_bitrate(before);
        pictures.encode(4, |picture| {
            let (data, keyframe) = running.encode(picture).expect("it encodes");
            decoder.decode(&data).expect("it decodes");
            (data.len(), keyframe)
        });
        running.set_bitrate(after);
        let (mut fresh, mut witness) = (encoder(after, 50), BareDecoder::new(Codec::H264).expect("a decoder"));
        let (mut errors, mut number) = ((0.0, 0.0), 0);
        pictures.encode(6, |picture| {
            let (data, keyframe) = running.encode(picture).expect("it encodes");
            let (other, _) = fresh.encode(picture).expect("it encodes");
            let seen = (
                error_of(&mut decoder, &data, picture),
                error_of(&mut witness, &other, picture),
            );
            // A running encoder first makes up for what its earlier pictures took of the new rate.
            if number >= 2 * HZ {
                errors = (errors.0 + seen.0, errors.1 + seen.1);
            }
            number += 1;
            (data.len(), keyframe)
        });
        let pictures = 4.0 * HZ as f64;
        let (running, fresh) = (decibels(errors.0 / pictures), decibels(errors.1 / pictures));
        assert!(
            running > fresh - 0.2,
            "{before} to {after}: {running:.2} dB, {fresh:.2} dB of a fresh encoder"
        );
    }
}

#[test]
fn what_is_encoded_across_changes_decodes_without_a_gap_and_has_one_set_of_parameters() {
    let (mut encoder, mut pictures) = (encoder(20_000_000, 50), Pictures::new());
    let parameters = encoder.parameters().to_vec();
    let mut decoder = BareDecoder::new(Codec::H264).expect("a decoder");
    for target in [1_000_000, 300_000, 20_000_000] {
        encoder.set_bitrate(target);
        pictures.encode(3, |picture| {
            let (data, keyframe) = encoder.encode(picture).expect("it encodes");
            assert!(!keyframe || data.starts_with(&parameters));
            assert!(decoder.decode(&data).expect("it decodes").is_some());
            (data.len(), keyframe)
        });
    }
    // 20 Mbit/s need level 3.2 (H.264 table A-1); the picture alone would be level 3.
    assert_eq!(parameters[7], 32);
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
