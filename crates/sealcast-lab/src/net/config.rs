//! Configuration of a network: its ends, their devices, and the link between them.

use std::net::{Ipv4Addr, Ipv6Addr};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::LinkProfile;

/// The device's name in both namespaces.
pub const DEVICE: &str = "link0";

/// The smallest MTU of a device that carries IPv6.
pub const LEAST_DEVICE_MTU: u16 = 1280;

/// Length of the kernel's queue in packets. The default of 500 overflows within milliseconds at 1 Gbit/s while this
/// process is not scheduled.
pub(super) const DEVICE_QUEUE: u32 = 5000;

/// One end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The first end.
    A,
    /// The second end.
    B,
}

/// Configuration of namespaces and link.
#[derive(Clone, Debug)]
pub struct NetConfig {
    /// Prefix of the namespaces `NAME-a` and `NAME-b`. At most 32 letters, digits and hyphens.
    pub name: String,
    /// Profile of the link from A to B.
    pub up: LinkProfile,
    /// Profile of the link from B to A.
    pub down: LinkProfile,
    /// Seed for the random choice of packets.
    pub seed: u64,
    /// The MTU of both devices, in bytes. A profile with a smaller MTU makes a black hole: longer packets disappear
    /// without notice, as behind a router that sends no ICMP.
    pub device_mtu: u16,
    /// The TCP congestion control in both namespaces; `None` keeps the kernel's default.
    pub congestion_control: Option<String>,
}

impl Default for NetConfig {
    fn default() -> Self {
        Self {
            name: "sealcast".to_owned(),
            up: LinkProfile::default(),
            down: LinkProfile::default(),
            seed: 0,
            device_mtu: 1500,
            congestion_control: None,
        }
    }
}

impl End {
    /// Its IPv4 address, in a /24 network.
    pub fn ipv4(self) -> Ipv4Addr {
        match self {
            Self::A => Ipv4Addr::new(10, 77, 0, 1),
            Self::B => Ipv4Addr::new(10, 77, 0, 2),
        }
    }

    /// Its IPv6 address, in a /64 network.
    pub fn ipv6(self) -> Ipv6Addr {
        match self {
            Self::A => Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 1),
            Self::B => Ipv6Addr::new(0xfd77, 0, 0, 0, 0, 0, 0, 2),
        }
    }
}

pub(super) fn check(config: &NetConfig) -> Result<()> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if config.name.is_empty() || config.name.len() > 32 || !config.name.chars().all(allowed) {
        let what = format!("`{}` cannot be the name of a network", config.name);
        return Err(Failure::new(
            FailureKind::Usage,
            what,
            "use at most 32 letters, digits and hyphens",
        ));
    }
    if config.device_mtu < LEAST_DEVICE_MTU {
        let what = format!("a device with an MTU of {} bytes carries no IPv6", config.device_mtu);
        let hint = format!("use {LEAST_DEVICE_MTU} or more; a profile's mtu may be smaller");
        return Err(Failure::new(FailureKind::Usage, what, hint));
    }
    Ok(())
}
