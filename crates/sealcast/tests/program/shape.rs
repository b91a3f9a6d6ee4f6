//! View of an observer on a shaped stream: lengths that are rounded, or nothing but equal records. The viewer gets the
//! same frames.

use std::collections::BTreeSet;

use sealcast::failure::FailureKind;
use sealcast_testkit::attack::{
    Act, Clip, Direction, Home, LENGTH, Program, Proxy, Tap, excused, is_frame, overflowed, record, total, until,
};

/// Number of frames of a clip: no more than a queue holds.
const FRAMES: usize = 50;
/// Frames per second.
const RATE: u32 = 50;
/// A rate with room for the clip.
const WIDE: &str = "--shape constant:8mbit";
/// The kind of a cell, and that of the records of a session that is established.
const CELL: u8 = 0x12;
const RECORDS: std::ops::Range<u8> = 0x10..0x20;

/// Kinds and lengths of the messages in one direction of a byte stream.
pub(super) fn messages(mut stream: &[u8]) -> Vec<(u8, usize)> {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = stream.split_first_chunk::<LENGTH>() {
        let length = u32::from_be_bytes(*prefix) as usize;
        let Some((message, rest)) = rest.split_at_checked(length) else {
            break;
        };
        messages.push((message[0], length));
        stream = rest;
    }
    messages
}

/// Checks that after the first cell nothing but cells of one length comes. Returns their number and length.
pub(super) fn only_cells(what: &str, messages: impl Iterator<Item = (u8, usize)>) -> (usize, usize) {
    let records: Vec<(u8, usize)> = messages.filter(|(kind, _)| RECORDS.contains(kind)).collect();
    let first = records.iter().position(|(kind, _)| *kind == CELL);
    let cells = &records[first.unwrap_or_else(|| panic!("{what}: no cell"))..];
    let lengths: BTreeSet<(u8, usize)> = cells.iter().copied().collect();
    assert_eq!(lengths.len(), 1, "{what}: {lengths:?}");
    let kinds: Vec<u8> = records[..records.len() - cells.len()]
        .iter()
        .map(|(kind, _)| *kind)
        .collect();
    assert!(!kinds.contains(&0x10), "{what}: media outside of cells");
    (cells.len(), cells[0].1)
}

/// Publishes a clip and watches it to its end through a proxy, over TCP.
fn watched(home: &Home, clip: &Clip, options: &str) -> (Proxy, Home, Program, Program) {
    let viewer = Home::new();
    let (mut publishing, ticket) = home.publish(&clip.url(RATE, ""), &format!("{options} --report report.json"));
    let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act::pass(message));
    let mut watching = viewer.start(&format!(
        "watch {} --to file:out.h264 --report report.json --no-reconnect",
        proxy.ticket(&ticket)
    ));
    assert_eq!(watching.ends(), 0, "{options}: {}", watching.said());
    assert_eq!(publishing.ends(), 0, "{options}: {}", publishing.said());
    (proxy, viewer, publishing, watching)
}

#[test]
fn over_tcp_every_record_of_a_constant_rate_has_one_size_and_the_clip_arrives_whole() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let (proxy, viewer, publishing, watching) = watched(&home, &clip, WIDE);
    let excused = excused([(&home, &publishing), (&viewer, &watching)]);
    viewer.assert_whole_but_for(excused, &clip, WIDE);
    for (direction, wire) in proxy.wire() {
        let (_, length) = only_cells(&format!("{direction:?}"), messages(&wire).into_iter());
        let expected = if direction == Direction::Down { 1196 } else { 432 };
        assert_eq!(length, expected, "{direction:?}");
    }
    let report = home.report("report.json");
    assert_eq!(report["configuration"]["shape"], "constant:8mbit");
    let shape = &report["shape"];
    let counter = |name: &str| shape[name].as_u64().expect("a counter");
    assert!(counter("inner_bytes") > clip.bytes.len() as u64 && counter("cell_bytes") > counter("inner_bytes"));
    let ratio = shape["overhead_ratio"].as_f64().expect("a number");
    let expected = counter("cell_bytes") as f64 / counter("inner_bytes") as f64 - 1.0;
    assert!((ratio - expected).abs() < 1e-9, "{ratio}");
    assert!(report["stages"]["shape"]["count"].as_u64() > Some(0));
}

