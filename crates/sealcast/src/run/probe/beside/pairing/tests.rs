//! Pairing of made pictures: what a camera shows, seen by two ways.

use sealcast_proto::sim::Random;

use super::matcher::MAX_WAITING;
use super::*;
use crate::media::Picture;
use crate::run::probe::beside::picture_hash::PictureHash;
use crate::source::test_card::CardClock;

const MS: u64 = 1_000;

/// A textured wall before which two things move.
pub(in crate::run::probe::beside) fn scene(number: u64) -> Picture {
    let mut picture = Picture::black(320, 180);
    for (at, luma) in picture.y.iter_mut().enumerate() {
        let (x, y) = (at % 320, at / 320);
        *luma = 60 + ((x * 7 + y * 13) % 50) as u8 + (x / 8) as u8;
    }
    let time = number as f64;
    for (size, level, across, down) in [(40, 220, 0.031, 0.043), (28, 20, 0.047, 0.029)] {
        let left = (140.0 + 130.0 * (time * across).sin()) as usize;
        let top = (70.0 + 65.0 * (time * down).cos()) as usize;
        for row in picture.y.chunks_exact_mut(320).skip(top).take(size) {
            row[left..left + size].fill(level);
        }
    }
    picture
}

/// Pictures of the camera as a way shows them. Times are in µs.
pub(in crate::run::probe::beside) struct Shown {
    /// From picture to picture, and how much later each is decoded than it was taken.
    pub(in crate::run::probe::beside) step: u64,
    pub(in crate::run::probe::beside) delay: u64,
    /// One in so many is lost; 0: none.
    pub(in crate::run::probe::beside) lost: u64,
    /// One in so many is decoded after the next one; 0: none.
    pub(in crate::run::probe::beside) swapped: u64,
    /// True if every picture shows its time.
    pub(in crate::run::probe::beside) strip: bool,
}

impl Default for Shown {
    fn default() -> Self {
        Self {
            step: 40 * MS,
            delay: 100 * MS,
            lost: 0,
            swapped: 0,
            strip: true,
        }
    }
}

const SECONDS: u64 = 20;
/// By the camera's wall clock.
const BEGAN: u64 = 1_800_000_000_000_000;

/// The pictures of a way, by their order; `look` says of each when it was taken what it looks like.
pub(in crate::run::probe::beside) fn shown(side: Side, way: &Shown, look: &dyn Fn(u64, Sight) -> Sight) -> Vec<Sight> {
    let sights = (0..SECONDS * 1_000 * MS / way.step).filter(|number| way.lost == 0 || number % way.lost != 1);
    sights
        .map(|number| {
            let swapped = way.swapped > 0 && number % way.swapped == 0;
            let taken = number * way.step;
            let decoded = Duration::from_micros(taken + way.delay + if swapped { way.step * 3 / 2 } else { 0 });
            let strip = way.strip.then_some(CardClock {
                event: (taken / (1_000 * MS)) as u32,
                wall_us: BEGAN + taken,
            });
            let sight = Sight {
                side,
                taken: Taken {
                    number,
                    arrived: decoded,
                    decoded,
                },
                strip,
                colour: None,
                hash: None,
            };
            look(taken, sight)
        })
        .collect()
}

/// The pairs of two ways, and what was counted.
fn paired(by: By, a: &Shown, b: &Shown, look: &dyn Fn(u64, Sight) -> Sight) -> (Vec<Pair>, Counts) {
    let mut all = shown(Side::A, a, look);
    all.extend(shown(Side::B, b, look));
    all.sort_by_key(|sight| sight.taken.decoded);
    let mut pairing = Pairing::new(&[by]);
    let mut pairs = Vec::new();
    for sight in &all {
        pairing.take(sight);
        pairs.extend(std::iter::from_fn(|| pairing.poll()));
    }
    pairing.finish();
    pairs.extend(std::iter::from_fn(|| pairing.poll()));
    let counts = pairing.counts().next().expect("one way").1;
    assert_eq!(counts.paired, pairs.len() as u64);
    (pairs, counts)
}

pub(in crate::run::probe::beside) fn as_is(_: u64, sight: Sight) -> Sight {
    sight
}

fn all_differ_by(pairs: &[Pair], ms: f64) -> bool {
    pairs.iter().all(|pair| (pair.difference_ms() - ms).abs() < 1e-3)
}

