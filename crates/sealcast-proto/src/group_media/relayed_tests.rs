use std::sync::Arc;
use std::time::Duration;

use super::key_track::object;
use super::test_camera::*;
use super::*;
use crate::group::{MemberConfig, MemberId, SheetRefusal, TermsRefusal};
use crate::keys::Identity;
use crate::live::{AlarmCause, LivenessState};
use crate::seal::{Refusal, suite};
use crate::sign::{Certificate, GOP_KEY_LEN, NoSignMode, ProofState, SignMode};
use crate::unit::{Assembled, Unit};
use crate::wire::{CameraName, GroupMessage, LENGTH_PREFIX};

fn offer(sign: SignMode) -> Arc<[u8]> {
    object(GroupMessage::Terms(&terms(sign)))
}

/// Terms of the camera that differ from those that it makes.
fn resigned(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    crate::group::resigned_terms(&terms(SignMode::Frame), change, &identity())
}

fn sheet(bytes: &[u8]) -> Arc<[u8]> {
    object(GroupMessage::Sheet(bytes))
}

fn viewer(member: u64) -> RelayedViewer {
    content_with(member, SignMode::Frame)
}

fn content_with(member: u64, least: SignMode) -> RelayedViewer {
    asking_for("", member, least)
}

fn asking_for(camera: &str, member: u64, least: SignMode) -> RelayedViewer {
    RelayedViewer::new(config(camera, member, least))
}

fn config(camera: &str, member: u64, least: SignMode) -> RelayedConfig {
    RelayedConfig {
        member: MemberConfig {
            group: group(),
            suites: vec![suite::AES_256_GCM],
        },
        key: key(member),
        camera_name: CameraName::new(camera).expect("a name"),
        least,
        seen: Seen::default(),
    }
}

/// A viewer that knows what is signed.
fn told(member: u64) -> RelayedViewer {
    let mut viewer = viewer(member);
    let news = viewer.told(&offer(SignMode::Frame));
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
    viewer.told(&sheet(&first)).expect("its sheet");
    assert_eq!(open(&mut viewer, 200), (vec![0], vec![]));
    // Another one leaves: the key of the next group is on a new sheet, which is late.
    camera.remove(1);
    let second = camera.announce().expect("a sheet for everybody");
    let later = [camera.frame(true), camera.frame(false)];
    later.iter().for_each(|sealing| frame(&mut viewer, sealing, 300));
    assert_eq!(open(&mut viewer, 400), (vec![], vec![]));
    let taken = viewer.told(&sheet(&second));
    assert!(matches!(taken, Ok(KeyNews::Sheet(_))), "{taken:?}");
    assert_eq!(open(&mut viewer, 500), (vec![1, 2], vec![]));
    assert_eq!(viewer.told(&sheet(&first)), Ok(KeyNews::Nothing), "it is known");
}

#[test]
fn a_join_moves_the_key_and_nobody_else_waits() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let mut viewer = told(0);
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
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
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
    camera.frame(true);
    // It is removed, and the relay gives it everything.
    camera.remove(1);
    let after = camera.announce().expect("a sheet for everybody");
    assert_eq!(
        viewer.told(&sheet(&after)),
        Err(RelayRefusal::Sheet(SheetRefusal::NoSlot))
    );
    frame(&mut viewer, &camera.frame(true), 0);
    assert_eq!(viewer.deadline(Duration::ZERO), Some(Duration::from_secs(1)));
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
    joined.told(&sheet(&full)).expect("its sheet");
    for sealing in before.iter().chain(&middle).chain([&next]) {
        frame(&mut joined, sealing, 0);
    }
    let (released, refused) = open(&mut joined, 0);
    assert_eq!((released, refused), (vec![4], vec![Refusal::UnknownEpoch.into()]));
}

