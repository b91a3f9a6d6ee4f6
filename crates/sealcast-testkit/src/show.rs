//! A stream from a publisher to a viewer over datagrams, frame by frame in virtual time, and a record of the frames
//! shown.

use std::time::Duration;

use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::{Delivery, Event, Input, Mtu, OutgoingFrame};
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo, UnitArrival};
use sealcast_proto::wire::BASE_DATAGRAM;

use crate::ends::Setup;

/// Messages to the publisher, or the publisher's end.
pub const PUBLISHER: Direction = Direction::ToResponder;
/// Messages to the viewer, or the viewer's end.
pub const VIEWER: Direction = Direction::ToInitiator;

/// Interval of a viewer's requests while it waits for a keyframe.
const ASK_INTERVAL: Duration = Duration::from_millis(250);

/// Decides on every message; see [`World::run`].
pub type Judge<'a> = &'a mut dyn FnMut(Direction, &mut Vec<u8>) -> Verdict;

/// Properties of the published stream.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Time between two frames.
    pub interval: Duration,
    /// Frames from keyframe to keyframe, without requests.
    pub group: u64,
    /// Length of a keyframe.
    pub keyframe_bytes: u64,
    /// Length of other frames.
    pub bytes: u64,
    /// True if the publisher sends requested keyframes.
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

/// Delivery settings for a stream that no encoder adapts: the rate never falls below the stream's.
pub fn steady() -> Delivery {
    Delivery {
        rate: Some(RateConfig {
            min: 6_000_000,
            start: 12_000_000,
            max: 100_000_000,
            unsteered: false,
        }),
        // Fixed, so that no path MTU is probed: the simulated paths carry longer datagrams than any real one.
        mtu: Mtu::Fixed(BASE_DATAGRAM),
        ..Delivery::default()
    }
}

/// The default ends, both with these delivery settings.
pub fn setup(delivery: Delivery) -> Setup {
    let mut setup = Setup::default();
    setup.viewer.delivery = delivery;
    setup.publisher.delivery = delivery;
    setup
}

/// The publisher's stream description.
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

/// The content of the frame with this number.
pub fn frame_bytes(number: u64, length: u64) -> Vec<u8> {
    (0..length).map(|at| (at ^ number) as u8).collect()
}

/// A frame that was sealed.
#[derive(Clone, Copy)]
pub struct Sent {
    /// Time of sealing, on the monotonic clock.
    pub at: Duration,
    /// True if it can be decoded without earlier frames.
    pub keyframe: bool,
    length: u64,
}

/// A frame that was shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// Its number.
    pub number: u64,
    /// Time at which it was shown, on the monotonic clock.
    pub at: Duration,
}

/// The stream and the record of its frames.
pub struct Show {
    /// The two ends and the link.
    pub world: World,
    /// Properties of the published stream.
    pub kind: Kind,
    /// Every frame that was sealed.
    pub sent: Vec<Sent>,
    /// Every frame that was shown.
    pub shown: Vec<Shown>,
    /// For each shown frame, the arrivals of its units, if the viewer reports them.
    pub units: Vec<Vec<UnitArrival>>,
    /// Number of keyframes that the viewer requested.
    pub asked: u32,
    /// Number of keyframes sent on request.
    pub honoured: u32,
    events_seen: usize,
    waiting: bool,
    asked_at: Duration,
}

impl Show {
    /// Both ends with an established session, over a link with this profile.
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

    /// Publishes `count` frames at their times, with every message delivered.
    pub fn play(&mut self, count: u64) {
        self.play_judged(count, &mut |_, _| Verdict::Deliver);
    }

    /// Publishes `count` frames at their times; `judge` decides on every message.
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

    /// Lets time pass without frames.
    pub fn pause(&mut self, length: Duration) {
        self.world.run_cleanly(length);
        self.watch();
    }

    /// Seals the next frame now.
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

    /// True if the viewer requested a keyframe since the last call.
    fn requested(&mut self) -> bool {
        let events = &self.world.responder.events;
        let asked = |event: &Event| matches!(event, Event::KeyframeRequested(1));
        let requested = self.kind.honours && events[self.events_seen..].iter().any(asked);
        self.events_seen = events.len();
        requested
    }

    /// Collects the frames that the viewer received; each must equal the sent one, in order and without duplicates.
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

    /// For each shown frame, the time from sealing to showing.
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
