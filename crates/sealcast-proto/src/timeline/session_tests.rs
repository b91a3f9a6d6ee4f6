//! Sessions of publishers and viewers that come and go, on a virtual clock.

use std::time::Duration;

use super::{Arrived, Jump, SessionTimeline, Track};
use crate::clock::{ClockEstimate, ClockFilter, Exchange, Now};
use crate::unit::Preamble;

const MS: u64 = 1_000_000;
const FRAME: u64 = 40;
const HOUR: i64 = 3_600_000;
/// The viewer's wall clock at time 0, ns since 1970.
const WALL: u64 = 1_790_000_000_000_000_000;
/// Time that a frame is under way, ms.
const WAY: u64 = 30;

/// A publisher that began at this time (ms), whose wall clock is ahead of the viewer's by so much (ms).
#[derive(Clone, Copy)]
struct Publisher {
    began: u64,
    ahead: i64,
}

/// A session with it, in which its clock is known or not.
#[derive(Clone, Copy)]
struct Session {
    publisher: Publisher,
    number: u64,
    clock_known: bool,
}

impl Publisher {
    fn session(self, number: u64, clock_known: bool) -> Session {
        Session {
            publisher: self,
            number,
            clock_known,
        }
    }

    fn wall(self, time: u64) -> u64 {
        (WALL + time * MS).saturating_add_signed(self.ahead * MS as i64)
    }

    /// Estimate of the clock by the viewer after an exchange that took a millisecond.
    fn estimate(self, time: u64) -> ClockEstimate {
        let mut filter = ClockFilter::default();
        filter.sample(Exchange {
            sent: WALL + time * MS,
            peer_received: self.wall(time) + MS / 2,
            peer_sent: self.wall(time) + MS / 2,
            received: WALL + time * MS + MS,
        });
        filter.estimate().expect("an exchange")
    }
}

impl Session {
    /// A frame that is made at `time` and sealed at `sealed`, and comes `late` (ms) after the usual way.
    fn frame(self, track: Track, time: u64, (sealed, late): (u64, u64)) -> Arrived {
        let (publisher, step) = (self.publisher, if track == Track::Picture { FRAME } else { 20 });
        let preamble = Preamble {
            frame: (time - publisher.began) / step,
            media_time: (time - publisher.began) * MS,
            captured: publisher.wall(time),
            encoded: publisher.wall(time),
            kept: sealed > time,
            ..Preamble::default()
        };
        let came = sealed + WAY + late;
        let now = Now {
            monotonic: Duration::from_millis(came),
            wall: WALL + came * MS,
        };
        let clock = self.clock_known.then(|| publisher.estimate(came));
        Arrived::new((track, self.number), &preamble, publisher.wall(sealed), now, clock)
    }

    fn live(self, time: u64) -> Arrived {
        self.frame(Track::Picture, time, (time, 0))
    }
}

/// The media times of a viewer's frames, each with the time at which it was made.
struct Viewer {
    timeline: SessionTimeline,
    first: u64,
}

impl Viewer {
    fn new(first: u64) -> Self {
        Self {
            timeline: SessionTimeline::default(),
            first,
        }
    }

    /// Fails unless the frame's media time is the time that passed since the first, to within so many ms.
    fn takes(&mut self, name: &str, frame: Arrived, made: u64, within: u64) {
        let media = self.timeline.media_time(&frame).expect("it is new");
        let right = Duration::from_millis(made - self.first);
        assert!(
            media.abs_diff(right) <= Duration::from_millis(within),
            "{name}: {media:?} for {right:?}"
        );
    }
}

#[test]
fn a_session_that_follows_another_goes_on_by_the_time_that_passed() {
    let table = [
        ("restarted", 0, 0, true, 8_000),
        ("its clock set ahead", 0, HOUR, true, 8_000),
        ("its clock set back", 0, -HOUR, true, 8_000),
        ("both clocks apart", HOUR, HOUR, true, 8_000),
        ("of a clock that is not known", 0, HOUR, false, 8_000),
        ("within a moment", 0, 0, true, 5_100),
        ("next week", 0, 0, true, 600_000_000),
    ];
    for (name, ahead, then_ahead, known, again) in table {
        let old = Publisher { began: 1_000, ahead }.session(1, known);
        let new = Publisher {
            began: again,
            ahead: then_ahead,
        };
        let mut viewer = Viewer::new(1_000);
        for time in (1_000..5_000).step_by(FRAME as usize) {
            viewer.takes(name, old.live(time), time, 0);
        }
        for time in (again..again + 4_000).step_by(FRAME as usize) {
            viewer.takes(name, new.session(2, known).live(time), time, 5);
        }
        assert_eq!(viewer.timeline.take_jumps(), super::Jumps::default(), "{name}");
    }
}

