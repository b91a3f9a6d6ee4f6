//! Network namespaces, managed with the `ip` program.

use std::path::Path;
use std::process::Command;

use sealcast::failure::{Failure, FailureKind, Result};

use super::config::{DEVICE, DEVICE_QUEUE, End, NetConfig};
use crate::harness::environment::CONGESTION_CONTROL;

/// A network namespace; deleted when dropped.
pub(crate) struct Namespace {
    pub(crate) name: String,
}

/// Fails if this process may not make namespaces and devices.
pub(crate) fn usable() -> Result<()> {
    let refuse = |what: &str, hint: &str| Err(Failure::new(FailureKind::Usage, what, hint));
    if !rustix::process::geteuid().is_root() {
        return refuse(
            "making network namespaces needs root",
            "run this with sudo, or use `sealcast-lab proxy`, which does without",
        );
    }
    if !Path::new("/dev/net/tun").exists() {
        return refuse(
            "this system has no /dev/net/tun",
            "load the module with `modprobe tun`, give the container the device, or use `sealcast-lab proxy`",
        );
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return refuse(
            "the program `ip` is not installed",
            "install it with `apt-get install iproute2`",
        );
    }
    Ok(())
}

impl Namespace {
    pub(crate) fn create(name: String) -> Result<Self> {
        if Path::new("/run/netns").join(&name).exists() {
            let what = format!("the network namespace {name} is there already");
            let hint = format!(
                "end the command that uses it or choose another --name; \
                 after a crash remove it with `ip netns del {name}`"
            );
            return Err(Failure::new(FailureKind::Network, what, hint));
        }
        ip(&["netns", "add", &name])?;
        let namespace = Self { name };
        namespace.ip(&["link", "set", "lo", "up"])?;
        Ok(namespace)
    }

    /// Moves a device here, sets its name and addresses, and brings it up.
    pub(super) fn adopt(&self, device: &str, end: End, config: &NetConfig) -> Result<()> {
        ip(&["link", "set", "dev", device, "netns", &self.name])?;
        let (mtu, queue) = (config.device_mtu.to_string(), DEVICE_QUEUE.to_string());
        // Without multicast and link-local addresses, the link carries only what programs send. So a seed loses the
        // same packets every time.
        self.ip(&[
            "link",
            "set",
            "dev",
            device,
            "name",
            DEVICE,
            "mtu",
            &mtu,
            "txqueuelen",
            &queue,
        ])?;
        self.ip(&["link", "set", "dev", DEVICE, "multicast", "off", "addrgenmode", "none"])?;
        self.ip(&["addr", "add", &format!("{}/24", end.ipv4()), "dev", DEVICE])?;
        self.ip(&["addr", "add", &format!("{}/64", end.ipv6()), "dev", DEVICE, "nodad"])?;
        self.ip(&["link", "set", "dev", DEVICE, "up"])?;
        if let Some(name) = &config.congestion_control {
            self.set_congestion_control(name, end)?;
        }
        Ok(())
    }

    /// Packets that programs sent while the device's queue was full, as the kernel counts them.
    pub(super) fn dropped_by_device(&self) -> u64 {
        let file = format!("/sys/class/net/{DEVICE}/statistics/tx_dropped");
        self.read(&file).and_then(|count| count.parse().ok()).unwrap_or(0)
    }

    pub(super) fn congestion_control(&self) -> String {
        self.read(CONGESTION_CONTROL).unwrap_or_else(|| "not known".to_owned())
    }

    /// Sets it by routes: a namespace may not set every algorithm that the kernel has as its default, but a route
    /// may.
    fn set_congestion_control(&self, name: &str, end: End) -> Result<()> {
        let v4 = end.ipv4().to_string();
        let route = [
            "route",
            "replace",
            "10.77.0.0/24",
            "dev",
            DEVICE,
            "scope",
            "link",
            "src",
            &v4,
            "congctl",
            name,
        ];
        let v6 = [
            "-6",
            "route",
            "replace",
            "fd77::/64",
            "dev",
            DEVICE,
            "proto",
            "kernel",
            "metric",
            "256",
            "congctl",
            name,
        ];
        self.ip(&route).and_then(|()| self.ip(&v6)).map_err(|_| {
            let what = format!("the kernel does not know the TCP congestion control `{name}`");
            let hint = "choose one that stands in /proc/sys/net/ipv4/tcp_available_congestion_control";
            Failure::new(FailureKind::Usage, what, hint)
        })
    }

    /// The content of a file as seen in this namespace.
    fn read(&self, file: &str) -> Option<String> {
        let output = Command::new("ip")
            .args(["netns", "exec", &self.name, "cat", file])
            .output();
        let output = output.ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    pub(crate) fn ip(&self, arguments: &[&str]) -> Result<()> {
        ip(&[&["-n", &self.name], arguments].concat())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(failure) = ip(&["netns", "del", &self.name]) {
            eprintln!("sealcast-lab: {failure}");
        }
    }
}

pub(crate) fn ip(arguments: &[&str]) -> Result<()> {
    let said = match Command::new("ip").args(arguments).output() {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    let what = format!("`ip {}` failed ({said})", arguments.join(" "));
    Err(Failure::new(
        FailureKind::Network,
        what,
        "see whether this system lets root make network namespaces",
    ))
}
