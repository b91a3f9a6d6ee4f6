//! Two sessions over datagrams and a virtual clock, with a network that drops, delays, repeats, alters and forges.
//! Frames are shown as they were sent, in order and never twice; only silence and exhausted keys end a session.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Act, CONNECTION, Ends, judge, selection, unit};
use sealcast_proto::rate::RateConfig;
use sealcast_proto::session::{Delivery, Fec, Input, Mtu, OutgoingFrame, RekeyPolicy, SessionError};
use sealcast_proto::sim::{Direction, LinkProfile, Loss, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo};
use sealcast_proto::wire::CloseReason;

#[derive(Debug, Arbitrary)]
struct Plan {
    publishes: bool,
    unit: u16,
    /// Percent; other values mean adaptive, or none.
    fec: u8,
    nack: bool,
    rate: bool,
    pace: bool,
    long_datagrams: bool,
    budget: u8,
    rekey: u8,
    link: LinkPlan,
    peace: u8,
    network: Vec<Act>,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
struct LinkPlan {
    delay: u8,
    jitter: u8,
    loss: u8,
    reorder: u8,
    duplicate: u8,
    corrupt: u8,
    rate: u8,
    seed: u64,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Wait(u16),
    Frames {
        count: u8,
        length: u16,
        keyframe: bool,
    },
    Describe,
    RequestKeyframe(u8),
    Rekey {
        publisher: bool,
    },
    Select {
        mode: u8,
        share: u8,
    },
    Invent {
        towards_initiator: bool,
        named: bool,
        message: Vec<u8>,
    },
    Close {
        publisher: bool,
    },
}

impl LinkPlan {
    fn profile(&self) -> LinkProfile {
        let share = |byte: u8| f64::from(byte % 64) / 256.0;
        LinkProfile {
            delay: Duration::from_millis(u64::from(self.delay)),
            jitter: Duration::from_millis(u64::from(self.jitter)),
            loss: Loss::Random(share(self.loss)),
            reorder: share(self.reorder),
            duplicate: share(self.duplicate),
            corrupt: share(self.corrupt),
            rate: (self.rate > 0).then(|| u64::from(self.rate) * 100_000),
            ..LinkProfile::default()
        }
    }
}

fn data(number: u64, length: u16) -> Vec<u8> {
    (0..u64::from(length)).map(|at| (at * 7 + number * 31) as u8).collect()
}

fn ends(plan: &Plan) -> Ends {
    let mut ends = Ends::on_datagrams(plan.publishes);
    let age = Duration::from_millis(100 + 10 * u64::from(plan.rekey));
    for end in [&mut ends.initiator, &mut ends.responder] {
        end.unit = unit(plan.unit);
        end.rekey = RekeyPolicy::new(4096, age).expect("within the limits");
        end.delivery = Delivery {
            budget: Duration::from_millis(u64::from(plan.budget)),
            fec: match plan.fec {
                0..=50 => Fec::Fixed(plan.fec),
                51..=150 => Fec::Adaptive,
                _ => Fec::Off,
            },
            nack: plan.nack,
            rate: plan.rate.then(RateConfig::default),
            pace: plan.pace,
            tell_units: plan.nack != plan.pace,
            mtu: if plan.long_datagrams {
                Mtu::Fixed(8972)
            } else {
                Mtu::Discover
            },
            keep_sealed: false,
        };
    }
    ends
}

struct Run {
    world: World,
    viewer: Direction,
    publisher: Direction,
    /// Lengths of the frames sent so far.
    sent: Vec<u16>,
}

impl Run {
    fn frame(&mut self, keyframe: bool, length: u16) {
        let number = self.sent.len() as u64;
        let data = data(number, length);
        self.sent.push(length);
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
        // Before the session is established and after its end, this has no effect.
        let _ = self.world.publish(self.publisher, &frame);
    }

    fn describe(&mut self) {
        let info = StreamInfo {
            codec: Codec::H264,
            width: 64,
            height: 64,
            rate: FrameRate {
                numerator: 30,
                denominator: 1,
            },
            parameters: vec![7; 4000],
        };
        let _ = self.world.describe(self.publisher, 1, &info);
    }

    /// Checks that frames are shown as they were sent, in order and never twice.
    fn check(&mut self) {
        assert!(self.world.end(self.publisher).assembled.is_empty());
        let mut next = 0;
        for (_, media) in &self.world.end(self.viewer).assembled {
            if let Assembled::Frame(frame) = media {
                let number = frame.preamble.frame;
                assert!(number >= next, "frame {number} after {next}");
                assert!(frame.data == data(number, self.sent[number as usize]), "frame {number}");
                next = number + 1;
            }
        }
        for end in [&self.world.initiator, &self.world.responder] {
            let expected = matches!(
                end.error,
                // The fuzzer itself may give a session a command of the other role; the session reports that and
                // continues to its end.
                None | Some(SessionError::Handshake(_) | SessionError::PeerLost | SessionError::PeerForgot)
                    | Some(SessionError::KeyLimit | SessionError::Misuse)
            );
            assert!(expected, "{:?}", end.error);
        }
    }
}

fuzz_target!(|plan: Plan| {
    let world = ends(&plan).world(&plan.link.profile(), plan.link.seed);
    let (viewer, publisher) = match plan.publishes {
        true => (Direction::ToResponder, Direction::ToInitiator),
        false => (Direction::ToInitiator, Direction::ToResponder),
    };
    let mut judge = judge(u32::from(plan.peace), plan.network);
    let mut run = Run {
        world,
        viewer,
        publisher,
        sent: Vec::new(),
    };
    run.world.run(Duration::from_millis(1000), &mut judge);
    for step in plan.steps.into_iter().take(48) {
        let world = &mut run.world;
        let established = world.initiator.session.is_established() && world.responder.session.is_established();
        match step {
            Step::Wait(milliseconds) => world.run(Duration::from_millis(u64::from(milliseconds) % 3_000), &mut judge),
            Step::Frames {
                count,
                length,
                keyframe,
            } => {
                for number in 0..count % 16 {
                    run.frame(keyframe && number == 0, length);
                    run.world.run(Duration::from_millis(20), &mut judge);
                }
            }
            Step::Describe => run.describe(),
            Step::RequestKeyframe(stream) if established => {
                world.tell(viewer, Input::RequestKeyframe(u32::from(stream % 15) + 1));
            }
            Step::Rekey { publisher: true } if established => world.tell(publisher, Input::Rekey),
            Step::Rekey { publisher: false } if established => world.tell(viewer, Input::Rekey),
            Step::Select { mode, share } if established => world.tell(publisher, Input::Select(selection(mode, share))),
            Step::Invent {
                towards_initiator,
                named,
                message,
            } => {
                let towards = if towards_initiator {
                    Direction::ToInitiator
                } else {
                    Direction::ToResponder
                };
                let connection = if named { &CONNECTION.to_be_bytes()[..] } else { &[] };
                world.send(towards, [connection, &message].concat());
            }
            Step::Close { publisher: by } if established => {
                let end = if by { publisher } else { viewer };
                world.tell(end, Input::Close(CloseReason::GoingAway, "enough"));
            }
            _ => {}
        }
        // A session that accepts no more input is over.
        for end in [&run.world.initiator, &run.world.responder] {
            assert!(end.error.is_none() || end.session.is_over(), "{:?}", end.error);
        }
    }
    run.world.run(Duration::from_secs(1), &mut judge);
    run.check();
});
