//! The sender and the receiver, each a process of its own: `sealcast-lab delay-send` and `delay-receive`.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::{Deserialize, Serialize};
use socket2::SockRef;

use super::columns::STEPS;
use super::packet::{Codec, Medium, implementation};
use crate::ciphers::implementation::Implementation;
use crate::experiments::link::ends::{tell, told};
use crate::experiments::link::load::now;
use crate::harness::scheduling;

/// Start of the line that the receiver prints when it listens; address and window follow.
pub(super) const AT: &str = "at ";
/// Start of the line that an end prints when it is done; JSON follows.
pub(super) const DONE: &str = "done ";

/// Requested size of the receiving socket's buffer in bytes; the system may grant less.
const BUFFER: usize = 4 << 20;
/// Generous bound on the kernel's bookkeeping for a packet, which counts against the buffer.
const KERNEL_BYTES: usize = 1024;
/// Limits of the window: the number of packets in flight.
const WINDOW: std::ops::RangeInclusive<usize> = 8..=1024;
/// The receiver sends this many progress reports per window.
const REPORTS: u32 = 8;
/// The sender waits this long for a report, then takes the packets in flight for lost.
const STALL: Duration = Duration::from_secs(1);
/// Read timeout of the receiver, after which it checks if it should end.
const LOOK: Duration = Duration::from_millis(20);
/// The receiver ends when everything was sent and no packet came for this long.
const QUIET: Duration = Duration::from_millis(500);

/// Configuration of an end.
#[derive(Clone, Debug)]
pub struct DelayEnd {
    /// The medium to send.
    pub medium: Medium,
    /// `none`, or a cipher's implementation such as `rc4/definition`.
    pub cipher: String,
    /// Distinguishes this run's packets from others.
    pub token: u32,
}

/// The sender's report at its end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    /// Time just before the first packet was made, in nanoseconds of the monotonic clock.
    pub(super) began_ns: u64,
    /// Number of times that a report did not come within [`STALL`].
    pub(super) stalls: u32,
}

/// The receiver's report at its end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Received {
    /// Time at which the last packet of the first tenth was received and deciphered, of the first two tenths, and so
    /// on; `None` if no packet of that part came.
    pub(super) steps_ns: Vec<Option<u64>>,
    pub(super) packets: u32,
    /// Number of packets of other runs, of corrupted packets and of duplicates.
    pub(super) foreign: u64,
}

/// Sends everything as fast as the window allows.
///
/// # Errors
/// There is no such cipher, or a socket cannot be had.
pub fn send(end: &DelayEnd, to: SocketAddr, window: u32) -> Result<()> {
    let implementation = named(end)?;
    let mut codec = codec(end, implementation.as_ref())?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    socket.connect(to).map_err(refused)?;
    socket.set_read_timeout(Some(STALL)).map_err(refused)?;
    scheduling::raise_priority();
    let mut report = [0; 4];
    let (mut known, mut stalls) = (0_u32, 0);
    let began_ns = now();
    for number in 0..end.medium.packets {
        while number - known >= window {
            // The socket is connected: the kernel accepts datagrams from the receiver only.
            if matches!(socket.recv(&mut report), Ok(4)) {
                known = u32::from_ne_bytes(report).clamp(known, number);
            } else {
                stalls += 1;
                known = number;
            }
        }
        let packet = codec.seal(number).map_err(broken)?;
        // A packet that the kernel refuses is lost, as on any network; the receiver counts it.
        let _ = socket.send(packet);
    }
    say(&Sent { began_ns, stalls })
}

