//! The sound of a clip for a group: to each member, through relays, to an archive's node, and attacked.

use std::path::{Path, PathBuf};

use sealcast::archive::check;
use sealcast_proto::unit::SOUND_STREAM;
use sealcast_testkit::attack::{Act, Direction, LENGTH, Proxy};
use sealcast_testkit::media::{packets, path};
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, file_url, home, number, publish, publish_by, report, sealcast, unbroken, until, watch,
};
use sealcast_testkit::relay::{Relay, SOUND};
use tempfile::TempDir;

use super::archive_nodes::{NODE, camera, frames_in, node_of, record};
use super::archives::{recipient, text};
use super::groups::MEMBER;
use super::sound::{ENOUGH, assert_lips_in_time, clip_with, nothing_dropped};

pub(super) const TRACKS: [&str; 2] = ["v:0", "a:0"];
/// A clip that waits for nobody gives way over a stalled byte stream, and the whole of it is compared here.
const PATIENT: &str = "tcp://127.0.0.1:0?latency=10000";

/// Two seconds of picture and sound, with a keyframe every 0.4 s, at which members are taken into a group.
pub(super) fn clip() -> (TempDir, PathBuf) {
    clip_of("2")
}

fn clip_of(seconds: &str) -> (TempDir, PathBuf) {
    let (dir, cut) = clip_with(seconds, &["-c:a", "copy"]);
    let made = dir.path().join("often.mp4");
    let video = [
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-g",
        "10",
        "-bf",
        "0",
        "-s",
        "320x180",
    ];
    sealcast_testkit::media::ffmpeg(&[&["-i", path(&cut)][..], &video, &["-c:a", "copy", path(&made)]].concat());
    (dir, made)
}

/// The digests of a track's packets.
pub(super) fn track(file: &Path, name: &str) -> Vec<String> {
    packets(file, name).into_iter().map(|(digest, _)| digest).collect()
}

/// Each packet is the clip's, in its order, and none between the first and the last is missing. Returns their number.
fn is_a_piece_of(piece: &[String], whole: &[String], what: &str) -> usize {
    let found = piece
        .first()
        .and_then(|first| whole.iter().position(|packet| packet == first));
    let from = found.unwrap_or_else(|| panic!("{what}: {} packets, none of the clip's", piece.len()));
    assert_eq!(whole.get(from..from + piece.len()), Some(piece), "{what}");
    piece.len()
}

/// A viewer that writes a file and a report, with what it needs for that.
fn watching(home: &Path, ticket: &str, name: &str, more: &[&str]) -> Program {
    let (to, said) = (
        file_url(&home.join(format!("{name}.mp4"))),
        home.join(format!("{name}.json")),
    );
    let args = ["--to", &to, "--no-reconnect", "--report", path(&said)];
    watch(home, ticket, &[&args[..], more].concat())
}

