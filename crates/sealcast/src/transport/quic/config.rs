//! What quinn is configured with: bounds that fit a live stream.

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

/// Streams of media that may be open at once. With Motion JPEG each picture has its own, and a path of half a second
/// holds 15 of them.
pub(super) const MAX_MEDIA_STREAMS: u32 = 32;
/// Bytes a peer may have under way on one stream, and on all together: 50 Mbit/s over 300 ms.
const STREAM_WINDOW: u32 = 2 << 20;
const RECEIVE_WINDOW: u32 = 4 << 20;
/// Bytes of datagrams that wait for the congestion control: more would only age there.
pub(super) const DATAGRAMS_OUT: usize = 32 << 10;
/// Bytes of datagrams that wait to be read. Older ones go for newer ones.
const DATAGRAMS_IN: usize = 2 << 20;
/// Without news an endpoint sends something this often, so that no firewall on the way forgets it.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// What is sent before anything is known of the path.
const INITIAL_WINDOW: u64 = 32 << 10;
/// Connections of strangers that wait to be looked at, and what each, and all, may send meanwhile.
const MAX_INCOMING: usize = 64;
const INCOMING_BYTES: u64 = 16 << 10;
/// Bytes the kernel may hold on their way out and in, as for UDP.
const SEND_BUFFER: usize = 2 << 20;
const RECEIVE_BUFFER: usize = 8 << 20;
/// Length of the connection IDs that others address us by.
const CONNECTION_ID: usize = 8;

/// What holds for a connection from either end. A session outlives [`STALL_TIMEOUT`] of silence, so its carrier does.
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

/// The listening end's configuration.
///
/// # Errors
/// The TLS library fails.
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

/// The connecting end's configuration.
///
/// # Errors
/// The TLS library fails.
pub(super) fn client() -> std::result::Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::new(Arc::new(tls::client()?));
    config.transport_config(transport(0));
    Ok(config)
}

/// What an endpoint signs its stateless resets with, and its connection IDs. A listener that was started again must
/// still be believed when it says that it knows a connection no more: its key comes from its identity.
///
/// # Errors
/// There is no randomness.
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

/// Makes connection IDs that look random. quinn's own are only answered with a reset by the endpoint that made them.
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

/// A socket for an endpoint; `[::]` takes IPv4 as well.
///
/// # Errors
/// The port is taken, or the address is not ours.
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
