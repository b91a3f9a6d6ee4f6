//! A camera, a relay that may be hostile, and a viewer, on a virtual clock and links that lose one packet in twenty.

use std::collections::VecDeque;
use std::time::Duration;

use super::*;
use crate::keys::Identity;
use crate::sign::record_hash;
use crate::sign::{FrameDigest, FrameRefusal, FrameSigner, FrameVerifier, OutgoingStatement, ReceivedFrame};
use crate::sim::{Link, LinkProfile, Random};

const FRAME_TIME: Duration = Duration::from_micros(66_667);
const GROUP: u64 = 15;
const GROUP_TIME: Duration = Duration::from_secs(1);
const ROUND_TRIP: Duration = Duration::from_millis(40);
/// Time that a viewer waits between two requests for a keyframe.
const PATIENCE: Duration = Duration::from_millis(100);
/// Frames that a relay keeps to show them again.
const KEPT: usize = 45;

/// Behaviour of the relay from the onset on.
#[derive(Clone, Copy, PartialEq)]
enum Attack {
    None,
    Freeze,
    Delay(Duration),
    /// Lets every second last a little longer, so that nothing ever stops.
    SlowDown,
    Loop,
    /// Leaves out keyframes, so that pictures of one group follow those of another.
    Splice,
    DropAnswers,
}

const FRAME: u8 = 1;
const ANSWER: u8 = 2;
const CHALLENGE: u8 = 3;
const KEYFRAME_REQUEST: u8 = 4;

struct Camera {
    identity: Identity,
    signer: FrameSigner,
    challenges: Challenges,
    next: u64,
    /// Number of the frame at which the next group begins.
    keyframe: u64,
}

impl Camera {
    fn frame(&mut self) -> Vec<Vec<u8>> {
        let batch = self.challenges.fold(100);
        let keyframe = self.next >= self.keyframe;
        if keyframe {
            self.keyframe = self.next + GROUP;
        }
        let record = self.next.to_be_bytes();
        let outgoing = OutgoingStatement {
            epoch: 0,
            frame: self.next,
            keyframe,
            digest: FrameDigest::of_hashes(&[record_hash(&record)]).expect("one record"),
            liveness: batch.as_ref().map(Batch::root),
        };
        self.next += 1;
        let (_, proof) = self.signer.sign(&self.identity, &outgoing).expect("in order");
        let frame = [&[FRAME, u8::from(keyframe)], &record[..], &proof.to_bytes()].concat();
        let answers = batch.iter().flat_map(Batch::answers);
        let answers = answers.map(|(_, answer)| [&[ANSWER], &answer.to_bytes()[..]].concat());
        [frame].into_iter().chain(answers).collect()
    }

    fn hear(&mut self, packet: &[u8]) {
        match packet {
            [CHALLENGE, challenge @ ..] => {
                let challenge = Challenge(challenge.try_into().expect("16 bytes"));
                self.challenges.put(0, challenge).expect("a slot");
            }
            _ => self.keyframe = self.next,
        }
    }
}

struct Relay {
    attack: Attack,
    onset: Duration,
    /// When the relay first did something.
    began: Option<Duration>,
    kept: VecDeque<Vec<u8>>,
    held: VecDeque<(Duration, Vec<u8>)>,
}

impl Relay {
    /// Packets that the relay sends on when a packet of the camera comes.
    fn pass(&mut self, now: Duration, packet: Vec<u8>) -> Vec<Vec<u8>> {
        let (frame, keyframe) = (packet[0] == FRAME, packet[1] == 1);
        if now < self.onset {
            if frame {
                self.kept.push_back(packet.clone());
                if self.kept.len() > KEPT {
                    self.kept.pop_front();
                }
            }
            return vec![packet];
        }
        let acts = match self.attack {
            Attack::Splice => frame && keyframe,
            _ => true,
        };
        if acts {
            self.began.get_or_insert(now);
        }
        let since = now - self.onset;
        match self.attack {
            Attack::Freeze => vec![],
            Attack::Splice if frame && keyframe => vec![],
            Attack::DropAnswers if !frame => vec![],
            Attack::Delay(delay) => self.hold(now + delay, packet),
            Attack::SlowDown => self.hold(now + since / 4, packet),
            Attack::Loop if frame => {
                self.kept.rotate_left(1);
                self.kept.back().cloned().into_iter().collect()
            }
            _ => vec![packet],
        }
    }

    fn hold(&mut self, until: Duration, packet: Vec<u8>) -> Vec<Vec<u8>> {
        self.held.push_back((until, packet));
        vec![]
    }

    fn release(&mut self, now: Duration) -> Option<Vec<u8>> {
        let due = self.held.front().is_some_and(|(until, _)| *until <= now);
        if due {
            self.held.pop_front().map(|(_, packet)| packet)
        } else {
            None
        }
    }
}

