//! A pair of gateways as their users run them, with a camera before and players behind.

mod camera;
mod film;
mod player;

use std::path::Path;

use tempfile::TempDir;

use crate::program::{PATIENCE, Program, Publisher, free_port, home, publish_by, sealcast};

pub use camera::{Camera, Heard};
pub use film::{FRAGMENTS, film, number};
pub use player::Player;

/// How a plain side carries packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// In the RTSP connection.
    Tcp,
    /// In datagrams.
    Udp,
}

/// A packet and the channel it goes by: twice the track's number, and one more for RTCP.
pub type Packet = (u8, Vec<u8>);

/// A camera gateway and a viewer gateway on this machine.
pub struct Pair {
    /// The camera gateway, and the ticket that it printed.
    pub camera: Publisher,
    /// The viewer gateway.
    pub viewer: Program,
    /// Where players come in.
    pub port: u16,
    homes: [TempDir; 2],
}

/// Gateways between that camera and players, with more arguments for each of them.
pub fn pair(camera: &str, more_camera: &[&str], more_viewer: &[&str]) -> Pair {
    let homes = [home(), home()];
    let camera = camera_gateway(homes[0].path(), camera, more_camera);
    let port = free_port();
    let viewer = viewer_gateway(homes[1].path(), &camera.ticket, port, more_viewer);
    Pair {
        camera,
        viewer,
        port,
        homes,
    }
}

/// A camera gateway for one camera, or for those that `more` names.
pub fn camera_gateway(home: &Path, camera: &str, more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args(["gateway", "camera"]).args(more);
    if !camera.is_empty() {
        command.args(["--camera", camera]);
    }
    if !more.contains(&"--listen") {
        command.args(["--listen", "tcp://127.0.0.1:0"]);
    }
    publish_by(command)
}

/// A viewer gateway with players at this port, once it is linked.
pub fn viewer_gateway(home: &Path, ticket: &str, port: u16, more: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.args([
        "gateway",
        "viewer",
        "--peer",
        ticket,
        "--rtsp",
        &format!("127.0.0.1:{port}"),
    ]);
    let viewer = Program::run("the viewer gateway", {
        command.args(more);
        command
    });
    viewer.says("linked to the camera gateway", PATIENCE);
    viewer
}

impl Pair {
    /// What players ask for.
    pub fn url(&self) -> String {
        format!("rtsp://127.0.0.1:{}/front", self.port)
    }

    /// Everything that both gateways said so far.
    pub fn said(&self) -> String {
        self.camera.program.said() + &self.viewer.said()
    }

    /// Where the camera gateway keeps its keys.
    pub fn camera_home(&self) -> &Path {
        self.homes[0].path()
    }

    /// And the viewer gateway.
    pub fn viewer_home(&self) -> &Path {
        self.homes[1].path()
    }
}
