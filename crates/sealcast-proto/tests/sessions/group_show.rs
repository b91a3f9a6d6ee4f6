//! A camera that seals for a group of viewers, whose sessions have links of their own, on a virtual clock.

use std::collections::BTreeSet;
use std::time::Duration;

use sealcast_proto::clock::Now;
use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::{GroupSealer, GroupSealerConfig, Sealing};
use sealcast_proto::live::LivenessState;
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Event, Fec, GroupPolicy, Input, OpenedBy, OutgoingFrame, RepairNeed, ShapePlan};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::{Direction, Verdict, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo, Unit};
use sealcast_proto::wire::{CameraName, GroupMessage, Hearing, Kind, MulticastGroup};
use sealcast_testkit::ends::{self, Setup, identity, records};
use sealcast_testkit::show::{frame_bytes, steady};

pub(crate) const STREAM: u16 = 1;
pub(crate) const VIEWER: Direction = Direction::ToInitiator;
pub(crate) const PUBLISHER: Direction = Direction::ToResponder;
pub(crate) const FRAME: Duration = Duration::from_millis(40);

fn info() -> StreamInfo {
    StreamInfo {
        codec: Codec::H264,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: vec![0, 0, 0, 1, 0x67, 1, 2, 3],
    }
}

/// Time after which all sessions are established.
const ESTABLISHED: Duration = Duration::from_secs(5);
/// Length of a frame.
pub(crate) const FRAME_BYTES: u64 = 5_000;

/// A viewer that joins if at least this is signed, and gets frames over its session.
pub(crate) const fn policy(sign: SignMode) -> GroupPolicy {
    let opened_by = OpenedBy::Session;
    GroupPolicy { sign, opened_by }
}

/// A camera with one group and viewers on links of their own.
pub(crate) struct Show {
    pub(crate) sealer: GroupSealer,
    pub(crate) viewers: Vec<World>,
    pub(crate) frames: u64,
    seed: u8,
    pub(crate) sealed: u64,
    /// Description of its stream by the camera.
    pub(crate) info: StreamInfo,
    /// True if the path takes pictures away.
    pub(crate) withholds: bool,
    removed: Vec<MemberId>,
    /// The media of the group in datagrams that left for each viewer, without the prefix that is its own.
    pub(crate) wire: Vec<BTreeSet<Vec<u8>>>,
    /// Decides about messages on the way, by viewer.
    pub(crate) judge: Box<Judge>,
    /// Viewers that are given frames.
    given: Vec<bool>,
    /// Viewers that are given no frames, as if they were too slow.
    pub(crate) skipped: Vec<usize>,
    /// Multicast group, if records are sent to one.
    pub(crate) multicast: Option<Multicast>,
}

/// The multicast group of a show.
pub(crate) struct Multicast {
    pub(crate) group: MulticastGroup,
    /// Way of a record to a viewer, by its number.
    pub(crate) path: Box<MulticastPath>,
    /// Datagrams that were sent there.
    pub(crate) sent: u64,
    /// Last report of each viewer.
    pub(crate) hearing: Vec<Hearing>,
    /// Viewers that cannot listen.
    pub(crate) refused: Vec<usize>,
}

/// Way to a viewer, by its number, of a record that was sent to the multicast group.
pub(crate) type MulticastPath = dyn FnMut(usize, &[u8]) -> Vec<Vec<u8>>;

/// Decides about a message on its way, by the viewer's number.
pub(crate) type Judge = dyn FnMut(usize, Direction, &[u8]) -> Verdict;

