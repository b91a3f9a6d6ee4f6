//! Stamps of cameras as they are reported, on a virtual clock.

use std::time::Duration;

use super::{Jump, SourceTimeline, Track};

const MS: i64 = 1_000_000;
const FRAME: i64 = 40;
const HOUR: i64 = 3_600_000;
/// Time by the camera's clock at its first frame, ms.
const BEGIN: i64 = 77_000;
/// Ticks of a 32-bit RTP timestamp at 90 kHz, in ms.
const WRAP: i64 = (1 << 32) / 90;

/// A frame: when it was made (which is when it comes), and its stamp, in ms.
type Made = (Track, i64, i64);

/// Behaviour of a camera, its frames, and the jumps that are counted.
type Case = (&'static str, Vec<Made>, &'static [(Jump, u64)]);

fn at(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).expect("not negative"))
}

fn place(timeline: &mut SourceTimeline, (track, made, stamp): Made) -> i64 {
    let media = timeline.media_time(track, stamp * MS, at(5000 + made));
    i64::try_from(media.as_millis()).expect("small")
}

/// Pictures at 25 a second, with these stamps by number and time.
fn pictures(count: i64, stamp: impl Fn(i64, i64) -> i64) -> Vec<Made> {
    let made = |number| (Track::Picture, number * FRAME, stamp(number, BEGIN + number * FRAME));
    (0..count).map(made).collect()
}

/// The jumps of a camera whose every frame gets its true time, to 5 ms.
fn judge(name: &str, frames: &[Made]) -> Vec<(Jump, u64)> {
    let mut timeline = SourceTimeline::live();
    for frame in frames {
        let media = place(&mut timeline, *frame);
        assert!((media - frame.1).abs() <= 5, "{name}: {frame:?} at {media}");
    }
    timeline.take_jumps().counts().filter(|(_, count)| *count > 0).collect()
}

/// Pictures of a camera whose rate varies.
fn variable() -> Vec<Made> {
    let steps = [30, 40, 300, 2000, 5000, 40, 40];
    let made = steps.into_iter().cycle().take(300).scan(0, |time, step| {
        *time += step;
        Some((Track::Picture, *time - steps[0], BEGIN + *time))
    });
    made.collect()
}

#[test]
fn every_frame_has_the_time_at_which_it_was_made_whatever_its_stamp() {
    let table: [Case; 13] = [
        ("right", pictures(500, |_, right| right), &[]),
        (
            "one frame 9000 s ahead",
            pictures(200, |n, right| right + i64::from(n == 60) * 9_000_000),
            &[(Jump::Stray, 1)],
        ),
        (
            "one frame 9000 s behind, and another",
            pictures(200, |n, right| right - i64::from(n == 60 || n == 62) * 9_000_000),
            &[(Jump::Stray, 2)],
        ),
        (
            "two in a row, of different times",
            pictures(200, |n, right| {
                right + i64::from(n == 60) * HOUR - i64::from(n == 61) * HOUR
            }),
            &[(Jump::Stray, 2)],
        ),
        (
            "an hour ahead from then on",
            pictures(2000, |n, right| right + i64::from(n >= 45) * HOUR),
            &[(Jump::Forward, 1)],
        ),
        (
            "an hour behind from then on",
            pictures(2000, |n, right| right - i64::from(n >= 45) * HOUR),
            &[(Jump::Backward, 1)],
        ),
        (
            "ahead, and right again",
            pictures(400, |n, right| right + i64::from((100..200).contains(&n)) * HOUR),
            &[(Jump::Forward, 1), (Jump::Backward, 1)],
        ),
        (
            "a stamp that wraps",
            pictures(400, |n, right| right - i64::from(n >= 200) * WRAP),
            &[(Jump::Backward, 1)],
        ),
        ("all stamps equal", pictures(3000, |_, _| BEGIN), &[(Jump::Still, 1)]),
        (
            "equal for 3 s, and right again",
            pictures(
                400,
                |n, right| if (100..175).contains(&n) { BEGIN + 4000 } else { right },
            ),
            &[(Jump::Still, 1)],
        ),
        (
            "a clock that stood for 3 s, and goes on",
            pictures(400, |n, _| BEGIN + FRAME * (n.min(100) + (n - 175).max(0))),
            &[(Jump::Still, 1)],
        ),
        ("a rate that varies", variable(), &[]),
        (
            "one frame a minute",
            (0..40)
                .map(|n| (Track::Picture, n * 60_000, BEGIN + n * 60_000))
                .collect(),
            &[],
        ),
    ];
    for (name, frames, jumps) in table {
        assert_eq!(judge(name, &frames), jumps, "{name}");
    }
}

