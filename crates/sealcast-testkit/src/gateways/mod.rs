//! A pair of gateways as users run them, with a camera at one side and players at the other.

mod camera;
pub mod clip;
mod deviations;
mod film;
mod login;
mod player;

use std::path::Path;

use tempfile::TempDir;

use crate::media::tool;
use crate::program::{MANY_USES, PATIENCE, Program, Publisher, free_port, home, publish_by, sealcast};

pub use camera::{Camera, Heard};
pub use clip::{Clip, Rtp};
pub use deviations::{Deviation, When};
pub use film::{FRAGMENTS, film, number};
pub use login::Login;
pub use player::Player;

/// The transport of packets outside the gateways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plain {
    /// Interleaved in the RTSP connection.
    Tcp,
    /// UDP datagrams.
    Udp,
}

/// The digests of the frames that ffmpeg receives as a player, in its format framemd5. ffmpeg may print warnings
/// about lost datagrams.
pub fn digests_by_ffmpeg(arguments: &[&str]) -> Vec<String> {
    let text = String::from_utf8(played_by_ffmpeg(&[arguments, &["-f", "framemd5", "-"]].concat())).expect("text");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    // Stream, times, duration, size, digest; digests of what is said beside a packet may follow.
    let digests = lines.filter_map(|line| line.split(',').nth(5));
    digests.map(|digest| digest.trim().to_owned()).collect()
}

/// The standard output of ffmpeg as a player.
pub fn played_by_ffmpeg(arguments: &[&str]) -> Vec<u8> {
    // ffmpeg does not end by itself when no more packets come.
    let mut command = tool("timeout");
    command.arg("120").arg(tool("ffmpeg").get_program());
    command.args(["-nostdin", "-hide_banner", "-loglevel", "error"]);
    let output = command.args(arguments).output().expect("ffmpeg runs");
    println!("{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A packet and its channel: twice the track's number, plus one for RTCP.
pub type Packet = (u8, Vec<u8>);

/// A camera gateway and a viewer gateway on this machine.
pub struct Pair {
    /// The camera gateway, and the ticket that it printed.
    pub camera: Publisher,
    /// The viewer gateway.
    pub viewer: Program,
    /// The port for players.
    pub port: u16,
    homes: [TempDir; 2],
}

/// Starts gateways between this camera and players, with additional arguments for each.
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

/// Starts a camera gateway for one camera, or for those in `more`. Many viewer gateways may come with the ticket.
pub fn camera_gateway(home: &Path, camera: &str, more: &[&str]) -> Publisher {
    let mut command = sealcast(home);
    command.args(["gateway", "camera"]).args(MANY_USES).args(more);
    if !camera.is_empty() {
        command.args(["--camera", camera]);
    }
    if !more.contains(&"--listen") {
        command.args(["--listen", "tcp://127.0.0.1:0"]);
    }
    publish_by(command)
}

/// Starts a viewer gateway with this port for players, which need no password unless `more` has one; returns when it is
/// linked.
pub fn viewer_gateway(home: &Path, ticket: &str, port: u16, more: &[&str]) -> Program {
    let viewer = unlinked_gateway(home, ticket, port, more);
    viewer.says("linked to the camera gateway", PATIENCE);
    viewer
}

/// As [`viewer_gateway`], without waiting for anything.
pub fn unlinked_gateway(home: &Path, ticket: &str, port: u16, more: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.args([
        "gateway",
        "viewer",
        "--peer",
        ticket,
        "--rtsp",
        &format!("127.0.0.1:{port}"),
    ]);
    if !more.iter().any(|option| option.starts_with("--rtsp-")) {
        command.arg("--rtsp-open");
    }
    command.args(more);
    Program::run("the viewer gateway", command)
}

impl Pair {
    /// The URL for players.
    pub fn url(&self) -> String {
        format!("rtsp://127.0.0.1:{}/front", self.port)
    }

    /// The output of both gateways so far.
    pub fn said(&self) -> String {
        self.camera.program.said() + &self.viewer.said()
    }

    /// Fails if a gateway printed any warning except those about silence, which happen if the machine stands still.
    pub fn assert_calm(&self) {
        let said = self.said();
        let silence = ["nothing was heard", "nothing came", "is gone", "the session ended"];
        let warned = |line: &&str| line.contains("WARN") && !silence.iter().any(|words| line.contains(words));
        assert_eq!(said.lines().find(warned), None, "{said}");
    }

    /// The home of the camera gateway, with its keys.
    pub fn camera_home(&self) -> &Path {
        self.homes[0].path()
    }

    /// The home of the viewer gateway, with its keys.
    pub fn viewer_home(&self) -> &Path {
        self.homes[1].path()
    }
}
