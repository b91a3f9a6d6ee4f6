//! TLS of the QUIC transport: a certificate without meaning.

use std::sync::Arc;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{cipher_suite, default_provider, kx_group};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::version::TLS13;
use rustls::{Error, ServerConfig};

use crate::transport::tls::quic_client;

/// The ALPN protocol name (protocol.md §8).
const ALPN: &[u8] = b"sealcast/3";
/// The server name that the client sends to every server, so that the real name stays private.
pub(super) const SERVER_NAME: &str = "sealcast";

/// Fast algorithms with short keys and messages, since this TLS is not what protects the stream.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(CryptoProvider {
        cipher_suites: vec![
            cipher_suite::TLS13_AES_128_GCM_SHA256,
            cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        ],
        kx_groups: vec![kx_group::X25519],
        ..default_provider()
    })
}

fn internal(_: impl std::fmt::Debug) -> Error {
    Error::General("the cryptographic library refused a fresh key".to_owned())
}

/// TLS configuration of the listening end, with a new certificate.
///
/// # Errors
/// The library failed.
pub(super) fn server() -> Result<QuicServerConfig, Error> {
    let key = Ed25519KeyPair::generate().map_err(internal)?;
    let der = key.to_pkcs8v1().map_err(internal)?;
    let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(der.as_ref().to_vec()));
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![CertificateDer::from(certificate(&key))], der)?;
    config.alpn_protocols = vec![ALPN.to_vec()];
    config.send_tls13_tickets = 0;
    QuicServerConfig::try_from(config).map_err(internal)
}

/// TLS configuration of the connecting end.
///
/// # Errors
/// The library failed.
pub(super) fn client() -> Result<QuicClientConfig, Error> {
    quic_client(provider(), ALPN)
}

/// Encodes a DER value: tag, length and content.
fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = u16::try_from(content.len()).expect("certificates are short");
    let [high, low] = length.to_be_bytes();
    let mut out = vec![tag];
    match length {
        0..=0x7F => out.push(low),
        0x80..=0xFF => out.extend_from_slice(&[0x81, low]),
        _ => out.extend_from_slice(&[0x82, high, low]),
    }
    out.extend_from_slice(&content);
    out
}

/// A self-signed X.509 certificate of an Ed25519 key (RFC 5280, RFC 8410). It says nothing about the peer; TLS
/// requires one.
fn certificate(key: &Ed25519KeyPair) -> Vec<u8> {
    const SEQUENCE: u8 = 0x30;
    const BIT_STRING: u8 = 0x03;
    const ED25519: &[u8] = &[SEQUENCE, 5, 0x06, 3, 0x2B, 0x65, 0x70];
    const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 0x04, 0x03];
    let name = der(0x0C, &[b"sealcast"]);
    let name = der(SEQUENCE, &[&der(0x31, &[&der(SEQUENCE, &[COMMON_NAME, &name])])]);
    let validity = der(
        SEQUENCE,
        &[&der(0x17, &[b"700101000000Z"]), &der(0x18, &[b"99991231235959Z"])],
    );
    let public = der(BIT_STRING, &[&[0], key.public_key().as_ref()]);
    let version_3 = der(0xA0, &[&[0x02, 1, 2]]);
    let serial = [0x02, 1, 1];
    let signed = der(
        SEQUENCE,
        &[
            &version_3,
            &serial,
            ED25519,
            &name,
            &validity,
            &name,
            &der(SEQUENCE, &[ED25519, &public]),
        ],
    );
    let signature = der(BIT_STRING, &[&[0], key.sign(&signed).as_ref()]);
    der(SEQUENCE, &[&signed, ED25519, &signature])
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn the_certificate_is_one_to_openssl() {
        let key = Ed25519KeyPair::generate().expect("the library works");
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        std::fs::write(file.path(), certificate(&key)).expect("written");
        let run = |arguments: &[&str]| {
            let output = Command::new("openssl").args(arguments).output().expect("openssl runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            output.stdout
        };
        let path = file.path().to_str().expect("a path in UTF-8");
        let pem = file.path().with_extension("pem");
        let pem_path = pem.to_str().expect("a path in UTF-8");
        run(&["x509", "-inform", "der", "-in", path, "-out", pem_path]);
        // The certificate is trusted as its own root, so that only its signature is checked.
        run(&["verify", "-check_ss_sig", "-CAfile", pem_path, pem_path]);
        std::fs::remove_file(pem).expect("it was there");
    }
}
