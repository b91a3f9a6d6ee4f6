//! Pairs by events: by their numbers, of which each comes once, or by their colours, which come again.

use std::collections::VecDeque;
use std::time::Duration;

use super::matcher::{MAX_WAITING, Matcher, PATIENCE};
use super::pair::{By, Counts, Pair, Sight, Taken};

/// Two events of one colour within this time are the same one: `sealcast clock` shows a colour again after six events,
/// which take longer unless its period is short.
const ONE_COLOUR: Duration = Duration::from_millis(2500);

/// Events that wait for the other side, by number or by colour.
pub(super) struct ByKey {
    by: By,
    waiting: [VecDeque<(u32, Taken)>; 2],
    /// Numbers that were seen on each side: an event is where its number was seen first.
    seen: [VecDeque<u32>; 2],
    counts: Counts,
}

impl ByKey {
    pub(super) fn new(by: By) -> Self {
        Self {
            by,
            waiting: [VecDeque::new(), VecDeque::new()],
            seen: [VecDeque::new(), VecDeque::new()],
            counts: Counts::default(),
        }
    }

    /// The event that begins with this picture.
    fn key(&mut self, sight: &Sight) -> Option<u32> {
        if self.by == By::Colour {
            return sight.colour.and_then(|colour| u32::try_from(colour).ok());
        }
        let number = sight.strip?.event;
        let seen = &mut self.seen[sight.side as usize];
        if seen.contains(&number) {
            return None;
        }
        if seen.len() == MAX_WAITING {
            seen.pop_front();
        }
        seen.push_back(number);
        // Of the first number that is seen nobody knows how long it was there.
        (seen.len() > 1).then_some(number)
    }

    fn partner(&self, sight: &Sight, key: u32) -> Option<usize> {
        let apart = |taken: &Taken| taken.decoded.abs_diff(sight.taken.decoded);
        let waiting = self.waiting[sight.side.other() as usize].iter().enumerate();
        let same =
            waiting.filter(|(_, (of, taken))| *of == key && (self.by == By::Event || apart(taken) <= ONE_COLOUR));
        same.min_by_key(|(_, (_, taken))| apart(taken)).map(|(at, _)| at)
    }

    fn expire(&mut self, now: Duration) {
        let patience = if self.by == By::Colour { ONE_COLOUR } else { PATIENCE };
        for (waiting, unpaired) in self.waiting.iter_mut().zip(&mut self.counts.unpaired) {
            while let Some((_, taken)) = waiting.front() {
                if waiting.len() <= MAX_WAITING && taken.decoded + patience >= now {
                    break;
                }
                waiting.pop_front();
                *unpaired += 1;
            }
        }
    }
}

impl Matcher for ByKey {
    fn take(&mut self, sight: &Sight, now: Duration, found: &mut VecDeque<Pair>) {
        if let Some(key) = self.key(sight) {
            let side = sight.side as usize;
            let partner = self.partner(sight, key);
            match partner.and_then(|at| self.waiting[sight.side.other() as usize].remove(at)) {
                Some((_, other)) => {
                    let [a, b] = if side == 0 {
                        [sight.taken, other]
                    } else {
                        [other, sight.taken]
                    };
                    self.counts.pair(&a, &b);
                    found.push_back(Pair {
                        by: self.by,
                        a,
                        b,
                        apart_us: 0,
                        same: true,
                    });
                }
                None => self.waiting[side].push_back((key, sight.taken)),
            }
        }
        self.expire(now);
    }

    fn finish(&mut self, now: Duration, _: &mut VecDeque<Pair>) {
        let settled = self.counts.settled(now);
        for (waiting, unpaired) in self.waiting.iter_mut().zip(&mut self.counts.unpaired) {
            *unpaired += waiting.drain(..).filter(|(_, taken)| taken.decoded < settled).count() as u64;
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