#[test]
fn a_pause_in_which_nothing_comes_is_no_jump() {
    let paused = |time: i64| time + i64::from(time >= 4000) * 60_000;
    let frames: Vec<Made> = (0..200)
        .map(|n| paused(n * FRAME))
        .map(|time| (Track::Picture, time, BEGIN + time))
        .collect();
    assert_eq!(judge("a pause", &frames), []);
}

#[test]
fn frames_that_were_held_up_and_come_together_keep_their_times() {
    for (name, holds) in [("on the way", 100..175), ("before the first", 0..75)] {
        let mut timeline = SourceTimeline::live();
        for number in 0..400 {
            let comes = if holds.contains(&number) { holds.end } else { number };
            let media = timeline.media_time(Track::Picture, (BEGIN + number * FRAME) * MS, at(comes * FRAME));
            assert_eq!(media, at(number * FRAME), "{name}");
        }
        assert_eq!(
            timeline.take_jumps().counts().map(|(_, count)| count).sum::<u64>(),
            0,
            "{name}"
        );
    }
}

#[test]
fn frames_that_were_held_up_and_come_faster_than_they_were_made_keep_their_times() {
    let mut timeline = SourceTimeline::live();
    for number in 0..600 {
        // 5 s of a stalled connection, which then carries twice the camera's rate.
        let comes = if number < 100 {
            number * FRAME
        } else {
            (number * FRAME).max(9000 + (number - 100) * FRAME / 2)
        };
        let media = timeline.media_time(Track::Picture, (BEGIN + number * FRAME) * MS, at(comes));
        assert_eq!(media, at(number * FRAME));
    }
    assert_eq!(timeline.take_jumps().of(Jump::Still), 0);
}

#[test]
fn time_that_a_clock_does_not_know_of_passes_within_a_second() {
    let mut timeline = SourceTimeline::live();
    let made = |number: i64| number * FRAME + i64::from(number >= 100) * 60_000;
    let media: Vec<i64> = (0..200)
        .map(|number| place(&mut timeline, (Track::Picture, made(number), BEGIN + number * FRAME)))
        .collect();
    assert_eq!(media[99], 99 * FRAME);
    assert!(
        (126..200).all(|number| media[number as usize] == made(number)),
        "{media:?}"
    );
    assert_eq!(timeline.take_jumps().of(Jump::Still), 1);
}

/// Pictures in the order of decoding, as IBBP: when each was made, and the stamp of its presentation.
fn reordered(count: i64, stamp: impl Fn(i64) -> i64) -> Vec<(i64, i64)> {
    let shown = |number: i64| match number % 3 {
        _ if number == 0 => 0,
        1 => number + 2,
        _ => number - 1,
    };
    (0..count)
        .map(|n| (n * FRAME, stamp(n) + BEGIN + shown(n) * FRAME))
        .collect()
}

#[test]
fn pictures_that_are_shown_in_another_order_are_no_jumps() {
    for (name, ahead, jumps) in [("right", 0, 0), ("ahead", HOUR, 1), ("behind", -HOUR, 1)] {
        // The clock is set between two groups, with a picture that others refer to.
        let mut timeline = SourceTimeline::live();
        let right = reordered(300, |_| 0);
        let frames = reordered(300, |n| i64::from(n >= 100) * ahead);
        for ((_, right), (made, stamp)) in right.into_iter().zip(frames) {
            let media = place(&mut timeline, (Track::Picture, made, stamp));
            assert!((media - (right - BEGIN)).abs() <= 5, "{name}: {media} for {right}");
        }
        let all = timeline.take_jumps().counts().map(|(_, count)| count).sum::<u64>();
        assert_eq!(all, jumps, "{name}");
    }
}

