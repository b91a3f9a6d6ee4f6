//! TESLA: what is settled when, and every reason for refusal.

use super::test_camera::{Camera, STREAM};
use super::*;
use crate::clock::ClockReading;
use crate::wire::Malformed;

const START: u64 = 1_800_000_000_000_000_000;
const MS: u64 = 1_000_000;
const PLAN: TeslaPlan = TeslaPlan {
    stream: STREAM,
    delay: 3,
    intervals: 100,
    start: START,
    length: 100 * MS,
};

/// Clocks that agree, to within 10 ms.
const CLOCK: ClockReading = ClockReading {
    offset: 0,
    spread: 0,
    uncertainty: 10 * MS,
};

struct Scene {
    camera: Camera,
    sender: TeslaSender,
    receiver: TeslaReceiver,
}

impl Scene {
    fn new() -> Self {
        let camera = Camera::new(SignMode::Gop);
        let sender = TeslaSender::new(PLAN, [5; 32]).expect("a valid plan");
        let commitment = sender.commitment(&camera.identity);
        assert!(commitment.verifies(&camera.peer()));
        Self {
            receiver: TeslaReceiver::new(&commitment),
            camera,
            sender,
        }
    }

    /// A frame sent `at` milliseconds after the start.
    fn send(&mut self, at: u64) -> (Statement, TeslaTag) {
        let statement = self.camera.frame(at == 0).statement;
        let tag = self.sender.tag(START + at * MS, &statement).expect("within the chain");
        (statement, tag)
    }

    /// What is known after a frame arrived `at` milliseconds after the start.
    fn receive(&mut self, at: u64, frame: &(Statement, TeslaTag)) -> Result<Vec<Settled>, TeslaRefusal> {
        self.receiver.receive(START + at * MS, &CLOCK, &frame.0, &frame.1)?;
        Ok(std::iter::from_fn(|| self.receiver.poll()).collect())
    }
}

#[test]
fn frames_are_settled_in_order_when_their_keys_are_disclosed() {
    let mut scene = Scene::new();
    let (mut sent, mut settled) = (Vec::new(), Vec::new());
    for number in 0..30 {
        let frame = scene.send(number * 40);
        settled.extend(scene.receive(number * 40 + 20, &frame).expect("in time"));
        sent.push(Settled::Authentic(frame.0));
        // The key of the interval three before is known by now.
        let known = (number * 40 / 100).saturating_sub(2) * 100;
        let expected = (0..30).filter(|other| *other <= number && other * 40 < known).count();
        assert_eq!(settled, sent[..expected]);
    }
}

#[test]
fn keys_that_were_lost_follow_from_later_ones() {
    let mut scene = Scene::new();
    let first = scene.send(0);
    assert_eq!(scene.receive(5, &first), Ok(vec![]));
    let late = scene.send(5000);
    assert_eq!(scene.receive(5005, &late), Ok(vec![Settled::Authentic(first.0)]));
}

#[test]
fn a_frame_that_arrives_when_its_key_may_be_known_is_unsafe() {
    let mut scene = Scene::new();
    let frame = scene.send(0);
    // Its key is disclosed from 300 ms on, and the clocks agree to within 10 ms.
    assert_eq!(scene.receive(290, &frame), Err(TeslaRefusal::Unsafe));
    assert_eq!(scene.receive(289, &frame), Ok(vec![]));
    let behind = ClockReading {
        offset: 200_000_000,
        ..CLOCK
    };
    let refused = scene.receiver.receive(START + 90 * MS, &behind, &frame.0, &frame.1);
    assert_eq!(refused, Err(TeslaRefusal::Unsafe));
}

#[test]
fn an_insider_with_a_disclosed_key_comes_too_late() {
    let mut scene = Scene::new();
    let mut forged = scene.send(0);
    let disclosing = scene.send(350);
    // The insider has the key of interval 1 from here on, and makes a MAC that fits. It fits no more in time.
    forged.0.frame += 1;
    let own = scene.sender.tag(START, &forged.0).expect("within the chain");
    assert_eq!(scene.receive(350, &disclosing), Ok(vec![]));
    assert_eq!(scene.receive(351, &(forged.0, own)), Err(TeslaRefusal::Unsafe));
}

