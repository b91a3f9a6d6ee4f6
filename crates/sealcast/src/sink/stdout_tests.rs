use std::fs::OpenOptions;
use std::time::{Duration, Instant};

use super::*;

fn frame() -> ReceivedFrame {
    let (media_time, opened) = (Duration::ZERO, Instant::now());
    ReceivedFrame {
        number: 0,
        keyframe: true,
        media_time,
        opened,
        data: vec![7; 1000].into(),
    }
}

#[test]
fn frames_pass_as_they_are() {
    let mut out = Vec::new();
    let mut sink = StdoutSink::to(&mut out);
    sink.write(&frame()).expect("fine");
    sink.write(&frame()).expect("fine");
    sink.finish().expect("fine");
    assert_eq!(out, [7; 2000]);
}

#[test]
fn a_reader_that_goes_ends_the_sink_in_words() {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let failure = StdoutSink::to(writer).write(&frame()).expect_err("a closed pipe");
    assert_eq!(failure.kind, FailureKind::Sink);
    assert!(failure.what.contains("has closed it"), "{failure}");
}

#[test]
fn a_full_disk_is_told() {
    let full = OpenOptions::new().write(true).open("/dev/full").expect("/dev/full");
    let failure = StdoutSink::to(full).write(&frame()).expect_err("a full disk");
    assert_eq!(failure.kind, FailureKind::Sink);
    assert!(failure.what.contains("is full"), "{failure}");
}
