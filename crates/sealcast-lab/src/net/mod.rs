//! Two network namespaces, joined by a simulated link in user space.
//!
//! Each namespace has one end of the link as a TUN device. This process reads the packets that one end sends, passes
//! them through a [`Link`](sealcast_proto::sim::Link) for each direction, and writes the output to the other end. Any
//! program and any protocol can run over it unchanged. It needs root and `/dev/net/tun`.

mod config;
mod link_thread;
pub(crate) mod namespace;

use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{LinkProfile, Random};
use tun_rs::SyncDevice;

/// The direction of packets: up is from A to B.
pub use crate::proxy::{Direction, Running};
use config::check;
pub use config::{DEVICE, End, LEAST_DEVICE_MTU, NetConfig};
use link_thread::LinkThread;
pub use link_thread::Report;
use namespace::Namespace;

/// The namespaces and the link between them. Dropping it removes all of it, after a panic too.
pub struct Net {
    // Fields are dropped in this order: the link threads must stop before the namespaces are deleted.
    up: LinkThread,
    down: LinkThread,
    a: Namespace,
    b: Namespace,
    epoch: Instant,
    congestion_control: Option<String>,
}

impl Net {
    /// Sets everything up.
    ///
    /// # Errors
    /// The process is not root, there is no TUN device or no `ip` program, the namespaces already exist, or the
    /// kernel refuses; the message says which.
    pub fn start(config: &NetConfig) -> Result<Self> {
        check(config)?;
        namespace::usable()?;
        let a = Namespace::create(format!("{}-a", config.name))?;
        let b = Namespace::create(format!("{}-b", config.name))?;
        let device_a = Arc::new(device(&a, End::A, config)?);
        let device_b = Arc::new(device(&b, End::B, config)?);
        let epoch = Instant::now();
        let mut seeds = Random::new(config.seed);
        let mut link_thread = |from: &Arc<SyncDevice>, to: &Arc<SyncDevice>, profile: &LinkProfile| {
            LinkThread::start(
                Arc::clone(from),
                Arc::clone(to),
                profile.clone(),
                seeds.next_u64(),
                epoch,
            )
        };
        Ok(Self {
            up: link_thread(&device_a, &device_b, &config.up)?,
            down: link_thread(&device_b, &device_a, &config.down)?,
            a,
            b,
            epoch,
            congestion_control: config.congestion_control.clone(),
        })
    }

    /// The reason why a link cannot be set up on this machine; `None` if it can.
    pub fn obstacle() -> Option<Failure> {
        // Root in a container may lack the right to make namespaces; only an attempt shows that.
        static PROBES: AtomicU32 = AtomicU32::new(0);
        let number = PROBES.fetch_add(1, Ordering::Relaxed);
        let probe = || Namespace::create(format!("probe-{}-{number}", std::process::id()));
        namespace::usable().and_then(|()| probe()).err()
    }

    /// The name of an end's network namespace, for `ip netns exec`.
    pub fn namespace(&self, end: End) -> &str {
        &self.end(end).name
    }

    /// A command that runs `program` in an end's namespace.
    pub fn command(&self, end: End, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.namespace(end)]).arg(program);
        command
    }

    /// Packet statistics so far.
    pub fn report(&self, direction: Direction) -> Report {
        let from = match direction {
            Direction::Up => &self.a,
            Direction::Down => &self.b,
        };
        Report {
            unread: from.dropped_by_device(),
            ..self.link_thread(direction).report()
        }
    }

    /// The TCP congestion control in use in the namespaces.
    pub fn congestion_control(&self) -> String {
        let chosen = self.congestion_control.clone();
        chosen.unwrap_or_else(|| self.a.congestion_control())
    }

    fn end(&self, end: End) -> &Namespace {
        match end {
            End::A => &self.a,
            End::B => &self.b,
        }
    }

    fn link_thread(&self, direction: Direction) -> &LinkThread {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

impl Running for Net {
    fn elapsed(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn profile(&self, direction: Direction) -> LinkProfile {
        self.link_thread(direction).profile()
    }

    fn change(&self, direction: Direction, profile: LinkProfile) -> Result<(), String> {
        self.link_thread(direction).change(profile);
        Ok(())
    }
}

/// Makes one end of the link and moves it into its namespace; this process keeps its file descriptor.
fn device(namespace: &Namespace, end: End, config: &NetConfig) -> Result<SyncDevice> {
    // Device names have at most 15 bytes, and must be unique here until the device has moved.
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!(
        "sl{}x{}",
        std::process::id(),
        MADE.fetch_add(1, Ordering::Relaxed) % 1000
    );
    let built = tun_rs::DeviceBuilder::new().name(&name).enable(false).build_sync();
    let device = built.map_err(|error| {
        let what = format!("the TUN device {name} cannot be made ({error})");
        Failure::new(FailureKind::Network, what, "run as root on a system with /dev/net/tun")
    })?;
    device.set_nonblocking(true).map_err(|error| {
        let what = format!("the TUN device {name} cannot be read without waiting ({error})");
        Failure::new(FailureKind::Internal, what, "please report this")
    })?;
    namespace.adopt(&name, end, config)?;
    Ok(device)
}
