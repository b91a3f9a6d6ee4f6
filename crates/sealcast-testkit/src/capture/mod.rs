//! What tcpdump sees on the loopback interface, and what can be found in it.

pub mod rtp;

use std::collections::HashSet;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::media::{path, tool};
use crate::program::{PATIENCE, Program};

/// So many bytes in a row are the same by chance never.
pub const RUN: usize = 16;

/// A capture of everything on one port of the loopback interface.
pub struct Capture {
    tcpdump: Program,
    file: PathBuf,
}

impl Capture {
    /// Capture what is sent over TCP from and to a port.
    pub fn start(port: u16, file: PathBuf) -> Self {
        Self::of(&format!("tcp port {port}"), file)
    }

    /// Capture what a filter of tcpdump's lets through.
    pub fn of(what: &str, file: PathBuf) -> Self {
        let mut command = Command::new("env");
        command.arg(tool("tcpdump").get_program());
        command.args([
            "-i",
            "lo",
            "-n",
            "-U",
            "--immediate-mode",
            "-s",
            "0",
            "-B",
            "32768",
            "-Z",
            "root",
        ]);
        command.args(["-w", path(&file), what]);
        let tcpdump = Program::run("tcpdump", command);
        let began = Instant::now();
        while !tcpdump.said().contains("listening on lo") {
            assert!(
                !tcpdump.said().contains("permission"),
                "tcpdump may not capture on the loopback interface: run this test as root"
            );
            assert!(began.elapsed() < PATIENCE, "tcpdump does not begin to capture");
            thread::sleep(Duration::from_millis(10));
        }
        Self { tcpdump, file }
    }

    /// Everything that was captured, complete.
    pub fn stop(mut self) -> Vec<u8> {
        // What was sent last is on its way through the kernel.
        thread::sleep(Duration::from_millis(300));
        self.tcpdump.signal("INT");
        self.tcpdump.succeeds(PATIENCE);
        let said = self.tcpdump.said();
        assert!(said.contains("\n0 packets dropped by kernel"), "{said}");
        std::fs::read(&self.file).expect("a capture")
    }
}

/// Every run of bytes that means something: one with several different values.
pub fn runs(bytes: &[u8]) -> impl Iterator<Item = [u8; RUN]> + '_ {
    let runs = bytes.windows(RUN).map(|run| run.try_into().expect("a run's length"));
    runs.filter(|run: &[u8; RUN]| run.iter().collect::<HashSet<_>>().len() >= 4)
}

/// How many of the plaintext's runs are in the capture, and how many there are.
pub fn seen(plaintext: &[u8], capture: &[u8]) -> (usize, usize) {
    seen_of(std::iter::once(plaintext), capture)
}

/// The same of several plaintexts, none of whose runs goes on in the next.
pub fn seen_of<'a>(plaintexts: impl Iterator<Item = &'a [u8]>, capture: &[u8]) -> (usize, usize) {
    let wanted: HashSet<[u8; RUN]> = plaintexts.flat_map(runs).collect();
    let found: HashSet<[u8; RUN]> = runs(capture).filter(|run| wanted.contains(run)).collect();
    (found.len(), wanted.len())
}

/// The IPv4 packets of a capture on Ethernet, as the loopback interface shows them.
pub fn packets(capture: &[u8]) -> Vec<&[u8]> {
    const FILE_HEADER: usize = 24;
    const PACKET_HEADER: usize = 16;
    const ETHERNET: usize = 14;
    let (mut rest, mut packets) = (&capture[FILE_HEADER..], Vec::new());
    while rest.len() >= PACKET_HEADER {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let packet = &rest[PACKET_HEADER..PACKET_HEADER + length];
        packets.push(&packet[ETHERNET..]);
        rest = &rest[PACKET_HEADER + length..];
    }
    packets
}
