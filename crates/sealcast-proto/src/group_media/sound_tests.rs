//! Sound beside the picture of a group.

use std::sync::Arc;
use std::time::Duration;

use super::test_camera::*;
use super::*;
use crate::group::MemberConfig;
use crate::keys::Identity;
use crate::seal::{Refusal, suite};
use crate::sign::{FrameRefusal, MAX_PART_FRAMES, SignMode};
use crate::unit::{Assembled, SOUND_STREAM, Unit};
use crate::wire::{CameraName, Header};

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

/// A viewer of a camera, both of the same mode.
fn watched(sign: SignMode) -> (Camera, GroupOpener) {
    let (mut camera, mut viewer) = (Camera::signing(sign), opener(0, sign));
    viewer.take_sheet(&camera.admit(0)).expect("its sheet");
    (camera, viewer)
}

/// Result of opening records.
#[derive(Debug, Default, PartialEq, Eq)]
struct Played {
    pictures: Vec<u64>,
    sounds: Vec<u64>,
    /// Descriptions of sound.
    described: usize,
    /// Something of the picture is missing, so a keyframe would be requested.
    lost: bool,
}

fn play(opener: &mut GroupOpener, now: u64, records: Vec<Vec<u8>>) -> (Played, Vec<GroupRefusal>) {
    let (mut played, mut refused) = (Played::default(), Vec::new());
    for mut record in records {
        refused.extend(opener.open(at(now).monotonic, &mut record).err());
    }
    while let Some(media) = opener.next_media() {
        match media {
            Assembled::Frame(frame) if frame.stream == SOUND_STREAM => {
                assert_eq!(frame.data, sound_packet(frame.preamble.frame), "the camera's sound");
                played.sounds.push(frame.preamble.frame);
            }
            Assembled::Frame(frame) => played.pictures.push(frame.preamble.frame),
            Assembled::Sound(told) => {
                assert_eq!(told, sound_info());
                played.described += 1;
            }
            Assembled::Info(_) => {}
            Assembled::Lost | Assembled::Undecodable { .. } => played.lost = true,
        }
    }
    (played, refused)
}

fn is_of_sound(record: &[u8]) -> bool {
    let header = record.first_chunk().map(Header::read);
    header.is_some_and(|header| header.stream == SOUND_STREAM)
}

#[test]
fn two_members_get_both_streams_that_were_sealed_once_whatever_is_signed() {
    for sign in [SignMode::Off, SignMode::Frame, SignMode::Both] {
        for unit in [Unit::Frame, Unit::Packet, Unit::Chunk(100)] {
            let mut camera = Camera::new(sign, unit, 5..1000);
            let mut members = [0, 1].map(|member| opener(member, sign));
            for (member, sheet) in members.iter_mut().zip(camera.admit_all([0, 1])) {
                member.take_sheet(&sheet).expect("its sheet");
            }
            assert!(
                camera.sound_packet().is_none(),
                "there is none before the first picture"
            );
            let mut parts = 0;
            for number in 0..6 {
                let picture = camera.frame(number % 3 == 0).frame;
                let sounds = [camera.sound(), camera.sound()];
                parts += sounds.iter().filter(|sound| sound.part.is_some()).count();
                let [first, second] = sounds.map(|sound| sound.frame);
                assert_eq!((first.keyframe, second.keyframe), (number % 3 == 0, false));
                for member in &mut members {
                    let all = [records(&picture), records(&first), records(&second)].concat();
                    let (played, refused) = play(member, camera.millis, all);
                    assert_eq!(refused, [], "{sign} {unit}");
                    assert_eq!(played.pictures, [number], "{sign} {unit}");
                    assert_eq!(played.sounds, [2 * number + 1, 2 * number + 2], "{sign} {unit}");
                    assert_eq!(played.described, usize::from(number % 3 == 0), "{sign} {unit}");
                }
            }
            assert_eq!(
                parts,
                usize::from(sign.gops()),
                "the sound of the first group is signed by itself"
            );
            let last = camera.sealer.close_parts().count();
            assert_eq!(last, 2 * usize::from(sign.gops()), "picture and sound of the second");
        }
    }
}

#[test]
fn the_keys_of_the_streams_are_apart_so_no_nonce_is_used_twice() {
    let (mut camera, _) = watched(SignMode::Frame);
    let picture = records(&camera.frame(true).frame);
    let sound = records(&camera.sound().frame);
    let numbers = |records: &[Vec<u8>]| -> Vec<u32> {
        let headers = records
            .iter()
            .filter_map(|record| record.first_chunk().map(Header::read));
        headers.map(|header| header.seq).collect()
    };
    assert_eq!((numbers(&picture), numbers(&sound)), (vec![0, 1, 2], vec![0, 1, 2]));
    let [[of_picture, of_sound]] = camera.sealer.archive_keys().try_into().ok().expect("one epoch");
    assert!(of_sound.is_of_sound() && !of_picture.is_of_sound());
    let ((picture_key, picture_base), (sound_key, sound_base)) = (of_picture.reveal(), of_sound.reveal());
    assert!(picture_key != sound_key && picture_base != sound_base);
    // One that was given the other's stream in its header does not open.
    let mut viewer = opener(0, SignMode::Frame);
    viewer.take_sheet(&camera.sealer.full_sheet()).expect("its sheet");
    let moved = sound.into_iter().map(|mut record| {
        record[7] = STREAM as u8;
        record
    });
    let (played, refused) = play(&mut viewer, 40, moved.collect());
    assert_eq!(played.sounds.len() + played.pictures.len(), 0);
    assert!(refused.contains(&Refusal::Tag.into()), "{refused:?}");
}

