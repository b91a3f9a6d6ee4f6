//! Tells the service manager that started this program, systemd or one like it, when it can be reached
//! (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// The variable with the manager's socket.
const SOCKET: &str = "NOTIFY_SOCKET";

/// Say that this program can be reached, if a service manager asked to be told.
pub fn ready() {
    let Some(address) = std::env::var_os(SOCKET).filter(|address| !address.is_empty()) else {
        return;
    };
    if let Err(error) = tell(&address, "READY=1") {
        tracing::warn!(%error, "the service manager cannot be told that this program is ready: it may end it");
    }
}

/// `address` is a path, or a name without a file after an `@`.
fn tell(address: &OsStr, words: &str) -> io::Result<()> {
    let address = match address.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(address)?,
    };
    UnixDatagram::unbound()?
        .send_to_addr(words.as_bytes(), &address)
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manager_is_told_at_a_path_and_at_a_name_without_a_file() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("notify");
        let name = format!("@{}", path.display());
        let abstract_name = SocketAddr::from_abstract_name(&name[1..]).expect("a name");
        for (socket, address) in [
            (UnixDatagram::bind(&path), path.as_os_str()),
            (UnixDatagram::bind_addr(&abstract_name), OsStr::new(&name)),
        ] {
            let socket = socket.expect("a socket");
            tell(address, "READY=1").expect("told");
            let mut told = [0; 16];
            let length = socket.recv(&mut told).expect("a message");
            assert_eq!(&told[..length], b"READY=1");
        }
        tell(OsStr::new("/nonexistent/notify"), "READY=1").expect_err("nobody listens");
    }
}
