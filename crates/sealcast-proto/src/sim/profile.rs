//! Properties of a simulated link.

use std::time::Duration;

/// Longest packet that a link takes unless it stands for a byte stream, in bytes: the maximum of IP.
pub const MAX_PACKET: usize = 65_535;

/// Maximum delay and maximum jitter of a profile.
pub const MAX_DELAY: Duration = Duration::from_secs(3600);

/// Maximum number of outages of a profile.
pub const MAX_OUTAGES: usize = 100;

/// Default size of the queue in front of the rate limit: 256 KiB.
pub const DEFAULT_QUEUE: usize = 256 * 1024;

/// Properties of one direction of a link. The default is a perfect link, which delivers everything at once and in
/// order.
///
/// It is parsed from and printed as one line of words `key=value`, all of them optional: `delay=20ms jitter=5ms loss=2%
/// reorder=1% duplicate=0.1% corrupt=0.01% rate=5mbit queue=100ms mtu=1280 outage=10s+30s keep-order`. `burst=2%/4` is
/// an alternative to `loss`; `queue` also takes bytes (`64kB`, `64KiB`); `outage` may be repeated; `perfect`, which
/// must come first, resets everything to the default. Printed shares are rounded to a millionth of a percent.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkProfile {
    /// Delay of a packet. At most [`MAX_DELAY`].
    pub delay: Duration,
    /// Jitter: the delay of each packet is uniformly distributed from `delay - jitter` to `delay + jitter` (never below
    /// zero), as in netem without a distribution table. Packets may overtake each other. At most [`MAX_DELAY`].
    pub jitter: Duration,
    /// True to hold a packet back until those sent before it have arrived.
    pub keep_order: bool,
    /// Loss model. A lost packet uses none of the rate.
    pub loss: Loss,
    /// Share of the packets, 0 to 1, that skip delay and jitter and so arrive before others, as in netem. No effect
    /// without a delay. `keep_order` does not hold them back.
    pub reorder: f64,
    /// Share of the packets, 0 to 1, that are sent twice. Loss, corruption and delay of the copy are drawn separately.
    pub duplicate: f64,
    /// Share of the packets, 0 to 1, in which one bit is flipped.
    pub corrupt: f64,
    /// Rate limit in bits per second, counting each packet as it is given to the link; `None` for no limit.
    pub rate: Option<u64>,
    /// Size in bytes of the queue in front of the rate limit, without the packet being sent. Packets that do not fit
    /// are dropped (drop tail).
    pub queue: usize,
    /// Longest packet in bytes, counted as it is given to the link (a whole IP packet, or a datagram). Longer ones are
    /// dropped. The default is [`MAX_PACKET`]; it is larger only where the link stands for a byte stream.
    pub mtu: usize,
    /// Outages: start and length, on the clock of the link. Packets sent during one are lost.
    pub outages: Vec<(Duration, Duration)>,
}

/// Loss model of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// No loss.
    None,
    /// Each packet is lost with the same probability, 0 to 1.
    Random(f64),
    /// Bursts, after Gilbert's model: the link is good or bad, and loses every packet while it is bad. It begins good.
    Burst {
        /// Share of packets lost in the long run, from 0 to `mean_burst / (mean_burst + 1)`.
        mean_loss: f64,
        /// Mean number of packets lost in a row, 1 or more.
        mean_burst: f64,
    },
}

impl Default for LinkProfile {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Duration::ZERO,
            keep_order: false,
            loss: Loss::None,
            reorder: 0.0,
            duplicate: 0.0,
            corrupt: 0.0,
            rate: None,
            queue: DEFAULT_QUEUE,
            mtu: MAX_PACKET,
            outages: Vec::new(),
        }
    }
}

impl LinkProfile {
    /// Time that `bytes` take at the rate limit; zero without one.
    pub fn transmission(&self, bytes: usize) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        let nanoseconds = (bytes as u128) * 8 * 1_000_000_000 / u128::from(rate.max(1));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// True if an outage covers this time.
    pub fn is_out(&self, now: Duration) -> bool {
        let covers = |&(start, length): &(Duration, Duration)| start <= now && now < start.saturating_add(length);
        self.outages.iter().any(covers)
    }
}

impl Loss {
    /// The probability that the link turns bad before a packet, and the probability that it turns good again.
    pub(super) fn turns(self) -> (f64, f64) {
        match self {
            Self::None => (0.0, 1.0),
            // The fate of the next packet does not depend on this one's.
            Self::Random(loss) => (loss, 1.0 - loss),
            Self::Burst { mean_loss, mean_burst } => {
                let recovers = 1.0 / mean_burst.max(1.0);
                (recovers * mean_loss / (1.0 - mean_loss), recovers)
            }
        }
    }
}
