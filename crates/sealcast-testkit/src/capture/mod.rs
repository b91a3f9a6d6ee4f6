//! Captures of the loopback interface with tcpdump, and searches in them.

pub mod rtp;

use std::collections::HashSet;
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::media::{path, tool};
use crate::program::{PATIENCE, Program};
use crate::skips::skipped;

/// This many equal bytes in a row are never a coincidence.
pub const RUN: usize = 16;

/// Length of a capture file's header, and of each packet's header in it.
const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// True if tcpdump may capture on the loopback interface, which takes root; if not, says that the calling test is
/// skipped.
pub fn may_capture() -> bool {
    // It opens the interface, and prints what it would filter with.
    let probe = tool("tcpdump")
        .args(["-i", "lo", "-d"])
        .output()
        .expect("tcpdump starts");
    if !probe.status.success() {
        skipped("tcpdump may not capture on the loopback interface");
    }
    probe.status.success()
}

/// A capture of everything on one port of the loopback interface.
pub struct Capture {
    tcpdump: Program,
    file: PathBuf,
    /// Sends the last packet of a capture to itself; it is captured, too, and shows that the capture is complete.
    end: UdpSocket,
}

impl Capture {
    /// Captures TCP traffic from and to a port.
    pub fn start(port: u16, file: PathBuf) -> Self {
        Self::of(&format!("tcp port {port}"), file)
    }

    /// Captures traffic that matches a tcpdump filter.
    pub fn of(what: &str, file: PathBuf) -> Self {
        let end = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let what = format!("({what}) or udp port {}", end.local_addr().expect("bound").port());
        let mut command = Command::new("env");
        command.arg(tool("tcpdump").get_program());
        // Not in immediate mode: in that mode each packet occupies the space of the longest, so that 32 MiB hold only
        // 256 packets.
        command.args(["-i", "lo", "-n", "-U", "-s", "0", "-B", "32768", "-Z", "root"]);
        command.args(["-w", path(&file), &what]);
        let tcpdump = Program::run("tcpdump", command);
        let began = Instant::now();
        while !tcpdump.said().contains("listening on lo") {
            assert!(began.elapsed() < PATIENCE, "tcpdump does not begin to capture");
            thread::sleep(Duration::from_millis(10));
        }
        Self { tcpdump, file, end }
    }

    /// Ends the capture and returns all of it.
    pub fn stop(mut self) -> Vec<u8> {
        let address = self.end.local_addr().expect("bound");
        // The address distinguishes this packet from last packets of concurrent captures.
        let last = format!("the last packet at {address}");
        self.end.send_to(last.as_bytes(), address).expect("sent");
        let began = Instant::now();
        let captured = loop {
            let mut captured = std::fs::read(&self.file).expect("a capture");
            if let Some(at) = start_of(last.as_bytes(), &captured) {
                captured.truncate(at);
                break captured;
            }
            assert!(began.elapsed() < PATIENCE, "tcpdump does not capture what is sent");
            thread::sleep(Duration::from_millis(50));
        };
        self.tcpdump.signal("INT");
        self.tcpdump.succeeds(PATIENCE);
        let said = self.tcpdump.said();
        assert!(said.contains("\n0 packets dropped by kernel"), "{said}");
        captured
    }
}

/// The offset of the record of the complete packet that ends with these bytes.
fn start_of(ending: &[u8], capture: &[u8]) -> Option<usize> {
    let mut at = FILE_HEADER;
    while let Some(packet) = packet_at(capture, at) {
        if packet.ends_with(ending) {
            return Some(at);
        }
        at += PACKET_HEADER + packet.len();
    }
    None
}

/// Every run of bytes that is significant: one with several different values.
pub fn runs(bytes: &[u8]) -> impl Iterator<Item = [u8; RUN]> + '_ {
    let runs = bytes.windows(RUN).map(|run| run.try_into().expect("a run's length"));
    runs.filter(|run: &[u8; RUN]| {
        let mut sorted = *run;
        sorted.sort_unstable();
        sorted.windows(2).filter(|pair| pair[0] != pair[1]).count() >= 3
    })
}

/// The number of the plaintext's runs that are in the capture, and their total number.
pub fn seen(plaintext: &[u8], capture: &[u8]) -> (usize, usize) {
    seen_of(std::iter::once(plaintext), capture)
}

/// As [`seen`] for several plaintexts; runs do not span two of them.
pub fn seen_of<'a>(plaintexts: impl Iterator<Item = &'a [u8]>, capture: &[u8]) -> (usize, usize) {
    let wanted: HashSet<[u8; RUN]> = plaintexts.flat_map(runs).collect();
    let found: HashSet<&[u8]> = capture.windows(RUN).filter(|run| wanted.contains(*run)).collect();
    (found.len(), wanted.len())
}

/// The IPv4 packets of a capture with Ethernet headers, which the loopback interface has.
pub fn packets(capture: &[u8]) -> Vec<&[u8]> {
    const ETHERNET: usize = 14;
    let (mut at, mut packets) = (FILE_HEADER, Vec::new());
    while let Some(packet) = packet_at(capture, at) {
        packets.push(&packet[ETHERNET..]);
        at += PACKET_HEADER + packet.len();
    }
    packets
}

/// The packet whose record begins at this offset, if the capture has all of it.
fn packet_at(capture: &[u8], at: usize) -> Option<&[u8]> {
    let length = capture.get(at + 8..at + 12)?.try_into().expect("four bytes");
    let begin = at + PACKET_HEADER;
    capture.get(begin..begin + u32::from_le_bytes(length) as usize)
}
