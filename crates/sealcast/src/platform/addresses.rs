//! Addresses of this machine, as others may reach it.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use sealcast_proto::wire::MAX_ADDRESSES;

/// Addresses of documentation, which stand for whatever is beyond the default route.
const FAR: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
    IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
];
/// Beginnings of the names of interfaces that lead to containers and virtual machines of this machine, or into tunnels.
const INNER: [&str; 34] = [
    "docker",
    "br-",
    "veth",
    "virbr",
    "podman",
    "cni",
    "flannel",
    "cali",
    "cilium",
    "weave",
    "kube",
    "lxc",
    "lxdbr",
    "incusbr",
    "vmnet",
    "vboxnet",
    "tun",
    "tap",
    "wg",
    "tailscale",
    "zt",
    "nebula",
    "nordlynx",
    "proton",
    "utun",
    "ipsec",
    "vti",
    "gre",
    "sit",
    "ip6tnl",
    "ipip",
    "tunl",
    "teredo",
    "dummy",
];
/// Flags of an IPv6 address (Linux's `if_addr.h`): temporary (RFC 8981), refused as a duplicate, deprecated.
const PASSING: u32 = 0x01 | 0x08 | 0x20;

/// An address of an interface that is up.
#[derive(Clone, Debug)]
struct Address {
    ip: IpAddr,
    interface: String,
    /// It will not be there for long.
    passing: bool,
}

