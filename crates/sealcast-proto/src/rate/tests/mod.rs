//! The controller on a virtual clock, over a path with one bottleneck. The figures are in `docs/networks.md`; to print
//! them, run `cargo test --release -p sealcast-proto --lib rate::tests -- --nocapture --test-threads=1`.

mod fuzz;
mod path;
mod steady;

use std::time::Duration;

use path::{Figures, Path, Rng};

use super::{RateConfig, RateController, Report};

const MS: Duration = Duration::from_millis(1);
const S: Duration = Duration::from_secs(1);

fn mbit(rate: f64) -> u64 {
    (rate * 1e6) as u64
}

/// A path with a round trip of 40 ms and a buffer of half a second.
fn path(rate: f64) -> Path {
    Path::new(RateConfig::default(), mbit(rate))
}

/// Runs on, prints a row for the documentation, and returns the figures for the assertions.
fn row(what: &str, path: &mut Path, time: Duration) -> Figures {
    let seen = path.run(time);
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "| {what} | {:.2} | {:.0} % | {:.0} | {:.0} | {:.0} | {:.0} | {:.1} % |",
        seen.rate / 1e6,
        seen.utilisation * 100.0,
        ms(seen.queue_mean),
        ms(seen.queue_p95),
        ms(seen.queue_max),
        ms(seen.held_max),
        seen.lost * 100.0,
    );
    seen
}

#[test]
fn a_bottleneck_is_used_without_a_standing_queue() {
    for rate in [0.5, 1.0, 2.0, 5.0, 20.0] {
        let mut path = path(rate);
        path.run(15 * S);
        let seen = row(&format!("{rate} Mbit/s, settled"), &mut path, 45 * S);
        assert!(seen.utilisation > 0.8, "{rate}: {seen:?}");
        assert!(
            seen.queue_mean < 30 * MS && seen.queue_p95 < 90 * MS,
            "{rate}: {seen:?}"
        );
        assert!(seen.queue_max < 130 * MS && seen.lost == 0.0, "{rate}: {seen:?}");
    }
}

#[test]
fn the_start_overshoots_by_less_than_a_quarter_of_a_second() {
    for rate in [1.0, 2.0, 5.0] {
        let mut path = path(rate);
        let seen = row(&format!("{rate} Mbit/s, first 10 s"), &mut path, 10 * S);
        assert!(seen.queue_max < 250 * MS && seen.utilisation > 0.7, "{rate}: {seen:?}");
    }
}

#[test]
fn a_fall_to_a_fifth_and_back_is_followed_within_seconds() {
    let mut path = path(5.0);
    path.run(15 * S);
    path.capacity = mbit(1.0);
    row("5 to 1 Mbit/s: second 1", &mut path, S);
    let after = row("5 to 1 Mbit/s: seconds 2 to 5", &mut path, 4 * S);
    assert!(after.queue_p95 < 90 * MS && after.utilisation > 0.5, "{after:?}");
    let settled = row("5 to 1 Mbit/s: seconds 6 to 20", &mut path, 15 * S);
    assert!(settled.queue_p95 < 90 * MS && settled.utilisation > 0.7, "{settled:?}");
    path.capacity = mbit(5.0);
    row("1 to 5 Mbit/s: seconds 1 to 7", &mut path, 7 * S);
    let recovered = row("1 to 5 Mbit/s: seconds 8 to 20", &mut path, 13 * S);
    assert!(
        recovered.utilisation > 0.7 && recovered.queue_max < 150 * MS,
        "{recovered:?}"
    );
}

#[test]
fn loss_without_a_queue_does_not_hold_the_rate_down() {
    for (loss, burst) in [(0.05, 1), (0.05, 8), (0.1, 1), (0.15, 1)] {
        let mut path = path(50.0);
        (path.loss, path.burst) = (loss, burst);
        for second in 0..30 {
            path.run(S);
            let target = path.controller.target();
            assert!(
                loss > 0.05 || target > mbit(1.4),
                "{loss} in runs of {burst}, second {second}: {target}"
            );
        }
        let what = format!("50 Mbit/s, {:.0} % lost in runs of {burst}", loss * 100.0);
        let seen = row(&what, &mut path, 20 * S);
        assert!(seen.utilisation > 0.6, "{what}: {seen:?}");
        let (told, mean) = (path.controller.loss(), path.controller.mean_burst());
        // Keyframes are long bursts, so that the share over 128 packets varies widely where packets are lost in bursts.
        assert!(told < loss + 0.15, "{what}: {told}");
        assert!((mean - burst as f64).abs() < 0.35 * burst as f64, "{what}: {mean}");
    }
}

#[test]
fn loss_with_a_queue_is_taken_for_congestion() {
    let mut path = path(5.0);
    path.loss = 0.05;
    path.run(15 * S);
    let seen = row("5 Mbit/s, 5 % lost", &mut path, 45 * S);
    assert!(seen.utilisation > 0.7 && seen.queue_p95 < 90 * MS, "{seen:?}");
    for (buffer, most) in [(10, 0.15), (20, 0.1), (50, 0.1)] {
        let mut path = self::path(5.0);
        path.buffer = 5_000_000 / 8 * buffer / 1000;
        path.run(15 * S);
        let what = format!("5 Mbit/s, {buffer} ms of buffer");
        let seen = row(&what, &mut path, 45 * S);
        assert!(seen.utilisation > 0.7 && seen.lost < most, "{what}: {seen:?}");
    }
}

#[test]
fn jitter_is_not_taken_for_a_queue() {
    let mut path = path(50.0);
    path.jitter = 20 * MS;
    path.run(15 * S);
    let seen = row("50 Mbit/s, 20 ms of jitter", &mut path, 15 * S);
    assert!(seen.utilisation > 0.6, "{seen:?}");
}