/// Way to a viewer.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Stream,
    /// Over UDP, on a path with this profile.
    Udp(&'static str),
    /// On a byte stream, in cells at this rate.
    Cells(u64),
    /// Over UDP, on a path with this profile, in cells at this rate.
    UdpCells(&'static str, u64),
}

impl Show {
    /// A group of which this is signed, and viewers on byte streams who insist on it.
    pub(crate) fn new(sign: SignMode, viewers: usize, policy: Option<GroupPolicy>) -> Self {
        Self::over(sign, &vec![Way::Stream; viewers], policy, Fec::Adaptive)
    }

    /// The same with viewers that are reached so.
    pub(crate) fn over(sign: SignMode, ways: &[Way], policy: Option<GroupPolicy>, fec: Fec) -> Self {
        let viewers: Vec<World> = (0..)
            .zip(ways)
            .map(|(viewer, way)| world(viewer, *way, policy, fec))
            .collect();
        let now = viewers.first().map_or(ends::START, |world| world.now);
        let mut show = Self {
            sealer: sealer(sign, now),
            viewers,
            frames: 0,
            seed: 0,
            sealed: 0,
            info: info(),
            withholds: false,
            removed: Vec::new(),
            wire: vec![BTreeSet::new(); ways.len()],
            judge: Box::new(|_, _, _| Verdict::Deliver),
            given: vec![false; ways.len()],
            skipped: Vec::new(),
            multicast: None,
        };
        for world in &mut show.viewers {
            world.tell(PUBLISHER, Input::Group(GroupMessage::Terms(show.sealer.terms())));
        }
        show.pass(FRAME);
        show
    }

    /// Lets time pass, and does what a program does.
    pub(crate) fn pass(&mut self, length: Duration) {
        let mut left = length;
        while !left.is_zero() {
            let step = left.min(Duration::from_millis(10));
            left -= step;
            for (at, world) in self.viewers.iter_mut().enumerate() {
                let (wire, judge) = (&mut self.wire[at], &mut self.judge);
                world.run(step, &mut |direction, message| {
                    let record = message.get(4..).filter(|_| direction == VIEWER);
                    if let Some(record) = record.filter(|record| Kind::of(record) == Some(Kind::Media)) {
                        wire.insert(record.to_vec());
                    }
                    judge(at, direction, message)
                });
            }
            self.answer_events();
        }
    }

    fn answer_events(&mut self) {
        for (at, world) in self.viewers.iter_mut().enumerate() {
            let (now, member) = (world.now, MemberId(at as u64));
            for event in std::mem::take(&mut world.responder.events) {
                match event {
                    Event::JoinsGroup(_) => {
                        let key = world.responder.session.member_key(STREAM).expect("established");
                        self.sealer.admit(now, member, key).expect("there is room");
                    }
                    Event::Challenged(challenge) => self.sealer.challenged(member, challenge).expect("a slot"),
                    Event::Hears(hearing) => {
                        let multicast = self.multicast.as_mut().expect("the viewer was told of one");
                        multicast.hearing[at] = hearing;
                    }
                    _ => {}
                }
            }
            for event in std::mem::take(&mut world.initiator.events) {
                match event {
                    Event::ChallengeDue => {
                        self.seed = self.seed.wrapping_add(1);
                        let random = [self.seed; 16];
                        world.tell(VIEWER, Input::Challenge(random));
                    }
                    Event::HearMulticast(_) => {
                        let multicast = self.multicast.as_ref().expect("the viewer was told of one");
                        let listens = !multicast.refused.contains(&at);
                        world.tell(VIEWER, Input::ListensToMulticast(listens));
                    }
                    _ => {}
                }
            }
        }
        self.announce();
    }

    fn announce(&mut self) {
        self.seed = self.seed.wrapping_add(1);
        let Some(now) = self.viewers.first().map(|world| world.now) else {
            return;
        };
        let announced = self.sealer.announce(now, &[self.seed; 32]).expect("numbers are left");
        let Some(announced) = announced else { return };
        self.removed.extend(announced.removed);
        for (at, world) in self.viewers.iter_mut().enumerate() {
            let member = MemberId(at as u64);
            let own = announced.admitted.contains(&member);
            if self.removed.contains(&member) {
                continue;
            }
            let sheet = if own {
                self.sealer.path_sheet(member)
            } else {
                announced.sheet.clone()
            };
            if let Some(sheet) = sheet.filter(|_| own || world.responder.session.is_member()) {
                world.tell(PUBLISHER, Input::Group(GroupMessage::Sheet(&sheet)));
            }
        }
    }

    /// Seals a frame once, and gives it to all members.
    pub(crate) fn frame(&mut self, keyframe: bool) -> Option<Sealing> {
        let now = self.viewers[0].now;
        let data = frame_bytes(self.frames, FRAME_BYTES);
        self.say_needs();
        let frame = OutgoingFrame {
            stream: STREAM.into(),
            codec: Codec::H264,
            keyframe,
            preamble: Preamble {
                frame: self.frames,
                ..Preamble::default()
            },
            data: &data,
        };
        self.frames += 1;
        let sealing = self.sealer.seal(now, &self.info, &frame).expect("within the limits")?;
        self.sealed += 1;
        for (at, world) in self.viewers.iter_mut().enumerate() {
            let (mut out, now) = (Vec::new(), world.now);
            // As the program does, a member is given what begins with a keyframe.
            self.given[at] |= keyframe && world.responder.session.is_member();
            if self.given[at] && !self.skipped.contains(&at) {
                let forwarded = world.responder.session.forward(now, &sealing.frame, &mut out);
                forwarded.expect("a member");
            }
            for record in records(&out).into_iter().filter(|_| !self.withholds) {
                world.send(VIEWER, record);
            }
        }
        self.send_multicast(&sealing);
        for (slot, answer) in sealing.answers.iter().flat_map(|batch| batch.answers()) {
            let answer = answer.to_bytes();
            self.viewers[usize::from(slot)].tell(PUBLISHER, Input::Group(GroupMessage::Answer(&answer)));
        }
        Some(sealing)
    }

    /// Members that were not told of the multicast group are, and it gets the frame if anybody listens.
    fn send_multicast(&mut self, sealing: &Sealing) {
        let Some(multicast) = &mut self.multicast else { return };
        for world in &mut self.viewers {
            if world.responder.session.may_hear_multicast() {
                world.tell(PUBLISHER, Input::Group(GroupMessage::Multicast(multicast.group)));
            }
        }
        if multicast.hearing.iter().all(|hearing| *hearing == Hearing::Away) {
            return;
        }
        for run in sealing.frame.datagrams(multicast.group.tag) {
            for datagram in run.bytes.chunks(run.size) {
                multicast.sent += 1;
                let record = datagram
                    .strip_prefix(&multicast.group.tag.to_be_bytes())
                    .expect("the tag");
                for (at, world) in self.viewers.iter_mut().enumerate() {
                    for mut came in (multicast.path)(at, record) {
                        world.tell(VIEWER, Input::Multicast(&mut came));
                    }
                }
            }
        }
    }

    /// Tells the sealer what the members in packets need.
    fn say_needs(&mut self) {
        let worlds = self.viewers.iter_mut().enumerate();
        let members = worlds
            .filter(|(at, world)| world.responder.session.is_member() && !self.removed.contains(&MemberId(*at as u64)));
        let needs = members.filter_map(|(_, world)| world.responder.session.repair_need());
        let worst = needs.max_by_key(|need: &RepairNeed| need.symbols);
        self.sealer.carry_in_packets(worst);
    }

    /// Plays frames, with a keyframe every second.
    pub(crate) fn play(&mut self, count: u64) {
        for _ in 0..count {
            let keyframe = self.frames.is_multiple_of(25);
            self.frame(keyframe);
            self.pass(FRAME);
        }
    }

    pub(crate) fn numbers(&mut self, viewer: usize) -> Vec<u64> {
        let assembled = std::mem::take(&mut self.viewers[viewer].initiator.assembled);
        let number = |(_, one)| match one {
            Assembled::Frame(frame) => Some(frame.preamble.frame),
            _ => None,
        };
        assembled.into_iter().filter_map(number).collect()
    }

    pub(crate) fn age(&self, viewer: usize) -> LivenessState {
        let world = &self.viewers[viewer];
        let age = world.initiator.session.picture_age(world.now.monotonic);
        age.expect("frames are signed")
    }
}

/// A group of the publisher of [`Setup`], of which this is signed.
pub(crate) fn sealer(sign: SignMode, now: Now) -> GroupSealer {
    let config = GroupSealerConfig {
        identity: identity(2),
        stream: STREAM,
        suite: suite::AES_256_GCM,
        sign,
        camera_name: CameraName::NONE,
        unit: Unit::Frame,
        selection_seed: 0,
    };
    GroupSealer::new(now, config, 1..1000, [1; 16], &[2; 32]).expect("there are numbers")
}

fn world(viewer: u8, way: Way, policy: Option<GroupPolicy>, fec: Fec) -> World {
    let mut setup = Setup::default();
    // Else the simulated ends, which have no randomness, would agree on the same secrets.
    setup.viewer.handshake.identity = identity(10 + viewer);
    setup.viewer.group = policy;
    if let Way::Cells(rate) | Way::UdpCells(_, rate) = way {
        setup.publisher.shape = ShapePlan::constant(rate);
    }
    match way {
        Way::Stream | Way::Cells(_) => {
            let mut world = setup.established();
            let rest = (ends::START.monotonic + ESTABLISHED).saturating_sub(world.now.monotonic);
            world.run_cleanly(rest);
            world
        }
        Way::Udp(profile) | Way::UdpCells(profile, _) => {
            setup.viewer.delivery = steady();
            setup.publisher.delivery = sealcast_proto::session::Delivery { fec, ..steady() };
            let mut world = setup.datagrams(profile, 40 + u64::from(viewer));
            while !(world.initiator.session.is_established() && world.responder.session.is_established()) {
                world.run_cleanly(Duration::from_millis(10));
            }
            // All worlds have the same time.
            let rest = (ends::START.monotonic + ESTABLISHED).saturating_sub(world.now.monotonic);
            world.run_cleanly(rest);
            world
        }
    }
}

/// The numbers of a viewer's frames, each of which is the camera's bit for bit.
#[track_caller]
pub(crate) fn shown(show: &mut Show, viewer: usize) -> Vec<u64> {
    let assembled = std::mem::take(&mut show.viewers[viewer].initiator.assembled);
    let frames = assembled.into_iter().filter_map(|(_, one)| match one {
        Assembled::Frame(frame) => Some(frame),
        _ => None,
    });
    frames
        .map(|frame| {
            let number = frame.preamble.frame;
            assert_eq!(frame.data, frame_bytes(number, FRAME_BYTES), "frame {number}");
            number
        })
        .collect()
}
