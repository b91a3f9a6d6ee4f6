//! The camera: GStreamer's RTSP server, which encodes pictures that the laboratory paints.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use sealcast::failure::{Failure, FailureKind, Result};
use serde::Deserialize;

use crate::experiments::gateway::python;
use crate::experiments::glass::{Painter, Pictures};
use crate::experiments::stream::inside;
use crate::harness::process::{Program, Stop};
use crate::net::{End, Net};

const SCRIPT: &str = include_str!("camera.py");
/// Time limit for the server to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// The camera's codec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Codec {
    H264,
    Mjpeg,
}

/// A running camera.
pub(super) struct Camera {
    // Fields are dropped in this order: the painter may wait for room in the pipe of the server.
    server: Program,
    _painter: Painter,
    address: SocketAddr,
}

impl Camera {
    /// Starts a camera, at the first end of a link if there is one. H.264 has the pictures' bit rate at most, and JPEG
    /// this quality, 0 to 100.
    ///
    /// # Errors
    /// GStreamer's server is not installed, or does not start.
    pub(super) fn start(
        codec: Codec,
        pictures: Pictures,
        quality: u32,
        net: Option<&Net>,
        scratch: &Path,
        stop: Stop<'_>,
    ) -> Result<Self> {
        let script = scratch.join("camera.py");
        std::fs::write(&script, SCRIPT).map_err(|error| {
            let what = format!("{} cannot be written ({error})", script.display());
            Failure::new(FailureKind::Sink, what, "choose another --out")
        })?;
        let kbits = pictures.bitrate / 1000;
        let [encoder, payloader] = match codec {
            // Constant quality up to a greatest rate over half a second, as cameras call VBR.
            Codec::H264 => [
                format!(
                    "x264enc tune=zerolatency speed-preset=ultrafast pass=qual quantizer=21 bitrate={kbits} \
                     vbv-buf-capacity=500 key-int-max={}",
                    pictures.gop
                ),
                "rtph264pay pt=96 config-interval=-1 aggregate-mode=zero-latency".to_owned(),
            ],
            Codec::Mjpeg => [format!("jpegenc quality={quality}"), "rtpjpegpay pt=26".to_owned()],
        };
        let plain = python()?;
        let mut command = match net {
            Some(net) => inside(net, End::A, &plain),
            None => plain,
        };
        let host = net.map_or(Ipv4Addr::LOCALHOST, |_| End::A.ipv4());
        command.arg(script).arg(host.to_string());
        command.args([pictures.width, pictures.height].map(|side| side.to_string()));
        command.args([pictures.rate.to_string(), encoder, payloader]);
        let (server, stdin) = Program::with_input("the camera", command, &scratch.join("camera.txt"))?;
        let port: u16 = server.line("port ", PATIENCE, stop)?.parse().map_err(|_| {
            let what = "the camera said no port";
            Failure::new(FailureKind::Internal, what, "please report this")
        })?;
        Ok(Self {
            server,
            _painter: Painter::start(pictures, stdin)?,
            address: (host, port).into(),
        })
    }

    /// Where it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Fails if it has ended.
    pub(super) fn still_runs(&mut self) -> Result<()> {
        self.server.still_runs()
    }
}

/// The URL of a camera, or of what passes it on, for clients that take its packets over this carrier: `tcp` or `udp`.
pub(super) fn url(at: SocketAddr, carrier: &str) -> String {
    format!("rtsp://{at}/cam?transport={carrier}")
}