#[test]
fn short_and_long_round_trips_work() {
    for (delay, settle) in [(1, 15), (100, 15), (300, 30)] {
        let mut path = path(5.0);
        path.delay = delay * MS;
        path.run(settle * S);
        let what = format!("5 Mbit/s, round trip of {} ms", 2 * delay);
        let seen = row(&what, &mut path, 45 * S);
        assert!(seen.utilisation > 0.7 && seen.queue_p95 < 90 * MS, "{what}: {seen:?}");
    }
}

#[test]
fn silence_lowers_the_rate_without_spinning_and_is_recovered_from() {
    for (everything, what) in [(false, "reports gone for 5 s"), (true, "all gone for 5 s")] {
        let mut path = path(5.0);
        path.run(20 * S);
        let ticks = path.ticks;
        (path.mute, path.cut) = (!everything, everything);
        path.run(5 * S);
        assert_eq!(path.controller.target(), RateConfig::default().min);
        assert!((2..20).contains(&(path.ticks - ticks)), "{}", path.ticks - ticks);
        (path.mute, path.cut) = (false, false);
        let back = row(&format!("{what}: seconds 1 to 3 after"), &mut path, 3 * S);
        assert!(back.utilisation > 0.4, "{back:?}");
        let recovered = row(&format!("{what}: seconds 4 to 10 after"), &mut path, 7 * S);
        assert!(
            recovered.utilisation > 0.7 && recovered.queue_p95 < 90 * MS,
            "{recovered:?}"
        );
    }
}

#[test]
fn drift_of_the_receivers_clock_does_no_harm() {
    for drift in [100, -100] {
        let mut path = path(5.0);
        path.drift = drift;
        path.run(15 * S);
        let what = format!("5 Mbit/s, clock drifts by {drift} ppm, 10 minutes");
        let seen = row(&what, &mut path, 600 * S);
        assert!(seen.utilisation > 0.7 && seen.queue_p95 < 90 * MS, "{what}: {seen:?}");
    }
}

#[test]
fn an_encoder_that_follows_late_fills_the_path_too() {
    for rate in [2.0, 5.0] {
        let mut path = path(rate);
        path.late = true;
        path.run(15 * S);
        let what = format!("{rate} Mbit/s, late encoder");
        let seen = row(&what, &mut path, 45 * S);
        assert!(seen.utilisation > 0.7 && seen.queue_p95 < 90 * MS, "{what}: {seen:?}");
        assert!(seen.held_max < 500 * MS, "{what}: {seen:?}");
    }
    let mut path = path(5.0);
    path.late = true;
    path.run(15 * S);
    path.capacity = mbit(1.0);
    row("5 to 1 Mbit/s, late encoder: seconds 1 to 2", &mut path, 2 * S);
    let after = row("5 to 1 Mbit/s, late encoder: seconds 3 to 15", &mut path, 13 * S);
    assert!(after.utilisation > 0.6 && after.queue_p95 < 110 * MS, "{after:?}");
    path.capacity = mbit(5.0);
    row("1 to 5 Mbit/s, late encoder: seconds 1 to 12", &mut path, 12 * S);
    let recovered = row("1 to 5 Mbit/s, late encoder: seconds 13 to 20", &mut path, 8 * S);
    assert!(
        recovered.utilisation > 0.7 && recovered.held_max < 500 * MS,
        "{recovered:?}"
    );
}

#[test]
fn what_headers_and_repair_add_is_made_room_for() {
    let mut path = path(5.0);
    path.overhead = 1.3;
    path.run(15 * S);
    let seen = row("5 Mbit/s, 30 % of overhead", &mut path, 45 * S);
    assert!(seen.utilisation > 0.8 && seen.queue_p95 < 90 * MS, "{seen:?}");
    assert!(path.controller.target() < mbit(4.5), "{}", path.controller.target());
}

#[test]
fn the_target_stays_near_what_the_encoder_really_makes() {
    let mut path = path(50.0);
    path.encoder_max = mbit(3.0);
    path.run(60 * S);
    let target = path.controller.target();
    assert!((mbit(3.0)..mbit(12.0)).contains(&target), "{target}");
    path.encoder_max = mbit(0.1);
    path.run(60 * S);
    assert_eq!(
        path.controller.target(),
        target,
        "a still picture is no reason to start again from nothing"
    );
}

#[test]
fn without_any_report_a_packet_may_leave_now_and_then() {
    let mut controller = RateController::new(RateConfig::default());
    let (mut sent, mut number) = (0_u64, 0);
    for millis in 0..20_000 {
        let now = MS * millis;
        controller.tick(now);
        assert!(controller.deadline().is_none_or(|deadline| deadline > now));
        if controller.may_send(1200) {
            controller.sent(now, number, 1200);
            (sent, number) = (sent + 1200, number + 1);
        }
    }
    let first = 2_000_000 / 8 / 10;
    assert!((first + 30_000..first + 120_000).contains(&sent), "{sent}");
}

#[test]
fn a_lost_packet_before_a_pause_is_not_silence() {
    let mut controller = RateController::new(RateConfig::default());
    for number in 0..40 {
        let now = 2 * S * u32::try_from(number).expect("few");
        controller.sent(now, number, 1200);
        if number % 2 == 0 {
            let report = Report {
                highest: number,
                arrived_ns: u64::try_from((now + 20 * MS).as_nanos()).expect("short"),
                received: &[0b1010_1010],
            };
            controller.feedback(now + 40 * MS, &report);
        }
        controller.tick(now + S);
        assert!(controller.deadline().is_none() && controller.may_send(1200));
    }
    assert_eq!(controller.target(), RateConfig::default().start);
}
