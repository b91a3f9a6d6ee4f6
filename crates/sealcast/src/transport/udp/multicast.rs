//! Multicast (groups.md §12): the socket from which a publisher sends to a multicast group, and the one at which a
//! viewer hears it.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::ops::Range;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::if_nametoindex;
use sealcast_proto::wire::{CONNECTION_LEN, MAX_DATAGRAM, MulticastGroup, connection_of};
use socket2::{Domain, Socket, Type};

use super::runs::{Path, Runs};
use super::socket::{DatagramSocket, Fragments};
use crate::failure::{Failure, FailureKind, Result};
use crate::platform::addresses::towards;

/// Routers that a datagram passes: none.
const HOPS: u32 = 1;

/// A publisher's end of a multicast group.
#[derive(Debug)]
pub struct MulticastOut {
    /// The socket.
    pub socket: DatagramSocket,
    /// The group's address, with the number of the network's interface if it is one of IPv6.
    pub group: SocketAddr,
}

impl MulticastOut {
    /// A socket that sends to `group` on the network of `local`, an address of this machine; or if that is unspecified,
    /// on the one that the system chooses, which it does for IPv4 only.
    ///
    /// # Errors
    /// The address is none of this machine's, or there is no such network.
    pub fn open(local: IpAddr, group: SocketAddr) -> Result<Self> {
        Self::try_open(local, group).map_err(|error| {
            let what = format!("cannot send to the multicast group {group} ({error})");
            let hint = "listen at an address of this machine in the network of the viewers, as in \
                        udp://192.168.1.5:9553?multicast=239.1.2.3:5000";
            Failure::new(FailureKind::Network, what, hint)
        })
    }

    fn try_open(local: IpAddr, group: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(group), Type::DGRAM, None)?;
        let group = match (local, group) {
            (IpAddr::V4(local), SocketAddr::V4(_)) => {
                socket.set_multicast_if_v4(&local)?;
                socket.set_multicast_ttl_v4(HOPS)?;
                group
            }
            (IpAddr::V6(_), SocketAddr::V6(to)) => {
                let interface = interface_of(local)?;
                socket.set_multicast_if_v6(interface)?;
                socket.set_multicast_hops_v6(HOPS)?;
                SocketAddrV6::new(*to.ip(), to.port(), 0, interface).into()
            }
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        };
        let any: SocketAddr = match group {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        socket.bind(&any.into())?;
        let socket = DatagramSocket::watched(socket, Fragments::Forbidden)?;
        Ok(Self { socket, group })
    }
}

/// A viewer's end of a multicast group.
#[derive(Debug)]
pub(super) struct MulticastIn {
    socket: DatagramSocket,
    incoming: Runs,
    tag: u32,
}

impl MulticastIn {
    /// Receives what is sent to `group`, on the network by which `publisher` is reached.
    pub(super) fn open(group: MulticastGroup, publisher: SocketAddr) -> io::Result<Self> {
        let local = towards(publisher)?;
        let socket = Socket::new(Domain::for_address((group.address, 0).into()), Type::DGRAM, None)?;
        // Several viewers on one machine hear the same group.
        socket.set_reuse_address(true)?;
        let at: SocketAddr = match (group.address, local) {
            (IpAddr::V4(address), IpAddr::V4(local)) => {
                socket.join_multicast_v4(&address, &local)?;
                (address, group.port).into()
            }
            (IpAddr::V6(address), IpAddr::V6(_)) => {
                let interface = interface_of(local)?;
                socket.set_only_v6(true)?;
                socket.join_multicast_v6(&address, interface)?;
                SocketAddrV6::new(address, group.port, 0, interface).into()
            }
            _ => {
                let why = "its address is of another family than the publisher's";
                return Err(io::Error::new(io::ErrorKind::Unsupported, why));
            }
        };
        // At the group's address and not at all of this machine, so that nothing else arrives here.
        socket.bind(&at.into())?;
        Ok(Self {
            socket: DatagramSocket::watched(socket, Fragments::Forbidden)?,
            incoming: Runs::for_socket(),
            tag: group.tag,
        })
    }

    /// Waits until something may have been received.
    pub(super) async fn readable(&self) {
        self.socket.readable().await;
    }