#[test]
fn a_wrong_mac_is_told_when_the_key_is_known() {
    let mut scene = Scene::new();
    let mut forged = scene.send(0);
    forged.0.liveness = Some([3; 32]);
    assert_eq!(scene.receive(1, &forged), Ok(vec![]));
    let later = scene.send(350);
    assert_eq!(scene.receive(351, &later), Ok(vec![Settled::WrongMac(forged.0)]));
}

#[test]
fn a_key_of_another_chain_is_refused_and_changes_nothing() {
    let mut scene = Scene::new();
    let first = scene.send(0);
    scene.receive(1, &first).expect("in time");
    let mut forged = scene.send(450);
    let good = forged;
    forged.1.disclosed[0] ^= 1;
    assert_eq!(scene.receive(451, &forged), Err(TeslaRefusal::Chain));
    assert_eq!(scene.receive(452, &good), Ok(vec![Settled::Authentic(first.0)]));
    let mut contradicting = scene.send(460);
    contradicting.1.disclosed[0] ^= 1;
    assert_eq!(scene.receive(461, &contradicting), Err(TeslaRefusal::Chain));
}

#[test]
fn an_interval_that_the_camera_cannot_have_reached_is_refused() {
    let mut scene = Scene::new();
    let mut frame = scene.send(0);
    assert_eq!(scene.receive(0, &frame), Ok(vec![]));
    for interval in [0, 2, 101, u32::MAX] {
        frame.1.interval = interval;
        assert_eq!(scene.receive(0, &frame), Err(TeslaRefusal::Interval));
    }
    frame.1.interval = 101;
    assert_eq!(
        scene.receive(10_050, &frame),
        Err(TeslaRefusal::Interval),
        "after the chain"
    );
}

#[test]
fn no_more_frames_wait_than_the_bound() {
    let mut scene = Scene::new();
    let frame = scene.send(0);
    for _ in 0..MAX_WAITING {
        assert_eq!(scene.receive(1, &frame), Ok(vec![]));
    }
    assert_eq!(scene.receive(1, &frame), Err(TeslaRefusal::Full));
    let later = scene.send(350);
    assert_eq!(
        scene.receiver.receive(START + 351 * MS, &CLOCK, &later.0, &later.1),
        Err(TeslaRefusal::Full)
    );
    let settled = std::iter::from_fn(|| scene.receiver.poll()).count();
    assert_eq!(settled, MAX_WAITING, "the key of a frame without room counts");
}

#[test]
fn commitments_and_tags_are_read_as_they_are_written_and_no_other_way() {
    let mut scene = Scene::new();
    let commitment = scene.sender.commitment(&scene.camera.identity);
    let bytes = commitment.to_bytes();
    assert_eq!(bytes.len(), COMMITMENT_LEN);
    assert_eq!(Commitment::parse(&bytes), Ok(commitment));
    assert_eq!(Commitment::parse(&bytes[..119]), Err(Malformed));
    assert_eq!(Commitment::parse(&[&bytes[..], &[0]].concat()), Err(Malformed));
    // Version, delay, stream, intervals, length.
    for (at, value) in [(0, 2), (1, 0), (3, 0), (3, 16), (4, 1), (16, 1)] {
        let mut bad = bytes.clone();
        bad[at] = value;
        assert_eq!(Commitment::parse(&bad), Err(Malformed), "byte {at}");
    }
    let mut altered = bytes;
    altered[40] ^= 1;
    let altered = Commitment::parse(&altered).expect("the form is right");
    assert!(!altered.verifies(&scene.camera.peer()));

    let (_, tag) = scene.send(0);
    assert_eq!(TeslaTag::parse(&tag.to_bytes()), Ok(tag));
    assert_eq!(tag.to_bytes().len(), TESLA_TAG_LEN);
    assert_eq!(TeslaTag::parse(&tag.to_bytes()[1..]), Err(Malformed));
}

#[test]
fn a_chain_has_keys_for_its_intervals_only() {
    let mut scene = Scene::new();
    let statement = scene.camera.frame(true).statement;
    for wall in [0, START - 1, START + 10_000 * MS, u64::MAX] {
        assert_eq!(scene.sender.tag(wall, &statement), Err(TeslaEnded));
    }
    assert!(scene.sender.tag(START + 9_999 * MS, &statement).is_ok());
    assert!(TeslaSender::new(TeslaPlan { delay: 0, ..PLAN }, [5; 32]).is_none());
    let longest = TeslaPlan {
        intervals: MAX_INTERVALS + 1,
        ..PLAN
    };
    assert!(TeslaSender::new(longest, [5; 32]).is_none());
}
