//! The sound of a clip beside its picture: on every carrier, in archives, attacked, and left out where nobody wants it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sealcast_proto::unit::SOUND_STREAM;
use sealcast_testkit::attack::{Act, Direction, LENGTH, Proxy, Tap};
use sealcast_testkit::coded::probed_sound;
use sealcast_testkit::media::{BUNNY, clip, ffmpeg, packets, path, tool};
use sealcast_testkit::program::{
    PATIENCE, counted_missing, file_url, home, number, publish, report, sealcast, unbroken, watch,
};
use serde_json::Value;
use tempfile::TempDir;

pub(super) const ENOUGH: Duration = Duration::from_secs(2 + PATIENCE.as_secs());
/// Lips are in time within this many seconds.
const LIPS: f64 = 0.040;

/// The first seconds of a clip with sound in this form, in a folder of its own.
pub(super) fn clip_with(seconds: &str, sound: &[&str]) -> (TempDir, PathBuf) {
    let dir = home();
    let cut = dir.path().join("clip.mp4");
    let input = clip(BUNNY, dir.path());
    let head = ["-i", path(&input), "-t", seconds, "-c:v", "copy"];
    ffmpeg(&[&head[..], sound, &[path(&cut)]].concat());
    (dir, cut)
}

/// Digests of the packets of picture and sound.
pub(super) fn digests(file: &Path) -> String {
    let args = [
        "-i",
        path(file),
        "-map",
        "0:v",
        "-map",
        "0:a",
        "-c",
        "copy",
        "-f",
        "streamhash",
        "-",
    ];
    String::from_utf8(ffmpeg(&args)).expect("text")
}

/// Delay of a stream of a recording against the original.
fn later(original: &Path, received: &Path, stream: &str) -> f64 {
    let original: HashMap<String, f64> = packets(original, stream).into_iter().collect();
    let known = packets(received, stream).into_iter();
    let mut later: Vec<f64> = known
        .filter_map(|(digest, time)| Some(time - original.get(&digest)?))
        .collect();
    later.sort_by(f64::total_cmp);
    assert!(later.len() >= 10, "{stream}: {} packets of the original", later.len());
    later[later.len() / 2]
}

pub(super) fn assert_lips_in_time(original: &Path, received: &Path) {
    let [picture, sound] = ["v:0", "a:0"].map(|stream| later(original, received, stream));
    assert!(
        (picture - sound).abs() <= LIPS,
        "picture {picture} s, sound {sound} s later"
    );
}

/// True if nothing was dropped, as happens where a machine stands still.
pub(super) fn nothing_dropped(report: &Value) -> bool {
    counted_missing(report) == 0.0 && number(report, "/totals/sound_dropped") == 0.0
}

/// Publishes a clip and watches it to its end. Returns the recording and the viewer's report.
fn watched(clip: &Path, publishing: &[&str], watching: &[&str]) -> (TempDir, PathBuf, Value) {
    unbroken(|| {
        let dir = home();
        let (out, said) = (dir.path().join("out.mp4"), dir.path().join("report.json"));
        let mut publisher = publish(dir.path(), &file_url(clip), publishing);
        let to = file_url(&out);
        let args = ["--to", &to, "--no-reconnect", "--report", path(&said)];
        let mut viewer = watch(dir.path(), &publisher.ticket, &[&args[..], watching].concat());
        let code = viewer.ends(ENOUGH);
        publisher.program.succeeds(ENOUGH);
        let report = report(&said);
        (code == 0 && nothing_dropped(&report)).then_some((dir, out, report))
    })
}

#[test]
fn sound_and_picture_of_a_clip_arrive_whole_on_every_carrier_and_in_time() {
    let (_dir, clip) = clip_with("2", &["-c:a", "copy"]);
    let expected = digests(&clip);
    let carriers = [
        &["--listen", "tcp://127.0.0.1:0"][..],
        &["--listen", "udp://127.0.0.1:0"],
        &["--listen", "quic://127.0.0.1:0"],
        &["--listen", "tcp://127.0.0.1:0", "--shape", "constant:16mbit"],
        &["--listen", "udp://127.0.0.1:0", "--shape", "pad:padme"],
    ];
    let arrives_whole = &|publishing: &[&str]| {
        let (_home, out, report) = watched(&clip, publishing, &[]);
        assert_eq!(digests(&out), expected, "{publishing:?}");
        assert_lips_in_time(&clip, &out);
        assert!(number(&report, "/totals/sound_in") > 80.0, "{publishing:?}");
    };
    std::thread::scope(|scope| {
        for publishing in carriers {
            scope.spawn(move || arrives_whole(publishing));
        }
    });
}

