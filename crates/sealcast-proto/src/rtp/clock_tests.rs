//! Times of cameras that report their clock truly, falsely, late or never.

use super::*;

const PICTURE: u32 = 90_000;
const SOUND: u32 = 8_000;
const MS: i128 = 1_000_000;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A clock whose first picture, of time 0, came at this moment in ms.
fn clock(picture: u64) -> SoundClock {
    let mut clock = SoundClock::new(PICTURE, SOUND);
    assert_eq!(clock.picture(0, ms(picture)), 0);
    clock
}

/// A report of this source: the camera's clock in ms, and the stream's.
fn report(source: u32, ntp: u64, timestamp: u32) -> Vec<u8> {
    let seconds = ntp / 1000 + 2_208_988_800;
    let fraction = ((ntp % 1000) << NTP_SECOND) / 1000;
    [
        &[0x80, SENDER_REPORT, 0, 6][..],
        &source.to_be_bytes(),
        &(seconds << NTP_SECOND | fraction).to_be_bytes(),
        &timestamp.to_be_bytes(),
        &[0; 8],
    ]
    .concat()
}

/// The distance of sound from the picture in ms, for sound of time `at` in ms.
fn distance(clock: &mut SoundClock, at: u32) -> i128 {
    let time = clock
        .sound(at * SOUND / 1000, ms(100 + u64::from(at)))
        .expect("a picture");
    (time - i128::from(at) * MS + MS / 2).div_euclid(MS)
}

#[test]
fn sound_has_no_time_before_the_first_picture() {
    assert_eq!(SoundClock::new(PICTURE, SOUND).sound(0, ms(0)), None);
}

#[test]
fn both_streams_begin_together_unless_they_came_too_far_apart() {
    let sound = clock(100).sound(0, ms(30));
    assert_eq!(sound, Some(0), "the picture was encoded meanwhile");
    let sound = clock(100).sound(0, ms(900));
    assert_eq!(sound, Some(800 * MS), "the camera's beginnings are not true");
}

#[test]
fn the_cameras_own_clock_is_believed_if_it_can_be() {
    let mut clock = clock(100);
    clock.reported(Side::Picture, &report(1, 5_000, 0), Some(1));
    assert_eq!(distance(&mut clock, 0), 0, "one report is of no use");
    clock.reported(Side::Sound, &report(2, 5_060, 0), Some(2));
    assert_eq!(distance(&mut clock, 0), 60);
    clock.reported(Side::Sound, &report(2, 5_082, 20 * 8), Some(2));
    assert_eq!(distance(&mut clock, 20), 60, "no more than inaccuracy");
    clock.reported(Side::Sound, &report(2, 5_120, 40 * 8), Some(2));
    assert_eq!(distance(&mut clock, 40), 80);
    let mut clock = self::clock(100);
    clock.reported(Side::Picture, &report(1, 5_000, 0), Some(1));
    clock.reported(Side::Sound, &report(2, 9_000, 0), Some(2));
    assert_eq!(distance(&mut clock, 0), 0, "another clock");
}

#[test]
fn a_camera_that_sets_its_clock_keeps_its_sound_where_it_is() {
    let mut clock = clock(100);
    clock.reported(Side::Picture, &report(1, 5_000, 0), Some(1));
    clock.reported(Side::Sound, &report(2, 5_060, 0), Some(2));
    assert_eq!(distance(&mut clock, 0), 60);
    // An hour forward and back, told of one stream first.
    for set in [3_605_300, 5_000] {
        clock.reported(Side::Picture, &report(1, set + 1_000, 90_000), Some(1));
        assert_eq!(distance(&mut clock, 1_000), 60);
        clock.reported(Side::Sound, &report(2, set + 1_060, 8_000), Some(2));
        assert_eq!(distance(&mut clock, 1_000), 60);
    }
    clock.reported(Side::Sound, &report(2, 6_360, 8_000), Some(2));
    assert_eq!(
        distance(&mut clock, 1_000),
        60,
        "300 ms, which the picture's report does not know of"
    );
}

#[test]
fn reports_about_another_source_are_hints() {
    let mut clock = clock(100);
    clock.reported(Side::Picture, &report(0xdead, 5_000, 0), Some(1));
    clock.reported(Side::Sound, &report(0xdead, 5_070, 0), Some(2));
    assert_eq!(distance(&mut clock, 0), 70, "there is no better one");
    clock.reported(Side::Sound, &report(2, 5_050, 0), Some(2));
    clock.reported(Side::Sound, &report(0xdead, 5_090, 0), Some(2));
    assert_eq!(distance(&mut clock, 0), 50);
}

