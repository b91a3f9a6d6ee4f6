//! A camera of 100 Mbit/s that cannot be slowed down, on a path that easily carries it: no queue may be left after a
//! pause.

use std::collections::VecDeque;
use std::time::Duration;

use super::{MS, RateConfig, RateController, Report, S};

/// Step of the virtual clock.
const STEP: Duration = Duration::from_micros(50);
const PACKET: usize = 1270;
/// Delay one way.
const DELAY: Duration = Duration::from_micros(50);

/// Longest burst of the pacer, in seconds at its rate.
const BURST: f64 = 0.04;

/// The end that stands still.
#[derive(Clone, Copy, Debug)]
enum Pause {
    Receiver,
    Sender,
    Both,
}

struct Steady {
    controller: RateController,
    /// Bytes that may leave now.
    tokens: f64,
    now: Duration,
    every: Duration,
    next: Duration,
    waiting: VecDeque<Duration>,
    number: u64,
    flying: VecDeque<(Duration, u64)>,
    arrived: Vec<bool>,
    highest: u64,
    unreported: u32,
    reported: Duration,
    reports: VecDeque<(Duration, u64, u64, Vec<u8>)>,
    waits: Vec<Duration>,
}

impl Steady {
    fn new(rate: u64) -> Self {
        let config = RateConfig {
            start: 200_000_000,
            max: 1_000_000_000,
            unsteered: true,
            ..RateConfig::default()
        };
        Self {
            controller: RateController::new(config),
            tokens: 0.0,
            now: Duration::ZERO,
            every: Duration::from_nanos(1_000_000_000 / rate),
            next: Duration::ZERO,
            waiting: VecDeque::new(),
            number: 0,
            flying: VecDeque::new(),
            arrived: Vec::new(),
            highest: 0,
            unreported: 0,
            reported: Duration::ZERO,
            reports: VecDeque::new(),
            waits: Vec::new(),
        }
    }

    fn run(&mut self, time: Duration, pause: Option<Pause>) {
        self.waits.clear();
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            while self.next <= self.now {
                self.waiting.push_back(self.next);
                self.next += self.every;
            }
            if !matches!(pause, Some(Pause::Sender | Pause::Both)) {
                self.hear();
                self.send();
            }
            if !matches!(pause, Some(Pause::Receiver | Pause::Both)) {
                self.receive();
            }
        }
    }

    fn send(&mut self) {
        if self.controller.deadline().is_some_and(|at| at <= self.now) {
            self.controller.tick(self.now);
        }
        self.controller.queued(self.waiting.len() * PACKET);
        let rate = self.controller.pacing() as f64 / 8.0;
        self.tokens = (self.tokens + rate * STEP.as_secs_f64()).min(rate * BURST);
        while self.tokens > 0.0
            && self.controller.may_send(PACKET)
            && let Some(born) = self.waiting.pop_front()
        {
            self.waits.push(self.now.saturating_sub(born));
            self.flying.push_back((self.now + DELAY, self.number));
            self.arrived.push(false);
            self.controller.sent(self.now, self.number, PACKET);
            self.number += 1;
            self.tokens -= PACKET as f64;
            self.controller.queued(self.waiting.len() * PACKET);
        }
    }

    fn receive(&mut self) {
        while let Some(&(at, number)) = self.flying.front() {
            if at > self.now {
                break;
            }
            self.flying.pop_front();
            self.arrived[usize::try_from(number).expect("few")] = true;
            self.highest = number;
            self.unreported += 1;
        }
        if self.unreported >= 64 || (self.unreported > 0 && self.now >= self.reported + 20 * MS) {
            let bits = (0..128)
                .map(|byte| {
                    (0..8).fold(0, |bits, bit| {
                        let back = byte * 8 + bit + 1;
                        let came =
                            self.highest >= back && self.arrived[usize::try_from(self.highest - back).expect("few")];
                        bits | u8::from(came) << bit
                    })
                })
                .collect();
            let wall = u64::try_from(self.now.as_nanos()).expect("short");
            self.reports.push_back((self.now + DELAY, self.highest, wall, bits));
            self.reported = self.now;
            self.unreported = 0;
        }
    }

    fn hear(&mut self) {
        while let Some((at, ..)) = self.reports.front() {
            if *at > self.now {
                break;
            }
            let (_, highest, arrived_ns, received) = self.reports.pop_front().expect("one");
            let report = Report {
                highest,
                arrived_ns,
                received: &received,
            };
            self.controller.feedback(self.now, &report);
        }
    }
}

#[test]
fn a_pause_of_either_end_or_both_leaves_no_queue_behind() {
    for pause in [Pause::Receiver, Pause::Sender, Pause::Both] {
        for before in [300, 1000, 3000] {
            for pause_ms in [5, 10, 20, 30, 50, 70, 100, 150, 200, 300] {
                let mut steady = Steady::new(10_000);
                steady.run(before * MS, None);
                steady.run(pause_ms * MS, Some(pause));
                steady.run(700 * MS, None);
                steady.run(S, None);
                steady.waits.sort();
                let wait = steady.waits[steady.waits.len() / 2];
                assert!(wait < MS, "{pause:?} for {pause_ms} ms after {before}: {wait:?}");
            }
        }
    }
}