struct Viewer {
    verifier: FrameVerifier,
    liveness: Liveness,
    random: Random,
    next_request: Duration,
    /// Every change of what the viewer is told: alarm or not.
    alarms: Vec<(Duration, Option<AlarmCause>)>,
    /// Smallest age shown since the onset.
    youngest: Duration,
}

impl Viewer {
    fn hear(&mut self, now: Duration, packet: &[u8]) -> Option<Vec<u8>> {
        if packet[0] == ANSWER {
            let answer = Answer::parse(&packet[1..]).expect("nobody alters it");
            // One that came too late is to none that waits.
            let _late = self.liveness.answer(&answer);
            return None;
        }
        let (record, proof) = packet[2..].split_at(8);
        let received = ReceivedFrame {
            digest: FrameDigest::of_hashes(&[record_hash(record)]).expect("one record"),
            stream: 1,
            epoch: 0,
        };
        match self.verifier.verify(&received, Some(proof)) {
            Ok(verified) => self.liveness.verified(now, &verified),
            Err(FrameRefusal::Group) if now >= self.next_request => {
                self.next_request = now + PATIENCE;
                return Some(vec![KEYFRAME_REQUEST]);
            }
            Err(_) => {}
        }
        None
    }

    fn look(&mut self, now: Duration, onset: Duration) {
        let alarm = match self.liveness.state(now) {
            LivenessState::Alarm(cause) => Some(cause),
            LivenessState::Live { at_most } if now > onset + GROUP_TIME => {
                self.youngest = self.youngest.min(at_most);
                None
            }
            _ => None,
        };
        if self.alarms.last().is_none_or(|(_, last)| *last != alarm) {
            self.alarms.push((now, alarm));
        }
    }

    fn ask(&mut self, now: Duration) -> Option<Vec<u8>> {
        let random = [self.random.next_u64(), self.random.next_u64()];
        let challenge = self
            .liveness
            .challenge(now, random.map(u64::to_be_bytes).as_flattened().try_into().ok()?)?;
        Some([&[CHALLENGE], &challenge.0[..]].concat())
    }
}

struct Scene {
    camera: Camera,
    relay: Relay,
    viewer: Viewer,
    up: Link,
    down: Link,
    to_relay: Link,
}

impl Scene {
    fn new(attack: Attack, onset: Duration, seed: u64) -> Self {
        let identity = Identity::from_seed(&[4; 32]);
        let profile: LinkProfile = "delay=20ms jitter=5ms loss=5%".parse().expect("a profile");
        let liveness = Liveness::new(LivenessConfig {
            round_trip: ROUND_TRIP,
            group: GROUP_TIME,
        });
        Self {
            viewer: Viewer {
                verifier: FrameVerifier::new(identity.peer_id(), 1),
                liveness,
                random: Random::new(seed),
                next_request: Duration::ZERO,
                alarms: vec![],
                youngest: Duration::MAX,
            },
            camera: Camera {
                signer: FrameSigner::new(1, 0),
                challenges: Challenges::new(1),
                next: 0,
                keyframe: 0,
                identity,
            },
            relay: Relay {
                attack,
                onset,
                began: None,
                kept: VecDeque::new(),
                held: VecDeque::new(),
            },
            up: Link::new(profile.clone(), seed),
            // The relay stands beside the camera.
            to_relay: Link::new(LinkProfile::default(), seed),
            down: Link::new(profile, !seed),
        }
    }

    /// Runs until `end`, from one event to the next.
    fn run(mut self, end: Duration) -> (Viewer, Option<Duration>) {
        let (mut now, mut next_frame) = (Duration::ZERO, Duration::ZERO);
        while now < end {
            if now >= next_frame {
                next_frame += FRAME_TIME;
                self.camera
                    .frame()
                    .into_iter()
                    .for_each(|packet| self.to_relay.send(now, packet));
            }
            self.carry(now);
            self.viewer.look(now, self.relay.onset);
            let others = [
                self.up.next_delivery(),
                self.down.next_delivery(),
                self.relay.held.front().map(|(until, _)| *until),
            ];
            let first = others.into_iter().flatten().min().unwrap_or(end);
            now = first.min(next_frame).min(self.viewer.liveness.deadline(now));
        }
        (self.viewer, self.relay.began)
    }

    fn carry(&mut self, now: Duration) {
        while let Some(packet) = self.to_relay.deliver(now) {
            for packet in self.relay.pass(now, packet) {
                self.down.send(now, packet);
            }
        }
        while let Some(packet) = self.relay.release(now) {
            self.down.send(now, packet);
        }
        while let Some(packet) = self.up.deliver(now) {
            self.camera.hear(&packet);
        }
        while let Some(packet) = self.down.deliver(now) {
            if let Some(request) = self.viewer.hear(now, &packet) {
                self.up.send(now, request);
            }
        }
        if let Some(challenge) = self.viewer.ask(now) {
            self.up.send(now, challenge);
        }
    }
}

