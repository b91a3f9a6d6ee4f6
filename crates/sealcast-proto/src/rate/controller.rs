//! The congestion window and the target rate.

use std::time::Duration;

use super::delay::{Delay, QDELAY_TARGET_LO};
use super::flight::{Flight, Progress};
use super::loss::Loss;
use super::window::{Meter, WindowedMin};
use super::{RateConfig, Report};

// Constants of RFC 8298, section 4.1.1.1. Those with another value than there are explained in the module's text.
/// Trend from which on congestion is near.
const QDELAY_TREND_TH: f64 = 0.2;
/// Trend below which there is none.
const QDELAY_TREND_LO: f64 = 0.2;
/// For so long the trend must be low before fast increase resumes.
const T_RESUME_FAST_INCREASE: Duration = Duration::from_secs(5);
/// Smallest window, bytes.
const MIN_CWND: f64 = 3000.0;
/// How far the window may be above what was in flight lately.
const MAX_BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.1;
/// Growth of the window in MSS a round trip, at no queue delay.
const GAIN: f64 = 1.0;
/// Part of the window that stays after loss.
const BETA_LOSS: f64 = 0.8;
/// Part of the target that stays after loss.
const BETA_R: f64 = 0.9;
/// Largest packet, bytes, until a longer one is sent.
const MSS: f64 = 1200.0;
/// Time from one change of the target to the next.
const RATE_ADJUST_INTERVAL: Duration = Duration::from_millis(200);
/// Fastest growth of the target, bit/s in a second.
const RAMP_UP_SPEED: f64 = 10_000_000.0;
/// A queue at the sender that lasts longer than so many seconds: a keyframe's own is shorter.
const RTP_QDELAY_TH: f64 = 0.2;
/// What has waited at the sender for so long will not be gone by itself.
const QUEUE_STANDS: Duration = Duration::from_millis(150);
/// Within what time the pacer empties the sender's own queue where the window allows it, in seconds.
const PACE_EMPTIES: f64 = 0.05;
/// Least rate of the pacer, bit/s.
const RATE_PACE_MIN: f64 = 50_000.0;

// Constants of this implementation.
/// The pacer runs so much faster than the target while the path is free, so that a keyframe does not wait.
const PACE_HEAD_ROOM: f64 = 1.25;
/// What was in flight is remembered for five spans of this length (RFC 8298: 5 s).
const IN_FLIGHT_SPAN: Duration = Duration::from_secs(1);
const IN_FLIGHT_SPANS: usize = 5;
/// The first window carries the start rate for so long.
const FIRST_WINDOW: f64 = 0.1;
/// What is in flight waits so long for a report on average, s.
const REPORT_WAIT: f64 = 0.01;
/// Least cut for queue delay, as a part of the one that BETA_R makes.
const LEAST_CUT: f64 = 0.25;
/// Least part of the target that one cut leaves, where less than that of what was sent arrives.
const LEAST_PART: f64 = 0.3;
/// Queue delay from which on much loss is taken for that of a short queue that overflows.
const QDELAY_LOSS: Duration = Duration::from_millis(10);
/// Queue delay up to which nothing waits on the path.
const QDELAY_CALM: Duration = Duration::from_millis(10);
/// For how long reports may be lost before the window closes for want of them, while nothing waits.
const REPORTS_LOST: Duration = Duration::from_millis(75);
/// The target grows no further above what is really sent than by this factor.
const UNUSED: f64 = 1.5;
/// From one cut for loss without a queue to the next.
const LOSS_INTERVAL: Duration = Duration::from_secs(2);
/// Least and greatest time without a report before what is under way is given up.
const SILENCE_MIN: Duration = Duration::from_millis(300);
const SILENCE_MAX: Duration = Duration::from_secs(1);
/// What silence leaves of the target at each timeout, and what the end of silence restores of it.
const BETA_SILENCE: f64 = 0.5;

/// What was in force before the path fell silent.
#[derive(Clone, Copy)]
struct Before {
    target: f64,
    cwnd: f64,
}

