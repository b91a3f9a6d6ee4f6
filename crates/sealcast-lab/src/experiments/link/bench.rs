//! One run of one system over one link, from setup to the recorded frames of both ends.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use sealcast_proto::sim::{LinkCounts, LinkProfile};
use sealcast_proto::wire::{Host, Ticket};

use super::ends::{GO, READY, TICKET};
use super::load::{self, Row};
use super::system::{BUDGET, Carrier, System};
use crate::harness::process::{Program, Stop, pause};
use crate::net::{Direction, End, Net, NetConfig};
use crate::proxy::{Links, UdpProxy};

/// Time limit for handshakes and for the end of programs, on a bad link and a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time for packets in flight after the sending end has ended.
const SETTLING: Duration = Duration::from_millis(500);
/// Bytes of IP and UDP headers, which the proxy does not see.
const PACKET_HEADERS: u64 = 28;

/// The place where the link is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ground {
    /// Between two network namespaces.
    Namespaces,
    /// In a proxy in this process.
    Proxy,
}

/// One run.
pub(super) struct Run<'a> {
    pub(super) system: &'a System,
    pub(super) profile: &'a LinkProfile,
    pub(super) ground: Ground,
    pub(super) seed: u64,
    pub(super) frames: u32,
    /// Unique part of names, which distinguishes this run from those beside it.
    pub(super) name: String,
    /// Folder for the files of both ends.
    pub(super) folder: PathBuf,
    pub(super) stop: Stop<'a>,
}

/// The result of a run.
pub(super) struct Outcome {
    pub(super) sent: Vec<Row>,
    pub(super) received: Vec<Row>,
    pub(super) wire: Wire,
}

/// Traffic on the link, both ways.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wire {
    /// Bytes of whole IP packets handed to the link.
    pub(super) bytes: u64,
    pub(super) packets: u64,
    pub(super) lost: u64,
    /// Packets that the kernel dropped before the link. If there are any, the run is invalid.
    pub(super) unread: u64,
    /// 99th percentile of the lateness of the emulation itself, in the worse direction.
    pub(super) late_ns: u64,
}

/// The link of a run, and the way for programs to reach it.
enum Link {
    Net(Box<Net>),
    /// Created when its destination is known.
    Proxy(Option<UdpProxy>),
}

