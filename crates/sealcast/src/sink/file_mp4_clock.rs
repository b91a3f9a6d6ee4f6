//! Decoding times of an MP4 file's pictures, which the format requires and frames do not carry.

use std::collections::VecDeque;

/// Ticks per second, a multiple of every usual frame rate.
pub(super) const TIMESCALE: u32 = 90_000;

/// A picture that stands this many ticks behind the newest one was not reordered: its clock went back.
const STRAY: u64 = 10 * TIMESCALE as u64;

/// Times of a picture in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) decoded: u64,
    pub(super) shown: u64,
}

/// Computes decoding times: the presentation times in ascending order. With reordered pictures (B pictures) a picture
/// is decoded when the smallest of the last few presentation times is due.
///
/// The decoding times of the first pictures, which have no such time before them, follow each other by a tick. So no
/// picture is shown before it is decoded, and none is shown late: an edit list, or offsets below zero, which say the
/// same, are not read alike by players (FFmpeg shows a fragmented file with the latter late against its sound).
#[derive(Debug)]
pub(super) struct DecodeClock {
    /// Presentation times that no picture has as its decoding time yet: as many as pictures may be reordered.
    waiting: VecDeque<u64>,
    /// Delay of the presentation times against their stamps, for the ticks between the first decoding times.
    lead: u64,
    /// The last decoding time.
    last: Option<u64>,
    /// The largest presentation time.
    newest: u64,
    /// The stamp of the picture before.
    before: Option<u64>,
    /// The last two intervals between pictures.
    intervals: [u64; 2],
    /// Decoding times to come that say nothing of the interval.
    squeezed: usize,
}

impl DecodeClock {
    /// A clock for pictures at this usual `interval`.
    pub(super) fn new(interval: u64) -> Self {
        Self {
            waiting: VecDeque::new(),
            lead: 0,
            last: None,
            newest: 0,
            before: None,
            intervals: [interval.max(1); 2],
            squeezed: 0,
        }
    }

    /// From here on so many pictures may be reordered before another one.
    pub(super) fn deepen(&mut self, depth: usize) {
        let first = self.last.map_or(0, |last| last + 1);
        let more = depth.saturating_sub(self.waiting.len());
        self.waiting.extend((first..).take(more));
        if more > 0 {
            self.squeezed = more + 1;
        }
        if self.last.is_none() {
            self.lead = depth as u64;
        }
    }

    /// True if decoding and presentation times may differ.
    fn reorders(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The usual interval between pictures. A single pause does not count.
    pub(super) fn interval(&self) -> u64 {
        self.intervals[0].min(self.intervals[1])
    }

    /// The time at which the picture that is shown last ends.
    pub(super) fn end(&self) -> u64 {
        self.newest + self.interval()
    }

    /// The times of the next picture.
    pub(super) fn place(&mut self, stamp: u64) -> Times {
        let shown = self.risen(stamp);
        if shown != stamp.saturating_add(self.lead) {
            self.squeezed = self.squeezed.max(1);
        }
        self.before = Some(stamp);
        self.newest = self.newest.max(shown);
        self.waiting.push_back(shown);
        let smallest = self.waiting.iter().enumerate().min_by_key(|(_, time)| **time);
        let smallest = smallest.map(|(at, _)| at).and_then(|at| self.waiting.remove(at));
        let smallest = smallest.unwrap_or(shown);
        let decoded = self.last.map_or(smallest, |last| smallest.max(last + 1));
        match self.last {
            _ if self.squeezed > 0 => self.squeezed -= 1,
            Some(last) => self.intervals = [self.intervals[1], decoded - last],
            None => {}
        }
        self.last = Some(decoded);
        Times { decoded, shown }
    }

    /// The presentation time of a picture with this stamp. Where a camera's clock stands or goes back, pictures follow
    /// at their usual interval, and at half of it until its stamps are beyond theirs again: none is lost or flashes.
    fn risen(&self, stamp: u64) -> u64 {
        let (shown, newest) = (stamp.saturating_add(self.lead), self.newest);
        let Some(before) = self.before else { return shown };
        let taken = match self.reorders() {
            false => shown <= newest,
            true => stamp == before || self.waiting.contains(&shown) || newest.saturating_sub(shown) > STRAY,
        };
        match taken {
            false => shown,
            true if stamp > before => newest + self.interval().div_ceil(2),
            true => newest + self.interval(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(depth: usize) -> DecodeClock {
        let mut clock = DecodeClock::new(10);
        clock.deepen(depth);
        clock
    }

    fn times(clock: &mut DecodeClock, stamps: &[u64]) -> (Vec<u64>, Vec<u64>) {
        let times = stamps.iter().map(|stamp| clock.place(*stamp));
        times.map(|times| (times.decoded, times.shown)).unzip()
    }

    #[test]
    fn decoding_times_rise_and_no_picture_is_shown_before_its_own() {
        // I P B B: presented in the order 0 3 1 2.
        let mut clock = clock(2);
        let (decoded, shown) = times(&mut clock, &[0, 30, 10, 20, 60, 40, 50]);
        assert_eq!(decoded, [0, 1, 2, 12, 22, 32, 42]);
        assert_eq!(shown, [2, 32, 12, 22, 62, 42, 52]);
        assert_eq!(clock.end(), 72);
    }

    #[test]
    fn pictures_that_are_reordered_only_later_are_not_shown_before_they_are_decoded() {
        let mut clock = clock(0);
        times(&mut clock, &[0, 10, 20]);
        clock.deepen(2);
        let (decoded, shown) = times(&mut clock, &[30, 60, 40, 50, 90, 70, 80]);
        assert_eq!(decoded, [21, 22, 30, 40, 50, 60, 70]);
        assert_eq!(shown, [30, 60, 40, 50, 90, 70, 80]);
    }

    #[test]
    fn a_clock_that_stands_or_goes_back_loses_no_picture_and_no_length() {
        let mut standing = clock(0);
        assert_eq!(times(&mut standing, &[5; 4]).0, [5, 15, 25, 35]);
        assert_eq!(standing.end(), 45);
        let mut reordered = clock(2);
        let (decoded, shown) = times(&mut reordered, &[5; 5]);
        assert_eq!(decoded, [0, 1, 7, 17, 27]);
        assert_eq!(shown, [7, 17, 27, 37, 47]);
        // One stamp twice is caught up with.
        let stamps = [0, 10, 10, 22, 30, 40];
        assert_eq!(times(&mut clock(0), &stamps).0, [0, 10, 20, 22, 30, 40]);
        let back = [100, 110, 50, 60, 70];
        assert_eq!(times(&mut clock(0), &back).0, [100, 110, 120, 125, 130]);
    }

    #[test]
    fn a_pause_is_not_how_long_the_last_picture_lasts() {
        let mut clock = clock(0);
        times(&mut clock, &[0, 10, 20, 920]);
        assert_eq!(clock.end(), 930);
        let mut slow = DecodeClock::new(10);
        times(&mut slow, &[0, 100, 200]);
        assert_eq!(slow.end(), 300);
    }
}
