//! A pair of gateways set up as users run them, with cameras at one side and players at the other.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast::failure::{Failure, Result};
use sealcast_proto::wire::MAX_STREAM;
use serde::Deserialize;

use super::camera::Cameras;
use super::load::Load;
use super::paths::{CameraPath, Paths};
use super::player;
use crate::experiments::throughput::Carrier;
use crate::harness::process::{Program, Stop, knows, new_copy, printing_ticket, run_by, sealcast_program};

/// The largest number of cameras in one session, and so for one viewer gateway.
pub(super) const MAX_CAMERAS: usize = MAX_STREAM as usize;
/// Time limit for a gateway to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// The option of a viewer gateway that serves players without a password.
const OPEN: &str = "--rtsp-open";
/// Prefix of tickets.
const TICKET: &str = "sealcast://";

/// The gateways and their options.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Gateways {
    /// The program to run; this build if none is named.
    pub program: Option<PathBuf>,
    /// Options for the URL at which the camera gateway listens, such as `rate=off&pace=off`; only over UDP.
    pub options: String,
    /// Carrier between the gateways, if it is another than the case's: `quic`, only beside UDP.
    pub between: String,
    /// The words of a command that runs the program, such as those of valgrind.
    #[serde(skip)]
    pub under: Vec<String>,
}

/// Number of viewer gateways that a load needs.
pub(super) fn viewers(load: &Load) -> usize {
    load.cameras.div_ceil(MAX_CAMERAS)
}

/// Starts gateways with everything on loopback.
pub(super) fn open(
    gateways: &Gateways,
    load: &Load,
    scratch: &Path,
    stop: Stop<'_>,
    unusable: impl Fn(io::Error) -> Failure,
) -> Result<Paths> {
    let cameras = Cameras::start(load.carrier).map_err(&unusable)?;
    let program = gateways.program.as_deref();
    let program = program.map(|program| new_copy(program, scratch)).transpose()?;
    let start = |name: &'static str, file: &str, arguments: Vec<String>| {
        let mut command = sealcast_program(program.as_deref(), &scratch.join(file))?;
        command.arg("gateway").args(arguments);
        let command = run_by(&gateways.under, command);
        Program::start(name, command, &scratch.join(format!("{file}.txt")))
    };
    let mut arguments = words(&["camera", "--open", "--listen"]);
    let carrier = match gateways.between.as_str() {
        "" => load.carrier.to_string(),
        other => other.to_owned(),
    };
    arguments.push(match gateways.options.as_str() {
        "" => format!("{carrier}://127.0.0.1:0"),
        options => format!("{carrier}://127.0.0.1:0?{options}"),
    });
    let asked = match load.carrier {
        Carrier::Udp => "?transport=udp",
        Carrier::Tcp => "",
    };
    for camera in 0..load.cameras {
        arguments.push("--camera".to_owned());
        arguments.push(format!("{camera}=rtsp://127.0.0.1:{}/{camera}{asked}", cameras.port));
    }
    let printing = printing_ticket(program.as_deref(), &["gateway", "camera"])?;
    arguments.extend(words(printing));
    let mut programs = vec![start("the camera gateway", "camera", arguments)?];
    let ticket = TICKET.to_owned() + &programs[0].line(TICKET, PATIENCE, stop)?;
    let open = knows(program.as_deref(), &["gateway", "viewer"], OPEN)?;
    let mut ports = Vec::new();
    for at in 0..viewers(load) {
        let port = free_port().map_err(&unusable)?;
        let mut arguments = words(&["viewer", "--peer", &ticket, "--rtsp"]);
        arguments.push(format!("127.0.0.1:{port}"));
        arguments.extend(open.then(|| OPEN.to_owned()));
        programs.push(start("the viewer gateway", &format!("viewer-{at}"), arguments)?);
        ports.push(port);
    }
    let camera_paths = camera_paths(load, &cameras, &ports).map_err(unusable)?;
    let processes: Vec<u32> = programs.iter().map(Program::id).collect();
    Ok(Paths::new(camera_paths, processes, (programs, cameras)))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A player for each camera.
fn camera_paths(load: &Load, cameras: &Cameras, ports: &[u16]) -> io::Result<Vec<CameraPath>> {
    let mut camera_paths = Vec::new();
    for camera in 0..load.cameras {
        let (receiver, session) = player::watch(ports[camera / MAX_CAMERAS], &camera.to_string(), load.carrier)?;
        let (played, sender) = cameras.next()?;
        if played != camera {
            return Err(io::Error::other(format!("camera {played} plays instead of {camera}")));
        }
        camera_paths.push(CameraPath {
            sender,
            receiver,
            _session: session,
        });
    }
    Ok(camera_paths)
}

/// An unused TCP port.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
