//! The rate of an encoder over a byte stream, whose path is known by marks alone, in virtual time.

use std::collections::VecDeque;

use sealcast_proto::clock::Now;
use sealcast_proto::rate::StreamPath;

use super::*;

const BOUNDS: RateConfig = RateConfig {
    min: 150_000,
    start: 2_000_000,
    max: 20_000_000,
    unsteered: false,
};
const MS: Duration = Duration::from_millis(1);
/// Age from which queued frames are dropped.
const OLD: Duration = Duration::from_millis(400);

/// Part of what is on the stream.
enum Part {
    /// Bytes of a frame, and when it was made if they are its last.
    Bytes(u64, Duration),
    Mark(u64),
}

/// An encoder of 25 pictures a second, a queue, and a byte stream over a link, in steps of a millisecond.
struct Stream {
    estimator: DelayBasedRate,
    path: StreamPath,
    began: Instant,
    now: Duration,
    /// The encoder's configured rate, bit/s.
    configured: u64,
    /// Rate of the link, bit/s.
    carries: u64,
    /// One-way delay, for each step.
    delay: fn(u64) -> u64,
    queue: VecDeque<(u64, Duration)>,
    link: VecDeque<Part>,
    /// Times at which marks are answered, in order, and ages of the frames that arrive.
    answers: VecDeque<(Duration, u64)>,
    ages: Vec<u64>,
    sealed: u64,
    target: Option<u64>,
    dropped: u32,
    /// Steps in which a frame had to wait.
    held: u32,
}

impl Stream {
    fn of(carries: u64, configured: u64) -> Self {
        Self {
            estimator: DelayBasedRate::new(BOUNDS, Queues::OF_MARKS),
            path: StreamPath::default(),
            began: Instant::now(),
            now: Duration::from_secs(1),
            configured,
            carries,
            delay: |_| 20,
            queue: VecDeque::new(),
            link: VecDeque::new(),
            answers: VecDeque::new(),
            ages: Vec::new(),
            sealed: 0,
            target: None,
            dropped: 0,
            held: 0,
        }
    }

    /// Simulate some seconds. Returns the lowest and the highest target in that time, and forgets the ages before.
    fn run(&mut self, seconds: u32) -> (u64, u64) {
        self.ages.clear();
        let mut range = (u64::MAX, 0);
        for _ in 0..seconds * 1000 {
            self.step();
            let target = self.target.unwrap_or(self.configured);
            range = (range.0.min(target), range.1.max(target));
        }
        range
    }

    fn step(&mut self) {
        self.now += MS;
        let step = self.now.as_millis() as u64;
        if step.is_multiple_of(40) {
            let rate = self.target.unwrap_or(self.configured).min(self.configured);
            // A keyframe every two seconds, six times as large as other frames.
            let keyframe = step.is_multiple_of(2000);
            let bytes = rate / 8 / 25 * if keyframe { 6 } else { 1 } * 50 / 55;
            self.queue.push_back((bytes, self.now));
        }
        self.carry(Duration::from_millis((self.delay)(step)));
        while let Some(&(at, wall)) = self.answers.front().filter(|(at, _)| *at <= self.now) {
            self.answers.pop_front();
            assert!(self.path.answered(self.now, wall), "at {at:?}");
        }
        self.mark(None);
        self.send();
        if step.is_multiple_of(100) {
            self.look();
        }
    }

    fn carry(&mut self, delay: Duration) {
        let mut room = self.carries / 8 / 1000;
        while let Some(part) = self.link.front_mut() {
            match part {
                Part::Bytes(bytes, born) => {
                    let taken = room.min(*bytes);
                    *bytes -= taken;
                    room -= taken;
                    if *bytes > 0 {
                        break;
                    }
                    self.ages.push((self.now + delay - *born).as_millis() as u64);
                }
                Part::Mark(wall) => {
                    let before = self.answers.back().map_or(Duration::ZERO, |(at, _)| *at);
                    self.answers.push_back(((self.now + delay * 2).max(before), *wall));
                }
            }
            self.link.pop_front();
        }
    }

