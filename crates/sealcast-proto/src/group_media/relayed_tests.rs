use std::sync::Arc;
use std::time::Duration;

use super::key_track::object;
use super::test_camera::*;
use super::*;
use crate::group::{MemberConfig, SheetRefusal};
use crate::keys::Identity;
use crate::seal::{Refusal, suite};
use crate::sign::{Certificate, GOP_KEY_LEN, SignMode};
use crate::unit::Assembled;
use crate::wire::GroupMessage;

fn offer(sign: SignMode) -> Arc<[u8]> {
    object(GroupMessage::Offer {
        stream: STREAM,
        sign: sign.byte(),
        suite: suite::AES_256_GCM.id,
    })
}

fn sheet(bytes: &[u8]) -> Arc<[u8]> {
    object(GroupMessage::Sheet(bytes))
}

fn viewer(member: u64) -> RelayedViewer {
    RelayedViewer::new(RelayedConfig {
        member: MemberConfig {
            group: group(),
            suites: vec![suite::AES_256_GCM],
        },
        key: key(member),
        least: SignMode::Frame,
    })
}

/// A viewer that knows what is signed.
fn told(member: u64) -> RelayedViewer {
    let mut viewer = viewer(member);
    let news = viewer.key_object(&offer(SignMode::Frame));
    assert_eq!(news, Ok(KeyNews::Signs(SignMode::Frame)));
    viewer
}

/// Opens what can be opened: the numbers of frames released, and the refusals.
fn open(viewer: &mut RelayedViewer, millis: u64) -> (Vec<u64>, Vec<GroupRefusal>) {
    let (mut released, mut refused) = (Vec::new(), Vec::new());
    while let Some(opened) = viewer.open(Duration::from_millis(millis)) {
        refused.extend(opened.err());
        while let Some(media) = viewer.next_media() {
            if let Assembled::Frame(frame) = media {
                assert_eq!(frame.data, picture(frame.preamble.frame), "the camera's picture");
                released.push(frame.preamble.frame);
            }
        }
    }
    (released, refused)
}

fn frame(viewer: &mut RelayedViewer, sealing: &Sealing, millis: u64) {
    let frame = &sealing.frame;
    viewer.frame_object(Duration::from_millis(millis), frame.keyframe, frame.bytes.clone());
}

#[test]
fn a_frame_that_overtakes_its_key_waits_for_it() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit_all([0, 1]);
    let first = camera.sealer.full_sheet();
    let mut viewer = told(0);
    frame(&mut viewer, &camera.frame(true), 0);
    assert_eq!(open(&mut viewer, 100), (vec![], vec![]), "no key yet");
    viewer.key_object(&sheet(&first)).expect("its sheet");
    assert_eq!(open(&mut viewer, 200), (vec![0], vec![]));
    // Another one leaves: the key of the next group is on a new sheet, which is late.
    camera.remove(1);
    let second = camera.announce().expect("a sheet for everybody");
    let later = [camera.frame(true), camera.frame(false)];
    later.iter().for_each(|sealing| frame(&mut viewer, sealing, 300));
    assert_eq!(open(&mut viewer, 400), (vec![], vec![]));
    let taken = viewer.key_object(&sheet(&second));
    assert!(matches!(taken, Ok(KeyNews::Sheet(_))), "{taken:?}");
    assert_eq!(open(&mut viewer, 500), (vec![1, 2], vec![]));
    assert_eq!(viewer.key_object(&sheet(&first)), Ok(KeyNews::Nothing), "it is known");
}

#[test]
fn a_join_moves_the_key_and_nobody_else_waits() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let mut viewer = told(0);
    viewer
        .key_object(&sheet(&camera.sealer.full_sheet()))
        .expect("its sheet");
    frame(&mut viewer, &camera.frame(true), 0);
    camera.admit(1);
    frame(&mut viewer, &camera.frame(true), 40);
    assert_eq!(open(&mut viewer, 40), (vec![0, 1], vec![]));
}

#[test]
fn a_frame_whose_key_does_not_come_is_given_up_after_a_second() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit_all([0, 1]);
    let mut viewer = told(1);
    viewer
        .key_object(&sheet(&camera.sealer.full_sheet()))
        .expect("its sheet");
    camera.frame(true);
    // It is removed, and the relay gives it everything.
    camera.remove(1);
    let after = camera.announce().expect("a sheet for everybody");
    assert_eq!(
        viewer.key_object(&sheet(&after)),
        Err(RelayRefusal::Sheet(SheetRefusal::NoSlot))
    );
    frame(&mut viewer, &camera.frame(true), 0);
    assert_eq!(viewer.deadline(), Some(Duration::from_secs(1)));
    assert_eq!(open(&mut viewer, 999), (vec![], vec![]));
    let (released, refused) = open(&mut viewer, 1000);
    assert!(released.is_empty() && refused == [Refusal::Tag.into()], "{refused:?}");
    // More of them do not wait longer than there is room.
    for _ in 0..100 {
        frame(&mut viewer, &camera.frame(true), 1000);
    }
    let (released, refused) = open(&mut viewer, 1000);
    assert!(released.is_empty() && refused.len() == 100 - 64, "{}", refused.len());
}

