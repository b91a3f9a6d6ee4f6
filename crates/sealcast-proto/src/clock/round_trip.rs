//! The smoothed round-trip time.

use std::time::Duration;

/// Round-trip time, smoothed as in TCP (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Smoothed round-trip time (SRTT).
    pub smoothed: Duration,
    /// Mean deviation of a single round trip from that (RTTVAR).
    pub variation: Duration,
    /// The shortest single one. Nobody on the path can shorten it, or stretch it once it was measured.
    pub shortest: Duration,
}

impl RoundTrip {
    /// Initialises the estimates from the first exchange.
    pub(super) fn first(latest: Duration) -> Self {
        Self {
            smoothed: latest,
            variation: latest / 2,
            shortest: latest,
        }
    }

    /// Updates the estimates with another exchange.
    pub(super) fn and(self, latest: Duration) -> Self {
        Self {
            smoothed: (self.smoothed * 7 + latest) / 8,
            variation: (self.variation * 3 + self.smoothed.abs_diff(latest)) / 4,
            shortest: self.shortest.min(latest),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_round_trip_and_how_it_varies_are_those_of_rfc_6298() {
        let mut seen = None::<RoundTrip>;
        let mut after = |nanos| {
            let latest = Duration::from_nanos(nanos);
            let next = seen.map_or(RoundTrip::first(latest), |seen| seen.and(latest));
            seen = Some(next);
            (
                next.smoothed.as_nanos(),
                next.variation.as_nanos(),
                next.shortest.as_nanos(),
            )
        };
        assert_eq!(after(8_000), (8_000, 4_000, 8_000));
        assert_eq!(after(16_000), (9_000, 5_000, 8_000));
        assert_eq!(after(9_000), (9_000, 3_750, 8_000));
    }
}
