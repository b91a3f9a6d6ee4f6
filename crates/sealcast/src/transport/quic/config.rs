//! Configuration of quinn: bounds that fit a live stream.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::hmac;
use quinn::congestion::BbrConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    ClientConfig, Connection, ConnectionId, ConnectionIdGenerator, EndpointConfig, IdleTimeout, ServerConfig,
    TransportConfig, VarInt,
};
use quinn_proto::RandomConnectionIdGenerator;
use sealcast_proto::keys::{Identity, Role, Secret, Side};
use sealcast_proto::session::STALL_TIMEOUT;
use socket2::{Domain, Socket, Type};
use zeroize::Zeroizing;

use super::door::IssuedIds;
use super::tls;
use super::window::Windows;
use crate::failure::Result;
use crate::keys::entropy;
use crate::transport::udp::{RECEIVE_BUFFER, SEND_BUFFER};

/// Maximum of concurrently open media streams. With Motion JPEG each picture has its own stream, and a path with a
/// delay of half a second holds 15 of them.
const MAX_MEDIA_STREAMS: u32 = 32;
/// Bytes that a publisher may have in flight on one stream, and on all together: enough for 50 Mbit/s over 300 ms.
const STREAM_WINDOW: u32 = 2 << 20;
const RECEIVE_WINDOW: u32 = 4 << 20;
/// Bytes that a peer may have in flight on all streams before it is admitted, and a viewer always: it sends control
/// messages only. What quinn holds is up to 32 KiB more, the packets around them.
const CONTROL_WINDOW: u32 = 16 << 10;
/// Maximum of streams that a browser may open in one direction: HTTP/3 needs three of its own, and one request.
const MAX_BROWSER_STREAMS: u32 = 8;
/// Bytes on their way to a browser: as many as the send buffer of a TCP connection holds.
const BROWSER_SEND_WINDOW: u64 = 256 << 10;
/// Bytes of datagrams waiting for congestion control. In a larger queue they would only age.
pub(super) const DATAGRAMS_OUT: usize = 32 << 10;
/// Bytes of received datagrams waiting to be read, at a viewer. Newer datagrams replace the oldest ones. QUIC cannot
/// change this later: until a publisher is admitted, its datagrams are read and dropped (incoming.rs).
const DATAGRAMS_IN: usize = 2 << 20;
/// The same at a publisher: only the empty datagrams come that probe the path.
const PROBES_IN: usize = 256;
/// Keep-alive interval of an idle connection, short enough that firewalls on the path do not forget it.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// Initial congestion window in bytes, used before anything is known of the path.
const INITIAL_WINDOW: u64 = 32 << 10;
/// Bytes in flight to a browser whose path is near: a keyframe of 720p, which it would acknowledge piece by piece.
const NEAR_WINDOW: u64 = 64 << 10;
/// Maximum of incoming connections waiting to be accepted, and the bytes that each, and all together, may send until
/// then.
const MAX_INCOMING: usize = 64;
const INCOMING_BYTES: u64 = 16 << 10;
/// Length of the connection IDs of a connecting end, bytes.
const CLIENT_ID: usize = 8;

/// Settings for a connection. A session survives silence for [`STALL_TIMEOUT`], so the connection below it must do so,
/// too. A peer that is not admitted gets the smallest windows; [`admit`] raises them.
///
/// The viewer that connects already allows media streams: media may follow the welcome at once.
fn transport(role: Role, side: Side) -> TransportConfig {
    let mut congestion = BbrConfig::default();
    congestion.initial_window(INITIAL_WINDOW);
    let idle = IdleTimeout::try_from(STALL_TIMEOUT).expect("a minute is a timeout");
    let control_streams = match side {
        Side::Responder => 1,
        Side::Initiator => 0,
    };
    let (media_streams, stream_window, datagrams_in) = match (role, side) {
        (Role::Publisher, _) => (0, CONTROL_WINDOW, PROBES_IN),
        (Role::Viewer, Side::Responder) => (0, STREAM_WINDOW, DATAGRAMS_IN),
        (Role::Viewer, Side::Initiator) => (MAX_MEDIA_STREAMS, STREAM_WINDOW, DATAGRAMS_IN),
    };
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(control_streams))
        .max_concurrent_uni_streams(VarInt::from_u32(media_streams))
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(VarInt::from_u32(stream_window))
        .receive_window(VarInt::from_u32(CONTROL_WINDOW))
        .send_window(u64::from(STREAM_WINDOW))
        .datagram_receive_buffer_size(Some(datagrams_in))
        .datagram_send_buffer_size(DATAGRAMS_OUT)
        .congestion_controller_factory(Arc::new(Windows {
            bbr: Arc::new(congestion),
            near: 0,
        }));
    config
}

