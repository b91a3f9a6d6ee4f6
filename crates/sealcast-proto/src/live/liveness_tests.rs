//! A viewer's bound on the age of its picture, step by step.

use std::time::Duration;

use super::*;
use crate::sign::test_camera::{Camera, STREAM};
use crate::sign::{FrameVerifier, Verified};

const CONFIG: LivenessConfig = LivenessConfig {
    round_trip: ms(40),
    group: ms(2000),
};

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

struct Scene {
    camera: Camera,
    challenges: Challenges,
    verifier: FrameVerifier,
    liveness: Liveness,
}

impl Scene {
    fn new() -> Self {
        let camera = Camera::new();
        Self {
            verifier: FrameVerifier::new(camera.peer(), STREAM),
            challenges: Challenges::new(2),
            liveness: Liveness::new(CONFIG),
            camera,
        }
    }

    fn ask(&mut self, now: Duration) -> Challenge {
        let challenge = self
            .liveness
            .challenge(now, [now.as_millis() as u8; 16])
            .expect("it is due");
        self.challenges.put(0, challenge).expect("a slot");
        challenge
    }

    /// The next frame, and the answers that belong to it.
    fn frame(&mut self) -> (Verified, Vec<Answer>) {
        let batch = self.challenges.fold(9);
        let keyframe = self.camera.next_frame == 0;
        let frame = self.camera.frame_with(keyframe, batch.as_ref().map(Batch::root));
        let verified = self.verifier.verify(&frame.received(), Some(&frame.proof));
        let answers = batch
            .iter()
            .flat_map(|batch| batch.answers().map(|(_, answer)| answer))
            .collect();
        (verified.expect("the camera's"), answers)
    }
}

#[test]
fn the_age_is_counted_from_the_challenge_that_a_frame_answers() {
    let mut scene = Scene::new();
    assert_eq!(scene.liveness.state(ms(0)), LivenessState::Waiting);
    scene.ask(ms(10));
    let (frame, answers) = scene.frame();
    scene.liveness.verified(ms(50), &frame);
    assert_eq!(scene.liveness.state(ms(55)), LivenessState::Waiting);
    scene.liveness.answer(&answers[0]).expect("it is mine");
    assert_eq!(scene.liveness.state(ms(60)), LivenessState::Live { at_most: ms(50) });
    assert_eq!(
        scene.liveness.state(ms(2070)),
        LivenessState::Live { at_most: ms(2060) }
    );
    assert_eq!(scene.liveness.state(ms(2071)), LivenessState::Alarm(AlarmCause::Freeze));
}

#[test]
fn an_answer_before_its_frame_counts_when_the_frame_is_verified() {
    let mut scene = Scene::new();
    scene.ask(ms(0));
    let (frame, answers) = scene.frame();
    scene.liveness.answer(&answers[0]).expect("it is mine");
    assert_eq!(scene.liveness.state(ms(40)), LivenessState::Waiting);
    scene.liveness.verified(ms(80), &frame);
    assert_eq!(scene.liveness.state(ms(80)), LivenessState::Live { at_most: ms(80) });
}

#[test]
fn frames_that_answer_nothing_of_mine_are_stale() {
    let mut scene = Scene::new();
    scene.ask(ms(0));
    for at in 1..=21 {
        scene.challenges.remove(0);
        scene.challenges.put(1, Challenge([at as u8; 16])).expect("a slot");
        let (frame, answers) = scene.frame();
        scene.liveness.verified(ms(at * 100), &frame);
        assert_eq!(scene.liveness.answer(&answers[0]), Err(NotMine));
    }
    assert_eq!(scene.liveness.state(ms(2060)), LivenessState::Waiting);
    assert_eq!(scene.liveness.state(ms(2061)), LivenessState::Alarm(AlarmCause::Stale));
}

