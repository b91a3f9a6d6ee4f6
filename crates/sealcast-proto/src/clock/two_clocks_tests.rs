//! Two clocks and a path between them, simulated: how often the truth is within what the filter says.

use std::f64::consts::TAU;
use std::time::Duration;

use super::{ClockFilter, ClockReading, Exchange};
use crate::sim::{Link, LinkProfile, Random};

const MS: f64 = 1e6;
const HOUR: f64 = 3600e9;
/// Time between two exchanges, and length of a run.
const INTERVAL: Duration = Duration::from_millis(500);
const LENGTH: Duration = Duration::from_secs(600);
/// Readings of the estimate after each exchange.
const READINGS: u64 = 5;
const SEEDS: u64 = 4;

/// Behaviour of the peer's clock beside being hours off and drifting.
#[derive(Clone, Copy, Debug)]
enum Habit {
    /// Nothing.
    Steady,
    /// Its rate swings by 1 ppm with a period of five minutes, as the temperature of a room with a heater does.
    Swinging,
    /// Its rate walks at random by 0.05 ppm per square root of a second.
    Wandering,
    /// It steps by 10 ms forth or back every one to three minutes.
    Stepping,
    /// The kernel slews it by 500 ppm for 20 s.
    Slewed,
}

/// Offset of the peer's clock over time, ns: one value each 100 ms, linear between them.
struct Clock {
    offsets: Vec<f64>,
}

impl Clock {
    const GRID: f64 = 1e8;

    fn new(habit: Habit, drift_ppm: f64, random: &mut Random) -> Self {
        let points = (LENGTH + 2 * INTERVAL).as_nanos() / Self::GRID as u128;
        let mut offset = 10.0 * HOUR * (random.unit() - 0.5);
        let (mut rate, phase) = (drift_ppm, TAU * random.unit());
        let mut step_at = between(60.0, 180.0, random);
        let offsets = (0..points).map(|point| {
            let seconds = point as f64 * Self::GRID / 1e9;
            let extra = match habit {
                Habit::Swinging => (TAU * seconds / 300.0 + phase).sin(),
                Habit::Slewed if (100.0..120.0).contains(&seconds) => 500.0,
                _ => 0.0,
            };
            if matches!(habit, Habit::Wandering) {
                // Of the same variance as a normal step.
                rate += 0.05 * (Self::GRID / 1e9).sqrt() * 12f64.sqrt() * (random.unit() - 0.5);
            }
            offset += (rate + extra) * Self::GRID / 1e6;
            if matches!(habit, Habit::Stepping) && seconds >= step_at {
                offset += if random.chance(0.5) { 10.0 * MS } else { -10.0 * MS };
                step_at += between(60.0, 180.0, random);
            }
            offset
        });
        Self {
            offsets: offsets.collect(),
        }
    }

    fn offset(&self, at: Duration) -> f64 {
        let place = at.as_nanos() as f64 / Self::GRID;
        let (before, after) = (self.offsets[place as usize], self.offsets[place as usize + 1]);
        if (after - before).abs() > 5.0 * MS {
            return before;
        }
        before + (after - before) * place.fract()
    }

    /// Time that it shows at a time of ours.
    fn wall(&self, at: Duration) -> u64 {
        (i128::from(ours(at)) + self.offset(at).round() as i128) as u64
    }
}

/// Our wall clock.
fn ours(at: Duration) -> u64 {
    1_795_000_000_000_000_000 + at.as_nanos() as u64
}

fn between(least: f64, most: f64, random: &mut Random) -> f64 {
    least + (most - least) * random.unit()
}

/// Time at which a packet sent at `now` arrives, if it does.
fn crossing(link: &mut Link, now: Duration) -> Option<Duration> {
    link.send(now, vec![0]);
    let at = link.next_delivery()?;
    link.deliver(at).map(|_| at)
}

/// A reading of the estimate and what the offset really was.
struct Reading {
    error: f64,
    read: ClockReading,
}

