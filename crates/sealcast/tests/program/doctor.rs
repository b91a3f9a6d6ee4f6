//! `sealcast doctor` on this machine, with configurations that hold what it has to find.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::SystemTime;

use sealcast::failure::FailureKind;
use sealcast_testkit::media::{STREET, clip, path};
use sealcast_testkit::program::{free_port, home, sealcast, write_private};
use sealcast_testkit::servers::gstreamer;
use serde_json::Value;

fn examined(home: &Path, config: &str, more: &[&str]) -> Output {
    let file = home.join("sealcast.toml");
    fs::write(&file, config).expect("written");
    // Whatever the tests run with, nobody else may write it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("our own file");
    let mut command = sealcast(home);
    command.args(["doctor", "--config", path(&file)]).args(more);
    command.output().expect("it runs")
}

fn listening_at(port: u16) -> String {
    format!("[publish]\nlisten = \"tcp://127.0.0.1:{port}\"\n")
}

/// Each file below a folder, with its time of change and its mode.
fn state(folder: &Path) -> Vec<(PathBuf, SystemTime, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let about = entry.metadata().expect("it is there");
        if about.is_dir() {
            found.extend(state(&entry.path()));
        }
        let changed = about.modified().expect("a time");
        found.push((entry.path(), changed, about.permissions().mode()));
    }
    found.sort();
    found
}

#[test]
fn a_machine_without_faults_has_none_and_is_left_as_it_is() {
    let home = home();
    let made = sealcast(home.path()).args(["keygen", "--for", "publisher"]).status();
    assert!(made.expect("it runs").success());
    let config = listening_at(free_port());
    assert_eq!(examined(home.path(), &config, &[]).status.code(), Some(0));
    let before = state(home.path());
    let output = examined(home.path(), &config, &["--json"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let of = |check: &str| findings.iter().filter(|finding| finding["check"] == check).count();
    for check in [
        "config",
        "codec",
        "fence",
        "entropy",
        "clock",
        "port",
        "ipv6",
        "mtu",
        "buffers",
        "descriptors",
        "files",
        "disk",
    ] {
        assert!(of(check) > 0, "no {check} in {findings:?}");
    }
    assert!(
        findings.iter().all(|finding| finding["verdict"] != "wrong"),
        "{findings:?}"
    );
    // The test itself writes the configuration again.
    let kept = |state: Vec<(PathBuf, SystemTime, u32)>| {
        let kept = state.into_iter().filter(|(path, ..)| !path.ends_with("sealcast.toml"));
        kept.collect::<Vec<_>>()
    };
    assert_eq!(kept(state(home.path())), kept(before));
}

#[test]
fn what_is_wrong_is_named_with_what_to_do_and_ends_with_its_code() {
    let home = home();
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("bound").port();
    let ticket = home.path().join("ticket");
    fs::write(&ticket, "sealcast://camera.example#invite\n").expect("written");
    fs::set_permissions(&ticket, fs::Permissions::from_mode(0o666)).expect("our own file");
    let cameras = home.path().join("cameras");
    write_private(
        &cameras,
        format!("rtsp://admin:hunter2@127.0.0.1:{}/live\n", free_port()),
    );
    let config = format!(
        "{}[watch]\nticket_file = \"{}\"\n[gateway]\ncamera_file = \"{}\"\n",
        listening_at(port),
        path(&ticket),
        path(&cameras)
    );
    let output = examined(home.path(), &config, &[]);
    let [lines, last] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    assert_eq!(
        output.status.code(),
        Some(FailureKind::Network.exit_code().into()),
        "{lines}{last}"
    );
    for words in [
        format!("port {port} is held by"),
        format!("kill {}", std::process::id()),
        format!("run: chmod 600 {}", path(&ticket)),
        "cannot reach 127.0.0.1:".to_owned(),
    ] {
        assert!(lines.contains(&words), "no \"{words}\" in\n{lines}");
    }
    assert!(
        last.contains("sealcast: 3 of ") && last.contains("port, files, camera"),
        "{last}"
    );
    for secret in ["hunter2", "#invite"] {
        assert!(!lines.contains(secret) && !last.contains(secret), "{lines}{last}");
    }
}

#[test]
fn a_configuration_that_cannot_be_read_is_a_finding_and_the_rest_is_examined() {
    let home = home();
    let output = examined(home.path(), "[publish]\nsuorce = \"test:\"\n", &[]);
    let lines = String::from_utf8_lossy(&output.stdout);
    assert!(
        lines.contains("wrong    config       ") && lines.contains("of the defaults"),
        "{lines}"
    );
    assert!(lines.lines().count() > 10, "{lines}");
    assert_eq!(output.status.code(), Some(FailureKind::Config.exit_code().into()));
}

#[test]
fn a_camera_is_told_by_what_it_offers_and_sends_either_way_and_not_by_its_address() {
    let home = home();
    let server = gstreamer(&clip(STREET, home.path()), &[]);
    let output = sealcast(home.path())
        .args(["doctor", &server.url()])
        .output()
        .expect("it runs");
    let report = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{report}");
    for part in [
        "rtsp://HOST:",
        "track 0: video, h264",
        "published as H.264 ",
        " keyframes each ",
    ] {
        assert!(report.contains(part), "{part} in {report}");
    }
    assert_eq!(report.matches("published as").count(), 2, "TCP and UDP: {report}");
    assert!(!report.contains("127.0.0.1") && !report.contains("/cam"), "{report}");
    assert!(!report.contains("odd"), "{report}");
}
