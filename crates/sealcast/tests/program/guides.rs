//! The guides, as their readers follow them: each command is run as it stands there, in the order of the page, with
//! what every machine has in the place of cameras, addresses and folders of others.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use sealcast_testkit::built::built;
use sealcast_testkit::gateways::Camera;
use sealcast_testkit::media::{STREET, clip, path};
use sealcast_testkit::program::{PATIENCE, Program, beginning, free_port, home, sealcast};
use sealcast_testkit::servers::ffmpeg_clip;
use tempfile::TempDir;

/// Texts of the pages, and those that take their places; `{front}` and `{yard}` are cameras, `{port}` is a free port.
const STAND_INS: &[(&str, &str)] = &[
    ("v4l2:/dev/video0", "test:320x240@25"),
    ("rtsp://192.168.1.20/front", "{front}"),
    ("rtsp://192.168.1.21/yard", "{yard}"),
    ("rtsp://192.0.2.10/1", "{front}"),
    ("rtsp://192.0.2.11/1", "{yard}"),
    ("://0.0.0.0:9553", "://127.0.0.1:0"),
    ("://127.0.0.1:9553", "://127.0.0.1:0"),
    ("://0.0.0.0:9443", "://127.0.0.1:0"),
    ("://0.0.0.0:9464", "://127.0.0.1:0"),
    ("0.0.0.0:9554", "127.0.0.1:{port}"),
    ("127.0.0.1:8554", "127.0.0.1:{port}"),
    ("127.0.0.1:5600", "127.0.0.1:{port}"),
    ("--advertise 10.9.0.1 ", "--advertise 127.0.0.1 "),
    ("/usr/share/doc/sealcast/examples", "examples"),
    ("/etc/sealcast", "etc"),
    // No screen, and no sound.
    ("window:", "null:"),
    (
        "ffplay -fflags nobuffer -flags low_delay -probesize 32 -sync video -f matroska -",
        "ffmpeg -v error -f matroska -i - -f null -",
    ),
    // What they wait for is there sooner.
    ("--seconds 60", "--seconds 2"),
];
/// Commands that are not run here, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("scp ", "there is one machine, so the ticket is there"),
    ("systemctl ", "packaging/test/services.sh runs the units"),
    ("cargo build ", "the laboratory was built with the tests"),
    (
        "sealcast-lab price ",
        "it takes minutes; the laboratory's own tests run experiments",
    ),
    ("sealcast-lab attack ", "as before"),
    ("sealcast-lab handshake ", "as before"),
    ("sealcast-lab run ", "as before"),
];
/// Commands that run until they are ended.
const LASTING: &[&str] = &[
    "sealcast publish ",
    "sealcast gateway camera ",
    "sealcast gateway viewer ",
];
/// Commands of those who watch, who have a home of their own.
const WATCHING: &[&str] = &["sealcast watch ", "sealcast cameras ", "sealcast gateway viewer "];

/// A reader of a page, whose folder has what the page assumes.
struct Reader {
    folder: TempDir,
    cameras: [Camera; 2],
    running: Vec<(&'static str, Program)>,
}

impl Reader {
    fn new() -> Self {
        let folder = home();
        for name in ["programs", "whole", "etc/gateway-camera", "examples"] {
            fs::create_dir_all(folder.path().join(name)).expect("a folder");
        }
        for name in ["sealcast", "sealcast-lab"] {
            symlink(built(name), folder.path().join("programs").join(name)).expect("a link");
        }
        let whole = clip(STREET, &folder.path().join("whole"));
        let film = ffmpeg_clip(&beginning(&whole, 2, folder.path()), folder.path());
        let cameras = [(); 2].map(|()| Camera::endless(TcpListener::bind("127.0.0.1:0").expect("a port"), &film));
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/examples/gateway-camera.toml");
        let example = fs::read_to_string(example).expect("an example");
        let example = example
            .replace("rtsp://192.0.2.10/stream1", &cameras[0].url())
            .replace("rtsp://192.0.2.11/stream1?transport=udp", &cameras[1].url())
            .replace("/run/sealcast/gateway-camera-site/", "");
        fs::write(folder.path().join("examples/gateway-camera.toml"), example).expect("space");
        Self {
            folder,
            cameras,
            running: Vec::new(),
        }
    }

    fn with_stand_ins(&self, command: &str) -> String {
        let replaced = STAND_INS
            .iter()
            .fold(command.to_owned(), |command, (from, to)| command.replace(from, to));
        let mut command = replaced
            .replace("{front}", &self.cameras[0].url())
            .replace("{yard}", &self.cameras[1].url());
        while command.contains("{port}") {
            command = command.replacen("{port}", &free_port().to_string(), 1);
        }
        if let Some(begin) = ["sealcast publish ", "sealcast gateway camera "]
            .iter()
            .find(|begin| command.starts_with(**begin))
            && !command.contains("--listen ")
        {
            command = command.replacen(begin, &format!("{begin}--listen tcp://127.0.0.1:0 "), 1);
        }
        if command.starts_with("sealcast watch ") && !command.contains("--seconds") {
            command = command.replacen("sealcast watch ", "sealcast watch --seconds 2 ", 1);
        }
        command
    }

