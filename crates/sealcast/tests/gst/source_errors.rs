//! Pipelines that cannot be published, and what is said of them.

use sealcast::failure::{Failure, FailureKind};
use sealcast::source::open;

use crate::source::opened;

fn refused(pipeline: &str) -> Failure {
    match open(&format!("gst:{pipeline}")) {
        Ok(_) => panic!("{pipeline} is no error"),
        Err(failure) => failure,
    }
}

#[test]
fn pipelines_that_cannot_start_say_why() {
    for (pipeline, words) in [
        (
            "videotestsrc ! nosuchencoder",
            "no element nosuchencoder; check the spelling",
        ),
        (
            "gtksinkx ! x264encx",
            "gtksinkx, x264encx; install gstreamer1.0-gtk3, gstreamer1.0-plugins-ugly",
        ),
        ("videotestsrc ! ! x264enc", "cannot be made"),
        ("videotestsrc patern=snow", "patern"),
        ("videotestsrc name=sealcast", "sealcast"),
        ("v4l2src device=/dev/video77", "/dev/video77"),
        ("filesrc location=/nowhere/at/all ! h264parse", "/nowhere/at/all"),
        (
            "videotestsrc ! vp8enc",
            "gives video/x-vp8, not H.264, H.265, AV1, JPEG or raw",
        ),
        ("audiotestsrc", "gives audio/x-raw, not H.264"),
        (
            "videotestsrc ! video/x-raw,width=321,height=240 ! videoconvert",
            "321x240 pixels, and sides must be even",
        ),
        ("videotestsrc num-buffers=0", "ended without a frame"),
        ("filesrc location=/dev/null ! h264parse", "; "),
    ] {
        let failure = refused(pipeline);
        assert_eq!(failure.kind, FailureKind::Source, "{pipeline}: {failure}");
        assert!(failure.to_string().contains(words), "{pipeline}: {failure}");
        println!("{pipeline}\n  {failure}");
    }
    let failure = refused("videotestsrc ! x264enc?bitrate=2M");
    assert_eq!(failure.kind, FailureKind::Usage);
    assert!(failure.what.contains("encodes by itself"), "{failure}");
}

#[test]
fn a_pipeline_that_gives_nothing_is_given_up() {
    let failure = refused("videotestsrc is-live=true ! valve drop=true ! x264enc");
    assert!(failure.what.contains("gives nothing for 10 s"), "{failure}");
}

#[test]
fn an_element_that_fails_later_ends_the_stream_in_words() {
    let mut source = opened("videotestsrc ! identity name=breaker error-after=20 ! x264enc tune=zerolatency");
    let mut frames = 0;
    let failure = loop {
        match source.next() {
            Ok(Some(_)) => frames += 1,
            Ok(None) => panic!("it ended as if nothing had failed"),
            Err(failure) => break failure,
        }
    };
    assert!(frames >= 10, "{frames} frames");
    assert_eq!(failure.kind, FailureKind::Source);
    assert!(failure.what.contains("breaker"), "{failure}");
}

#[test]
fn a_password_in_an_element_is_not_shown() {
    let failure = refused("rtspsrc location=rtsp://user:hunter2@127.0.0.1:1/x ! rtph264depay ! h264parse");
    assert!(
        failure.what.contains("127.0.0.1") || failure.what.contains("onnect"),
        "{failure}"
    );
    assert!(!failure.to_string().contains("hunter2"), "{failure}");
}
