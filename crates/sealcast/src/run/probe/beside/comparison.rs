//! One comparison of two ways: which pictures count, how they are paired, and what their differences say. It reads no
//! clock.

use std::collections::VecDeque;
use std::time::Duration;

use super::differences::{Differences, Judged};
use super::pairing::{By, Counts, Pair, Pairing, Side, Sight};

/// Pictures of this time after the first one do not count: a way may begin with pictures that were kept for who joins
/// late, as fast as they come, and a decoder with what it needs to start.
const SETTLING: Duration = Duration::from_secs(3);
/// After this time it is decided how pictures are paired, or later where none of the ways works by then.
const TRIAL: Duration = Duration::from_secs(10);
/// Interval at which it is looked at after that.
const LOOK: Duration = Duration::from_secs(1);
/// Share of the slower way's pictures that must have a partner.
pub(super) const MIN_SHARE: f64 = 0.6;
/// Number of pairs by which a way of pairing is known to work: of pictures, and of events.
const ENOUGH_PICTURES: usize = 20;
const ENOUGH_EVENTS: usize = 5;
/// Maximum of pairs that are kept of each way of pairing until one is chosen.
const MAX_UNDECIDED: usize = 1 << 14;
/// Rates that are no further apart than this are the same.
const SAME_RATE: f64 = 1.05;

/// Pictures of a side.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    first: Option<Duration>,
    last: Duration,
    count: u64,
}

impl Seen {
    /// Pictures a second; `None` before the second one.
    fn rate(&self) -> Option<f64> {
        let seconds = self.last.checked_sub(self.first?)?.as_secs_f64();
        (seconds > 0.0).then(|| (self.count - 1) as f64 / seconds)
    }
}

/// A comparison that goes on.
pub(super) struct Comparison {
    seen: [Seen; 2],
    /// When both sides had settled.
    began: Option<Duration>,
    looked: Duration,
    pairing: Pairing,
    chosen: Option<By>,
    /// Pairs of each way of pairing, until one is chosen.
    undecided: Vec<(By, VecDeque<Pair>)>,
    differences: Differences,
    decided: VecDeque<Pair>,
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finding {
    /// Pictures a second of both sides.
    pub(super) rates: [Option<f64>; 2],
    /// Time for which both sides were compared.
    pub(super) time: Duration,
    pub(super) verdict: Verdict,
}

/// The verdict of a comparison.
#[derive(Clone, Copy, Debug)]
pub(super) enum Verdict {
    Judged(By, Judged, Counts),
    /// There are too few pairs, or not for long enough.
    Short(u64),
    /// Too few pictures have a partner; the way of pairing that came furthest.
    Unpaired(Option<(By, Counts)>),
    /// A side gave no picture.
    Silent(Side),
}

impl Comparison {
    /// Pair in one of these ways.
    pub(super) fn new(ways: &[By]) -> Self {
        Self {
            seen: [Seen::default(); 2],
            began: None,
            looked: Duration::ZERO,
            pairing: Pairing::new(ways),
            chosen: None,
            undecided: ways.iter().map(|&by| (by, VecDeque::new())).collect(),
            differences: Differences::default(),
            decided: VecDeque::new(),
        }
    }

    /// Take what was seen in a picture.
    pub(super) fn take(&mut self, sight: &Sight) {
        let now = sight.taken.decoded;
        let seen = &mut self.seen[sight.side as usize];
        seen.first.get_or_insert(now);
        seen.count += 1;
        seen.last = seen.last.max(now);
        if self.began.is_none() {
            let settled = |seen: &Seen| seen.first.is_some_and(|first| first + SETTLING <= now);
            if !self.seen.iter().all(settled) {
                return;
            }
            self.began = Some(now);
            // What came before that, at any rate, is not counted either.
            for seen in &mut self.seen {
                (seen.first, seen.last, seen.count) = (Some(now), now, 1);
            }
        }
        self.pairing.take(sight);
        self.collect();
        if self.chosen.is_none() && now >= self.looked + LOOK {
            self.looked = now;
            if self.time() >= TRIAL {
                self.choose();
            }
        }
    }

    /// The next pair of the way of pairing that was chosen.
    pub(super) fn poll(&mut self) -> Option<Pair> {
        self.decided.pop_front()
    }