#[test]
fn nothing_of_a_group_of_pictures_is_refused_whose_beginning_was_before_the_viewers_time() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let before = [camera.frame(true), camera.frame(false)];
    camera.admit(1);
    let full = camera.sealer.full_sheet();
    camera.millis += 1000;
    let middle = [camera.frame(false), camera.frame(false)];
    let next = camera.frame(true);
    let mut joined = told(1);
    joined.key_object(&sheet(&full)).expect("its sheet");
    for sealing in before.iter().chain(&middle).chain([&next]) {
        frame(&mut joined, sealing, 0);
    }
    let (released, refused) = open(&mut joined, 0);
    assert_eq!((released, refused), (vec![4], vec![Refusal::UnknownEpoch.into()]));
}

#[test]
fn who_comes_late_opens_the_group_of_pictures_from_its_beginning() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut track = KeyTrack::new(
        0,
        GroupMessage::Offer {
            stream: STREAM,
            sign: 1,
            suite: 2,
        },
        None,
    );
    camera.admit_all([0, 1]);
    let first = camera.sealer.epoch();
    track.push(first + 1, &camera.sealer.full_sheet(), first);
    let group = [camera.frame(true), camera.frame(false)];
    let oldest = camera.sealer.epoch();
    camera.remove(1);
    camera.announce();
    track.push(oldest + 1, &camera.sealer.full_sheet(), oldest);
    camera.millis += 1000;
    let switched = camera.frame(false);
    assert_eq!(camera.sealer.epoch(), oldest + 1, "in the middle of the group");
    let mut late = viewer(0);
    for object in track.objects_from(0) {
        late.key_object(object).expect("it is for everybody");
    }
    for sealing in group.iter().chain([&switched]) {
        frame(&mut late, sealing, camera.millis);
    }
    assert_eq!(open(&mut late, camera.millis), (vec![0, 1, 2], vec![]));
}

#[test]
fn a_relay_that_lies_shows_nothing() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let full = camera.sealer.full_sheet();
    let sealing = camera.frame(true);
    let least = SignMode::Frame;
    let unsigned = viewer(0).key_object(&offer(SignMode::Off));
    let signed = SignMode::Off;
    assert_eq!(unsigned, Err(RelayRefusal::Sign { signed, least }));
    assert_eq!(viewer(0).key_object(&sheet(&full)), Err(RelayRefusal::Early));
    // It says that more is signed than is: no frame has what was promised, or all have what matters.
    let mut viewer = told(0);
    let mut altered = full.clone();
    altered[60] ^= 1;
    assert_eq!(
        viewer.key_object(&sheet(&altered)),
        Err(RelayRefusal::Sheet(SheetRefusal::Signature))
    );
    let other = Identity::from_seed(&[8; 32]);
    let foreign = Certificate::issue(&other, &[7; GOP_KEY_LEN]).to_bytes();
    let refused = viewer.key_object(&object(GroupMessage::Certificate(&foreign)));
    assert!(matches!(refused, Err(RelayRefusal::Certificate(_))), "{refused:?}");
    viewer.key_object(&sheet(&full)).expect("its sheet");
    for garbage in [
        &b""[..],
        b"\0\0\0\x05abc",
        b"\xFF\xFF\xFF\xFF",
        &sealing.frame.bytes[..100],
    ] {
        viewer.frame_object(Duration::ZERO, true, garbage.to_vec());
        let refused = viewer.key_object(garbage);
        assert_eq!(refused, Err(RelayRefusal::Malformed), "{garbage:?}");
        assert_eq!(viewer.proof_object(garbage), Err(RelayRefusal::Malformed));
    }
    let (released, refused) = open(&mut viewer, 0);
    assert!(released.is_empty() && !refused.is_empty(), "{refused:?}");
    // What the camera sealed is shown after all that, and a second time not.
    let next = camera.frame(true);
    for _ in 0..2 {
        frame(&mut viewer, &next, 40);
    }
    let (released, refused) = open(&mut viewer, 40);
    assert_eq!(released, [1]);
    assert!(
        refused.iter().all(|refusal| *refusal == Refusal::Replay.into()),
        "{refused:?}"
    );
}
