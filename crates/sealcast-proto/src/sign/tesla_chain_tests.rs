//! TESLA over several key chains: renewal, who comes late, and what stays unproved.

use std::time::Duration;

use super::test_camera::{Camera, STREAM};
use super::*;
use crate::clock::{Arrival, Now};
use crate::keys::Identity;

const START: u64 = 1_800_000_000_000_000_000;
const MS: u64 = 1_000_000;
/// A frame each 40 ms, chains of 1.2 s, and keys that are disclosed after 300 ms.
const TIMES: TeslaTimes = TeslaTimes {
    interval: Duration::from_millis(100),
    delay: 3,
    intervals: 12,
};
/// Error of the viewers' clocks, in milliseconds.
const ERROR: u64 = 10;

fn now(millis: u64) -> Now {
    Now {
        monotonic: Duration::from_millis(millis),
        wall: START + millis * MS,
    }
}

/// What a viewer whose clock errs by 10 ms knows of this time.
fn arrival(millis: u64) -> Arrival {
    Arrival {
        at: Duration::from_millis(millis),
        peer_at_latest: Some(START + (millis + ERROR) * MS),
    }
}

struct Scene {
    camera: Camera,
    chains: TeslaCamera,
    /// What is known on the way: all commitments so far.
    commitments: Vec<Vec<u8>>,
    seed: u8,
}

type Sent = (Statement, TeslaTag);

impl Scene {
    fn new() -> Self {
        Self {
            camera: Camera::new(SignMode::Gop),
            chains: TeslaCamera::new(STREAM, TIMES).expect("within the bounds"),
            commitments: Vec::new(),
            seed: 0,
        }
    }

    /// A frame sent `at` milliseconds after the start.
    fn send(&mut self, at: u64) -> Sent {
        self.seed += 1;
        if self.chains.renew(now(at), &self.camera.identity, [self.seed; 32]) {
            let newest = self.chains.commitments(now(at)).last().expect("a chain");
            self.commitments.push(newest.to_vec());
        }
        let statement = self.camera.frame(self.seed == 1).statement;
        (statement, self.chains.tag(now(at), &statement).expect("a chain"))
    }

    fn viewer(&self) -> TeslaViewer {
        TeslaViewer::new(self.camera.peer(), STREAM)
    }
}

fn take_all(viewer: &mut TeslaViewer, commitments: &[Vec<u8>]) {
    for commitment in commitments {
        viewer.take(commitment).expect("the camera's");
    }
}

/// What a viewer hears of a frame that comes in time.
fn news(viewer: &mut TeslaViewer, at: u64, frame: &Sent) -> Vec<TeslaNews> {
    viewer.receive(arrival(at), &frame.0, &frame.1).expect("in time");
    std::iter::from_fn(|| viewer.poll()).collect()
}

fn proved(news: &[TeslaNews]) -> Vec<(u64, Duration)> {
    let of = |one: &TeslaNews| match one {
        TeslaNews::Proved { statement, after } => Some((statement.frame, *after)),
        _ => None,
    };
    news.iter().filter_map(of).collect()
}

#[test]
fn each_frame_is_proved_within_the_delay_over_many_chains() {
    let mut scene = Scene::new();
    let mut viewer = scene.viewer();
    let (mut all, mut first) = (Vec::new(), None);
    for number in 0..200 {
        let frame = scene.send(number * 40);
        first.get_or_insert(frame.0.frame);
        take_all(&mut viewer, &scene.commitments);
        let news = news(&mut viewer, number * 40 + 20, &frame);
        assert!(
            !news
                .iter()
                .any(|one| matches!(one, TeslaNews::Unprovable(_) | TeslaNews::Forged(_)))
        );
        all.extend(proved(&news));
    }
    assert!(scene.commitments.len() > 6, "{} chains", scene.commitments.len());
    let first = first.expect("frames were sent");
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>());
    // The last ones wait for keys that are disclosed after the end.
    assert_eq!(numbers.len() + viewer.waiting(), 200);
    assert!(viewer.waiting() <= 300 / 40 + 1, "{}", viewer.waiting());
    // A key is disclosed by the first frame `delay` intervals later.
    let longest = all.iter().map(|(_, after)| *after).max();
    assert!(longest <= Some(Duration::from_millis(300 + 40)), "{longest:?}");
}

#[test]
fn who_comes_late_needs_the_present_chain_alone() {
    let mut scene = Scene::new();
    // The second chain began 50 ms ago: its tags still disclose keys of the first one.
    for number in 0..=30 {
        scene.send(number * 40);
    }
    let mut viewer = scene.viewer();
    let told: Vec<Vec<u8>> = scene.chains.commitments(now(1250)).map(<[u8]>::to_vec).collect();
    assert_eq!(told.len(), 1);
    take_all(&mut viewer, &told);
    let mut all = Vec::new();
    for number in 0..20 {
        let at = 1250 + number * 40;
        let frame = scene.send(at);
        take_all(&mut viewer, &scene.commitments[2..]);
        all.extend(proved(&news(&mut viewer, at + 5, &frame)));
    }
    assert!(all.len() >= 20 - 9, "{all:?}");
}

