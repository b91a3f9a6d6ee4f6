//! TLS to a camera for a library that speaks RTSP over TCP alone.
//!
//! The library connects to a port of loopback, behind which this process has TLS to the camera. The port takes one
//! connection and stays ours for as long as that lasts, so nobody else can be there when the library logs in. What
//! crosses loopback is seen by root alone, who can read this process's memory as well. Another user who connects first
//! gets what any machine in the network gets, a connection to the camera without a login, and the library tries anew.

use std::net::Ipv4Addr;
use std::time::Duration;

use sealcast_proto::rtsp::CameraUrl;
use tokio::io::{AsyncWriteExt, BufReader, copy_buf, split};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::client::TlsStream;
use url::Url;

use super::rtsp_options::RtspOptions;
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::tcp::connect_stream;
use crate::transport::tls::connect_pinned;

/// Time for the library to connect.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Time for the last bytes, such as a TEARDOWN, to reach the camera.
const CLOSE_PATIENCE: Duration = Duration::from_secs(1);
/// Size of the buffer of each direction, the only one: who reads slowly slows the other end down.
const TUNNEL_BUFFER: usize = 64 << 10;

/// Opens TLS to the camera and a port of loopback that leads there. Returns the camera's URL at that port. The tunnel
/// ends with the connection of either side.
///
/// # Errors
/// Kind `Refused` if the camera has not the pinned certificate, or none is pinned; kind `Source` if it cannot be
/// reached or does not speak TLS.
pub(super) async fn open(options: &RtspOptions) -> Result<Url> {
    let (camera, _) = CameraUrl::parse(options.shown())
        .map_err(|error| Failure::new(FailureKind::Usage, error.to_string(), "write rtsps://HOST[:PORT]/PATH"))?;
    let address = (camera.host.as_str(), camera.port);
    let connected = async {
        let stream = connect_stream(address.0, address.1).await?;
        connect_pinned(stream, address, options.fingerprint).await
    };
    let line = connected.await.map_err(|mut failure: Failure| {
        // A camera that starts again is worth another try, one with another certificate is not.
        if failure.kind == FailureKind::Network {
            failure.kind = FailureKind::Source;
        }
        failure
    })?;
    let failed = |why: &dyn std::fmt::Display| {
        let what = format!("no port of loopback for the connection to {} ({why})", options.shown());
        Failure::new(
            FailureKind::Internal,
            what,
            "check the limits of this process, and that lo is up",
        )
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .await
        .map_err(|error| failed(&error))?;
    let port = listener.local_addr().map_err(|error| failed(&error))?.port();
    let mut url = options.url.clone();
    url.set_scheme("rtsp").map_err(|()| failed(&"the scheme stays"))?;
    url.set_host(Some("127.0.0.1")).map_err(|error| failed(&error))?;
    url.set_port(Some(port)).map_err(|()| failed(&"the port stays"))?;
    tokio::spawn(carry(listener, line));
    Ok(url)
}

/// Carries the bytes of one connection.
async fn carry(listener: TcpListener, line: TlsStream<TcpStream>) {
    let Ok(Ok((near, _))) = timeout(CONNECT_PATIENCE, listener.accept()).await else {
        return;
    };
    // An option that is refused costs some delay, and only of requests.
    let _ = near.set_nodelay(true);
    let (from_near, mut to_near) = split(near);
    let (from_camera, mut to_camera) = split(line);
    let (mut from_near, mut from_camera) = (
        BufReader::with_capacity(TUNNEL_BUFFER, from_near),
        BufReader::with_capacity(TUNNEL_BUFFER, from_camera),
    );
    tokio::select! {
        _ = copy_buf(&mut from_near, &mut to_camera) => {}
        _ = copy_buf(&mut from_camera, &mut to_near) => {}
    }
    let _ = timeout(CLOSE_PATIENCE, to_camera.shutdown()).await;
    let _ = timeout(CLOSE_PATIENCE, to_near.shutdown()).await;
}