    fn mark(&mut self, frame: Option<Duration>) {
        if self.path.wants_mark(self.now, frame.is_some()) {
            let (monotonic, wall) = (self.now, self.now.as_nanos() as u64);
            self.path
                .mark(Now { monotonic, wall }, self.sealed, frame.unwrap_or_default());
            self.link.push_back(Part::Mark(wall));
        }
    }

    fn send(&mut self) {
        while !self.path.is_full(self.now) {
            let Some((bytes, born)) = self.queue.pop_front() else {
                return;
            };
            let waited = self.now - born;
            if waited >= OLD {
                self.dropped += 1 + self.queue.len() as u32;
                self.queue.clear();
                self.estimator.dropped();
                return;
            }
            self.mark(Some(waited));
            self.estimator.frame(Duration::ZERO);
            self.link.push_back(Part::Bytes(bytes, born));
            self.sealed += bytes;
        }
        self.held += u32::from(!self.queue.is_empty());
    }

    fn look(&mut self) {
        let Some(sample) = self.path.sample(self.now) else {
            return;
        };
        let look = PathSample {
            left: sample.arrived,
            at: self.began + sample.at,
            round_trip: sample.round_trip,
            blocked: !self.queue.is_empty(),
        };
        self.target = self.estimator.look(self.began + self.now, &look);
    }

    fn median_age(&mut self) -> u64 {
        self.ages.sort_unstable();
        self.ages[self.ages.len() / 2]
    }
}

#[test]
fn a_path_of_100_mbits_never_slows_an_encoder_of_4() {
    let mut stream = Stream::of(100_000_000, 4_000_000);
    let mut lowest = u64::MAX;
    for _ in 0..300 {
        lowest = lowest.min(stream.run(1).0);
    }
    assert_eq!((lowest, stream.target), (4_000_000, None));
    assert_eq!((stream.dropped, stream.held), (0, 0));
    // A keyframe's interval carries more than the mean.
    assert!(
        stream.estimator.at_least() >= 3_500_000,
        "{}",
        stream.estimator.at_least()
    );
}

#[test]
fn a_path_with_jitter_that_carries_the_stream_slows_nothing() {
    let mut stream = Stream::of(10_000_000, 4_000_000);
    stream.delay = |step| 20 + step * 7919 % 31;
    stream.run(120);
    assert_eq!((stream.target, stream.dropped), (None, 0));
}

#[test]
fn the_encoder_settles_near_what_the_stream_carries_and_its_pictures_are_young() {
    for carries in [1_000_000, 2_000_000, 5_000_000] {
        let mut stream = Stream::of(carries, 8_000_000);
        stream.run(10);
        let before = stream.dropped;
        let (lowest, highest) = stream.run(120);
        let median = stream.median_age();
        assert!(lowest * 100 >= carries * 75, "{carries}: down to {lowest}");
        assert!(highest * 10 <= carries * 11, "{carries}: up to {highest}");
        assert_eq!(stream.dropped, before, "{carries}: frames are dropped for ever");
        // Such a frame takes up to 40 ms to leave, and 20 to arrive.
        assert!(median <= 80, "{carries}: {median} ms");
    }
}

#[test]
fn what_a_stream_carries_again_is_used_within_twenty_seconds() {
    let mut stream = Stream::of(1_000_000, 8_000_000);
    stream.run(20);
    stream.carries = 5_000_000;
    stream.run(20);
    let (lowest, _) = stream.run(10);
    assert!(lowest >= 3_500_000, "{lowest}");
}

#[test]
fn a_stream_that_becomes_slow_carries_young_pictures_again_within_seconds() {
    let mut stream = Stream::of(50_000_000, 8_000_000);
    stream.run(10);
    assert_eq!(stream.target, None);
    stream.carries = 1_000_000;
    stream.run(8);
    stream.run(20);
    assert!(stream.median_age() <= 150, "{} ms", stream.median_age());
}