/// All readings of one run over a path with these profiles, there and back.
fn run(paths: [&LinkProfile; 2], habit: Habit, drift_ppm: f64, seed: u64) -> (Vec<Reading>, ClockFilter) {
    let mut random = Random::new(seed);
    let clock = Clock::new(habit, drift_ppm, &mut random);
    let [mut there, mut back] = [Link::new(paths[0].clone(), seed), Link::new(paths[1].clone(), !seed)];
    let (mut filter, mut readings) = (ClockFilter::default(), Vec::new());
    let mut sent = Duration::ZERO;
    while sent < LENGTH {
        let arrived = crossing(&mut there, sent);
        if let Some((arrived, received)) = arrived.and_then(|at| Some((at, crossing(&mut back, at)?))) {
            filter.sample(Exchange {
                sent: ours(sent),
                peer_received: clock.wall(arrived),
                peer_sent: clock.wall(arrived),
                received: ours(received),
            });
            let estimate = filter.estimate().expect("a sample");
            for number in 0..READINGS {
                let at = received + INTERVAL * number as u32 / READINGS as u32;
                let read = estimate.at(ours(at));
                let truth = clock.wall(at) as i128 - i128::from(ours(at));
                let error = (i128::from(read.offset) - truth) as f64;
                readings.push(Reading { error, read });
            }
        }
        sent += INTERVAL;
    }
    (readings, filter)
}

/// Value below which this share of `values` lies.
fn quantile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[(share * (sorted.len() - 1) as f64) as usize]
}

fn share(readings: &[Reading], within: impl Fn(&ClockReading) -> u64) -> f64 {
    let inside = |reading: &&Reading| reading.error.abs() <= within(&reading.read) as f64;
    readings.iter().filter(inside).count() as f64 / readings.len() as f64
}

fn path(words: &str) -> LinkProfile {
    words.parse().expect("a profile")
}

const CLOCKS: [(Habit, f64); 7] = [
    (Habit::Steady, 0.0),
    (Habit::Steady, 50.0),
    (Habit::Steady, 200.0),
    (Habit::Steady, -200.0),
    (Habit::Swinging, 50.0),
    (Habit::Wandering, -20.0),
    (Habit::Stepping, 50.0),
];
const SLEWED: (Habit, f64) = (Habit::Slewed, 10.0);

fn readings(paths: [&LinkProfile; 2], habit: Habit, drift_ppm: f64) -> Vec<Reading> {
    (0..SEEDS)
        .flat_map(|seed| run(paths, habit, drift_ppm, seed).0)
        .collect()
}

#[test]
fn on_a_symmetric_path_the_truth_is_within_the_spread_which_is_no_wider_than_needed() {
    for words in [
        "delay=20us jitter=10us",
        "delay=150us jitter=60us",
        "delay=2ms jitter=1500us loss=1%",
        "delay=20ms jitter=4ms loss=2%",
        "delay=10ms jitter=2ms burst=30%/4",
    ] {
        let path = path(words);
        for (habit, drift) in CLOCKS {
            let readings = readings([&path, &path], habit, drift);
            let seen = share(&readings, |read| read.spread);
            let spread = quantile(readings.iter().map(|reading| reading.read.spread as f64), 0.5);
            let error = quantile(readings.iter().map(|reading| reading.error.abs()), 0.95);
            let what = format!("{words}, {habit:?} {drift} ppm: {seen:.4}, spread {spread:.0}, error {error:.0} ns");
            assert!(seen >= 0.95, "{what}");
            assert!(spread <= 3.0 * error, "{what}");
        }
    }
}

#[test]
fn a_slew_by_the_kernel_is_noticed_where_a_few_seconds_of_it_exceed_the_jitter() {
    for words in [
        "delay=20us jitter=10us",
        "delay=150us jitter=60us",
        "delay=2ms jitter=1500us loss=1%",
    ] {
        let path = path(words);
        let readings = readings([&path, &path], SLEWED.0, SLEWED.1);
        let seen = share(&readings, |read| read.spread);
        assert!(seen >= 0.95, "{words}: {seen:.4}");
    }
}

