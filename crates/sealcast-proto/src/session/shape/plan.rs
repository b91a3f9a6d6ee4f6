//! Plan of a constant rate: how many cells of which size, and when.

use std::time::Duration;

use crate::wire::{CellPlan, LENGTH_PREFIX, MAX_CELL, MIN_CELL};

/// Rates that can be kept, in bit/s.
pub const RATES: std::ops::RangeInclusive<u64> = 64_000..=200_000_000;

/// Bytes around a cell on the wire: the length on a byte stream, the connection in a datagram. Both have 4 bytes, so
/// a rate is the same on both.
const AROUND: usize = LENGTH_PREFIX;
/// Time between two ticks that is aimed at: a frame waits half of it on average, and each tick wakes both ends.
const AIM: Duration = Duration::from_millis(5);
/// Below this rate cells get shorter rather than ticks longer than twice [`AIM`].
const LONGEST: Duration = Duration::from_millis(10);
/// The viewer sends one cell of the shortest length at each of its ticks,
const REPLY_SIZE: usize = MIN_CELL;
/// and so seldom that this is at most an eighth of the publisher's rate,
const REPLY_SHARE: u64 = 8;
/// but not more often, nor more seldom, than this.
const REPLY_TICKS: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(250)];

/// The cells of both ends of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShapePlan {
    /// Those of the publisher.
    pub publisher: CellPlan,
    /// Those of the viewer.
    pub viewer: CellPlan,
}

/// Time in which `bytes` leave at `rate` bit/s.
fn time(bytes: usize, rate: u64) -> Duration {
    Duration::from_nanos(bytes as u64 * 8 * 1_000_000_000 / rate)
}

impl ShapePlan {
    /// The plan of a publisher that sends `rate` bit/s, everything counted from the length or connection before each
    /// record to its tag, but not the headers of TCP, UDP and IP. `None` for a rate outside [`RATES`].
    pub fn constant(rate: u64) -> Option<Self> {
        if !RATES.contains(&rate) {
            return None;
        }
        let longest = MAX_CELL + AROUND;
        let (cells, length) = if time(longest, rate) > LONGEST {
            let bytes = rate as u128 * LONGEST.as_nanos() / 8 / 1_000_000_000;
            (1, (bytes as usize).clamp(MIN_CELL + AROUND, longest))
        } else {
            let each = time(longest, rate).as_nanos();
            (((AIM.as_nanos() + each / 2) / each).max(1) as usize, longest)
        };
        let plan = |tick, cells: usize, length: usize| CellPlan {
            tick,
            cells: cells as u16,
            size: (length - AROUND) as u16,
        };
        let reply = REPLY_SIZE + AROUND;
        let [soonest, latest] = REPLY_TICKS;
        let reply_tick = time(reply, rate / REPLY_SHARE).clamp(soonest, latest);
        Some(Self {
            publisher: plan(time(cells * length, rate), cells, length),
            viewer: plan(reply_tick, 1, reply),
        })
    }

    /// Bytes of framed records per second that the publisher's cells carry.
    pub fn carries(&self) -> u64 {
        let tick = self.publisher.room() as u128 * u128::from(self.publisher.cells);
        (tick * 1_000_000_000 / self.publisher.tick.as_nanos().max(1)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_is_kept_by_equal_cells_within_the_bounds() {
        let mut rate = *RATES.start();
        while rate <= *RATES.end() {
            let plan = ShapePlan::constant(rate).expect("within the bounds");
            let CellPlan { tick, cells, size } = plan.publisher;
            assert!(plan.publisher.is_valid() && plan.viewer.is_valid(), "{rate}: {plan:?}");
            let bits = u128::from(cells) * (u128::from(size) + AROUND as u128) * 8 * 1_000_000_000;
            let sent = bits / tick.as_nanos();
            assert!(
                sent.abs_diff(rate.into()) * 1_000_000 <= u128::from(rate),
                "{rate}: {sent}"
            );
            let back = (REPLY_SIZE + AROUND) as u128 * 8 * 1_000_000_000 / plan.viewer.tick.as_nanos();
            let most = u128::from(rate / 8).max(15_000);
            assert!(back <= most + 1, "{rate}: the viewer sends {back}");
            rate += rate / 7;
        }
        assert_eq!(ShapePlan::constant(63_999), None);
        assert_eq!(ShapePlan::constant(200_000_001), None);
    }

    #[test]
    fn three_quarters_of_the_rate_fit_the_cells_with_their_records() {
        for rate in [100_000, 500_000, 2_000_000, 20_000_000, 200_000_000] {
            let carried = ShapePlan::constant(rate).expect("within the bounds").carries();
            assert!(carried * 8 >= rate / 100 * 88, "{rate}: {carried} bytes a second");
        }
    }
}
