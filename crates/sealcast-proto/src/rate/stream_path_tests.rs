use super::*;

const MS: Duration = Duration::from_millis(1);
const DELAY: Duration = Duration::from_millis(20);

/// A link in steps of a millisecond: bytes leave one after the other, at a rate, and their marks are answered.
struct Stream {
    path: StreamPath,
    now: Duration,
    /// Bytes per millisecond.
    rate: u64,
    /// One-way delay.
    delay: Duration,
    /// Bytes and marks that wait for the link, oldest first.
    queue: VecDeque<Part>,
    /// Answers on their way, with the time of their arrival.
    answers: VecDeque<(Duration, u64)>,
    sealed: u64,
    marks: u32,
}

enum Part {
    Bytes(u64),
    Mark(u64),
}

impl Stream {
    fn of(mbit: u64) -> Self {
        Self {
            path: StreamPath::default(),
            now: Duration::from_secs(1),
            rate: mbit * 125,
            delay: DELAY,
            queue: VecDeque::new(),
            answers: VecDeque::new(),
            sealed: 0,
            marks: 0,
        }
    }

    fn step(&mut self) {
        self.now += MS;
        let mut room = self.rate;
        while let Some(part) = self.queue.front_mut() {
            match part {
                Part::Bytes(bytes) => {
                    let taken = room.min(*bytes);
                    *bytes -= taken;
                    room -= taken;
                    if *bytes > 0 {
                        break;
                    }
                }
                Part::Mark(wall) if self.rate > 0 => self.answers.push_back((self.now + self.delay * 2, *wall)),
                Part::Mark(_) => break,
            }
            self.queue.pop_front();
        }
        while let Some(&(_, wall)) = self.answers.front().filter(|(at, _)| *at <= self.now) {
            self.answers.pop_front();
            assert!(self.path.answered(self.now, wall));
        }
        self.mark(false);
    }

    fn mark(&mut self, frame: bool) {
        if self.path.wants_mark(self.now, frame) {
            let wall = self.now.as_nanos() as u64;
            let now = Now {
                monotonic: self.now,
                wall,
            };
            self.path.mark(now, self.sealed, Duration::ZERO);
            self.queue.push_back(Part::Mark(wall));
            self.marks += 1;
        }
    }

    /// Seals a frame unless the path is full. Returns true if it did.
    fn frame(&mut self, bytes: u64) -> bool {
        if self.path.is_full(self.now) {
            return false;
        }
        self.mark(true);
        self.queue.push_back(Part::Bytes(bytes));
        self.sealed += bytes;
        true
    }

    /// Bytes that wait for the link.
    fn waiting(&self) -> u64 {
        let bytes = |part: &Part| if let Part::Bytes(bytes) = part { *bytes } else { 0 };
        self.queue.iter().map(bytes).sum()
    }

    /// A source of 25 frames a second of so many bytes, for some seconds: the frames that were sealed, those that had
    /// to wait, and the most milliseconds that a byte waited for the link.
    fn run(&mut self, seconds: u32, bytes: u64) -> (u32, u32, u64) {
        let (mut sealed, mut held, mut longest) = (0, 0, 0);
        for step in 0..seconds * 1000 {
            self.step();
            if step % 40 == 0 {
                if self.frame(bytes) {
                    sealed += 1;
                } else {
                    held += 1;
                }
                longest = longest.max(self.waiting() / self.rate.max(1));
            }
        }
        (sealed, held, longest)
    }
}

#[test]
fn a_path_that_carries_the_stream_holds_nothing_back_and_is_marked_seldom() {
    let mut stream = Stream::of(100);
    let (sealed, held, _) = stream.run(60, 20_000);
    assert_eq!((sealed, held), (1500, 0));
    assert!(stream.marks <= 610, "{}", stream.marks);
    let sample = stream.path.sample(stream.now).expect("answered");
    assert!(stream.sealed - sample.arrived < 200_000, "{sample:?}");
    assert!(sample.round_trip < DELAY * 2 + MS * 3, "{sample:?}");
}

#[test]
fn what_waits_for_a_slow_path_is_bounded_by_time_whatever_its_rate() {
    for mbit in [1, 2, 5] {
        let mut stream = Stream::of(mbit);
        // Twice what the path carries, and then for a long time.
        let bytes = mbit * 125 * 40 * 2;
        stream.run(5, bytes);
        let (sealed, held, longest) = stream.run(60, bytes);
        // What is sealed until the oldest mark is too old takes twice as long to leave, and a frame 80 ms more.
        let most = (DELAY * 2 + MOST_QUEUED + MS * 40) * 2 + MS * 80;
        assert!(u128::from(longest) <= most.as_millis(), "{mbit} Mbit/s: {longest} ms");
        assert!(held > 0 && sealed >= 600, "{mbit} Mbit/s: {sealed} sealed, {held} held");
        let sample = stream.path.sample(stream.now).expect("answered");
        assert!(sample.round_trip >= DELAY * 2, "{sample:?}");
    }
}

#[test]
fn a_longer_path_is_learnt_within_seconds() {
    let mut stream = Stream::of(20);
    stream.run(5, 20_000);
    stream.delay = DELAY * 6;
    stream.run(15, 20_000);
    let (sealed, held, _) = stream.run(20, 20_000);
    assert!(held * 20 <= sealed, "{held} of {} are held back", sealed + held);
}

#[test]
fn nothing_is_sealed_in_an_outage_and_everything_goes_on_after_it() {
    let mut stream = Stream::of(20);
    stream.run(2, 20_000);
    stream.rate = 0;
    let (sealed, _, _) = stream.run(5, 20_000);
    assert!(sealed <= 5, "{sealed}");
    assert!(stream.path.marks.len() <= MAX_MARKS);
    stream.rate = 20 * 125;
    let (_, held, _) = stream.run(5, 20_000);
    assert!(held <= 5, "{held}");
}

#[test]
fn an_answer_counts_once_and_only_for_a_mark() {
    let mut path = StreamPath::default();
    let at = |millis| Duration::from_millis(millis);
    for (millis, wall) in [(0, 7), (200, 8), (400, 9)] {
        assert!(path.wants_mark(at(millis), true));
        path.mark(
            Now {
                monotonic: at(millis),
                wall,
            },
            millis * 10,
            at(5),
        );
    }
    assert_eq!(path.sample(at(410)), None);
    assert!(!path.answered(at(420), 10), "never made");
    assert!(path.answered(at(450), 8));
    assert!(
        !path.answered(at(450), 8) && !path.answered(at(450), 7),
        "the earlier one has arrived too"
    );
    assert_eq!(path.sample(at(450)).map(|sample| sample.arrived), Some(2000));
    assert!(path.answered(at(451), 9));
    let sample = path.sample(at(451)).expect("answered");
    assert_eq!(
        (sample.arrived, sample.round_trip),
        (4000, at(56)),
        "with the waiting before it"
    );
}

#[test]
fn marks_without_answers_are_bounded() {
    let mut path = StreamPath::default();
    let mut made = 0;
    for millis in 0..100_000 {
        let now = Duration::from_millis(millis);
        if path.wants_mark(now, true) {
            let now = Now {
                monotonic: now,
                wall: millis,
            };
            path.mark(now, 0, Duration::ZERO);
            made += 1;
        }
    }
    assert_eq!(made, MAX_MARKS);
}
