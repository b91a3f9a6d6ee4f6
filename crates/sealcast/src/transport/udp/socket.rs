//! One UDP socket: runs of datagrams leave and arrive with one system call, where the kernel can.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use quinn_udp::{RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::io::Errno;
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use socket2::{Domain, Socket, Type};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::runs::{Path, Run, Runs};
use crate::watch::watch_for;

/// Most bytes in one UDP packet, and so in what is handed to the kernel to be cut up.
const MAX_PAYLOAD: usize = 65_507;
/// Bytes that one received run may have: the kernel joins packets to no more.
const MAX_RUN: usize = 65_536;
/// Runs received with one system call.
const BATCH: usize = 8;
/// Bytes the kernel may hold on their way out. More would only age there.
const SEND_BUFFER: usize = 2 * 1024 * 1024;
/// Bytes the kernel may hold of what arrived, where it allows as much: a burst must outlast a pause of its reader.
const RECEIVE_BUFFER: usize = 8 * 1024 * 1024;
/// When a full socket is tried again that cannot be watched.
const FULL_PATIENCE: Duration = Duration::from_millis(1);
/// Errors passed over while receiving. What the network says about packets sent before is reported once each; an error
/// that stays is the socket's own.
const STALE_ERRORS: usize = 16;

/// What became of a run of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes that are dealt with, from the front. Less than all: the socket is full.
    pub bytes: usize,
    /// Datagrams among them that were given up because they are longer than the path carries.
    pub too_long: usize,
    /// Datagrams among them that the system did not take for another reason: no way to the peer, or a firewall.
    pub unreachable: usize,
}

/// A UDP socket that is not connected.
#[derive(Debug)]
pub struct DatagramSocket {
    io: AsyncFd<UdpSocket>,
    state: UdpSocketState,
    local: SocketAddr,
    fragments: Fragments,
}

/// What becomes of a datagram that is longer than the path carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragments {
    /// It is not sent.
    Forbidden,
    /// It is cut up on its way, and lost as a whole with any of its pieces.
    Allowed,
}

impl DatagramSocket {
    /// Bind to an address; port 0 takes a free one. `[::]` takes IPv4 as well.
    ///
    /// # Errors
    /// The port is taken, or the address is not ours.
    pub fn bind(address: SocketAddr, fragments: Fragments) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        let state = UdpSocketState::new(UdpSockRef::from(&socket))?;
        for refused in [
            socket.set_send_buffer_size(SEND_BUFFER),
            socket.set_recv_buffer_size(RECEIVE_BUFFER),
        ] {
            if let Err(error) = refused {
                tracing::debug!(%error, "a socket option was refused");
            }
        }
        match fragments {
            // The state has forbidden them.
            Fragments::Allowed => allow_fragments(&socket, address.is_ipv6())?,
            Fragments::Forbidden if state.may_fragment() => {
                tracing::warn!("this system cannot forbid that datagrams are fragmented");
            }
            Fragments::Forbidden => {}
        }
        let io = watch_for(UdpSocket::from(socket), Interest::READABLE)?;
        let local = io.get_ref().local_addr()?;
        Ok(Self {
            io,
            state,
            local,
            fragments,
        })
    }

    /// The address bound to.
    pub fn local_address(&self) -> SocketAddr {
        self.local
    }

    /// An address in the form that this socket takes and reports.
    pub fn fit(&self, address: SocketAddr) -> SocketAddr {
        match (self.local, address) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => (v4.ip().to_ipv6_mapped(), v4.port()).into(),
            (SocketAddr::V4(_), _) => (address.ip().to_canonical(), address.port()).into(),
            _ => address,
        }
    }

    /// Whether packets are sent with the "do not fragment" bit.
    pub fn forbids_fragments(&self) -> bool {
        !self.state.may_fragment()
    }

    /// Send `bytes` as datagrams of `segment` bytes, the last perhaps shorter, without waiting. What the network says
    /// about a datagram is no error of the socket.
    ///
    /// # Panics
    /// If `segment` is 0.
    pub fn try_send_run(&self, path: Path, bytes: &[u8], segment: usize) -> Sent {
        assert!(segment > 0, "datagrams have a length");
        let mut sent = Sent::default();
        let (mut reported, mut together) = (false, true);
        while sent.bytes < bytes.len() {
            let rest = &bytes[sent.bytes..];
            let run = (MAX_PAYLOAD / segment).min(self.state.max_gso_segments()).max(1) * segment;
            let most = if together { run } else { segment };
            let chunk = &rest[..rest.len().min(most)];
            let Err(error) = self.send_chunk(path, chunk, segment) else {
                sent.bytes += chunk.len();
                continue;
            };
            match Errno::from_io_error(&error) {
                // The runtime has an error of its own for a socket that it knows to be full.
                _ if error.kind() == io::ErrorKind::WouldBlock => break,
                // What the network said about an earlier packet; this one was not tried.
                Some(Errno::CONNREFUSED | Errno::CONNRESET) if !reported => {
                    reported = true;
                    continue;
                }
                // The interface cannot cut runs up. The state has noted it and asks for single datagrams from now on.
                Some(Errno::INVAL | Errno::IO) if chunk.len() > segment => continue,
                // What is cut up into datagrams is not cut up into fragments as well.
                Some(Errno::MSGSIZE) if chunk.len() > segment && self.fragments == Fragments::Allowed => {
                    together = false;
                    continue;
                }
                Some(Errno::MSGSIZE) => sent.too_long += chunk.len().div_ceil(segment),
                _ => {
                    tracing::trace!(to = %path.shown(), %error, "a datagram was not taken");
                    sent.unreachable += chunk.len().div_ceil(segment);
                }
            }
            sent.bytes += chunk.len();
        }
        sent
    }

    fn send_chunk(&self, path: Path, contents: &[u8], segment: usize) -> io::Result<()> {
        if contents.len() <= segment && (path.local.is_none() || !self.local.ip().is_unspecified()) {
            // Nothing is left for the kernel to be told besides.
            return self.io.get_ref().send_to(contents, path.remote).map(drop);
        }
        let transmit = Transmit {
            destination: path.remote,
            ecn: None,
            contents,
            segment_size: (contents.len() > segment).then_some(segment),
            src_ip: path.local,
        };
        self.state.try_send(UdpSockRef::from(self.io.get_ref()), &transmit)
    }

    /// Wait until the socket may take something.
    pub async fn writable(&self) {
        let watched = self.io.get_ref().try_clone();
        match watched.and_then(|socket| watch_for(socket, Interest::WRITABLE)) {
            // It fails only when the runtime is shut down, and then nobody waits any more.
            Ok(socket) => drop(socket.writable().await),
            // Without a free descriptor it is tried again in a while.
            Err(_) => tokio::time::sleep(FULL_PATIENCE).await,
        }
    }

    /// Wait until something may have come.
    pub async fn readable(&self) {
        let _ = self.io.readable().await;
    }
}