    /// Receives what has come; returns true if there is anything to take.
    pub(super) fn receive(&mut self) -> io::Result<bool> {
        Ok(!self.incoming.is_empty() || self.incoming.receive(&self.socket)?)
    }

    /// The position of the next record for this viewer. Datagrams of others are passed over: anybody can send there.
    pub(super) fn next_range(&mut self) -> Option<Range<usize>> {
        loop {
            let (Path { .. }, range) = self.incoming.next_range()?;
            let datagram = self.incoming.slice(range.clone());
            if connection_of(datagram) == Some(self.tag) && datagram.len() <= MAX_DATAGRAM {
                return Some(range.start + CONNECTION_LEN..range.end);
            }
        }
    }

    pub(super) fn slice(&mut self, range: Range<usize>) -> &mut [u8] {
        self.incoming.slice(range)
    }

    /// True if more may be waiting than was received.
    pub(super) fn is_full(&self) -> bool {
        self.incoming.is_full()
    }
}

/// The number of the interface that has this address.
fn interface_of(local: IpAddr) -> io::Result<u32> {
    let has = |address: &nix::sys::socket::SockaddrStorage| match local {
        IpAddr::V4(local) => address.as_sockaddr_in().is_some_and(|at| at.ip() == local),
        IpAddr::V6(local) => address.as_sockaddr_in6().is_some_and(|at| at.ip() == local),
    };
    let found = getifaddrs()?.find(|interface| interface.address.as_ref().is_some_and(has));
    let why = || io::Error::new(io::ErrorKind::AddrNotAvailable, "no interface has that address");
    let name = found.ok_or_else(why)?.interface_name;
    Ok(if_nametoindex(name.as_str())?)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use sealcast_testkit::skips::has_ipv6;

    use super::*;

    #[tokio::test]
    async fn what_is_sent_to_a_group_is_heard_by_all_who_listen_and_strangers_are_passed_over() {
        let local = IpAddr::from(Ipv4Addr::LOCALHOST);
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
        let port = free.expect("the loopback interface").port();
        let group = MulticastGroup {
            tag: 0x0102_0304,
            address: [239, 255, 7, 7].into(),
            port,
        };
        let out = MulticastOut::open(local, (group.address, port).into()).expect("the loopback interface");
        let open = || MulticastIn::open(group, (local, 9).into()).expect("the loopback interface");
        let mut hearers = [open(), open()];
        for (datagram, segment) in [
            (&b"\x01\x02\x03\x05other"[..], 9),
            (b"\x01\x02\x03", 3),
            (b"\x01\x02\x03\x04first\x01\x02\x03\x04last", 9),
        ] {
            let sent = out.socket.try_send_run(Path::to(out.group), datagram, segment);
            assert_eq!((sent.bytes, sent.unreachable), (datagram.len(), 0));
        }
        for hearer in &mut hearers {
            let mut heard = Vec::new();
            while heard.len() < 2 {
                hearer.readable().await;
                hearer.receive().expect("the socket works");
                while let Some(range) = hearer.next_range() {
                    heard.push(hearer.slice(range).to_vec());
                }
            }
            assert_eq!(heard, [b"first".to_vec(), b"last".to_vec()]);
        }
    }

    #[tokio::test]
    async fn no_router_passes_on_what_is_sent_to_a_group() {
        let v4 = MulticastOut::open(Ipv4Addr::LOCALHOST.into(), ([239, 255, 7, 8], 5000).into());
        let v4 = v4.expect("the loopback interface").socket;
        assert_eq!(v4.as_set().multicast_ttl_v4().expect("it is set"), 1);
        if !has_ipv6() {
            return;
        }
        let group = SocketAddr::from((Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 8), 5000));
        let v6 = MulticastOut::open(Ipv6Addr::LOCALHOST.into(), group);
        let v6 = v6.expect("the loopback interface").socket;
        assert_eq!(v6.as_set().multicast_hops_v6().expect("it is set"), 1);
    }

    #[tokio::test]
    async fn a_group_without_a_network_is_refused_with_what_to_do() {
        let group = SocketAddr::from((Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 5), 5000));
        let failure = MulticastOut::open(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 9).into(), group);
        let failure = failure.expect_err("this machine has no such address");
        assert!(
            failure.what.contains("ff02::5") && failure.hint.contains("multicast="),
            "{failure}"
        );
    }
}
