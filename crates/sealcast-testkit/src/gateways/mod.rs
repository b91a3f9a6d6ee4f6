//! A pair of gateways as their users run them, with a camera before and players behind.

mod camera;
mod film;
mod player;

use std::path::Path;

use tempfile::TempDir;

use crate::media::tool;
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

/// The digests of what ffmpeg as a player receives, by its format framemd5. It may complain of datagrams that were
/// lost.
pub fn digests_by_ffmpeg(arguments: &[&str]) -> Vec<String> {
    let text = String::from_utf8(played_by_ffmpeg(&[arguments, &["-f", "framemd5", "-"]].concat())).expect("text");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let digests = lines.filter_map(|line| line.rsplit(',').next());
    digests.map(|digest| digest.trim().to_owned()).collect()
}

/// What ffmpeg as a player writes to its standard output.
pub fn played_by_ffmpeg(arguments: &[&str]) -> Vec<u8> {
    // It does not end by itself where nothing comes any more.
    let mut command = tool("timeout");
    command.arg("120").arg(tool("ffmpeg").get_program());
    command.args(["-nostdin", "-hide_banner", "-loglevel", "error"]);
    let output = command.args(arguments).output().expect("ffmpeg runs");
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
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

    /// Neither gateway warned of anything but silence, which a machine that stands still makes.
    pub fn assert_calm(&self) {
        let said = self.said();
        let silence = ["nothing was heard", "nothing came", "is gone", "the session ended"];
        let warned = |line: &&str| line.contains("WARN") && !silence.iter().any(|words| line.contains(words));
        assert_eq!(said.lines().find(warned), None, "{said}");
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