#[test]
fn what_is_lost_of_one_stream_leaves_the_other_whole() {
    for sign in [SignMode::Off, SignMode::Frame, SignMode::Both] {
        let (mut camera, mut viewer) = watched(sign);
        let begin = [records(&camera.frame(true).frame), records(&camera.sound().frame)].concat();
        play(&mut viewer, 40, begin);
        // Of three packets the second is missing: each of its records, by itself and all together.
        let records_each = records(&camera.sound().frame).len();
        for missing in 0..=records_each {
            let before = records(&camera.sound().frame);
            let mut gone = records(&camera.sound().frame);
            match missing {
                all if all == records_each => gone.clear(),
                one => drop(gone.remove(one)),
            }
            let picture = records(&camera.frame(false).frame);
            let after = records(&camera.sound().frame);
            let (played, refused) = play(&mut viewer, camera.millis, [before, gone, picture, after].concat());
            assert_eq!(
                (played.pictures.len(), played.lost),
                (1, false),
                "{sign} {missing} {refused:?}"
            );
            assert_eq!(played.sounds.len(), 2, "{sign} {missing} {refused:?}");
        }
        // A picture is missing, and the next one can be decoded no more.
        drop(camera.frame(false));
        let (sound, picture) = (records(&camera.sound().frame), records(&camera.frame(false).frame));
        let more = records(&camera.sound().frame);
        let (played, refused) = play(&mut viewer, camera.millis, [sound, picture, more].concat());
        assert_eq!((played.sounds.len(), refused.len()), (2, 0), "{sign}");
        assert_eq!((played.pictures.len(), played.lost), (0, true), "{sign}");
    }
}

#[test]
fn a_missing_description_is_made_up_for_by_the_next_one() {
    let (mut camera, mut viewer) = watched(SignMode::Frame);
    play(&mut viewer, 40, records(&camera.frame(true).frame));
    // With its description the first packet is gone; those after it are the camera's all the same.
    drop(camera.sound());
    let (played, refused) = play(&mut viewer, 40, records(&camera.sound().frame));
    assert_eq!(
        (played.sounds.as_slice(), played.described, refused.len()),
        (&[1][..], 0, 0)
    );
    // Within a group of pictures without end it stands again, where a part is full.
    let mut described = 0;
    for _ in 2..=MAX_PART_FRAMES {
        let sealing = camera.sound();
        let (played, _) = play(&mut viewer, 40, records(&sealing.frame));
        described += played.described;
        assert_eq!((played.sounds.len(), played.lost), (1, false));
    }
    assert_eq!(described, 1);
}

#[test]
fn epochs_switch_with_pictures_and_no_sound_is_lost_there() {
    let (mut camera, mut viewer) = watched(SignMode::Both);
    let mut sounds = Vec::new();
    for number in 0..40 {
        if number % 10 == 5 {
            camera.sealer.rekey(at(camera.millis));
            let sheet = camera.announce().expect("new keys for all");
            viewer.take_sheet(&sheet).expect("it is for all members");
        }
        let picture = records(&camera.frame(number % 10 == 0).frame);
        let sound = records(&camera.sound().frame);
        // On a path of two streams, sound from before the switch comes after pictures from behind it.
        let (played, refused) = play(&mut viewer, camera.millis, [picture, sound].concat());
        assert_eq!((played.pictures.as_slice(), refused.len()), (&[number][..], 0));
        sounds.extend(played.sounds);
    }
    assert_eq!(sounds, (0..40).collect::<Vec<u64>>());
    // The sheet of the next epoch is there by now, and the next keyframe is sealed under it.
    let (before, epoch) = (records(&camera.sound().frame), camera.sealer.epoch());
    let picture = records(&camera.frame(true).frame);
    let (played, refused) = play(&mut viewer, camera.millis, [picture, before].concat());
    assert_eq!(
        (played.sounds.as_slice(), refused.len()),
        (&[40][..], 0),
        "the old epoch still opens"
    );
    assert!(camera.sealer.epoch() > epoch);
}

/// A member that seals as the camera does, with an identity of its own.
fn insider() -> Camera {
    let mut insider = Camera::signing(SignMode::Frame);
    insider.sealer.sign_as(Arc::new(Identity::from_seed(&[8; 32])));
    insider.admit(0);
    insider
}

