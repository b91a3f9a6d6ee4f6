//! What a simulated link does to packets.

use std::time::Duration;

/// The longest packet that any link takes: the longest of IP.
pub const MAX_PACKET: usize = 65_535;

/// The longest delay and the longest jitter that a profile may ask for.
pub const MAX_DELAY: Duration = Duration::from_secs(3600);

/// The most outages that a profile may hold.
pub const MAX_OUTAGES: usize = 100;

/// Bytes that may wait before the rate limit where a profile does not say: 256 KiB.
pub const DEFAULT_QUEUE: usize = 256 * 1024;

/// What one direction of a link does. The default is a perfect link: at once, everything, in order.
///
/// It parses from and prints to one line of words, each `key=value`, all of them optional:
/// `delay=20ms jitter=5ms loss=2% reorder=1% duplicate=0.1% corrupt=0.01% rate=5mbit queue=100ms mtu=1280
/// outage=10s+30s keep-order`; `burst=2%/4` stands in for `loss`; `queue` also takes bytes (`64kB`, `64KiB`); `outage`
/// may come several times; `perfect` puts everything back to the default. Printed shares are rounded to a millionth of
/// a percent.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkProfile {
    /// How long a packet is under way. At most [`MAX_DELAY`].
    pub delay: Duration,
    /// Each packet's delay is drawn evenly from `delay - jitter` to `delay + jitter` (never below zero), as netem does
    /// it without a table. Packets may overtake each other. At most [`MAX_DELAY`].
    pub jitter: Duration,
    /// Hold a packet back until those sent before it have arrived.
    pub keep_order: bool,
    /// Which packets are lost. A lost packet takes nothing of the rate.
    pub loss: Loss,
    /// Share of the packets, 0 to 1, that skip delay and jitter and so arrive before others, as in netem. It does
    /// nothing without a delay. `keep_order` does not hold them.
    pub reorder: f64,
    /// Share of the packets, 0 to 1, that are sent twice. The copy meets loss and delay of its own.
    pub duplicate: f64,
    /// Share of the packets, 0 to 1, in which one bit is turned over.
    pub corrupt: f64,
    /// Bits per second, counting the packet as it is handed in; none is no limit.
    pub rate: Option<u64>,
    /// Bytes that may wait before the rate limit, the packet that is being sent not among them. What does not fit is
    /// dropped (drop tail).
    pub queue: usize,
    /// Longest packet in bytes, counted as it is handed in (a whole IP packet, or a datagram). Longer ones are dropped.
    /// [`MAX_PACKET`] unless said otherwise; more only where the link stands for a byte stream.
    pub mtu: usize,
    /// Start and length, on the clock of the link: packets that are sent meanwhile are lost.
    pub outages: Vec<(Duration, Duration)>,
}

/// Which packets a link loses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// Each with the same probability, 0 to 1.
    Random(f64),
    /// In bursts, by the model of Gilbert: the link is good or bad, and loses every packet while it is bad. It begins
    /// good.
    Burst {
        /// The share that is lost in the long run, from 0 to `mean_burst / (mean_burst + 1)`.
        mean_loss: f64,
        /// How many packets in a row are lost on average; 1 or more.
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
    /// How long `bytes` take at the rate; nothing where there is no limit.
    pub fn transmission(&self, bytes: usize) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        let nanoseconds = (bytes as u128) * 8 * 1_000_000_000 / u128::from(rate.max(1));
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Whether an outage covers this time.
    pub fn is_out(&self, now: Duration) -> bool {
        let covers = |&(start, length): &(Duration, Duration)| start <= now && now < start.saturating_add(length);
        self.outages.iter().any(covers)
    }
}

impl Loss {
    /// The probabilities that a link turns bad before a packet, and that it turns good again.
    pub(super) fn turns(self) -> (f64, f64) {
        match self {
            Self::None => (0.0, 1.0),
            // The next packet's fate does not depend on this one's.
            Self::Random(loss) => (loss, 1.0 - loss),
            Self::Burst { mean_loss, mean_burst } => {
                let recovers = 1.0 / mean_burst.max(1.0);
                (recovers * mean_loss / (1.0 - mean_loss), recovers)
            }
        }
    }
}
