//! The process that decodes for a viewer's page: how it is confined, and that the viewer survives it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use sealcast::private_file::write_secret;
use sealcast_testkit::media::path;
use sealcast_testkit::page::Page;
use sealcast_testkit::program::{PATIENCE, Program, Publisher, home, publish, sealcast, until};
use tempfile::TempDir;

/// Keyframes come only on request.
const CARD: &str = "test:320x240@25?gop=1000000";

struct Viewing {
    _homes: [TempDir; 2],
    _publisher: Publisher,
    viewer: Program,
    page: Page,
}

fn viewing() -> Viewing {
    let homes = [home(), home()];
    let publisher = publish(homes[0].path(), CARD, &[]);
    let mut command = sealcast(homes[1].path());
    command.args(["watch", &publisher.ticket]);
    let (viewer, page) = on_a_page(command, homes[1].path());
    Viewing {
        _homes: homes,
        _publisher: publisher,
        viewer,
        page,
    }
}

/// Runs a viewer's command with a page as its sink.
pub(super) fn on_a_page(mut command: Command, home: &Path) -> (Program, Page) {
    let (file, token) = (home.join("token"), "a-token-of-this-test");
    write_secret(&file, token.as_bytes()).expect("room for a file");
    command.args(["--to", &format!("http://127.0.0.1:0?token=@{}", path(&file))]);
    let viewer = Program::run("the viewer", command);
    let line = viewer.line();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.and_then(|address| address.parse().ok());
    let address = address.unwrap_or_else(|| panic!("no address in {line}"));
    let token = token.to_owned();
    (viewer, Page { address, token })
}

/// Statements of the page about a viewer's state.
pub(super) fn health(page: &Page) -> serde_json::Value {
    serde_json::from_slice(&page.get("/health").1).expect("JSON")
}

/// The processes whose parent is this one.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").expect("a list of processes").flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| field(*id, "PPid").is_some_and(|found| found == parent.to_string()))
        .collect()
}

/// A line of a process's status. `None` once it is gone.
fn field(process: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

fn signal(name: &str, process: u32) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(sent.is_ok_and(|status| status.success()), "no signal for {process}");
}

impl Viewing {
    fn pictures(&self) -> u64 {
        health(&self.page)["pictures"].as_u64().expect("a number")
    }

    /// Waits for more pictures; returns the decoder's process.
    fn shows_more(&self) -> u32 {
        let before = self.pictures();
        until("there are more pictures", || self.pictures() > before + 5);
        let children = children(self.viewer.id());
        assert_eq!(children.len(), 1, "{children:?}");
        children[0]
    }
}

#[test]
fn pictures_are_decoded_in_a_process_that_can_do_nothing_else() {
    let viewing = viewing();
    let decoder = viewing.shows_more();
    assert_eq!(field(decoder, "Seccomp").as_deref(), Some("2"));
    assert_eq!(field(decoder, "NoNewPrivs").as_deref(), Some("1"));
    assert_eq!(field(decoder, "Threads").as_deref(), Some("1"));
    let open = fs::read_dir(format!("/proc/{decoder}/fd")).expect("its descriptors");
    let open: BTreeSet<String> = open
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(open, BTreeSet::from(["0", "1", "2"].map(str::to_owned)));
    let leads = |descriptor: u32| fs::read_link(format!("/proc/{decoder}/fd/{descriptor}")).expect("a link");
    assert!(leads(0).to_string_lossy().starts_with("socket:"));
    assert!(leads(1).to_string_lossy().starts_with("/memfd:"));
    assert_eq!(path(&leads(2)), "/dev/null");
    let environment = fs::read(format!("/proc/{decoder}/environ")).expect("its environment");
    assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
    let arguments = fs::read(format!("/proc/{decoder}/cmdline")).expect("its arguments");
    assert_eq!(arguments, b"sealcast\0decoder\0--codec\0h264\0");
}

#[test]
fn a_viewer_whose_decoder_dies_or_hangs_shows_pictures_again() {
    let mut viewing = viewing();
    let first = viewing.shows_more();
    signal("KILL", first);
    viewing.viewer.says("the decoder's process died", PATIENCE);
    viewing.viewer.says("it was killed (SIGKILL)", PATIENCE);
    let second = viewing.shows_more();
    assert_ne!(first, second);
    signal("STOP", second);
    viewing.viewer.says("it took longer than", PATIENCE);
    let third = viewing.shows_more();
    assert_ne!(second, third);
    viewing.viewer.stop();
    until("the decoder has ended", || field(third, "State").is_none());
}

#[test]
fn a_decoder_ends_with_a_viewer_that_is_killed() {
    let viewing = viewing();
    let decoder = viewing.shows_more();
    viewing.viewer.signal("KILL");
    // Whoever adopts it may let it lie as a zombie.
    let gone = || field(decoder, "State").is_none_or(|state| state.starts_with('Z'));
    until("the decoder has ended", gone);
}