/// Decides how fast one sender may send on one path.
///
/// Tell it of every packet that leaves ([`sent`](Self::sent), [`resent`](Self::resent)) and of every report that comes
/// ([`feedback`](Self::feedback)); call [`tick`](Self::tick) at [`deadline`](Self::deadline). Ask
/// [`may_send`](Self::may_send) before a packet leaves, and give [`target`](Self::target) to the encoder. Time is the
/// caller's monotonic clock; a time before the last one is taken as the last one.
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
    /// Largest packet so far, bytes: a window that grows by less is never enough for one more.
    mss: f64,
    in_fast_increase: bool,
    low_trend_since: Duration,
    /// The most that was in flight, negative, since a minimum is kept.
    most_in_flight: WindowedMin<IN_FLIGHT_SPANS>,
    /// When the window was last nearly full.
    full_at: Option<Duration>,
    /// Bit/s.
    target: f64,
    target_last_max: f64,
    adjusted: Duration,
    /// No cut for queue delay before.
    next_cut: Duration,
    next_loss_cut: Duration,
    /// Bytes that wait at the sender, and since when some do.
    queued: usize,
    queued_since: Option<Duration>,
    /// Since when something is under way and nothing is heard.
    waiting: Option<Duration>,
    /// When a packet last left.
    last_left: Duration,
    silent: Option<Before>,
}

impl RateController {
    /// A controller that knows nothing of its path.
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

    /// A media or repair packet of `bytes` bytes left. Numbers increase; gaps are allowed.
    pub fn sent(&mut self, now: Duration, number: u64, bytes: usize) {
        self.sent_run(now, number, bytes, bytes);
    }

    /// Packets left together, numbered from `first` on: `bytes` bytes in all, each packet of `size` bytes but for the
    /// last, which may be shorter. A size of 0 counts as 1.
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

    /// A packet was sent once more: it uses the path too.
    pub fn resent(&mut self, now: Duration, bytes: usize) {
        self.tick(now);
        self.flight.resent(bytes);
        self.left(bytes, bytes);
    }

    /// So many bytes wait at the sender for the pacer and the window. Telling it, about once a frame, is optional: a
    /// queue that a slow encoder has left then shortens sooner.
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

    /// A report came. One that is repeated, out of order or impossible does no harm.
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

    /// Let time pass: due at [`deadline`](Self::deadline), harmless at any other time.
    pub fn tick(&mut self, now: Duration) {
        self.now = self.now.max(now);
        if self.deadline().is_some_and(|deadline| deadline <= self.now) {
            self.fall_silent();
        }
    }

    /// When [`tick`](Self::tick) will change something: nothing was heard for so long that the window opens a little.
    pub fn deadline(&self) -> Option<Duration> {
        let patience = self.delay.round_trip().map_or(SILENCE_MAX, |trip| {
            trip.saturating_mul(3).clamp(SILENCE_MIN, SILENCE_MAX)
        });
        self.waiting.map(|since| since.saturating_add(patience))
    }

    /// What the encoder should make, bit/s. Always within the configured bounds. The controller weighs it against all
    /// that is sent, repair packets and headers included: if these grow, the target falls by itself.
    pub fn target(&self) -> u64 {
        (self.target as u64).clamp(self.config.min, self.config.max)
    }

    /// At what rate packets should leave, bit/s: above the target, so that large frames leave soon.
    pub fn pacing(&self) -> u64 {
        let empties = (self.queued as f64 * 8.0 / PACE_EMPTIES).min(self.window_rate());
        let most = empties.max(self.target * PACE_HEAD_ROOM);
        let free = self.delay.latest() <= QDELAY_TARGET_LO;
        let rate = if free { most } else { most.min(self.window_rate()) };
        rate.max(RATE_PACE_MIN) as u64
    }

    /// Whether a packet of `bytes` bytes may leave now. One always may when nothing is under way, and what is under
    /// way is given up at [`deadline`](Self::deadline): the answer is never no for ever.
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

    /// Whether packets of a source that does not follow have waited at the sender for so long that as many come as
    /// leave, while nothing waits on the path and little is lost there: then what arrives is not all that it carries.
    fn holds_up(&self) -> bool {
        let stands = |since: Duration| self.now.saturating_sub(since) >= QUEUE_STANDS;
        let at_sender = self.config.unsteered && self.queued_since.is_some_and(stands);
        at_sender && self.calm() && !self.loss.heavy() && !self.loss.watching()
    }