#[test]
fn over_udp_every_record_of_a_constant_rate_has_one_size_and_the_clip_arrives_whole() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let more = format!("{WIDE} --report report.json");
    let (mut publishing, ticket) = home.publish_udp(&clip.url(RATE, ""), "", &more);
    let tap = Tap::start(Proxy::port_of(&ticket), |_, _, datagram| vec![datagram.to_vec()]);
    let (viewer, mut watching) = record(&Proxy::redirect(&ticket, tap.port), "");
    assert_eq!(watching.ends(), 0, "{}", watching.said());
    assert_eq!(publishing.ends(), 0, "{}", publishing.said());
    let missing = if overflowed() {
        usize::MAX
    } else {
        excused([(&home, &publishing), (&viewer, &watching)])
    };
    viewer.assert_whole_but_for(missing, &clip, WIDE);
    for direction in [Direction::Down, Direction::Up] {
        let seen = tap.seen();
        let sent = seen.iter().filter(|(way, _)| *way == direction);
        let records = sent.map(|(_, datagram)| (datagram[4], datagram.len()));
        let (cells, length) = only_cells(&format!("{direction:?}"), records);
        let expected = if direction == Direction::Down { 1200 } else { 436 };
        assert!(cells > 20 && length == expected, "{direction:?}: {cells} of {length}");
    }
}

#[test]
fn an_altered_cell_is_refused_and_counted_and_the_stream_goes_on() {
    let (home, viewer) = (Home::new(), Home::new());
    let (_publishing, ticket) = home.publish("test:320x240@25", "--shape constant:1mbit");
    let mut cells = 0;
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.direction == Direction::Down && message.get(LENGTH) == Some(&CELL) {
            cells += 1;
            match cells {
                // The tag does not fit any more.
                50 => message[LENGTH + 100] ^= 1,
                // An epoch that does not exist.
                60 => message[LENGTH + 3] = 9,
                _ => {}
            }
        }
        Act::pass(message)
    });
    let mut watching = viewer.start(&format!(
        "watch {} --to file:out.h264 --report report.json --no-reconnect",
        proxy.ticket(&ticket)
    ));
    watching.says("reason=tag");
    watching.says("total=2");
    let size = viewer.recorded_size();
    viewer.grows_by(50_000);
    assert!(watching.running() && viewer.recorded_size() > size);
    assert_eq!(watching.stop(), 0, "{}", watching.said());
    let refused = ["tag", "unknown_epoch"].map(|reason| viewer.refused("report.json", reason));
    assert_eq!(refused, [1, 1]);
}

#[test]
fn padded_frames_have_rounded_lengths_and_arrive_as_they_were() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    for (shape, most) in [("pad:1000", usize::MAX), ("pad:padme", 112)] {
        let (proxy, viewer, ..) = watched(&home, &clip, &format!("--shape {shape}"));
        viewer.assert_whole(&clip, shape);
        let wire = proxy.wire();
        let (_, down) = wire
            .iter()
            .find(|(direction, _)| *direction == Direction::Down)
            .expect("a publisher");
        let mut rest = &down[..];
        let mut lengths = Vec::new();
        while rest.len() > LENGTH {
            let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
            let (message, after) = rest.split_at((LENGTH + length).min(rest.len()));
            if is_frame(message) {
                // Without header and tag: the preamble, the frame and its padding.
                lengths.push(length - 40);
            }
            rest = after;
        }
        assert_eq!(lengths.len(), FRAMES, "{shape}");
        for (length, frame) in lengths.iter().zip(&clip.frames) {
            let own = frame.len() + 52;
            assert!(
                *length >= own && length * 100 / own <= most,
                "{shape}: {length} for {own}"
            );
            if shape == "pad:1000" {
                assert_eq!(length % 1000, 0);
                assert!(length - own < 1000);
            }
        }
    }
}

