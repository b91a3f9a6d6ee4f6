use std::sync::Arc;
use std::time::Duration;

use super::test_camera::*;
use super::*;
use crate::group::{MemberConfig, MemberId, SheetRefusal};
use crate::keys::Identity;
use crate::live::{Challenge, Liveness, LivenessConfig, LivenessState};
use crate::seal::{Refusal, suite};
use crate::sign::{FrameRefusal, SignMode};
use crate::unit::{Assembled, Unit};

fn opener(member: u64, sign: SignMode) -> GroupOpener {
    let config = GroupOpenerConfig {
        member: MemberConfig {
            group: group(),
            suites: vec![suite::AES_256_GCM],
        },
        tell_units: false,
    };
    let mut opener = GroupOpener::new(config, key(member));
    opener.agree(agreed(sign)).expect("the camera's");
    opener
}

/// Opens records, and returns the numbers of frames released, `None` for a loss, and the refusals.
fn open(opener: &mut GroupOpener, now: u64, records: Vec<Vec<u8>>) -> (Vec<Option<u64>>, Vec<GroupRefusal>) {
    let mut refused = Vec::new();
    for mut record in records {
        refused.extend(opener.open(at(now).monotonic, &mut record).err());
    }
    let released = std::iter::from_fn(|| opener.next_media()).filter_map(|assembled| match assembled {
        Assembled::Frame(frame) => {
            assert_eq!(frame.data, picture(frame.preamble.frame), "the camera's picture");
            Some(Some(frame.preamble.frame))
        }
        Assembled::Info(told) => {
            assert_eq!(told, info());
            None
        }
        Assembled::Sound(_) => panic!("groups carry the picture"),
        Assembled::Lost | Assembled::Undecodable { .. } => Some(None),
    });
    (released.collect(), refused)
}

#[test]
fn two_members_open_what_was_sealed_once_whatever_is_signed() {
    for sign in [SignMode::Off, SignMode::Frame, SignMode::Both] {
        for unit in [Unit::Frame, Unit::Packet, Unit::Chunk(500)] {
            let mut camera = Camera::new(sign, unit, 5..1000);
            let mut members = [0, 1].map(|member| opener(member, sign));
            for (member, sheet) in members.iter_mut().zip(camera.admit_all([0, 1])) {
                member.take_sheet(&sheet).expect("its sheet");
            }
            for number in 0..6 {
                let sealing = camera.frame(number % 3 == 0);
                for member in &mut members {
                    let (released, refused) = open(member, camera.millis, records(&sealing.frame));
                    let expected = vec![Some(number)];
                    let joined_before = released.iter().filter(|one| one.is_some()).cloned().collect::<Vec<_>>();
                    assert_eq!((joined_before, refused), (expected, vec![]), "{sign} {unit}");
                    assert_eq!(member.take_verified().is_some(), sign.frames());
                }
                assert_eq!(sealing.part.is_some(), sign.gops() && number == 3);
            }
            let last = camera.sealer.close_parts().count();
            assert_eq!(last, usize::from(sign.gops()), "the second group is signed at the end");
        }
    }
}

#[test]
fn who_joins_in_the_middle_begins_with_the_next_keyframe() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    camera.frame(true);
    let mut late = opener(1, SignMode::Frame);
    let sheet = camera.admit(1);
    late.take_sheet(&sheet).expect("its sheet");
    let mut released = Vec::new();
    // The epoch is in force with the next group of pictures, or after half a second; before, it opens nothing.
    for number in 1..6 {
        let frame = camera.frame(number == 4).frame;
        released.extend(open(&mut late, camera.millis, records(&frame)).0.into_iter().flatten());
    }
    assert_eq!(released, [4, 5]);
}

