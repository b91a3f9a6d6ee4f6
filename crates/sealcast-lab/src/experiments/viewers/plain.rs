//! A plain fan-out: each frame of a clip, behind its length, to every connection, in datagrams to everybody who asked,
//! or as an object to a relay. Nothing is sealed; it is what a user of tokio would write.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;

use bytes::Buf;
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::media;
use sealcast::run::{ClientRole, RelayClient, RelayUrl, Track};
use sealcast::source;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::datagrams;
use super::stamped::{STAMP, Stamped};
use crate::experiments::link::ends::{tell, told};
use crate::experiments::stream::wall_clock_ns;
use crate::experiments::throughput::Carrier;

/// Printed before the address at which viewers connect.
pub(super) const AT: &str = "at ";
/// Length of what stands before a frame on a connection: its length and its time, in bytes.
pub(super) const HEAD: usize = PREFIX + STAMP;
/// Length of a frame's length.
pub(super) const PREFIX: usize = 4;
/// Bytes by which a sealed and signed frame is longer, beside the stamp: an object has them too, so that a relay
/// carries objects of the same lengths. An answer to challenges in the proof, and the description before a keyframe,
/// come on top.
const SEALED_MORE: usize = 242 - STAMP;
/// Frames that may wait for a viewer. Who has more loses the oldest.
const MAX_WAITING: usize = 64;

/// Gives the frames of a source in real time to everybody who connects or asks, or to a relay, until standard input
/// ends.
///
/// # Errors
/// The source cannot be opened, or no port, or the relay client does not start.
pub fn fan_out(source: &str, carrier: Carrier, relay: Option<RelayUrl>) -> Result<()> {
    let mut source = source::open(source)?;
    // As many threads as the program has.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let (frames, _) = broadcast::channel(MAX_WAITING);
    let unusable = |error: io::Error| {
        let what = format!("the fan-out cannot begin ({error})");
        Failure::new(FailureKind::Network, what, "raise the limits on files and threads")
    };
    let runtime = runtime.map_err(unusable)?;
    match (relay, carrier) {
        (Some(relay), _) => {
            let client = runtime.block_on(RelayClient::start(&relay, ClientRole::Publish))?;
            runtime.spawn(feed(client, frames.subscribe()));
        }
        (None, Carrier::Udp) => {
            let socket = runtime.block_on(async { datagrams::bind() }).map_err(unusable)?;
            tell(&format!("{AT}{}", socket.local_address()));
            runtime.spawn(datagrams::serve(socket, frames.subscribe()));
        }
        (None, Carrier::Tcp) => {
            let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
            let listener = listener.map_err(unusable)?;
            tell(&format!("{AT}{}", listener.local_addr().map_err(unusable)?));
            runtime.spawn(accept(listener, frames.clone()));
        }
    }
    let ended = told();
    while !ended.load(Ordering::Relaxed) {
        let Some(frame) = source.next()? else { break };
        if frame.track == media::Track::Sound {
            continue;
        }
        // It fails only while nobody watches.
        let _ = frames.send(Stamped {
            keyframe: frame.keyframe,
            at_ns: wall_clock_ns(),
            data: frame.data,
        });
    }
    runtime.shutdown_background();
    Ok(())
}

async fn accept(listener: TcpListener, frames: broadcast::Sender<Stamped>) {
    while let Ok((stream, _)) = listener.accept().await {
        // A viewer that leaves ends its task alone.
        tokio::spawn(serve(stream, frames.subscribe()));
    }
}

async fn serve(mut stream: TcpStream, mut frames: broadcast::Receiver<Stamped>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        match frames.recv().await {
            Ok(frame) => {
                let mut head = [0; HEAD];
                head[..PREFIX].copy_from_slice(&(frame.data.len() as u32).to_be_bytes());
                head[PREFIX..].copy_from_slice(&frame.at_ns.to_be_bytes());
                stream.write_all_buf(&mut head.chain(frame.data)).await?;
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

/// Gives a relay client objects, a group for each group of pictures, until one of them ends.
async fn feed(mut client: RelayClient, mut frames: broadcast::Receiver<Stamped>) -> io::Result<()> {
    let mut group = 0;
    loop {
        let frame = tokio::select! {
            frame = frames.recv() => frame,
            // What it says of the relay is in its viewers' figures.
            event = client.event() => match event {
                Some(_) => continue,
                None => return Ok(()),
            },
        };
        match frame {
            Ok(frame) => {
                if frame.keyframe {
                    group += 1;
                    client.begin_group(Track::Video, group).await?;
                }
                if group > 0 {
                    client.object(Track::Video, &object(&frame)).await?;
                }
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}

/// A frame as an object: as long as a sealed and signed one.
fn object(frame: &Stamped) -> Vec<u8> {
    [&frame.at_ns.to_be_bytes()[..], &frame.data, &[0; SEALED_MORE]].concat()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use sealcast_proto::sign::SignMode;

    use super::*;
    use crate::experiments::groups::cast;

    #[test]
    fn an_object_is_as_long_as_a_sealed_and_signed_frame() {
        let mut sealer = cast::sealer(SignMode::Frame).expect("a sealer");
        let data = [7; 5000];
        let mut length_of = |number, keyframe| {
            let frame = cast::frame(number, keyframe, &data);
            let sealed = sealer.seal(cast::at(std::time::Duration::ZERO), &cast::info(), &frame);
            sealed
                .expect("it is sealed")
                .expect("after a keyframe")
                .frame
                .bytes
                .len()
        };
        length_of(0, true);
        let plain = Stamped {
            keyframe: false,
            at_ns: 1,
            data: Bytes::copy_from_slice(&data),
        };
        assert_eq!(object(&plain).len(), length_of(1, false));
    }
}
