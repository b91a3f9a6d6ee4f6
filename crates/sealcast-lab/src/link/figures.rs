//! What the two ends have noted becomes figures.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::BUDGET;
use super::bench::{Outcome, Wire};
use super::bootstrap::{self, Second};
use super::load::{self, GROUP, RATE, Row};
use super::system::{ONE_WAY, Point, System};

/// Frames before those that count: a system may learn the path meanwhile. What it showed of them is told apart.
pub(super) const WARM_UP: u32 = 5 * RATE;
/// Frames after those that count, so that the last of these are followed by others as all are.
pub(super) const TAIL: u32 = RATE / 2;
/// What programs and the machine may add on the way. SRT hands every packet out when the budget is used up, by a timer
/// of 10 ms, so that without this all of its frames would be late.
pub(super) const GRACE: Duration = Duration::from_millis(20);

/// How long after it was sent a frame is in time.
pub(super) fn deadline() -> Duration {
    ONE_WAY + BUDGET + GRACE
}

/// A share of the frames, 0 to 1, with the ends of its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Share {
    /// The share.
    pub share: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Share {
    fn of(seconds: &[Second]) -> Self {
        let (low, high) = bootstrap::interval(seconds);
        Self {
            share: bootstrap::share(seconds),
            low,
            high,
        }
    }
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Figures {
    /// What the link did.
    pub point: Point,
    /// What carried the frames.
    pub system: System,
    /// Runs.
    pub rounds: usize,
    /// Frames that count, of all runs.
    pub frames: u32,
    /// Delivered whole, in time.
    pub whole: Share,
    /// Delivered whole and in time, and so that it can be decoded by then.
    pub shown: Share,
    /// Delivered so that it can be decoded at any time: what a system would show with a budget that is a little longer.
    pub ever: Share,
    /// Shown in time of the frames before those that count.
    pub begin: Share,
    /// Median of the delay until a frame can be shown, over those that ever can, in milliseconds.
    pub p50_ms: f64,
    /// 99 % of them are faster.
    pub p99_ms: f64,
    /// Bytes of IP packets both ways for each byte of the clip, less 1.
    pub overhead: f64,
    /// Keyframes beyond those that every system sends, for each minute.
    pub keyframes_asked: f64,
    /// The share of packets that the link lost, 0 to 1.
    pub lost: f64,
    /// Packets that never came to the link, since this machine was too busy.
    pub unread: u64,
    /// 99 % of the link's packets were handed over with less delay than this beyond the profile's, in the worst run.
    pub link_late_ms: f64,
    /// `shown` and `ever` as each second had them; for differences.
    pub(super) shown_seconds: Vec<Second>,
    pub(super) ever_seconds: Vec<Second>,
    /// All delays, sorted, in milliseconds.
    pub(super) delays: Vec<f64>,
}

/// What became of the frames of one run that count.
#[derive(Default)]
struct Judged {
    whole: Vec<Second>,
    shown: Vec<Second>,
    ever: Vec<Second>,
    begin: Vec<Second>,
    delays: Vec<f64>,
    keyframes: u32,
}

/// `counted`: how many frames count, after [`WARM_UP`].
fn judge(sent: &[Row], received: &[Row], counted: u32) -> Judged {
    let arrivals: BTreeMap<u32, u64> = received.iter().rev().map(|row| (row.number, row.received_ns)).collect();
    let limit = deadline().as_nanos() as u64;
    let mut judged = Judged::default();
    // When the frame before can be decoded.
    let mut before: Option<u64> = None;
    for row in sent {
        let came = arrivals.get(&row.number).copied();
        let decodable = match came {
            Some(came) if row.keyframe => Some(came),
            Some(came) => before.map(|before| before.max(came)),
            None => None,
        };
        before = decodable;
        judged.keyframes += u32::from(row.keyframe && !row.number.is_multiple_of(GROUP));
        let in_time = |at: Option<u64>| at.is_some_and(|at| at <= row.sent_ns + limit);
        if row.number < WARM_UP {
            count(&mut judged.begin, row.number, in_time(decodable));
            continue;
        }
        let place = row.number - WARM_UP;
        if place >= counted {
            continue;
        }
        count(&mut judged.whole, place, in_time(came));
        count(&mut judged.shown, place, in_time(decodable));
        count(&mut judged.ever, place, decodable.is_some());
        judged
            .delays
            .extend(decodable.map(|at| at.saturating_sub(row.sent_ns) as f64 / 1e6));
    }
    judged
}

fn count(seconds: &mut Vec<Second>, place: u32, good: bool) {
    let second = (place / RATE) as usize;
    seconds.resize(seconds.len().max(second + 1), Second::default());
    seconds[second].frames += 1;
    seconds[second].good += u32::from(good);
}

/// The figures of one system at one point. `frames` were sent in each run, of which `counted` count.
pub(super) fn figures(point: Point, system: System, outcomes: &[Outcome], frames: u32, counted: u32) -> Figures {
    let mut all = Judged::default();
    let mut wire = Wire::default();
    for outcome in outcomes {
        let judged = judge(&outcome.sent, &outcome.received, counted);
        all.whole.extend(judged.whole);
        all.shown.extend(judged.shown);
        all.ever.extend(judged.ever);
        all.begin.extend(judged.begin);
        all.delays.extend(judged.delays);
        all.keyframes += judged.keyframes;
        wire += outcome.wire;
    }
    all.delays.sort_unstable_by(f64::total_cmp);
    let counts: u32 = all.whole.iter().map(|second| second.frames).sum();
    let clip = load::nominal_bytes(frames) * outcomes.len() as u64;
    let minutes = f64::from(frames) * outcomes.len() as f64 / f64::from(60 * RATE);
    Figures {
        point,
        system,
        rounds: outcomes.len(),
        frames: counts,
        whole: Share::of(&all.whole),
        shown: Share::of(&all.shown),
        ever: Share::of(&all.ever),
        begin: Share::of(&all.begin),
        p50_ms: quantile(&all.delays, 0.5),
        p99_ms: quantile(&all.delays, 0.99),
        overhead: wire.bytes as f64 / clip as f64 - 1.0,
        keyframes_asked: f64::from(all.keyframes) / minutes,
        lost: wire.lost as f64 / wire.packets.max(1) as f64,
        unread: wire.unread,
        link_late_ms: wire.late_ns as f64 / 1e6,
        shown_seconds: all.shown,
        ever_seconds: all.ever,
        delays: all.delays,
    }
}

/// Of sorted values; not a number of none.
fn quantile(sorted: &[f64], quantile: f64) -> f64 {
    let at = (sorted.len() as f64 * quantile).ceil() as usize;
    sorted.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn sent(number: u32) -> Row {
        let sent_ns = u64::from(number) * 33 * MS;
        Row {
            number,
            keyframe: number.is_multiple_of(GROUP),
            bytes: 1,
            sent_ns,
            received_ns: 0,
        }
    }

    fn received(number: u32, delay_ms: u64) -> Row {
        let row = sent(number);
        Row {
            received_ns: row.sent_ns + delay_ms * MS,
            ..row
        }
    }

    fn good(seconds: &[Second]) -> Vec<u32> {
        seconds.iter().map(|second| second.good).collect()
    }

    #[test]
    fn a_frame_needs_all_back_to_its_keyframe_to_be_shown() {
        let rows: Vec<Row> = (0..WARM_UP + 60).map(sent).collect();
        let lost = WARM_UP + 10;
        let came: Vec<Row> = rows
            .iter()
            .filter(|row| row.number != lost)
            .map(|row| received(row.number, 30))
            .collect();
        let judged = judge(&rows, &came, 60);
        assert_eq!((good(&judged.whole), good(&judged.shown)), (vec![29, 30], vec![10, 30]));
        assert_eq!((good(&judged.ever), judged.delays.len()), (vec![10, 30], 40));
    }

    #[test]
    fn a_late_frame_holds_up_those_that_need_it() {
        let rows: Vec<Row> = (0..WARM_UP + 30).map(sent).collect();
        let late = |number| if number == WARM_UP + 3 { 220 } else { 30 };
        let came: Vec<Row> = rows.iter().map(|row| received(row.number, late(row.number))).collect();
        let judged = judge(&rows, &came, 30);
        // It comes 220 ms after it was sent: the next is late with it, the one after waits 154 ms and is in time.
        assert_eq!(
            (good(&judged.whole), good(&judged.shown), good(&judged.ever)),
            (vec![29], vec![28], vec![30])
        );
        let most = judged.delays.iter().copied().fold(0.0, f64::max);
        assert!((most - 220.0).abs() < 1e-9, "{most}");
    }

    #[test]
    fn frames_that_warm_up_do_not_count_and_keyframes_that_were_asked_for_are_told() {
        let mut rows: Vec<Row> = (0..WARM_UP + 31).map(sent).collect();
        rows[40].keyframe = true;
        let judged = judge(&rows, &[], 30);
        assert_eq!(
            (judged.whole.len(), judged.whole[0], judged.keyframes),
            (1, Second { frames: 30, good: 0 }, 1)
        );
    }
}
