//! Attacks of a member of a group that seals records as the camera does, on the way to a viewer over datagrams.

use std::sync::Arc;
use std::time::Duration;

use super::tests::session_over;
use super::{
    Carrier, Delivery, Entry, Event, Fec, GroupPolicy, Handled, Input, OpenedBy, OutgoingFrame, Output, RepairNeed,
    Session, SessionError,
};
use crate::clock::Now;
use crate::group::{GroupName, MemberId, MemberKey, resigned_terms};
use crate::group_media::{GroupSealer, GroupSealerConfig, SealedFrame};
use crate::keys::{EpochSecret, Identity, Role, Secret, Side};
use crate::seal::Refusal;
use crate::seal::suite::AES_256_GCM;
use crate::sign::{FrameRefusal, NoSignMode, SignMode};
use crate::unit::{Assembled, Codec, FrameRate, Preamble, StreamInfo, Unit};
use crate::wire::{CameraName, GroupMessage, LENGTH_PREFIX};

const STREAM: u16 = 1;

fn at(millis: u64) -> Now {
    Now {
        monotonic: Duration::from_millis(millis),
        wall: 1_700_000_000_000_000_000 + millis * 1_000_000,
    }
}

/// A camera, or a member that makes the same keys by the same seeds and signs with an identity of its own.
struct Sealer {
    group: GroupSealer,
    frames: u64,
}

impl Sealer {
    fn new(insider: bool, fec: Fec) -> Self {
        let identity = Arc::new(Identity::from_seed(&[1; 32]));
        let name = GroupName {
            camera: identity.peer_id(),
            stream: STREAM.into(),
        };
        let config = GroupSealerConfig {
            identity,
            stream: STREAM,
            suite: AES_256_GCM,
            sign: SignMode::Frame,
            camera_name: CameraName::NONE,
            unit: Unit::Frame,
            selection_seed: 0,
        };
        let group = GroupSealer::new(at(0), config, 1..1000, [1; 16], &[2; 32]);
        let mut group = group.expect("there are numbers");
        // The exporter of a session made for tests.
        let key = MemberKey::derive(&[0; 32], &name);
        group.admit(at(0), MemberId(0), key).expect("there is room");
        group.announce(at(0), &[3; 32]).expect("there are numbers");
        group.carry_in_packets(Some(RepairNeed {
            fec,
            ..RepairNeed::NONE
        }));
        if insider {
            group.sign_as(Arc::new(Identity::from_seed(&[8; 32])));
        }
        Self { group, frames: 0 }
    }

    fn frame(&mut self, keyframe: bool) -> SealedFrame {
        let info = StreamInfo {
            codec: Codec::H264,
            width: 64,
            height: 64,
            rate: FrameRate {
                numerator: 25,
                denominator: 1,
            },
            parameters: vec![7; 9],
        };
        let frame = OutgoingFrame {
            stream: STREAM.into(),
            codec: Codec::H264,
            keyframe,
            preamble: Preamble {
                frame: self.frames,
                ..Preamble::default()
            },
            data: &[self.frames as u8; 4_000],
        };
        self.frames += 1;
        let sealed = self.group.seal(at(40 * self.frames), &info, &frame);
        sealed.expect("within the limits").expect("a group has begun").frame
    }
}

fn records(frame: &SealedFrame) -> Vec<Vec<u8>> {
    let of_block = |block: &crate::group_media::SealedBlock| {
        let sources = frame.bytes[block.sources.clone()].chunks(block.size);
        let repairs = block.repairs.chunks(block.repair_size.max(1));
        let record = |record: &[u8]| record[LENGTH_PREFIX..].to_vec();
        sources.chain(repairs).map(record).collect::<Vec<_>>()
    };
    frame.blocks.iter().flat_map(of_block).collect()
}

/// A viewer that is a member.
fn viewer(camera: &Sealer) -> Session {
    let (connection, cookie) = (7, [3; 16]);
    let carrier = Carrier::Datagrams(Entry::Shown { connection, cookie });
    let secret = EpochSecret::new(Secret::from_bytes(&[5; 32]), 0);
    let (side, role) = (Side::Initiator, Role::Viewer);
    let mut session = session_over(carrier, Delivery::default(), AES_256_GCM, side, role, vec![secret]);
    session.config.group = Some(GroupPolicy {
        sign: SignMode::Frame,
        opened_by: OpenedBy::Session,
    });
    let sheet = camera.group.path_sheet(MemberId(0)).expect("a member");
    let terms = GroupMessage::Terms(camera.group.terms());
    for message in [terms, GroupMessage::Sheet(&sheet), GroupMessage::Begin { number: 0 }] {
        session.group_said_in_order(at(0), message).expect("in turn");
    }
    session
}

/// Gives a viewer records. Returns what it makes of them, and the numbers of the frames that it releases.
fn give(viewer: &mut Session, now: u64, records: Vec<Vec<u8>>) -> (Vec<Handled>, Vec<u64>) {
    let handle = |mut record: Vec<u8>| viewer.handle_record(at(now), &mut record).expect("the session goes on");
    let handled = records.into_iter().map(handle).collect();
    let mut frames = Vec::new();
    while viewer.has_output() {
        if let Output::Media(Assembled::Frame(frame)) = viewer.poll() {
            frames.push(frame.preamble.frame);
        }
    }
    (handled, frames)
}

