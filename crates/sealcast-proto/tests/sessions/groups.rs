//! Sessions whose media is sealed once for a group, on a virtual clock.

use std::time::Duration;

use sealcast_proto::group::MemberId;
use sealcast_proto::group_media::{GroupSealer, GroupSealerConfig, Sealing};
use sealcast_proto::live::{AlarmCause, LivenessState};
use sealcast_proto::seal::suite;
use sealcast_proto::session::{Event, GroupPolicy, Input, OutgoingFrame, SessionError};
use sealcast_proto::sign::SignMode;
use sealcast_proto::sim::{Direction, World};
use sealcast_proto::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo, Unit};
use sealcast_proto::wire::{Control, GroupMessage, MediaFrom};
use sealcast_testkit::ends::{self, Setup, identity, records};

const STREAM: u16 = 1;
const VIEWER: Direction = Direction::ToInitiator;
const PUBLISHER: Direction = Direction::ToResponder;
const FRAME: Duration = Duration::from_millis(40);

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

/// A camera with one group and viewers on links of their own.
struct Show {
    sealer: GroupSealer,
    viewers: Vec<World>,
    frames: u64,
    seed: u8,
    sealed: u64,
    /// True if the path takes pictures away.
    withholds: bool,
    removed: Vec<MemberId>,
}

impl Show {
    /// A group of which this is signed, and viewers who insist on it.
    fn new(sign: SignMode, viewers: usize, policy: Option<GroupPolicy>) -> Self {
        let viewers: Vec<World> = (0..viewers)
            .map(|viewer| {
                let mut setup = Setup::default();
                // Else the simulated ends, which have no randomness, would agree on the same secrets.
                setup.viewer.handshake.identity = identity(10 + viewer as u8);
                setup.viewer.group = policy;
                setup.established()
            })
            .collect();
        let config = GroupSealerConfig {
            identity: identity(2),
            stream: STREAM,
            suite: suite::AES_256_GCM,
            sign,
            unit: Unit::Frame,
        };
        let now = viewers.first().map_or(ends::START, |world| world.now);
        let sealer = GroupSealer::new(now, config, 1..1000, [1; 16], &[2; 32]).expect("there are numbers");
        let mut show = Self {
            sealer,
            viewers,
            frames: 0,
            seed: 0,
            sealed: 0,
            withholds: false,
            removed: Vec::new(),
        };
        for world in &mut show.viewers {
            let offer = GroupMessage::Offer {
                stream: STREAM,
                sign: sign.byte(),
                suite: suite::AES_256_GCM.id,
            };
            world.tell(PUBLISHER, Input::Group(offer));
        }
        show.pass(FRAME);
        show
    }

