//! Two MediaMTX servers in the place of the gateways: one reads the camera, the other reads the first and serves the
//! player. Between them RTSP is plain or over TLS.

use std::io;
use std::path::Path;
use std::process::Command;

use sealcast::failure::{Failure, Result};

use super::camera::Cameras;
use super::pair::free_port;
use super::paths::{CameraPath, Paths};
use super::player;
use crate::experiments::throughput::Carrier;
use crate::experiments::throughput::stunnel::{certificate, fingerprint};
use crate::harness::process::Program;

/// The only path of each server: the camera's number.
const PATH: &str = "0";
/// Protocols that a server does not serve, and would open ports for.
const OFF: [&str; 5] = ["rtmp", "hls", "webrtc", "srt", "moq"];

/// Starts both servers over TCP; `secure` puts TLS between them.
pub(super) fn open(
    program: &str,
    secure: bool,
    scratch: &Path,
    unusable: impl Fn(io::Error) -> Failure,
) -> Result<Paths> {
    let cameras = Cameras::start(Carrier::Tcp).map_err(&unusable)?;
    let ports = free_port()
        .and_then(|first| Ok([first, free_port()?]))
        .map_err(&unusable)?;
    let start = |name: &'static str, config: String| {
        let file = scratch.join(format!("{name}.yml"));
        std::fs::write(&file, config).map_err(&unusable)?;
        let mut command = Command::new(program);
        command.arg(&file);
        Program::start(name, command, &scratch.join(format!("{name}.txt")))
    };
    let camera = format!("rtsp://127.0.0.1:{}/{PATH}", cameras.port);
    let (first, second) = match secure {
        false => (
            config(ports[0], "", &camera, ""),
            config(ports[1], "", &format!("rtsp://127.0.0.1:{}/{PATH}", ports[0]), ""),
        ),
        true => {
            certificate(scratch)?;
            let [chain, key] = ["cert.pem", "key.pem"].map(|file| scratch.join(file));
            let print = fingerprint(&chain).map_err(&unusable)?;
            let server = format!(
                "rtspEncryption: \"strict\"\nrtspsAddress: 127.0.0.1:{}\nrtspServerCert: {}\nrtspServerKey: {}\n",
                ports[0],
                chain.display(),
                key.display()
            );
            let source = format!("rtsps://127.0.0.1:{}/{PATH}", ports[0]);
            (
                config(ports[0], &server, &camera, ""),
                config(ports[1], "", &source, &format!("    sourceFingerprint: {print}\n")),
            )
        }
    };
    let programs = [start("mediamtx-camera", first)?, start("mediamtx-viewer", second)?];
    // The second looks for the first when the player comes, and not again for a while if it does not listen yet.
    player::connect(ports[0]).map_err(&unusable)?;
    let watched = player::watch(ports[1], PATH, Carrier::Tcp).map_err(&unusable)?;
    let (_, sender) = cameras.next().map_err(&unusable)?;
    let path = CameraPath {
        sender,
        receiver: watched.0,
        _session: watched.1,
    };
    let processes: Vec<u32> = programs.iter().map(Program::id).collect();
    Ok(Paths::new(vec![path], processes, (programs, cameras)))
}

/// The configuration of a server: what it serves, and where its path comes from, as soon as a reader asks for it.
fn config(port: u16, server: &str, source: &str, more: &str) -> String {
    let mut text = String::from("logLevel: warn\n");
    for off in OFF {
        text.push_str(&format!("{off}: no\n"));
    }
    let plain = match server {
        "" => format!("rtspAddress: 127.0.0.1:{port}\n"),
        _ => server.to_owned(),
    };
    text.push_str(&format!(
        "rtspTransports: [tcp]\n{plain}paths:\n  \"{PATH}\":\n    source: {source}\n    rtspTransport: tcp\n    \
         sourceOnDemand: yes\n{more}"
    ));
    text
}
