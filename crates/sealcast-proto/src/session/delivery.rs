//! Settings for the delivery of media on carriers that lose some of it.

use std::time::Duration;

use crate::rate::RateConfig;
use crate::repair::{PathLoss, RepairPolicy, max_repairs};

/// Default budget: how much later than on the fastest path a frame may be.
pub const DEFAULT_BUDGET: Duration = Duration::from_millis(120);
/// The longest budget.
pub const MAX_BUDGET: Duration = Duration::from_secs(10);

/// Forward error correction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fec {
    /// None.
    Off,
    /// Adapted to the measured loss, 0 to 50 %.
    #[default]
    Adaptive,
    /// This percentage of a frame's records, at most 50, rounded up.
    Fixed(u8),
}

impl Fec {
    /// Number of repair symbols for a block on this path.
    pub(crate) fn repairs(self, sources: usize, path: &PathLoss, policy: &mut RepairPolicy) -> usize {
        match self {
            Self::Off => 0,
            Self::Fixed(percent) => (sources * usize::from(percent)).div_ceil(100).min(max_repairs(sources)),
            Self::Adaptive => policy.repairs(sources, path),
        }
    }
}

/// Longest datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mtu {
    /// [`BASE_DATAGRAM`](crate::wire::BASE_DATAGRAM), or more if the path is found to carry it.
    #[default]
    Discover,
    /// This many bytes of UDP payload.
    Fixed(usize),
}

/// Delivery of media. The publisher chooses all settings not marked as the viewer's; each policy can be switched off
/// for measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Viewer: how much later than on the fastest path a frame may be; zero never waits.
    pub budget: Duration,
    /// Repair symbols.
    pub fec: Fec,
    /// True if records that the viewer asks for are sent again.
    pub nack: bool,
    /// The bounds within which the sending rate follows the path's capacity; `None` to send without a rate limit.
    pub rate: Option<RateConfig>,
    /// True if long frames are spread over time.
    pub pace: bool,
    /// Longest datagram.
    pub mtu: Mtu,
    /// Connecting end: true if it knows other addresses of the peer.
    pub has_others: bool,
    /// Viewer: true if frames carry [the arrival of their units](crate::unit::AssembledFrame::units).
    pub tell_units: bool,
    /// Viewer: true if frames carry [their records as they came](crate::unit::AssembledFrame::sealed).
    pub keep_sealed: bool,
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
            has_others: false,
            tell_units: false,
            keep_sealed: false,
        }
    }
}
