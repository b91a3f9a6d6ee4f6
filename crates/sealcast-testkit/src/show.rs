//! A stream from a publisher to a viewer over datagrams, frame by frame in virtual time, and what was shown of it.

use std::time::Duration;

use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::{Delivery, Event, Input, Mtu, OutgoingFrame};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo, UnitArrival};
use sealcast_proto::wire::BASE_DATAGRAM;

use crate::ends::Setup;

/// Towards the publisher, or by it.
pub const PUBLISHER: Direction = Direction::ToResponder;
/// Towards the viewer, or by it.
pub const VIEWER: Direction = Direction::ToInitiator;

/// A viewer that waits for a keyframe asks for one this often.
const ASK_INTERVAL: Duration = Duration::from_millis(250);

/// Decides on every message; see [`World::run`].
pub type Judge<'a> = &'a mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict;

/// What is published.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Between two frames.
    pub interval: Duration,
    /// Frames from keyframe to keyframe, where none is asked for.
    pub group: u64,
    /// Length of a keyframe.
    pub keyframe_bytes: u64,
    /// Length of another frame.
    pub bytes: u64,
    /// Whether the publisher does what the viewer asks for.
    pub honours: bool,
}

/// 720p30 at about 3 Mbit/s.
pub const CAMERA: Kind = Kind {
    interval: Duration::from_micros(33_333),
    group: 30,
    keyframe_bytes: 60_000,
    bytes: 10_800,
    honours: true,
};

/// What is delivered of a stream that no encoder adapts: the rate never falls below it.
pub fn steady() -> Delivery {
    Delivery {
        rate: Some(RateConfig {
            min: 6_000_000,
            start: 12_000_000,
            max: 100_000_000,
            unsteered: false,
        }),
        // A path of which nothing is found out: the simulated ones carry more than any real one.
        mtu: Mtu::Fixed(BASE_DATAGRAM),
        ..Delivery::default()
    }
}

/// The usual two ends, with this delivery at both.
pub fn setup(delivery: Delivery) -> Setup {
    let mut setup = Setup::default();
    setup.viewer.delivery = delivery;
    setup.publisher.delivery = delivery;
    setup
}

/// What the publisher says of its stream.
pub fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 1280,
        height: 720,
        rate: FrameRate {
            numerator: 30,
            denominator: 1,
        },
        parameters: vec![7; 40],
    }
}

/// What a frame of that number consists of.
pub fn frame_bytes(number: u64, length: u64) -> Vec<u8> {
    (0..length).map(|at| (at ^ number) as u8).collect()
}

/// A frame that was sealed.
#[derive(Clone, Copy)]
pub struct Sent {
    /// When, on the monotonic clock.
    pub at: Duration,
    /// Whether it can be decoded without those before.
    pub keyframe: bool,
    length: u64,
}

/// A frame that was shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Its number.
    pub number: u64,
    /// When, on the monotonic clock.
    pub at: Duration,
}

/// The stream, and what was seen of it.
pub struct Show {
    /// The two ends and the link.
    pub world: World,
    /// What is published.
    pub kind: Kind,
    /// Every frame that was sealed.
    pub sent: Vec<Sent>,
    /// Every frame that was shown.
    pub shown: Vec<Shown>,
    /// How the units of each of them came, where the viewer is told.
    pub units: Vec<Vec<UnitArrival>>,
    /// Keyframes that the viewer asked for.
    pub asked: u32,
    /// Keyframes that were sent because they were asked for.
    pub honoured: u32,
    events_seen: usize,
    waiting: bool,
    asked_at: Duration,
}

impl Show {
    /// Both ends established, over a link of this profile.
    pub fn new(setup: Setup, profile: &str, seed: u64, kind: Kind) -> Self {
        let mut world = setup.datagrams(profile, seed);
        world.run_cleanly(Duration::from_secs(5));
        assert!(world.initiator.session.is_established(), "{:?}", world.initiator.error);
        assert!(world.responder.session.is_established(), "{:?}", world.responder.error);
        Self {
            world,
            kind,
            sent: Vec::new(),
            shown: Vec::new(),
            units: Vec::new(),
            asked: 0,
            honoured: 0,
            events_seen: 0,
            waiting: false,
            asked_at: Duration::ZERO,
        }
    }

