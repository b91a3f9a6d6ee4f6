//! The connection to a camera: TCP, with TLS on top if the camera's URL asks for it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::CameraUrl;
use tokio::net::TcpStream;

use super::cameras::Target;
use crate::failure::{Failure, FailureKind, Result};
use crate::run::Retry;
use crate::transport::tcp::connect_stream;
use crate::transport::tls::connect_pinned;
use crate::transport::{ByteStream, StreamTransport};

/// Connect timeout; after it the clients that asked for the camera get 503.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to a camera.
pub(super) struct RtspConnection {
    pub(super) stream: StreamTransport<Box<dyn ByteStream>>,
    /// Our address on this connection.
    pub(super) local: IpAddr,
    /// The camera's address.
    pub(super) remote: IpAddr,
}

/// Connect to a camera, with retries until the connect timeout. After a camera went away, begin with a pause and try
/// until `away_until`.
///
/// # Errors
/// The camera cannot be reached, or does not have the pinned certificate.
pub(super) async fn connect(target: &Target, away_until: Option<Instant>) -> Result<RtspConnection> {
    let CameraUrl { host, port, .. } = &target.url;
    let until = away_until.unwrap_or_else(|| Instant::now() + CONNECT_TIMEOUT);
    let tried = tokio::time::timeout_at(until.into(), async {
        let mut retry = Retry::default();
        if away_until.is_some() {
            retry.wait().await;
        }
        loop {
            match connect_stream(host, *port).await {
                Ok(stream) => return on_stream(target, stream).await,
                Err(failure) => tracing::debug!("{failure}"),
            }
            retry.wait().await;
        }
    });
    tried.await.unwrap_or_else(|_| {
        let what = format!("the camera at {host}:{port} cannot be reached");
        Err(Failure::new(
            FailureKind::Source,
            what,
            "check that it is on, and its address",
        ))
    })
}

async fn on_stream(target: &Target, stream: TcpStream) -> Result<RtspConnection> {
    let addresses = stream.local_addr().and_then(|local| Ok((local, stream.peer_addr()?)));
    let (local, remote) = addresses.map_err(|error| {
        let what = format!("the connection to the camera {} broke ({error})", target.url);
        Failure::new(FailureKind::Source, what, "it is tried again when a player asks")
    })?;
    let stream: Box<dyn ByteStream> = if target.url.tls {
        let CameraUrl { host, port, .. } = &target.url;
        Box::new(connect_pinned(stream, (host, *port), target.options.fingerprint).await?)
    } else {
        Box::new(stream)
    };
    Ok(RtspConnection {
        stream: StreamTransport::new(stream),
        local: local.ip(),
        remote: remote.ip().to_canonical(),
    })
}