#[test]
fn a_removed_member_opens_nothing_after_the_switch_even_with_all_that_the_others_get() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut members = [0, 1].map(|member| opener(member, SignMode::Frame));
    for (member, sheet) in members.iter_mut().zip(camera.admit_all([0, 1])) {
        member.take_sheet(&sheet).expect("its sheet");
    }
    let [stays, leaves] = &mut members;
    let frame = camera.frame(true).frame;
    assert_eq!(open(stays, 0, records(&frame)).0.last(), Some(&Some(0)));
    assert_eq!(open(leaves, 0, records(&frame)).0.last(), Some(&Some(0)));

    camera.sealer.remove(at(camera.millis), MemberId(1)).expect("a member");
    let sheet = camera.announce().expect("a leave needs a sheet");
    stays.take_sheet(&sheet).expect("it is for those who stay");
    assert_eq!(leaves.take_sheet(&sheet), Err(SheetRefusal::NoSlot));
    for number in 1..4 {
        let frame = camera.frame(number == 1).frame;
        assert_eq!(
            open(stays, camera.millis, records(&frame)).0.last(),
            Some(&Some(number))
        );
        let (released, refused) = open(leaves, camera.millis, records(&frame));
        assert!(released.iter().all(Option::is_none), "{released:?}");
        let unreadable =
            |reason: &GroupRefusal| matches!(reason, GroupRefusal::Record(Refusal::UnknownEpoch | Refusal::Tag));
        assert!(!refused.is_empty() && refused.iter().all(unreadable), "{refused:?}");
    }
}

/// A member that seals as the camera does: it has the group's key, and not the camera's identity.
fn insider() -> Camera {
    let mut insider = Camera::signing(SignMode::Frame);
    // The same secrets as the camera, by the same seeds, and a signature of its own.
    insider.sealer.sign_as(Arc::new(Identity::from_seed(&[8; 32])));
    insider
}

#[test]
fn an_insider_with_the_groups_key_cannot_forge_the_camera() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut forger = insider();
    let mut viewer = opener(0, SignMode::Frame);
    viewer.take_sheet(&camera.admit(0)).expect("its sheet");
    forger.admit(0);
    let first = records(&camera.frame(true).frame);
    open(&mut viewer, 0, first.clone());
    forger.frame(true);

    // The key is the same, so the records open; the signature is not the camera's.
    let (released, refused) = open(&mut viewer, 0, records(&forger.frame(false).frame));
    assert_eq!(released, [None]);
    assert_eq!(refused, [FrameRefusal::Signature.into()]);
    // Its records under the numbers of the camera's next frame were taken: that one is lost, and a keyframe goes on.
    camera.frame(false);
    let (released, refused) = open(&mut viewer, 0, records(&camera.frame(true).frame));
    assert_eq!((released.last(), refused), (Some(&Some(2)), vec![]));
    assert_eq!(viewer.refused().of(FrameRefusal::Signature), 1);
}

#[test]
fn frames_without_proof_and_with_that_of_another_are_refused() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut viewer = opener(0, SignMode::Frame);
    viewer.take_sheet(&camera.admit(0)).expect("its sheet");
    open(&mut viewer, 0, records(&camera.frame(true).frame));

    let mut unproven = records(&camera.frame(false).frame);
    let proof = unproven.pop().expect("a proof");
    let mut next = records(&camera.frame(false).frame);
    let (released, refused) = open(&mut viewer, 0, unproven);
    assert_eq!((released, refused), (vec![], vec![]), "it waits for its proof");
    // The next frame comes without a gap if its proof was taken from it and put behind another frame.
    next.pop();
    let (released, _) = open(&mut viewer, 0, next);
    assert!(released.iter().all(Option::is_none), "{released:?}");
    let (released, refused) = open(&mut viewer, 0, vec![proof]);
    assert!(released.is_empty() || released == [None], "{released:?} {refused:?}");
    let (released, _) = open(&mut viewer, 0, records(&camera.frame(true).frame));
    assert_eq!(released.last(), Some(&Some(3)), "it goes on with a keyframe");
}

