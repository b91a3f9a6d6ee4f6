//! Whether the configured ports are free, and who holds them.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;

use socket2::{Domain, Socket, Type};

use super::finding::{Finding, Verdict};
use super::sockets::{Holder, Protocol, holder};
use crate::failure::FailureKind;

const CHECK: &str = "port";
/// Name of our own processes.
const OURS: &str = "sealcast";

/// An address that the configuration listens at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The option that names it, as in `publish.listen`.
    pub option: &'static str,
    /// The address; port 0 takes a free one.
    pub address: SocketAddr,
    /// True if TCP is listened at.
    pub tcp: bool,
    /// True if UDP is listened at.
    pub udp: bool,
}

/// Binds to the address for a moment, over TCP and UDP, without listening.
pub(super) fn check(place: &Place) -> Finding {
    let results = [(Protocol::Tcp, place.tcp), (Protocol::Udp, place.udp)].map(|(protocol, needed)| {
        let bound = bind(protocol, place.address).map_err(|error| {
            let holder = match error.kind() {
                ErrorKind::AddrInUse => holder(Path::new("/proc"), protocol, place.address.port()),
                _ => Holder::Nobody,
            };
            (error, holder)
        });
        (protocol, needed, bound)
    });
    judge(place, &results)
}

/// Result of binding: the error, and who holds the port.
type Bound = Result<(), (io::Error, Holder)>;

fn bind(protocol: Protocol, address: SocketAddr) -> io::Result<()> {
    let kind = match protocol {
        Protocol::Tcp => Type::STREAM,
        Protocol::Udp => Type::DGRAM,
    };
    let socket = Socket::new(Domain::for_address(address), kind, None)?;
    if protocol == Protocol::Tcp {
        // As where it is listened at: ends of past connections do not count.
        socket.set_reuse_address(true)?;
    }
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.bind(&address.into())
}

fn judge(place: &Place, results: &[(Protocol, bool, Bound); 2]) -> Finding {
    let Place { option, address, .. } = place;
    for (protocol, needed, bound) in results {
        if let (true, Err((error, holder))) = (needed, bound) {
            return refused(place, *protocol, error, holder);
        }
    }
    if address.port() == 0 {
        return Finding::ok(
            CHECK,
            format!("{option}: at {} any free port can be bound", address.ip()),
        );
    }
    let spare = results
        .iter()
        .find(|(_, needed, _)| !needed)
        .map(|(protocol, _, bound)| {
            let name = protocol.name();
            match bound {
                Ok(()) => format!("; {name} is not needed, and free as well"),
                Err((_, Holder::Process(process, id))) => {
                    format!("; {name} is not needed, and held by {process} ({id})")
                }
                Err((error, _)) => format!("; {name} is not needed, and cannot be bound ({error})"),
            }
        });
    let needed: Vec<&str> = results.iter().filter(|r| r.1).map(|r| r.0.name()).collect();
    let free = format!("{option}: {address} can be bound for {}", needed.join(" and "));
    Finding::ok(CHECK, free + &spare.unwrap_or_default())
}

