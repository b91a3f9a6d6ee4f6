//! What `packaging/` gives to service managers fits the program.

use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealcast_testkit::program::{PATIENCE, Program, free_port, home, publish_by, sealcast};

fn packaging(place: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../packaging")
        .join(place)
}

fn read(place: &str) -> String {
    let file = packaging(place);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A service manager's socket.
struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    fn at(home: &Path) -> Self {
        let path = home.join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        Self { socket, path }
    }

    fn is_told(&self) -> String {
        let mut told = [0; 64];
        let length = self.socket.recv(&mut told).expect("the manager is told");
        String::from_utf8_lossy(&told[..length]).into_owned()
    }

    fn told_by(&self, mut command: Command) -> Command {
        command.env("NOTIFY_SOCKET", &self.path);
        command
    }
}

#[test]
fn publisher_and_gateways_tell_their_manager_when_they_can_be_reached() {
    let home = home();
    let manager = Manager::at(home.path());
    let mut command = manager.told_by(sealcast(home.path()));
    command.args(["publish", "test:160x120@5", "--listen", "tcp://127.0.0.1:0"]);
    let mut publisher = publish_by(command);
    assert_eq!(manager.is_told(), "READY=1");
    publisher.program.stop();

    let mut command = manager.told_by(sealcast(home.path()));
    command.args([
        "gateway",
        "camera",
        "--camera",
        "rtsp://127.0.0.1:9/x",
        "--listen",
        "tcp://127.0.0.1:0",
    ]);
    let mut camera = publish_by(command);
    assert_eq!(manager.is_told(), "READY=1");

    let mut command = manager.told_by(sealcast(home.path()));
    let rtsp = format!("127.0.0.1:{}", free_port());
    command.args(["gateway", "viewer", "--peer", &camera.ticket, "--rtsp", &rtsp]);
    let mut viewer = Program::run("the viewer gateway", command);
    assert_eq!(manager.is_told(), "READY=1");
    std::net::TcpStream::connect(&rtsp).expect("players are let in");
    viewer.stop();
    camera.program.stop();
}

#[test]
fn a_manager_that_is_gone_stops_nobody() {
    let home = home();
    let mut command = sealcast(home.path());
    command.env("NOTIFY_SOCKET", home.path().join("gone"));
    command.args(["publish", "test:160x120@5", "--listen", "tcp://127.0.0.1:0"]);
    let mut publisher = publish_by(command);
    publisher.program.says("the service manager cannot be told", PATIENCE);
    publisher.program.stop();
}

#[test]
fn the_configurations_that_are_packaged_are_right() {
    let folders = ["examples", "etc/publish"].map(packaging);
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("a folder"));
    let files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    assert!(files.len() >= 4);
    for file in files {
        let home = home();
        let output = sealcast(home.path())
            .args(["config", "check", "--config"])
            .arg(&file)
            .output();
        let output = output.expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", file.display());
    }
}

/// Each unit starts a command that there is with its configuration, and knows which codes not to start again after.
#[test]
fn units_start_commands_that_there_are_and_give_up_on_wrong_configurations() {
    for unit in ["publish", "gateway-camera", "gateway-viewer"] {
        let text = read(&format!("systemd/sealcast-{unit}@.service"));
        let value = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key))
                .unwrap_or_else(|| panic!("no {key}"))
        };
        let command = value("ExecStart=/usr/bin/sealcast ").replace("%i", "front");
        let home = home();
        let output = sealcast(home.path())
            .args(command.split(' '))
            .arg("--help")
            .output()
            .expect("it runs");
        assert!(
            output.status.success(),
            "{unit}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        // And with a configuration that is not there it ends with a code that the unit gives up on.
        let output = sealcast(home.path())
            .args(command.split(' '))
            .output()
            .expect("it runs");
        let code = output.status.code().expect("a code").to_string();
        let given_up: Vec<&str> = value("RestartPreventExitStatus=").split(' ').collect();
        assert!(given_up.contains(&code.as_str()), "{unit}: code {code}");
        for passing in ["1", "3", "5"] {
            assert!(!given_up.contains(&passing), "{unit} gives up on {passing}");
        }
    }
}
