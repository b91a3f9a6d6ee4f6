//! Whether this machine speaks IPv6.

use std::io;
use std::net::{Ipv6Addr, SocketAddr, UdpSocket};

use super::finding::Finding;
use crate::failure::FailureKind;

const CHECK: &str = "ipv6";
/// An address of documentation (RFC 3849), which the default route leads to. Nothing is sent there.
const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);

/// Looks for loopback and a route. `listens` is true if the configuration listens at an IPv6 address.
pub(super) fn check(listens: bool) -> Finding {
    let loopback = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).map(drop);
    judge(listens, loopback, route())
}

/// The source address towards the network. Connecting a UDP socket sends nothing.
fn route() -> io::Result<SocketAddr> {
    let socket = UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?;
    socket.connect((FAR, 9))?;
    socket.local_addr()
}

fn judge(listens: bool, loopback: io::Result<()>, route: io::Result<SocketAddr>) -> Finding {
    if let Err(error) = loopback {
        let saw = format!("there is no IPv6 loopback ({error})");
        return match listens {
            true => Finding::wrong(
                CHECK,
                FailureKind::Network,
                format!("{saw}, and the configuration listens at an IPv6 address"),
                "listen at an IPv4 address such as tcp://0.0.0.0:9553, or run: sudo sysctl -w \
                 net.ipv6.conf.all.disable_ipv6=0",
            ),
            false => Finding::warning(CHECK, saw, "nothing, if no viewer uses IPv6"),
        };
    }
    match route {
        Ok(from) => Finding::ok(
            CHECK,
            format!(
                "loopback works, and there is a route from {}; whether it leads anywhere is not tried",
                from.ip()
            ),
        ),
        Err(error) => Finding::warning(
            CHECK,
            format!("loopback works, and there is no route to other machines ({error})"),
            "nothing, if your network has no IPv6; else look with: ip -6 route",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Verdict;

    fn none<T>() -> io::Result<T> {
        Err(io::Error::from(io::ErrorKind::NetworkUnreachable))
    }

    #[test]
    fn ipv6_that_is_missing_is_wrong_where_it_is_listened_at() {
        let from = || Ok(SocketAddr::from((FAR, 9)));
        assert_eq!(judge(true, none(), from()).verdict, Verdict::Wrong);
        assert_eq!(judge(false, none(), none()).verdict, Verdict::Warning);
        assert_eq!(judge(true, Ok(()), none()).verdict, Verdict::Warning);
        assert_eq!(judge(true, Ok(()), from()).verdict, Verdict::Ok);
    }
}
