//! H.265 and AV1 from `publish` to `watch` on all carriers, into recordings and archives, and what is refused of them.

use std::path::Path;

use sealcast::failure::FailureKind;
use sealcast_testkit::coded::{PICTURES, coded_clip, probed, stored};
use sealcast_testkit::media::{path, pictures};
use sealcast_testkit::program::{PATIENCE, Program, file_url, home, publish, sealcast, unbroken, watch};

use super::archives::recipient;

/// A clip's name, the ending of a byte stream of its codec, and what ffprobe calls it.
const CLIPS: [(&str, &str, &str); 2] = [
    ("clip.h265.mp4", "h265", "hevc,160,90"),
    ("clip.av1.mp4", "obu", "av1,160,90"),
];
/// A frame is not dropped for being late, however busy the machine is.
const CARRIERS: [&str; 3] = [
    "tcp://127.0.0.1:0?latency=10000",
    "udp://127.0.0.1:0?latency=10000",
    "quic://127.0.0.1:0?latency=10000",
];

/// Publishes a clip once and watches it to its end there; again if a carrier lost frames on a busy machine.
fn watched(clip: &Path, carrier: &str, to: &str, out: &Path) {
    unbroken(|| {
        let (own, theirs) = (home(), home());
        let mut publisher = publish(own.path(), &file_url(clip), &["--listen", carrier]);
        let mut viewer = watch(theirs.path(), &publisher.ticket, &["--to", to, "--no-reconnect"]);
        let code = viewer.ends(PATIENCE);
        publisher.program.ends(PATIENCE);
        (code == 0 && pictures(&["-i", path(out)]).len() == PICTURES).then_some(())
    });
}

#[test]
fn h265_and_av1_arrive_as_they_were_over_tcp_udp_and_quic() {
    let dir = home();
    for (name, ending, probe) in CLIPS {
        let clip = coded_clip(dir.path(), name);
        let (original, shown) = (stored(&clip), pictures(&["-i", path(&clip)]));
        for carrier in CARRIERS {
            let out = dir.path().join(format!("out-{name}"));
            watched(&clip, carrier, &(file_url(&out) + "?overwrite"), &out);
            assert_eq!(stored(&out), original, "{name} over {carrier}");
            assert_eq!(probed(&out), probe, "{name} over {carrier}");
        }
        let bytes = dir.path().join(format!("out.{ending}"));
        watched(&clip, CARRIERS[0], &(file_url(&bytes) + "?overwrite"), &bytes);
        assert_eq!(pictures(&["-i", path(&bytes)]), shown, "{name} as a byte stream");
    }
}

#[test]
fn archives_keep_h265_and_av1() {
    let dir = home();
    let recipient = recipient();
    for (at, (name, _, probe)) in CLIPS.into_iter().enumerate() {
        let clip = coded_clip(dir.path(), name);
        let archive = recipient.archive(&format!("archive-{at}"));
        let url = format!("archive:{}?to={}", archive.display(), recipient.text);
        let (own, theirs) = (home(), home());
        let mut publisher = publish(own.path(), &file_url(&clip), &["--listen", CARRIERS[0]]);
        let mut viewer = watch(theirs.path(), &publisher.ticket, &["--to", &url, "--no-reconnect"]);
        viewer.succeeds(PATIENCE);
        publisher.program.succeeds(PATIENCE);
        let out = dir.path().join(format!("exported-{name}"));
        let exported = recipient.export(&archive, &out, &[]);
        assert!(
            exported.status.success(),
            "{}",
            String::from_utf8_lossy(&exported.stderr)
        );
        assert_eq!(
            (stored(&out), probed(&out)),
            (stored(&clip), probe.to_owned()),
            "{name}"
        );
    }
}

#[test]
fn a_viewer_that_joins_h265_and_av1_late_begins_with_a_keyframe() {
    let dir = home();
    for (name, _, _) in CLIPS {
        let clip = coded_clip(dir.path(), name);
        let (own, theirs) = (home(), home());
        let publisher = publish(own.path(), &(file_url(&clip) + "?loop"), &["--listen", CARRIERS[0]]);
        let mut first = watch(theirs.path(), &publisher.ticket, &["--to", "null:"]);
        first.says("INFO watching", PATIENCE);
        let out = dir.path().join(format!("late-{name}"));
        let late = home();
        let to = file_url(&out) + "?overwrite";
        let mut viewer = watch(late.path(), &publisher.ticket, &["--to", &to, "--seconds", "3"]);
        viewer.succeeds(PATIENCE);
        first.stop();
        // ffmpeg would complain of pictures that refer to missing ones.
        assert!(pictures(&["-i", path(&out)]).len() > 10, "{name}");
    }
}

#[test]
fn of_h265_and_av1_nothing_is_left_in_clear() {
    let dir = home();
    for (name, _, _) in CLIPS {
        let clip = coded_clip(dir.path(), name);
        for selection in ["headers", "keyframes", "level:2", "rate:30", "none"] {
            let own = home();
            let mut command = sealcast(own.path());
            command.args([
                "publish",
                &file_url(&clip),
                "--encrypt",
                selection,
                "--listen",
                CARRIERS[0],
            ]);
            let mut program = Program::run("publish", command);
            assert_eq!(
                program.ends(PATIENCE),
                i32::from(FailureKind::Usage.exit_code()),
                "{}",
                program.said()
            );
            assert!(program.said().contains("everything is encrypted"), "{}", program.said());
        }
    }
}

#[test]
fn a_sink_that_decodes_ends_a_viewer_of_h265_in_words() {
    let dir = home();
    let clip = coded_clip(dir.path(), "clip.h265.mp4");
    let (own, theirs) = (home(), home());
    let publisher = publish(own.path(), &(file_url(&clip) + "?loop"), &["--listen", CARRIERS[0]]);
    let mut viewer = watch(theirs.path(), &publisher.ticket, &["--to", "http://127.0.0.1:0"]);
    assert_eq!(
        viewer.ends(PATIENCE),
        i32::from(FailureKind::Sink.exit_code()),
        "{}",
        viewer.said()
    );
    assert!(
        viewer
            .said()
            .contains("the stream is H.265, which the sink http: does not decode"),
        "{}",
        viewer.said()
    );
}