#[test]
fn who_comes_late_opens_the_group_of_pictures_from_its_beginning() {
    let mut camera = Camera::signing(SignMode::Frame);
    let mut track = KeyTrack::new(0, camera.sealer.terms(), None);
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
        late.told(object).expect("it is for everybody");
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
    let unsigned = viewer(0).told(&offer(SignMode::Off));
    let signed = SignMode::Off;
    assert_eq!(unsigned, Err(RelayRefusal::Sign { signed, least }));
    for (sign, name) in [(2, "gop"), (4, "tesla")] {
        let earlier = resigned(|terms| terms[2] = sign);
        let earlier = viewer(0).told(&object(GroupMessage::Terms(&earlier)));
        assert_eq!(earlier, Err(RelayRefusal::Mode(NoSignMode::Retired(name))));
    }
    // What it says of the signatures, the suite, the run, and the camera that it has from elsewhere.
    for at in [2, 3, 45] {
        let mut altered = terms(SignMode::Frame);
        altered[at] ^= 1;
        let lies = viewer(0).told(&object(GroupMessage::Terms(&altered)));
        assert_eq!(lies, Err(RelayRefusal::Terms(TermsRefusal::Signature)), "byte {at}");
    }
    let vault = resigned(|terms| {
        terms[56] = 5;
        terms.extend_from_slice(b"front");
    });
    let other = asking_for("back", 0, SignMode::Frame).told(&object(GroupMessage::Terms(&vault)));
    assert_eq!(other, Err(RelayRefusal::Terms(TermsRefusal::WrongName)));
    assert_eq!(viewer(0).told(&sheet(&full)), Err(RelayRefusal::Early));
    let mut viewer = told(0);
    let mut altered = full.clone();
    altered[60] ^= 1;
    assert_eq!(
        viewer.told(&sheet(&altered)),
        Err(RelayRefusal::Sheet(SheetRefusal::Signature))
    );
    let other = Identity::from_seed(&[8; 32]);
    let foreign = Certificate::issue(&other, &[7; GOP_KEY_LEN]).to_bytes();
    let refused = viewer.told(&object(GroupMessage::Certificate(&foreign)));
    assert!(matches!(refused, Err(RelayRefusal::Certificate(_))), "{refused:?}");
    viewer.told(&sheet(&full)).expect("its sheet");
    for garbage in [
        &b""[..],
        b"\0\0\0\x05abc",
        b"\xFF\xFF\xFF\xFF",
        &sealing.frame.bytes[..100],
    ] {
        viewer.frame_object(Duration::ZERO, true, garbage.to_vec());
        let refused = viewer.told(garbage);
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

#[test]
fn a_challenge_over_the_session_bounds_the_age_of_a_relays_picture() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let mut viewer = told(0);
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
    let at = Duration::from_millis;
    let round_trip = at(10);
    assert_eq!(viewer.next_challenge(), Some(Duration::ZERO));
    let challenge = viewer.challenge(at(0), [5; 16], round_trip).expect("it is due");
    assert_eq!(
        viewer.challenge(at(1), [6; 16], round_trip),
        None,
        "the next one is due later"
    );
    camera.sealer.challenged(MemberId(0), challenge).expect("a slot");
    let sealing = camera.frame(true);
    let batch = sealing.answers.as_ref().expect("one challenge waits");
    let (_, answer) = batch.answers().next().expect("one");
    let answer = object(GroupMessage::Answer(&answer.to_bytes()));
    assert_eq!(viewer.told(&answer), Ok(KeyNews::Nothing));
    // Its answer alone says nothing: the frame is not here yet.
    assert_eq!(viewer.picture_age(at(20)), Some(LivenessState::Waiting));
    frame(&mut viewer, &sealing, 40);
    assert_eq!(open(&mut viewer, 40), (vec![0], vec![]));
    let live = LivenessState::Live { at_most: at(50) };
    assert_eq!(viewer.picture_age(at(50)), Some(live));
    // From here on the relay gives what it kept from before the next challenge: signed, and old.
    viewer.challenge(at(340), [7; 16], round_trip).expect("it is due");
    let limit = 10 + 1000 + 20;
    for millis in (380..limit + 40).step_by(40) {
        frame(&mut viewer, &camera.frame(false), millis);
        let (released, refused) = open(&mut viewer, millis);
        assert!(released.len() == 1 && refused.is_empty());
    }
    let stale = LivenessState::Alarm(AlarmCause::Stale);
    assert_eq!(viewer.picture_age(at(limit + 1)), Some(stale));
    // Nothing comes at all.
    let frozen = LivenessState::Alarm(AlarmCause::Freeze);
    assert_eq!(viewer.picture_age(at(limit + 2000)), Some(frozen));
}

/// Makes a challenge if one is due, and has the camera answer it with its next frame.
fn challenge(viewer: &mut RelayedViewer, camera: &mut Camera, millis: u64) {
    // Its first bytes are its name.
    let random = [(millis as u32).to_be_bytes(); 4];
    let random = random.as_flattened().try_into().expect("16 bytes");
    let now = Duration::from_millis(millis);
    if let Some(challenge) = viewer.challenge(now, random, Duration::from_millis(10)) {
        camera.sealer.challenged(MemberId(0), challenge).expect("a slot");
    }
}

/// Tells the viewer the answers to its challenges, as its session with the camera does.
fn answer(viewer: &mut RelayedViewer, sealing: &Sealing) {
    for (_, answer) in sealing.answers.iter().flat_map(|batch| batch.answers()) {
        let told = viewer.told(&object(GroupMessage::Answer(&answer.to_bytes())));
        assert_eq!(told, Ok(KeyNews::Nothing));
    }
}

#[test]
fn who_hears_nothing_more_is_woken_when_the_picture_is_too_old() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let mut viewer = told(0);
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
    assert_eq!(viewer.deadline(Duration::ZERO), None, "nothing was asked yet");
    challenge(&mut viewer, &mut camera, 0);
    let sealing = camera.frame(true);
    answer(&mut viewer, &sealing);
    frame(&mut viewer, &sealing, 40);
    assert_eq!(open(&mut viewer, 40), (vec![0], vec![]));
    // The relay keeps back what follows, and the session with the camera too.
    let at = Duration::from_millis;
    let due = viewer.deadline(at(40)).expect("the alarm");
    assert_eq!(due, at(10 + 1000 + 20) + Duration::from_nanos(1));
    let before = due - Duration::from_nanos(1);
    assert_eq!(
        viewer.picture_age(before),
        Some(LivenessState::Live { at_most: before })
    );
    let frozen = LivenessState::Alarm(AlarmCause::Freeze);
    assert_eq!(viewer.picture_age(due), Some(frozen));
    assert_eq!(viewer.deadline(due), None, "it is told already");
}

