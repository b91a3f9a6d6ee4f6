use std::collections::VecDeque;

use super::*;

const STEP: Duration = Duration::from_millis(10);
const BOUNDS: RateConfig = RateConfig {
    min: 150_000,
    start: 2_000_000,
    max: 20_000_000,
    unsteered: false,
};
/// The encoder's configured rate, bit/s.
const CONFIGURED: u64 = 8_000_000;
const RTT: Duration = Duration::from_millis(20);

/// A simulation in steps of 10 ms: an encoder of 25 pictures per second, a queue that drops frames after 400 ms, and
/// a path.
struct Path {
    delay_rate: DelayBasedRate,
    now: Instant,
    steps: u32,
    /// Capacity in bit/s.
    carries: u64,
    round_trip: Duration,
    /// Size and creation time of the queued frames; part of the first may already have left.
    queue: VecDeque<(u64, Instant)>,
    left: u64,
    target: Option<u64>,
    dropped: u32,
}

impl Path {
    fn of(carries: u64) -> Self {
        Self {
            delay_rate: DelayBasedRate::new(BOUNDS, Queues::OF_QUIC),
            now: Instant::now(),
            steps: 0,
            carries,
            round_trip: RTT,
            queue: VecDeque::new(),
            left: 0,
            target: None,
            dropped: 0,
        }
    }

    /// Simulate some seconds. Returns the lowest and the highest target in that time.
    fn run(&mut self, seconds: u32) -> (u64, u64) {
        let mut range = (u64::MAX, 0);
        for _ in 0..seconds * 100 {
            self.step();
            let target = self.target.unwrap_or(CONFIGURED);
            range = (range.0.min(target), range.1.max(target));
        }
        range
    }

    fn step(&mut self) {
        self.now += STEP;
        self.steps += 1;
        if self.steps.is_multiple_of(4) {
            let rate = self.target.unwrap_or(CONFIGURED).min(CONFIGURED);
            // A keyframe every two seconds, six times as large as other frames.
            let keyframe = self.steps.is_multiple_of(200);
            let bytes = rate / 8 / 25 * if keyframe { 6 } else { 1 } * 50 / 55;
            self.queue.push_back((bytes, self.now));
            if self.queue.len() == 1 {
                self.delay_rate.frame(Duration::ZERO);
            }
        }
        let mut room = self.carries / 8 / 100;
        while let Some((bytes, _)) = self.queue.front_mut() {
            let taken = room.min(*bytes);
            *bytes -= taken;
            room -= taken;
            self.left += taken;
            if *bytes > 0 {
                break;
            }
            self.queue.pop_front();
            if let Some((_, born)) = self.queue.front() {
                let waited = self.now - *born;
                if waited >= Duration::from_millis(400) {
                    self.queue.clear();
                    self.dropped += 1;
                    self.delay_rate.dropped();
                } else {
                    self.delay_rate.frame(waited);
                }
            }
        }
        if self.steps.is_multiple_of(10) {
            let look = PathSample {
                left: self.left,
                at: self.now,
                round_trip: self.round_trip,
                blocked: !self.queue.is_empty(),
            };
            self.target = self.delay_rate.look(self.now, &look);
        }
    }
}

#[test]
fn where_the_path_carries_everything_nothing_is_asked_of_the_source() {
    let mut path = Path::of(40_000_000);
    path.run(60);
    assert_eq!((path.target, path.dropped), (None, 0));
}

#[test]
fn the_target_settles_a_little_below_what_the_path_carries() {
    for carries in [500_000, 2_000_000, 5_000_000] {
        let mut path = Path::of(carries);
        path.run(5);
        let before = path.dropped;
        let (lowest, highest) = path.run(60);
        assert!(lowest * 10 >= carries * 7, "{carries}: down to {lowest}");
        assert!(highest * 10 <= carries * 12, "{carries}: up to {highest}");
        assert_eq!(path.dropped, before, "{carries}: frames are dropped for ever");
    }
}

#[test]
fn what_a_path_carries_again_is_used_within_twenty_seconds() {
    let mut path = Path::of(1_000_000);
    path.run(20);
    path.carries = 5_000_000;
    path.run(20);
    let (lowest, _) = path.run(10);
    assert!(lowest >= 3_500_000, "{lowest}");
}

#[test]
fn an_outage_is_not_taken_for_slowness() {
    let mut path = Path::of(2_000_000);
    path.run(20);
    let before = path.target.expect("the path is slower than the source");
    path.carries = 0;
    let (lowest, _) = path.run(10);
    assert!(lowest * 10 >= before * 3, "from {before} to {lowest}");
    path.carries = 2_000_000;
    path.run(10);
    let after = path.target.expect("it was stated before");
    assert!(after * 10 >= before * 7, "from {before} to {after}");
}

#[test]
fn a_queue_on_the_path_counts_and_a_longer_path_does_not() {
    let mut path = Path::of(40_000_000);
    path.run(5);
    path.round_trip = RTT + Queues::OF_QUIC.standing * 2;
    path.run(2);
    let cut = path.target.expect("packets wait on the path");
    assert!(cut < CONFIGURED, "{cut}");
    path.run(40);
    // The longer round trip belongs to another path.
    let (lowest, _) = path.run(20);
    assert!(lowest >= CONFIGURED, "{lowest}");
}

#[test]
fn a_source_that_pauses_says_nothing_of_the_path() {
    let mut path = Path::of(2_000_000);
    path.run(20);
    let before = path.target;
    let look = PathSample {
        left: path.left,
        at: path.now,
        round_trip: RTT,
        blocked: false,
    };
    for _ in 0..100 {
        path.now += INTERVAL;
        path.target = path.delay_rate.look(path.now, &PathSample { at: path.now, ..look });
    }
    // The first sample ends an interval that had already begun.
    let moved = path
        .target
        .zip(before)
        .map(|(after, before)| after.abs_diff(before) * 10 <= before);
    assert_eq!(moved, Some(true));
}
