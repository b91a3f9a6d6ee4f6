use std::time::Instant;

use super::*;
use crate::media::FrameRate;

fn jpegs() -> StreamInfo {
    let rate = FrameRate {
        numerator: 25,
        denominator: 1,
    };
    StreamInfo {
        codec: Codec::Mjpeg,
        width: 16,
        height: 16,
        rate,
        parameters: Vec::new(),
    }
}

fn frame(number: u64, millis: u64) -> ReceivedFrame {
    ReceivedFrame {
        number,
        keyframe: true,
        media_time: Duration::from_millis(millis),
        opened: Instant::now(),
        data: vec![number as u8; 100].into(),
    }
}

#[test]
fn decoding_times_rise_and_stay_below_the_window() {
    // I P B B: presented in the order 0 3 1 2.
    let mut clock = DecodeClock::new(2, 10);
    let decoded = [0, 30, 10, 20, 60, 40, 50].map(|shown| clock.decoded(shown));
    assert_eq!(decoded, [0, 10, 20, 30, 40, 50, 60]);
    let mut clock = DecodeClock::new(0, 10);
    assert_eq!(
        [0, 10, 17, 17, 5].map(|shown| clock.decoded(shown)),
        [0, 10, 17, 18, 19]
    );
}

#[test]
fn ticks_are_rounded() {
    assert_eq!(to_ticks(Duration::from_millis(40)), 3600);
    assert_eq!(to_ticks(Duration::from_nanos(33_366_666)), 3003);
}

#[test]
fn every_keyframe_ends_a_fragment_and_the_first_comes_with_the_header() {
    let mut mp4 = Fragmenter::new(jpegs());
    assert!(mp4.push(&frame(0, 5000)).expect("fine").is_none());
    let first = mp4.push(&frame(1, 5040)).expect("fine").expect("a fragment");
    assert_eq!(&first[4..8], b"ftyp");
    let second = mp4.push(&frame(2, 5080)).expect("fine").expect("a fragment");
    assert_eq!(&second[4..8], b"moof");
    assert!(second.ends_with(&[1; 100]));
    assert!(mp4.finish().expect("fine").expect("a fragment").ends_with(&[2; 100]));
    assert!(mp4.finish().expect("fine").is_none());
}

#[test]
fn nothing_in_is_nothing_out() {
    assert!(Fragmenter::new(jpegs()).finish().expect("fine").is_none());
}
