//! The two ends, processes of their own: `sealcast-lab delay-send` and `delay-receive`.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use serde::{Deserialize, Serialize};
use socket2::SockRef;

use super::packet::{Codec, contender};
use super::plan::{Medium, STEPS};
use crate::ciphers::contender::Contender;
use crate::experiments::link::ends::{tell, told};
use crate::experiments::link::load::now;
use crate::harness::on_time;

/// What the receiver says when it listens: address and window follow.
pub(super) const AT: &str = "at ";
/// What an end says when it is done: JSON follows.
pub(super) const DONE: &str = "done ";

/// Bytes that the receiving socket may hold, if the system grants them.
const BUFFER: usize = 4 << 20;
/// What the kernel counts for a packet beside its bytes, generously.
const KERNEL_BYTES: usize = 1024;
/// Packets that may be under way.
const WINDOW: std::ops::RangeInclusive<usize> = 8..=1024;
/// So many times in a window the receiver says how far it is.
const REPORTS: u32 = 8;
/// How long the sender waits for a report before it takes what is under way for lost.
const STALL: Duration = Duration::from_secs(1);
/// How long the receiver waits for packets before it looks whether to end.
const LOOK: Duration = Duration::from_millis(20);
/// The receiver ends when everything was sent, and nothing came for this long.
const QUIET: Duration = Duration::from_millis(500);

/// What an end has to know.
#[derive(Clone, Debug)]
pub struct DelayEnd {
    /// What is sent.
    pub medium: Medium,
    /// `none`, or a cipher's implementation such as `rc4/definition`.
    pub cipher: String,
    /// Tells this run's packets from others.
    pub token: u32,
}

/// What the sender says in the end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    /// Just before the first packet was made; in nanoseconds of the monotonic clock.
    pub(super) began_ns: u64,
    /// How often no report came in time.
    pub(super) stalls: u32,
}

/// What the receiver says in the end.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Received {
    /// When the last of the first tenth of the packets had come and was deciphered, of the first two tenths, and so on;
    /// none where none of them came.
    pub(super) steps_ns: Vec<Option<u64>>,
    pub(super) packets: u32,
    /// Packets that were not of this run, or not what was sent, or there already.
    pub(super) foreign: u64,
}

/// Sends everything, as fast as the window lets it.
///
/// # Errors
/// There is no such cipher, or no socket.
pub fn send(end: &DelayEnd, to: SocketAddr, window: u32) -> Result<()> {
    let contender = named(end)?;
    let mut codec = codec(end, contender.as_ref())?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    socket.connect(to).map_err(refused)?;
    socket.set_read_timeout(Some(STALL)).map_err(refused)?;
    on_time::go_first();
    let mut report = [0; 4];
    let (mut known, mut stalls) = (0_u32, 0);
    let began_ns = now();
    for number in 0..end.medium.packets {
        while number - known >= window {
            // Whoever else may write to this port, the kernel passes on the receiver's datagrams alone.
            if matches!(socket.recv(&mut report), Ok(4)) {
                known = u32::from_ne_bytes(report).clamp(known, number);
            } else {
                stalls += 1;
                known = number;
            }
        }
        let packet = codec.seal(number).map_err(broken)?;
        // One that the kernel does not take is lost, as on any network; the receiver's count tells.
        let _ = socket.send(packet);
    }
    say(&Sent { began_ns, stalls })
}

/// Receives until everything is there, or nothing more comes after standard input has ended.
///
/// # Errors
/// There is no such cipher, or no socket.
pub fn receive(end: &DelayEnd) -> Result<()> {
    let contender = named(end)?;
    let mut codec = codec(end, contender.as_ref())?;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_err(refused)?;
    let held = SockRef::from(&socket);
    // As much as the system grants.
    let _ = held.set_recv_buffer_size(BUFFER);
    let window = window(held.recv_buffer_size().map_err(refused)?, codec.length());
    socket.set_read_timeout(Some(LOOK)).map_err(refused)?;
    let over = told();
    on_time::go_first();
    tell(&format!("{AT}{} {window}", socket.local_addr().map_err(refused)?));

    let mut came: Vec<Option<u64>> = vec![None; end.medium.packets as usize];
    let mut received = Received::default();
    // Longer ones are cut off, and then have another length, too.
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
            // One that is lost is followed by another, or waited for no longer than `STALL`.
            let _ = socket.send_to(&(number + 1).to_ne_bytes(), from);
        }
    }
    received.steps_ns = steps(&came);
    say(&received)
}

/// When everything of the first tenth was there that came at all, of the first two tenths, and so on.
fn steps(came: &[Option<u64>]) -> Vec<Option<u64>> {
    let step = came.len().div_ceil(STEPS).max(1);
    let latest = came.chunks(step).scan(None, |latest, tenth| {
        *latest = tenth.iter().copied().fold(*latest, Option::max);
        Some(*latest)
    });
    latest.collect()
}

/// Packets that a socket surely holds: half of what it may.
fn window(buffer: usize, length: usize) -> u32 {
    let packets = buffer / 2 / (KERNEL_BYTES + 2 * length);
    packets.clamp(*WINDOW.start(), *WINDOW.end()) as u32
}

fn say(done: &impl Serialize) -> Result<()> {
    let json = serde_json::to_string(done).map_err(|error| broken(error.to_string()))?;
    tell(&format!("{DONE}{json}"));
    Ok(())
}

fn named(end: &DelayEnd) -> Result<Option<Contender>> {
    contender(&end.cipher).map_err(|what| Failure::new(FailureKind::Usage, what, "use `sealcast-lab delay`"))
}

fn codec<'a>(end: &DelayEnd, contender: Option<&'a Contender>) -> Result<Codec<'a>> {
    Codec::new(end.medium, end.token, contender).map_err(broken)
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