/// The finding about an address that cannot be bound.
fn refused(place: &Place, protocol: Protocol, error: &io::Error, holder: &Holder) -> Finding {
    let Place { option, address, .. } = place;
    let name = protocol.name();
    let taken = |by: &str| format!("{option}: {name} port {} is held by {by}", address.port());
    let other = format!("choose another port for {option}");
    let (verdict, saw, advice) = match (error.kind(), holder) {
        (ErrorKind::AddrInUse, Holder::Process(process, id)) if process == OURS => (
            Verdict::Warning,
            taken(&format!("a sealcast that runs (process {id})")),
            format!("nothing, if that is the one; else stop it: kill {id}"),
        ),
        (ErrorKind::AddrInUse, Holder::Process(process, id)) => (
            Verdict::Wrong,
            taken(&format!("{process} (process {id})")),
            format!("stop it: kill {id}; or {other}"),
        ),
        (ErrorKind::AddrInUse, Holder::User(user)) => (
            Verdict::Wrong,
            taken(&format!(
                "a program of the user with id {user}, which is hidden from this one"
            )),
            format!("see which: sudo ss -lptun 'sport = :{}'; or {other}", address.port()),
        ),
        (ErrorKind::AddrInUse, Holder::Nobody) => (
            Verdict::Wrong,
            format!(
                "{option}: {name} port {} is taken, and by whom is not known",
                address.port()
            ),
            format!("see: sudo ss -lptun 'sport = :{}'; or {other}", address.port()),
        ),
        (ErrorKind::PermissionDenied, _) => (
            Verdict::Wrong,
            format!("{option}: this user may not bind {name} port {}", address.port()),
            "choose a port above 1023, or allow it: sudo setcap cap_net_bind_service=+ep \"$(command -v sealcast)\""
                .to_owned(),
        ),
        (ErrorKind::AddrNotAvailable, _) => (
            Verdict::Wrong,
            format!("{option}: {} is no address of this machine", address.ip()),
            "choose one that is, or 0.0.0.0 or [::] for all: ip address".to_owned(),
        ),
        _ => (
            Verdict::Wrong,
            format!("{option}: {address} cannot be bound for {name} ({error})"),
            other,
        ),
    };
    match verdict {
        Verdict::Warning => Finding::warning(CHECK, saw, advice),
        _ => Finding::wrong(CHECK, FailureKind::Network, saw, advice),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpListener, UdpSocket};

    use super::*;

    fn place(address: impl Into<SocketAddr>, tcp: bool) -> Place {
        Place {
            option: "publish.listen",
            address: address.into(),
            tcp,
            udp: !tcp,
        }
    }

    #[test]
    fn a_port_that_is_taken_is_wrong_and_its_holder_named() {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let address = tcp.local_addr().expect("bound");
        let found = check(&place(address, true));
        assert_eq!(
            (found.verdict, found.kind),
            (Verdict::Wrong, Some(FailureKind::Network))
        );
        assert!(
            found.saw.contains(&format!("(process {})", std::process::id())),
            "{found:?}"
        );
        // Where UDP is listened at, TCP does not matter, and who holds it is said all the same.
        let found = check(&place(address, false));
        assert!(
            found.verdict == Verdict::Ok && found.saw.contains("TCP is not needed, and held by"),
            "{found:?}"
        );
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        assert_eq!(
            check(&place(udp.local_addr().expect("bound"), false)).verdict,
            Verdict::Wrong
        );
        drop(tcp);
        assert_eq!(check(&place(address, true)).verdict, Verdict::Ok);
    }

    #[test]
    fn a_check_holds_no_port() {
        let free = check(&place((Ipv4Addr::LOCALHOST, 0), true));
        assert_eq!(free.verdict, Verdict::Ok);
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address = address.expect("a port");
        assert_eq!(check(&place(address, true)).verdict, Verdict::Ok);
        TcpListener::bind(address).expect("it is free again");
    }

    #[test]
    fn every_reason_not_to_bind_has_words_of_its_own() {
        let foreign = place((Ipv4Addr::new(192, 0, 2, 77), 9553), true);
        let found = check(&foreign);
        assert!(
            found.verdict == Verdict::Wrong && found.saw.contains("no address of this machine"),
            "{found:?}"
        );
        let judged = |kind: ErrorKind, holder: Holder| refused(&foreign, Protocol::Tcp, &kind.into(), &holder);
        let ours = judged(ErrorKind::AddrInUse, Holder::Process(OURS.to_owned(), 7));
        assert!(ours.verdict == Verdict::Warning && ours.advice.is_some_and(|words| words.contains("kill 7")));
        let hidden = judged(ErrorKind::AddrInUse, Holder::User(1001));
        assert!(
            hidden.verdict == Verdict::Wrong && hidden.saw.contains("1001"),
            "{hidden:?}"
        );
        let unknown = judged(ErrorKind::AddrInUse, Holder::Nobody);
        assert!(unknown.saw.contains("is not known"), "{unknown:?}");
        let low = judged(ErrorKind::PermissionDenied, Holder::Nobody);
        assert!(low.advice.is_some_and(|words| words.contains("above 1023")));
    }
}
