//! What is compared, and where.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;

/// How long a packet is under way, in both directions: 40 ms of round trip.
pub const ONE_WAY: Duration = Duration::from_millis(20);
/// Packets lost in a row where losses come in bursts, on average.
const MEAN_BURST: u32 = 4;

/// What carries the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum System {
    /// sealcast without any repair.
    SealcastNone,
    /// sealcast with repair symbols alone.
    SealcastFec,
    /// sealcast that sends again what is asked for, without repair symbols.
    SealcastNack,
    /// sealcast as it is by default: with both.
    Sealcast,
    /// `srt-live-transmit` on both ends.
    Srt,
    /// The same with AES-256.
    SrtAes,
    /// RTP over UDP, nothing repaired.
    Rtp,
}

impl System {
    /// All, in the order of the table.
    pub const ALL: [Self; 7] = [
        Self::SealcastNone,
        Self::SealcastFec,
        Self::SealcastNack,
        Self::Sealcast,
        Self::Srt,
        Self::SrtAes,
        Self::Rtp,
    ];

    /// The name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::SealcastNone => "sealcast-none",
            Self::SealcastFec => "sealcast-fec",
            Self::SealcastNack => "sealcast-nack",
            Self::Sealcast => "sealcast",
            Self::Srt => "srt",
            Self::SrtAes => "srt-aes",
            Self::Rtp => "rtp",
        }
    }

    /// What sealcast's publisher is told of repair; none for other systems.
    pub(super) fn repair(self) -> Option<&'static str> {
        match self {
            Self::SealcastNone => Some("fec=off&nack=off"),
            Self::SealcastFec => Some("fec=auto&nack=off"),
            Self::SealcastNack => Some("fec=off&nack=on"),
            Self::Sealcast => Some("fec=auto&nack=on"),
            Self::Srt | Self::SrtAes | Self::Rtp => None,
        }
    }

    /// Whether `srt-live-transmit` carries it.
    pub(super) fn is_srt(self) -> bool {
        matches!(self, Self::Srt | Self::SrtAes)
    }
}

impl fmt::Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for System {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|system| system.name() == text);
        known.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.map(Self::name).into();
            let what = format!("`{text}` is no system that is compared");
            Failure::new(FailureKind::Usage, what, format!("choose among {}", names.join(", ")))
        })
    }
}

/// What the link does: so many percent lost, each packet by itself or in bursts.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Point {
    /// Percent of packets lost, each way.
    pub percent: f64,
    /// Whether four in a row are lost on average, rather than each by itself.
    pub bursts: bool,
}

impl Point {
    /// What the link does, both ways.
    pub fn profile(&self) -> LinkProfile {
        let (percent, delay) = (self.percent, ONE_WAY.as_millis());
        let loss = match self.bursts {
            true => format!("delay={delay}ms burst={percent}%/{MEAN_BURST}"),
            false => format!("delay={delay}ms loss={percent}%"),
        };
        loss.parse().expect("percents were checked where they were typed")
    }

    /// A name for files.
    pub fn key(&self) -> String {
        format!("{}-{}", self.percent, self.kind())
    }

    /// How packets are lost.
    pub fn kind(&self) -> &'static str {
        if self.bursts { "bursts" } else { "random" }
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{} % {}", self.percent, self.kind()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_read_by_the_names_they_print() {
        for system in System::ALL {
            assert_eq!(system.name().parse::<System>().expect("known"), system);
        }
        assert!("SRT".parse::<System>().expect_err("unknown").hint.contains("srt-aes"));
    }

    #[test]
    fn a_point_is_a_profile_of_the_link() {
        let profile = |percent, bursts| Point { percent, bursts }.profile().to_string();
        assert_eq!(profile(2.0, false), "delay=20ms loss=2%");
        assert_eq!(profile(0.5, true), "delay=20ms burst=0.5%/4");
    }
}