#[test]
fn a_flipped_bit_anywhere_in_a_frame_is_refused() {
    for record in 0..3 {
        let mut camera = Camera::signing(SignMode::Frame);
        let mut viewer = opener(0, SignMode::Frame);
        viewer.take_sheet(&camera.admit(0)).expect("its sheet");
        // Description, frame, proof.
        let mut altered = records(&camera.frame(true).frame);
        let middle = altered[record].len() / 2;
        altered[record][middle] ^= 1;
        let (released, refused) = open(&mut viewer, 0, altered);
        assert!(released.iter().all(Option::is_none), "{released:?}");
        assert!(refused.contains(&Refusal::Tag.into()), "{refused:?}");
        let (released, _) = open(&mut viewer, 0, records(&camera.frame(true).frame));
        assert_eq!(released.last(), Some(&Some(1)));
    }
}

#[test]
fn frames_answer_challenges_and_their_age_is_bounded() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut viewer = opener(0, SignMode::Frame);
    viewer.take_sheet(&camera.admit(0)).expect("its sheet");
    let mut live = Liveness::new(LivenessConfig {
        round_trip: Duration::from_millis(10),
        group: Duration::from_secs(1),
    });
    let challenge = live.challenge(at(0).monotonic, [5; 16]).expect("due");
    camera.sealer.challenged(MemberId(0), challenge).expect("a slot");
    camera
        .sealer
        .challenged(MemberId(1), Challenge([6; 16]))
        .expect("another slot");
    let sealing = camera.frame(true);
    open(&mut viewer, camera.millis, records(&sealing.frame));
    live.verified(at(40).monotonic, &viewer.take_verified().expect("signed"));
    assert_eq!(live.state(at(40).monotonic), LivenessState::Waiting);
    for (slot, answer) in sealing.answers.expect("two challenges").answers() {
        assert_eq!(live.answer(&answer).is_ok(), slot == 0);
    }
    let at_most = Duration::from_millis(50);
    assert_eq!(live.state(at(50).monotonic), LivenessState::Live { at_most });
}

#[test]
fn a_camera_that_begins_anew_goes_on_with_higher_numbers_and_its_members_follow() {
    let mut viewer = opener(0, SignMode::Frame);
    let mut before = Camera::new(SignMode::Frame, Unit::Frame, 5..100);
    viewer.take_sheet(&before.admit(0)).expect("its sheet");
    let old = before.frame(true);
    open(&mut viewer, 0, records(&old.frame));
    let mut after = Camera::new(SignMode::Frame, Unit::Frame, 100..200);
    viewer.take_sheet(&after.admit(0)).expect("a later run");
    let new = after.frame(true);
    assert!(new.frame.group > old.frame.group);
    assert_eq!(open(&mut viewer, 0, records(&new.frame)).0.last(), Some(&Some(0)));
    // What was sealed before opens no more, and neither does its sheet.
    let (released, refused) = open(&mut viewer, 0, records(&before.frame(true).frame));
    assert!(
        released.iter().all(Option::is_none) && !refused.is_empty(),
        "{released:?}"
    );
    assert_eq!(viewer.take_sheet(&before.sealer.full_sheet()), Err(SheetRefusal::Stale));
}

#[test]
fn the_groups_secret_is_drawn_anew_at_its_soft_age_and_a_deadline_is_never_in_the_past() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut viewer = opener(0, SignMode::Frame);
    viewer.take_sheet(&camera.admit(0)).expect("its sheet");
    open(&mut viewer, 0, records(&camera.frame(true).frame));
    let epoch = camera.sealer.epoch();
    assert!(camera.announce().is_none(), "nothing changes");
    camera.millis = camera.sealer.deadline().as_millis() as u64;
    let sheet = camera.announce().expect("new keys");
    assert!(camera.sealer.deadline() > at(camera.millis).monotonic);
    viewer.take_sheet(&sheet).expect("it is for all members");
    assert!(camera.announce().is_none(), "one is enough");
    let frame = camera.frame(true).frame;
    assert_eq!(camera.sealer.epoch(), epoch + 1);
    assert_eq!(
        open(&mut viewer, camera.millis, records(&frame)).0.last(),
        Some(&Some(1))
    );
    assert!(camera.announce().is_none());
    assert!(camera.sealer.deadline() > at(camera.millis).monotonic);
}
