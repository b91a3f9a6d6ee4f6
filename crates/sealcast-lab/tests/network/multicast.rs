//! A camera and three viewers in network namespaces of their own, joined by a bridge that keeps multicast from one of
//! them. The tests need root and the program `bridge`; without them they are skipped.

use std::process::Command;

use sealcast_lab::net::Net;
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, home, sealcast, until};
use sealcast_testkit::skips::skipped;
use tempfile::TempDir;

const CARD: &str = "test:320x240@25";
const HOSTS: [&str; 4] = ["cam", "v1", "v2", "v3"];
/// The viewer whom no multicast reaches.
const DEAF: usize = 3;
/// Frames that each viewer is sent.
const FRAMES: u64 = 100;

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
}

/// The namespaces of a switch and the hosts at it, which end with the test.
struct Lan {
    name: String,
}

impl Drop for Lan {
    fn drop(&mut self) {
        for host in HOSTS.iter().chain(&["sw"]) {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.namespace(host)])
                .output();
        }
    }
}

impl Lan {
    /// `None`, with the reason said, where namespaces cannot be made.
    fn create(test: &str) -> Option<Self> {
        if let Some(failure) = Net::obstacle() {
            skipped(failure);
            return None;
        }
        if Command::new("bridge").arg("-V").output().is_err() {
            skipped("the program `bridge` is not installed");
            return None;
        }
        let lan = Self {
            name: format!("lan-{test}-{}", std::process::id()),
        };
        let switch = lan.namespace("sw");
        run("ip", &["netns", "add", &switch]);
        lan.within(
            "sw",
            &[
                "ip",
                "link",
                "add",
                "name",
                "br0",
                "type",
                "bridge",
                "mcast_snooping",
                "0",
            ],
        );
        lan.within("sw", &["ip", "link", "set", "br0", "up"]);
        for (number, host) in HOSTS.iter().enumerate() {
            lan.attach(host, number + 1, &switch);
        }
        let deaf = format!("p-{}", HOSTS[DEAF]);
        lan.within("sw", &["bridge", "link", "set", "dev", &deaf, "mcast_flood", "off"]);
        Some(lan)
    }

    fn attach(&self, host: &str, number: usize, switch: &str) {
        run("ip", &["netns", "add", &self.namespace(host)]);
        let port = format!("p-{host}");
        let pair = ["type", "veth", "peer", "name", &port, "netns", switch];
        self.within(host, &[&["ip", "link", "add", "name", "eth0"][..], &pair].concat());
        let (v4, v6) = (format!("10.78.0.{number}/24"), format!("fd78::{number}/64"));
        self.within(host, &["ip", "addr", "add", &v4, "dev", "eth0"]);
        self.within(host, &["ip", "addr", "add", &v6, "dev", "eth0", "nodad"]);
        self.within(host, &["ip", "link", "set", "eth0", "up"]);
        self.within(host, &["ip", "link", "set", "lo", "up"]);
        self.within("sw", &["ip", "link", "set", &port, "master", "br0"]);
        self.within("sw", &["ip", "link", "set", &port, "up"]);
    }

    fn namespace(&self, host: &str) -> String {
        format!("{}-{host}", self.name)
    }

    fn within(&self, host: &str, command: &[&str]) {
        run("ip", &[&["netns", "exec", &self.namespace(host)], command].concat());
    }

    /// The program at a host.
    fn sealcast(&self, host: usize, home: &TempDir) -> Command {
        let command = sealcast(home.path());
        let mut within = Command::new("ip");
        within.args(["netns", "exec", &self.namespace(HOSTS[host])]);
        within.arg(command.get_program());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => within.env(name, value),
                None => within.env_remove(name),
            };
        }
        within
    }

    /// The packets that each host has sent, and those that it was sent, as the switch counts them. The kernel gives out
    /// all of them at once, so they belong to one moment and may be compared with each other.
    fn packets(&self) -> [[u64; 2]; HOSTS.len()] {
        let output = Command::new("ip")
            .args(["netns", "exec", &self.namespace("sw"), "cat", "/proc/net/dev"])
            .output();
        let table = String::from_utf8(output.expect("ip runs").stdout).expect("text");
        HOSTS.map(|host| {
            let row = table
                .lines()
                .find_map(|row| row.trim_start().strip_prefix(&format!("p-{host}:")));
            // Received bytes, packets and six more; the same of what was sent.
            let counts: Vec<&str> = row.expect("the port").split_whitespace().collect();
            [1, 9].map(|at| counts[at].parse().expect("a number"))
        })
    }
}

/// The number that a viewer's report has at this place.
fn reported(home: &TempDir, place: &str) -> u64 {
    let text = std::fs::read_to_string(home.path().join("report.json")).expect("a report");
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    json.pointer(place)
        .and_then(serde_json::Value::as_u64)
        .expect("a number")
}

fn camera_serves(listen: &str, test: &str) {
    let Some(lan) = Lan::create(test) else { return };
    let homes = [home(), home(), home(), home()];
    let mut command = lan.sealcast(0, &homes[0]);
    command
        .args([
            "publish",
            CARD,
            "--group",
            "--sign",
            "frame",
            "--listen",
            listen,
            "--ticket-file",
            "-",
        ])
        .args(["--invite-uses", "9"]);
    let camera = Program::run("the camera", command);
    let ticket = camera.line();
    let mut viewers: Vec<Program> = (1..=DEAF)
        .map(|viewer| {
            let mut command = lan.sealcast(viewer, &homes[viewer]);
            let report = homes[viewer].path().join("report.json");
            command.args(["watch", &ticket, "--to", "null:", "--report", path(&report)]);
            Program::run("a viewer", command)
        })
        .collect();
    camera.says_times("it hears the multicast group", 2, PATIENCE);
    camera.says("it does not hear the multicast group, and is sent all itself", PATIENCE);
    viewers[DEAF - 1].says("nothing comes from the multicast group", PATIENCE);
    let before = lan.packets();
    let mut now = before;
    let to_viewer = |now: &[[u64; 2]], viewer: usize| now[viewer][1] - before[viewer][1];
    // Each frame is a datagram at least, and its proof another.
    until("all viewers were sent some frames", || {
        now = lan.packets();
        (1..=DEAF).all(|viewer| to_viewer(&now, viewer) > 2 * FRAMES)
    });
    let from_camera = now[0][0] - before[0][0];
    let to_viewers: u64 = (1..=DEAF).map(|viewer| to_viewer(&now, viewer)).sum();
    // Were all sent to each, the camera would send as much as the viewers get: three times what it sends to one.
    assert!(
        from_camera * 10 < to_viewers * 9,
        "{from_camera} packets from the camera, {to_viewers} to viewers"
    );
    viewers.iter_mut().for_each(Program::stop);
    for (viewer, home) in homes.iter().enumerate().skip(1) {
        assert!(reported(home, "/totals/frames_in") > FRAMES / 2, "viewer {viewer}");
    }
}

#[test]
fn a_camera_sends_each_record_once_to_those_who_hear_it_and_alone_to_who_does_not() {
    camera_serves("udp://10.78.0.1:9553?multicast=239.1.2.3:5000", "v4");
}

#[test]
fn multicast_of_ipv6_works_alike() {
    camera_serves("udp://[fd78::1]:9553?multicast=[ff02::7:7]:5000", "v6");
}
