//! Pairs by the time in the strips: the same time, or where the rates differ the nearest.

use std::collections::VecDeque;
use std::time::Duration;

use super::matcher::{MAX_WAITING, Matcher, PATIENCE};
use super::pair::{By, Counts, Pair, Side, Sight, Taken};

/// Pictures that come out of order come within this time, in µs.
const REORDERED_US: u64 = 500_000;
/// The nearest picture is within this time, in µs: half a step of five pictures a second.
const MAX_APART_US: u64 = 100_000;

#[derive(Clone, Copy, Debug)]
struct Entry {
    strip: u64,
    taken: Taken,
    judged: bool,
    paired: bool,
}

/// Pictures of both sides, by the time in their strips.
#[derive(Default)]
pub(super) struct ByClock {
    sides: [VecDeque<Entry>; 2],
    counts: Counts,
}

/// The entry with the time nearest to this one.
fn nearest(entries: &VecDeque<Entry>, strip: u64) -> Option<usize> {
    let after = entries.partition_point(|entry| entry.strip < strip);
    let candidates = [after.checked_sub(1), Some(after)].into_iter().flatten();
    candidates
        .filter(|&at| at < entries.len())
        .min_by_key(|&at| entries[at].strip.abs_diff(strip))
}

impl ByClock {
    fn insert(&mut self, side: Side, strip: u64, taken: Taken) {
        let entries = &mut self.sides[side as usize];
        let at = entries.partition_point(|entry| entry.strip < strip);
        // A strip that was there before is the same drawing, seen again.
        if entries.get(at).is_some_and(|entry| entry.strip == strip) {
            return;
        }
        entries.insert(
            at,
            Entry {
                strip,
                taken,
                judged: false,
                paired: false,
            },
        );
    }

    /// Pair B's pictures of which everything near has come from both sides.
    fn judge(&mut self, guard: u64, found: &mut VecDeque<Pair>) {
        let [a, b] = &mut self.sides;
        let (Some(last_a), Some(last_b)) = (a.back(), b.back()) else {
            return;
        };
        let complete = last_a.strip.min(last_b.strip);
        for at in 0..b.len() {
            let entry = b[at];
            if entry.strip.saturating_add(guard) > complete {
                break;
            }
            b[at].judged = true;
            if entry.judged {
                continue;
            }
            let Some(partner) = nearest(a, entry.strip) else {
                continue;
            };
            let is_mutual = nearest(b, a[partner].strip) == Some(at);
            let apart = entry.strip.abs_diff(a[partner].strip);
            if !is_mutual || apart > MAX_APART_US || a[partner].paired {
                continue;
            }
            (a[partner].paired, b[at].paired) = (true, true);
            self.counts.pair(&a[partner].taken, &entry.taken);
            found.push_back(Pair {
                by: By::Clock,
                a: a[partner].taken,
                b: entry.taken,
                apart_us: entry.strip.wrapping_sub(a[partner].strip) as i64,
                same: apart == 0,
            });
        }
    }

    fn expire(&mut self, now: Duration) {
        for (entries, unpaired) in self.sides.iter_mut().zip(&mut self.counts.unpaired) {
            while let Some(entry) = entries.front() {
                if entries.len() <= MAX_WAITING && entry.taken.decoded + PATIENCE >= now {
                    break;
                }
                *unpaired += u64::from(!entry.paired);
                entries.pop_front();
            }
        }
    }
}

impl Matcher for ByClock {
    fn take(&mut self, sight: &Sight, now: Duration, found: &mut VecDeque<Pair>) {
        match sight.strip {
            Some(strip) => self.insert(sight.side, strip.wall_us, sight.taken),
            None => self.counts.unpaired[sight.side as usize] += 1,
        }
        self.judge(REORDERED_US, found);
        self.expire(now);
    }

    fn finish(&mut self, now: Duration, found: &mut VecDeque<Pair>) {
        self.judge(0, found);
        let settled = self.counts.settled(now);
        for (entries, unpaired) in self.sides.iter_mut().zip(&mut self.counts.unpaired) {
            let alone = |entry: &Entry| !entry.paired && entry.taken.decoded < settled;
            *unpaired += entries.drain(..).filter(alone).count() as u64;
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
