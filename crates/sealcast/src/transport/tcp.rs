//! TCP, tuned for low delay.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};

use super::StreamTransport;
use super::race::{first, lookup};
use super::url::cannot_listen;
use crate::failure::{Failure, FailureKind, Result};

/// Size of the kernel's send buffer. A larger one would only let frames age where old ones can no longer be dropped.
const SEND_BUFFER: usize = 256 * 1024;
/// Size of the kernel's receive buffer. After a stall a viewer should continue with the newest picture, and the
/// kernel's own limit is tens of megabytes. With this size a link with a round trip of 100 ms still carries some 80
/// Mbit/s.
const RECEIVE_BUFFER: usize = 1024 * 1024;

/// A TCP connection that carries messages.
pub type TcpTransport = StreamTransport<TcpStream>;

/// Listen at an address; port 0 takes a free one. `scheme` is that of the URL, for the failure.
///
/// # Errors
/// The port is taken, or the address does not belong to this machine.
pub(crate) fn listen(scheme: &str, address: SocketAddr) -> Result<TcpListener> {
    let bind = || {
        let socket = socket2::Socket::new(socket2::Domain::for_address(address), socket2::Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() {
            // [::] also accepts IPv4, whatever the system's default.
            socket.set_only_v6(false)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(128)?;
        TcpListener::from_std(socket.into())
    };
    bind().map_err(|error: io::Error| cannot_listen(scheme, address, &error))
}

/// Connects with low-delay settings.
///
/// # Errors
/// Nobody answers there, in words.
pub(super) async fn connect(address: SocketAddr) -> std::result::Result<TcpStream, String> {
    let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    tune(&stream);
    Ok(stream)
}

/// Connects with low-delay settings to the first address of a name that answers, or to an address written without
/// brackets.
///
/// # Errors
/// The name is unknown, or no address answers.
pub(crate) async fn connect_stream(name: &str, port: u16) -> Result<TcpStream> {
    let fail = |why: String, hint: &str| {
        Failure::new(
            FailureKind::Network,
            format!("cannot reach {name}:{port} ({why})"),
            hint,
        )
    };
    let found = lookup(name, port).await;
    let found = found.map_err(|why| fail(why, "check the name and the network"))?;
    let connected = first(found, connect).await;
    connected.map(|(_, stream)| stream).map_err(|failed| {
        let hint = "check that the other end runs and that a firewall lets you through";
        fail(failed.join("; "), hint)
    })
}

/// Apply the low-delay settings to an accepted connection.
pub(crate) fn prepare(stream: TcpStream) -> TcpTransport {
    tune(&stream);
    StreamTransport::new(stream)
}

/// Apply the low-delay settings. Options that the system does not support are left as they are.
pub(super) fn tune(stream: &TcpStream) {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(Duration::from_secs(5))
        .with_interval(Duration::from_secs(2));
    let results = [
        socket.set_tcp_nodelay(true),
        socket.set_tcp_keepalive(&keepalive),
        socket.set_send_buffer_size(SEND_BUFFER),
        socket.set_recv_buffer_size(RECEIVE_BUFFER),
    ];
    for error in results.into_iter().filter_map(std::result::Result::err) {
        tracing::debug!(%error, "a socket option was refused");
    }
}