/// Receives until all packets are there, or until standard input has ended and no more packets come.
///
/// # Errors
/// There is no such cipher, or a socket cannot be had.
pub fn receive(end: &DelayEnd) -> Result<()> {
    let implementation = named(end)?;
    let mut codec = codec(end, implementation.as_ref())?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    let held = SockRef::from(&socket);
    // The system may grant less.
    let _ = held.set_recv_buffer_size(BUFFER);
    let window = window(held.recv_buffer_size().map_err(refused)?, codec.length());
    socket.set_read_timeout(Some(LOOK)).map_err(refused)?;
    let over = told();
    scheduling::raise_priority();
    tell(&format!("{AT}{} {window}", socket.local_addr().map_err(refused)?));

    let mut came: Vec<Option<u64>> = vec![None; end.medium.packets as usize];
    let mut received = Received::default();
    // One byte of extra room: a datagram that is too long then has the wrong length even when it is cut off.
    let mut room = vec![0; codec.length() + 1];
    let mut last = Instant::now();
    while received.packets < end.medium.packets && !(over.load(Ordering::Relaxed) && last.elapsed() > QUIET) {
        let (length, from) = match socket.recv_from(&mut room) {
            Ok(come) => come,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => continue,
            Err(error) => return Err(refused(error)),
        };
        let packet = &mut room[..length];
        let opened = codec.open(packet).map_err(broken)?;
        let at = now();
        let own = opened.filter(|&number| codec.is_what_was_sent(number, packet) && came[number as usize].is_none());
        let Some(number) = own else {
            received.foreign += 1;
            continue;
        };
        came[number as usize] = Some(at);
        received.packets += 1;
        last = Instant::now();
        if received.packets.is_multiple_of(window.div_ceil(REPORTS)) {
            // A lost report does no harm: another follows, or the sender continues after `STALL`.
            let _ = socket.send_to(&(number + 1).to_ne_bytes(), from);
        }
    }
    received.steps_ns = steps(&came);
    say(&received)
}

/// Time at which the last arrival of the first tenth was there, of the first two tenths, and so on.
fn steps(came: &[Option<u64>]) -> Vec<Option<u64>> {
    let step = came.len().div_ceil(STEPS).max(1);
    let latest = came.chunks(step).scan(None, |latest, tenth| {
        *latest = tenth.iter().copied().fold(*latest, Option::max);
        Some(*latest)
    });
    latest.collect()
}

/// The number of packets that surely fit the socket's buffer: half of the bytes it grants.
fn window(buffer: usize, length: usize) -> u32 {
    let packets = buffer / 2 / (KERNEL_BYTES + 2 * length);
    packets.clamp(*WINDOW.start(), *WINDOW.end()) as u32
}

fn say(done: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(done).map_err(|error| broken(error.to_string()))?;
    tell(&format!("{DONE}{json}"));
    Ok(())
}

fn named(end: &DelayEnd) -> Result<Option<Implementation>> {
    implementation(&end.cipher).map_err(|what| Failure::new(FailureKind::Usage, what, "use `sealcast-lab delay`"))
}

fn codec<'a>(end: &DelayEnd, implementation: Option<&'a Implementation>) -> Result<Codec<'a>> {
    Codec::new(end.medium, end.token, implementation).map_err(broken)
}

fn broken(what: String) -> Failure {
    Failure::new(FailureKind::Internal, what, "please report this")
}

fn refused(error: std::io::Error) -> Failure {
    let what = format!("an end of the measurement has no socket ({error})");
    Failure::new(FailureKind::Network, what, "see whether loopback is up")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_when_the_last_of_the_packets_until_then_had_come() {
        let came: Vec<Option<u64>> = (0..20)
            .map(|number| (number >= 2 && number != 9).then_some(100 + number))
            .collect();
        let mut overtaken = came.clone();
        overtaken.swap(4, 15);
        let tenths = |came: &[Option<u64>]| steps(came).iter().map(|step| step.unwrap_or(0)).collect::<Vec<_>>();
        assert_eq!(tenths(&came), [0, 103, 105, 107, 108, 111, 113, 115, 117, 119]);
        assert_eq!(tenths(&overtaken), [0, 103, 115, 115, 115, 115, 115, 115, 117, 119]);
    }

    #[test]
    fn a_window_fits_into_what_the_socket_holds() {
        for buffer in [0, 4096, 425_984, 8 << 20] {
            for length in [23, 608, 2488] {
                let packets = window(buffer, length) as usize;
                let bytes = packets * (KERNEL_BYTES + 2 * length);
                assert!(WINDOW.contains(&packets) && (packets == *WINDOW.start() || bytes <= buffer / 2));
            }
        }
    }
}