impl Run<'_> {
    /// Performs the run.
    pub(super) fn measure(&self) -> Result<Outcome> {
        fs::create_dir_all(&self.folder).map_err(|error| {
            let what = format!("{} cannot be made ({error})", self.folder.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let mut link = self.link()?;
        match self.system.carrier {
            Carrier::Sealcast => self.sealed(&mut link)?,
            Carrier::Srt | Carrier::Rtp => self.datagrams(&mut link)?,
        }
        Ok(Outcome {
            sent: load::read_rows(&self.folder.join("sent.csv"))?,
            received: load::read_rows(&self.folder.join("received.csv"))?,
            wire: link.wire(),
        })
    }

    fn link(&self) -> Result<Link> {
        Ok(match self.ground {
            Ground::Proxy => Link::Proxy(None),
            Ground::Namespaces => Link::Net(Box::new(Net::start(&NetConfig {
                name: self.name.clone(),
                up: self.profile.clone(),
                down: self.profile.clone(),
                seed: self.seed,
                ..NetConfig::default()
            })?)),
        })
    }

    fn sealed(&self, link: &mut Link) -> Result<()> {
        let address = SocketAddr::from((link.address(End::A), 0));
        let publisher = self.end(link, End::A, address)?;
        let ticket = publisher.line(TICKET, PATIENCE, self.stop)?;
        let mut ticket: Ticket = ticket.parse().map_err(|error| {
            let what = format!("the publisher's ticket cannot be read: {error}");
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        let far = self.through(link, SocketAddr::from((link.address(End::A), ticket.port)))?;
        if let SocketAddr::V4(far) = far {
            (ticket.host, ticket.port) = (Host::V4(*far.ip()), far.port());
        }
        let mut viewer = self.end(link, End::B, address)?;
        viewer.say(&ticket.reveal());
        self.finish(publisher, viewer)
    }

    fn datagrams(&self, link: &mut Link) -> Result<()> {
        let inside = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let srt = self.system.carrier == Carrier::Srt;
        let [entry, crossing, exit] = free_ports()?;
        let far = SocketAddr::from((link.address(End::B), crossing));
        let (send_to, receive_at) = if srt { (inside(entry), inside(exit)) } else { (far, far) };
        let receiver = self.end(link, End::B, receive_at)?;
        let near = self.through(link, far)?;
        let send_to = if srt { send_to } else { near };
        let _transmitters = if srt {
            let receiving = self.srt(
                link,
                End::B,
                &self.srt_url(far, "listener"),
                &format!("udp://{receive_at}"),
            )?;
            let sending = self.srt(link, End::A, &format!("udp://{send_to}"), &self.srt_url(near, "caller"))?;
            Some((receiving, sending))
        } else {
            None
        };
        let mut sender = self.end(link, End::A, send_to)?;
        receiver.line(READY, PATIENCE, self.stop)?;
        sender.say(GO);
        self.finish(sender, receiver)
    }

    /// Waits for the sending end to end by itself, then ends the receiving end.
    fn finish(&self, mut sender: Program, mut receiver: Program) -> Result<()> {
        let playing = Duration::from_secs(1) * self.frames / load::RATE;
        sender.ended(playing + PATIENCE, self.stop)?;
        pause(SETTLING, self.stop)?;
        receiver.hush();
        receiver.ended(PATIENCE, self.stop)
    }

    /// The address to send to so that packets arrive at `to` through the link.
    fn through(&self, link: &mut Link, to: SocketAddr) -> Result<SocketAddr> {
        let Link::Proxy(proxy) = link else { return Ok(to) };
        let links = Links::both(self.profile.clone(), self.seed);
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let started = UdpProxy::start(listen, to, links).map_err(|error| {
            let what = format!("the link's proxy cannot be started ({error})");
            Failure::new(FailureKind::Network, what, "try again")
        })?;
        Ok(proxy.insert(started).address())
    }

    /// Starts one of the two ends: this program again.
    fn end(&self, link: &Link, end: End, address: SocketAddr) -> Result<Program> {
        let own = std::env::current_exe().map_err(|error| {
            let what = format!("this program cannot find itself ({error})");
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        let (verb, rows, words) = match end {
            End::A => ("link-send", "sent", "sender"),
            End::B => ("link-receive", "received", "receiver"),
        };
        let mut command = link.command(end, &own);
        command.args([verb, "--carrier", &self.system.carrier.to_string()]);
        command.args(["--options", &self.system.options, "--address", &address.to_string()]);
        command.args(["--frames", &self.frames.to_string()]);
        command.arg("--rows").arg(self.folder.join(format!("{rows}.csv")));
        command.arg("--metrics").arg(self.folder.join(format!("{words}.prom")));
        Program::start(words, command, &self.folder.join(format!("{words}.txt")))
    }

    fn srt_url(&self, address: SocketAddr, mode: &str) -> String {
        let latency = BUDGET.as_millis();
        // The key in the options is no secret: it is the same for every run, and protects zeros.
        format!("srt://{address}?mode={mode}&latency={latency}&{}", self.system.options)
    }

    fn srt(&self, link: &Link, end: End, from: &str, to: &str) -> Result<Program> {
        let mut command = link.command(end, Path::new("srt-live-transmit"));
        command.args(["-chunk:1316", from, to]);
        let log = if end == End::A {
            "srt-sender.txt"
        } else {
            "srt-receiver.txt"
        };
        Program::start("srt-live-transmit", command, &self.folder.join(log))
    }
}

impl Link {
    fn address(&self, end: End) -> Ipv4Addr {
        match self {
            Self::Net(_) => end.ipv4(),
            Self::Proxy(_) => Ipv4Addr::LOCALHOST,
        }
    }

    fn command(&self, end: End, program: &Path) -> Command {
        match self {
            Self::Net(net) => net.command(end, program),
            Self::Proxy(_) => Command::new(program),
        }
    }

    fn wire(&self) -> Wire {
        let mut wire = Wire::default();
        for direction in [Direction::Up, Direction::Down] {
            match self {
                Self::Net(net) => {
                    let report = net.report(direction);
                    wire.add(&report.counts, 0);
                    wire.unread += report.unread;
                    wire.late_ns = wire.late_ns.max(report.lateness.value_at_quantile(0.99));
                }
                Self::Proxy(Some(proxy)) => wire.add(&proxy.counts(direction), PACKET_HEADERS),
                Self::Proxy(None) => {}
            }
        }
        wire
    }
}

impl Wire {
    fn add(&mut self, counts: &LinkCounts, headers: u64) {
        self.bytes += counts.sent_bytes + counts.sent * headers;
        self.packets += counts.sent;
        self.lost += counts.lost;
    }
}

/// Three unused UDP ports.
fn free_ports() -> Result<[u16; 3]> {
    let bind = |_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let made = || {
        // All three are open at once, so that they differ.
        let sockets = (0..3).map(bind).collect::<std::io::Result<Vec<_>>>()?;
        let mut ports = [0; 3];
        for (port, socket) in ports.iter_mut().zip(&sockets) {
            *port = socket.local_addr()?.port();
        }
        Ok(ports)
    };
    made().map_err(|error: std::io::Error| {
        let what = format!("there are no free ports ({error})");
        Failure::new(FailureKind::Network, what, "try again")
    })
}

/// The version of `srt-live-transmit`; `None` if it is not installed.
pub(super) fn srt_version() -> Option<String> {
    let output = Command::new("srt-live-transmit").arg("-version").output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().find(|line| line.starts_with("SRT Library version"))?;
    Some(line.trim().to_owned())
}
