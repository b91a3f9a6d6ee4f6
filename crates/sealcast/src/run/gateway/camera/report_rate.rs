//! Rate of the RTCP packets of its players that a viewer gateway may send.

use std::time::{Duration, Instant};

/// Time for each packet on average: 50 packets per second. A player sends a few per second and a gateway has at most
/// 64 players, most of which watch over TCP and report every few seconds.
const INTERVAL: Duration = Duration::from_millis(20);
/// Maximum number of packets at once, after a second without any.
const REPORT_BURST: u32 = 50;

/// The packets of one session: an average rate with bursts (the generic cell rate algorithm).
#[derive(Default)]
pub(super) struct ReportRate {
    /// Time until which the packets so far have used up the average rate.
    used_until: Option<Instant>,
}

impl ReportRate {
    /// Count a packet that came. False if it is one too many, which is to be dropped.
    pub(super) fn admits(&mut self, now: Instant) -> bool {
        let until = self.used_until.map_or(now, |until| until.max(now)) + INTERVAL;
        if until > now + INTERVAL * REPORT_BURST {
            return false;
        }
        self.used_until = Some(until);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_the_average_rate_and_silence_earns_no_more_than_a_burst() {
        let began = Instant::now();
        let mut rate = ReportRate::default();
        let mut admitted = |at: Duration, count: usize| (0..count).filter(|_| rate.admits(began + at)).count();
        assert_eq!(admitted(Duration::ZERO, 1000), 50);
        let steady: usize = (1..=1000).map(|ms| admitted(Duration::from_millis(ms), 10)).sum();
        assert_eq!(steady, 50);
        assert_eq!(admitted(Duration::from_secs(3600), 1000), 50);
    }
}
