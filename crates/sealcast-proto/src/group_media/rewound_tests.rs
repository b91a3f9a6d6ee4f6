//! Relays that give a viewer again, after its start, what is older than what it had.

use std::time::Duration;

use super::key_track::object;
use super::test_camera::*;
use super::*;
use crate::group::MemberConfig;
use crate::seal::suite;
use crate::sign::SignMode;
use crate::unit::{Assembled, Unit};
use crate::wire::{CameraName, GroupMessage};

/// Objects of a camera's run that a relay has kept.
struct Kept {
    keys: Vec<std::sync::Arc<[u8]>>,
    frames: Vec<Sealing>,
    sound: Vec<Sealing>,
}

impl Kept {
    fn of(camera: &mut Camera) -> Self {
        camera.admit(0);
        let keys = [
            object(GroupMessage::Terms(camera.sealer.terms())),
            object(GroupMessage::Sheet(&camera.sealer.full_sheet())),
        ];
        Self {
            keys: keys.into(),
            frames: Vec::new(),
            sound: Vec::new(),
        }
    }

    /// Three groups of two pictures, a packet of sound after each picture.
    fn of_three_groups(camera: &mut Camera) -> Self {
        let mut kept = Self::of(camera);
        for index in 0..6 {
            kept.frames.push(camera.frame(index % 2 == 0));
            kept.sound.push(camera.sound());
        }
        kept
    }

    /// Gives a viewer the frames from this one on, and says which were released, how many packets of sound, and whether
    /// all refusals are for age.
    fn give(&self, viewer: &mut RelayedViewer, from: usize) -> (Vec<u64>, usize, Vec<GroupRefusal>) {
        for key in &self.keys {
            viewer.told(key).expect("the camera's");
        }
        let now = Duration::ZERO;
        for (picture, sound) in self.frames.iter().zip(&self.sound).skip(from) {
            viewer.frame_object(now, picture.frame.keyframe, picture.frame.bytes.clone());
            viewer.sound_object(now, true, sound.frame.bytes.clone());
        }
        let (mut pictures, mut packets, mut refused) = (Vec::new(), 0, Vec::new());
        while let Some(opened) = viewer.open(now) {
            refused.extend(opened.err());
            while let Some(media) = viewer.next_media() {
                match media {
                    Assembled::Frame(frame) if frame.stream == 1 => pictures.push(frame.preamble.frame),
                    Assembled::Frame(_) => packets += 1,
                    _ => {}
                }
            }
        }
        (pictures, packets, refused)
    }
}

/// A viewer that starts, and has seen this before.
fn starting(sign: SignMode, seen: Seen) -> RelayedViewer {
    RelayedViewer::new(RelayedConfig {
        member: MemberConfig {
            group: group(),
            suites: vec![suite::AES_256_GCM],
        },
        key: key(0),
        camera_name: CameraName::NONE,
        least: sign,
        seen,
    })
}

#[test]
fn after_a_start_what_is_older_is_refused_and_the_group_that_was_shown_is_taken_from_its_first_frame() {
    let mut camera = Camera::signing(SignMode::Frame);
    let kept = Kept::of_three_groups(&mut camera);
    let mut before = starting(SignMode::Frame, Seen::default());
    assert_eq!(kept.give(&mut before, 0).0, [0, 1, 2, 3, 4, 5]);
    let seen = before.seen();
    let mut starts = starting(SignMode::Frame, seen);
    assert_eq!(starts.seen(), seen, "nothing came yet");
    let (pictures, _, refused) = kept.give(&mut starts, 0);
    assert_eq!(pictures, [4, 5], "the newest group, whole");
    assert!(refused.iter().all(|reason| *reason == GroupRefusal::Rewound) && !refused.is_empty());
    // Where the run goes on, it is shown.
    let mut goes_on = starting(SignMode::Frame, seen);
    let more = Kept {
        keys: kept.keys.clone(),
        frames: vec![camera.frame(true), camera.frame(false)],
        sound: vec![camera.sound(), camera.sound()],
    };
    assert_eq!(more.give(&mut goes_on, 0), (vec![6, 7], 2, vec![]));
    assert!(goes_on.seen().picture > seen.picture);
}

#[test]
fn sound_of_before_is_refused_as_well() {
    let mut camera = Camera::signing(SignMode::Frame);
    let kept = Kept::of_three_groups(&mut camera);
    let mut before = starting(SignMode::Frame, Seen::default());
    assert_eq!(kept.give(&mut before, 0).1, 6);
    let mut starts = starting(SignMode::Frame, before.seen());
    let (_, packets, _) = kept.give(&mut starts, 0);
    assert!(packets < 6, "{packets}");
}

#[test]
fn a_camera_that_begins_anew_is_shown_and_what_was_before_is_not() {
    let mut old = Camera::signing(SignMode::Frame);
    let kept = Kept::of_three_groups(&mut old);
    let mut new = Camera::in_run([8; 16], SignMode::Frame, Unit::Frame, 2000..3000);
    let restarted = Kept::of_three_groups(&mut new);
    let mut before = starting(SignMode::Frame, Seen::default());
    kept.give(&mut before, 0);
    let mut starts = starting(SignMode::Frame, before.seen());
    assert_eq!(restarted.give(&mut starts, 0).0, [0, 1, 2, 3, 4, 5]);
    let mut again = starting(SignMode::Frame, starts.seen());
    let (pictures, packets, refused) = kept.give(&mut again, 0);
    assert_eq!((pictures, packets), (vec![], 0));
    assert!(refused.iter().all(|reason| *reason == GroupRefusal::Rewound) && refused.len() >= 6);
}

#[test]
fn where_frames_are_not_signed_an_earlier_epoch_is_refused() {
    let mut camera = Camera::signing(SignMode::Off);
    let kept = Kept::of_three_groups(&mut camera);
    let mut before = starting(SignMode::Off, Seen::default());
    assert_eq!(kept.give(&mut before, 0).0, [0, 1, 2, 3, 4, 5]);
    let seen = before.seen();
    assert_eq!(
        kept.give(&mut starting(SignMode::Off, seen), 0).0,
        [0, 1, 2, 3, 4, 5],
        "its epoch"
    );
    let later = Seen {
        picture: seen.picture.map(|start| GroupStart {
            epoch: start.epoch + 1,
            ..start
        }),
        ..seen
    };
    assert_eq!(kept.give(&mut starting(SignMode::Off, later), 0).0, [0; 0]);
}

#[test]
fn the_newer_of_two_is_kept_for_each_stream() {
    let start = |epoch, group| Some(GroupStart { epoch, group });
    let of = |picture, sound| Seen { picture, sound };
    let one = of(start(7, 3), None);
    let other = of(start(6, 90), start(6, 2));
    assert_eq!(one.with(other), of(start(7, 3), start(6, 2)));
    assert_eq!(other.with(one), one.with(other));
}
