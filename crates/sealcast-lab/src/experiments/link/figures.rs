//! Computes figures from the records of both ends.

use std::collections::BTreeMap;
use std::time::Duration;

use super::bench::{Outcome, Wire};
use super::columns::{CURVE, delay_axis};
use super::load::{self, GROUP, RATE, Row};
use crate::harness::Sample;
use sealcast::meter::statistics::quantile;

/// Number of frames before those that count, while a system may learn the path. The frames shown of these are
/// reported separately.
pub(super) const WARM_UP: u32 = 5 * RATE;
/// Number of frames after those that count, so that the last of these have successors like all others.
pub(super) const TAIL: u32 = RATE / 2;

/// Points of the curve.
const STEPS: usize = 241;

/// The judged frames of one run, without warm-up and tail: numbers per second of frames that fulfil each condition.
#[derive(Default)]
struct Judged {
    whole: Vec<u32>,
    shown: Vec<u32>,
    ever: Vec<u32>,
    begin: Vec<u32>,
    delays: Vec<f64>,
    keyframes: u32,
}

/// `counted`: number of frames that count, after [`WARM_UP`].
fn judge(sent: &[Row], received: &[Row], limit: Duration, counted: u32) -> Judged {
    let arrivals: BTreeMap<u32, u64> = received.iter().rev().map(|row| (row.number, row.received_ns)).collect();
    let limit = limit.as_nanos() as u64;
    let mut judged = Judged::default();
    // The time at which the previous frame can be decoded.
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

fn count(seconds: &mut Vec<u32>, place: u32, good: bool) {
    let second = (place / RATE) as usize;
    seconds.resize(seconds.len().max(second + 1), 0);
    seconds[second] += u32::from(good);
}

/// The figures of a run. `frames` were sent, of which `counted` count. A frame is in time if it can be shown within
/// `limit` after it was sent.
pub(super) fn sample(outcome: &Outcome, limit: Duration, frames: u32, counted: u32) -> Sample {
    let mut judged = judge(&outcome.sent, &outcome.received, limit, counted);
    judged.delays.sort_unstable_by(f64::total_cmp);
    let Wire {
        bytes,
        packets,
        lost,
        unread,
        late_ns,
    } = outcome.wire;
    let not_yet = |ms: f64| 1.0 - judged.delays.partition_point(|&delay| delay <= ms) as f64 / f64::from(counted);
    let minutes = f64::from(frames) / f64::from(60 * RATE);
    Sample::default()
        .with("frames", counted.into())
        .with("delay_p50_ms", quantile(&judged.delays, 0.5))
        .with("delay_p99_ms", quantile(&judged.delays, 0.99))
        .with("overhead", bytes as f64 / load::nominal_bytes(frames) as f64 - 1.0)
        .with("keyframes_asked_per_minute", f64::from(judged.keyframes) / minutes)
        .with("packets_lost", lost as f64 / packets.max(1) as f64)
        .with("packets_unread", unread as f64)
        .with("link_late_p99_ms", late_ns as f64 / 1e6)
        .with_series("shown", shares(&judged.shown))
        .with_series("whole", shares(&judged.whole))
        .with_series("ever", shares(&judged.ever))
        .with_series("begin", shares(&judged.begin))
        .with_series(CURVE, delay_axis().steps(STEPS).map(not_yet).collect())
}

/// For each second, the share of its frames that fulfil a condition.
fn shares(good: &[u32]) -> Vec<f64> {
    good.iter().map(|&good| f64::from(good) / f64::from(RATE)).collect()
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

    const LIMIT: Duration = Duration::from_millis(160);

    #[test]
    fn a_frame_needs_all_back_to_its_keyframe_to_be_shown() {
        let rows: Vec<Row> = (0..WARM_UP + 60).map(sent).collect();
        let lost = WARM_UP + 10;
        let came: Vec<Row> = rows
            .iter()
            .filter(|row| row.number != lost)
            .map(|row| received(row.number, 30))
            .collect();
        let judged = judge(&rows, &came, LIMIT, 60);
        assert_eq!((judged.whole, judged.shown), (vec![29, 30], vec![10, 30]));
        assert_eq!((judged.ever, judged.delays.len()), (vec![10, 30], 40));
    }

    #[test]
    fn a_late_frame_holds_up_those_that_need_it() {
        let rows: Vec<Row> = (0..WARM_UP + 30).map(sent).collect();
        let late = |number| if number == WARM_UP + 3 { 220 } else { 30 };
        let came: Vec<Row> = rows.iter().map(|row| received(row.number, late(row.number))).collect();
        let judged = judge(&rows, &came, LIMIT, 30);
        // It comes 220 ms after it was sent: the next frame is late because of it; the one after waits 154 ms and is
        // in time.
        assert_eq!(
            (judged.whole, judged.shown, judged.ever),
            (vec![29], vec![28], vec![30])
        );
        let most = judged.delays.iter().copied().fold(0.0, f64::max);
        assert!((most - 220.0).abs() < 1e-9, "{most}");
    }

    #[test]
    fn frames_that_warm_up_do_not_count_and_keyframes_that_were_asked_for_are_told() {
        let mut rows: Vec<Row> = (0..WARM_UP + 31).map(sent).collect();
        rows[40].keyframe = true;
        let judged = judge(&rows, &[], LIMIT, 30);
        assert_eq!((judged.whole.len(), judged.whole[0], judged.keyframes), (1, 0, 1));
    }
}