/// Attacks after ten seconds and expects an alarm within a round trip and a group of pictures, and none before. Returns
/// the causes from then on.
fn alarms_of(attack: Attack) -> Vec<Option<AlarmCause>> {
    let onset = Duration::from_millis(10_123);
    let mut causes = Vec::new();
    for seed in 0..5 {
        let (viewer, began) = Scene::new(attack, onset, seed).run(onset + Duration::from_secs(20));
        let began = began.expect("the relay attacks");
        assert_eq!(viewer.alarms[0].1, None);
        let (at, _) = viewer.alarms[1];
        assert!(at > began, "seed {seed}: an alarm before there was a reason");
        assert!(at - began <= ROUND_TRIP + GROUP_TIME, "seed {seed}: {:?}", at - began);
        causes = viewer.alarms[1..].iter().map(|(_, cause)| *cause).collect();
        assert!(causes.iter().all(Option::is_some), "seed {seed}: the attack goes on");
    }
    causes
}

#[test]
fn an_honest_relay_at_5_percent_loss_raises_no_alarm_in_an_hour() {
    let (viewer, _) = Scene::new(Attack::None, Duration::ZERO, 1).run(Duration::from_secs(3600));
    assert_eq!(viewer.alarms, [(Duration::ZERO, None)]);
    assert!(viewer.verifier.accepted() > 45_000);
    assert!(viewer.youngest < ROUND_TRIP * 2);
}

#[test]
fn a_freeze_raises_the_alarm() {
    assert_eq!(alarms_of(Attack::Freeze), [Some(AlarmCause::Freeze)]);
}

#[test]
fn a_delay_beyond_the_limit_raises_the_alarm_and_does_not_end_it_when_frames_come() {
    let causes = alarms_of(Attack::Delay(Duration::from_secs(3)));
    assert_eq!(causes[..2], [Some(AlarmCause::Freeze), Some(AlarmCause::Stale)]);
}

#[test]
fn a_short_delay_is_in_the_age_that_is_shown() {
    let (onset, delay) = (Duration::from_secs(10), Duration::from_millis(200));
    let (viewer, _) = Scene::new(Attack::Delay(delay), onset, 2).run(onset * 3);
    assert_eq!(viewer.alarms, [(Duration::ZERO, None)]);
    assert!((delay + ROUND_TRIP / 2..delay + ROUND_TRIP * 2).contains(&viewer.youngest));
}

#[test]
fn a_relay_that_falls_back_slowly_raises_the_alarm_at_the_limit() {
    let onset = Duration::from_secs(10);
    let (viewer, _) = Scene::new(Attack::SlowDown, onset, 3).run(onset * 3);
    let (at, cause) = viewer.alarms[1];
    assert_eq!((viewer.alarms[0].1, cause), (None, Some(AlarmCause::Stale)));
    // It takes four seconds to fall back by one.
    assert!(
        (onset + Duration::from_secs(2)..onset + Duration::from_secs(5)).contains(&at),
        "{at:?}"
    );
}

#[test]
fn a_loop_of_old_frames_raises_the_alarm() {
    // A frame that the viewer lost before is new to it in the first round, and no more than that.
    assert_eq!(alarms_of(Attack::Loop)[0], Some(AlarmCause::Freeze));
}

#[test]
fn a_splice_raises_the_alarm() {
    assert_eq!(alarms_of(Attack::Splice), [Some(AlarmCause::Freeze)]);
}

#[test]
fn dropped_answers_raise_the_alarm() {
    assert_eq!(alarms_of(Attack::DropAnswers), [Some(AlarmCause::Stale)]);
}

#[test]
fn a_new_viewer_that_is_shown_a_recording_is_warned() {
    let mut scene = Scene::new(Attack::None, Duration::ZERO, 5);
    // The camera films, and the relay keeps what it films. Nobody can know the challenges of later.
    let recording: Vec<Vec<u8>> = (0..45).flat_map(|_| scene.camera.frame()).collect();
    let mut now = Duration::ZERO;
    for packet in recording {
        scene.viewer.ask(now);
        scene.viewer.hear(now, &packet);
        scene.viewer.look(now, Duration::ZERO);
        now += FRAME_TIME;
    }
    assert_eq!(
        scene.viewer.verifier.accepted(),
        45,
        "all are the camera's, and in order"
    );
    let causes: Vec<_> = scene.viewer.alarms.iter().map(|(_, cause)| *cause).collect();
    assert_eq!(causes, [None, Some(AlarmCause::Stale)]);
}
