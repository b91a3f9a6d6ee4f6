//! How media is delivered on carriers that lose some of it.

use std::time::Duration;

use crate::rate::RateConfig;

/// How much later than the fastest path a frame may be by default.
pub const DEFAULT_BUDGET: Duration = Duration::from_millis(120);
/// The longest budget.
pub const MAX_BUDGET: Duration = Duration::from_secs(10);

/// Forward error correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fec {
    /// None.
    Off,
    /// As much as the measured loss asks for, 0 to 50 %.
    #[default]
    Adaptive,
    /// This many hundredths of a frame's records, at most 50, rounded up.
    Fixed(u8),
}

/// How long a datagram may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mtu {
    /// [`BASE_DATAGRAM`](crate::wire::BASE_DATAGRAM), or what the path is found to carry.
    #[default]
    Discover,
    /// So many bytes of UDP payload.
    Fixed(usize),
}

/// How media is delivered. All but what is said to be the viewer's is the publisher's to choose; each policy can be
/// switched off for measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Viewer: how much later than the fastest path a frame may be; zero never waits.
    pub budget: Duration,
    /// Repair symbols.
    pub fec: Fec,
    /// Whether what the viewer asks for is sent again.
    pub nack: bool,
    /// The bounds within which the sending rate follows what the path carries; none to send regardless.
    pub rate: Option<RateConfig>,
    /// Whether long frames are spread over time.
    pub pace: bool,
    /// How long a datagram may be.
    pub mtu: Mtu,
    /// Viewer: whether frames tell [how their units came](crate::unit::AssembledFrame::units).
    pub tell_units: bool,
}

impl Default for Delivery {
    fn default() -> Self {
        Self {
            budget: DEFAULT_BUDGET,
            fec: Fec::default(),
            nack: true,
            rate: Some(RateConfig::default()),
            pace: true,
            mtu: Mtu::default(),
            tell_units: false,
        }
    }
}