#[test]
fn opus_with_its_beginning_in_an_edit_list_arrives_whole_and_in_time() {
    // The encoder's delay makes the sound begin before the picture; the rest is half a second late.
    for sound in [
        &["-ac", "2", "-c:a", "libopus", "-b:a", "64k"][..],
        &["-ac", "1", "-af", "adelay=500", "-c:a", "aac"],
    ] {
        let (_dir, clip) = clip_with("2", sound);
        let (_home, out, _) = watched(&clip, &[], &[]);
        assert_eq!(digests(&out), digests(&clip), "{sound:?}");
        assert_lips_in_time(&clip, &out);
    }
}

#[test]
fn surround_of_opus_arrives_whole_and_with_its_channels() {
    let surround = ["-ac", "6", "-c:a", "libopus", "-mapping_family", "1"];
    let (_dir, clip) = clip_with("2", &surround);
    let (_home, out, _) = watched(&clip, &[], &[]);
    assert_eq!(digests(&out), digests(&clip));
    assert_eq!(probed_sound(&out), "opus,6,5.1");
}

#[test]
fn who_joins_in_the_middle_has_lips_in_time() {
    let (dir, clip) = clip_with("4", &["-c:a", "copy"]);
    // The first viewer makes the clip begin.
    let out = unbroken(|| {
        let folder = tempfile::tempdir_in(dir.path()).expect("a folder").keep();
        let (first, out) = (folder.join("first.mp4"), folder.join("out.mp4"));
        let publisher = publish(dir.path(), &file_url(&clip), &[]);
        let to = file_url(&first);
        let _first = watch(dir.path(), &publisher.ticket, &["--to", &to, "--no-reconnect"]);
        let began = std::time::Instant::now();
        while std::fs::metadata(&first).map_or(0, |file| file.len()) == 0 {
            assert!(began.elapsed() < PATIENCE, "the clip does not begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        let to = file_url(&out);
        let mut second = watch(dir.path(), &publisher.ticket, &["--to", &to, "--no-reconnect"]);
        let code = second.ends(ENOUGH);
        // On a slow machine the clip may be over before the second viewer has all that is compared.
        (code == 0 && packets(&out, "a:0").len() >= 10).then_some(out)
    });
    assert_lips_in_time(&clip, &out);
}

#[test]
fn on_a_path_that_loses_packets_lips_stay_in_time() {
    let (dir, clip) = clip_with("2", &["-c:a", "copy"]);
    let mut publisher = publish(dir.path(), &file_url(&clip), &["--listen", "udp://127.0.0.1:0"]);
    let mut count = 0_u32;
    let tap = Tap::start(Proxy::port_of(&publisher.ticket), move |direction, _, datagram| {
        let media = direction == Direction::Down && datagram.get(4) == Some(&0x10);
        count += u32::from(media);
        // In no step with the pictures.
        let lost = media && count.wrapping_mul(2_654_435_761) >> 16 & 15 == 0;
        if lost { Vec::new() } else { vec![datagram.to_vec()] }
    });
    let out = dir.path().join("out.mp4");
    let (ticket, to) = (Proxy::redirect(&publisher.ticket, tap.port), file_url(&out));
    let mut viewer = watch(dir.path(), &ticket, &["--to", &to, "--no-reconnect"]);
    assert_eq!(viewer.ends(ENOUGH), 0);
    publisher.program.succeeds(ENOUGH);
    assert_lips_in_time(&clip, &out);
}

#[test]
fn altered_and_removed_sound_is_refused_and_counted_and_the_picture_is_untouched() {
    let (dir, clip) = clip_with("2", &["-c:a", "copy"]);
    let mut publisher = publish(dir.path(), &file_url(&clip), &[]);
    let (mut sounds, mut described) = (0, false);
    let proxy = Proxy::start(Proxy::port_of(&publisher.ticket), move |seen, mut message| {
        let media = seen.direction == Direction::Down && message.get(LENGTH) == Some(&0x10);
        let stream = message.get(LENGTH + 4..LENGTH + 8);
        if media && stream == Some(&SOUND_STREAM.to_be_bytes()[..]) {
            let config = message[LENGTH + 1] & 0x20 != 0;
            if !config || described {
                sounds += 1;
                match sounds % 10 {
                    3 => message[LENGTH + 40] ^= 1,
                    7 => return Act::pass(Vec::new()),
                    _ => {}
                }
            }
            described |= config;
        }
        Act::pass(message)
    });
    let (out, said) = (dir.path().join("out.mp4"), dir.path().join("report.json"));
    let ticket = proxy.ticket(&publisher.ticket);
    let to = file_url(&out);
    let mut viewer = watch(
        dir.path(),
        &ticket,
        &["--to", &to, "--no-reconnect", "--report", path(&said)],
    );
    assert_eq!(viewer.ends(ENOUGH), 0);
    publisher.program.succeeds(ENOUGH);
    let report = report(&said);
    assert!(number(&report, "/totals/open_failures/tag") >= 5.0, "{report:#}");
    assert!(number(&report, "/totals/sound_dropped") >= 10.0, "{report:#}");
    assert_eq!(number(&report, "/totals/frames_dropped/gap"), 0.0, "{report:#}");
    let picture = |file: &Path| digests(file).lines().next().map(str::to_owned);
    assert_eq!(picture(&out), picture(&clip));
}

#[test]
fn an_archive_keeps_the_sound_and_replays_it() {
    let (dir, clip) = clip_with("2", &["-c:a", "copy"]);
    let key = dir.path().join("alice.key");
    let run = |args: &[&str]| {
        let output = sealcast(dir.path()).args(args).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    let recipient = run(&["archive", "keygen", path(&key)]);
    for carrier in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0"] {
        let (archive, out) = unbroken(|| {
            let name = tempfile::tempdir_in(dir.path()).expect("a folder").keep();
            let (archive, out, said) = (name.join("archive"), name.join("out.mp4"), name.join("report.json"));
            let mut publisher = publish(dir.path(), &file_url(&clip), &["--listen", carrier]);
            let to = format!("archive:{}?to={recipient}", archive.display());
            let args = ["--to", &to, "--no-reconnect", "--report", path(&said)];
            let mut viewer = watch(dir.path(), &publisher.ticket, &args);
            let code = viewer.ends(ENOUGH);
            publisher.program.succeeds(ENOUGH);
            (code == 0 && nothing_dropped(&report(&said))).then_some((archive, out))
        });
        run(&[
            "replay",
            path(&archive),
            "--identity",
            path(&key),
            "--into",
            &file_url(&out),
            "--fast",
        ]);
        assert_eq!(digests(&out), digests(&clip), "{carrier}");
        assert_lips_in_time(&clip, &out);
    }
}

/// True if a recording has sound.
fn has_sound(file: &Path) -> bool {
    let args = [
        "-v",
        "error",
        "-select_streams",
        "a",
        "-show_entries",
        "stream=index",
        "-of",
        "csv=p=0",
    ];
    let output = tool("ffprobe").args(args).arg(file).output().expect("ffprobe runs");
    assert!(output.status.success());
    !output.stdout.is_empty()
}

#[test]
fn sound_is_left_out_where_nobody_wants_it() {
    let (_dir, clip) = clip_with("2", &["-c:a", "copy"]);
    for (publishing, watching, sent) in [(&["--no-sound"][..], &[][..], false), (&[], &["--no-sound"], true)] {
        let (_home, out, report) = watched(&clip, publishing, watching);
        assert!(!has_sound(&out), "{publishing:?} {watching:?}");
        assert_eq!(number(&report, "/totals/sound_in") > 0.0, sent);
    }
}
