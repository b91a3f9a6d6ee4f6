//! The connection to a camera: TCP, with TLS on top if the camera's URL asks for it.

use std::net::IpAddr;

use sealcast_proto::rtsp::CameraUrl;

use crate::failure::{Failure, FailureKind, Result};
use crate::keys::fingerprint::Fingerprint;
use crate::transport::tcp::connect_stream;
use crate::transport::tls::connect_pinned;
use crate::transport::{ByteStream, StreamTransport};

/// A connection to a camera.
pub(crate) struct RtspConnection {
    pub(super) stream: StreamTransport<Box<dyn ByteStream>>,
    /// Our address on this connection.
    pub(super) local: IpAddr,
    /// The camera's address.
    pub(super) remote: IpAddr,
}

/// Connects to a camera once.
///
/// # Errors
/// Kind `Network` if the camera cannot be reached or does not speak TLS, and kind `Refused` if it does not have the
/// pinned certificate, or none is pinned.
pub(crate) async fn connect(url: &CameraUrl, fingerprint: Option<Fingerprint>) -> Result<RtspConnection> {
    let address = (url.host.as_str(), url.port);
    let stream = connect_stream(address.0, address.1).await?;
    let addresses = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
    let (local, remote) = addresses.map_err(|error| {
        let what = format!("the connection to the camera {url} broke ({error})");
        Failure::new(FailureKind::Network, what, "check the network to the camera")
    })?;
    let stream: Box<dyn ByteStream> = match url.tls {
        true => Box::new(connect_pinned(stream, address, fingerprint).await?),
        false => Box::new(stream),
    };
    Ok(RtspConnection {
        stream: StreamTransport::new(stream),
        local: local.ip(),
        remote: remote.ip().to_canonical(),
    })
}
