//! Simulated links for programs on one machine, without root: a proxy for UDP and one for TCP.
//!
//! On a machine that is not busy, packets are delivered at most some tenths of a millisecond late.

mod direction;
mod scheduled;
mod tap;
mod tcp;
mod udp;

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::thread;
use std::time::Duration;

use sealcast_proto::sim::LinkProfile;

pub use direction::Direction;
pub use tap::{Passed, Tap};
pub use tcp::{TcpProxy, stream_profile};
pub use udp::{MAX_CLIENTS, UdpProxy};

/// Profiles of a proxy's links.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Towards the side that the proxy connects to.
    pub up: LinkProfile,
    /// The opposite direction.
    pub down: LinkProfile,
    /// Seed for the random choice of packets.
    pub seed: u64,
    /// Records what passes, if anybody listens.
    pub tap: Option<Tap>,
}

impl Links {
    /// The same profile both ways.
    pub fn both(profile: LinkProfile, seed: u64) -> Self {
        Self {
            up: profile.clone(),
            down: profile,
            seed,
            tap: None,
        }
    }

    /// The profile of one direction.
    pub fn profile(&self, direction: Direction) -> &LinkProfile {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// Replaces the profile of one direction.
    pub fn set(&mut self, direction: Direction, profile: LinkProfile) {
        match direction {
            Direction::Up => self.up = profile,
            Direction::Down => self.down = profile,
        }
    }
}

/// A running link with two directions.
pub trait Running {
    /// Time since its start; outages refer to it.
    fn elapsed(&self) -> Duration;

    /// The profile of one direction.
    fn profile(&self, direction: Direction) -> LinkProfile;

    /// Changes the profile of one direction from now on, for present and future connections.
    ///
    /// # Errors
    /// The profile is not possible for such a link; the message says why.
    fn change(&self, direction: Direction, profile: LinkProfile) -> Result<(), String>;
}

/// Starts a named thread, to identify it in a debugger.
fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(run)
}

/// The unspecified address of the same family as `address`, with a port that the system chooses.
fn any_like(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    }
}
