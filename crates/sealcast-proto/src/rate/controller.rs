//! The congestion window and the target rate.

use std::time::Duration;

use super::delay::{Delay, QDELAY_TARGET_LO};
use super::flight::{Flight, Progress};
use super::loss::Loss;
use super::window::{Meter, WindowedMin};
use super::{RateConfig, Report};

// Constants of RFC 8298, section 4.1.1.1. Values that differ from the RFC's are explained in the documentation of the
// parent module. QUEUE_STANDS and PACE_EMPTIES are not in the RFC.
/// Trend of the queue delay at or above which congestion is near.
const QDELAY_TREND_TH: f64 = 0.2;
/// Trend of the queue delay below which there is no congestion.
const QDELAY_TREND_LO: f64 = 0.2;
/// Time for which the trend must stay low before fast increase resumes.
const T_RESUME_FAST_INCREASE: Duration = Duration::from_secs(5);
/// Smallest congestion window, bytes.
const MIN_CWND: f64 = 3000.0;
/// Limit of the window, as a multiple of the most bytes that were in flight lately.
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
/// Growth of the window without queue delay, in MSS per round trip.
const GAIN: f64 = 1.0;
/// Factor for the window after loss.
const BETA_LOSS: f64 = 0.8;
/// Factor for the target after loss, and for its cut at the full queue delay target.
const BETA_R: f64 = 0.9;
/// Size of the largest packet in bytes, until a longer one is sent.
const MSS: f64 = 1200.0;
/// Interval between two adjustments of the target.
const RATE_ADJUST_INTERVAL: Duration = Duration::from_millis(200);
/// Fastest growth of the target, bit/s per second.
const RAMP_UP_SPEED: f64 = 10_000_000.0;
/// Length of the queue at the sender, in seconds, above which the target does not grow. The queue of a single keyframe
/// is shorter.
const RTP_QDELAY_TH: f64 = 0.2;
/// Age from which on a queue at the sender counts as standing: it will not drain by itself.
const QUEUE_STANDS: Duration = Duration::from_millis(150);
/// Time in which the pacer drains the sender's own queue where the window allows it, in seconds.
const PACE_EMPTIES: f64 = 0.05;
/// Lowest rate of the pacer, bit/s.
const RATE_PACE_MIN: f64 = 50_000.0;

// Constants of this implementation.
/// Pacing rate while the path is free, as a multiple of the target, so that a keyframe does not wait.
const PACE_HEAD_ROOM: f64 = 1.25;
/// The maximum of the bytes in flight is kept over five spans of this length (RFC 8298: 5 s).
const IN_FLIGHT_SPAN: Duration = Duration::from_secs(1);
const IN_FLIGHT_SPANS: usize = 5;
/// The first window holds this many seconds of the start rate.
const FIRST_WINDOW: f64 = 0.1;
/// Average time that a packet waits at the receiver for the next report, in seconds.
const REPORT_WAIT: f64 = 0.01;
/// Smallest cut of the target for queue delay, as a share of the cut that BETA_R makes.
const LEAST_CUT: f64 = 0.25;
/// Lower bound of the factors that are derived from the share of packets that arrive.
const LEAST_PART: f64 = 0.3;
/// Queue delay from which on heavy loss is taken for the overflow of a short queue.
const QDELAY_LOSS: Duration = Duration::from_millis(10);
/// Largest queue delay at which the path counts as free of queueing.
const QDELAY_CALM: Duration = Duration::from_millis(10);
/// Time for which reports may be missing before the window closes for lack of them, while nothing queues on the path.
const REPORTS_LOST: Duration = Duration::from_millis(75);
/// The target stops growing at this multiple of the rate that is really sent, or at less where the queue delay was
/// growing lately.
const UNUSED: f64 = 1.5;
/// Interval between two cuts for loss without a queue.
const LOSS_INTERVAL: Duration = Duration::from_secs(2);
/// Shortest and longest time without a report after which the packets in flight are given up.
const SILENCE_MIN: Duration = Duration::from_millis(300);
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// Factor for the target at each timeout, and the share of the former target that the first report restores.
const BETA_SILENCE: f64 = 0.5;

/// State before the path fell silent.
#[derive(Clone, Copy)]
struct Before {
    target: f64,
    cwnd: f64,
}

