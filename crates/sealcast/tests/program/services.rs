//! Files of `packaging/` for service managers and monitoring, which fit the program.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;

use sealcast::meter::labels::{Direction, HandshakeOutcome};
use sealcast::meter::metrics::Metrics;
use sealcast::run::build_info;
use sealcast_testkit::gateways::{camera_gateway, viewer_gateway};
use sealcast_testkit::program::{PATIENCE, Program, free_port, home, publish, publish_by, sealcast, value_of, watch};

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
pub(super) struct Manager {
    socket: UnixDatagram,
    path: PathBuf,
}

impl Manager {
    pub(super) fn at(home: &Path) -> Self {
        let path = home.join("notify");
        let socket = UnixDatagram::bind(&path).expect("a socket");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time limit");
        Self { socket, path }
    }

    pub(super) fn is_told(&self) -> String {
        let mut told = [0; 64];
        let length = self.socket.recv(&mut told).expect("the manager is told");
        String::from_utf8_lossy(&told[..length]).into_owned()
    }

    pub(super) fn told_by(&self, mut command: Command) -> Command {
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
    assert!(files.len() >= 5);
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
    for unit in ["publish", "gateway-camera", "gateway-viewer", "archive"] {
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
        for passing in ["1", "3", "5", "6"] {
            assert!(!given_up.contains(&passing), "{unit} gives up on {passing}");
        }
    }
}

/// The lines of metrics that a publisher with a viewer, a gateway and their viewers show.
fn shown() -> Vec<String> {
    let [near, far, beside] = [home(), home(), home()];
    let metrics = ["--metrics", "127.0.0.1:0"];
    let publisher = publish(near.path(), "test:160x120@10", &metrics);
    let viewer = watch(
        far.path(),
        &publisher.ticket,
        &[&metrics[..], &["--to", "null:"]].concat(),
    );
    viewer.says("/metrics", PATIENCE);
    viewer.has_counted("sealcast_frames_total{dir=\"in\"}", 10.0);
    let camera = camera_gateway(beside.path(), "rtsp://127.0.0.1:9/x", &metrics);
    let players = viewer_gateway(far.path(), &camera.ticket, free_port(), &metrics);
    players.says("/metrics", PATIENCE);
    let programs = [&publisher.program, &viewer, &camera.program, &players];
    programs
        .iter()
        .flat_map(|program| program.metrics().lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Selectors of our metrics in a text: names with what they ask of labels.
fn selectors(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let text = text.replace("\\\"", "\"");
    for (at, _) in text.match_indices("sealcast_") {
        let rest = &text[at..];
        let end = rest
            .find(|c: char| !c.is_ascii_lowercase() && c != '_')
            .unwrap_or(rest.len());
        let labels = rest[end..]
            .strip_prefix('{')
            .and_then(|rest| rest.split('}').next())
            .unwrap_or_default();
        let equal = labels.split(',').map(str::trim).filter(|label| {
            label
                .split_once("=\"")
                .is_some_and(|(name, value)| !name.ends_with(['!', '~']) && !value.contains('$'))
        });
        found
            .entry(rest[..end].to_owned())
            .or_default()
            .extend(equal.map(str::to_owned));
    }
    found
}

/// Metrics that only machines with a sensor or a meter show; docs/meters.md names them.
const MEASURED: [&str; 2] = ["sealcast_temperature_celsius", "sealcast_energy_joules_total"];

#[test]
fn alerts_and_dashboard_ask_for_metrics_and_labels_that_there_are() {
    let shown = shown();
    let meters = std::fs::read_to_string(packaging("../docs/meters.md")).expect("the document");
    assert!(MEASURED.iter().all(|name| meters.contains(name)), "docs/meters.md");
    for (file, least) in [("prometheus/sealcast.rules.yml", 8), ("grafana/sealcast.json", 12)] {
        let asked = selectors(&read(file));
        assert!(asked.len() >= least, "{file} asks for {} metrics", asked.len());
        for (name, labels) in asked.into_iter().filter(|(name, _)| !MEASURED.contains(&&**name)) {
            let lines: Vec<&String> = shown
                .iter()
                .filter(|line| {
                    line.strip_prefix(&name)
                        .is_some_and(|rest| rest.starts_with(['{', ' ']))
                })
                .collect();
            assert!(!lines.is_empty(), "{file}: there is no metric {name}");
            for label in labels {
                let there = lines.iter().any(|line| line.contains(&label));
                assert!(there, "{file}: no {name} has {label}: {lines:?}");
            }
        }
    }
}

#[test]
fn a_metric_that_is_asked_for_without_a_camera_is_that_of_all_cameras() {
    let metrics = Metrics::new(build_info());
    metrics.record_handshake(HandshakeOutcome::Established);
    let alone = metrics.encode();
    for (name, epoch) in [("front", 3), (r#"a\\"b"} 9"#, 4)] {
        let camera = metrics.of_camera(name);
        camera.set_epoch(epoch);
        (0..epoch).for_each(|_| camera.record_frame(Direction::Out));
    }
    let several = metrics.encode();
    for (text, name, value) in [
        (&alone, "sealcast_epoch", 0.0),
        (&alone, "sealcast_handshakes_total{outcome=\"established\"}", 1.0),
        (&several, "sealcast_handshakes_total{outcome=\"established\"}", 1.0),
        (&several, "sealcast_epoch", 7.0),
        (&several, "sealcast_epoch{camera=\"front\"}", 3.0),
        (&several, "sealcast_frames_total{dir=\"out\"}", 7.0),
        (&several, "sealcast_frames_total{camera=\"front\",dir=\"out\"}", 3.0),
        (&several, "sealcast_frames_total{camera=\"front\"}", 0.0),
        (&several, "sealcast_frames_total", 0.0),
    ] {
        assert_eq!(value_of(text, name), value, "{name} in {text}");
    }
}

#[test]
fn a_metric_that_does_not_exist_would_be_noticed() {
    let asked = selectors("rate(sealcast_frames_total{dir=\\\"in\\\", job=\"$job\"}[5m]) > sealcast_gone");
    let names: Vec<&str> = asked.keys().map(String::as_str).collect();
    assert_eq!(names, ["sealcast_frames_total", "sealcast_gone"]);
    assert_eq!(
        asked["sealcast_frames_total"],
        BTreeSet::from(["dir=\"in\"".to_owned()])
    );
}

#[test]
fn lines_that_go_to_the_journal_have_no_time_of_their_own() {
    let home = home();
    let file = std::fs::File::create(home.path().join("journal")).expect("a file");
    let found = file.metadata().expect("it is open");
    for (stream, stamped) in [
        (format!("{}:{}", found.dev(), found.ino()), false),
        ("1:1".to_owned(), true),
    ] {
        let mut program = sealcast(home.path());
        program
            .args([
                "publish",
                "test:160x120@5",
                "--listen",
                "tcp://127.0.0.1:0",
                "--seconds",
                "100ms",
            ])
            .env("JOURNAL_STREAM", stream)
            .stderr(file.try_clone().expect("it is open"));
        assert!(program.status().expect("it runs").success());
        let said = std::fs::read_to_string(home.path().join("journal")).expect("text");
        let last = said.lines().last().expect("it logs");
        assert_eq!(!last.starts_with(' '), stamped, "{said}");
    }
}