#[test]
fn injected_delays_are_recovered_by_the_clock_whatever_is_lost_or_comes_out_of_order() {
    for (lost, delay) in [
        (0, 0),
        (0, 430),
        (7, 5 * MS),
        (2, 20 * MS),
        (3, 500 * MS),
        (0, 7_000 * MS),
    ] {
        let (a, b) = (
            Shown::default(),
            Shown {
                delay: 100 * MS + delay,
                lost,
                ..Shown::default()
            },
        );
        let (pairs, counts) = paired(By::Clock, &a, &b, &as_is);
        let ms = delay as f64 / 1e3;
        assert!(
            all_differ_by(&pairs, ms) && pairs.iter().all(|pair| pair.same),
            "{delay}"
        );
        assert!(counts.share() > 0.99 && pairs.len() > 150, "{delay} {lost}: {counts:?}");
        let (backwards, _) = paired(By::Clock, &b, &a, &as_is);
        assert!(all_differ_by(&backwards, -ms), "{delay}");
    }
    let (a, b) = (
        Shown::default(),
        Shown {
            swapped: 5,
            ..Shown::default()
        },
    );
    let (pairs, counts) = paired(By::Clock, &a, &b, &as_is);
    assert!(counts.share() > 0.98, "{counts:?}");
    assert!(
        pairs.iter().all(|pair| pair.a.number == pair.b.number),
        "the same pictures, in any order"
    );
}

#[test]
fn at_other_rates_the_nearest_picture_counts_and_is_not_taken_for_the_same_one() {
    let (a, b) = (
        Shown::default(),
        Shown {
            step: 70 * MS,
            delay: 150 * MS,
            ..Shown::default()
        },
    );
    let (pairs, counts) = paired(By::Clock, &a, &b, &as_is);
    assert!(counts.share() > 0.9, "{counts:?}");
    assert!(all_differ_by(&pairs, 50.0), "less the difference of their times");
    assert!(
        pairs
            .iter()
            .all(|pair| pair.same == (pair.apart_us == 0) && pair.apart_us.abs() <= 35_000)
    );
    assert!(pairs.iter().filter(|pair| !pair.same).count() > pairs.len() / 2);
    // One that leaves out every other picture has the same pictures.
    let b = Shown {
        step: 80 * MS,
        ..Shown::default()
    };
    let (pairs, counts) = paired(By::Clock, &a, &b, &as_is);
    assert!(
        pairs.iter().all(|pair| pair.same) && counts.share() > 0.99,
        "{counts:?}"
    );
}

#[test]
fn a_clock_that_only_one_way_shows_or_that_stands_still_pairs_nothing() {
    let (a, b) = (
        Shown::default(),
        Shown {
            strip: false,
            ..Shown::default()
        },
    );
    assert!(paired(By::Clock, &a, &b, &as_is).1.share() < f64::EPSILON);
    let still = |_, sight: Sight| Sight {
        strip: Some(CardClock {
            event: 1,
            wall_us: BEGAN,
        }),
        ..sight
    };
    let (pairs, _) = paired(By::Clock, &a, &a, &still);
    assert!(pairs.len() <= 1, "the first of each at most");
    // Another clock: an hour apart.
    let other = |_, sight: Sight| {
        let apart = if sight.side == Side::B { 3_600_000_000 } else { 0 };
        let strip = sight.strip.map(|strip| CardClock {
            wall_us: strip.wall_us + apart,
            ..strip
        });
        Sight { strip, ..sight }
    };
    assert_eq!(paired(By::Clock, &a, &a, &other).0, []);
}

#[test]
fn events_are_paired_by_their_numbers_and_by_their_colours_where_they_begin() {
    for (by, delay) in [
        (By::Event, 0),
        (By::Event, 20),
        (By::Event, 4_000),
        (By::Colour, 0),
        (By::Colour, 900),
    ] {
        let coloured = |taken: u64, sight: Sight| Sight {
            colour: taken
                .is_multiple_of(1_000 * MS)
                .then_some((taken / (1_000 * MS)) as usize % 6),
            ..sight
        };
        let b = Shown {
            delay: 100 * MS + delay * MS,
            ..Shown::default()
        };
        let (pairs, counts) = paired(by, &Shown::default(), &b, &coloured);
        assert!(all_differ_by(&pairs, delay as f64), "{by:?} {delay}: {pairs:?}");
        assert!(counts.share() > 0.9 && pairs.len() > 13, "{by:?} {delay}: {counts:?}");
    }
    let one_sided = |taken: u64, sight: Sight| Sight {
        colour: (sight.side == Side::A && taken.is_multiple_of(1_000 * MS)).then_some(0),
        ..sight
    };
    let (a, b) = (Shown::default(), Shown::default());
    assert_eq!(paired(By::Colour, &a, &b, &one_sided).0, []);
}

