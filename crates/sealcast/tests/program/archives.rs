//! Recordings that stay sealed: written by viewers on all carriers, checked, replayed, damaged and interrupted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::thread;
use std::time::Duration;

use sealcast::archive::{ArchiveIdentity, Folder, Report, check, read_identities};
use sealcast::failure::FailureKind;
use sealcast_proto::archive::{Block, Segment};
use sealcast_testkit::media::{STREET, clip};
use sealcast_testkit::program::{
    MANY_USES, PATIENCE, Program, beginning, file_url, home, publish, sealcast, watch, write_private,
};
use tempfile::TempDir;

use super::groups::{FRAMES_IN, GROUP, frames, watching};

const CARD: &str = "test:160x120@25";
const RECORDING: &str = "recording to an archive";
const CARRIERS: [&str; 3] = ["tcp://127.0.0.1:0", "udp://127.0.0.1:0", "quic://127.0.0.1:0"];

/// Recipient who may open the archives of a test.
pub(super) struct Recipient {
    dir: TempDir,
    pub(super) file: PathBuf,
    pub(super) text: String,
}

pub(super) fn run(home: &Path, args: &[&str]) -> Output {
    sealcast(home).args(args).output().expect("the program runs")
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn recipient() -> Recipient {
    let dir = home();
    let file = dir.path().join("alice.key");
    let made = run(dir.path(), &["archive", "keygen", file.to_str().expect("UTF-8")]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let text = text(&made.stdout).trim().to_owned();
    Recipient { dir, file, text }
}

impl Recipient {
    pub(super) fn archive(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub(super) fn key(&self) -> PathBuf {
        self.file.clone()
    }

    pub(super) fn url(&self, archive: &Path, options: &str) -> String {
        format!("archive:{}?to={}{options}", archive.display(), self.text)
    }

    fn identities(&self) -> Vec<ArchiveIdentity> {
        read_identities(&self.file).expect("an identity")
    }

    pub(super) fn check(&self, archive: &Path) -> Report {
        check(archive, &self.identities(), None).expect("a folder")
    }

    /// Exports an archive to a file, and returns what the program said.
    pub(super) fn export(&self, archive: &Path, out: &Path, more: &[&str]) -> Output {
        let (archive, key) = (archive.to_str().expect("UTF-8"), self.file.to_str().expect("UTF-8"));
        let into = file_url(out) + "?overwrite";
        let args = ["replay", archive, "--identity", key, "--into", &into, "--fast"];
        run(self.dir.path(), &[&args, more].concat())
    }
}

/// True if the sealed bytes of an archive hold this run of a picture's bytes.
pub(super) fn holds(archive: &Path, needle: &[u8]) -> bool {
    let segments = Folder::open(archive).expect("a folder").segments().expect("readable");
    segments.iter().any(|segment| {
        let bytes = segment.read().expect("readable");
        bytes.windows(needle.len()).any(|window| window == needle)
    })
}

/// Records the test card until some frames have come, and returns the archive.
fn recorded(recipient: &Recipient, name: &str, seconds: f64) -> PathBuf {
    let (own, theirs) = (home(), home());
    let archive = recipient.archive(name);
    let publisher = publish(own.path(), &format!("{CARD}?gop=10"), &[]);
    let url = recipient.url(&archive, "&segment=1s");
    let mut viewer = watching(theirs.path(), &publisher.ticket, &["--to", &url]);
    viewer.has_counted(FRAMES_IN, seconds * 25.0);
    viewer.stop();
    archive
}

#[test]
fn what_viewers_record_over_tcp_udp_and_quic_comes_back_as_the_camera_sealed_it() {
    let recipient = recipient();
    let (own, dir) = (home(), home());
    let clip = beginning(&clip(STREET, dir.path()), 2, own.path());
    let original = frames(&clip);
    for (at, carrier) in CARRIERS.into_iter().enumerate() {
        let archive = recipient.archive(&format!("alone-{at}"));
        let mut publisher = publish(own.path(), &format!("{}?loop", file_url(&clip)), &["--listen", carrier]);
        let theirs = home();
        let url = recipient.url(&archive, "&segment=1s");
        let mut viewer = watching(theirs.path(), &publisher.ticket, &["--to", &url]);
        viewer.has_counted(FRAMES_IN, 110.0);
        viewer.stop();
        publisher.program.stop();
        let report = recipient.check(&archive);
        assert_eq!((report.faults, report.notes), (vec![], vec![]), "{carrier}");
        assert!(
            report.segments >= 2 && report.frames >= 100,
            "{carrier}: {} frames",
            report.frames
        );
        assert_eq!((report.signed, report.unsigned), (0, report.frames), "{carrier}");
        let out = recipient.archive("out.h264");
        let exported = recipient.export(&archive, &out, &[]);
        assert!(exported.status.success(), "{carrier}: {}", text(&exported.stderr));
        let received = frames(&out);
        assert_eq!(received.len() as u64, report.frames, "{carrier}");
        assert!(received.iter().all(|frame| original.contains(frame)), "{carrier}");
        assert!(
            !holds(&archive, &original[0][100..132]),
            "{carrier}: a picture is in clear"
        );
    }
}

#[test]
fn members_of_a_group_record_the_cameras_signatures_whatever_carries_them() {
    let recipient = recipient();
    let own = home();
    let mut command = sealcast(own.path());
    command.args(["publish", &format!("{CARD}?gop=10"), "--listen", CARRIERS[0]]);
    command.args(["--also-listen", CARRIERS[1], "--also-listen", CARRIERS[2]]);
    command
        .args(["--ticket-file", "-", "--sign", "both"])
        .args(GROUP)
        .args(MANY_USES);
    let camera = Program::run("the camera", command);
    let tickets: Vec<String> = CARRIERS.iter().map(|_| camera.line()).collect();
    let homes: Vec<TempDir> = CARRIERS.iter().map(|_| home()).collect();
    let archive = |at: usize| recipient.archive(&format!("group-{at}"));
    let mut viewers: Vec<Program> = Vec::new();
    for (at, ticket) in tickets.iter().enumerate() {
        let url = recipient.url(&archive(at), "&segment=1s");
        viewers.push(watching(homes[at].path(), ticket, &["--to", &url]));
    }
    viewers.iter().for_each(|viewer| viewer.has_counted(FRAMES_IN, 100.0));
    viewers.iter_mut().for_each(Program::stop);
    for at in 0..CARRIERS.len() {
        let report = recipient.check(&archive(at));
        assert_eq!((report.faults, report.notes), (vec![], vec![]), "{at}");
        // The first frames may be from before it was a member.
        assert!(
            report.signed >= 60,
            "{at}: {} of {} are signed",
            report.signed,
            report.frames
        );
        assert_eq!(report.signed + report.unsigned, report.frames);
        let exported = recipient.export(&archive(at), &recipient.archive("out.mp4"), &[]);
        assert!(exported.status.success(), "{at}: {}", text(&exported.stderr));
    }
}

/// The time of each frame of an archive (ns since 1970), and whether it is a keyframe.
fn stamped(archive: &Path) -> Vec<(u64, bool)> {
    let mut frames = Vec::new();
    for segment in Folder::open(archive).expect("a folder").segments().expect("readable") {
        let bytes = segment.read().expect("readable");
        let mut segment = Segment::new(&bytes).expect("a segment");
        while let Some(block) = segment.next_block() {
            if let Block::Frame(frame) = block.expect("whole") {
                frames.push((frame.time, frame.keyframe));
            }
        }
    }
    frames
}

#[test]
fn a_part_of_an_archive_is_replayed_by_its_times_and_strangers_get_nothing() {
    let (alice, mallory) = (recipient(), recipient());
    let archive = recorded(&alice, "times", 4.0);
    let all = alice.check(&archive);
    let out = alice.archive("out.h264");
    let exported = alice.export(&archive, &out, &["--from", "+1s", "--to", "+2s"]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let part = frames(&out);
    // From the last keyframe before one second to the last frame before two, however fast the camera was.
    let stamped = stamped(&archive);
    let until = |seconds: u64| {
        let limit = stamped[0].0 + seconds * 1_000_000_000;
        let later = stamped.iter().position(|frame| frame.0 > limit);
        later.expect("it is longer")
    };
    let begin = stamped[..until(1)]
        .iter()
        .rposition(|frame| frame.1)
        .expect("a keyframe");
    assert!(alice.export(&archive, &out, &[]).status.success());
    let whole = frames(&out);
    assert_eq!((whole.len(), stamped.len() as u64), (stamped.len(), all.frames));
    assert!(begin > 0 && until(2) < whole.len(), "{begin} to {}", until(2));
    assert_eq!(part, whole[begin..until(2)]);
    let refused = mallory.export(&archive, &out, &[]);
    assert_eq!(refused.status.code(), Some(FailureKind::Keys.exit_code().into()));
    assert!(
        text(&refused.stderr).contains("recipients"),
        "{}",
        text(&refused.stderr)
    );
    let nothing = alice.export(
        &archive,
        &out,
        &["--from", "2001-01-01T00:00:00Z", "--to", "2001-01-01T00:00:01Z"],
    );
    assert_eq!(nothing.status.code(), Some(FailureKind::Source.exit_code().into()));
    let listed = run(alice.dir.path(), &["archive", "list", archive.to_str().expect("UTF-8")]);
    assert_eq!(text(&listed.stdout).lines().count() as u64, all.segments + 1);
}

#[test]
fn a_missing_altered_moved_or_cut_segment_is_told_by_its_name() {
    let recipient = recipient();
    let archive = recorded(&recipient, "damaged", 6.0);
    let whole = recipient.check(&archive);
    assert!(whole.faults.is_empty() && whole.segments >= 4, "{whole:?}");
    let folder = Folder::open(&archive).expect("a folder");
    let segment = |number| folder.segment(number);
    let kept = |number| fs::read(segment(number)).expect("there");
    let (second, third) = (kept(2), kept(3));
    let told = |what: &str, words: &[&str]| {
        for report in [recipient.check(&archive), check(&archive, &[], None).expect("a folder")] {
            let fits = |fault: &String| words.iter().all(|word| fault.contains(word));
            assert!(report.faults.iter().any(fits), "{what}: {:?}", report.faults);
        }
        let checked = run(
            recipient.dir.path(),
            &["archive", "check", archive.to_str().expect("UTF-8")],
        );
        assert_eq!(
            checked.status.code(),
            Some(FailureKind::Source.exit_code().into()),
            "{what}"
        );
        let exported = recipient.export(&archive, &recipient.archive("out.h264"), &[]);
        assert!(!exported.status.success(), "{what}");
        assert!(
            !frames(&recipient.archive("out.h264")).is_empty(),
            "{what}: the rest plays"
        );
        fs::write(segment(2), &second).expect("space");
        fs::write(segment(3), &third).expect("space");
        assert_eq!(recipient.check(&archive), whole, "{what} was undone");
    };
    // A link, as who may write to the folder could put there: it is told of, and what follows is checked.
    fs::remove_file(segment(2)).expect("there");
    std::os::unix::fs::symlink("/dev/zero", segment(2)).expect("a link");
    let linked = recipient.check(&archive);
    assert_eq!(linked.segments, whole.segments);
    assert!(
        linked.faults[0].contains("it is a link, a pipe or a device"),
        "{:?}",
        linked.faults
    );
    fs::remove_file(segment(2)).expect("there");
    fs::write(segment(2), &second).expect("space");
    fs::remove_file(segment(2)).expect("there");
    told("missing", &["segment 2 is missing", "between"]);
    let mut altered = second.clone();
    let middle = altered.len() / 2;
    altered[middle] ^= 1;
    fs::write(segment(2), &altered).expect("space");
    told("altered", &["segment 2", "altered", "lost"]);
    fs::write(segment(2), &third).expect("space");
    fs::write(segment(3), &second).expect("space");
    told("swapped", &["segment-0000000002.sealed is segment 3"]);
    fs::write(segment(2), &second[..middle]).expect("space");
    told("cut", &["segment 2", "middle of a block"]);
}

#[test]
fn old_segments_go_and_are_not_missing_and_a_second_writer_is_refused() {
    let recipient = recipient();
    let (own, theirs, others) = (home(), home(), home());
    let archive = recipient.archive("bounded");
    // A second of noise in a picture of this size has more bytes than the bound has room for.
    let publisher = publish(own.path(), "test:1280x720@25?gop=10", &[]);
    let url = recipient.url(&archive, "&segment=1s&max=1MB");
    let mut viewer = watching(theirs.path(), &publisher.ticket, &["--to", &url]);
    viewer.says(RECORDING, PATIENCE);
    let mut second = watch(others.path(), &publisher.ticket, &["--to", &url]);
    assert_eq!(second.ends(PATIENCE), i32::from(FailureKind::Sink.exit_code()));
    assert!(second.said().contains("another sealcast writes"), "{}", second.said());
    let folder = Folder::open(&archive).expect("a folder");
    let removed = || {
        let segments = folder.segments().expect("readable");
        segments.first().is_some_and(|oldest| oldest.number >= 3)
    };
    sealcast_testkit::program::until("old segments are removed", removed);
    viewer.stop();
    let report = recipient.check(&archive);
    assert_eq!(report.faults, Vec::<String>::new());
    let oldest = folder.segments().expect("readable")[0].clone();
    fs::remove_file(&oldest.path).expect("there");
    let report = recipient.check(&archive);
    assert!(report.faults[0].contains("is missing"), "{:?}", report.faults);
}

/// Recorded by version 0.1.0 of November 2026, with `--sign gop`: eleven frames, three of each group.
#[test]
fn what_an_earlier_version_recorded_with_signed_groups_alone_is_read_and_named() {
    let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/recorded-gop");
    let dir = home();
    let (archive, key, out) = (
        dir.path().join("gop"),
        dir.path().join("key"),
        dir.path().join("out.h264"),
    );
    fs::create_dir(&archive).expect("a folder");
    let segment = "segment-0000000001.sealed";
    fs::copy(made.join(segment), archive.join(segment)).expect("a copy");
    let identity = fs::read_to_string(made.join("reader.key")).expect("an identity");
    write_private(&key, identity);
    let [archive, key] = [&archive, &key].map(|path| path.to_str().expect("UTF-8"));
    let checked = run(dir.path(), &["archive", "check", archive, "--identity", key]);
    let said = text(&checked.stdout);
    assert!(checked.status.success(), "{said} {}", text(&checked.stderr));
    for words in [
        "0 frames signed by the camera, 11 without a signature of their own",
        "11 frames were shown before they were proved",
        "9 frames proven by 3 signatures of groups of pictures",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let into = file_url(&out);
    let replayed = run(
        dir.path(),
        &["replay", archive, "--identity", key, "--into", &into, "--fast"],
    );
    assert!(replayed.status.success(), "{}", text(&replayed.stderr));
    assert_eq!(frames(&out).len(), 11);
}

#[test]
fn a_recorder_that_is_killed_again_and_again_loses_nothing_that_it_wrote() {
    let recipient = recipient();
    let (own, theirs) = (home(), home());
    let archive = recipient.archive("killed");
    let publisher = publish(own.path(), &format!("{CARD}?gop=10"), &[]);
    killed_again_and_again(&recipient, &archive, &publisher.ticket, theirs.path(), 20);
}

/// Kills a recorder at other moments each time, and checks the archive after each.
fn killed_again_and_again(recipient: &Recipient, archive: &Path, ticket: &str, theirs: &Path, times: u64) {
    let url = recipient.url(archive, "&segment=1s");
    let mut frames = 0;
    for time in 0..times {
        let viewer = watch(theirs, ticket, &["--to", &url]);
        viewer.says(RECORDING, PATIENCE);
        thread::sleep(Duration::from_millis(time * 137 % 900));
        viewer.signal("KILL");
        drop(viewer);
        let report = recipient.check(archive);
        assert_eq!(report.faults, Vec::<String>::new(), "kill {time}");
        assert!(
            report.frames >= frames,
            "kill {time}: {} frames of {frames}",
            report.frames
        );
        frames = report.frames;
    }
    assert!(frames > 0, "something was recorded");
    let out = recipient.archive("out.h264");
    let exported = recipient.export(archive, &out, &[]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
}
