//! From a trace of a stream whose scene is known to what the attackers make of it.

use std::fmt::Write as _;

use sealcast_proto::sim::Random;

use super::case::{Attack, Plan};
use super::scene::{Act, Scene};
use crate::harness::Sample;
use crate::traffic::trace::{Packet, bins, middle_of_frames, standardised};
use crate::traffic::{activity, flicker, keyframes, presence};

/// Scores of windows in which what is looked for happens, and of the others.
pub(super) const WITH: &str = "with";
pub(super) const WITHOUT: &str = "without";
/// Time by which the phase is off in windows that flicker, in milliseconds.
pub(super) const PHASE_ERROR: &str = "phase_error_ms";
/// Kinds of windows, and their features one window after the other.
pub(super) const KINDS: &str = "kinds";
pub(super) const FEATURES: &str = "features";
/// Bytes of frames that are keyframes, and of the others.
pub(super) const KEYFRAMES: &str = "keyframe_bytes";
pub(super) const OTHERS: &str = "other_bytes";

/// Bins of the cumulative sum, in frames: a fifth of a second at 25 frames a second.
const INTERVAL: usize = 5;

/// A stream that the attackers see, by frames.
pub(super) struct Stream {
    /// Bytes of each frame of the scene, from its first.
    pub(super) frames: Vec<f64>,
    /// Which of them are keyframes, as the viewer says.
    pub(super) keyframes: Vec<bool>,
}

impl Stream {
    /// Puts packets into bins of a frame each. The first frame of the scene was sealed at about `began`, which serves
    /// to count frames; where frames begin and end follows from the packets.
    pub(super) fn of(packets: &[Packet], began: f64, rate: usize, count: usize, keyframes: &[f64]) -> Self {
        let interval = 1.0 / rate as f64;
        let middle = middle_of_frames(packets, interval);
        let before = (began - middle).rem_euclid(interval);
        // The middle of the first frame's packets is the one nearest to when it was sealed.
        let first = if before > interval / 2.0 {
            began + interval - before
        } else {
            began - before
        };
        let from = first - interval / 2.0;
        let mut is_keyframe = vec![false; count];
        for at in keyframes {
            let place = ((at - from) / interval).floor();
            if place >= 0.0 && place < count as f64 {
                is_keyframe[place as usize] = true;
            }
        }
        Self {
            frames: bins(packets, from, interval, count),
            keyframes: is_keyframe,
        }
    }

    /// A stream of frames whose sizes are drawn at random, and whose keyframes too.
    pub(super) fn drawn(count: usize, random: &mut Random) -> Self {
        Self {
            frames: (0..count).map(|_| (10.0 + 2.0 * random.unit()).exp2()).collect(),
            keyframes: (0..count).map(|_| random.chance(0.05)).collect(),
        }
    }

    /// A table of the frames, with what they show.
    pub(super) fn table(&self, scene: &Scene) -> String {
        let mut text = String::from("frame,bytes,keyframe,act,patch\n");
        for (frame, (bytes, keyframe)) in self.frames.iter().zip(&self.keyframes).enumerate() {
            let (act, _) = scene.act(frame);
            let patch = act == Act::Flicker && scene.patch(frame);
            let _ = writeln!(text, "{frame},{bytes},{keyframe},{act:?},{patch}");
        }
        text
    }

    /// Results of the attackers on it.
    pub(super) fn attacked(&self, attack: Attack, scene: &Scene, plan: &Plan) -> Sample {
        let sample = self.with_keyframes();
        let period = keyframes::period(&self.frames);
        let rest = period.map_or_else(
            || self.frames.clone(),
            |period| keyframes::without_period(&self.frames, period),
        );
        let sample = sample.with("keyframe_period", period.unwrap_or_default() as f64);
        match attack {
            Attack::Flicker => flickers(sample, &rest, scene, plan),
            Attack::Presence => presences(sample, &rest, scene, plan),
            Attack::Activity => self.activities(sample, attack, scene, plan),
            Attack::Sort => sample,
        }
    }

    fn with_keyframes(&self) -> Sample {
        let of = |wanted: bool| {
            let all = self.frames.iter().zip(&self.keyframes);
            all.filter(|(_, is)| **is == wanted).map(|(bytes, _)| *bytes).collect()
        };
        Sample::default()
            .with_series(KEYFRAMES, of(true))
            .with_series(OTHERS, of(false))
    }

    fn activities(&self, sample: Sample, attack: Attack, scene: &Scene, plan: &Plan) -> Sample {
        let (mut kinds, mut features) = (Vec::new(), Vec::new());
        for (act, window) in windows(&self.frames, scene, plan) {
            let kind = attack.acts().iter().position(|other| *other == act).unwrap_or_default();
            kinds.push(kind as f64);
            features.extend(activity::features(window));
        }
        sample.with_series(KINDS, kinds).with_series(FEATURES, features)
    }
}

