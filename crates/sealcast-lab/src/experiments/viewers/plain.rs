//! A plain fan-out: each frame of a clip, behind its length, to every connection. Nothing is sealed; it is what a user
//! of tokio would write.

use std::io;
use std::net::Ipv4Addr;
use std::sync::atomic::Ordering;

use bytes::{Buf, Bytes};
use sealcast::failure::{Failure, FailureKind, Result};
use sealcast::source;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::experiments::link::ends::{tell, told};

/// Printed before the address at which viewers connect.
pub(super) const AT: &str = "at ";
/// Length of a frame's length, in bytes.
pub(super) const PREFIX: usize = 4;
/// Frames that may wait for a viewer. Who has more loses the oldest.
const MAX_WAITING: usize = 64;

/// Sends the frames of a source in real time to everybody who connects, until standard input ends.
///
/// # Errors
/// The source cannot be opened, or no port.
pub fn fan_out(source: &str) -> Result<()> {
    let mut source = source::open(source)?;
    // As many threads as the program has.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let (frames, _) = broadcast::channel(MAX_WAITING);
    let viewers = frames.clone();
    let started = runtime.and_then(|runtime| {
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))?;
        tell(&format!("{AT}{}", listener.local_addr()?));
        runtime.spawn(accept(listener, viewers));
        Ok(runtime)
    });
    let runtime = started.map_err(|error| {
        let what = format!("the fan-out has no port ({error})");
        Failure::new(FailureKind::Network, what, "raise the limits on files and threads")
    })?;
    let ended = told();
    while !ended.load(Ordering::Relaxed) {
        let Some(frame) = source.next()? else { break };
        // It fails only while nobody watches.
        let _ = frames.send(frame.data);
    }
    runtime.shutdown_background();
    Ok(())
}

async fn accept(listener: TcpListener, frames: broadcast::Sender<Bytes>) {
    while let Ok((stream, _)) = listener.accept().await {
        // A viewer that leaves ends its task alone.
        tokio::spawn(serve(stream, frames.subscribe()));
    }
}

async fn serve(mut stream: TcpStream, mut frames: broadcast::Receiver<Bytes>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        match frames.recv().await {
            Ok(frame) => {
                let length = (frame.len() as u32).to_be_bytes();
                stream.write_all_buf(&mut length.chain(frame)).await?;
            }
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return Ok(()),
        }
    }
}