#[test]
fn reports_before_the_first_packet_count() {
    let mut clock = SoundClock::new(PICTURE, SOUND);
    clock.reported(Side::Picture, &report(1, 5_000, u32::MAX), None);
    clock.reported(Side::Sound, &report(2, 5_040, 0), None);
    // The picture's stamps wrap between the report and the packet.
    assert_eq!(clock.picture(8_999, ms(200)), i64::from(u32::MAX) + 9_000);
    let sound = clock.sound(800, ms(230)).expect("a picture");
    let picture = nanos(i64::from(u32::MAX) + 9_000, PICTURE);
    assert_eq!((sound - picture + MS / 2).div_euclid(MS), 40);
}

#[test]
fn a_stream_that_begins_anew_is_put_in_time_anew() {
    let mut clock = clock(100);
    clock.reported(Side::Picture, &report(1, 5_000, 0), Some(1));
    clock.reported(Side::Sound, &report(2, 5_060, 0), Some(2));
    assert_eq!(distance(&mut clock, 0), 60);
    clock.restart(Side::Picture);
    assert_eq!(clock.sound(8_000, ms(1_100)), None, "no picture yet");
    assert_eq!(clock.picture(3_000_000_000, ms(2_100)), 3_000_000_000);
    let at = nanos(3_000_000_000, PICTURE);
    assert_eq!(clock.sound(16_000, ms(2_100)), Some(at), "by arrival");
}

#[test]
fn timestamps_are_extended_to_the_nearest() {
    let mut extended = Extended::default();
    let stamps = [u32::MAX - 1, 1, u32::MAX, 5, 0x8000_0006, 5, 0x7fff_ffff];
    let ticks: Vec<i64> = stamps.iter().map(|stamp| extended.extend(*stamp) - (1 << 32)).collect();
    assert_eq!(ticks, [-2, 1, -1, 5, 0x8000_0006 - (1 << 32), 5, 0x7fff_ffff]);
    assert_eq!(extended.near(0) - (1 << 32), 0);
    assert_eq!(extended.extend(7) - (1 << 32), 7, "what is spoken of moves nothing");
    extended.reset();
    assert_eq!(extended.extend(3), 3);
    let mut first = Extended::default();
    assert_eq!((first.near(u32::MAX), first.extend(0)), (u32::MAX.into(), 1 << 32));
}

#[test]
fn sender_reports_are_found_wherever_and_however_they_stand() {
    let whole = report(7, 1_500, 9);
    let expected = SenderReport {
        source: 7,
        ntp: (2_208_988_801 << 32) | 1 << 31,
        timestamp: 9,
    };
    let receiver = [&[0x80, 201, 0, 1][..], &[0; 4]].concat();
    let text = [&[0x81, 202, 0, 2][..], &[0; 8]].concat();
    let found = |compound: &[u8]| sender_reports(compound).collect::<Vec<_>>();
    assert_eq!(found(&[&whole[..], &text].concat()), [expected]);
    assert_eq!(found(&[&receiver[..], &whole, &whole].concat()), [expected; 2]);
    for length in 0..whole.len() {
        assert_eq!(
            found(&whole[..length]).len(),
            usize::from(length >= 20),
            "cut to {length} bytes"
        );
    }
    let longer = [&whole[..3], &[200], &whole[4..]].concat();
    assert_eq!(found(&longer), [expected], "longer than it is");
    let no_clock = [&whole[..8], &[0; 8], &whole[16..]].concat();
    assert_eq!(found(&[&no_clock[..], &whole].concat()), [expected]);
    assert!(
        found(&[&[0x40][..], &whole[1..]].concat()).is_empty(),
        "another version"
    );
    assert_eq!(found(&whole.repeat(MAX_COMPOUND + 9)).len(), MAX_COMPOUND);
}

#[test]
fn announced_beginnings_say_how_far_picture_and_sound_are_apart_if_they_can_be_right() {
    let ms = |milliseconds| Duration::from_millis(milliseconds);
    let apart = |picture: u32, sound: u32| {
        let mut clock = SoundClock::new(90_000, 8_000);
        clock.announced(Side::Picture, picture);
        clock.announced(Side::Sound, sound);
        clock.picture(900_000, ms(100));
        // Sound of the same moment, which took 60 ms less on its way.
        clock.sound(4_000_000_000, ms(40)).map(|time| time / 1_000_000)
    };
    assert_eq!(apart(900_000, 4_000_000_000), Some(10_000), "they begin together");
    assert_eq!(
        apart(900_000, 4_000_000_000 - 800),
        Some(10_100),
        "the sound has begun before its first packet"
    );
    assert_eq!(apart(0, 0), Some(9_940), "nonsense leaves the arrivals");
}
