//! Pairs by what pictures look like.

use std::collections::VecDeque;
use std::time::Duration;

use super::matcher::{MAX_WAITING, Matcher};
use super::pair::{By, Counts, Pair, Side, Sight, Taken};
use crate::run::probe::beside::picture_hash::PictureHash;

/// Partners are looked for so long before and after a picture.
const WINDOW: Duration = Duration::from_secs(3);
/// Pictures further apart than this are not the same, whatever else there is. It is in standard deviations of the
/// luma of a picture's fields.
const MAX_DISTANCE: f64 = 0.35;
/// The second best match must be further away than the best one by half of that, and by this.
const MARGIN: f64 = 0.5;
const LEAST_MARGIN: f64 = 0.004;
/// From this many times the distance on, the second best is of another picture, and the best of the same one. A
/// picture from between two others is at most three times nearer to one of them.
const SAME: f64 = 4.0;

#[derive(Debug)]
struct Entry {
    taken: Taken,
    hash: PictureHash,
    judged: bool,
    paired: bool,
}

/// Pictures of both sides that can have a partner.
#[derive(Default)]
pub(super) struct ByContent {
    sides: [VecDeque<Entry>; 2],
    last: [Option<PictureHash>; 2],
    counts: Counts,
}

/// The place of the best match.
struct Match {
    at: usize,
    best: f64,
    second: f64,
}

impl Match {
    /// True if the best one beats the second.
    fn is_clear(&self) -> bool {
        self.best <= MAX_DISTANCE && self.second >= self.best * (1.0 + MARGIN) + LEAST_MARGIN
    }

    /// True if it is the same picture, and not only the nearest.
    fn is_same(&self) -> bool {
        self.second >= self.best * SAME
    }
}

/// The best match of a picture among those within the window.
fn best(entries: &VecDeque<Entry>, of: &Entry) -> Option<Match> {
    let mut found: Option<Match> = None;
    let near = |entry: &Entry| entry.taken.decoded.abs_diff(of.taken.decoded) <= WINDOW;
    for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| near(entry)) {
        let distance = entry.hash.distance(&of.hash);
        match &mut found {
            Some(found) if distance >= found.best => found.second = found.second.min(distance),
            Some(found) => {
                *found = Match {
                    at,
                    best: distance,
                    second: found.best,
                }
            }
            None => {
                found = Some(Match {
                    at,
                    best: distance,
                    second: f64::INFINITY,
                })
            }
        }
    }
    found
}

impl ByContent {
    /// Pair B's pictures of which every partner, and every rival for it, has come.
    fn judge(&mut self, now: Duration, found: &mut VecDeque<Pair>) {
        let [a, b] = &mut self.sides;
        for at in 0..b.len() {
            if b[at].taken.decoded + 2 * WINDOW > now {
                break;
            }
            if std::mem::replace(&mut b[at].judged, true) {
                continue;
            }
            let Some(there) = best(a, &b[at]).filter(Match::is_clear) else {
                continue;
            };
            let back = best(b, &a[there.at]).filter(Match::is_clear);
            if back.as_ref().is_none_or(|back| back.at != at) || a[there.at].paired {
                continue;
            }
            (a[there.at].paired, b[at].paired) = (true, true);
            let pair = Pair {
                by: By::Content,
                a: a[there.at].taken,
                b: b[at].taken,
                apart_us: 0,
                same: there.is_same() && back.is_some_and(|back| back.is_same()),
            };
            self.counts.pair(&pair.a, &pair.b);
            found.push_back(pair);
        }
    }

    fn expire(&mut self, now: Duration) {
        for (entries, unpaired) in self.sides.iter_mut().zip(&mut self.counts.unpaired) {
            while let Some(entry) = entries.front() {
                if entries.len() <= MAX_WAITING && entry.taken.decoded + 4 * WINDOW >= now {
                    break;
                }
                *unpaired += u64::from(!entry.paired);
                entries.pop_front();
            }
        }
    }

    /// True if the picture is exactly the one before it on its side.
    fn is_repeat(&mut self, side: Side, hash: &PictureHash) -> bool {
        let last = &mut self.last[side as usize];
        let is_same = last.as_ref() == Some(hash);
        if !is_same {
            *last = Some(hash.clone());
        }
        is_same
    }
}

impl Matcher for ByContent {
    fn take(&mut self, sight: &Sight, now: Duration, found: &mut VecDeque<Pair>) {
        match &sight.hash {
            None => self.counts.unpaired[sight.side as usize] += 1,
            // A repeated picture says nothing new, and is no rival of it.
            Some(hash) if self.is_repeat(sight.side, hash) => {}
            Some(hash) => self.sides[sight.side as usize].push_back(Entry {
                taken: sight.taken,
                hash: hash.clone(),
                judged: false,
                paired: false,
            }),
        }
        self.judge(now, found);
        self.expire(now);
    }

    fn finish(&mut self, now: Duration, found: &mut VecDeque<Pair>) {
        self.judge(now.saturating_add(2 * WINDOW), found);
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