#[test]
fn a_shape_that_is_too_small_is_answered_with_the_rate_that_is_needed() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 200);
    let card = "test:1280x720@50".to_owned();
    for (source, shape) in [(card, "64kbit"), (clip.url(RATE, "&loop"), "200kbit")] {
        let (viewer, options) = (Home::new(), format!("--shape constant:{shape}"));
        let mut publishing = home.start(&format!(
            "publish {source} --listen tcp://127.0.0.1:0 --ticket-file - {options}"
        ));
        let mut watching = None;
        if !source.starts_with("test:") {
            let ticket = publishing.ticket();
            watching = Some(viewer.start(&format!("watch {ticket} --to null: --no-reconnect")));
        }
        assert_eq!(
            publishing.ends(),
            i32::from(FailureKind::Config.exit_code()),
            "{}",
            publishing.said()
        );
        let said = publishing.said();
        let needed = said
            .rsplit_once("use --shape constant:")
            .map(|(_, rest)| rest.to_owned());
        let needed = needed.and_then(|rest| rest.split_once(' ').map(|(rate, _)| rate.to_owned()));
        let needed = needed.unwrap_or_else(|| panic!("{said}"));
        if source.starts_with("test:") {
            let options = format!("--shape constant:{needed} --seconds 1");
            let (mut again, _) = home.publish(&source, &options);
            assert_eq!(again.ends(), 0, "{}", again.said());
        }
        drop(watching);
    }
}

#[test]
fn what_a_shape_cannot_do_is_refused_in_words() {
    let home = Home::new();
    let refused = |arguments: &str, words: &[&str], kind: FailureKind| {
        let mut program = home.start(arguments);
        assert_eq!(
            program.ends(),
            i32::from(kind.exit_code()),
            "{arguments}: {}",
            program.said()
        );
        let said = program.said();
        assert!(words.iter().all(|word| said.contains(word)), "{arguments}: {said}");
    };
    let publish = "publish test:320x240@25 --listen tcp://127.0.0.1:0";
    refused(
        &format!("{publish} --shape wide"),
        &["no shape", "constant:2mbit"],
        FailureKind::Usage,
    );
    refused(
        &format!("{publish} --shape constant:1mbit --encrypt none"),
        &["--encrypt none"],
        FailureKind::Usage,
    );
    refused(
        "publish test:320x240@25 --listen quic://127.0.0.1:0 --shape constant:1mbit",
        &["tcp://", "udp://"],
        FailureKind::Usage,
    );
    let file = home.write("gateway.toml", "[publish]\nshape = \"constant:1mbit\"\n");
    refused(
        &format!("gateway camera --camera rtsp://127.0.0.1/x --config {}", file.display()),
        &["gateway"],
        FailureKind::Config,
    );
}

#[test]
fn a_shape_stays_whole_when_the_control_socket_is_asked_to_leave_something_in_clear() {
    let home = Home::new();
    let socket = home.file("control");
    let (_publishing, ticket) = home.publish(
        "test:320x240@25",
        &format!("--shape constant:1mbit --control {}", socket.display()),
    );
    let (viewer, _watching) = record(&ticket, "");
    viewer.grows_by(10_000);
    let said = |command: &[&str]| {
        let mut control = home.command();
        control.args(["control", "--socket"]).arg(&socket).args(command);
        let output = control.output().expect("the program runs");
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8_lossy(&text).into_owned(), output.status.success())
    };
    let (answer, done) = said(&["encrypt", "none"]);
    assert!(!done && answer.contains("shape"), "{answer}");
    assert!(said(&["encrypt", "all"]).1 && said(&["rekey"]).1 && said(&["keyframe"]).1);
    viewer.grows_by(20_000);
    until("new keys are in use", || {
        said(&["status"]).0.contains("epoch=1").then_some(())
    });
}

#[test]
fn pictures_that_would_wait_too_long_are_left_out_before_they_are_encoded() {
    let home = Home::new();
    // The first keyframe alone takes several frame times at this rate.
    let options = "--shape constant:300kbit --report report.json --seconds 12";
    let (mut publishing, ticket) = home.publish("test:640x480@25", options);
    let (viewer, mut watching) = record(&ticket, "--seconds 8");
    assert_eq!(watching.ends(), 0, "{}", watching.said());
    assert_eq!(publishing.ends(), 0, "{}", publishing.said());
    let report = home.report("report.json");
    assert!(
        report["shape"]["skipped_pictures"].as_u64() > Some(0),
        "{}",
        report["shape"]
    );
    let lost = total(&viewer.report("report.json"), "frames_dropped", "gap");
    let dropped = total(&report, "frames_dropped", "queue");
    assert!(
        lost <= dropped,
        "{lost} pictures lack one before them, {dropped} were dropped"
    );
}
