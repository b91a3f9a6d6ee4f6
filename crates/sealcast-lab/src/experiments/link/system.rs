//! The systems that carry the frames.

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

/// The viewer's latency budget, for all systems.
pub const BUDGET: Duration = Duration::from_millis(120);

/// The program or protocol that carries the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// This program's publisher and viewer.
    Sealcast,
    /// `srt-live-transmit` at both ends.
    Srt,
    /// RTP over UDP, without repairs.
    Rtp,
}

/// A system, as its ends need to know it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// The program or protocol that carries the frames.
    pub carrier: Carrier,
    /// Options of its URL, such as `fec=auto&nack=on`.
    #[serde(default)]
    pub options: String,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sealcast => "sealcast",
            Self::Srt => "srt",
            Self::Rtp => "rtp",
        })
    }
}