#[test]
fn sound_that_an_insider_makes_alters_or_reorders_is_refused_and_the_picture_is_untouched() {
    let (mut camera, mut viewer) = watched(SignMode::Frame);
    let mut forger = insider();
    let begin = [records(&camera.frame(true).frame), records(&camera.sound().frame)].concat();
    play(&mut viewer, 40, begin);
    forger.frame(true);
    forger.sound();
    let replayed = records(&camera.sound().frame);
    play(&mut viewer, 40, replayed.clone());
    // The camera's packets after it, of which the insider's take the numbers.
    let [mut altered, swapped_first, swapped_second] = [(); 3].map(|()| records(&camera.sound().frame));
    let injected = records(&forger.sound().frame);
    let without_proof = vec![records(&forger.sound().frame).remove(0)];
    let described = records(&forger.sound().frame);
    let middle = altered[0].len() / 2;
    altered[0][middle] ^= 1;
    for (what, sound, expected) in [
        ("replayed", replayed, 0),
        ("altered", altered, 0),
        ("injected", injected, 0),
        ("without a proof", without_proof, 0),
        ("injected after one without a proof", described, 0),
        ("swapped", [swapped_second, swapped_first].concat(), 1),
    ] {
        let picture = records(&camera.frame(false).frame);
        let (played, _) = play(&mut viewer, camera.millis, [sound, picture].concat());
        assert!(played.sounds.len() <= expected, "{what}: {:?}", played.sounds);
        assert_eq!((played.pictures.len(), played.lost), (1, false), "{what}");
    }
    let refused = viewer.refused();
    assert!(refused.of(FrameRefusal::Signature) >= 1, "{refused:?}");
    assert!(
        refused.of(FrameRefusal::Unsigned) + refused.of(FrameRefusal::Digest) >= 1,
        "{refused:?}"
    );
    // The camera's sound goes on with the next packet that is its own.
    let picture = records(&camera.frame(true).frame);
    let sound = records(&camera.sound().frame);
    let (played, refused) = play(&mut viewer, camera.millis, [picture, sound].concat());
    assert_eq!((played.sounds.len(), played.pictures.len(), refused.len()), (1, 1, 0));
}

#[test]
fn unsigned_sound_is_never_played_where_frames_are_signed() {
    let (mut camera, mut viewer) = watched(SignMode::Frame);
    // The same keys by the same seeds, and no signatures at all.
    let mut unsigned = Camera::signing(SignMode::Off);
    unsigned.admit(0);
    play(&mut viewer, 40, records(&camera.frame(true).frame));
    unsigned.frame(true);
    for _ in 0..3 {
        let sound = records(&unsigned.sound().frame);
        assert!(sound.iter().all(|record| is_of_sound(record)));
        let (played, _) = play(&mut viewer, 40, sound);
        assert_eq!(played, Played::default());
    }
    let (played, refused) = play(&mut viewer, 80, records(&camera.frame(false).frame));
    assert_eq!((played.pictures.as_slice(), refused.len()), (&[1][..], 0));
}

#[test]
fn a_relays_track_of_sound_waits_for_its_key_and_holds_no_picture() {
    let mut camera = Camera::signing(SignMode::Frame);
    camera.admit(0);
    let mut viewer = RelayedViewer::new(RelayedConfig {
        member: MemberConfig {
            group: group(),
            suites: vec![suite::AES_256_GCM],
        },
        key: key(0),
        camera_name: CameraName::NONE,
        least: SignMode::Frame,
        seen: Seen::default(),
    });
    let terms = crate::wire::GroupMessage::Terms(camera.sealer.terms());
    let terms = crate::wire::Control::Group(terms).to_bytes();
    viewer.told(&terms).expect("it is content");
    let now = Duration::from_millis(40);
    let (picture, first, second) = (camera.frame(true).frame, camera.sound().frame, camera.sound().frame);
    // Sound whose beginning never came is of no use, and the rest waits for its key.
    viewer.sound_object(now, second.keyframe, second.bytes.clone());
    viewer.sound_object(now, first.keyframe, first.bytes);
    viewer.sound_object(now, second.keyframe, second.bytes);
    viewer.frame_object(now, true, picture.bytes);
    assert!(viewer.open(now).is_none(), "there is no key yet");
    let sheet = camera.sealer.full_sheet();
    let sheet = crate::wire::Control::Group(crate::wire::GroupMessage::Sheet(&sheet)).to_bytes();
    viewer.told(&sheet).expect("its sheet");
    let mut streams = Vec::new();
    while let Some(opened) = viewer.open(now) {
        assert_eq!(opened, Ok(()));
        while let Some(media) = viewer.next_media() {
            if let Assembled::Frame(frame) = media {
                streams.push(frame.stream);
            }
        }
    }
    assert_eq!(streams, [1, 2, 2]);
}