/// Decides how fast one sender may send on one path.
///
/// Report every packet that leaves ([`sent`](Self::sent), [`resent`](Self::resent)) and every report that arrives
/// ([`feedback`](Self::feedback)), and call [`tick`](Self::tick) at [`deadline`](Self::deadline). Ask
/// [`may_send`](Self::may_send) before a packet leaves, and pass [`target`](Self::target) to the encoder. Times are
/// those of the caller's monotonic clock; a time before the latest one counts as the latest one.
pub struct RateController {
    config: RateConfig,
    now: Duration,
    flight: Flight,
    delay: Delay,
    loss: Loss,
    transmitted: Meter,
    arrived: Meter,
    /// Bytes.
    cwnd: f64,
    /// Largest packet so far, bytes. The limit of the window is at least this much above the bytes in flight, since
    /// otherwise it would never leave room for one packet more.
    mss: f64,
    in_fast_increase: bool,
    low_trend_since: Duration,
    /// Maximum of the bytes in flight, negated, since a minimum is kept.
    most_in_flight: WindowedMin<IN_FLIGHT_SPANS>,
    /// Time at which the window was last nearly full.
    full_at: Option<Duration>,
    /// Bit/s.
    target: f64,
    target_last_max: f64,
    adjusted: Duration,
    /// Time before which the queue delay causes no further cut.
    next_cut: Duration,
    next_loss_cut: Duration,
    /// Bytes queued at the sender, and the time since which the queue has not been empty.
    queued: usize,
    queued_since: Option<Duration>,
    /// Time since which packets have been in flight without a report.
    waiting: Option<Duration>,
    /// Time at which the last packet left.
    last_left: Duration,
    silent: Option<Before>,
}

impl RateController {
    /// A controller that knows nothing about its path yet.
    pub fn new(config: RateConfig) -> Self {
        let config = config.ordered();
        let target = config.start as f64;
        Self {
            config,
            now: Duration::ZERO,
            flight: Flight::default(),
            delay: Delay::default(),
            loss: Loss::default(),
            transmitted: Meter::default(),
            arrived: Meter::default(),
            cwnd: (target / 8.0 * FIRST_WINDOW).max(MIN_CWND),
            mss: MSS,
            in_fast_increase: true,
            low_trend_since: Duration::ZERO,
            most_in_flight: WindowedMin::new(IN_FLIGHT_SPAN),
            full_at: None,
            target,
            target_last_max: 1.0,
            adjusted: Duration::ZERO,
            next_cut: Duration::ZERO,
            next_loss_cut: Duration::ZERO,
            queued: 0,
            queued_since: None,
            waiting: None,
            last_left: Duration::ZERO,
            silent: None,
        }
    }

    /// Records that a media or repair packet of `bytes` bytes left. Numbers increase; gaps are allowed.
    pub fn sent(&mut self, now: Duration, number: u64, bytes: usize) {
        self.sent_run(now, number, bytes, bytes);
    }

    /// Records that packets left together. They are numbered from `first` on and have `bytes` bytes in all; each has
    /// `size` bytes, except that the last may be shorter. A size of 0 counts as 1.
    pub fn sent_run(&mut self, now: Duration, first: u64, bytes: usize, size: usize) {
        self.tick(now);
        let size = size.max(1);
        let mut left = bytes;
        let mut number = first;
        loop {
            self.flight.sent(self.now, number, left.min(size));
            left = left.saturating_sub(size);
            if left == 0 {
                break;
            }
            number = number.saturating_add(1);
        }
        self.left(bytes, size.min(bytes));
    }

    /// Records that a packet was sent again: it uses the path too.
    pub fn resent(&mut self, now: Duration, bytes: usize) {
        self.tick(now);
        self.flight.resent(bytes);
        self.left(bytes, bytes);
    }

    /// Sets the number of bytes that wait at the sender for the pacer and the window. Calling it is optional; about
    /// once per frame is enough. With it, a queue that a slow encoder has left behind drains sooner.
    pub fn queued(&mut self, bytes: usize) {
        self.queued = bytes;
        self.queued_since = (bytes > 0).then(|| self.queued_since.unwrap_or(self.now));
    }

    fn left(&mut self, bytes: usize, longest: usize) {
        self.mss = self.mss.max(longest as f64);
        self.transmitted.add(self.now, bytes as u64);
        self.waiting.get_or_insert(self.now);
        self.last_left = self.now;
        let in_flight = self.flight.bytes();
        self.most_in_flight
            .insert(self.now, -i64::try_from(in_flight).unwrap_or(i64::MAX));
        if in_flight as f64 + self.mss >= self.cwnd {
            self.full_at = Some(self.now);
        }
    }

