//! Packet loss: its share, the lengths of its bursts, and whether the sender causes it.

use std::time::Duration;

/// Weight of one packet in the reported share: it averages over about a second at 1 Mbit/s.
const SHARE_WEIGHT: f64 = 1.0 / 128.0;
/// Weight of one packet in the evidence that the sender causes the loss. It is small, so that a short fade of a radio
/// link is not evidence.
const EVIDENCE_WEIGHT: f64 = 1.0 / 1024.0;
/// Weight of one burst in the mean burst length.
const BURST_WEIGHT: f64 = 1.0 / 16.0;
/// Longest burst that is counted in full.
const MAX_BURST: u32 = 1024;
/// Loss above the background loss that is tolerated before it counts as congestion.
const LOSS_TOLERATED: f64 = 0.1;
/// If more than this share of the loss remains after the rate was cut, the rate did not cause it.
const UNMOVED: f64 = 0.5;
/// Smallest and largest allowance for reordering.
const ALLOWANCE_MIN: Duration = Duration::from_millis(20);
const ALLOWANCE_MAX: Duration = Duration::from_millis(250);
/// Number of packets without a late one after which the allowance is halved.
const ALLOWANCE_MEMORY: u32 = 4096;

/// Statistics of lost packets.
pub(super) struct Loss {
    share: f64,
    evidence: f64,
    /// The link's own loss: loss that did not decrease when the rate did.
    background: f64,
    /// The loss for which the rate was last cut.
    at_cut: Option<f64>,
    /// Packets, and lost packets among them, since the last call of `cut`.
    since: (u32, u32),
    run: u32,
    mean_burst: f64,
    allowance: Duration,
    in_order: u32,
}

impl Default for Loss {
    fn default() -> Self {
        Self {
            share: 0.0,
            evidence: 0.0,
            background: 0.0,
            at_cut: None,
            since: (0, 0),
            run: 0,
            mean_burst: 1.0,
            allowance: ALLOWANCE_MIN,
            in_order: 0,
        }
    }
}

impl Loss {
    /// Records the fate of the next packet, in the order of sending.
    pub(super) fn settle(&mut self, lost: bool) {
        let value = if lost { 1.0 } else { 0.0 };
        self.share += (value - self.share) * SHARE_WEIGHT;
        self.evidence += (value - self.evidence) * EVIDENCE_WEIGHT;
        self.background = self.background.min(self.evidence);
        self.since = (
            self.since.0.saturating_add(1),
            self.since.1.saturating_add(u32::from(lost)),
        );
        if lost {
            self.run = (self.run + 1).min(MAX_BURST);
        } else if self.run > 0 {
            self.mean_burst += (f64::from(self.run) - self.mean_burst) * BURST_WEIGHT;
            self.run = 0;
        }
        self.in_order += 1;
        if self.in_order == ALLOWANCE_MEMORY {
            self.in_order = 0;
            self.allowance = (self.allowance / 2).max(ALLOWANCE_MIN);
        }
    }

    /// Records that a packet arrived `after` a later one had been seen.
    pub(super) fn came_late(&mut self, after: Duration) {
        // A quarter more, since the next one may be later still.
        let wanted = after.saturating_add(after / 4).min(ALLOWANCE_MAX);
        if wanted >= self.allowance / 2 {
            self.in_order = 0;
        }
        self.allowance = self.allowance.max(wanted);
    }

    /// Time for which a packet may be overtaken before it counts as lost (the reordering window of RFC 8298).
    pub(super) fn allowance(&self) -> Duration {
        self.allowance
    }

    pub(super) fn share(&self) -> f64 {
        self.share
    }

    pub(super) fn mean_burst(&self) -> f64 {
        self.mean_burst.max(1.0)
    }

    /// Share of the packets that is lost at any rate.
    pub(super) fn background(&self) -> f64 {
        self.background
    }

    /// True if the loss is now above what is tolerated. The rate must not grow then.
    pub(super) fn heavy(&self) -> bool {
        self.share > self.background + LOSS_TOLERATED
    }

    /// True if heavy loss has lasted for a while.
    pub(super) fn lasting(&self) -> bool {
        self.heavy() && self.evidence > self.background + LOSS_TOLERATED / 2.0
    }

    /// True while the effect of a cut is being observed. The rate must not grow meanwhile.
    pub(super) fn watching(&self) -> bool {
        self.at_cut.is_some()
    }

    /// Returns the factor by which the rate must be cut, if it must be. `queue` is true if packets queue on the path.
    /// Called every two seconds, so that the effect of the last cut can show.
    pub(super) fn cut(&mut self, queue: bool) -> Option<f64> {
        let (packets, lost) = std::mem::take(&mut self.since);
        let since = f64::from(lost) / f64::from(packets.max(1));
        let limit = self.background + LOSS_TOLERATED;
        if since <= limit || self.evidence <= limit {
            self.at_cut = None;
            return None;
        }
        if !queue && self.at_cut.is_some_and(|before| since > before * UNMOVED) {
            // Less was sent and as much was lost: it is the link's own loss.
            self.background = self.evidence.min(since);
            self.at_cut = None;
            return None;
        }
        self.at_cut = Some(since);
        Some(1.0 - (since - self.background))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settles `count` packets: the first `burst` of every `every` packets are lost.
    fn settle(loss: &mut Loss, count: u32, every: u32, burst: u32) {
        for number in 0..count {
            loss.settle(number % every < burst);
        }
    }

    #[test]
    fn share_and_mean_burst_come_near_the_truth() {
        let mut loss = Loss::default();
        settle(&mut loss, 10_000, 100, 1);
        assert!((loss.share() - 0.01).abs() < 0.005 && loss.mean_burst() == 1.0);
        settle(&mut loss, 10_000, 100, 5);
        assert!((loss.share() - 0.05).abs() < 0.03, "{}", loss.share());
        assert!((loss.mean_burst() - 5.0).abs() < 0.1, "{}", loss.mean_burst());
    }

    #[test]
    fn loss_that_does_not_give_way_becomes_background() {
        let mut loss = Loss::default();
        settle(&mut loss, 5000, 4, 1);
        assert!(loss.cut(false).is_some_and(|part| part < 0.8));
        settle(&mut loss, 400, 4, 1);
        assert_eq!(loss.cut(false), None);
        assert!(!loss.heavy() && (loss.background() - 0.25).abs() < 0.02);
        settle(&mut loss, 10_000, 100, 1);
        assert!(loss.background() < 0.02, "it is forgotten when the link gets better");
    }

    #[test]
    fn loss_that_gives_way_is_cut_again_when_it_comes_back() {
        let mut loss = Loss::default();
        settle(&mut loss, 5000, 4, 1);
        assert!(loss.cut(false).is_some());
        settle(&mut loss, 500, 100, 0);
        assert_eq!(loss.cut(false), None);
        settle(&mut loss, 2000, 4, 1);
        assert!(loss.cut(false).is_some());
    }

    #[test]
    fn the_allowance_follows_the_reordering_and_falls_back() {
        let mut loss = Loss::default();
        loss.came_late(Duration::from_millis(80));
        assert_eq!(loss.allowance(), Duration::from_millis(100));
        loss.came_late(Duration::from_secs(10));
        assert_eq!(loss.allowance(), ALLOWANCE_MAX);
        settle(&mut loss, 10 * ALLOWANCE_MEMORY, 100, 0);
        assert_eq!(loss.allowance(), ALLOWANCE_MIN);
    }
}
