//! Ends of systems that carry packets: they use a UDP socket, with or without `srt-live-transmit` behind it.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use sealcast::failure::{Failure, FailureKind, Result};
use socket2::{Domain, Socket, Type};

use super::config::EndConfig;
use super::talk::{READY, tell, told};
use crate::experiments::link::load::{self, GROUP, Row, Stamp, row};
use crate::experiments::link::packets::{Cutter, Joiner, PAYLOAD};
use crate::experiments::link::system::Carrier;

/// Interval of the packets that test if the path is open.
const KNOCK: Duration = Duration::from_millis(50);
/// Read timeout of a receiver, after which it checks if it should end.
const LOOK: Duration = Duration::from_millis(20);
/// Size of socket buffers in bytes: a keyframe comes in one burst.
const BUFFER: usize = 4 << 20;

pub(super) fn send(config: &EndConfig) -> Result<Vec<Row>> {
    let bind = (Ipv4Addr::UNSPECIFIED, 0).into();
    let socket = socket(bind)?;
    socket.connect(config.address).map_err(refused)?;
    let mut cutter = Cutter::new(config.system.carrier == Carrier::Rtp);
    // A packet that cannot be sent is lost, as on any network: the receiver may not listen yet.
    let transmit = |packet: &[u8]| drop(socket.send(packet));
    let go = told();
    while !go.load(Ordering::Relaxed) {
        transmit(cutter.hello());
        std::thread::sleep(KNOCK);
    }
    let start = Instant::now();
    let mut rows = Vec::new();
    for number in 0..config.frames {
        load::sleep_until_due(start, number);
        let keyframe = number.is_multiple_of(GROUP);
        let size = load::size(number, keyframe);
        let stamp = Stamp {
            number,
            keyframe,
            sent: load::now(),
        };
        cutter.cut(stamp, size, transmit);
        rows.push(row(stamp, size, 0));
    }
    Ok(rows)
}

pub(super) fn receive(config: &EndConfig) -> Result<Vec<Row>> {
    let socket = socket(config.address)?;
    socket.set_read_timeout(Some(LOOK)).map_err(refused)?;
    let mut joiner = Joiner::new(config.system.carrier == Carrier::Rtp);
    let (mut rows, mut ready) = (Vec::new(), false);
    let mut buffer = [0; 2 * PAYLOAD];
    let end = told();
    while !end.load(Ordering::Relaxed) {
        match socket.recv(&mut buffer) {
            Ok(length) => {
                let now = load::now();
                if !std::mem::replace(&mut ready, true) {
                    tell(READY);
                }
                rows.extend(joiner.take(&buffer[..length], now));
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Ok(rows)
}

fn socket(address: std::net::SocketAddr) -> Result<UdpSocket> {
    let made = || {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
        // The system may grant less.
        let _ = socket.set_recv_buffer_size(BUFFER);
        let _ = socket.set_send_buffer_size(BUFFER);
        socket.bind(&address.into())?;
        Ok(socket.into())
    };
    made().map_err(refused)
}

fn refused(error: std::io::Error) -> Failure {
    let what = format!("an end of the measurement has no socket ({error})");
    Failure::new(FailureKind::Network, what, "see whether another run still goes on")
}