#[test]
fn two_members_get_picture_and_sound_that_were_sealed_and_signed_once() {
    let (_dir, clip) = clip_of("5");
    let [pictures, sounds] = TRACKS.map(|name| track(&clip, name));
    let on_carrier = &|listen: &str| {
        let (carrier, _) = listen.split_once(':').expect("a URL");
        let (homes, said) = unbroken(|| {
            let homes = [home(), home()];
            let options = ["--group", "--sign", "both", "--listen", listen];
            let mut publisher = publish(homes[0].path(), &file_url(&clip), &options);
            // The clip begins with the first viewer, and both are members with one of its next keyframes, unless the
            // other one came when it was over.
            let mut viewers = homes
                .each_ref()
                .map(|home| watching(home.path(), &publisher.ticket, "out", &[]));
            let codes = viewers.each_mut().map(|viewer| viewer.ends(ENOUGH));
            publisher.program.succeeds(ENOUGH);
            let members = publisher.program.said().matches(MEMBER).count();
            let said = homes.each_ref().map(|home| report(&home.path().join("out.json")));
            (codes == [0, 0] && members == 2 && said.iter().all(nothing_dropped)).then_some((homes, said))
        });
        let [first, second] = homes.each_ref().map(|home| home.path().join("out.mp4"));
        let all = |file: &Path| TRACKS.map(|name| track(file, name)) == [&pictures[..], &sounds[..]];
        let said_of = [&first, &second].map(|file| TRACKS.map(|name| track(file, name).len()));
        assert!(
            all(&first) || all(&second),
            "{carrier}: the one that came first has all of it: {said_of:?}"
        );
        for file in [&first, &second] {
            for (name, whole) in TRACKS.iter().zip([&pictures, &sounds]) {
                let piece = track(file, name);
                assert!(is_a_piece_of(&piece, whole, carrier) >= 10, "{carrier} {name}");
                assert_eq!(piece.last(), whole.last(), "{carrier} {name}");
            }
        }
        for (file, said) in [&first, &second].into_iter().zip(&said) {
            assert_lips_in_time(&clip, file);
            assert!(number(said, "/totals/sound_in") > 20.0, "{carrier} {said:#}");
        }
    };
    std::thread::scope(|scope| {
        for listen in [PATIENT, "udp://127.0.0.1:0", "quic://127.0.0.1:0"] {
            scope.spawn(move || on_carrier(listen));
        }
    });
}

#[test]
fn altered_removed_repeated_and_swapped_sound_of_a_group_is_refused_and_the_picture_is_untouched() {
    let (dir, clip) = clip();
    let options = ["--group", "--sign", "both", "--listen", PATIENT];
    let mut publisher = publish(dir.path(), &file_url(&clip), &options);
    let (mut sounds, mut before) = (0, Vec::new());
    let proxy = Proxy::start(Proxy::port_of(&publisher.ticket), move |seen, mut message| {
        let media = seen.direction == Direction::Down && message.get(LENGTH) == Some(&0x10);
        let stream = message.get(LENGTH + 4..LENGTH + 8);
        if !media || stream != Some(&SOUND_STREAM.to_be_bytes()[..]) {
            return Act::pass(message);
        }
        sounds += 1;
        let last = std::mem::replace(&mut before, message.clone());
        // The period has no common factor with the two records of a packet.
        match sounds % 17 {
            3 => message[LENGTH + 40] ^= 1,
            7 => return Act::drop(),
            11 => return Act::all([message.clone(), message]),
            15 => return Act::all([message, last]),
            _ => {}
        }
        Act::pass(message)
    });
    let ticket = proxy.ticket(&publisher.ticket);
    let mut viewer = watching(dir.path(), &ticket, "out", &[]);
    publisher.program.says(MEMBER, PATIENCE);
    assert_eq!(viewer.ends(ENOUGH), 0, "{}", viewer.said());
    publisher.program.succeeds(ENOUGH);
    let report = report(&dir.path().join("out.json"));
    for reason in ["tag", "replay"] {
        let refused = number(&report, &format!("/totals/open_failures/{reason}"));
        assert!(refused >= 3.0, "{refused} {reason}: {report:#}");
    }
    assert!(number(&report, "/totals/sound_dropped") >= 5.0, "{report:#}");
    assert_eq!(number(&report, "/totals/frames_dropped/gap"), 0.0, "{report:#}");
    let out = dir.path().join("out.mp4");
    assert_eq!(track(&out, "v:0"), track(&clip, "v:0"));
    let all = track(&clip, "a:0");
    let mut known = all.iter();
    let heard = track(&out, "a:0");
    assert!(
        heard.iter().all(|packet| known.any(|one| one == packet)),
        "each is the clip's, and in its order"
    );
    assert!(
        (20..all.len()).contains(&heard.len()),
        "{} of {}",
        heard.len(),
        all.len()
    );
}