    /// Time for which both sides were compared so far.
    fn time(&self) -> Duration {
        let last = self.seen[0].last.max(self.seen[1].last);
        last.saturating_sub(self.began.unwrap_or(last))
    }

    /// Way in which pictures are paired, number of pairs so far, and the median difference in ms.
    pub(super) fn so_far(&self) -> Option<(By, u64, f64)> {
        Some((self.chosen?, self.differences.count(), self.differences.median()?))
    }

    /// No picture follows: poll again, and then [`judge`](Self::judge).
    pub(super) fn finish(&mut self) {
        self.pairing.finish();
        self.collect();
        if self.chosen.is_none() {
            self.choose();
        }
    }

    /// The result, after the end.
    pub(super) fn judge(&self) -> Finding {
        Finding {
            rates: self.seen.map(|seen| seen.rate()),
            time: self.time(),
            verdict: self.verdict(),
        }
    }

    fn verdict(&self) -> Verdict {
        let silent = |side: &Side| self.seen[*side as usize].count == 0;
        if let Some(side) = Side::BOTH.into_iter().find(silent) {
            return Verdict::Silent(side);
        }
        let all = || self.pairing.counts();
        let share = |counts: &Counts| counts.share();
        let furthest = all().max_by(|(_, a), (_, b)| share(a).total_cmp(&share(b)));
        let Some(by) = self.chosen else {
            let pairs = furthest.filter(|(_, counts)| share(counts) >= MIN_SHARE);
            return match pairs.filter(|_| self.time() < TRIAL) {
                Some((_, counts)) => Verdict::Short(counts.paired),
                None => Verdict::Unpaired(furthest),
            };
        };
        let Some((_, counts)) = all().find(|(of, _)| *of == by) else {
            return Verdict::Unpaired(None);
        };
        if counts.share() < MIN_SHARE {
            return Verdict::Unpaired(Some((by, counts)));
        }
        match self.differences.judge(self.half_step(by)) {
            Some(judged) => Verdict::Judged(by, judged, counts),
            None => Verdict::Short(counts.paired),
        }
    }

    /// Choose the surest way of pairing that works.
    fn choose(&mut self) {
        let enough = |by: By| match by {
            By::Clock | By::Content => ENOUGH_PICTURES,
            By::Event | By::Colour => ENOUGH_EVENTS,
        };
        let works = |(by, counts): &(By, Counts)| counts.share() >= MIN_SHARE && counts.paired >= enough(*by) as u64;
        let Some((by, _)) = self.pairing.counts().find(works) else {
            return;
        };
        self.chosen = Some(by);
        self.pairing.keep(by);
        let undecided = std::mem::take(&mut self.undecided);
        let own = undecided.into_iter().filter(|(of, _)| *of == by);
        own.flat_map(|(_, pairs)| pairs).for_each(|pair| self.decide(pair));
    }

    fn collect(&mut self) {
        while let Some(pair) = self.pairing.poll() {
            if self.chosen.is_some() {
                self.decide(pair);
                continue;
            }
            let of = self.undecided.iter_mut().find(|(by, _)| *by == pair.by);
            if let Some((_, pairs)) = of {
                if pairs.len() == MAX_UNDECIDED {
                    pairs.pop_front();
                }
                pairs.push_back(pair);
            }
        }
    }

    fn decide(&mut self, mut pair: Pair) {
        let same_rate = self.steps().is_none_or(|[a, b]| a.max(b) <= SAME_RATE * a.min(b));
        pair.same = match pair.by {
            By::Clock => pair.same,
            // At one rate the nearest picture is the same one.
            By::Content => pair.same || same_rate,
            By::Event | By::Colour => same_rate,
        };
        self.differences.take(&pair);
        self.decided.push_back(pair);
    }

    /// From picture to picture on each side, in ms.
    fn steps(&self) -> Option<[f64; 2]> {
        let step = |seen: &Seen| Some(1e3 / seen.rate().filter(|rate| *rate > 0.0)?);
        Some([step(&self.seen[0])?, step(&self.seen[1])?])
    }

