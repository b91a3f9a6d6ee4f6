//! A camera's key chains of TESLA, one after the other (signatures.md §6).

use std::collections::VecDeque;
use std::time::Duration;

use super::statement::Statement;
use super::tesla::{TeslaEnded, TeslaSender};
use super::tesla_messages::{MAX_INTERVALS, TeslaPlan, TeslaTag};
use crate::clock::Now;
use crate::keys::Identity;

/// Times of a camera's key chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TeslaTimes {
    /// Length of an interval, 1 ms to 10 s.
    pub interval: Duration,
    /// Number of intervals after which a key is disclosed, at least 1.
    pub delay: u8,
    /// Number of intervals of each chain, from four times the delay to [`MAX_INTERVALS`].
    pub intervals: u32,
}

impl Default for TeslaTimes {
    /// Half a second until proof, for paths and clocks that together err by 400 ms, and a new chain every five minutes.
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(100),
            delay: 5,
            intervals: 4096,
        }
    }
}

impl TeslaTimes {
    /// A plan that begins at `start`; `None` if these are out of their bounds.
    fn plan(&self, stream: u16, start: u64) -> Option<TeslaPlan> {
        let plan = TeslaPlan {
            stream,
            delay: self.delay,
            intervals: self.intervals,
            start,
            length: u64::try_from(self.interval.as_nanos()).ok()?,
        };
        let long = self.intervals >= 4 * u32::from(self.delay) && self.intervals <= MAX_INTERVALS;
        (plan.is_valid() && long).then_some(plan)
    }

    /// True if they are within their bounds.
    pub fn are_valid(&self) -> bool {
        self.plan(1, 0).is_some()
    }
}

struct Chain {
    sender: TeslaSender,
    commitment: Vec<u8>,
}

/// Draws a camera's key chains and tags its frames. Each chain begins where the one before ends, and is announced while
/// a quarter of that is left.
pub struct TeslaCamera {
    stream: u16,
    times: TeslaTimes,
    /// The one before, as long as its keys are disclosed, the present, and the next.
    chains: VecDeque<Chain>,
    /// When the next chain is to be drawn, on the monotonic clock.
    due: Duration,
}

impl TeslaCamera {
    /// A camera without a chain. `None` if the times are not [valid](TeslaTimes::are_valid).
    pub fn new(stream: u16, times: TeslaTimes) -> Option<Self> {
        times.plan(stream, 0)?;
        Some(Self {
            stream,
            times,
            chains: VecDeque::new(),
            due: Duration::ZERO,
        })
    }

    /// When [`renew`](Self::renew) is to be called, on the monotonic clock.
    pub fn due(&self) -> Duration {
        self.due
    }

    /// Draws a chain of 32 fresh random bytes if one is due, and forgets those that are over. Returns true if there is
    /// a new commitment, which viewers must have before the first frame that is tagged with it.
    pub fn renew(&mut self, now: Now, identity: &Identity, random: [u8; 32]) -> bool {
        let delay = self.nanos(self.times.delay.into());
        self.chains
            .retain(|chain| chain.sender.plan().end().saturating_add(delay) > now.wall);
        let ahead = self.nanos(u64::from(self.times.intervals) / 4);
        let covers = |plan: &TeslaPlan| plan.start <= now.wall && now.wall < plan.end();
        if !self.chains.iter().any(|chain| covers(chain.sender.plan())) {
            // Nothing was tagged for so long, or the clock was set.
            self.chains.clear();
        }
        let newest = self.chains.back().map(|chain| *chain.sender.plan());
        if newest.is_some_and(|plan| now.wall.saturating_add(ahead) < plan.end()) {
            return false;
        }
        let start = newest.map_or(now.wall, |plan| plan.end());
        let plan = self.times.plan(self.stream, start);
        let Some(sender) = plan.and_then(|plan| TeslaSender::new(plan, random)) else {
            return false;
        };
        let left = sender.plan().end().saturating_sub(ahead).saturating_sub(now.wall);
        self.due = now.monotonic + Duration::from_nanos(left);
        self.chains.push_back(Chain {
            commitment: sender.commitment(identity).to_bytes(),
            sender,
        });
        true
    }

    /// The commitments of the present chain and of the next, in this order: what who comes now must know.
    pub fn commitments(&self, now: Now) -> impl Iterator<Item = &[u8]> {
        let goes_on = move |chain: &&Chain| chain.sender.plan().end() > now.wall;
        self.chains.iter().filter(goes_on).map(|chain| &chain.commitment[..])
    }

    /// The tag of a frame that is sent now.
    ///
    /// # Errors
    /// [`TeslaEnded`]: no chain was drawn for this time.
    pub fn tag(&self, now: Now, statement: &Statement) -> Result<TeslaTag, TeslaEnded> {
        let is_over = |chain: &Chain| chain.sender.plan().end() <= now.wall;
        let at = self.chains.iter().take_while(|chain| is_over(chain)).count();
        let chain = self.chains.get(at).ok_or(TeslaEnded)?;
        let before = at.checked_sub(1).and_then(|before| self.chains.get(before));
        chain
            .sender
            .tag_after(before.map(|before| &before.sender), now.wall, statement)
    }

    fn nanos(&self, intervals: u64) -> u64 {
        u64::try_from(self.times.interval.as_nanos())
            .unwrap_or(u64::MAX)
            .saturating_mul(intervals)
    }
}
