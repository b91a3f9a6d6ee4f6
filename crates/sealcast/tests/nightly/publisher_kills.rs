//! A publisher that is killed a thousand times, whose frames are sealed for a group and recorded by an archive's node.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use sealcast::archive::{ArchiveIdentity, Folder, check};
use sealcast::keys::files::read_identity;
use sealcast::keys::peers::PeerStore;
use sealcast_proto::archive::{Block, Segment};
use sealcast_proto::keys::PeerId;
use sealcast_testkit::program::{MANY_USES, PATIENCE, Program, free_port, home, sealcast, until};

const KILLS: u64 = 1000;
/// The archive is begun anew after so many kills, so that checking it all stays quick.
const KILLS_OF_ARCHIVE: u64 = 50;
/// One start of so many lasts until the node records it, whatever the moments of the others are.
const LASTING: u64 = 5;

/// A publisher, and the node that records it.
struct Ends {
    camera: tempfile::TempDir,
    node: tempfile::TempDir,
    node_id: String,
    port: u16,
    archive: PathBuf,
    identity: [ArchiveIdentity; 1],
}

impl Ends {
    fn new() -> Self {
        let (camera, node) = (home(), home());
        let made = sealcast(node.path()).args(["keygen", "--for", "archive"]).output();
        let node_id = String::from_utf8(made.expect("it runs").stdout).expect("a peer id");
        Self {
            archive: node.path().join("killed"),
            camera,
            node,
            node_id: node_id.trim().to_owned(),
            port: free_port(),
            identity: [ArchiveIdentity::generate().expect("random bytes")],
        }
    }

    fn publish(&self) -> Program {
        let listen = format!("tcp://127.0.0.1:{}", self.port);
        let recipient = self.identity[0].recipient().to_string();
        let mut command = sealcast(self.camera.path());
        command.args(["publish", "test:160x120@25?gop=10", "--group", "--listen", &listen]);
        command.args(["--archive-node", &self.node_id, "--archive-to", &recipient]);
        command.args(["--ticket-file", "-"]).args(MANY_USES);
        Program::run("the publisher", command)
    }

    fn record(&self, ticket: &str) -> Program {
        let mut command: Command = sealcast(self.node.path());
        let into = format!("{}?segment=1s", self.archive.display());
        command.args(["archive", "record", ticket, &into]);
        Program::run("the archive's node", command)
    }

    /// Reads whatever the publisher keeps, each file as a whole. Returns its identity and the first number of epochs
    /// that is left.
    fn kept(&self) -> (Option<PeerId>, u64) {
        let keys = self.camera.path().join("keys");
        let mut identity = None;
        let folders = entries(&keys.join("publishers"));
        for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
            let file = folder.join("identity");
            if file.exists() {
                identity = Some(read_identity(&file).expect("a whole identity").peer_id());
            }
            PeerStore::open(&folder, Timestamp::now()).expect("whole lists");
        }
        let numbers = entries(&keys.join("epochs"));
        let number = |file: &PathBuf| {
            let text = fs::read_to_string(file).expect("a file");
            let number = text.strip_suffix('\n').and_then(|text| text.parse::<u64>().ok());
            number.unwrap_or_else(|| panic!("no whole number in {}: {text:?}", file.display()))
        };
        let of_camera = numbers.iter().filter(|file| {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            identity.is_some_and(|id| name == format!("{id}-1"))
        });
        (identity, of_camera.map(number).sum())
    }

    /// The archive is whole up to its last second. Returns the number of its frames.
    fn checked(&self) -> u64 {
        let mut report = None;
        // The node goes on, and may just be beginning a segment.
        until("the archive has no fault", || {
            let checked = check(&self.archive, &self.identity, None).expect("a folder");
            let whole = checked.faults.is_empty();
            report = Some(checked);
            whole
        });
        report.map_or(0, |report| report.frames)
    }

    /// The epochs whose keys are in the archive, in the order in which they came.
    fn epochs(&self) -> Vec<u64> {
        let folder = Folder::open(&self.archive).expect("an archive");
        let mut epochs = Vec::new();
        for file in folder.segments().expect("segments") {
            let bytes = file.read().expect("readable");
            let Ok(mut segment) = Segment::new(&bytes) else {
                continue;
            };
            while let Some(Ok(block)) = segment.next_block() {
                if let Block::WrappedKey { epoch, .. } = block {
                    epochs.push(epoch);
                }
            }
        }
        epochs
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// The same keys are in a segment again where it begins, so each newest epoch may repeat some before it; none comes
/// that is older than all that its own start was given.
fn assert_used_once(epochs: &[u64], given: &[(u64, u64)]) {
    let start_of = |epoch: u64| given.iter().position(|(first, end)| (*first..*end).contains(&epoch));
    let starts: Vec<usize> = epochs
        .iter()
        .map(|epoch| start_of(*epoch).unwrap_or_else(|| panic!("epoch {epoch} was given to no start: {given:?}")))
        .collect();
    assert!(starts.is_sorted(), "epochs of an earlier start came again: {epochs:?}");
}

#[test]
fn a_publisher_killed_a_thousand_times_uses_no_epoch_twice_and_tears_no_file_and_its_archive_is_whole() {
    let ends = Ends::new();
    let (mut given, mut identity, mut frames) = (Vec::new(), None, 0);
    let mut before = 0;
    let mut node: Option<Program> = None;
    for kill in 0..KILLS {
        if kill % KILLS_OF_ARCHIVE == 0 && kill > 0 {
            assert!(frames > 0, "something was recorded before kill {kill}");
            node = None;
            fs::remove_dir_all(&ends.archive).expect("nobody writes to it");
            frames = 0;
        }
        let publisher = ends.publish();
        if kill % LASTING == 0 {
            let ticket = publisher.line();
            let _recording = node.get_or_insert_with(|| ends.record(&ticket));
            publisher.says("it is an archive's node", PATIENCE);
            until("it records", || ends.archive.exists() && ends.checked() > frames);
        }
        // Another moment each time: of a start, or of a group of pictures.
        thread::sleep(Duration::from_micros(kill * 7_919_337 % 900_000));
        publisher.signal("KILL");
        drop(publisher);
        let (id, number) = ends.kept();
        assert!(identity.is_none() || identity == id, "kill {kill}: another identity");
        identity = id;
        assert!(number >= before, "kill {kill}: {number} after {before}");
        if number > before {
            given.push((before, number));
        }
        before = number;
        if ends.archive.exists() {
            let checked = ends.checked();
            assert!(checked >= frames, "kill {kill}: {checked} frames of {frames}");
            frames = checked;
            assert_used_once(&ends.epochs(), &given);
        }
    }
}
