//! The systems between camera and player.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::load::Load;
use super::pair::Gateways;
use super::paths::{CameraPath, PacketReceiver, PacketSender, Paths, RtpTransport, stream_path};
use super::{mediamtx, pair, relay, rtsps};
use crate::experiments::throughput::Carrier;
use crate::experiments::throughput::bare::accept;
use crate::experiments::throughput::stunnel::Stunnel;
use crate::experiments::throughput::tunnel::Tunnel;
use crate::harness::process::{Program, Stop, own_program};

/// Time limit for a relay to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// One relay on each side, like the gateways.
const HOPS: usize = 2;

/// A system between camera and player.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(super) enum System {
    /// Two plain relays.
    Relay {},
    /// A pair of gateways.
    Sealcast(Gateways),
    /// WireGuard in user space.
    Boringtun {
        /// The program to run.
        program: String,
    },
    /// TLS around a stream.
    Stunnel {},
    /// An RTSP server that serves the camera again, over TLS.
    Rtsps {},
    /// Two MediaMTX servers, one behind the other.
    MediaMtx {
        /// The program to run.
        program: String,
        /// True if TLS is between them.
        secure: bool,
    },
}

impl System {
    /// True if the system can carry such a load in this setup.
    pub(super) fn suits(&self, load: &Load) -> bool {
        match self {
            Self::Relay {} => true,
            Self::Sealcast(gateways) => {
                gateways.options.is_empty() && gateways.between.is_empty() || load.carrier == Carrier::Udp
            }
            Self::Boringtun { .. } => load.carrier == Carrier::Udp && load.cameras == 1,
            Self::Stunnel {} | Self::Rtsps {} | Self::MediaMtx { .. } => {
                load.carrier == Carrier::Tcp && load.cameras == 1
            }
        }
    }

    /// Sets the system up; `scratch` is an empty folder for its files.
    pub(super) fn open(&self, load: &Load, scratch: &Path, stop: Stop<'_>) -> Result<Paths> {
        let unusable = |error: io::Error| {
            let what = format!("it cannot be set up for {} ({error})", load.name);
            Failure::new(FailureKind::Network, what, "see whether it works by itself")
        };
        match self {
            Self::Relay {} => relayed(load, scratch, stop, unusable),
            Self::Sealcast(gateways) => pair::open(gateways, load, scratch, stop, unusable),
            Self::Boringtun { program } => {
                let tunnel = Tunnel::start(program)?;
                let [from, to] = tunnel.sockets().map_err(unusable)?;
                let path = datagram_path(from, to).map_err(unusable)?;
                Ok(Paths::new(vec![path], tunnel.processes(), tunnel))
            }
            Self::Rtsps {} => rtsps::open(load, scratch, stop, unusable),
            Self::MediaMtx { program, secure } => mediamtx::open(program, *secure, scratch, unusable),
            Self::Stunnel {} => {
                let stunnel = Stunnel::start()?;
                let path = stunnel
                    .through()
                    .and_then(|(sender, receiver)| stream_path(sender, receiver));
                Ok(Paths::new(vec![path.map_err(unusable)?], stunnel.processes(), stunnel))
            }
        }
    }
}

fn datagram_path(sender: UdpSocket, receiver: UdpSocket) -> io::Result<CameraPath> {
    Ok(CameraPath {
        sender: PacketSender::new(RtpTransport::Datagrams(sender)),
        receiver: PacketReceiver::datagrams(receiver)?,
        _session: None,
    })
}

fn relayed(load: &Load, scratch: &Path, stop: Stop<'_>, unusable: impl Fn(io::Error) -> Failure) -> Result<Paths> {
    // Starts at the players, since each hop must know the address of the next one.
    let ends = Ends::bind(load).map_err(&unusable)?;
    let mut next = ends.addresses().map_err(&unusable)?;
    let mut programs = Vec::new();
    for hop in 0..HOPS {
        let mut command = own_program()?;
        command.args(["gateway-relay", "--carrier", &load.carrier.to_string()]);
        command.args(next.iter().map(SocketAddr::to_string));
        let program = Program::start("the relay", command, &scratch.join(format!("relay-{hop}.txt")))?;
        for address in &mut next {
            let at = program.line(relay::AT, PATIENCE, stop)?;
            *address = at
                .parse()
                .map_err(|_| unusable(io::Error::other("a relay said no address")))?;
        }
        programs.push(program);
    }
    let camera_paths = ends.camera_paths(load, &next).map_err(&unusable)?;
    // The last one started is the camera's.
    let processes: Vec<u32> = programs.iter().rev().map(Program::id).collect();
    Ok(Paths::new(camera_paths, processes, programs))
}

/// The receiving sockets behind the last hop.
enum Ends {
    Datagrams(Vec<UdpSocket>),
    Streams(TcpListener),
}

impl Ends {
    fn bind(load: &Load) -> io::Result<Self> {
        let any = (Ipv4Addr::LOCALHOST, 0);
        Ok(match load.carrier {
            Carrier::Udp => Self::Datagrams(
                (0..load.cameras)
                    .map(|_| UdpSocket::bind(any))
                    .collect::<Result<_, _>>()?,
            ),
            Carrier::Tcp => Self::Streams(TcpListener::bind(any)?),
        })
    }

    fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        match self {
            Self::Datagrams(sockets) => sockets.iter().map(UdpSocket::local_addr).collect(),
            Self::Streams(listener) => Ok(vec![listener.local_addr()?]),
        }
    }

    /// The paths of all cameras, which begin at `entries`.
    fn camera_paths(self, load: &Load, entries: &[SocketAddr]) -> io::Result<Vec<CameraPath>> {
        match self {
            Self::Datagrams(sockets) => {
                let path = |(receiver, &entry)| {
                    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                    sender.connect(entry)?;
                    datagram_path(sender, receiver)
                };
                sockets.into_iter().zip(entries).map(path).collect()
            }
            Self::Streams(listener) => {
                // One connection at a time, so that both ends of each can be matched.
                let path = |_| {
                    let sender = std::net::TcpStream::connect(entries[0])?;
                    stream_path(sender, accept(&listener)?)
                };
                (0..load.cameras).map(path).collect()
            }
        }
    }
}
