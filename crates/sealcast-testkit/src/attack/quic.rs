//! A hostile peer on TLS and QUIC: it opens connections from any address of this machine, and uses them as it likes.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, ConnectionId, Endpoint, RecvStream, SendStream, TransportConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};
use sealcast_proto::keys::{Role, WishedMedia, ticket_mac};
use sealcast_proto::wire::{Ticket, write_framed};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::runtime::Runtime;

use super::PATIENCE;
use super::puppet::{Puppet, shake_hands};

/// Opens QUIC connections to one port.
pub struct QuicAttacker {
    /// Runs the connections, and what tests do with them.
    pub runtime: Runtime,
    port: u16,
    config: ClientConfig,
}

impl QuicAttacker {
    /// Attacks the end that issued `ticket`. With the `door` key, which follows from the ticket, it is heard.
    pub fn new(ticket: &str, door: bool) -> Self {
        let ticket: Ticket = ticket.parse().expect("a ticket");
        let mut attacker = Self::speaking("sealcast/3", ticket.port);
        if door {
            let mac = ticket_mac(&ticket.peer);
            attacker.config.initial_dst_cid_provider(Arc::new(move || {
                let random = *super::puppet::random().first_chunk().expect("more than 8 bytes");
                ConnectionId::new(&mac.quic_id(random))
            }));
        }
        attacker
    }

    /// Attacks a page's port for WebTransport, as whoever can send there.
    pub fn of_page(port: u16) -> Self {
        Self::speaking("h3", port)
    }

    fn speaking(protocol: &str, port: u16) -> Self {
        let tls = QuicClientConfig::try_from(tls_client(protocol)).expect("a cipher suite of QUIC");
        let mut config = ClientConfig::new(Arc::new(tls));
        let mut transport = TransportConfig::default();
        transport.keep_alive_interval(Some(Duration::from_secs(1)));
        config.transport_config(Arc::new(transport));
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        Self {
            runtime: builder.worker_threads(1).enable_all().build().expect("a thread"),
            port,
            config,
        }
    }

    /// Opens a connection from this address of this machine; `None` if that takes longer than `patience`. No stream is
    /// opened.
    pub fn connects(&self, from: Ipv4Addr, patience: Duration) -> Option<Connection> {
        let to = SocketAddr::from(([127, 0, 0, 1], self.port));
        self.runtime.block_on(async {
            let endpoint = Endpoint::client((from, 0).into()).expect("all of 127.0.0.0/8 is ours");
            let connecting = endpoint.connect_with(self.config.clone(), to, "sealcast");
            let connecting = connecting.expect("a configuration that fits");
            tokio::time::timeout(patience, connecting).await.ok()?.ok()
        })
    }

    /// Opens a connection from this address, and completes the handshake of a session up to the finish. Returns the
    /// connection and its control stream.
    pub fn enter(&self, ticket: &str, from: Ipv4Addr, role: Role) -> (Connection, SendStream, RecvStream) {
        let connection = self.connects(from, PATIENCE).expect("it listens");
        let (mut send, mut receive) = self.runtime.block_on(connection.open_bi()).expect("a control stream");
        self.shake_hands(ticket, role, &mut send, &mut receive);
        (connection, send, receive)
    }

    /// Completes the handshake of a session up to the finish, on a stream that carries it.
    pub fn shake_hands<S: AsyncWrite + Unpin>(
        &self,
        ticket: &str,
        role: Role,
        mut send: S,
        receive: &mut (impl AsyncRead + Unpin),
    ) -> Puppet<S> {
        let ticket = ticket.parse().expect("a ticket");
        let (finish, keys) = shake_hands(&ticket, role, WishedMedia::Frames, true, |hello| {
            self.runtime.block_on(async {
                send.write_all(&framed(hello)).await.expect("a connection");
                let mut reply = vec![0; receive.read_u32().await.expect("a reply") as usize];
                receive.read_exact(&mut reply).await.expect("a reply");
                reply
            })
        });
        let sent = self.runtime.block_on(send.write_all(&framed(&finish)));
        sent.expect("a connection");
        Puppet::after(send, keys)
    }
}

/// Configuration of a client of TLS 1.3 that speaks this protocol and takes any certificate.
pub fn tls_client(protocol: &str) -> rustls::ClientConfig {
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .expect("TLS 1.3")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anything))
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    tls
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = Vec::new();
    write_framed(&mut framed, message);
    framed
}

/// Accepts any certificate: sealcast's say nothing.
#[derive(Debug)]
struct Anything;

impl ServerCertVerifier for Anything {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