#[test]
fn a_clock_in_one_session_and_none_in_the_other_are_not_compared() {
    for known in [[true, false], [false, true]] {
        let mut viewer = Viewer::new(0);
        let old = Publisher { began: 0, ahead: HOUR }.session(1, known[0]);
        let new = Publisher { began: 9_000, ahead: 0 }.session(2, known[1]);
        (0..4_000)
            .step_by(40)
            .for_each(|time| viewer.takes("before", old.live(time), time, 0));
        (9_000..12_000)
            .step_by(40)
            .for_each(|time| viewer.takes("after", new.live(time), time, 5));
    }
}

#[test]
fn the_clock_decides_where_the_first_frame_of_a_session_is_late() {
    for (known, within) in [(true, 5), (false, 405)] {
        let mut viewer = Viewer::new(0);
        let old = Publisher { began: 0, ahead: HOUR }.session(1, known);
        let new = Publisher {
            began: 9_000,
            ahead: HOUR,
        }
        .session(2, known);
        (0..4_000)
            .step_by(40)
            .for_each(|time| viewer.takes("before", old.live(time), time, 0));
        for time in (9_000..12_000).step_by(40) {
            let late = if time == 9_000 { 400 } else { 360 };
            viewer.takes("after", new.frame(Track::Picture, time, (time, late)), time, within);
        }
    }
}

#[test]
fn a_clock_that_is_set_within_a_session_says_nothing_until_it_is_known_again() {
    for set in [HOUR, -HOUR] {
        let mut viewer = Viewer::new(0);
        let before = Publisher { began: 0, ahead: 0 };
        (0..4_000)
            .step_by(40)
            .for_each(|time| viewer.takes("before", before.session(1, true).live(time), time, 0));
        // What the viewer knows of the clock is old: the frames come an hour before they were made, or after.
        let after = Publisher { began: 0, ahead: set };
        for time in (4_000..6_000).step_by(40) {
            let preamble = Preamble {
                frame: time / FRAME,
                media_time: time * MS,
                captured: after.wall(time),
                ..Preamble::default()
            };
            let now = Now {
                monotonic: Duration::from_millis(time + WAY),
                wall: WALL + (time + WAY) * MS,
            };
            let clock = Some(before.estimate(3_000));
            let frame = Arrived::new((Track::Picture, 1), &preamble, after.wall(time), now, clock);
            viewer.takes("set", frame, time, 0);
        }
        let again = Publisher {
            began: 9_000,
            ahead: set,
        }
        .session(2, true);
        (9_000..12_000)
            .step_by(40)
            .for_each(|time| viewer.takes("again", again.live(time), time, 5));
    }
}

#[test]
fn a_viewer_that_comes_back_goes_on_and_leaves_out_what_it_had() {
    for (known, ahead) in [(true, HOUR), (false, -HOUR)] {
        let publisher = Publisher { began: 0, ahead };
        let mut viewer = Viewer::new(0);
        let first = publisher.session(1, known);
        (2_000..5_000)
            .step_by(40)
            .for_each(|time| viewer.takes("first", first.live(time), time, 0));
        // It was away for a second. The group of pictures began before it went.
        let second = publisher.session(2, known);
        for time in (4_000..6_000).step_by(40) {
            let frame = second.frame(Track::Picture, time, (6_000, 90));
            match time < 5_000 {
                true => assert_eq!(viewer.timeline.media_time(&frame), None, "{time}"),
                false => viewer.takes("kept", frame, time, 0),
            }
        }
        (6_000..9_000)
            .step_by(40)
            .for_each(|time| viewer.takes("second", second.live(time), time, 0));
        // A relay goes on with a publisher that was started again, whose numbers begin anew.
        let again = Publisher { began: 20_000, ahead }.session(2, known);
        (20_000..22_000)
            .step_by(40)
            .for_each(|time| viewer.takes("again", again.live(time), time, 5));
    }
}

