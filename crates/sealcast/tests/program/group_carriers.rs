//! Groups whose viewers come over TCP, UDP and QUIC.

use std::path::Path;

use sealcast::failure::FailureKind;
use sealcast_testkit::media::{STREET, clip, path};
use sealcast_testkit::program::{MANY_USES, PATIENCE, Program, beginning, file_url, home, sealcast};
use tempfile::TempDir;

use super::groups::{FRAMES_IN, FRAMES_OUT, GROUP, MEMBER, frames, goes_on, is_live, peer_of, watching};

const CARD: &str = "test:320x240@25";
const REFUSED: &str = "sealcast_group_frames_refused_total";
const UNKNOWN: &str = "sealcast_open_failures_total{reason=\"unknown_epoch\"}";
const FORWARDED: &str = "sealcast_group_frames_forwarded_total";
/// TCP, UDP and QUIC; the datagrams of the last two have the same records.
const CARRIERS: usize = 3;

/// A camera that is reached in three ways, and a ticket for each.
struct Camera {
    program: Program,
    tickets: Vec<String>,
}

fn camera(home: &Path, source: &str, more: &[&str]) -> Camera {
    let mut command = sealcast(home);
    command
        .args(["publish", source, "--listen", "tcp://127.0.0.1:0"])
        .args([
            "--also-listen",
            "udp://127.0.0.1:0",
            "--also-listen",
            "quic://127.0.0.1:0",
        ])
        .args(["--ticket-file", "-"])
        .args(GROUP)
        .args(MANY_USES)
        .args(more);
    let program = Program::run("the camera", command);
    let tickets = (0..CARRIERS).map(|_| program.line()).collect();
    Camera { program, tickets }
}

/// A home for the camera, and one for each viewer.
fn homes() -> (TempDir, Vec<TempDir>) {
    (home(), (0..CARRIERS).map(|_| home()).collect())
}

#[test]
fn viewers_over_tcp_udp_and_quic_get_the_same_pictures_each_sealed_once() {
    let (own, theirs) = homes();
    let dir = own.path();
    let whole = dir.join("whole");
    std::fs::create_dir(&whole).expect("a directory");
    let clip = beginning(&clip(STREET, &whole), 2, dir);
    let original = frames(&clip);
    let mut camera = camera(dir, &format!("{}?loop", file_url(&clip)), &["--sign", "both"]);
    let files: Vec<_> = theirs.iter().map(|home| home.path().join("seen.h264")).collect();
    let mut viewers: Vec<Program> = theirs
        .iter()
        .zip(camera.tickets.iter().zip(&files))
        .map(|(home, (ticket, file))| watching(home.path(), ticket, &["--to", &file_url(file)]))
        .collect();
    camera.program.says_times(MEMBER, CARRIERS, PATIENCE);
    let counted = camera.program.counts_of([FORWARDED, FRAMES_OUT]);
    for viewer in &viewers {
        let before = viewer.counts(FRAMES_IN);
        viewer.has_counted(FRAMES_IN, before + 100.0);
    }
    let now = camera.program.counts_of([FORWARDED, FRAMES_OUT]);
    let [forwarded, sealed] = [0, 1].map(|at| now[at] - counted[at]);
    // Each frame was sealed once and given to three; some were under way at either reading.
    assert!(forwarded > 2.5 * sealed, "{forwarded} frames given, {sealed} sealed");
    for viewer in &viewers {
        viewer.has_counted("sealcast_group_parts_proven_total", 1.0);
        assert!(viewer.counts("sealcast_group_parts_forged_total") < 1.0);
        assert!(viewer.counts(REFUSED) < 1.0);
        assert!(
            viewer.counts(UNKNOWN) < 1.0,
            "nothing comes that was sealed for it alone"
        );
        is_live(viewer);
    }
    viewers.iter_mut().for_each(Program::stop);
    camera.program.stop();
    for file in &files {
        let received = frames(file);
        assert!(
            received.len() >= 100 && received.iter().all(|frame| original.contains(frame)),
            "{file:?}"
        );
    }
}

#[test]
fn whoever_is_removed_is_cut_off_and_the_others_go_on_whatever_carries_them() {
    let (own, theirs) = homes();
    let socket = own.path().join("control");
    let camera = camera(own.path(), CARD, &["--control", path(&socket)]);
    let viewers: Vec<Program> = theirs
        .iter()
        .zip(&camera.tickets)
        .map(|(home, ticket)| watching(home.path(), ticket, &["--to", "null:"]))
        .collect();
    camera.program.says_times(MEMBER, CARRIERS, PATIENCE);
    viewers.iter().for_each(goes_on);
    let epoch = camera.program.counts("sealcast_group_epoch");
    // The one over UDP.
    let removed = sealcast(own.path())
        .args([
            "control",
            "--socket",
            path(&socket),
            "peers",
            "remove",
            &peer_of(theirs[1].path()),
        ])
        .output()
        .expect("it runs");
    assert!(removed.status.success(), "{removed:?}");
    camera.program.has_counted("sealcast_group_epoch", epoch + 1.0);
    viewers[1].says("not admitted any more", PATIENCE);
    for viewer in [&viewers[0], &viewers[2]] {
        goes_on(viewer);
        assert!(viewer.counts(REFUSED) < 1.0);
    }
}

#[test]
fn groups_of_pictures_on_streams_of_quic_are_sealed_once_as_well() {
    let (own, theirs) = homes();
    let mut command = sealcast(own.path());
    command
        .args(["publish", CARD, "--listen", "quic://127.0.0.1:0", "--ticket-file", "-"])
        .args(GROUP)
        .args(MANY_USES);
    let camera = Program::run("the camera", command);
    let ticket = camera.line();
    let viewers: Vec<Program> = theirs[..2]
        .iter()
        .map(|home| watching(home.path(), &ticket, &["--to", "null:"]))
        .collect();
    camera.says_times(MEMBER, 2, PATIENCE);
    for viewer in &viewers {
        goes_on(viewer);
        assert!(viewer.counts(REFUSED) < 1.0);
        is_live(viewer);
    }
    assert!(camera.counts(FORWARDED) > 1.0);
}

#[test]
fn a_further_listening_url_that_cannot_be_is_refused_in_words() {
    let home = home();
    for (url, words) in [
        ("udp://127.0.0.1:0?fec=off", "a further listening URL has no options"),
        ("ftp://127.0.0.1:0", "does not say where to listen"),
    ] {
        let refused = sealcast(home.path())
            .args(["publish", CARD, "--listen", "tcp://127.0.0.1:0", "--also-listen", url])
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&refused.stderr);
        let usage = FailureKind::Usage.exit_code().into();
        assert_eq!(refused.status.code(), Some(usage), "{url}: {said}");
        assert!(said.contains(words), "{url}: {said}");
    }
}