    /// Processes a report. Reports that are repeated, out of order or impossible are harmless.
    pub fn feedback(&mut self, now: Duration, report: &Report<'_>) {
        self.tick(now);
        let in_flight = self.flight.bytes() as f64;
        let progress = self.flight.acknowledge(self.now, report, &mut self.loss);
        self.arrived.add(self.now, progress.delivered);
        self.transmitted.add(self.now, 0);
        let Some(sent) = progress.sent else { return };
        self.delay.sample(self.now, sent, report.arrived_ns);
        self.waiting = (self.flight.bytes() > 0).then_some(self.now);
        self.end_silence();
        self.update_cwnd(&progress, in_flight);
        self.cut_for_delay();
        self.cut_for_loss();
        self.adjust_target();
    }

    /// Advances the time. Due at [`deadline`](Self::deadline), harmless at any other time.
    pub fn tick(&mut self, now: Duration) {
        self.now = self.now.max(now);
        if self.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.fall_silent();
        }
    }

    /// Time at which [`tick`](Self::tick) gives up the packets in flight for lack of a report, so that a little may be
    /// sent again. `None` while no report is awaited.
    pub fn deadline(&self) -> Option<Duration> {
        let patience = self.delay.round_trip().map_or(SILENCE_MAX, |trip| {
            trip.saturating_mul(3).clamp(SILENCE_MIN, SILENCE_MAX)
        });
        self.waiting.map(|since| since.saturating_add(patience))
    }

    /// Rate for the encoder, bit/s, always within the configured bounds. The controller compares it with everything
    /// that is sent, including repair packets and headers: if these grow, the target falls.
    pub fn target(&self) -> u64 {
        (self.target as u64).clamp(self.config.min, self.config.max)
    }

    /// Rate at which packets should leave, bit/s. It is above the target, so that large frames leave soon.
    pub fn pacing(&self) -> u64 {
        let empties = (self.queued as f64 * 8.0 / PACE_EMPTIES).min(self.window_rate());
        let most = empties.max(self.target * PACE_HEAD_ROOM);
        let free = self.delay.latest() <= QDELAY_TARGET_LO;
        let rate = if free { most } else { most.min(self.window_rate()) };
        rate.max(RATE_PACE_MIN) as u64
    }

    /// True if a packet of `bytes` bytes may leave now. One always may when nothing is in flight, and packets in flight
    /// are given up at [`deadline`](Self::deadline), so the controller does not block for ever. Until then nothing may
    /// leave while the fate of [`MAX_IN_FLIGHT`](super::MAX_IN_FLIGHT) packets is unknown.
    pub fn may_send(&self, bytes: usize) -> bool {
        let in_flight = self.flight.bytes() as f64;
        let slack = if self.delay.latest() <= QDELAY_TARGET_LO {
            self.mss
        } else {
            0.0
        };
        let window = (self.cwnd + slack).max(self.calm_window());
        !self.flight.full() && (in_flight == 0.0 || in_flight + bytes as f64 <= window)
    }

    /// True if an unsteered source keeps a standing queue at the sender while nothing queues on the path and little is
    /// lost there. Packets then arrive as fast as the sender lets them out, so the rate that arrives is not all that
    /// the path carries.
    fn holds_up(&self) -> bool {
        let stands = |since: Duration| self.now.saturating_sub(since) >= QUEUE_STANDS;
        let at_sender = self.config.unsteered && self.queued_since.is_some_and(stands);
        at_sender && self.calm() && !self.loss.heavy() && !self.loss.watching()
    }

    /// True if nothing queues on the path.
    fn calm(&self) -> bool {
        self.delay.latest().max(self.delay.average()) <= QDELAY_CALM
    }

    /// Bytes that may be in flight while nothing queues on the path, even if some reports are lost.
    fn calm_window(&self) -> f64 {
        match self.delay.round_trip() {
            Some(trip) if self.calm() && self.silent.is_none() => {
                self.target / 8.0 * (trip + REPORTS_LOST).as_secs_f64()
            }
            _ => 0.0,
        }
    }

    /// Bytes sent after the highest acknowledged packet, except those given up.
    pub fn in_flight(&self) -> u64 {
        self.flight.bytes()
    }

    /// Time that packets wait in queues on the path, smoothed.
    pub fn queue_delay(&self) -> Duration {
        self.delay.average()
    }

    /// Smoothed round trip, including the receiver's wait before its report. `None` before the first report.
    pub fn round_trip(&self) -> Option<Duration> {
        self.delay.round_trip()
    }

    /// True if reports came, and came lately: since the last one, no packet was in flight for so long that it was given
    /// up.
    pub fn is_reported(&self) -> bool {
        self.silent.is_none() && self.delay.round_trip().is_some()
    }

    /// Share of packets lost, 0 to 1, smoothed over about 128 packets. A packet counts as lost once later packets have
    /// arrived and it is overdue by more than the reordering that this path shows.
    pub fn loss(&self) -> f64 {
        self.loss.share()
    }

    /// Mean number of packets lost in a row, at least 1.
    pub fn mean_burst(&self) -> f64 {
        self.loss.mean_burst()
    }

    /// Rate that the window allows, bit/s. The round trip counts with no more queueing than half the queue delay
    /// target.
    fn window_rate(&self) -> f64 {
        let short = self.delay.shortest().unwrap_or_default() + QDELAY_TARGET_LO / 2;
        let trip = self
            .delay
            .round_trip()
            .map_or(FIRST_WINDOW, |trip| trip.min(short).as_secs_f64());
        self.cwnd * 8.0 / (trip + REPORT_WAIT)
    }

    /// Rate that the path is known to carry, bit/s. At high rates reports come sooner than the window's rate assumes;
    /// while nothing queues on the path, the rate that arrives is therefore carried as well.
    fn carried(&self) -> f64 {
        let arrived = if self.calm() { self.arrived.rate() } else { 0.0 };
        self.window_rate().max(arrived)
    }

    /// Grows or shrinks the window with the queue delay (RFC 8298, section 4.1.2.2).
    fn update_cwnd(&mut self, progress: &Progress, in_flight: f64) {
        let acknowledged = progress.acknowledged as f64;
        let trend = self.delay.trend();
        if trend >= QDELAY_TREND_LO {
            self.low_trend_since = self.now;
        }
        if trend >= QDELAY_TREND_TH {
            self.in_fast_increase = false;
        } else if self.now.saturating_sub(self.low_trend_since) >= T_RESUME_FAST_INCREASE {
            self.in_fast_increase = true;
        }
        if self.in_fast_increase {
            if in_flight * 1.5 + acknowledged > self.cwnd {
                self.cwnd += acknowledged;
            }
        } else {
            let target = QDELAY_TARGET_LO.as_secs_f64();
            // The window shrinks no faster than it grows: `cut_for_delay` drains a long queue.
            let off_target = ((target - self.delay.latest().as_secs_f64()) / target).max(-1.0);
            let used = in_flight * 1.25 + acknowledged > self.cwnd;
            if off_target <= 0.0 || used {
                self.cwnd += GAIN * off_target * acknowledged * self.mss / self.cwnd;
            }
        }
        let most = self.most_in_flight.get().map_or(0, i64::unsigned_abs) as f64;
        let limit = most * MAX_BYTES_IN_FLIGHT_HEAD_ROOM + self.mss;
        self.cwnd = self.cwnd.min(limit).max(MIN_CWND);
    }

    /// Reacts to congestion that shows as delay, alone or with loss: cuts the target, and also the window if packets
    /// were lost or the queue delay exceeds its target.
    fn cut_for_delay(&mut self) {
        let queue = self.delay.average().as_secs_f64() / QDELAY_TARGET_LO.as_secs_f64();
        let overflows = self.delay.average() >= QDELAY_LOSS && self.loss.lasting();
        if (queue < 0.5 && !overflows) || self.now < self.next_cut {
            return;
        }
        let mut part = 1.0 - (1.0 - BETA_R) * (queue * 2.0 - 1.0).clamp(LEAST_CUT, 1.0);
        if overflows {
            part = part.min(BETA_R);
            self.cwnd = (self.cwnd * BETA_LOSS).max(MIN_CWND);
        }
        if queue >= 1.0 {
            part = part.min(self.part_that_arrives() * BETA_R);
            let trip = self.delay.shortest().unwrap_or_default() + QDELAY_TARGET_LO / 2;
            let empties = self.arrived.rate() / 8.0 * (trip.as_secs_f64() + REPORT_WAIT);
            self.cwnd = self.cwnd.min(empties).max(MIN_CWND);
        }
        // While packets queue, the rate that arrives is what the path carries. Half of it drains any queue.
        let floor = (self.arrived.rate() * 0.5).min(self.target);
        self.cut((self.target * part).max(floor));
    }

    /// Cuts for loss without a queue, but only if it lasts and is far above the link's own loss.
    fn cut_for_loss(&mut self) {
        if self.now < self.next_loss_cut {
            return;
        }
        self.next_loss_cut = self.now.saturating_add(LOSS_INTERVAL);
        let Some(part) = self.loss.cut(self.delay.average() >= QDELAY_LOSS) else {
            return;
        };
        self.cwnd = (self.cwnd * BETA_LOSS).max(MIN_CWND);
        self.cut(self.target * part.clamp(LEAST_PART, BETA_R));
    }

    /// Share of the sent packets that arrive, corrected for the link's own loss.
    fn part_that_arrives(&self) -> f64 {
        let transmitted = self.transmitted.rate().max(1.0);
        let kept = (1.0 - self.loss.background()).max(LEAST_PART);
        (self.arrived.rate() / transmitted / kept).clamp(LEAST_PART, 1.0)
    }

    fn cut(&mut self, target: f64) {
        self.in_fast_increase = false;
        self.low_trend_since = self.now;
        // In a series of cuts, the later ones start from a target below what the path carries.
        self.target_last_max = self.target.max(self.arrived.rate());
        self.set_target(target);
        // Wait until the effect of this cut can be seen before the next one.
        let trip = self.delay.round_trip().unwrap_or_default();
        self.next_cut = self.now.saturating_add(trip + RATE_ADJUST_INTERVAL);
        self.adjusted = self.now;
    }

    /// Adjusts the target at intervals. It grows slowly near the rate at which congestion was last met (RFC 8298,
    /// section 4.1.3).
    fn adjust_target(&mut self) {
        let since = self.now.saturating_sub(self.adjusted);
        if since < RATE_ADJUST_INTERVAL {
            return;
        }
        self.adjusted = self.now;
        let full = self
            .full_at
            .is_some_and(|at| self.now.saturating_sub(at) < RATE_ADJUST_INTERVAL * 2);
        if full && self.target > self.carried() {
            return self.set_target(self.carried());
        }
        if self.holds_up() && self.arrived.rate() > self.target {
            return self.set_target(self.arrived.rate());
        }
        let crowded = self.delay.average() >= QDELAY_TARGET_LO / 2 || self.delay.trend() >= QDELAY_TREND_TH;
        let rate = self.transmitted.rate().max(self.arrived.rate());
        let unused = self.target > rate * (UNUSED - 0.5 * self.delay.trend_memory());
        let queued = self.queued as f64 * 8.0 > rate * RTP_QDELAY_TH;
        if queued || crowded || unused || self.loss.heavy() || self.loss.watching() {
            return;
        }
        let speed = RAMP_UP_SPEED.min(self.target / 2.0);
        let distance = (self.target - self.target_last_max) / self.target_last_max * 4.0;
        let scale = (distance * distance).clamp(0.2, 1.0);
        let interval = since.min(RATE_ADJUST_INTERVAL * 2).as_secs_f64();
        self.set_target(self.target + speed * interval * scale);
    }

    fn set_target(&mut self, target: f64) {
        self.target = target.clamp(self.config.min as f64, self.config.max as f64);
    }

    /// Gives up the packets in flight, for which no report came in time, and sends little from now on.
    fn fall_silent(&mut self) {
        let resting = self.now.saturating_sub(self.last_left) >= SILENCE_MIN / 2;
        if resting && self.silent.is_none() && self.flight.bytes() as f64 + self.mss < self.cwnd {
            // The window had room and nothing was sent: only the report on the last packet before a pause is missing.
            self.flight.forgive();
            self.waiting = None;
            return;
        }
        self.silent.get_or_insert(Before {
            target: self.target,
            cwnd: self.cwnd,
        });
        self.flight.forgive();
        self.waiting = None;
        self.cwnd = MIN_CWND;
        self.target_last_max = self.target_last_max.max(self.target);
        self.set_target(self.target * BETA_SILENCE);
    }

    fn end_silence(&mut self) {
        let Some(before) = self.silent.take() else { return };
        self.cwnd = self.cwnd.max(before.cwnd * BETA_SILENCE);
        self.set_target(self.target.max(before.target * BETA_SILENCE));
        self.in_fast_increase = true;
        self.adjusted = self.now;
    }
}