/// Let a publisher that was admitted send media.
pub(super) fn admit(connection: &Connection) {
    widen(connection);
    connection.set_max_concurrent_uni_streams(VarInt::from_u32(MAX_MEDIA_STREAMS));
}

/// Let a publisher that was admitted send as fast as the path carries.
pub(in crate::transport) fn widen(connection: &Connection) {
    connection.set_receive_window(VarInt::from_u32(RECEIVE_WINDOW));
}

/// Configuration of the listening end.
///
/// # Errors
/// The TLS library failed.
pub(super) fn server(role: Role) -> std::result::Result<ServerConfig, rustls::Error> {
    Ok(serving(tls::server()?, transport(role, Side::Responder)))
}

fn serving(tls: QuicServerConfig, transport: TransportConfig) -> ServerConfig {
    let mut config = ServerConfig::with_crypto(Arc::new(tls));
    config
        .transport_config(Arc::new(transport))
        .migration(true)
        .max_incoming(MAX_INCOMING)
        .incoming_buffer_size(INCOMING_BYTES)
        .incoming_buffer_size_total(INCOMING_BYTES * MAX_INCOMING as u64);
    config
}

/// Configuration of an end that browsers connect to with HTTP/3, which has streams of its own beside the one that
/// carries the session. What is on its way there cannot be dropped any more, so that is no more than over TCP.
pub(in crate::transport) fn browser_server(role: Role, tls: QuicServerConfig) -> ServerConfig {
    serving(tls, browser_transport(role))
}

/// Configuration of an end that connects as a browser does.
pub(in crate::transport) fn browser_client(role: Role, tls: QuicClientConfig) -> ClientConfig {
    let mut config = ClientConfig::new(Arc::new(tls));
    config.transport_config(Arc::new(browser_transport(role)));
    config
}

fn browser_transport(role: Role) -> TransportConfig {
    let mut congestion = BbrConfig::default();
    congestion.initial_window(INITIAL_WINDOW);
    let idle = IdleTimeout::try_from(STALL_TIMEOUT).expect("a minute is a timeout");
    let stream_window = match role {
        Role::Publisher => CONTROL_WINDOW,
        Role::Viewer => STREAM_WINDOW,
    };
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(MAX_BROWSER_STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(MAX_BROWSER_STREAMS))
        .max_idle_timeout(Some(idle))
        .keep_alive_interval(Some(KEEP_ALIVE))
        .stream_receive_window(VarInt::from_u32(stream_window))
        .receive_window(VarInt::from_u32(CONTROL_WINDOW))
        .send_window(BROWSER_SEND_WINDOW)
        // HTTP/3 demands datagrams, and nothing comes in them.
        .datagram_receive_buffer_size(Some(PROBES_IN))
        .congestion_controller_factory(Arc::new(Windows {
            bbr: Arc::new(congestion),
            near: NEAR_WINDOW,
        }));
    transport
}

/// Configuration of the connecting end, whose first packets have this connection ID.
///
/// # Errors
/// The TLS library failed.
pub(super) fn client(role: Role, first: ConnectionId) -> std::result::Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::new(Arc::new(tls::client()?));
    config
        .transport_config(Arc::new(transport(role, Side::Initiator)))
        .initial_dst_cid_provider(Arc::new(move || first));
    Ok(config)
}

/// Configuration of a connecting endpoint.
///
/// # Errors
/// No randomness is available.
pub(super) fn client_endpoint() -> Result<EndpointConfig> {
    // With quinn's own generator of IDs an endpoint would not send stateless resets after a restart.
    Ok(endpoint(&entropy::random()?, || {
        Box::new(RandomConnectionIdGenerator::new(CLIENT_ID))
    }))
}

/// Configuration of a listening endpoint, and the IDs that it issues. Peers must still accept a stateless reset from a
/// listener that was restarted, and it must recognise the IDs that it issued before: both keys are derived from its
/// identity.
pub(super) fn server_endpoint(identity: &Identity) -> (EndpointConfig, IssuedIds) {
    let text = identity.reveal_file_text();
    let secret = Secret::extract(b"sealcast quic", text.as_bytes());
    let derive = |label: &[u8]| {
        let mut key = Zeroizing::new([0; 32]);
        secret.expand(label, &[], key.as_mut());
        key
    };
    let ids = IssuedIds::new(&derive(b"connection ids"));
    let issued = ids.clone();
    let config = endpoint(&derive(b"stateless reset"), move || Box::new(issued.clone()));
    (config, ids)
}

fn endpoint(
    reset: &[u8; 32],
    ids: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(hmac::Key::new(hmac::HMAC_SHA256, reset)));
    config.cid_generator(ids);
    config
}

/// Opens a socket for an endpoint; `[::]` also accepts IPv4.
///
/// # Errors
/// The port is taken, or the address does not belong to this machine.
pub(in crate::transport) fn socket(address: SocketAddr) -> io::Result<std::net::UdpSocket> {
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
