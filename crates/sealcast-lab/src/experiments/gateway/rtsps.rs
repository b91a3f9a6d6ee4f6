//! GStreamer's RTSP server, which serves a camera again over TLS. It is one program in the place of two gateways,
//! since players that know `rtsps://` need no program on their side.

use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use sealcast::failure::{Failure, FailureKind, Result};

use super::camera::Cameras;
use super::load::Load;
use super::packet::Frame;
use super::paths::{CameraPath, PacketReceiver, PacketSender, Paths};
use super::player::{self, Player};
use crate::experiments::throughput::Carrier;
use crate::experiments::throughput::stunnel::certificate;
use crate::harness::process::{Program, Stop};

const SCRIPT: &str = include_str!("rtsps.py");
/// Time limit for the server to start.
const PATIENCE: Duration = Duration::from_secs(15);

pub(super) fn open(
    load: &Load,
    scratch: &Path,
    stop: Stop<'_>,
    unusable: impl Fn(io::Error) -> Failure,
) -> Result<Paths> {
    let mut command = python()?;
    certificate(scratch)?;
    let script = scratch.join("rtsps.py");
    std::fs::write(&script, SCRIPT).map_err(&unusable)?;
    let cameras = Cameras::start(Carrier::Tcp).map_err(&unusable)?;
    command.arg(script).arg(format!("rtsp://127.0.0.1:{}/0", cameras.port));
    command.args([scratch.join("cert.pem"), scratch.join("key.pem")]);
    let server = Program::start("GStreamer's RTSP server", command, &scratch.join("server.txt"))?;
    let port = server.line("port ", PATIENCE, stop)?;
    let port = port
        .parse()
        .map_err(|_| unusable(io::Error::other("it says no port")))?;
    let epoch = Instant::now();
    let playing = AtomicBool::new(false);
    let opened = thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let receiver = watch(port, scratch);
            playing.store(true, Ordering::Relaxed);
            receiver
        });
        let sender = feed(&cameras, load, epoch, &playing);
        let receiver = watching
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        Ok((receiver?, sender?))
    });
    let (receiver, sender) = opened.map_err(unusable)?;
    let path = CameraPath {
        sender,
        receiver,
        _session: None,
    };
    Ok(Paths {
        epoch,
        ..Paths::new(vec![path], [server.id()], (server, cameras))
    })
}

/// A Python that has GStreamer's RTSP server: the system's Python, which need not be the first in `PATH`.
pub(crate) fn python() -> Result<Command> {
    let probe = "import gi; gi.require_version('GstRtspServer', '1.0')";
    let found = ["/usr/bin/python3", "python3"].into_iter().find(|python| {
        let mut command = Command::new(python);
        let status = command.args(["-c", probe]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    });
    found.map(Command::new).ok_or_else(|| {
        let what = "GStreamer's RTSP server for Python is not installed";
        Failure::new(
            FailureKind::Usage,
            what,
            "install gir1.2-gst-rtsp-server-1.0 and python3-gi to have it measured",
        )
    })
}

/// Sends frames until a player plays, since the server cannot describe a stream that it has not received.
fn feed(cameras: &Cameras, load: &Load, epoch: Instant, playing: &AtomicBool) -> io::Result<PacketSender> {
    let (_, mut sender) = cameras.next()?;
    while !playing.load(Ordering::Relaxed) {
        sender.send(&Frame::now(load.packets.0, load.bytes, epoch))?;
        thread::sleep(Duration::from_secs(1) / load.rate);
    }
    Ok(sender)
}

fn watch(port: u16, scratch: &Path) -> io::Result<PacketReceiver> {
    let certificate = CertificateDer::from_pem_file(scratch.join("cert.pem")).map_err(io::Error::other)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).map_err(io::Error::other)?;
    let config = ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    let session = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    let stream: StreamOwned<ClientConnection, TcpStream> = StreamOwned::new(session, player::connect(port)?);
    Player::new(stream, format!("rtsps://127.0.0.1:{port}/camera")).interleaved()
}