#[test]
fn on_any_path_the_truth_is_within_the_uncertainty() {
    for [there, back] in [
        ["delay=150us jitter=60us", "delay=150us jitter=60us"],
        ["delay=5ms", "delay=25ms jitter=5ms loss=5%"],
        ["delay=25ms jitter=10ms burst=20%/3", "delay=1ms"],
        // A queue in one direction.
        ["delay=20us jitter=5us", "delay=5ms jitter=4990us"],
        ["delay=5ms jitter=5ms reorder=5%", "delay=8ms rate=100kbit"],
    ] {
        let paths = [path(there), path(back)];
        for (habit, drift) in CLOCKS.into_iter().chain([SLEWED]) {
            let readings = readings([&paths[0], &paths[1]], habit, drift);
            let seen = share(&readings, |read| read.uncertainty);
            let what = format!("{there} and {back}, {habit:?} {drift} ppm: {seen:.4}");
            assert!(seen >= 0.95, "{what}");
        }
    }
}

#[test]
fn two_paths_that_exchanges_cannot_tell_apart_have_the_same_uncertainty() {
    // The clock is 5 ms off and the path symmetric, or the clock right and the path slow in one direction.
    let exchange = |there: u64, back: u64, offset: u64| Exchange {
        sent: 0,
        peer_received: there + offset,
        peer_sent: there + offset,
        received: there + back,
    };
    let [off, slow] = [
        exchange(10_000_000, 10_000_000, 5_000_000),
        exchange(15_000_000, 5_000_000, 0),
    ];
    assert_eq!(off, slow);
    let mut filter = ClockFilter::default();
    filter.sample(off);
    let read = filter.estimate().expect("a sample").at(0);
    assert!(read.offset.abs_diff(5_000_000) <= read.uncertainty && read.offset.unsigned_abs() <= read.uncertainty);
}

#[test]
fn the_rate_is_found_within_what_is_said_of_it() {
    let path = path("delay=2ms jitter=500us loss=5%");
    for drift in [-200.0, -50.0, 0.0, 10.0, 200.0] {
        let (_, filter) = run([&path, &path], Habit::Steady, drift, 3);
        let (rate, spread) = filter.estimate().expect("samples").rate_ppm();
        // A rate of the peer's clock against ours; drift is the same to a millionth of itself.
        assert!((rate - drift).abs() <= spread, "{rate} ± {spread}, and not {drift}");
        assert!(spread < 20.0, "{spread} ppm after ten minutes");
    }
}

#[test]
fn a_suspended_machine_begins_anew_and_is_right_again_with_the_next_exchange() {
    let mut filter = ClockFilter::default();
    let mut at = 0;
    let mut exchange = |filter: &mut ClockFilter, asleep: u64| {
        at += 500_000_000;
        let peer = at + asleep;
        filter.sample(Exchange {
            sent: at,
            peer_received: peer + 200_000,
            peer_sent: peer + 200_000,
            received: at + 400_000,
        });
        (
            filter.estimate().expect("a sample").at(at + 1_000_000),
            filter.estimate().expect("a sample").steps(),
        )
    };
    let before = (0..100).map(|_| exchange(&mut filter, 0)).last().expect("readings");
    assert_eq!(before.1, 0);
    // Our clock stands still for an hour while the peer's goes on.
    let asleep = 3_600_000_000_000;
    let (after, steps) = exchange(&mut filter, asleep);
    assert_eq!(steps, 1);
    assert!(after.offset.abs_diff(asleep as i64) <= after.spread, "{after:?}");
    assert!(after.spread > before.0.spread, "{after:?} after {before:?}");
    let (later, steps) = (0..60).map(|_| exchange(&mut filter, asleep)).last().expect("readings");
    assert_eq!(steps, 1, "once");
    assert!(later.spread < after.spread, "{later:?} after {after:?}");
}
