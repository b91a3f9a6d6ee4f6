//! A member of a group over datagrams and multicast, with networks that drop, repeat, alter and forge: frames are shown
//! as they were sealed, in order and never twice, none is that of a stranger, and only silence ends a session.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_fuzz::{Act, CONNECTION, Edit, Ends, judge};
use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::{GroupSealer, GroupSealerConfig};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Event, GroupPolicy, Input, OpenedBy, OutgoingFrame, RekeyPolicy, SessionError};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::{Direction, LinkProfile, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo, Unit};
use sealcast_proto::wire::{CameraName, GroupMessage, Hearing, MulticastGroup};

const STREAM: u16 = 1;
const MEMBER: MemberId = MemberId(0);
const VIEWER: Direction = Direction::ToInitiator;
const CAMERA: Direction = Direction::ToResponder;
/// Steps of an input that are taken.
const MAX_STEPS: usize = 48;

#[derive(Debug, Arbitrary)]
struct Plan {
    sign: u8,
    loss: u8,
    delay: u8,
    seed: u64,
    multicast: bool,
    peace: u8,
    network: Vec<Act>,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Wait(u16),
    /// A frame is sealed, and sent to the session and to the multicast group.
    Frame {
        length: u16,
        keyframe: bool,
        /// Treatment of its datagrams in the multicast group, one after another.
        acts: Vec<Act>,
    },
    Rekey,
    /// A stranger sends to the multicast group.
    Shout(Vec<u8>),
    /// A stranger sends to an end.
    Invent {
        towards_viewer: bool,
        message: Vec<u8>,
    },
    /// The viewer's machine can listen to the multicast group no more, or again.
    Deaf(bool),
}

struct Run {
    world: World,
    sealer: GroupSealer,
    group: Option<MulticastGroup>,
    hearing: Hearing,
    deaf: bool,
    seed: u8,
    /// Lengths of the frames sealed so far.
    sealed: Vec<u16>,
}

fn data(number: u64, length: u16) -> Vec<u8> {
    (0..u64::from(length)).map(|at| (at * 7 + number * 31) as u8).collect()
}

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 64,
        height: 64,
        rate: FrameRate {
            numerator: 30,
            denominator: 1,
        },
        parameters: vec![7; 40],
    }
}

impl Run {
    fn begin(plan: &Plan) -> Self {
        let mut ends = Ends::on_datagrams(false);
        let sign = [SignMode::Off, SignMode::Frame][usize::from(plan.sign % 2)];
        // Challenges would use up the small keys of other targets while the network lets nothing pass.
        ends.initiator.rekey = RekeyPolicy::default();
        ends.responder.rekey = RekeyPolicy::default();
        ends.initiator.group = Some(GroupPolicy {
            sign,
            opened_by: OpenedBy::Session,
        });
        let profile = LinkProfile {
            delay: Duration::from_millis(u64::from(plan.delay % 64)),
            loss: sealcast_proto::sim::Loss::Random(f64::from(plan.loss % 64) / 256.0),
            ..LinkProfile::default()
        };
        let world = ends.world(&profile, plan.seed);
        let config = GroupSealerConfig {
            identity: ends.responder.handshake.identity.clone(),
            stream: STREAM,
            suite: suite::AES_128_GCM,
            sign,
            camera_name: CameraName::NONE,
            unit: Unit::Frame,
            selection_seed: 0,
        };
        let sealer = GroupSealer::new(world.now, config, 1..1000, [1; 16], &[2; 32]).expect("there are numbers");
        let group = MulticastGroup {
            tag: 7,
            address: [239, 1, 2, 3].into(),
            port: 5000,
        };
        Self {
            world,
            sealer,
            group: plan.multicast.then_some(group),
            hearing: Hearing::Away,
            deaf: false,
            seed: 0,
            sealed: Vec::new(),
        }
    }

    fn camera_ready(&self) -> bool {
        self.world.responder.session.is_established()
    }

    /// Does what programs do with what their sessions say.
    fn answer(&mut self) {
        for event in std::mem::take(&mut self.world.responder.events) {
            match event {
                Event::Established(_) => {
                    let terms = GroupMessage::Terms(self.sealer.terms());
                    self.world.tell(CAMERA, Input::Group(terms));
                }
                Event::JoinsGroup(_) => {
                    let key = self.world.responder.session.member_key(STREAM).expect("established");
                    let _ = self.sealer.admit(self.world.now, MEMBER, key);
                }
                Event::Challenged(challenge) => {
                    let _ = self.sealer.challenged(MEMBER, challenge);
                }
                Event::Hears(hearing) => self.hearing = hearing,
                _ => {}
            }
        }
        for event in std::mem::take(&mut self.world.initiator.events) {
            self.seed = self.seed.wrapping_add(1);
            match event {
                Event::ChallengeDue => self.world.tell(VIEWER, Input::Challenge([self.seed; 16])),
                Event::HearMulticast(_) => self.world.tell(VIEWER, Input::ListensToMulticast(!self.deaf)),
                _ => {}
            }
        }
        self.announce();
    }