/// Pictures, and packets of sound of 20 ms that come 70 ms after they were made, in the order in which they come.
fn with_sound(count: i64, stamp: impl Fn(Track, i64) -> i64) -> Vec<(Made, i64)> {
    let picture = |n: i64| ((Track::Picture, n * FRAME, n * FRAME), n * FRAME);
    let sound = |n: i64| ((Track::Sound, n * 20 + 70, n * 20), n * 20);
    let mut frames: Vec<_> = (0..count).map(picture).chain((0..count * 2).map(sound)).collect();
    frames.sort_by_key(|((_, comes, _), _)| *comes);
    for ((track, _, made), _) in &mut frames {
        *made = BEGIN + *made + stamp(*track, *made);
    }
    frames
}

#[test]
fn picture_and_sound_keep_their_distance_when_the_clock_is_set() {
    for (name, set, jumps) in [("ahead", HOUR, 1), ("behind", -HOUR, 1)] {
        for first in [2000, 2005, 2030] {
            let mut timeline = SourceTimeline::live();
            for (made, right) in with_sound(200, |_, time| i64::from(time >= first) * set) {
                let media = place(&mut timeline, made);
                assert!((media - right).abs() <= 5, "{name} at {first}: {made:?} at {media}");
            }
            let all = timeline.take_jumps().counts().map(|(_, count)| count).sum::<u64>();
            assert_eq!(all, jumps, "{name} at {first}");
        }
    }
}

#[test]
fn one_track_that_jumps_alone_does_not_take_the_other_along() {
    for alone in [Track::Picture, Track::Sound] {
        let mut timeline = SourceTimeline::live();
        for (made, right) in with_sound(200, |track, time| i64::from(track == alone && time >= 2000) * HOUR) {
            let media = place(&mut timeline, made);
            assert!((media - right).abs() <= 5, "{alone:?}: {made:?} at {media}");
        }
        assert_eq!(timeline.take_jumps().of(Jump::Forward), 1);
    }
}

#[test]
fn frames_after_a_restart_follow_by_the_time_that_passed() {
    let mut timeline = SourceTimeline::live();
    for (made, right) in with_sound(100, |_, _| 0) {
        assert_eq!(place(&mut timeline, made), right);
    }
    timeline.restarted();
    for (made, right) in with_sound(100, |_, _| -9_000_000) {
        let (track, comes, stamp) = made;
        assert_eq!(place(&mut timeline, (track, comes + 14_000, stamp)), right + 14_000);
    }
    // At once, and again: no frame gets a time that another has.
    timeline.restarted();
    let (last, next) = (3980 + 14_000, place(&mut timeline, (Track::Picture, 4060 + 14_000, 0)));
    assert_eq!(next, 4060 + 14_000);
    timeline.restarted();
    assert!((next + 1..next + 100).contains(&place(&mut timeline, (Track::Sound, last, 0))));
    assert_eq!(timeline.take_jumps(), super::Jumps::default());
}

#[test]
fn a_believed_source_is_only_joined() {
    let mut timeline = SourceTimeline::believing();
    let stamps = [0, 40, 9_000_000, 80, 80];
    let media = stamps.map(|stamp| place(&mut timeline, (Track::Picture, 0, stamp)));
    assert_eq!(media, stamps);
    timeline.restarted();
    assert!(place(&mut timeline, (Track::Picture, 500, 0)) >= 9_000_000);
}

#[test]
fn stamps_of_any_size_and_order_do_no_harm() {
    let mut timeline = SourceTimeline::live();
    let (mut stamp, mut arrival) = (1_i64, Duration::ZERO);
    for number in 0..5000_i64 {
        stamp = stamp
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let given = [stamp, i64::MIN, i64::MAX, stamp >> 30][(number % 4) as usize];
        arrival += Duration::from_millis(u64::try_from(number % 90).expect("small"));
        let track = if number % 3 == 0 { Track::Sound } else { Track::Picture };
        let media = timeline.media_time(track, given, arrival);
        assert!(
            media <= arrival + Duration::from_secs(60),
            "{number}: {media:?} at {arrival:?}"
        );
        if number % 500 == 0 {
            timeline.restarted();
        }
    }
}