/// The look of a moving scene, with noise of this many steps of luma on the way of B.
pub(in crate::run::probe::beside) fn moving(noise: u64) -> impl Fn(u64, Sight) -> Sight {
    move |taken, sight| {
        let mut picture = scene(taken / (40 * MS));
        let seed = taken ^ (sight.side as u64 + 1) << 40;
        let mut random = Random::new(seed);
        if noise > 0 && sight.side == Side::B {
            for luma in &mut picture.y {
                *luma = luma.saturating_add_signed(random.uniform(0..2 * noise + 1) as i8 - noise as i8);
            }
        }
        Sight {
            hash: PictureHash::of(&picture),
            ..sight
        }
    }
}

#[test]
fn what_moves_is_paired_by_its_content_also_with_noise_losses_and_half_the_rate() {
    for (noise, lost, step, delay) in [
        (0, 0, 40, 0),
        (0, 3, 40, 430),
        (12, 0, 40, 20),
        (12, 0, 80, 1_500),
        (4, 5, 40, 5),
    ] {
        let b = Shown {
            step: step * MS,
            delay: (100 + delay) * MS,
            lost,
            ..Shown::default()
        };
        let (pairs, counts) = paired(By::Content, &Shown::default(), &b, &moving(noise));
        let case = format!("noise {noise}, lost {lost}, step {step}, delay {delay}: {counts:?}");
        assert!(all_differ_by(&pairs, delay as f64), "{case}");
        assert!(counts.share() > 0.9, "{case}");
    }
}

#[test]
fn still_pictures_and_scenes_that_come_again_are_not_paired() {
    let still = |noise: u64| {
        move |taken: u64, sight: Sight| {
            let frozen = moving(noise)(0, sight);
            let mut picture = scene(0);
            let mut random = Random::new(taken + frozen.side as u64);
            if noise > 0 {
                for luma in &mut picture.y {
                    *luma = luma.saturating_add_signed(random.uniform(0..2 * noise + 1) as i8 - noise as i8);
                }
            }
            Sight {
                hash: PictureHash::of(&picture),
                ..frozen
            }
        }
    };
    let a = Shown::default();
    assert!(paired(By::Content, &a, &a, &still(0)).0.len() <= 1);
    assert!(paired(By::Content, &a, &a, &still(6)).1.share() < 0.2);
    let looped = |taken: u64, sight: Sight| moving(0)(taken % (1_000 * MS), sight);
    assert!(
        paired(By::Content, &a, &a, &looped).1.share() < 0.2,
        "a clip of a second, again and again"
    );
    let others = |taken: u64, sight: Sight| {
        let apart = if sight.side == Side::B { 4_000_000 * MS } else { 0 };
        moving(0)(taken + apart, sight)
    };
    assert!(paired(By::Content, &a, &a, &others).1.share() < 0.2, "two cameras");
}

#[test]
fn what_waits_is_bounded_whatever_comes() {
    let (hash, mut random) = (PictureHash::of(&scene(0)), Random::new(7));
    let mut pairing = Pairing::new(&By::ALL);
    for number in 0..6_000_u64 {
        // All at one time, from one side only, each with another clock.
        let taken = Taken {
            number,
            arrived: Duration::ZERO,
            decoded: Duration::ZERO,
        };
        pairing.take(&Sight {
            side: Side::A,
            taken,
            strip: Some(CardClock {
                event: number as u32,
                wall_us: random.uniform(0..u64::MAX),
            }),
            colour: Some(number as usize % 6),
            hash: if number % 2 == 0 {
                hash.clone()
            } else {
                PictureHash::of(&scene(1))
            },
        });
    }
    for (by, counts) in pairing.counts() {
        let waiting = 6_000 - counts.unpaired[0];
        assert!(
            waiting <= MAX_WAITING as u64 + 1 && counts.paired == 0,
            "{by:?}: {waiting} wait"
        );
    }
}
