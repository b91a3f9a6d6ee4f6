//! Frames that are shown before they are proved, with TESLA: what an insider can do with the group's key and with keys
//! that are disclosed, and what a viewer through a relay knows.

use std::time::Duration;

use super::key_track::object;
use super::test_camera::*;
use super::*;
use crate::clock::Arrival;
use crate::group::MemberConfig;
use crate::seal::suite;
use crate::sign::{CommitmentRefusal, FrameRefusal, SignMode, TeslaNews, Unprovable};
use crate::unit::Assembled;
use crate::wire::GroupMessage;

const SIGN: SignMode = SignMode::Tesla;
/// Keys are disclosed after half a second.
const DELAY: u64 = 500;

/// What a viewer whose clock errs by 10 ms knows of this time.
fn arrival(millis: u64) -> Arrival {
    Arrival {
        at: Duration::from_millis(millis),
        peer_at_latest: Some(at(millis + 10).wall),
    }
}

fn member_config() -> MemberConfig {
    MemberConfig {
        group: group(),
        suites: vec![suite::AES_256_GCM],
    }
}

/// A camera with one member, and its first commitment. Whoever makes another one knows all its keys.
fn camera() -> (Camera, Vec<u8>, Vec<u8>) {
    let mut camera = Camera::signing(SIGN);
    let sheet = camera.admit(0);
    assert!(camera.sealer.renew_chain(at(0), [5; 32]));
    let commitment = camera.sealer.commitments(at(0)).next().expect("a chain").to_vec();
    (camera, sheet, commitment)
}

fn viewer(sheet: &[u8], commitment: &[u8]) -> GroupOpener {
    let config = GroupOpenerConfig {
        member: member_config(),
        sign: SIGN,
        tell_units: false,
    };
    let mut viewer = GroupOpener::new(config, key(0));
    viewer.take_sheet(sheet).expect("its sheet");
    viewer.take_commitment(commitment).expect("the camera's");
    viewer
}

/// What a viewer makes of a frame.
#[derive(Debug, Default, PartialEq, Eq)]
struct Made {
    shown: Vec<u64>,
    /// Something is missing, or cannot be decoded.
    broken: bool,
    refused: Vec<GroupRefusal>,
    proved: Vec<u64>,
    forged: Vec<u64>,
}

fn give(viewer: &mut GroupOpener, millis: u64, sealing: &Sealing) -> Made {
    let mut made = Made::default();
    for mut record in records(&sealing.frame) {
        made.refused.extend(viewer.open(arrival(millis), &mut record).err());
    }
    while let Some(news) = viewer.next_tesla() {
        match news {
            TeslaNews::Proved { statement, .. } => made.proved.push(statement.frame),
            TeslaNews::Forged(statement) => made.forged.push(statement.frame),
            TeslaNews::Waits | TeslaNews::Unprovable(_) => {}
        }
    }
    while let Some(media) = viewer.next_media() {
        match media {
            Assembled::Frame(frame) => made.shown.push(frame.preamble.frame),
            Assembled::Info(_) | Assembled::Sound(_) => {}
            Assembled::Lost | Assembled::Undecodable { .. } => made.broken = true,
        }
    }
    made
}

fn refused(reason: FrameRefusal) -> Vec<GroupRefusal> {
    vec![GroupRefusal::Frame(reason)]
}

#[test]
fn an_insider_with_the_groups_key_and_a_disclosed_key_is_refused_by_name_and_counted() {
    let (mut camera, sheet, commitment) = camera();
    let (mut insider, _, _) = self::camera();
    let mut viewer = viewer(&sheet, &commitment);
    for number in 0..20 {
        let made = give(&mut viewer, camera.millis + 45, &camera.frame(number == 0));
        assert_eq!((made.shown, made.refused), (vec![number], vec![]));
        insider.frame(number == 0);
    }
    // It is 800 ms. The keys up to that of 300 ms are disclosed: the MAC that the insider makes with one of them fits.
    let now = camera.millis;
    insider.millis = now - DELAY - 40;
    let forged = insider.frame(false);
    assert_eq!(
        give(&mut viewer, now + 5, &forged).refused,
        refused(FrameRefusal::Unsafe)
    );
    assert_eq!(viewer.refused().of(FrameRefusal::Unsafe), 1);
    // It took the numbers of the camera's records. With the next keyframe all goes on.
    camera.frame(false);
    let made = give(&mut viewer, camera.millis + 45, &camera.frame(true));
    assert_eq!((made.shown, made.forged), (vec![21], vec![]));
}