/// A camera that gives a relay all that it has, and listens as well.
fn relayed(relay: &Relay, home: &Path, clip: &Path) -> Publisher {
    let mut command = sealcast(home);
    let source = format!("{}?loop", file_url(clip));
    command.args(["publish", &source, "--listen", "tcp://127.0.0.1:0", "--sign", "both"]);
    command.args(["--relay", &relay.url("bunny")]);
    relay.lead(&mut command);
    publish_by(command)
}

#[test]
fn sound_has_a_track_of_its_own_through_a_relay_and_what_that_alters_is_never_played() {
    let (dir, clip) = clip();
    let all = TRACKS.map(|name| track(&clip, name));
    for meddles in [false, true] {
        let relay = Relay::start();
        let mut count = 0_usize;
        relay.meddle("bunny", move |track, mut object| {
            count += usize::from(track == SOUND);
            if track == SOUND && meddles && count.is_multiple_of(5) {
                let middle = object.len() / 2;
                object[middle] ^= 1;
            }
            vec![object]
        });
        let homes = [home(), home()];
        let camera = relayed(&relay, homes[0].path(), &clip);
        let (out, said) = (homes[1].path().join("out.mp4"), homes[1].path().join("out.json"));
        let to = file_url(&out);
        let mut command = sealcast(homes[1].path());
        command.args(["watch", &camera.ticket, "--relay", &relay.url("bunny"), "--to", &to]);
        command.args(["--report", path(&said), "--metrics", "127.0.0.1:0"]);
        relay.lead(&mut command);
        let mut viewer = Program::run("viewer", command);
        viewer.says("the camera's keys came", PATIENCE);
        viewer.has_counted("sealcast_sound_packets_total{dir=\"in\"}", 60.0);
        viewer.stop();
        drop(camera);
        let report = report(&said);
        let heard = track(&out, "a:0");
        assert!(heard.len() >= 20, "{} packets: {report:#}", heard.len());
        assert!(heard.iter().all(|packet| all[1].contains(packet)), "each is the clip's");
        let shown = track(&out, "v:0");
        assert!(shown.len() >= 20 && shown.iter().all(|picture| all[0].contains(picture)));
        assert_eq!(number(&report, "/totals/frames_dropped/gap"), 0.0, "{report:#}");
        assert_eq!(
            number(&report, "/totals/open_failures/tag") > 0.0,
            meddles,
            "{report:#}"
        );
        assert!(relay.seen("bunny").iter().any(|(track, _)| *track == SOUND));
    }
    drop(dir);
}

#[test]
fn a_node_without_keys_records_the_sound_and_who_may_open_it_hears_it() {
    let (dir, clip) = clip();
    let recipient = recipient();
    let (own, nodes) = (home(), home());
    let source = format!("{}?loop", file_url(&clip));
    let publisher = camera(
        own.path(),
        &source,
        &node_of(nodes.path()),
        &recipient,
        &["--sign", "both"],
    );
    let archive = recipient.archive("with-sound");
    let mut node = record(nodes.path(), &publisher.ticket, &archive);
    publisher.program.says(NODE, PATIENCE);
    until("both are recorded", || frames_in(&archive) >= 150);
    node.stop();
    drop(publisher);
    let report = recipient.check(&archive);
    assert_eq!((report.faults, report.notes), (vec![], vec![]));
    assert_eq!(
        (report.signed, report.unsigned),
        (report.frames, 0),
        "packets of sound are signed as well"
    );
    assert_eq!(check(&archive, &[], None).expect("there").frames, report.frames);
    let out = recipient.archive("out.mp4");
    let exported = recipient.export(&archive, &out, &[]);
    assert!(exported.status.success(), "{}", text(&exported.stderr));
    let counts = TRACKS.map(|name| {
        let (whole, kept) = (track(&clip, name), track(&out, name));
        assert!(kept.iter().all(|packet| whole.contains(packet)), "{name}");
        kept.len()
    });
    assert!(counts.iter().all(|count| *count >= 50), "{counts:?}");
    assert!(counts.iter().sum::<usize>() as u64 <= report.frames);
    drop(dir);
}