/// The address of this machine towards another. Connecting a UDP socket sends nothing.
///
/// # Errors
/// There is no route to it.
pub(crate) fn towards(remote: SocketAddr) -> io::Result<IpAddr> {
    let any: SocketAddr = match remote {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(remote)?;
    Ok(socket.local_addr()?.ip())
}

/// The addresses at which others may reach who listens at all addresses of this machine, the best first and at most
/// [`MAX_ADDRESSES`]: of both families, or of IPv4 alone. None if there is no address that another machine could reach.
pub(crate) fn reachable(ipv6: bool) -> Vec<IpAddr> {
    let mut addresses = interfaces();
    addresses.retain(|address| ipv6 || address.ip.is_ipv4());
    let routed: Vec<IpAddr> = FAR.iter().filter_map(|far| towards((*far, 9).into()).ok()).collect();
    best(&addresses, &routed)
}

fn interfaces() -> Vec<Address> {
    let passing = fs::read_to_string("/proc/net/if_inet6").map_or_else(|_| Vec::new(), |table| passing(&table));
    let found = getifaddrs().into_iter().flatten();
    let up = found.filter(|one| one.flags.contains(InterfaceFlags::IFF_UP));
    let addresses = up.filter_map(|one| {
        let address = one.address?;
        let v4 = address.as_sockaddr_in().map(|at| IpAddr::V4(at.ip()));
        let ip = v4.or_else(|| address.as_sockaddr_in6().map(|at| IpAddr::V6(at.ip())))?;
        Some(Address {
            ip,
            interface: one.interface_name,
            passing: passing.contains(&ip),
        })
    });
    addresses.collect()
}

/// The addresses that will not be there for long, of the kernel's table of IPv6 addresses.
fn passing(table: &str) -> Vec<IpAddr> {
    let addresses = table.lines().filter_map(|line| {
        let mut columns = line.split_ascii_whitespace();
        let address = u128::from_str_radix(columns.next()?, 16).ok()?;
        let flags = u32::from_str_radix(columns.nth(3)?, 16).ok()?;
        (flags & PASSING != 0).then_some(IpAddr::V6(address.into()))
    });
    addresses.collect()
}

/// The best of these addresses, where `routed` are those from which packets go beyond the networks of this machine.
/// Those that are the best of their network and family come before all others, so that none of these is left out for
/// several of another.
fn best(addresses: &[Address], routed: &[IpAddr]) -> Vec<IpAddr> {
    let beside = |address: &Address, other: &Address| {
        other.interface == address.interface && other.ip.is_ipv4() == address.ip.is_ipv4()
    };
    let order = |address: &Address| {
        let mut own = addresses.iter().filter(|other| beside(address, other));
        let leads_out = own.any(|other| routed.contains(&other.ip));
        (!leads_out, rank(address.ip), !routed.contains(&address.ip))
    };
    let mut usable: Vec<&Address> = addresses
        .iter()
        .filter(|address| {
            let inner = INNER.iter().any(|name| address.interface.starts_with(name));
            is_for_others(address.ip) && !address.passing && !inner
        })
        .collect();
    usable.sort_by_key(|address| order(address));
    let (mut first, mut further): (Vec<&Address>, Vec<&Address>) = (Vec::new(), Vec::new());
    for address in usable {
        match first.iter().any(|other| beside(address, other)) {
            true => further.push(address),
            false => first.push(address),
        }
    }
    let all = first.into_iter().chain(further).map(|address| address.ip);
    all.take(MAX_ADDRESSES).collect()
}

/// True for an address that means the same machine to others too.
pub(crate) fn is_for_others(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    let local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast() || ip.octets()[0] == 0,
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !local && !ip.is_loopback() && !ip.is_unspecified() && !ip.is_multicast()
}

/// Order of addresses that are reached by the same right: from everywhere, then from the network that everybody has.
fn rank(ip: IpAddr) -> u8 {
    match ip {
        IpAddr::V6(ip) if !ip.is_unique_local() => 0,
        IpAddr::V4(ip) if !ip.is_private() => 1,
        IpAddr::V4(_) => 2,
        IpAddr::V6(_) => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_says_the_addresses_that_most_can_reach_and_none_that_only_this_machine_knows() {
        let lo = "lo 127.0.0.1, lo ::1, ";
        for (addresses, routed, expected) in [
            ("eth0 10.9.0.1", "", "10.9.0.1"),
            (
                "eth0 10.9.0.1, wlan0 192.168.1.5",
                "192.168.1.5",
                "192.168.1.5 10.9.0.1",
            ),
            ("eth0 10.0.0.2, eth0 fd00::2", "10.0.0.2 fd00::2", "10.0.0.2 fd00::2"),
            ("eth0 10.0.0.2, eth0 2a00::2", "10.0.0.2 2a00::2", "2a00::2 10.0.0.2"),
            ("eth0 10.0.0.2, eth0 2a00::2", "10.0.0.2", "10.0.0.2 2a00::2"),
            // The stable address, where packets go out from a temporary one.
            (
                "eth0 10.0.0.2, eth0 2a00::2, eth0 2a00::9 temporary",
                "10.0.0.2 2a00::9",
                "2a00::2 10.0.0.2",
            ),
            (
                "eth0 192.168.50.1, eth0 192.168.1.20",
                "192.168.1.20",
                "192.168.1.20 192.168.50.1",
            ),
            (
                "ppp0 198.51.100.7, eth0 10.0.0.2",
                "198.51.100.7",
                "198.51.100.7 10.0.0.2",
            ),
            ("eth0 0.0.0.5, eth0 10.1.2.3", "", "10.1.2.3"),
            ("eth0 fd00::2", "", "fd00::2"),
            ("docker0 172.17.0.1, eth0 10.9.0.1", "", "10.9.0.1"),
            ("docker0 172.17.0.1, veth1a 10.1.1.1, wg0 10.8.0.2", "10.8.0.2", ""),
            ("eth0 169.254.7.7, eth0 fe80::1", "", ""),
            ("br0 192.168.7.1", "", "192.168.7.1"),
            // At most four, and none is left out for several of another network.
            (
                "eth0 2a00::1, eth0 2a00::2, eth0 2a00::3, eth0 2a00::4, eth0 10.0.0.2, wlan0 10.1.0.2",
                "2a00::1 10.0.0.2",
                "2a00::1 10.0.0.2 10.1.0.2 2a00::2",
            ),
            ("", "", ""),
        ] {
            let of = |text: &str| {
                let mut words = text.split_whitespace().map(str::to_owned);
                Some(Address {
                    interface: words.next()?,
                    ip: words.next()?.parse().ok()?,
                    passing: words.next().is_some(),
                })
            };
            let all: Vec<Address> = format!("{lo}{addresses}").split(',').filter_map(of).collect();
            let routed: Vec<IpAddr> = routed.split_whitespace().map(|ip| ip.parse().expect(ip)).collect();
            let found: Vec<String> = best(&all, &routed).iter().map(IpAddr::to_string).collect();
            assert_eq!(found.join(" "), expected, "{addresses}");
        }
    }

    #[test]
    fn an_address_that_means_another_machine_to_each_is_for_nobody() {
        for (ip, expected) in [
            ("192.0.2.7", true),
            ("10.0.0.7", true),
            ("2001:db8::7", true),
            ("fd00::7", true),
            ("127.0.0.1", false),
            ("127.8.9.1", false),
            ("::1", false),
            ("::ffff:127.0.0.1", false),
            ("0.0.0.0", false),
            ("0.1.2.3", false),
            ("::", false),
            ("169.254.1.2", false),
            ("fe80::1", false),
            ("224.0.0.1", false),
            ("239.1.2.3", false),
            ("ff02::1", false),
            ("255.255.255.255", false),
        ] {
            assert_eq!(is_for_others(ip.parse().expect(ip)), expected, "{ip}");
        }
    }

    #[test]
    fn addresses_that_pass_are_found_in_the_kernels_table() {
        let table = "fd000000000000000000000000000002 04 40 00 82     eth0\n\
            20010db8000000000000000000000007 04 40 00 01     eth0\n\
            20010db8000000000000000000000008 04 40 00 a0     eth0\nnonsense\n";
        let found: Vec<String> = passing(table).iter().map(IpAddr::to_string).collect();
        assert_eq!(found, ["2001:db8::7", "2001:db8::8"]);
    }
}
