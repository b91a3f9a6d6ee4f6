//! The controller under calls with nonsensical arguments.

use super::{Duration, RateConfig, RateController, Report, Rng};

/// A number at the limits of its type, random, or near `near`.
fn odd(rng: &mut Rng, near: u64) -> u64 {
    match rng.next() % 8 {
        0 => 0,
        1 => u64::MAX,
        2 => rng.next(),
        3 => u64::MAX - rng.next() % 4,
        4 => near.saturating_sub(rng.next() % 2000),
        _ => near.saturating_add(rng.next() % 70),
    }
}

fn check(controller: &RateController, config: RateConfig) {
    let target = controller.target();
    assert!(target >= config.min && target <= config.max, "{target}");
    assert!(controller.pacing() >= 50_000);
    assert!((0.0..=1.0).contains(&controller.loss()));
    assert!(controller.mean_burst() >= 1.0);
    assert!(controller.queue_delay() < Duration::MAX);
    controller.round_trip();
    controller.may_send(usize::MAX);
}

#[test]
fn nothing_that_can_be_told_panics_or_leaves_the_bounds() {
    let config = RateConfig {
        min: 200_000,
        start: 1_000_000,
        max: 30_000_000,
        unsteered: false,
    };
    for seed in 1..=64 {
        let mut rng = Rng(seed);
        let mut controller = RateController::new(config);
        let (mut now, mut number) = (Duration::ZERO, 0_u64);
        for _ in 0..4000 {
            let step = rng.next() % 30_000_000;
            now = match rng.next() % 500 {
                0 => Duration::ZERO,
                1 => now.saturating_add(Duration::from_secs(rng.next() % 100_000)),
                2 if seed % 16 == 0 => Duration::MAX,
                _ => now.saturating_add(Duration::from_nanos(step)),
            };
            match rng.next() % 7 {
                6 => controller.queued(odd(&mut rng, 100_000) as usize),
                0 => controller.resent(now, odd(&mut rng, 1200) as usize),
                1 => controller.tick(now),
                2 | 3 => {
                    let jumps = seed % 8 == 0 && rng.next().is_multiple_of(100);
                    number = if jumps {
                        odd(&mut rng, number)
                    } else {
                        number.saturating_add(1)
                    };
                    let size = if rng.next().is_multiple_of(50) {
                        odd(&mut rng, 0) as usize
                    } else {
                        1200
                    };
                    controller.sent(now, number, size);
                }
                _ => {
                    let bits: Vec<u8> = (0..rng.next() % 140).map(|_| rng.next() as u8).collect();
                    let sane = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
                    let highest = if rng.next().is_multiple_of(2) {
                        number
                    } else {
                        odd(&mut rng, number)
                    };
                    let report = Report {
                        highest,
                        arrived_ns: if rng.next().is_multiple_of(10) {
                            odd(&mut rng, sane)
                        } else {
                            sane
                        },
                        received: &bits,
                    };
                    controller.feedback(now, &report);
                }
            }
            check(&controller, config);
        }
    }
}

#[test]
fn bounds_that_make_no_sense_are_put_in_order() {
    for (min, start, max) in [
        (0, 0, 0),
        (u64::MAX, 0, 0),
        (5_000_000, 1_000_000, 2_000_000),
        (1, u64::MAX, u64::MAX),
    ] {
        let controller = RateController::new(RateConfig {
            min,
            start,
            max,
            unsteered: true,
        });
        assert!((10_000..=10_000_000_000).contains(&controller.target()));
    }
    let odd = RateConfig {
        min: 5_000_000,
        start: 1_000_000,
        max: 2_000_000,
        unsteered: false,
    };
    assert_eq!(RateController::new(odd).target(), 5_000_000);
}
