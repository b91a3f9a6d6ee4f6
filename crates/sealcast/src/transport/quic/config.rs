//! Configuration of quinn: bounds that fit a live stream.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use quinn::congestion::BbrConfig;
use quinn::{
    ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig,
    VarInt,
};
use sealcast_proto::keys::{Identity, Secret};
use sealcast_proto::session::STALL_TIMEOUT;
use socket2::{Domain, Socket, Type};

use super::tls;
use super::window::Windows;
use crate::failure::Result;
use crate::keys::entropy;

/// Maximum of concurrently open media streams. With Motion JPEG each picture has its own stream, and a path with a
/// delay of half a second holds 15 of them.
pub(super) const MAX_MEDIA_STREAMS: u32 = 32;
/// Bytes that a peer may have in flight on one stream, and on all together: enough for 50 Mbit/s over 300 ms.
const STREAM_WINDOW: u32 = 2 << 20;
const RECEIVE_WINDOW: u32 = 4 << 20;
/// Bytes of datagrams waiting for congestion control. In a larger queue they would only age.
pub(super) const DATAGRAMS_OUT: usize = 32 << 10;
/// Bytes of received datagrams waiting to be read. Newer datagrams replace the oldest ones.
const DATAGRAMS_IN: usize = 2 << 20;
/// Keep-alive interval of an idle connection, short enough that firewalls on the path do not forget it.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Initial congestion window in bytes, used before anything is known of the path.
const INITIAL_WINDOW: u64 = 32 << 10;
/// Maximum of incoming connections waiting to be accepted, and the bytes that each, and all together, may send until
/// then.
const MAX_INCOMING: usize = 64;
const INCOMING_BYTES: u64 = 16 << 10;
/// Sizes of the kernel's send and receive buffers, the same as for UDP.
const SEND_BUFFER: usize = 2 << 20;
const RECEIVE_BUFFER: usize = 8 << 20;
/// Length of our connection IDs.
const CONNECTION_ID: usize = 8;

/// Settings for a connection, the same on both ends. A session survives silence for [`STALL_TIMEOUT`], so the
/// connection below it must do so, too.
fn transport(control_streams: u32) -> Arc<TransportConfig> {
    let mut congestion = BbrConfig::default();
    congestion.initial_window(INITIAL_WINDOW);
    let idle = IdleTimeout::try_from(STALL_TIMEOUT).expect("a minute is a timeout");
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(control_streams))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_MEDIA_STREAMS))
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(RECEIVE_WINDOW))
        .send_window(u64::from(STREAM_WINDOW))
        .datagram_receive_buffer_size(Some(DATAGRAMS_IN))
        .datagram_send_buffer_size(DATAGRAMS_OUT)
        .congestion_controller_factory(Arc::new(Windows(Arc::new(congestion))));
    Arc::new(config)
}

/// Configuration of the listening end.
///
/// # Errors
/// The TLS library failed.
pub(super) fn server() -> std::result::Result<ServerConfig, rustls::Error> {
    let mut config = ServerConfig::with_crypto(Arc::new(tls::server()?));
    config
        .transport_config(transport(1))
        .migration(true)
        .max_incoming(MAX_INCOMING)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(INCOMING_BYTES * MAX_INCOMING as u64);
    Ok(config)
}

/// Configuration of the connecting end.
///
/// # Errors
/// The TLS library failed.
pub(super) fn client() -> std::result::Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::new(Arc::new(tls::client()?));
    config.transport_config(transport(0));
    Ok(config)
}

/// Keys of an endpoint for its stateless resets and connection IDs. Peers must still accept a stateless reset from a
/// listener that was restarted, so its reset key is derived from its identity.
///
/// # Errors
/// No randomness is available.
pub(super) fn endpoint(identity: Option<&Identity>) -> Result<EndpointConfig> {
    let mut reset: [u8; 32] = entropy::random()?;
    if let Some(identity) = identity {
        let text = identity.reveal_file_text();
        Secret::extract(b"sealcast quic", text.as_bytes()).expand(b"stateless reset", &[], &mut reset);
    }
    let ids: [u8; 32] = entropy::random()?;
    let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset)));
    config.cid_generator(move || {
        Box::new(Numbered {
            key: hmac::Key::new(hmac::HMAC_SHA256, &ids),
            count: 0,
        })
    });
    Ok(config)
}

/// Generates connection IDs that look random. With quinn's own generator an endpoint sends stateless resets only for
/// connection IDs that it made itself, so not after a restart.
struct Numbered {
    key: hmac::Key,
    count: u64,
}

impl ConnectionIdGenerator for Numbered {
    fn generate_cid(&mut self) -> ConnectionId {
        self.count += 1;
        let tag = hmac::sign(&self.key, &self.count.to_be_bytes());
        ConnectionId::new(&tag.as_ref()[..CONNECTION_ID])
    }

    fn cid_len(&self) -> usize {
        CONNECTION_ID
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Opens a socket for an endpoint; `[::]` also accepts IPv4.
///
/// # Errors
/// The port is taken, or the address does not belong to this machine.
pub(super) fn socket(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, None)?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    for refused in [
        socket.set_send_buffer_size(SEND_BUFFER),
        socket.set_recv_buffer_size(RECEIVE_BUFFER),
    ] {
        if let Err(error) = refused {
            tracing::debug!(%error, "a socket option was refused");
        }
    }
    Ok(socket.into())
}