#[test]
fn a_relay_that_drops_sheets_raises_the_alarm_in_time() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit_all([0, 1]);
    let mut viewer = told(0);
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
    let (mut dropped, mut alarmed, mut ended) = (None, None, None);
    for number in 0..200 {
        let millis = number * 40;
        if number == 60 {
            camera.remove(1);
            dropped = Some((millis, camera.announce().expect("a sheet for everybody")));
        }
        if number == 125 {
            let (_, kept) = dropped.as_ref().expect("one was dropped");
            viewer.told(&sheet(kept)).expect("its sheet");
        }
        challenge(&mut viewer, &mut camera, millis);
        let sealing = camera.frame(number % 25 == 0);
        answer(&mut viewer, &sealing);
        frame(&mut viewer, &sealing, millis);
        open(&mut viewer, millis);
        match viewer.picture_age(Duration::from_millis(millis)) {
            Some(LivenessState::Alarm(_)) if ended.is_none() => _ = alarmed.get_or_insert(millis),
            Some(LivenessState::Alarm(_)) => panic!("an alarm at {millis} ms, though the sheet is there"),
            _ if alarmed.is_some() => _ = ended.get_or_insert(millis),
            _ => {}
        }
    }
    let (dropped, _) = dropped.expect("one was dropped");
    let (alarmed, ended) = (alarmed.expect("an alarm"), ended.expect("an end of it"));
    // The new key is in force from the next keyframe on, and the last picture under the old one is before it.
    let in_force = dropped.next_multiple_of(1000);
    let limit = 10 + 1000 + 20;
    assert!(
        (in_force..=in_force + limit + 40).contains(&alarmed),
        "{alarmed} ms, in force at {in_force}"
    );
    assert!((125 * 40..=125 * 40 + 1000).contains(&ended), "{ended} ms");
}

#[test]
fn nobody_is_challenged_where_frames_are_not_signed() {
    let mut viewer = content_with(0, SignMode::Off);
    assert_eq!(viewer.next_challenge(), None, "nothing is known of the camera");
    viewer.told(&offer(SignMode::Off)).expect("enough for this viewer");
    assert_eq!(viewer.next_challenge(), None);
    assert_eq!(viewer.challenge(Duration::ZERO, [1; 16], Duration::ZERO), None);
    assert_eq!(viewer.picture_age(Duration::ZERO), None);
}