    /// Publish `count` frames at their times, with every message delivered.
    pub fn play(&mut self, count: u64) {
        self.play_judged(count, &mut |_, _| Verdict::Deliver);
    }

    /// Publish `count` frames at their times, with a judge over every message.
    pub fn play_judged(&mut self, count: u64, judge: Judge<'_>) {
        for _ in 0..count {
            let requested = self.requested();
            let due = (self.sent.len() as u64).is_multiple_of(self.kind.group);
            self.honoured += u32::from(requested && !due);
            self.publish(due || requested);
            self.world.run(self.kind.interval, judge);
            self.watch();
        }
    }

    /// Let time pass without frames.
    pub fn pause(&mut self, length: Duration) {
        self.world.run_cleanly(length);
        self.watch();
    }

    /// Seal the next frame now.
    pub fn publish(&mut self, keyframe: bool) {
        let number = self.sent.len() as u64;
        let length = if keyframe {
            self.kind.keyframe_bytes
        } else {
            self.kind.bytes
        };
        if keyframe {
            self.world.describe(PUBLISHER, 1, &info()).expect("the keys are good");
        }
        let data = frame_bytes(number, length);
        let frame = OutgoingFrame {
            stream: 1,
            codec: Codec::H264,
            keyframe,
            preamble: Preamble {
                frame: number,
                ..Preamble::default()
            },
            data: &data,
        };
        self.world.publish(PUBLISHER, &frame).expect("the keys are good");
        let at = self.world.now.monotonic;
        self.sent.push(Sent { at, keyframe, length });
    }

    /// Whether the viewer asked for a keyframe since the last time.
    fn requested(&mut self) -> bool {
        let events = &self.world.responder.events;
        let asked = |event: &Event| matches!(event, Event::KeyframeRequested(1));
        let requested = self.kind.honours && events[self.events_seen..].iter().any(asked);
        self.events_seen = events.len();
        requested
    }

    /// Take what the viewer got; each frame must be what was sent, in order, and come once.
    pub fn watch(&mut self) {
        for (at, media) in std::mem::take(&mut self.world.initiator.assembled) {
            match media {
                Assembled::Frame(frame) => {
                    let number = frame.preamble.frame;
                    let length = self.sent[number as usize].length;
                    assert!(frame.data == frame_bytes(number, length), "frame {number} is another");
                    let last = self.shown.last();
                    assert!(
                        last.is_none_or(|last| last.number < number),
                        "frame {number} after {last:?}"
                    );
                    self.shown.push(Shown { number, at });
                    self.units.push(frame.units);
                    self.waiting = false;
                }
                Assembled::Lost | Assembled::Undecodable { .. } => self.waiting = true,
                _ => {}
            }
        }
        let now = self.world.now.monotonic;
        if self.waiting && now >= self.asked_at + ASK_INTERVAL && self.world.initiator.session.is_established() {
            self.asked_at = now;
            self.asked += 1;
            self.world.tell(VIEWER, Input::RequestKeyframe(1));
        }
    }

    /// The numbers of the frames that were shown.
    pub fn numbers(&self) -> Vec<u64> {
        self.shown.iter().map(|shown| shown.number).collect()
    }

    /// How long after it was sealed each frame was shown.
    pub fn delays(&self) -> Vec<Duration> {
        let delay = |shown: &Shown| shown.at - self.sent[shown.number as usize].at;
        self.shown.iter().map(delay).collect()
    }

    /// Share of all frames that were shown no later than `limit` after they were sealed.
    pub fn in_time(&self, limit: Duration) -> f64 {
        let count = self.delays().into_iter().filter(|delay| *delay <= limit).count();
        count as f64 / self.sent.len() as f64
    }

    /// Fails if one of the sessions has ended in an error.
    pub fn both_live(&self) {
        let errors = (self.world.initiator.error, self.world.responder.error);
        assert_eq!(errors, (None, None));
    }
}
