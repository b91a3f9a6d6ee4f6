//! A plain relay that only forwards packets: the baseline for the gateways.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use sealcast::failure::{Failure, FailureKind, Result};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::paths::RECEIVE_BUFFER;
use crate::experiments::throughput::Carrier;

/// The relay prints this before each address that it listens at.
pub(super) const AT: &str = "at ";
/// Longest datagram in bytes.
const ROOM: usize = 2048;

/// Forwards packets from one port for each address in `to`, until standard input ends. Prints the ports in order.
///
/// # Errors
/// A port cannot be opened.
pub fn relay(carrier: Carrier, to: &[SocketAddr]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let ended = runtime.and_then(|runtime| {
        runtime.block_on(async {
            for &to in to {
                let at = match carrier {
                    Carrier::Udp => datagrams(to).await,
                    Carrier::Tcp => streams(to).await,
                };
                println!("{AT}{}", at?);
            }
            Ok::<_, io::Error>(())
        })?;
        // Standard input ends with the process that started the relay.
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
        runtime.shutdown_background();
        Ok(())
    });
    ended.map_err(|error| {
        let what = format!("the relay cannot pass on ({error})");
        Failure::new(FailureKind::Network, what, "raise the limits on files and threads")
    })
}

async fn datagrams(to: SocketAddr) -> io::Result<SocketAddr> {
    let inward = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    rustix::net::sockopt::set_socket_recv_buffer_size(&inward, RECEIVE_BUFFER)?;
    let at = inward.local_addr()?;
    let outward = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await?;
    outward.connect(to).await?;
    tokio::spawn(async move {
        let mut room = [0; ROOM];
        while let Ok(length) = inward.recv(&mut room).await {
            // If nobody listens at the destination, the packet is lost.
            let _ = outward.send(&room[..length]).await;
        }
    });
    Ok(at)
}

async fn streams(to: SocketAddr) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let at = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((inward, _)) = listener.accept().await {
            tokio::spawn(stream(inward, to));
        }
    });
    Ok(at)
}

async fn stream(mut inward: TcpStream, to: SocketAddr) -> io::Result<()> {
    let mut outward = TcpStream::connect(to).await?;
    inward.set_nodelay(true)?;
    outward.set_nodelay(true)?;
    copy_bidirectional(&mut inward, &mut outward).await?;
    Ok(())
}