    /// Lets time pass, and does what a program does.
    fn pass(&mut self, length: Duration) {
        let mut left = length;
        while !left.is_zero() {
            let step = left.min(Duration::from_millis(10));
            left -= step;
            for world in &mut self.viewers {
                world.run_cleanly(step);
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
                    _ => {}
                }
            }
            for event in std::mem::take(&mut world.initiator.events) {
                if event == Event::ChallengeDue {
                    self.seed = self.seed.wrapping_add(1);
                    let random = [self.seed; 16];
                    world.tell(VIEWER, Input::Challenge(random));
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
    fn frame(&mut self, keyframe: bool) -> Option<Sealing> {
        let now = self.viewers[0].now;
        let data = [self.frames as u8; 5_000];
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
        let sealing = self.sealer.seal(now, &info(), &frame).expect("within the limits")?;
        self.sealed += 1;
        for world in &mut self.viewers {
            let mut out = Vec::new();
            if world.responder.session.is_member() {
                let forwarded = world.responder.session.forward(&sealing.frame, &mut out);
                forwarded.expect("a member");
            }
            for record in records(&out).into_iter().filter(|_| !self.withholds) {
                world.send(VIEWER, record);
            }
        }
        for (slot, answer) in sealing.answers.iter().flat_map(|batch| batch.answers()) {
            let answer = answer.to_bytes();
            self.viewers[usize::from(slot)].tell(PUBLISHER, Input::Group(GroupMessage::Answer(&answer)));
        }
        Some(sealing)
    }

    /// Plays frames, with a keyframe every second.
    fn play(&mut self, count: u64) {
        for _ in 0..count {
            let keyframe = self.frames.is_multiple_of(25);
            self.frame(keyframe);
            self.pass(FRAME);
        }
    }

    fn numbers(&mut self, viewer: usize) -> Vec<u64> {
        let assembled = std::mem::take(&mut self.viewers[viewer].initiator.assembled);
        let number = |(_, one)| match one {
            Assembled::Frame(frame) => Some(frame.preamble.frame),
            _ => None,
        };
        assembled.into_iter().filter_map(number).collect()
    }

    fn age(&self, viewer: usize) -> LivenessState {
        let world = &self.viewers[viewer];
        let age = world.initiator.session.picture_age(world.now.monotonic);
        age.expect("frames are signed")
    }
}

const fn policy(sign: SignMode) -> GroupPolicy {
    let relayed = false;
    GroupPolicy { sign, relayed }
}

const SIGNED: Option<GroupPolicy> = Some(policy(SignMode::Frame));

#[test]
fn two_viewers_get_what_was_sealed_once() {
    for sign in [SignMode::Frame, SignMode::Both] {
        let mut show = Show::new(sign, 2, SIGNED);
        show.play(60);
        assert_eq!(show.sealed, 60, "each frame once");
        let [first, second] = [show.numbers(0), show.numbers(1)];
        assert_eq!(first, second);
        assert_eq!(first.last(), Some(&59));
        assert_eq!(show.viewers[0].initiator.error, None);
    }
}

#[test]
fn a_viewer_that_insists_on_signatures_joins_no_group_without_and_is_served_alone() {
    for (sign, policy, joins) in [
        (SignMode::Off, SIGNED, false),
        (SignMode::Gop, SIGNED, false),
        (SignMode::Frame, None, false),
        (SignMode::Off, Some(policy(SignMode::Off)), true),
        (SignMode::Both, SIGNED, true),
    ] {
        let mut show = Show::new(sign, 1, policy);
        show.pass(FRAME);
        assert_eq!(
            show.viewers[0].responder.session.is_member(),
            joins,
            "{sign} {policy:?}"
        );
        let world = &mut show.viewers[0];
        if !joins {
            ends::publish(world, 0, true, &[7; 100]);
            world.run_cleanly(FRAME);
            assert!(
                world
                    .initiator
                    .assembled
                    .iter()
                    .any(|one| matches!(one, (_, Assembled::Frame(_))))
            );
        }
    }
}

#[test]
fn the_age_of_the_picture_is_bounded_and_a_path_that_withholds_or_delays_raises_the_alarm() {
    let mut show = Show::new(SignMode::Frame, 1, SIGNED);
    show.play(50);
    let LivenessState::Live { at_most } = show.age(0) else {
        panic!("{:?}", show.age(0));
    };
    assert!(at_most <= Duration::from_millis(300), "{at_most:?}");
    // Pictures are withheld; everything else comes.
    show.withholds = true;
    show.play(50);
    assert_eq!(show.age(0), LivenessState::Alarm(AlarmCause::Freeze));
    show.withholds = false;
    // With the next keyframe it goes on.
    show.play(30);
    assert!(matches!(show.age(0), LivenessState::Live { .. }), "{:?}", show.age(0));
}

#[test]
fn a_removed_viewer_is_given_nothing_and_the_others_go_on() {
    let mut show = Show::new(SignMode::Frame, 2, SIGNED);
    show.play(30);
    let now = show.viewers[0].now;
    show.sealer.remove(now, MemberId(1)).expect("a member");
    show.numbers(0);
    show.numbers(1);
    let sealer = &show.sealer;
    let epoch = sealer.epoch();
    show.play(40);
    assert!(show.sealer.epoch() > epoch, "a new epoch is in force");
    assert_eq!(show.numbers(0).last(), Some(&69));
    // Its session still gets all bytes, and opens none that were sealed under the new epoch: from a second later on at
    // the latest.
    let opened = show.numbers(1);
    assert!(
        opened.len() < 25 && opened.last().is_none_or(|last| *last < 55),
        "{opened:?}"
    );
}

/// A session with a camera that has offered a group, and whose viewer gets the frames through a relay.
fn attending() -> World {
    let sign = SignMode::Frame;
    let mut setup = Setup::default();
    setup.viewer.group = Some(GroupPolicy { sign, relayed: true });
    let mut world = setup.established();
    let offer = GroupMessage::Offer {
        stream: STREAM,
        sign: sign.byte(),
        suite: suite::AES_256_GCM.id,
    };
    world.tell(PUBLISHER, Input::Group(offer));
    world.run_cleanly(FRAME);
    world
}

#[test]
fn who_gets_its_media_through_a_relay_is_told_keys_and_answers_and_no_frame() {
    for media in [MediaFrom::Relay, MediaFrom::RelayEnrolled] {
        let mut world = attending();
        let enrolled = media == MediaFrom::RelayEnrolled;
        let early = world.initiator.session.handle(world.now, Input::Challenge([1; 16]));
        assert_eq!(early.map(drop), Err(SessionError::Misuse), "it has not joined");
        let mut world = attending();
        world.tell(VIEWER, Input::JoinRelayed { enrolled });
        world.run_cleanly(FRAME);
        let events = std::mem::take(&mut world.responder.events);
        assert!(events.contains(&Event::JoinsGroup(media)), "{events:?}");
        // Who is enrolled gets its sheets through the relay as well.
        assert_eq!(world.responder.session.is_member(), enrolled);
        let said = |message| Event::GroupSaid(Control::Group(message).to_bytes());
        world.tell(PUBLISHER, Input::Group(GroupMessage::Sheet(b"sheet")));
        world.tell(VIEWER, Input::Challenge([7; 16]));
        world.run_cleanly(FRAME);
        let challenged = std::mem::take(&mut world.responder.events);
        assert!(
            matches!(&challenged[..], [Event::Challenged(challenge)] if challenge.0 == [7; 16]),
            "{challenged:?}"
        );
        world.tell(PUBLISHER, Input::Group(GroupMessage::Answer(b"answer")));
        world.run_cleanly(FRAME);
        let heard: Vec<Event> = std::mem::take(&mut world.initiator.events)
            .into_iter()
            .filter(|event| matches!(event, Event::GroupSaid(_) | Event::JoinedGroup(_)))
            .collect();
        let offer = GroupMessage::Offer {
            stream: STREAM,
            sign: SignMode::Frame.byte(),
            suite: suite::AES_256_GCM.id,
        };
        let expected = [
            said(offer),
            said(GroupMessage::Sheet(b"sheet")),
            said(GroupMessage::Answer(b"answer")),
        ];
        assert_eq!(heard, expected);
        assert_eq!(world.initiator.session.picture_age(world.now.monotonic), None);
    }
}

#[test]
fn messages_of_a_group_out_of_turn_are_refused() {
    let mut show = Show::new(SignMode::Frame, 1, SIGNED);
    show.play(1);
    let world = &mut show.viewers[0];
    let offer = GroupMessage::Offer {
        stream: STREAM,
        sign: SignMode::Frame.byte(),
        suite: suite::AES_256_GCM.id,
    };
    let now = world.now;
    let again = world.responder.session.handle(now, Input::Group(offer));
    assert_eq!(again.map(drop), Err(SessionError::Misuse));

    let mut world = Setup::default().established();
    let sheet = world
        .responder
        .session
        .handle(now, Input::Group(GroupMessage::Sheet(b"")));
    assert_eq!(sheet.map(drop), Err(SessionError::Misuse), "nobody wants to join");
    let mut world = Setup::default().established();
    let media = MediaFrom::Session;
    let join = GroupMessage::Join { stream: STREAM, media };
    let by_publisher = world.responder.session.handle(now, Input::Group(join));
    assert_eq!(by_publisher.map(drop), Err(SessionError::Misuse));
}