#[test]
fn frames_whose_keys_were_lost_with_the_end_of_their_chain_stay_unproved() {
    let mut scene = Scene::new();
    let mut viewer = scene.viewer();
    let before: Vec<Sent> = (0..30).map(|number| scene.send(number * 40)).collect();
    take_all(&mut viewer, &scene.commitments);
    let mut told = Vec::new();
    for (number, frame) in (0..).zip(&before) {
        told.extend(news(&mut viewer, number * 40 + 5, frame));
    }
    let waited = viewer.waiting();
    assert!(waited > 0 && told.iter().filter(|one| **one == TeslaNews::Waits).count() == 30);
    // Nothing comes for as long as the next chain discloses keys of this one.
    let frame = scene.send(1200 + 310);
    let after = news(&mut viewer, 1200 + 312, &frame);
    let lost = TeslaNews::Unprovable(Unprovable::KeyLost);
    assert_eq!(after.iter().filter(|one| **one == lost).count(), waited);
    assert_eq!(viewer.waiting(), 1);
}

#[test]
fn an_insider_with_the_keys_of_the_chain_before_comes_too_late() {
    let mut scene = Scene::new();
    let mut viewer = scene.viewer();
    let mut last = scene.send(0);
    for number in 1..=28 {
        last = scene.send(number * 40);
    }
    take_all(&mut viewer, &scene.commitments);
    // Sent at 1 120 ms, in the last interval of the first chain, whose key is disclosed from 1 400 ms on.
    let refused = |viewer: &mut TeslaViewer, at| viewer.receive(arrival(at), &last.0, &last.1);
    assert_eq!(refused(&mut viewer, 1390), Err(TeslaRefusal::Unsafe));
    assert_eq!(refused(&mut viewer, 5000), Err(TeslaRefusal::Unsafe));
    assert_eq!(refused(&mut viewer, 1389), Ok(()));
    let mut beyond = scene.send(1130);
    beyond.1.interval = 13;
    let refused = viewer.receive(arrival(1140), &beyond.0, &beyond.1);
    assert_eq!(refused, Err(TeslaRefusal::Interval), "no chain has it");
}

#[test]
fn without_a_commitment_or_the_cameras_clock_nothing_is_proved() {
    let mut scene = Scene::new();
    let mut viewer = scene.viewer();
    let frame = scene.send(0);
    let unprovable = |missing| vec![TeslaNews::Unprovable(missing)];
    assert_eq!(news(&mut viewer, 5, &frame), unprovable(Unprovable::NoChain));
    take_all(&mut viewer, &scene.commitments);
    viewer
        .receive(Duration::from_millis(5).into(), &frame.0, &frame.1)
        .expect("it is shown");
    assert_eq!(viewer.poll(), Some(TeslaNews::Unprovable(Unprovable::NoClock)));
    assert_eq!((viewer.poll(), viewer.waiting()), (None, 0));
    assert_eq!(news(&mut viewer, 5, &frame), vec![TeslaNews::Waits]);
}

#[test]
fn a_commitment_is_the_cameras_and_of_its_stream() {
    let mut scene = Scene::new();
    scene.send(0);
    let good = scene.commitments[0].clone();
    let mut viewer = scene.viewer();
    let mut altered = good.clone();
    altered[40] ^= 1;
    assert_eq!(viewer.take(&altered), Err(CommitmentRefusal::Signature));
    assert_eq!(viewer.take(&good[1..]), Err(CommitmentRefusal::Malformed));
    let mut other = TeslaViewer::new(scene.camera.peer(), STREAM + 1);
    assert_eq!(other.take(&good), Err(CommitmentRefusal::Malformed));
    let mut strange = TeslaViewer::new(Identity::from_seed(&[77; 32]).peer_id(), STREAM);
    assert_eq!(strange.take(&good), Err(CommitmentRefusal::Signature));
    viewer.take(&good).expect("the camera's");
}

#[test]
fn an_old_commitment_changes_nothing_and_one_of_a_new_start_replaces_all() {
    let mut scene = Scene::new();
    let mut viewer = scene.viewer();
    let first = scene.send(0);
    take_all(&mut viewer, &scene.commitments);
    assert_eq!(news(&mut viewer, 5, &first), vec![TeslaNews::Waits]);
    take_all(&mut viewer, &scene.commitments);
    assert_eq!((viewer.poll(), viewer.waiting()), (None, 1));
    // The camera was started again: nothing leads from its new chain to the old one.
    let mut again = Scene::new();
    let frame = again.send(500);
    take_all(&mut viewer, &again.commitments);
    assert_eq!(viewer.poll(), Some(TeslaNews::Unprovable(Unprovable::KeyLost)));
    assert_eq!(news(&mut viewer, 505, &frame), vec![TeslaNews::Waits]);
    take_all(&mut viewer, &scene.commitments);
    assert_eq!((viewer.poll(), viewer.waiting()), (None, 1));
}

#[test]
fn a_camera_whose_clock_leaves_its_chains_draws_a_new_one() {
    let mut scene = Scene::new();
    scene.send(0);
    scene.send(60_000);
    assert_eq!(scene.chains.commitments(now(60_000)).count(), 1);
    let times = TeslaTimes { delay: 4, ..TIMES };
    assert!(TeslaCamera::new(STREAM, times).is_none(), "a chain is four delays long");
    assert!(TeslaTimes::default().are_valid());
}