#[test]
fn frames_that_a_new_publisher_kept_are_placed_when_they_were_made() {
    for known in [true, false] {
        let mut viewer = Viewer::new(0);
        let old = Publisher { began: 0, ahead: 0 }.session(1, known);
        (0..4_000)
            .step_by(40)
            .for_each(|time| viewer.takes("before", old.live(time), time, 0));
        let new = Publisher {
            began: 9_000,
            ahead: HOUR,
        }
        .session(2, known);
        for time in (9_000..12_000).step_by(40) {
            viewer.takes("kept", new.frame(Track::Picture, time, (12_000, 0)), time, 5);
        }
        (12_000..15_000)
            .step_by(40)
            .for_each(|time| viewer.takes("live", new.live(time), time, 5));
    }
}

#[test]
fn picture_and_sound_keep_their_distance_in_every_session() {
    let mut viewer = Viewer::new(0);
    for (number, began, ahead) in [(1, 0, 0), (2, 9_000, HOUR), (3, 17_000, -HOUR), (4, 30_000, 0)] {
        let session = Publisher { began, ahead }.session(number, number != 3);
        let mut apart = None;
        for time in (began..began + 4_000).step_by(20) {
            let mut tracks = vec![Track::Picture, Track::Sound];
            if number % 2 == 0 {
                tracks.reverse();
            }
            for track in tracks
                .into_iter()
                .filter(|track| *track == Track::Sound || time % 40 == began % 40)
            {
                let media = viewer
                    .timeline
                    .media_time(&session.frame(track, time, (time, 0)))
                    .expect("new");
                let from = media.as_nanos().wrapping_sub(u128::from(time * MS));
                assert_eq!(*apart.get_or_insert(from), from, "{track:?} at {time}");
                let right = Duration::from_millis(time);
                assert!(
                    media.abs_diff(right) <= Duration::from_millis(5),
                    "{track:?}: {media:?} for {right:?}"
                );
            }
        }
    }
}

#[test]
fn one_stray_stamp_in_a_session_moves_nothing_else() {
    let mut viewer = Viewer::new(0);
    let session = Publisher { began: 0, ahead: 0 }.session(1, true);
    for time in (0..8_000).step_by(40) {
        let mut frame = session.live(time);
        if time == 4_000 {
            frame.media_time += 9_000_000 * MS;
        }
        viewer.takes("a stray", frame, time, 5);
    }
    assert_eq!(viewer.timeline.take_jumps().of(Jump::Stray), 1);
}

#[test]
fn a_gap_that_the_publisher_stamps_is_kept_within_a_session() {
    // A file that has one, and is not played for so long.
    let mut viewer = Viewer::new(0);
    let session = Publisher { began: 0, ahead: 0 }.session(1, true);
    for time in (0..8_000).step_by(40) {
        let (mut frame, mut right) = (session.live(time), time);
        if time >= 4_000 {
            frame.media_time += 600_000 * MS;
            right += 600_000;
        }
        // The first one could be a stray one.
        if time != 4_000 {
            viewer.takes("a gap", frame, right, 0);
        } else {
            viewer.takes("its first frame", frame, time, 0);
        }
    }
}

#[test]
fn a_publisher_that_restarts_within_a_session_goes_on_by_arrival() {
    let mut viewer = Viewer::new(0);
    let old = Publisher { began: 0, ahead: 0 }.session(1, false);
    let new = Publisher { began: 9_000, ahead: 0 }.session(1, false);
    (0..4_000)
        .step_by(40)
        .for_each(|time| viewer.takes("before", old.live(time), time, 0));
    (9_000..12_000)
        .step_by(40)
        .for_each(|time| viewer.takes("after", new.live(time), time, 5));
    assert_eq!(viewer.timeline.take_jumps().of(Jump::Backward), 1);
}

#[test]
fn sessions_of_an_archive_follow_by_the_times_that_it_says() {
    let mut timeline = SessionTimeline::default();
    let mut place = |number: u64, began: u64, time: u64| {
        let preamble = Preamble {
            frame: (time - began) / FRAME,
            media_time: (time - began) * MS,
            // The camera's clock is another one in each session, and the archive says when it was by its own.
            captured: WALL + number * 3_600_000 * MS + time * MS,
            ..Preamble::default()
        };
        let frame = Arrived::archived((Track::Picture, number), &preamble, WALL + time * MS);
        timeline.media_time(&frame).expect("new")
    };
    for (number, began) in [(1, 0), (2, 5_000), (3, 100_000)] {
        for time in (began..began + 4_000).step_by(40) {
            assert_eq!(place(number, began, time), Duration::from_millis(time));
        }
    }
    // The clock of the one who recorded was set back: frames follow each other all the same.
    let (last, next) = (Duration::from_millis(103_960), place(4, 90_000, 90_000));
    assert_eq!(next, last + Duration::from_millis(FRAME));
}