    /// Whether nothing waits on the path.
    fn calm(&self) -> bool {
        self.delay.latest().max(self.delay.average()) <= QDELAY_CALM
    }

    /// While nothing waits on the path, what may be under way though some reports are lost.
    fn calm_window(&self) -> f64 {
        match self.delay.round_trip() {
            Some(trip) if self.calm() && self.silent.is_none() => {
                self.target / 8.0 * (trip + REPORTS_LOST).as_secs_f64()
            }
            _ => 0.0,
        }
    }

    /// Bytes that left after the highest packet that was acknowledged.
    pub fn in_flight(&self) -> u64 {
        self.flight.bytes()
    }

    /// How long packets wait in queues on the path, smoothed.
    pub fn queue_delay(&self) -> Duration {
        self.delay.average()
    }

    /// The smoothed round trip, the receiver's wait before its report included; `None` before the first report.
    pub fn round_trip(&self) -> Option<Duration> {
        self.delay.round_trip()
    }

    /// Share of the packets that are lost, 0 to 1, smoothed over about 128 of them. A packet counts once it has been
    /// overtaken for longer than packets on this path are late.
    pub fn loss(&self) -> f64 {
        self.loss.share()
    }

    /// Mean number of packets that are lost in a row, at least 1.
    pub fn mean_burst(&self) -> f64 {
        self.loss.mean_burst()
    }

    /// What the window carries, bit/s, once no more waits in the path's queue than may.
    fn window_rate(&self) -> f64 {
        let short = self.delay.shortest().unwrap_or_default() + QDELAY_TARGET_LO / 2;
        let trip = self
            .delay
            .round_trip()
            .map_or(FIRST_WINDOW, |trip| trip.min(short).as_secs_f64());
        self.cwnd * 8.0 / (trip + REPORT_WAIT)
    }

    /// What the path is known to carry, bit/s. At high rates reports come sooner than the window's rate allows for;
    /// while nothing waits, what arrives is carried.
    fn carried(&self) -> f64 {
        let arrived = if self.calm() { self.arrived.rate() } else { 0.0 };
        self.window_rate().max(arrived)
    }

    /// 4.1.2.2: grow or shrink with the queue delay.
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
            // No further down than up: what empties a long queue is `cut_for_delay`.
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

    /// Congestion that shows as delay, alone or with loss: cut the target, and the window where the queue is longer
    /// than it may be.
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
        // While packets queue, what arrives is what the path carries: half of it lets any queue run empty.
        let floor = (self.arrived.rate() * 0.5).min(self.target);
        self.cut((self.target * part).max(floor));
    }

    /// Loss without a queue: only where it is far above the link's own, and lasts.
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

    /// Of what was sent, what arrives, corrected for what the link loses anyhow.
    fn part_that_arrives(&self) -> f64 {
        let transmitted = self.transmitted.rate().max(1.0);
        let kept = (1.0 - self.loss.background()).max(LEAST_PART);
        (self.arrived.rate() / transmitted / kept).clamp(LEAST_PART, 1.0)
    }

    fn cut(&mut self, target: f64) {
        self.in_fast_increase = false;
        self.low_trend_since = self.now;
        // In a row of cuts the later ones begin below what the path carries.
        self.target_last_max = self.target.max(self.arrived.rate());
        self.set_target(target);
        // The next one must be able to see what this one did.
        let trip = self.delay.round_trip().unwrap_or_default();
        self.next_cut = self.now.saturating_add(trip + RATE_ADJUST_INTERVAL);
        self.adjusted = self.now;
    }

    /// 4.1.3: grow at intervals, slowly near the rate at which congestion was met.
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

    /// Nothing was heard in time: give up what is under way and send little.
    fn fall_silent(&mut self) {
        let resting = self.now.saturating_sub(self.last_left) >= SILENCE_MIN / 2;
        if resting && self.silent.is_none() && self.flight.bytes() as f64 + self.mss < self.cwnd {
            // Nothing held the sender back, and it sent nothing: a report on the last packet before a pause is missing.
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
