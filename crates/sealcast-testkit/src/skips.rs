//! Features that a machine may lack: a test that needs one says that it is skipped, and why. It neither fails nor
//! passes in silence.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::{Ipv6Addr, UdpSocket};

/// Says that the calling test, or a part of it, is skipped, and why.
///
/// The test harness keeps back what a test prints that passes, so the line goes to standard error itself. `cargo xtask`
/// counts the lines that begin so.
pub fn skipped(why: impl Display) {
    let thread = std::thread::current();
    let line = format!("SKIPPED {}: {why}\n", thread.name().unwrap_or("a test"));
    io::stderr().write_all(line.as_bytes()).expect("standard error is open");
}

/// True if this machine has IPv6 on its loopback interface; if not, says that the calling test is skipped.
pub fn has_ipv6() -> bool {
    let here = UdpSocket::bind((Ipv6Addr::LOCALHOST, 0));
    if let Err(error) = &here {
        skipped(format_args!("no IPv6: {error}"));
    }
    here.is_ok()
}
