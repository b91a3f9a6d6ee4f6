//! A sender with an encoder and a pacer, a bottleneck with a queue, and a receiver that reports.

use std::collections::VecDeque;
use std::time::Duration;

use super::{MS, RateConfig, RateController, Report};

/// Length of a full packet in bytes.
const PACKET: u64 = 1200;
/// Step of the virtual clock.
const STEP: Duration = Duration::from_micros(500);
/// Time between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// One frame in this many is a keyframe; a keyframe has this many times the size of another frame.
const KEYFRAMES: u64 = 60;
const KEYFRAME_SIZE: u64 = 6;
/// Age of a packet at which the sender's queue is thrown away, as the queue for a viewer is.
const SEND_AGE: Duration = Duration::from_secs(1);

/// Reproducible pseudorandom numbers (xorshift).
pub(super) struct Rng(pub(super) u64);

impl Rng {
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number from 0 up to, but not including, 1.
    pub(super) fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Measurements of a run.
#[derive(Debug)]
pub(super) struct Figures {
    /// Share of the capacity that arrived.
    pub(super) utilisation: f64,
    /// Time in the bottleneck's queue.
    pub(super) queue_mean: Duration,
    pub(super) queue_p95: Duration,
    pub(super) queue_max: Duration,
    /// Rate that arrived, bit/s.
    pub(super) rate: f64,
    /// Longest time that a packet waited at the sender.
    pub(super) held_max: Duration,
    /// Share of the packets that the bottleneck or the link lost.
    pub(super) lost: f64,
}

pub(super) struct Path {
    pub(super) controller: RateController,
    pub(super) now: Duration,
    /// Rate of the bottleneck, bit/s.
    pub(super) capacity: u64,
    /// Delay one way, without the queue.
    pub(super) delay: Duration,
    /// Size of the bottleneck's queue in bytes.
    pub(super) buffer: u64,
    /// Share of the packets that are lost after the bottleneck, in bursts of `burst`.
    pub(super) loss: f64,
    pub(super) burst: u64,
    /// True if no report arrives.
    pub(super) mute: bool,
    /// True if nothing gets through at all.
    pub(super) cut: bool,
    /// Excess speed of the receiver's clock, in parts per million; negative if it is slower.
    pub(super) drift: i64,
    /// Largest additional delay of a packet. The order is kept.
    pub(super) jitter: Duration,
    /// Highest rate of the encoder, bit/s.
    pub(super) encoder_max: u64,
    /// True if the encoder follows the target late, as the real one does: see `follow_late`.
    pub(super) late: bool,
    making: u64,
    changed: Duration,
    /// Bytes sent for each byte of video, because of headers and repair packets.
    pub(super) overhead: f64,
    /// Number of times that the controller's deadline was reached.
    pub(super) ticks: u32,
    rng: Rng,
    next_frame: Duration,
    frames: u64,
    /// Length and creation time of the packets that wait for the pacer.
    waiting: VecDeque<(u64, Duration)>,
    pace_from: Duration,
    number: u64,
    /// Number, length and arrival time of the packets in the bottleneck's queue.
    queue: VecDeque<(u64, u64, Duration)>,
    queued: u64,
    /// Bits that the bottleneck may let through.
    credit: f64,
    losing: u64,
    flying: VecDeque<(Duration, u64)>,
    arrived: Vec<bool>,
    highest: Option<(u64, u64)>,
    unreported: u32,
    reported: Duration,
    reports: VecDeque<(Duration, u64, u64, Vec<u8>)>,
    delays: Vec<Duration>,
    came: u64,
    offered: u64,
    gone: u64,
    held: Duration,
}

impl Path {
    pub(super) fn new(config: RateConfig, capacity: u64) -> Self {
        Self {
            controller: RateController::new(config),
            now: Duration::ZERO,
            capacity,
            delay: 20 * MS,
            buffer: capacity / 16,
            loss: 0.0,
            burst: 1,
            mute: false,
            cut: false,
            drift: 0,
            jitter: Duration::ZERO,
            encoder_max: u64::MAX,
            late: false,
            making: config.start,
            changed: Duration::ZERO,
            overhead: 1.0,
            ticks: 0,
            rng: Rng(0x9E37_79B9_7F4A_7C15),
            next_frame: Duration::ZERO,
            frames: 0,
            waiting: VecDeque::new(),
            pace_from: Duration::ZERO,
            number: 0,
            queue: VecDeque::new(),
            queued: 0,
            credit: 0.0,
            losing: 0,
            flying: VecDeque::new(),
            arrived: Vec::new(),
            highest: None,
            unreported: 0,
            reported: Duration::ZERO,
            reports: VecDeque::new(),
            delays: Vec::new(),
            came: 0,
            offered: 0,
            gone: 0,
            held: Duration::ZERO,
        }
    }

    /// Runs for `time` and returns what was measured.
    pub(super) fn run(&mut self, time: Duration) -> Figures {
        (self.came, self.offered, self.gone) = (0, 0, 0);
        self.delays.clear();
        self.held = Duration::ZERO;
        let until = self.now + time;
        while self.now < until {
            self.now += STEP;
            if self.controller.deadline().is_some_and(|deadline| deadline <= self.now) {
                self.controller.tick(self.now);
                self.ticks += 1;
            }
            self.encode();
            self.send();
            self.bottleneck();
            self.receive();
            self.deliver_reports();
        }
        self.figures(time)
    }

