//! The connection to a camera: TCP, with TLS on top if the camera's URL asks for it.

use std::net::IpAddr;

use sealcast_proto::rtsp::{CameraError, CameraUrl};

use super::RtspOptions;
use super::link_error::LinkError;
use crate::failure::{Failure, FailureKind, Result, SourceFault};
use crate::keys::fingerprint::Fingerprint;
use crate::transport::tcp::connect_stream;
use crate::transport::tls::connect_pinned;
use crate::transport::{ByteStream, StreamTransport};

/// Address of a camera: its URL, or where it referred to.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) url: CameraUrl,
    /// Number of redirects that led there.
    pub(super) redirects: u8,
}

impl Place {
    /// The place that the camera's owner gave.
    pub(crate) fn of(options: &RtspOptions) -> Self {
        Self {
            url: options.url().clone(),
            redirects: 0,
        }
    }

    /// The place that the camera referred to, if that is why the connection ended.
    pub(crate) fn referred(error: &LinkError) -> Option<Self> {
        let LinkError::Client(CameraError::Redirected { to, redirects }) = error else {
            return None;
        };
        Some(Self {
            url: to.clone(),
            redirects: *redirects,
        })
    }
}

/// A connection to a camera.
pub(crate) struct RtspConnection {
    pub(super) place: Place,
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
pub(crate) async fn connect(place: &Place, fingerprint: Option<Fingerprint>) -> Result<RtspConnection> {
    let url = &place.url;
    let address = (url.host.as_str(), url.port);
    let stream = connect_stream(address.0, address.1).await.map_err(|failure| {
        let hint = "check that the camera is on, and that its address and port are right";
        let what = format!("{url} does not answer: {}", failure.what);
        Failure::new(failure.kind, what, hint).of_source(SourceFault::Unreachable)
    })?;
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
        place: place.clone(),
        stream: StreamTransport::new(stream),
        local: local.ip(),
        remote: remote.ip().to_canonical(),
    })
}