#[test]
fn what_an_insider_makes_without_the_key_is_found_out_and_the_picture_stops_until_a_keyframe() {
    let (mut camera, sheet, commitment) = camera();
    // It knows the key of no present interval, so its chain is another one.
    let mut insider = Camera::signing(SIGN);
    insider.admit(0);
    assert!(insider.sealer.renew_chain(at(0), [6; 32]));
    let mut viewer = viewer(&sheet, &commitment);
    for number in 0..10 {
        give(&mut viewer, camera.millis + 45, &camera.frame(number == 0));
        insider.frame(number == 0);
    }
    // The numbers of its frame are beyond the camera's.
    insider.frames += 1000;
    let forged = insider.frame(true);
    let made = give(&mut viewer, camera.millis + 45, &forged);
    assert_eq!(
        (made.shown, made.refused),
        (vec![1010], vec![]),
        "shown unproved, as the mode says"
    );
    camera.frame(false);
    let mut all = Made::default();
    for number in 0..40 {
        let made = give(&mut viewer, camera.millis + 45, &camera.frame(number % 5 == 0));
        all.shown.extend(made.shown);
        all.proved.extend(made.proved);
        if !made.forged.is_empty() {
            assert!(made.broken, "nothing that depends on it is shown");
            all.forged.extend(made.forged);
            all.shown.clear();
        }
    }
    assert_eq!(all.forged, [1010]);
    assert!(
        all.shown.len() >= 20 && all.shown.iter().all(|frame| *frame < 100),
        "{:?}",
        all.shown
    );
    assert!(!all.proved.contains(&1010) && all.proved.len() > 20, "{:?}", all.proved);
}

#[test]
fn frames_without_a_tag_and_with_a_key_of_another_chain_are_refused() {
    let (mut camera, sheet, commitment) = camera();
    let mut viewer = viewer(&sheet, &commitment);
    let mut unsigned = Camera::signing(SignMode::Gop);
    unsigned.admit(0);
    assert_eq!(
        give(&mut viewer, 45, &unsigned.frame(true)).refused,
        refused(FrameRefusal::Unsigned)
    );
    let mut viewer = self::viewer(&sheet, &commitment);
    let mut other = Camera::signing(SIGN);
    other.admit(0);
    assert!(other.sealer.renew_chain(at(0), [6; 32]));
    for number in 0..20 {
        other.frame(number == 0);
        give(&mut viewer, camera.millis + 45, &camera.frame(number == 0));
    }
    let made = give(&mut viewer, other.millis + 45, &other.frame(true));
    assert_eq!(made.refused, refused(FrameRefusal::Chain));
    let strange = viewer.take_commitment(&[1; 120]);
    assert_eq!(strange, Err(CommitmentRefusal::Malformed));
}

fn through_a_relay() -> (Camera, RelayedViewer) {
    let (mut camera, _, commitment) = camera();
    let mut viewer = RelayedViewer::new(RelayedConfig {
        member: member_config(),
        key: key(0),
        least: SIGN,
    });
    let offer = GroupMessage::Offer {
        stream: STREAM,
        sign: SIGN.byte(),
        suite: suite::AES_256_GCM.id,
    };
    let mut track = KeyTrack::new(7, offer, None);
    let number = track.number();
    track.push(1, &camera.sealer.full_sheet(), 1);
    track.commit(camera.sealer.commitments(at(0)));
    assert_eq!(track.number(), number + 2, "a new group of objects for each");
    assert_eq!(
        track.objects_from(1).next(),
        Some(&object(GroupMessage::Commitment(&commitment)))
    );
    for told in track.objects_from(0) {
        viewer.told(told).expect("the camera's");
    }
    camera.millis = 0;
    (camera, viewer)
}

fn relay(viewer: &mut RelayedViewer, now: impl Into<Arrival>, sealing: &Sealing) -> Vec<TeslaNews> {
    let now = now.into();
    viewer.frame_object(now.at, sealing.frame.keyframe, sealing.frame.bytes.clone());
    while let Some(opened) = viewer.open(now) {
        opened.expect("it is shown");
    }
    assert!(matches!(
        viewer.next_media(),
        Some(Assembled::Info(_) | Assembled::Frame(_))
    ));
    while viewer.next_media().is_some() {}
    std::iter::from_fn(|| viewer.next_tesla()).collect()
}

#[test]
fn through_a_relay_frames_are_proved_by_the_clock_of_a_session_and_not_without_one() {
    let (mut camera, mut viewer) = through_a_relay();
    let mut proved = 0;
    for number in 0..25 {
        let now = arrival(camera.millis + 90);
        let news = relay(&mut viewer, now, &camera.frame(number == 0));
        proved += news
            .iter()
            .filter(|news| matches!(news, TeslaNews::Proved { .. }))
            .count();
    }
    assert!(proved >= 10, "{proved}");
    let (mut camera, mut viewer) = through_a_relay();
    for number in 0..25 {
        let now = Duration::from_millis(camera.millis + 90);
        let news = relay(&mut viewer, now, &camera.frame(number == 0));
        assert_eq!(news, [TeslaNews::Unprovable(Unprovable::NoClock)]);
    }
}