    /// A shell that runs a command as it is typed.
    fn shell(&self, command: &str) -> Command {
        let watches = WATCHING.iter().any(|begin| command.starts_with(begin));
        let own = self.folder.path().join(if watches { "viewer" } else { "publisher" });
        let programs = self.folder.path().join("programs");
        let search = std::env::var("PATH").expect("a search path");
        let mut shell = Command::new("sh");
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("SEALCAST_") {
                shell.env_remove(name);
            }
        }
        shell.args(["-c", command]).current_dir(self.folder.path());
        shell.env("SEALCAST_HOME", own.join("keys"));
        shell.env("PATH", format!("{}:{search}", path(&programs)));
        shell
    }

    fn run(&mut self, command: &str) {
        let command = self.with_stand_ins(command);
        if let Some(kind) = LASTING.iter().find(|kind| command.starts_with(**kind)) {
            return self.starts(kind, &command);
        }
        // On a terminal, where tickets and codes are shown.
        let shown = match command.starts_with("sealcast invite") && !command.contains("--ticket-file") {
            true => format!("script -qefc 'stty cols 120; {command}' /dev/null"),
            false => command.clone(),
        };
        let output = self.shell(&shown).output().expect("a shell");
        let said = format!(
            "{command}: {}\n{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        match output.status.code() {
            Some(0) => {}
            // Its findings are about this machine.
            Some(3..) if command.starts_with("sealcast doctor") => {}
            code => panic!("it ends with {code:?}: {said}"),
        }
        let of_seconds = command.contains("--seconds");
        assert!(!said.contains("panicked"), "{said}");
        assert!(!of_seconds || !said.contains(" ERROR "), "{said}");
        if command.starts_with("sealcast invite") {
            self.invites(&output);
        }
    }

    /// Starts a program in the place of the one of its kind, and waits until it can be used.
    fn starts(&mut self, kind: &'static str, command: &str) {
        self.running.retain_mut(|(other, program)| {
            let stays = *other != kind;
            if !stays {
                program.stop();
            }
            stays
        });
        let program = Program::run("a program of the guide", self.shell(&format!("exec {command}")));
        let words = match kind {
            "sealcast publish " => "INFO publishing ",
            "sealcast gateway camera " => "INFO camera gateway ",
            _ => "INFO players are served ",
        };
        program.says(words, PATIENCE);
        self.running.push((kind, program));
    }

    /// Whoever was invited comes, so that there is somebody to list and to remove.
    fn invites(&self, output: &Output) {
        let said = String::from_utf8_lossy(&output.stdout);
        // The line to give away.
        let line = said.split_once("sealcast watch '").map(|(_, line)| line);
        if let Some((ticket, _)) = line.and_then(|line| line.split_once('\'')) {
            let guest = home();
            let mut command = sealcast(guest.path());
            command.args(["watch", ticket, "--to", "null:"]);
            let mut guest = Program::run("who was invited", command);
            guest.says("INFO watching", PATIENCE);
            guest.stop();
        }
    }
}

/// Follows a page, which has at least so many commands that are run.
fn follow(page: &str, least: usize) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/guide/{page}.md"));
    let text = fs::read_to_string(file).expect("a guide");
    let commands = text.split("```").skip(1).step_by(2).flat_map(str::lines);
    let mut reader = Reader::new();
    let mut tried = 0;
    for command in commands.filter(|line| !line.is_empty()) {
        match NOT_RUN.iter().find(|(begin, _)| command.starts_with(begin)) {
            Some((_, why)) => println!("not run: {command}: {why}"),
            None => {
                println!("{command}");
                reader.run(command);
                tried += 1;
            }
        }
    }
    for (_, program) in &mut reader.running {
        program.stop();
    }
    assert!(tried >= least, "{tried} commands of {page} were run");
}

#[test]
fn a_pilot_follows_the_guide() {
    follow("pilot", 9);
}

#[test]
fn somebody_at_home_follows_the_guide() {
    follow("home", 10);
}

#[test]
fn an_integrator_follows_the_guide() {
    follow("integrator", 15);
}

#[test]
fn a_researcher_follows_the_guide() {
    follow("researcher", 3);
}

#[test]
fn every_stand_in_has_a_place_in_a_guide() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide");
    let pages = ["pilot", "home", "integrator", "researcher"];
    let text = pages.map(|page| fs::read_to_string(folder.join(format!("{page}.md"))).expect("a guide"));
    let text = text.concat();
    for (shown, _) in STAND_INS.iter().chain(NOT_RUN) {
        assert!(text.contains(shown), "no guide has {shown}");
    }
}
