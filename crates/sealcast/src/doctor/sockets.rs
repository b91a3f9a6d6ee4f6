//! Holder of a port of this machine, as far as `/proc` tells this user.

use std::fs;
use std::path::Path;

use sealcast_proto::words::plain;

/// State of a TCP socket that listens, in `/proc/net/tcp`.
const LISTENING: &str = "0A";

/// A protocol with ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }

    const fn tables(self) -> [&'static str; 2] {
        match self {
            Self::Tcp => ["net/tcp", "net/tcp6"],
            Self::Udp => ["net/udp", "net/udp6"],
        }
    }
}

/// Holder of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// A process that this user may look at: its name and id.
    Process(String, u32),
    /// A process of this user id, which hides from this one.
    User(u32),
    /// `/proc` does not list the socket.
    Nobody,
}

/// Finds who holds a port.
pub(super) fn holder(proc: &Path, protocol: Protocol, port: u16) -> Holder {
    let tables = protocol.tables().into_iter();
    let mut sockets = tables.flat_map(|table| {
        let text = fs::read_to_string(proc.join(table)).unwrap_or_default();
        sockets_at(&text, protocol, port)
    });
    let Some((inode, user)) = sockets.next() else {
        return Holder::Nobody;
    };
    match process_of(proc, inode) {
        Some((name, id)) => Holder::Process(name, id),
        None => Holder::User(user),
    }
}

/// Inode and user of each socket at a port, from a table of sockets.
fn sockets_at(table: &str, protocol: Protocol, port: u16) -> Vec<(u64, u32)> {
    let socket = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, local, _, state, _, _, _, user, _, inode, ..] = words[..] else {
            return None;
        };
        let at = u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?;
        let held = at == port && (protocol == Protocol::Udp || state == LISTENING);
        held.then_some((inode.parse().ok()?, user.parse().ok()?))
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// The process with a socket among its descriptors.
fn process_of(proc: &Path, inode: u64) -> Option<(String, u32)> {
    let wanted = format!("socket:[{inode}]");
    let entries = fs::read_dir(proc).ok()?.flatten();
    let mut processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let id = processes.find(|id| {
        let descriptors = fs::read_dir(proc.join(format!("{id}/fd")))
            .into_iter()
            .flatten()
            .flatten();
        let mut links = descriptors.filter_map(|descriptor| fs::read_link(descriptor.path()).ok());
        links.any(|link| link.as_os_str() == wanted.as_str())
    })?;
    let name = fs::read_to_string(proc.join(format!("{id}/comm"))).unwrap_or_default();
    Some((plain(name.trim()), id))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn the_process_that_holds_a_port_is_found() {
        let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let udp = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0)).or_else(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
        let udp = udp.expect("a port");
        let ports = [tcp.local_addr(), udp.local_addr()].map(|address| address.expect("bound").port());
        for (protocol, port) in [(Protocol::Tcp, ports[0]), (Protocol::Udp, ports[1])] {
            let found = holder(Path::new("/proc"), protocol, port);
            assert!(
                matches!(&found, Holder::Process(_, id) if *id == std::process::id()),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_process_of_another_user_is_known_by_its_user_and_a_connection_holds_no_port() {
        let proc = tempfile::tempdir().expect("a directory");
        fs::create_dir(proc.path().join("net")).expect("made");
        let heading =
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let line = |state: &str, uid: u32, inode: u64| {
            format!(
                "   0: 0100007F:2551 00000000:0000 {state} 00000000:00000000 00:00000000 00000000 {uid} 0 {inode} 1\n"
            )
        };
        let table = proc.path().join("net/tcp");
        fs::write(&table, [heading, &line("01", 7, 1), &line(LISTENING, 1001, 2)].concat()).expect("written");
        assert_eq!(holder(proc.path(), Protocol::Tcp, 0x2551), Holder::User(1001));
        assert_eq!(holder(proc.path(), Protocol::Tcp, 0x2552), Holder::Nobody);
        fs::write(&table, [heading, &line("01", 7, 1), "nonsense\n"].concat()).expect("written");
        assert_eq!(holder(proc.path(), Protocol::Tcp, 0x2551), Holder::Nobody);
    }
}