    /// Greatest error of the nearest picture, in ms: half a step of the faster way; of an event, which is seen when the
    /// next picture of the slower way comes, half of that one's.
    fn half_step(&self, by: By) -> f64 {
        let [a, b] = self.steps().unwrap_or_default();
        match by {
            By::Clock | By::Content => a.min(b) / 2.0,
            By::Event | By::Colour => a.max(b) / 2.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pairing::{Shown, as_is, moving, shown};
    use super::*;

    const MS: u64 = 1_000;

    /// Finding on two ways, and the pairs that were given out.
    fn compared(ways: &[By], a: &Shown, b: &Shown, look: &dyn Fn(u64, Sight) -> Sight) -> (Finding, Vec<Pair>) {
        let mut all = shown(Side::A, a, look);
        all.extend(shown(Side::B, b, look));
        all.sort_by_key(|sight| sight.taken.decoded);
        let mut comparison = Comparison::new(ways);
        let mut pairs = Vec::new();
        for sight in &all {
            comparison.take(sight);
            pairs.extend(std::iter::from_fn(|| comparison.poll()));
        }
        comparison.finish();
        pairs.extend(std::iter::from_fn(|| comparison.poll()));
        (comparison.judge(), pairs)
    }

    fn later(delay: u64) -> Shown {
        Shown {
            delay: 100 * MS + delay,
            ..Shown::default()
        }
    }

    #[test]
    fn the_surest_way_of_pairing_that_works_is_chosen_and_its_pairs_are_given_out() {
        let stripless = || Shown {
            strip: false,
            ..Shown::default()
        };
        let both = [
            (Shown::default(), later(5 * MS), By::Clock),
            (stripless(), later(0), By::Content),
        ];
        for (a, b, expected) in both {
            let (finding, pairs) = compared(&By::ALL, &a, &b, &moving(0));
            let Verdict::Judged(by, judged, counts) = finding.verdict else {
                panic!("{finding:?}");
            };
            assert_eq!((by, judged.pairs, judged.step), (expected, pairs.len() as u64, 0.0));
            assert!(counts.share() > 0.95 && pairs.iter().all(|pair| pair.by == expected && pair.same));
            assert!(
                finding
                    .rates
                    .iter()
                    .all(|rate| (rate.expect("pictures") - 25.0).abs() < 0.2),
                "{finding:?}"
            );
            // The first three seconds do not count.
            assert!(pairs.iter().all(|pair| pair.a.number >= 72), "{:?}", pairs.first());
        }
    }

    #[test]
    fn an_event_at_other_rates_is_less_certain_by_half_a_step() {
        let b = Shown {
            step: 80 * MS,
            ..Shown::default()
        };
        let (finding, pairs) = compared(&[By::Event], &Shown::default(), &b, &as_is);
        let Verdict::Judged(By::Event, judged, _) = finding.verdict else {
            panic!("{finding:?}");
        };
        assert!(
            (judged.step - 40.0).abs() < 1.0 && pairs.iter().all(|pair| !pair.same),
            "{judged:?}"
        );
    }

    #[test]
    fn what_cannot_be_paired_or_did_not_last_is_no_finding() {
        let unlike = |taken: u64, sight: Sight| {
            let apart = if sight.side == Side::B { 4_000_000 * MS } else { 0 };
            moving(0)(taken + apart, sight)
        };
        let stripless = Shown {
            strip: false,
            ..Shown::default()
        };
        let (finding, pairs) = compared(&By::ALL, &stripless, &stripless, &unlike);
        assert!(
            matches!(finding.verdict, Verdict::Unpaired(Some(_))) && pairs.is_empty(),
            "{finding:?}"
        );
        let mut silent = Comparison::new(&By::ALL);
        let all = shown(Side::A, &Shown::default(), &as_is);
        all.iter().for_each(|sight| silent.take(sight));
        silent.finish();
        assert!(matches!(silent.judge().verdict, Verdict::Silent(Side::B)));
        let mut short = Comparison::new(&By::ALL);
        let mut all = all;
        all.extend(shown(Side::B, &Shown::default(), &as_is));
        all.sort_by_key(|sight| sight.taken.decoded);
        let first = all.iter().filter(|sight| sight.taken.decoded < Duration::from_secs(8));
        first.for_each(|sight| short.take(sight));
        short.finish();
        assert!(matches!(short.judge().verdict, Verdict::Short(pairs) if pairs > 100));
        assert_eq!(short.so_far().map(|(by, ..)| by), Some(By::Clock));
    }
}
