//! The program with pipelines at both ends.

use std::path::Path;
use std::process::Command;

use sealcast_testkit::media::{path, pictures};
use sealcast_testkit::program::{PATIENCE, Program, file_url, home, number, publish, report, sealcast, until, watch};

/// Ten seconds of pictures.
const CARD: &str = "gst:videotestsrc num-buffers=250 ! video/x-raw,width=320,height=240,framerate=25/1";
const CODED: &str = "x264enc tune=zerolatency key-int-max=25";

/// Plays a source to a viewer with that sink, both to their end. Returns the viewer's report.
fn played(source: &str, sink: &str) -> serde_json::Value {
    let (camera, eyes) = (home(), home());
    let written = eyes.path().join("report.json");
    let mut publisher = publish(camera.path(), source, &[]);
    let options = ["--to", sink, "--report", path(&written)];
    let mut viewer = watch(eyes.path(), &publisher.ticket, &options);
    publisher.program.succeeds(PATIENCE);
    viewer.succeeds(PATIENCE);
    let report = report(&written);
    assert!(number(&report, "/totals/frames_in") >= 25.0, "{report:#}");
    report
}

/// Frames that reached the sink.
fn presented(report: &serde_json::Value) -> usize {
    let dropped = number(report, "/totals/frames_dropped/queue");
    (number(report, "/totals/frames_in") - dropped) as usize
}

fn ends_badly(mut program: Program, code: i32, words: &str) {
    assert_eq!(program.ends(PATIENCE), code);
    assert!(program.said().contains(words), "not \"{words}\" but {}", program.said());
}

#[test]
fn a_pipeline_is_published_and_recorded() {
    for ending in [format!(" ! {CODED}"), "?gop=25".to_owned(), " ! jpegenc".to_owned()] {
        let folder = home();
        let file = folder.path().join("out.mp4");
        let report = played(&format!("{CARD}{ending}"), &file_url(&file));
        assert_eq!(pictures(&["-i", path(&file)]).len(), presented(&report), "{ending}");
    }
}

#[test]
fn a_pipeline_takes_every_frame_and_completes_its_file() {
    let folder = home();
    let file = folder.path().join("out.mkv");
    let sink = format!("gst:h264parse ! matroskamux ! filesink location={}", path(&file));
    let report = played(&format!("{CARD} ! {CODED}"), &sink);
    assert_eq!(pictures(&["-i", path(&file)]).len(), presented(&report));
}

#[test]
fn pictures_are_decoded_in_a_pipeline() {
    for source in [format!("{CARD} ! {CODED}"), format!("{CARD} ! jpegenc")] {
        let folder = home();
        let images = folder.path().join("%05d.png");
        let sink = format!(
            "gst:decodebin ! videoconvert ! pngenc ! multifilesink sync=false location={}",
            path(&images)
        );
        let report = played(&source, &sink);
        let count = std::fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(count, presented(&report), "{source}");
        // The first bar of the card is white.
        let first = pictures_of(&folder.path().join("00000.png"));
        assert_eq!(first.len(), 320 * 240 * 3);
        assert!(first[..3].iter().all(|part| *part > 225), "{:?}", &first[..3]);
    }
}

/// An image as red, green and blue.
fn pictures_of(image: &Path) -> Vec<u8> {
    sealcast_testkit::media::ffmpeg(&["-i", path(image), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
}

#[test]
fn sinks_that_cannot_work_are_told_before_anything_connects() {
    let eyes = home();
    // Nobody listens there, which would be another failure.
    let ticket = {
        let camera = home();
        publish(camera.path(), "test:", &[]).ticket
    };
    let begins = |sink: &str| watch(eyes.path(), &ticket, &["--to", sink]);
    ends_badly(begins("gst:"), 2, "has no pipeline");
    ends_badly(begins("gst:avdec_h264x ! fakesink"), 4, "install gstreamer1.0-libav");
    ends_badly(begins("gst:fakesink ! ! "), 4, "cannot be made");
    ends_badly(
        begins("gst:decodebin ! v4l2sink device=/dev/video77"),
        4,
        "/dev/video77",
    );
}

#[test]
fn a_sink_that_fails_ends_the_viewer_in_words() {
    for (sink, words) in [
        ("gst:identity name=breaker error-after=5 ! fakesink", "breaker"),
        ("gst:filesink location=/nowhere/at/all", "/nowhere/at/all"),
        ("gst:filesink location=/dev/full buffer-mode=unbuffered", "filesink0"),
        ("gst:vp8dec ! fakesink", "; "),
        ("gst:identity eos-after=5 ! fakesink", "ended by itself"),
        // It asks for two streams and gets one.
        (
            "gst:decodebin ! videoconvert ! mux. matroskamux name=mux ! fakesink appsrc ! mux.",
            "takes no frame for 5 s",
        ),
    ] {
        let (camera, eyes) = (home(), home());
        let publisher = publish(camera.path(), "test:320x240@25?gop=25", &[]);
        let viewer = watch(eyes.path(), &publisher.ticket, &["--to", sink]);
        ends_badly(viewer, 4, words);
    }
}

#[test]
fn a_decoder_that_lost_the_picture_gets_a_keyframe() {
    let (camera, eyes) = (home(), home());
    let file = eyes.path().join("out.h264");
    let publisher = publish(camera.path(), "test:320x240@25?gop=0", &[]);
    // Every tenth frame is lost on the way to the decoder, which asks for a keyframe then.
    let decoder = "identity drop-probability=0.1 ! h264parse ! openh264dec ! fakesink";
    let sink = format!(
        "gst:tee name=t ! queue ! filesink location={} t. ! queue ! {decoder}",
        path(&file)
    );
    let mut viewer = watch(eyes.path(), &publisher.ticket, &["--to", &sink]);
    until("the decoder gets keyframes", || keyframes(&file) > 2);
    viewer.stop();
}

fn keyframes(file: &Path) -> usize {
    let mut probe = Command::new("ffprobe");
    probe.args([
        "-v",
        "error",
        "-skip_frame",
        "nokey",
        "-show_entries",
        "frame=pict_type",
        "-of",
        "csv=p=0",
    ]);
    let output = probe.arg(file).output().expect("ffprobe runs");
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.starts_with('I'))
        .count()
}

#[test]
fn the_configuration_names_the_version() {
    let output = sealcast(home().path())
        .args(["print-config", "--json"])
        .output()
        .expect("it runs");
    let config: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(
        config["gstreamer"]
            .as_str()
            .is_some_and(|version| version.starts_with("1.")),
        "{config:#}"
    );
}