    fn figures(&mut self, time: Duration) -> Figures {
        self.delays.sort();
        let at = |part: usize| {
            let last = self.delays.len().saturating_sub(1);
            self.delays.get(last * part / 100).copied().unwrap_or_default()
        };
        let sum: Duration = self.delays.iter().sum();
        let rate = self.came as f64 * 8.0 / time.as_secs_f64();
        Figures {
            utilisation: rate / self.capacity as f64,
            queue_mean: sum / u32::try_from(self.delays.len().max(1)).expect("few"),
            queue_p95: at(95),
            queue_max: at(100),
            rate,
            held_max: self.held,
            lost: self.gone as f64 / self.offered.max(1) as f64,
        }
    }

    /// Changes the encoder's rate when the target has moved by more than a tenth, which makes a keyframe. A fall by
    /// more than a quarter is followed 250 ms after the last change at the earliest, a smaller one 1 s after it, and a
    /// rise with the next keyframe.
    fn follow_late(&mut self) {
        let (target, since) = (self.controller.target(), self.now - self.changed);
        let patience = if target * 4 < self.making * 3 {
            250 * MS
        } else {
            super::S
        };
        let falls = target < self.making && since >= patience;
        let rises = target > self.making && self.frames.is_multiple_of(KEYFRAMES);
        if target.abs_diff(self.making) * 10 > self.making && (falls || rises) {
            self.making = target;
            self.changed = self.now;
            self.frames = 0;
        }
    }

    /// Makes a frame of about the size that the target allows, and from time to time a keyframe.
    fn encode(&mut self) {
        if self.now < self.next_frame {
            return;
        }
        self.next_frame += FRAME;
        if self.late {
            self.follow_late();
        } else {
            self.making = self.controller.target();
        }
        let mean = self.making.min(self.encoder_max) as f64 / 8.0 * FRAME.as_secs_f64();
        let share = KEYFRAMES as f64 / (KEYFRAMES - 1 + KEYFRAME_SIZE) as f64;
        let size = if self.frames.is_multiple_of(KEYFRAMES) {
            KEYFRAME_SIZE as f64
        } else {
            0.7 + 0.6 * self.rng.part()
        };
        self.frames += 1;
        let mut bytes = (mean * share * size * self.overhead) as u64;
        if self
            .waiting
            .front()
            .is_some_and(|&(_, born)| self.now > born + SEND_AGE)
        {
            self.waiting.clear();
        }
        let queued: u64 = self.waiting.iter().map(|packet| packet.0).sum();
        self.controller.queued(queued as usize);
        while bytes > 0 {
            let packet = bytes.min(PACKET);
            self.waiting.push_back((packet, self.now));
            bytes -= packet;
        }
    }

    fn send(&mut self) {
        self.pace_from = self.pace_from.max(self.now.saturating_sub(5 * MS));
        while let Some(&(bytes, born)) = self.waiting.front() {
            if self.pace_from > self.now || !self.controller.may_send(bytes as usize) {
                break;
            }
            self.waiting.pop_front();
            self.held = self.held.max(self.now - born);
            self.pace_from += Duration::from_secs_f64(bytes as f64 * 8.0 / self.controller.pacing() as f64);
            self.controller.sent(self.now, self.number, bytes as usize);
            self.offered += 1;
            self.arrived.push(false);
            if self.queued + bytes > self.buffer || self.cut {
                self.gone += 1;
            } else {
                self.queue.push_back((self.number, bytes, self.now));
                self.queued += bytes;
            }
            self.number += 1;
        }
    }

    fn bottleneck(&mut self) {
        self.credit += self.capacity as f64 * STEP.as_secs_f64();
        while let Some(&(number, bytes, came)) = self.queue.front() {
            if (bytes * 8) as f64 > self.credit {
                return;
            }
            self.credit -= (bytes * 8) as f64;
            self.queue.pop_front();
            self.queued -= bytes;
            self.delays.push(self.now - came);
            if self.losing == 0 && self.rng.part() < self.loss / self.burst as f64 {
                self.losing = self.burst;
            }
            if self.losing > 0 {
                self.losing -= 1;
                self.gone += 1;
            } else {
                let at = self.now + self.delay + self.jitter.mul_f64(self.rng.part());
                let at = self.flying.back().map_or(at, |&(before, _)| at.max(before));
                self.flying.push_back((at, number));
                self.came += bytes;
            }
        }
        // Unused capacity does not accumulate.
        self.credit = self.credit.min(PACKET as f64 * 8.0);
    }

    fn receive(&mut self) {
        while self.flying.front().is_some_and(|&(at, _)| at <= self.now) {
            let Some((at, number)) = self.flying.pop_front() else {
                break;
            };
            self.arrived[usize::try_from(number).expect("few")] = true;
            let nanos = i64::try_from(at.as_nanos()).expect("short");
            let clock = 1_700_000_000_000_000_000 + nanos + nanos / 1_000_000 * self.drift;
            self.highest = Some((number, u64::try_from(clock).expect("after 1970")));
            self.unreported += 1;
        }
        let due = self.unreported > 0 && self.now >= self.reported + 20 * MS;
        let Some((highest, arrived)) = self.highest.filter(|_| due || self.unreported >= 64) else {
            return;
        };
        let mut bits = vec![0_u8; 32];
        for back in 0..256_u64.min(highest) {
            if self.arrived[usize::try_from(highest - 1 - back).expect("few")] {
                bits[(back / 8) as usize] |= 1 << (back % 8);
            }
        }
        self.unreported = 0;
        self.reported = self.now;
        let lost = self.mute || self.cut || self.rng.part() < self.loss;
        if !lost {
            self.reports.push_back((self.now + self.delay, highest, arrived, bits));
        }
    }

    fn deliver_reports(&mut self) {
        while self.reports.front().is_some_and(|report| report.0 <= self.now) {
            let Some((_, highest, arrived_ns, bits)) = self.reports.pop_front() else {
                break;
            };
            let report = Report {
                highest,
                arrived_ns,
                received: &bits,
            };
            self.controller.feedback(self.now, &report);
        }
    }
}