    fn announce(&mut self) {
        self.seed = self.seed.wrapping_add(1);
        let announced = self
            .sealer
            .announce(self.world.now, &[self.seed; 32])
            .expect("numbers are left");
        let Some(announced) = announced.filter(|_| self.camera_ready()) else {
            return;
        };
        let sheet = match announced.admitted.contains(&MEMBER) {
            true => self.sealer.path_sheet(MEMBER),
            false => announced.sheet.filter(|_| self.world.responder.session.is_member()),
        };
        if let Some(sheet) = sheet {
            self.world.tell(CAMERA, Input::Group(GroupMessage::Sheet(&sheet)));
        }
        if let Some(group) = self.group.filter(|_| self.world.responder.session.may_hear_multicast()) {
            self.world.tell(CAMERA, Input::Group(GroupMessage::Multicast(group)));
        }
    }

    fn frame(&mut self, length: u16, keyframe: bool, acts: Vec<Act>) {
        let number = self.sealed.len() as u64;
        let data = data(number, length);
        self.sealed.push(length);
        let frame = OutgoingFrame {
            stream: STREAM.into(),
            codec: Codec::H264,
            keyframe: keyframe || number == 0,
            preamble: Preamble {
                frame: number,
                ..Preamble::default()
            },
            data: &data,
        };
        self.sealer.carry_in_packets(self.world.responder.session.repair_need());
        let sealing = self
            .sealer
            .seal(self.world.now, &info(), &frame)
            .expect("within the limits");
        let Some(sealing) = sealing else { return };
        if self.world.responder.session.is_member() {
            let now = self.world.now;
            let _ = self
                .world
                .responder
                .session
                .forward(now, &sealing.frame, &mut Vec::new());
        }
        for (_, answer) in sealing.answers.iter().flat_map(|batch| batch.answers()) {
            if self.world.responder.session.is_member() {
                self.world
                    .tell(CAMERA, Input::Group(GroupMessage::Answer(&answer.to_bytes())));
            }
        }
        if let Some(group) = self.group.filter(|_| self.hearing != Hearing::Away && !self.deaf) {
            let runs: Vec<_> = sealing.frame.datagrams(group.tag).collect();
            let mut acts = acts.into_iter();
            for datagram in runs.iter().flat_map(|run| run.bytes.chunks(run.size)) {
                self.shout(acts.next(), &datagram[4..]);
            }
        }
    }

    fn shout(&mut self, act: Option<Act>, record: &[u8]) {
        let mut came = vec![record.to_vec()];
        match act {
            None | Some(Act::Pass) => {}
            Some(Act::Drop) => came.clear(),
            Some(Act::Repeat) => came.push(record.to_vec()),
            Some(Act::Edit(edit)) => Edit::apply(edit, &mut came[0]),
        }
        for mut record in came {
            self.world.tell(VIEWER, Input::Multicast(&mut record));
        }
    }

    /// Frames are shown as they were sealed, in order and never twice, and silence alone ends a session.
    fn check(&self) {
        let mut next = 0;
        for (_, media) in &self.world.initiator.assembled {
            if let Assembled::Frame(frame) = media {
                let number = frame.preamble.frame;
                assert!(number >= next, "frame {number} after {next}");
                assert!(
                    frame.data == data(number, self.sealed[number as usize]),
                    "frame {number}"
                );
                next = number + 1;
            }
        }
        for end in [&self.world.initiator, &self.world.responder] {
            let expected = matches!(
                end.error,
                None | Some(SessionError::Handshake(_) | SessionError::PeerLost | SessionError::PeerForgot)
            );
            assert!(expected, "{:?}", end.error);
        }
    }
}

fuzz_target!(|plan: Plan| {
    let mut run = Run::begin(&plan);
    let mut judge = judge(u32::from(plan.peace), plan.network);
    for _ in 0..50 {
        run.world.run(Duration::from_millis(20), &mut judge);
        run.answer();
    }
    for step in plan.steps.into_iter().take(MAX_STEPS) {
        match step {
            Step::Wait(milliseconds) => {
                run.world
                    .run(Duration::from_millis(u64::from(milliseconds) % 1_000), &mut judge);
            }
            Step::Frame { length, keyframe, acts } => run.frame(length, keyframe, acts),
            Step::Rekey => run.sealer.rekey(run.world.now),
            Step::Shout(record) => run.shout(None, &record),
            Step::Invent {
                towards_viewer,
                message,
            } => {
                let towards = if towards_viewer { VIEWER } else { CAMERA };
                run.world
                    .send(towards, [&CONNECTION.to_be_bytes()[..], &message].concat());
            }
            Step::Deaf(deaf) => run.deaf = deaf,
        }
        run.world.run(Duration::from_millis(20), &mut judge);
        run.answer();
    }
    run.world.run(Duration::from_secs(1), &mut judge);
    run.check();
});
