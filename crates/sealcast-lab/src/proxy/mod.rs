//! Simulated links for programs on one machine, without root: a proxy for UDP and one for TCP.
//!
//! Packets are handed over some tenths of a millisecond late at most on a machine that is not busy.

mod scheduled;
mod tcp;
mod udp;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use sealcast_proto::sim::LinkProfile;

pub use tcp::{TcpProxy, stream_profile};
pub use udp::{MAX_CLIENTS, UdpProxy};

/// Which way packets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the side that listens to the side that is connected to.
    Up,
    /// Back.
    Down,
}

/// What the links of a proxy do.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Towards the side that is connected to.
    pub up: LinkProfile,
    /// Back.
    pub down: LinkProfile,
    /// Decides to which packets.
    pub seed: u64,
}

impl Links {
    /// The same profile both ways.
    pub fn both(profile: LinkProfile, seed: u64) -> Self {
        Self {
            up: profile.clone(),
            down: profile,
            seed,
        }
    }

    /// The profile of one direction.
    pub fn profile(&self, way: Way) -> &LinkProfile {
        match way {
            Way::Up => &self.up,
            Way::Down => &self.down,
        }
    }

    /// Put another profile in the place of one direction's.
    pub fn set(&mut self, way: Way, profile: LinkProfile) {
        match way {
            Way::Up => self.up = profile,
            Way::Down => self.down = profile,
        }
    }
}

/// A link in two directions that runs.
pub trait Running {
    /// How long it has run: the time on which outages are.
    fn elapsed(&self) -> Duration;

    /// What it does in one direction.
    fn profile(&self, way: Way) -> LinkProfile;

    /// Make it do something else in one direction from now on, to whoever uses it and will use it.
    ///
    /// # Errors
    /// In words, a profile that is not for such a link.
    fn change(&self, way: Way, profile: LinkProfile) -> Result<(), String>;
}

/// A thread by name, so that it can be told apart in a debugger.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// Any address of the family of `address`, on a port that the system chooses.
fn any_like(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
