//! A relay client that somebody has taken over: what it may still do. A script in its place tries.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use sealcast_testkit::attack::{Home, Program};
use sealcast_testkit::skips::skipped;

/// Tries each deed, and says which worked. The last one must: it is what a relay client is for.
const TAKEN_OVER: &str = r#"#!/usr/bin/env python3
import os, socket, sys
home, port = HOME, PORT
def unix(kind, path):
    with socket.socket(socket.AF_UNIX, kind) as s:
        s.connect(path)
deeds = {
    "reads the identity": lambda: open(home + "/publishers/camera/identity").read(),
    "lists the keys": lambda: os.listdir(home),
    "reads a user's file": lambda: open("/etc/passwd").read(),
    "writes a file": lambda: open(home + "/written", "w"),
    "writes to a folder of all": lambda: open("/tmp/sealcast-written", "w"),
    "reaches the control socket": lambda: unix(socket.SOCK_STREAM, home + "/control"),
    "makes a local socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
    "reads the camera's memory": lambda: open("/proc/%d/mem" % os.getppid(), "rb").read(1),
    "ends the camera": lambda: os.kill(os.getppid(), 0),
    "speaks with a relay": lambda: socket.create_connection(("127.0.0.1", port)),
}
for name, deed in deeds.items():
    try:
        deed()
        print("WORKED " + name, file=sys.stderr, flush=True)
    except Exception as error:
        print("refused " + name, file=sys.stderr, flush=True)
print("DONE", file=sys.stderr, flush=True)
sys.stdin.buffer.read()
"#;

#[test]
fn a_relay_client_that_was_taken_over_reaches_no_key_no_file_and_no_socket_of_this_machine() {
    let home = Home::new();
    let relay = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = relay.local_addr().expect("bound").port();
    // A program beside sealcast itself would be taken first.
    let programs = home.file("programs");
    fs::create_dir(&programs).expect("a folder");
    let own = programs.join("sealcast");
    fs::copy(sealcast_testkit::built::built("sealcast"), &own).expect("space");
    let script = TAKEN_OVER
        .replace("HOME", &format!("{:?}", home.path().to_str().expect("UTF-8")))
        .replace("PORT", &port.to_string());
    let client = programs.join("sealcast-moq");
    fs::write(&client, script).expect("space");
    fs::set_permissions(&client, Permissions::from_mode(0o755)).expect("our own file");
    let mut command = std::process::Command::new(own);
    let relay_url = format!("https://127.0.0.1:{port}/front");
    command
        .args([
            "publish",
            "test:160x120@25",
            "--listen",
            "tcp://127.0.0.1:0",
            "--ticket-file",
            "ticket",
        ])
        .args(["--control", "control", "--relay", &relay_url, "-v"])
        .env("SEALCAST_HOME", home.path())
        .env("SEALCAST_LOG", "sealcast=debug")
        .current_dir(home.path())
        .stdin(std::process::Stdio::null());
    let camera = Program::start(command);
    camera.says("DONE");
    let said = camera.said();
    if said.contains("the fence around sealcast-moq is incomplete") {
        return skipped("this kernel lacks landlock or seccomp");
    }
    let worked = said
        .lines()
        .filter_map(|line| line.split_once("WORKED ")?.1.split_once(" relay="));
    let worked: Vec<&str> = worked.map(|(deed, _)| deed).collect();
    assert_eq!(worked, ["speaks with a relay"], "{said}");
}