/// Let routers, or this machine, cut up what is longer than the path carries, as sockets do of themselves.
fn allow_fragments(socket: &Socket, is_ipv6: bool) -> io::Result<()> {
    use rustix::net::sockopt;
    if is_ipv6 {
        sockopt::set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::WANT)?;
    }
    // Of an IPv6 socket it is about the IPv4 addresses that it takes as well.
    sockopt::set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::WANT)?;
    Ok(())
}

impl Runs {
    /// Room for one batch of a socket.
    pub fn for_socket() -> Self {
        Self::with_buffers(BATCH * MAX_RUN, BATCH)
    }

    /// Receive a batch, in place of what was there; whether anything came.
    ///
    /// # Errors
    /// The socket is broken. What the network says about packets that we sent is no error.
    pub fn receive(&mut self, socket: &DatagramSocket) -> io::Result<bool> {
        self.clear();
        let mut metas = [RecvMeta::default(); BATCH];
        let mut rooms = self.bytes.chunks_exact_mut(MAX_RUN);
        let mut slices = std::array::from_fn::<_, BATCH, _>(|_| IoSliceMut::new(rooms.next().unwrap_or_default()));
        let mut last = None;
        for _ in 0..STALE_ERRORS {
            let mut count = 0;
            let received = socket.io.try_io(Interest::READABLE, |io| {
                count = socket.state.recv(UdpSockRef::from(io), &mut slices, &mut metas)?;
                // Less than there was room for was all: the runtime need not find that out with another call.
                if count < BATCH {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Ok(())
            });
            match received {
                Err(error) if count == 0 && error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if count == 0 => last = Some(error),
                _ => {
                    self.full = count == BATCH;
                    self.runs
                        .extend(metas[..count].iter().enumerate().map(|(room, meta)| Run {
                            path: Path {
                                remote: meta.addr,
                                local: meta.dst_ip,
                            },
                            stride: meta.stride.max(1),
                            start: room * MAX_RUN,
                            end: room * MAX_RUN + meta.len.min(MAX_RUN),
                        }));
                    return Ok(true);
                }
            }
        }
        last.map_or(Ok(false), Err)
    }
}

/// All addresses of this machine, in both families where the machine has both.
pub(super) fn bind_any(with_ipv6: bool) -> io::Result<DatagramSocket> {
    let bind = |ip: IpAddr| DatagramSocket::bind((ip, 0).into(), Fragments::Forbidden);
    let v4 = || bind(Ipv4Addr::UNSPECIFIED.into());
    if with_ipv6 {
        bind(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| v4())
    } else {
        v4()
    }
}
