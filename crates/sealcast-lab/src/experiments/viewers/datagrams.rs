//! The plain fan-out over UDP: frames cut into datagrams of the length that sessions use, in runs that the kernel cuts
//! up (GSO) where it can, without pacing, repair or answers. Who sends a datagram gets the frames from then on.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use sealcast::transport::udp::{DatagramSocket, Fragments, Path, Runs};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::stamped::{STAMP, Stamped};
use crate::experiments::throughput::DATAGRAM;

/// Length of what stands before the data in a datagram: the frame's number, its number of datagrams, and its time.
const HEAD: usize = 4 + 2 + STAMP;
/// Datagram with which a viewer asks.
const HELLO: &[u8] = b"hello";
/// Time after which a viewer that has nothing asks again.
const AGAIN: Duration = Duration::from_millis(200);

/// A socket on the loopback interface.
///
/// # Errors
/// The system gives none.
pub(super) fn bind() -> io::Result<DatagramSocket> {
    DatagramSocket::bind((Ipv4Addr::LOCALHOST, 0).into(), Fragments::Forbidden)
}

/// Gives frames to everybody who asks, until there are no more.
pub(super) async fn serve(socket: DatagramSocket, mut frames: broadcast::Receiver<Stamped>) {
    let (mut viewers, mut runs, mut cut) = (Vec::new(), Runs::for_socket(), Vec::new());
    for number in 0_u32.. {
        let frame = loop {
            tokio::select! {
                frame = frames.recv() => match frame {
                    Ok(frame) => break frame,
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => return,
                },
                () = socket.readable() => join(&socket, &mut runs, &mut viewers),
            }
        };
        put(&frame, number, &mut cut);
        for &viewer in &viewers {
            send(&socket, viewer, &cut).await;
        }
    }
}

/// Takes in those who asked.
fn join(socket: &DatagramSocket, runs: &mut Runs, viewers: &mut Vec<SocketAddr>) {
    // An error about a viewer that has gone, whose frames are lost.
    let _ = runs.receive(socket);
    while let Some((path, _)) = runs.next() {
        if !viewers.contains(&path.remote) {
            viewers.push(path.remote);
        }
    }
}

/// Cuts a frame into datagrams, all of the same length but the last.
fn put(frame: &Stamped, number: u32, cut: &mut Vec<u8>) {
    cut.clear();
    let pieces = frame.data.chunks(DATAGRAM - HEAD);
    let count = u16::try_from(pieces.len()).unwrap_or(u16::MAX);
    for piece in pieces {
        cut.extend_from_slice(&number.to_be_bytes());
        cut.extend_from_slice(&count.to_be_bytes());
        cut.extend_from_slice(&frame.at_ns.to_be_bytes());
        cut.extend_from_slice(piece);
    }
}

async fn send(socket: &DatagramSocket, viewer: SocketAddr, cut: &[u8]) {
    let mut done = 0;
    while done < cut.len() {
        done += socket.try_send_run(Path::to(viewer), &cut[done..], DATAGRAM).bytes;
        if done < cut.len() {
            socket.writable().await;
        }
    }
}

/// A viewer, which tells the time of each frame that is there with all its datagrams, until its runtime ends.
///
/// # Errors
/// The system gives no socket, or it is broken.
pub(super) async fn receive(from: SocketAddr, mut each: impl FnMut(i64)) -> io::Result<()> {
    let socket = bind()?;
    let (mut runs, mut frame) = (Runs::for_socket(), Partly::default());
    loop {
        if tokio::time::timeout(AGAIN, socket.readable()).await.is_err() {
            socket.try_send_run(Path::to(from), HELLO, DATAGRAM);
            continue;
        }
        runs.receive(&socket)?;
        while let Some((_, datagram)) = runs.next() {
            frame.take(datagram).into_iter().for_each(&mut each);
        }
    }
}

/// The frame of which datagrams come. The loopback interface keeps their order.
#[derive(Default)]
struct Partly {
    number: u32,
    came: u16,
}

impl Partly {
    /// The time of a frame whose last datagram this is, if all others came before it.
    fn take(&mut self, datagram: &[u8]) -> Option<i64> {
        let (number, rest) = datagram.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let at_ns = rest.first_chunk()?;
        let number = u32::from_be_bytes(*number);
        if number != self.number {
            *self = Self { number, came: 0 };
        }
        self.came += 1;
        (self.came == u16::from_be_bytes(*count)).then(|| i64::from_be_bytes(*at_ns))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn cut(number: u32, bytes: usize) -> Vec<u8> {
        let frame = Stamped {
            keyframe: false,
            at_ns: 1000 + i64::from(number),
            data: Bytes::from(vec![7; bytes]),
        };
        let mut cut = Vec::new();
        put(&frame, number, &mut cut);
        cut
    }

    #[test]
    fn a_frame_is_there_when_all_its_datagrams_are() {
        let mut partly = Partly::default();
        let mut told = |number, bytes, left_out: Option<usize>| -> Vec<i64> {
            let cut = cut(number, bytes);
            let datagrams = cut.chunks(DATAGRAM).enumerate();
            let came = datagrams.filter(|(at, _)| Some(*at) != left_out);
            came.filter_map(|(_, datagram)| partly.take(datagram)).collect()
        };
        assert_eq!(told(0, 10, None), [1000]);
        assert_eq!(told(1, 3 * (DATAGRAM - HEAD), None), [1001]);
        assert!(told(2, 3 * (DATAGRAM - HEAD), Some(1)).is_empty());
        assert!(told(3, 3 * (DATAGRAM - HEAD), Some(2)).is_empty());
        assert_eq!(told(4, 2 * (DATAGRAM - HEAD) + 1, None), [1004]);
        assert_eq!(Partly::default().take(&[0; HEAD - 1]), None);
    }
}