/// Treatment of the camera's proofs by a relay.
enum Proofs {
    Given,
    Dropped,
    /// With the certificate.
    AllDropped,
}

/// Plays so many groups of pictures of a second each through a relay; returns when signatures were missing, as the
/// viewer's deadlines tell, by group.
fn play_proofs(viewer: &mut RelayedViewer, camera: &mut Camera, groups: u64, proofs: &Proofs) -> Option<Duration> {
    for number in 0..25 * groups {
        let millis = camera.millis;
        let now = Duration::from_millis(millis);
        challenge(viewer, camera, millis);
        let mut sealing = camera.frame(number % 25 == 0);
        answer(viewer, &sealing);
        frame(viewer, &sealing, millis);
        assert_eq!(
            open(viewer, millis).0.len(),
            1,
            "frames are released whatever becomes of proofs"
        );
        let part = sealing.part.take().map(sign_part);
        if let (Some(signature), Proofs::Given) = (part, proofs) {
            let object = object(GroupMessage::Signature(&signature));
            let verdict = viewer.proof_object(&object).expect("the camera's");
            assert!(verdict.is_some());
        }
        let state = viewer.proofs(now).expect("groups of pictures are signed");
        let due = viewer.deadline(now);
        assert!(due.is_none_or(|due| due > now), "nobody is woken again and again");
        if state.missing {
            return Some(now);
        }
    }
    None
}

fn signing_groups(proofs: &Proofs) -> (Camera, RelayedViewer) {
    let mut camera = Camera::signing(SignMode::Both);
    camera.admit(0);
    let mut viewer = viewer(0);
    viewer.told(&offer(SignMode::Both)).expect("enough");
    if !matches!(proofs, Proofs::AllDropped) {
        viewer
            .told(&object(GroupMessage::Certificate(&certificate())))
            .expect("the camera's");
    }
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
    (camera, viewer)
}

#[test]
fn a_relay_that_drops_proofs_raises_an_alarm_that_ends_when_they_come_again() {
    for proofs in [Proofs::Dropped, Proofs::AllDropped] {
        let (mut camera, mut viewer) = signing_groups(&proofs);
        let alarmed = play_proofs(&mut viewer, &mut camera, 10, &proofs).expect("an alarm");
        // Two groups were complete after two seconds, and a signature may take one more.
        let expected = Duration::from_secs(3);
        assert!(
            (expected..expected + Duration::from_millis(80)).contains(&alarmed),
            "{alarmed:?}"
        );
        let certified = viewer.told(&object(GroupMessage::Certificate(&certificate())));
        certified.expect("the camera's");
        camera.frame(true);
        let rest = camera.frame(true).part.take().expect("a group of one");
        let rest = object(GroupMessage::Signature(&sign_part(rest)));
        viewer.proof_object(&rest).expect("the camera's");
        let now = Duration::from_millis(camera.millis);
        assert!(!viewer.proofs(now).expect("they are signed").missing);
    }
}

#[test]
fn a_relay_that_gives_proofs_raises_none() {
    let (mut camera, mut viewer) = signing_groups(&Proofs::Given);
    assert_eq!(play_proofs(&mut viewer, &mut camera, 15, &Proofs::Given), None);
    let proofs = viewer.proofs(Duration::from_millis(camera.millis));
    assert_eq!(proofs, Some(ProofState::default()));
}

#[test]
fn who_gets_neither_frames_nor_proofs_is_woken_for_what_is_missing() {
    let (mut camera, mut viewer) = signing_groups(&Proofs::Dropped);
    play_proofs(&mut viewer, &mut camera, 1, &Proofs::Dropped);
    let last = camera.millis;
    let sealing = camera.frame(true);
    frame(&mut viewer, &sealing, last);
    open(&mut viewer, last);
    // The picture stands still earlier than the one complete group is given up.
    let [at, alarm] = [last, last + 10_000].map(Duration::from_millis);
    let woken: Vec<Duration> = std::iter::successors(viewer.deadline(at), |at| viewer.deadline(*at)).collect();
    assert_eq!(woken.last(), Some(&alarm), "{woken:?}");
    assert!(viewer.proofs(alarm).expect("they are signed").missing);
}

