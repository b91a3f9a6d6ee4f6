//! The systems between camera and player.

use std::any::Any;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use super::course::{Come, Course, Lane, Out, RtpTransport, stream_lane};
use super::load::Load;
use super::{pair, relay, rtsps};
use crate::experiments::throughput::Carrier;
use crate::experiments::throughput::stunnel::{Stunnel, accept};
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
}

/// The gateways and their options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Gateways {
    /// The program to run; this build if none is named.
    pub program: Option<PathBuf>,
    /// Options for the URL at which the camera gateway listens, such as `rate=off&pace=off`; only over UDP.
    pub options: String,
}

impl System {
    /// True if the system can carry such a load in this setup.
    pub(super) fn suits(&self, load: &Load) -> bool {
        match self {
            Self::Relay {} => true,
            Self::Sealcast(gateways) => gateways.options.is_empty() || load.carrier == Carrier::Udp,
            Self::Boringtun { .. } => load.carrier == Carrier::Udp && load.cameras == 1,
            Self::Stunnel {} | Self::Rtsps {} => load.carrier == Carrier::Tcp && load.cameras == 1,
        }
    }

    /// Sets the system up; `scratch` is an empty folder for its files.
    pub(super) fn open(&self, load: &Load, scratch: &Path, stop: Stop<'_>) -> Result<Course> {
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
                let lane = datagram_lane(from, to).map_err(unusable)?;
                Ok(course(vec![lane], tunnel.processes(), tunnel))
            }
            Self::Rtsps {} => rtsps::open(load, scratch, stop, unusable),
            Self::Stunnel {} => {
                let stunnel = Stunnel::start()?;
                let lane = stunnel.through().and_then(|(out, come)| stream_lane(out, come));
                Ok(course(vec![lane.map_err(unusable)?], stunnel.processes(), stunnel))
            }
        }
    }
}

pub(super) fn course(lanes: Vec<Lane>, processes: impl Into<Vec<u32>>, held: impl Any) -> Course {
    Course {
        lanes,
        epoch: Instant::now(),
        processes: processes.into(),
        _held: Box::new(held),
    }
}

fn datagram_lane(out: UdpSocket, come: UdpSocket) -> io::Result<Lane> {
    Ok(Lane {
        out: Out::new(RtpTransport::Datagrams(out)),
        come: Come::datagrams(come)?,
        _session: None,
    })
}

fn relayed(load: &Load, scratch: &Path, stop: Stop<'_>, unusable: impl Fn(io::Error) -> Failure) -> Result<Course> {
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
    let lanes = ends.lanes(load, &next).map_err(&unusable)?;
    let processes: Vec<u32> = programs.iter().map(Program::id).collect();
    Ok(course(lanes, processes, programs))
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

    /// All lanes that begin at `entries`.
    fn lanes(self, load: &Load, entries: &[SocketAddr]) -> io::Result<Vec<Lane>> {
        match self {
            Self::Datagrams(sockets) => {
                let lane = |(come, &entry)| {
                    let out = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
                    out.connect(entry)?;
                    datagram_lane(out, come)
                };
                sockets.into_iter().zip(entries).map(lane).collect()
            }
            Self::Streams(listener) => {
                // One connection at a time, so that both ends of each can be matched.
                let lane = |_| {
                    let out = std::net::TcpStream::connect(entries[0])?;
                    stream_lane(out, accept(&listener)?)
                };
                (0..load.cameras).map(lane).collect()
            }
        }
    }
}
