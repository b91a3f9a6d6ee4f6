//! Known answers: what attackers must find, and what none may.

use sealcast::meter::statistics::{deviation, mean};
use sealcast_proto::unit::Unit;

use super::attackers::{self, Attacker};
use super::camera::Camera;
use super::puzzle::Puzzle;
use super::scores::{DETAIL, ESS, PSNR};
use super::trial::Attacked;
use super::wire::{Protection, carry};
use super::{Filmed, SceneKind, Tools, Trial};
use sealcast::media::Codec;

fn camera(codec: Codec, group: u32) -> Camera {
    Camera {
        codec,
        rate: 25,
        group,
        slices: 1,
        quantizer: 23,
        quality: 80,
    }
}

fn filmed(codec: Codec, group: u32, frames: usize) -> Filmed {
    Filmed::new(&SceneKind::Card, camera(codec, group), (192, 160), frames).expect("ffmpeg with libx264")
}

fn protection(selection: &str, unit: Unit) -> Protection {
    Protection {
        selection: selection.parse().expect("a selection"),
        unit,
    }
}

fn attacker(name: &str) -> &'static dyn Attacker {
    let found = attackers::ALL.into_iter().find(|attacker| attacker.name() == name);
    found.expect("a known name")
}

/// Results of all attackers on one clip.
fn attacked(filmed: &Filmed, selection: &str) -> Vec<Attacked> {
    let trial = Trial {
        filmed,
        protection: protection(selection, Unit::Frame),
        tools: &Tools::new().expect("the model of faces"),
        scored: 4,
        seed: 3,
        folder: None,
    };
    trial.run().expect("a trial").attacked
}

#[test]
fn without_encryption_every_attacker_has_the_original_and_with_all_of_it_none_has_more_than_of_noise() {
    for codec in [Codec::H264, Codec::Mjpeg] {
        let filmed = filmed(codec, 6, 12);
        // A sketch is no picture, whatever is in clear.
        let others = attacked(&filmed, "none").into_iter();
        for one in others.filter(|one| one.attacker.name() != "sketch") {
            let (name, own) = (one.attacker.name(), &one.scores[PSNR]);
            assert!(own.iter().all(|psnr| *psnr >= 100.0), "{codec:?}, {name}: {own:?}");
        }
        for one in attacked(&filmed, "all") {
            for measure in [PSNR, ESS, DETAIL] {
                let name = one.attacker.name();
                assert_eq!(
                    one.scores[measure], one.control[measure],
                    "{codec:?}, {name}, {measure}"
                );
            }
        }
    }
}

/// Attackers that win, each with its least score.
type Winners = &'static [(&'static str, f64)];

#[test]
fn each_attacker_wins_where_it_is_known_to_and_finds_nothing_in_noise() {
    let cases: [(Codec, &str, Winners); 4] = [
        (
            Codec::Mjpeg,
            "rate:50",
            &[
                ("naive", 0.5),
                ("concealment", 0.5),
                ("zeros", 0.5),
                ("last-clear", 0.5),
                ("fusion", 0.5),
            ],
        ),
        // The tables of a JPEG are those of every camera of its model.
        (
            Codec::Mjpeg,
            "headers",
            &[("template", 0.9), ("fusion", 0.5), ("parameters", 0.9)],
        ),
        (Codec::Mjpeg, "level:2", &[("parameters", 0.2)]),
        (Codec::H264, "keyframes", &[("intra-leakage", 0.02)]),
    ];
    for (codec, selection, winners) in cases {
        let all = attacked(&filmed(codec, 8, 24), selection);
        for (name, least) in winners {
            let one = all.iter().find(|one| one.attacker.name() == *name);
            let one = one.expect("it took part");
            let (own, control) = (mean(&one.scores[DETAIL]), mean(&one.control[DETAIL]));
            assert!(
                own >= *least && control < 0.02,
                "{name}, {selection}: {own} and {control} of noise"
            );
        }
    }
}

/// Shares of a clip that temporal fusion covers, and those that the arithmetic of chance gives, over many draws.
fn covered(filmed: &Filmed, protection: Protection, draws: u64) -> (Vec<f64>, Vec<f64>) {
    let sealcast_proto::unit::Selection::Rate(rate) = protection.selection else {
        panic!("a rate");
    };
    let share = f64::from(rate.get()) / 1000.0;
    let draw = |seed| {
        let carried = carry(&filmed.clip, protection, seed).expect("a session");
        let puzzle = Puzzle::new(&carried.overheard, &filmed.clip).expect("frames");
        let view = attacker("fusion").attack(&puzzle).expect("ffmpeg");
        let expected = attackers::expected_coverage(&filmed.clip, &puzzle.frames, share);
        (view.coverage.expect("it tells"), expected.expect("rows"))
    };
    (0..draws).map(draw).unzip()
}

#[test]
fn temporal_fusion_covers_a_still_picture_as_the_arithmetic_says() {
    // Keyframes each four pictures: after three of them 1 - 0.75^3 = 58 % are there.
    let h264 = filmed(Codec::H264, 4, 12);
    let (seen, expected) = covered(&h264, protection("rate:75", Unit::Frame), 60);
    assert!(
        expected.iter().all(|share| (share - 0.578_125).abs() < 1e-9),
        "{expected:?}"
    );
    holds(&seen, 0.578_125);
    let mjpeg = filmed(Codec::Mjpeg, 1, 6);
    let (seen, expected) = covered(&mjpeg, protection("rate:75", Unit::Packet), 30);
    holds(&seen, mean(&expected));
}

/// The mean is within four standard errors of what is expected.
fn holds(seen: &[f64], expected: f64) {
    let error = deviation(seen) / (seen.len() as f64).sqrt();
    let difference = mean(seen) - expected;
    assert!(
        error > 0.0 && difference.abs() <= 4.0 * error,
        "{expected} expected: {seen:?}"
    );
}

#[test]
fn a_sketch_is_darker_where_nothing_is_and_grey_where_nothing_is_known() {
    let filmed = filmed(Codec::H264, 12, 24);
    let clip = &filmed.clip;
    let sketch = |selection: &str| {
        let carried = carry(clip, protection(selection, Unit::Frame), 3).expect("a session");
        let puzzle = Puzzle::new(&carried.overheard, clip).expect("frames");
        let view = attacker("sketch").attack(&puzzle).expect("it draws");
        view.pictures.last().map(|last| last.y.clone()).expect("a picture")
    };
    let shades = |luma: &[u8]| {
        let mut shades = luma.to_vec();
        shades.sort_unstable();
        shades.dedup();
        shades.len()
    };
    assert!(shades(&sketch("none")) > 4);
    assert!(shades(&sketch("headers")) > 4, "slice data without headers was found");
    assert_eq!(shades(&sketch("all")), 1);
}

#[test]
fn slice_data_without_its_header_is_decoded_where_it_belongs() {
    let filmed = filmed(Codec::H264, 12, 24);
    let all = attacked(&filmed, "headers");
    let one = all.iter().find(|one| one.attacker.name() == "parameters");
    let one = one.expect("it took part");
    let (own, control) = (&one.scores[ESS], &one.control[ESS]);
    assert!(mean(own) > mean(control), "{own:?} and {control:?} of noise");
}