#[test]
fn who_is_answered_asks_seldom_and_who_is_not_soon_asks_again() {
    let (mut scene, mut sent) = (Scene::new(), Vec::new());
    for at in (0..10_000).step_by(20).map(ms) {
        let lost = (ms(4000)..ms(5000)).contains(&at);
        if scene.liveness.next_challenge() <= at {
            scene.ask(at);
            sent.push(at);
            let (frame, answers) = scene.frame();
            scene.liveness.verified(at, &frame);
            if !lost {
                scene.liveness.answer(&answers[0]).expect("it is mine");
            }
        }
        assert!(!matches!(scene.liveness.state(at), LivenessState::Alarm(_)), "{at:?}");
    }
    let pause = CONFIG.pause();
    assert_eq!(pause, ms(2000) / 3);
    let count = |range: std::ops::Range<u64>| {
        let within = |at: &&Duration| (ms(range.start)..ms(range.end)).contains(*at);
        sent.iter().filter(within).count()
    };
    assert_eq!([count(0..4000), count(4000..5000), count(5200..10_000)], [6, 5, 7]);
    let long = LivenessConfig {
        group: Duration::from_secs(3600),
        ..CONFIG
    };
    assert_eq!((long.pause(), long.interval()), (MAX_PAUSE, MAX_PAUSE));
}

#[test]
fn challenges_come_at_a_constant_pace_while_none_is_answered_and_their_number_is_bounded() {
    let mut scene = Scene::new();
    for number in 0..500_u64 {
        let now = ms(number * 50);
        let challenge = scene.liveness.challenge(now, [number as u8; 16]);
        assert_eq!(challenge.is_some(), number % 4 == 0, "every 200 ms");
        assert!(scene.liveness.deadline(now) > now);
    }
}

#[test]
fn the_alarm_has_a_deadline_and_ends_with_the_next_answer() {
    let mut scene = Scene::new();
    scene.ask(ms(0));
    assert_eq!(scene.liveness.deadline(ms(0)), ms(200));
    for at in (200..=2000).step_by(200) {
        scene.ask(ms(at));
    }
    let alarm = ms(2060) + Duration::from_nanos(1);
    assert_eq!(scene.liveness.deadline(ms(2000)), alarm);
    assert_eq!(scene.liveness.state(alarm), LivenessState::Alarm(AlarmCause::Freeze));
    assert_eq!(scene.liveness.deadline(alarm), ms(2200));
    let (frame, answers) = scene.frame();
    scene.liveness.verified(ms(2100), &frame);
    scene.liveness.answer(&answers[0]).expect("it is mine");
    assert_eq!(scene.liveness.state(ms(2110)), LivenessState::Live { at_most: ms(110) });
}

#[test]
fn a_forged_answer_does_not_keep_the_cameras_away() {
    let mut scene = Scene::new();
    scene.ask(ms(0));
    scene.challenges.put(1, Challenge([99; 16])).expect("a slot");
    let (frame, answers) = scene.frame();
    scene.liveness.verified(ms(30), &frame);
    let mut bytes = answers[0].to_bytes();
    bytes[9] ^= 1;
    let forged = Answer::parse(&bytes).expect("the form is right");
    scene.liveness.answer(&forged).expect("it has the right name");
    assert_eq!(scene.liveness.state(ms(40)), LivenessState::Waiting);
    scene.liveness.answer(&answers[0]).expect("it is mine");
    assert_eq!(scene.liveness.state(ms(40)), LivenessState::Live { at_most: ms(40) });
}

#[test]
fn what_somebody_stretched_counts_up_to_its_bound() {
    let stretched = LivenessConfig {
        round_trip: Duration::from_secs(60),
        group: ms(40),
    };
    assert_eq!(stretched.limit(), MAX_ROUND_TRIP + MIN_GROUP + MARGIN);
    let held_back = LivenessConfig {
        round_trip: ms(10),
        group: Duration::from_secs(3600),
    };
    assert_eq!(held_back.limit(), ms(10) + MAX_GROUP + MARGIN);
    let mut scene = Scene::new();
    scene.ask(ms(0));
    scene.liveness.set_config(stretched);
    assert_eq!(scene.liveness.state(ms(2020)), LivenessState::Waiting);
    assert_eq!(scene.liveness.state(ms(2021)), LivenessState::Alarm(AlarmCause::Freeze));
}