#[test]
fn an_insiders_frame_is_refused_and_the_camera_goes_on_at_a_keyframe() {
    let (mut camera, mut insider) = (Sealer::new(false, Fec::Off), Sealer::new(true, Fec::Off));
    let mut viewer = viewer(&camera);
    let first = camera.frame(true);
    insider.frame(true);
    assert_eq!(give(&mut viewer, 40, records(&first)).1, [0]);
    let (handled, released) = give(&mut viewer, 80, records(&insider.frame(false)));
    assert_eq!(released, [0; 0]);
    assert_eq!(handled.last(), Some(&Handled::NotTheCameras(FrameRefusal::Signature)));
    // The numbers of the camera's frame are taken: its records are copies.
    let (handled, released) = give(&mut viewer, 80, records(&camera.frame(false)));
    assert_eq!(released, [0; 0]);
    let copy = |one: &Handled| matches!(one, Handled::Duplicate | Handled::Refused(Refusal::Replay));
    assert!(handled.iter().all(copy), "{handled:?}");
    assert_eq!(give(&mut viewer, 120, records(&camera.frame(true))).1, [2]);
}

#[test]
fn records_that_fit_nowhere_are_refused_and_end_nothing() {
    // The insider's blocks are shorter, so its records have places within the camera's.
    let (mut camera, mut insider) = (Sealer::new(false, Fec::Fixed(50)), Sealer::new(true, Fec::Off));
    let mut viewer = viewer(&camera);
    assert_eq!(give(&mut viewer, 40, records(&camera.frame(true))).1, [0]);
    insider.frame(true);
    give(&mut viewer, 80, records(&camera.frame(false)).drain(..2).collect());
    let forged = (0..2).flat_map(|_| records(&insider.frame(false))).collect();
    let (handled, released) = give(&mut viewer, 80, forged);
    assert!(handled.contains(&Handled::Refused(Refusal::Malformed)), "{handled:?}");
    assert_eq!(released, [0; 0]);
    let released = (0..10).flat_map(|number| {
        let now = 120 + number * 200;
        viewer.handle(at(now), Input::Timeout).expect("it goes on");
        give(&mut viewer, now, records(&camera.frame(true))).1
    });
    assert_eq!(released.last(), Some(11));
}

/// The terms of the camera as it signs them, changed and signed anew.
fn told(camera: &Sealer, session: &mut Session, change: impl FnOnce(&mut Vec<u8>)) -> Result<(), SessionError> {
    let terms = resigned_terms(camera.group.terms(), change, &Identity::from_seed(&[1; 32]));
    session.group_said_in_order(at(0), GroupMessage::Terms(&terms))
}

/// A viewer that was told nothing of the group.
fn newcomer(sign: SignMode) -> Session {
    let secret = EpochSecret::new(Secret::from_bytes(&[5; 32]), 0);
    let (side, role) = (Side::Initiator, Role::Viewer);
    let mut session = session_over(
        Carrier::Stream,
        Delivery::default(),
        AES_256_GCM,
        side,
        role,
        vec![secret],
    );
    session.config.group = Some(GroupPolicy {
        sign,
        opened_by: OpenedBy::Session,
    });
    session
}

#[test]
fn a_group_with_the_signatures_of_an_earlier_version_is_declined_by_name() {
    let camera = Sealer::new(false, Fec::Off);
    for (sign, name) in [(2, "gop"), (4, "tesla")] {
        let mut session = newcomer(SignMode::Off);
        told(&camera, &mut session, |terms| terms[2] = sign).expect("it is served alone");
        let said = session.out.iter().find_map(|output| match output {
            Output::Event(Event::NoSuchSignatures(mode)) => Some(*mode),
            _ => None,
        });
        assert_eq!(said, Some(NoSignMode::Retired(name)));
        assert!(session.group_view.is_none());
    }
}

#[test]
fn terms_that_are_not_this_cameras_end_a_session_and_those_with_another_suite_are_left_alone() {
    let camera = Sealer::new(false, Fec::Off);
    let good = |session: &Session| session.group_view.is_some();
    let mut session = newcomer(SignMode::Frame);
    told(&camera, &mut session, |_| {}).expect("they are the camera's");
    assert!(good(&session));
    assert_eq!(
        told(&camera, &mut session, |_| {}),
        Err(SessionError::PeerMisbehaved),
        "once"
    );
    let mut session = newcomer(SignMode::Frame);
    told(&camera, &mut session, |terms| terms[3] = 200).expect("a suite that it does not know");
    assert!(!good(&session));
    // Another camera, another kind, and a name that is cut.
    for (at, value) in [(8, 0xAA), (0, 0x20), (56, 1)] {
        let mut session = newcomer(SignMode::Frame);
        let refused = told(&camera, &mut session, |terms| terms[at] = value);
        assert_eq!(refused, Err(SessionError::PeerMisbehaved), "byte {at}");
    }
    let mut forged = camera.group.terms().to_vec();
    forged[2] = SignMode::Off.byte();
    let refused = newcomer(SignMode::Off).group_said_in_order(at(0), GroupMessage::Terms(&forged));
    assert_eq!(refused, Err(SessionError::PeerMisbehaved), "the signature does not fit");
    // It asked for one of several cameras by its name.
    for (asked, is_it) in [("front", true), ("back", false)] {
        let mut session = newcomer(SignMode::Frame);
        session.config.handshake.wish.camera = CameraName::new(asked).expect("a name");
        let told = told(&camera, &mut session, |terms| {
            terms[56] = 5;
            terms.extend_from_slice(b"front");
        });
        assert_eq!(told.is_ok(), is_it, "{asked}");
    }
}
