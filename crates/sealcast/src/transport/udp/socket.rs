//! A UDP socket that sends and receives runs of datagrams with one system call, if the kernel can.

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

/// Maximum payload of a UDP packet, and so of a run that the kernel cuts into datagrams (GSO).
const MAX_PAYLOAD: usize = 65_507;
/// Maximum length of a received run: the kernel joins at most this much (GRO).
const MAX_RUN: usize = 65_536;
/// Runs received with one system call.
const BATCH: usize = 8;
/// Size of the kernel's send buffer. In a larger one data would only age.
pub const SEND_BUFFER: usize = 2 * 1024 * 1024;
/// Size of the kernel's receive buffer, if the system allows it: it must hold a burst while the reader pauses.
pub const RECEIVE_BUFFER: usize = 8 * 1024 * 1024;
/// Retry interval for a full socket that cannot be watched for lack of a file descriptor.
const FULL_PATIENCE: Duration = Duration::from_millis(1);
/// Number of errors ignored in one receive call. Network errors about earlier packets are reported once each; an
/// error that persists is the socket's own.
const STALE_ERRORS: usize = 16;

/// Result of sending a run of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Bytes handled, from the front of the run. Fewer than all: the socket is full.
    pub bytes: usize,
    /// Datagrams among them that were dropped because they exceed the path MTU.
    pub too_long: usize,
    /// Datagrams among them that the system rejected for another reason: no route to the peer, or a firewall.
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

/// Treatment of datagrams that exceed the path MTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragments {
    /// They are not sent.
    Forbidden,
    /// They are fragmented on the way; losing one fragment loses the datagram.
    Allowed,
}

impl DatagramSocket {
    /// Bind to an address; port 0 takes a free port. `[::]` also accepts IPv4.
    ///
    /// # Errors
    /// The port is taken, or the address does not belong to this machine.
    pub fn bind(address: SocketAddr, fragments: Fragments) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        if address.is_ipv6() {
            socket.set_only_v6(false)?;
        }
        socket.bind(&address.into())?;
        Self::watched(socket, fragments)
    }

    /// A socket that is bound.
    pub(super) fn watched(socket: Socket, fragments: Fragments) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let is_ipv6 = socket.domain()? == Domain::IPV6;
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
            // UdpSocketState::new() has forbidden fragmentation.
            Fragments::Allowed => allow_fragments(&socket, is_ipv6)?,
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

    /// Converts an address to the form that this socket takes and reports (IPv4 mapped into IPv6, or not).
    pub fn fit(&self, address: SocketAddr) -> SocketAddr {
        match (self.local, address) {
            (SocketAddr::V6(_), SocketAddr::V4(v4)) => (v4.ip().to_ipv6_mapped(), v4.port()).into(),
            (SocketAddr::V4(_), _) => (address.ip().to_canonical(), address.port()).into(),
            _ => address,
        }
    }

    /// True if packets are sent with the "do not fragment" bit.
    pub fn forbids_fragments(&self) -> bool {
        !self.state.may_fragment()
    }

    /// Sends `bytes` as datagrams of `segment` bytes, the last perhaps shorter, without waiting. Network errors about
    /// a datagram are not errors of the socket.
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
                // tokio returns an error of its own for a socket that it knows to be full.
                _ if error.kind() == io::ErrorKind::WouldBlock => break,
                // An ICMP error about an earlier packet; this one was not sent yet.
                Some(Errno::CONNREFUSED | Errno::CONNRESET) if !reported => {
                    reported = true;
                    continue;
                }
                // The interface does not support GSO. UdpSocketState has noted it and allows only single datagrams
                // from now on.
                Some(Errno::INVAL | Errno::IO) if chunk.len() > segment => continue,
                // The kernel does not fragment the datagrams of a GSO run, so send them one by one.
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
            // No source address or segment size to pass, so the plain system call is enough.
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

    /// The system's socket, to read back how it is set.
    #[cfg(test)]
    pub(super) fn as_set(&self) -> socket2::SockRef<'_> {
        self.io.get_ref().into()
    }

    /// Wait until the socket may accept data.
    pub async fn writable(&self) {
        let watched = self.io.get_ref().try_clone();
        match watched.and_then(|socket| watch_for(socket, Interest::WRITABLE)) {
            // It fails only when the runtime shuts down, and then no task waits any more.
            Ok(socket) => drop(socket.writable().await),
            // Without a free file descriptor, try again after a short sleep.
            Err(_) => tokio::time::sleep(FULL_PATIENCE).await,
        }
    }

    /// Wait until something may have been received.
    pub async fn readable(&self) {
        let _ = self.io.readable().await;
    }
}

/// Allow routers and this machine to fragment datagrams that exceed the path MTU, which is the default of sockets.
fn allow_fragments(socket: &Socket, is_ipv6: bool) -> io::Result<()> {
    use rustix::net::sockopt;
    if is_ipv6 {
        sockopt::set_ipv6_mtu_discover(socket, Ipv6PathMtuDiscovery::WANT)?;
    }
    // On an IPv6 socket this option applies to the IPv4 traffic.
    sockopt::set_ip_mtu_discover(socket, Ipv4PathMtuDiscovery::WANT)?;
    Ok(())
}

impl Runs {
    /// Buffers for one batch of a socket.
    pub fn for_socket() -> Self {
        Self::with_buffers(BATCH * MAX_RUN, BATCH)
    }

    /// Receives a batch, replacing the previous contents; returns true if anything was received.
    ///
    /// # Errors
    /// The socket is broken. Network errors about packets that we sent are not reported.
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
                // Fewer runs than a full batch means that the queue is empty: saves tokio another system call to find
                // that out.
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

/// Bind to all addresses of this machine, of both families if the machine has both.
pub(super) fn bind_any(with_ipv6: bool) -> io::Result<DatagramSocket> {
    let bind = |ip: IpAddr| DatagramSocket::bind((ip, 0).into(), Fragments::Forbidden);
    let v4 = || bind(Ipv4Addr::UNSPECIFIED.into());
    if with_ipv6 {
        bind(Ipv6Addr::UNSPECIFIED.into()).or_else(|_| v4())
    } else {
        v4()
    }
}