#[test]
fn who_insists_on_signed_groups_is_shown_nothing_before_the_certificate() {
    let mut camera = Camera::signing(SignMode::Both);
    camera.admit(0);
    let mut viewer = content_with(0, SignMode::Both);
    let lies = viewer.told(&offer(SignMode::Frame));
    let (signed, least) = (SignMode::Frame, SignMode::Both);
    assert_eq!(lies, Err(RelayRefusal::Sign { signed, least }));
    viewer.told(&offer(SignMode::Both)).expect("enough");
    viewer.told(&sheet(&camera.sealer.full_sheet())).expect("its sheet");
    for number in 0..50 {
        let millis = camera.millis;
        frame(&mut viewer, &camera.frame(number % 25 == 0), millis);
        let (released, refused) = open(&mut viewer, millis);
        assert_eq!(released, [0; 0]);
        assert!(
            refused.iter().all(|refusal| *refusal == GroupRefusal::Uncertified),
            "{refused:?}"
        );
    }
    let foreign = Certificate::issue(&Identity::from_seed(&[8; 32]), &[7; GOP_KEY_LEN]).to_bytes();
    assert!(viewer.told(&object(GroupMessage::Certificate(&foreign))).is_err());
    let millis = camera.millis;
    frame(&mut viewer, &camera.frame(true), millis);
    assert_eq!(open(&mut viewer, millis).0, [0; 0], "another camera's proves nothing");
    viewer
        .told(&object(GroupMessage::Certificate(&certificate())))
        .expect("the camera's");
    let millis = camera.millis;
    frame(&mut viewer, &camera.frame(true), millis);
    let (released, refused) = open(&mut viewer, millis);
    assert_eq!((released.last(), refused), (Some(&51), vec![]));
}

#[test]
fn a_run_of_the_camera_is_verified_as_its_own_terms_say_whatever_the_relay_gives_again() {
    let mut old = Camera::new(SignMode::Off, Unit::Frame, 5..1000);
    let mut new = Camera::in_run([8; 16], SignMode::Frame, Unit::Frame, 2000..3000);
    old.admit(0);
    new.admit(0);
    let terms = |camera: &Camera| object(GroupMessage::Terms(camera.sealer.terms()));
    let [old_terms, new_terms] = [terms(&old), terms(&new)];
    let [old_sheet, new_sheet] = [sheet(&old.sealer.full_sheet()), sheet(&new.sealer.full_sheet())];
    let mut viewer = content_with(0, SignMode::Off);
    assert_eq!(viewer.told(&old_terms), Ok(KeyNews::Signs(SignMode::Off)));
    viewer.told(&old_sheet).expect("its sheet");
    frame(&mut viewer, &old.frame(true), 0);
    assert_eq!(open(&mut viewer, 0), (vec![0], vec![]));
    // Terms alone change nothing.
    assert_eq!(viewer.told(&new_terms), Ok(KeyNews::Signs(SignMode::Frame)));
    frame(&mut viewer, &old.frame(false), 0);
    assert_eq!(open(&mut viewer, 0), (vec![1], vec![]));
    assert_eq!(viewer.picture_age(Duration::ZERO), None);
    viewer.told(&new_sheet).expect("the new run's");
    assert!(viewer.picture_age(Duration::ZERO).is_some());
    // What is over comes again: it takes nothing back, and a frame of the new run needs its proof.
    assert_eq!(viewer.told(&old_terms), Ok(KeyNews::Signs(SignMode::Off)));
    assert_eq!(viewer.told(&old_sheet), Ok(KeyNews::Nothing), "stale");
    assert_eq!(viewer.told(&new_terms), Ok(KeyNews::Nothing));
    let mut unproven = new.frame(true).frame;
    let proof = records(&unproven).pop().expect("its proof").len();
    unproven.bytes.truncate(unproven.bytes.len() - LENGTH_PREFIX - proof);
    viewer.frame_object(Duration::ZERO, true, unproven.bytes);
    assert_eq!(open(&mut viewer, 0).0, [0; 0], "without its proof");
    frame(&mut viewer, &new.frame(true), 0);
    assert_eq!(open(&mut viewer, 0).0, [1]);
}
