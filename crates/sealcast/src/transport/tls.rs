//! TLS without certificate authorities: a peer is authenticated by our own handshake or by a certificate fingerprint.

use std::sync::Arc;

use quinn::crypto::rustls::QuicClientConfig;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, SupportedProtocolVersion};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::fingerprint::Fingerprint;

/// Accepts any certificate whose key the other end proves to hold. The caller checks whether it is the right one.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
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
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Opens TLS 1.2 or 1.3 to a camera whose certificate has the pinned fingerprint. The fingerprint is checked after
/// the handshake, so that an error only ever names a certificate whose key the other end holds. Nothing else is sent
/// to the camera before the check.
///
/// # Errors
/// Kind `Refused` for another certificate, and if none is pinned; kind `Network` if the port does not speak TLS.
pub(crate) async fn connect_pinned(
    stream: TcpStream,
    (host, port): (&str, u16),
    pinned: Option<Fingerprint>,
) -> Result<TlsStream<TcpStream>> {
    let camera = format!("the camera at {host}:{port}");
    let failed = |error: &dyn std::fmt::Display| {
        let what = format!("{camera} does not agree on TLS ({error})");
        let hint = "check that its port speaks RTSP within TLS 1.2 or 1.3; nothing was sent in plain";
        Failure::new(FailureKind::Network, what, hint)
    };
    let name = ServerName::try_from(host.to_owned()).map_err(|error| failed(&error))?;
    let config = any_certificate(Arc::new(default_provider()), &[&TLS13, &TLS12]).map_err(|error| failed(&error))?;
    let connected = TlsConnector::from(Arc::new(config)).connect(name, stream).await;
    let line = connected.map_err(|error| failed(&error))?;
    let shown = line.get_ref().1.peer_certificates().and_then(<[_]>::first);
    let shown = Fingerprint::of(shown.ok_or_else(|| failed(&"it shows no certificate"))?);
    match pinned {
        Some(pinned) if pinned == shown => Ok(line),
        Some(pinned) => {
            let what = format!("{camera} shows the certificate {shown} and not {pinned}, which is pinned");
            let hint = "compare it with the one on the camera itself, and pin it only if they are the same";
            Err(Failure::new(FailureKind::Refused, what, hint))
        }
        None => {
            let what = format!("{camera} shows the certificate {shown}, and none is pinned");
            let hint = format!("compare it with the camera's own, then add fingerprint={shown} to its URL");
            Err(Failure::new(FailureKind::Refused, what, hint))
        }
    }
}

/// TLS of a client over QUIC, where our own handshake authenticates the peer (keys.md).
///
/// # Errors
/// The library failed.
pub(super) fn quic_client(provider: Arc<CryptoProvider>, alpn: &[u8]) -> Result<QuicClientConfig, Error> {
    let mut config = any_certificate(provider, &[&TLS13])?;
    config.alpn_protocols = vec![alpn.to_vec()];
    QuicClientConfig::try_from(config).map_err(|_| Error::General("no cipher for QUIC".to_owned()))
}

fn any_certificate(
    provider: Arc<CryptoProvider>,
    versions: &[&'static SupportedProtocolVersion],
) -> Result<ClientConfig, Error> {
    let verifier = AnyCertificate(Arc::clone(&provider));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    // No session resumption: in every connection the other end must prove again that it holds the key.
    config.resumption = Resumption::disabled();
    Ok(config)
}