/// The frames of each span that are looked at, and what happens there.
fn windows<'a>(
    frames: &'a [f64],
    scene: &'a Scene,
    plan: &'a Plan,
) -> impl Iterator<Item = (Act, &'a [f64])> + use<'a> {
    let spans = scene.spans.iter();
    spans.filter_map(|span| Some((span.act, frames.get(span.from + plan.guard..span.from + span.frames)?)))
}

fn flickers(sample: Sample, frames: &[f64], scene: &Scene, plan: &Plan) -> Sample {
    let (mut with, mut without, mut off) = (Vec::new(), Vec::new(), Vec::new());
    let frames = &standardised(frames);
    let starts = scene.spans.iter().map(|span| span.from + plan.guard);
    for ((act, window), start) in windows(frames, scene, plan).zip(starts) {
        let found = flicker::look(window, scene.between);
        if act == Act::Flicker {
            with.push(found.score);
            let (between, truth) = (scene.between as f64, scene.phase as f64 - start as f64);
            let frames = flicker::phase_error(found.phase as f64, truth, between);
            off.push(frames * 1e3 / plan.rate as f64);
        } else {
            without.push(found.score);
        }
    }
    sample
        .with_series(WITH, with)
        .with_series(WITHOUT, without)
        .with_series(PHASE_ERROR, off)
}

fn presences(sample: Sample, frames: &[f64], scene: &Scene, plan: &Plan) -> Sample {
    let intervals = |frames: &[f64]| -> Vec<f64> {
        frames
            .chunks_exact(INTERVAL)
            .map(|interval| interval.iter().sum())
            .collect()
    };
    // In the first half rate control finds its place.
    let calm = frames.get(plan.lead / 2..plan.lead).unwrap_or_default();
    let Some(empty) = presence::Empty::learned(&intervals(calm)) else {
        return sample.lacking("the lead is too short to learn an empty scene".to_owned());
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for (act, window) in windows(frames, scene, plan) {
        let scores = if act == Act::Walking { &mut with } else { &mut without };
        scores.push(empty.score(&intervals(window)));
    }
    sample.with_series(WITH, with).with_series(WITHOUT, without)
}

#[cfg(test)]
mod tests {
    use sealcast::codec::{H264Encoder, H264Settings};
    use sealcast::media::{FrameRate, Picture};

    use super::super::TRAFFIC;
    use super::super::case::Settings;
    use super::*;
    use crate::harness::Definition;
    use crate::traffic::auc;

    /// Sizes of the frames of a scene from this program's encoder at constant quality.
    fn encoded(scene: &Scene) -> Stream {
        let mut bytes = Vec::new();
        scene.write(&mut bytes).expect("memory");
        let pixels = scene.width * scene.height;
        let rate = FrameRate {
            numerator: scene.rate as u32,
            denominator: 1,
        };
        let mut settings = H264Settings::new(scene.width, scene.height, rate, 1_500_000);
        settings.quantizer = Some(30);
        let mut encoder = H264Encoder::new(settings).expect("an encoder");
        let head = bytes.iter().position(|byte| *byte == b'\n').expect("a line") + 1;
        let coded = bytes[head..].chunks(6 + pixels * 3 / 2).map(|picture| {
            let picture = Picture {
                y: picture[6..6 + pixels].to_vec(),
                ..Picture::black(scene.width, scene.height)
            };
            let (data, keyframe) = encoder.encode(&picture).expect("a frame");
            (data.len() as f64, keyframe)
        });
        let (frames, keyframes) = coded.unzip();
        Stream { frames, keyframes }
    }

    fn scene(attack: Attack) -> (Scene, Plan) {
        let mut definition = Definition::parse(TRAFFIC.definition).expect("it is right");
        definition.settings.insert("picture".to_owned(), "160x128@25".into());
        let (settings, plan) = Settings::read(&definition).expect("settings");
        (settings.scene(&plan, attack, 24.0, 0, 11), plan)
    }

    #[test]
    fn attackers_win_on_frames_of_constant_quality() {
        for attack in [Attack::Flicker, Attack::Presence] {
            let (scene, plan) = scene(attack);
            let stream = encoded(&scene);
            let sample = stream.attacked(attack, &scene, &plan);
            let (with, without) = (&sample.series[WITH], &sample.series[WITHOUT]);
            assert_eq!((with.len(), without.len()), (5, 5));
            assert_eq!(auc::auc(with, without), Some(1.0), "{attack:?}: {with:?} {without:?}");
            if attack == Attack::Flicker {
                let off = &sample.series[PHASE_ERROR];
                assert!(off.len() == 5 && off.iter().all(|ms| *ms == 0.0), "{off:?}");
            }
            let keyframes = auc::auc(&sample.series[KEYFRAMES], &sample.series[OTHERS]);
            assert!(keyframes.is_some_and(|auc| auc > 0.9), "{keyframes:?}");
            assert_eq!(sample.value("keyframe_period"), Some(50.0));
        }
    }

    #[test]
    fn each_kind_of_activity_has_features_of_its_windows() {
        let (scene, plan) = scene(Attack::Activity);
        let drawn = Stream::drawn(scene.frames, &mut Random::new(1));
        let sample = drawn.attacked(Attack::Activity, &scene, &plan);
        let kinds = &sample.series[KINDS];
        assert_eq!(kinds.len(), 10);
        assert!((0..4).all(|kind| kinds.iter().filter(|seen| **seen == f64::from(kind)).count() >= 2));
        assert_eq!(sample.series[FEATURES].len() % kinds.len(), 0);
    }

    #[test]
    fn packets_become_frames_of_the_scene_wherever_they_lie_in_their_interval() {
        for late in [0.001, 0.019, 0.035] {
            // Ten frames, each in two packets 2 ms apart; the fourth is twice as large.
            let packets: Vec<Packet> = (0..10)
                .flat_map(|frame| {
                    let bytes = if frame == 3 { 1000.0 } else { 500.0 };
                    [0.0, 0.002].map(|more| Packet {
                        at: 50.0 + late + more + 0.04 * f64::from(frame),
                        bytes,
                    })
                })
                .collect();
            let stream = Stream::of(&packets, 50.0 + late, 25, 10, &[50.0 + late + 0.0001]);
            assert_eq!(stream.frames[3], 2000.0, "{late}: {:?}", stream.frames);
            assert_eq!(stream.frames.iter().sum::<f64>(), 11_000.0, "{late}");
            assert_eq!(stream.keyframes.iter().position(|is| *is), Some(0), "{late}");
        }
    }
}
