//! Only the parts that a selection leaves in clear can be read on the network. The viewer receives the same frames
//! under every selection, and nobody on the path can change any of them.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use sealcast::failure::FailureKind;
use sealcast_proto::unit::{JpegWalker, PREAMBLE_LEN, Splitter};
use sealcast_testkit::attack::{
    self, Act, Clip, Direction, Home, LENGTH, Program, Proxy, is_frame, is_media, lacks, order, total, until,
};

const HEADER: usize = 24;
const TAG: usize = 16;
/// Length from which on encrypted bytes do not equal the original by chance.
const LONG: usize = 8;
/// Number of frames of a clip: no more than a queue holds, so that none is dropped even if an end stands still.
const FRAMES: usize = 50;
/// Frames per second.
const RATE: u32 = 50;
/// Maximum number of attempts to play a clip so that the viewer acknowledges the selection before the clip ends.
const TRIES: usize = 5;
const IN_CLEAR: &str = "in clear (authenticated, not secret)";

/// A part of a frame as an observer sees it.
struct Part {
    offset: usize,
    data: Vec<u8>,
    clear: bool,
}

/// The frames that a publisher sent on its first connection. An observer can see where records and frames begin.
fn observed(proxy: &Proxy) -> Vec<Vec<Part>> {
    let wire = proxy.wire();
    let down = wire.iter().find(|(direction, _)| *direction == Direction::Down);
    let mut rest = down.map_or(&[][..], |(_, bytes)| &bytes[..]);
    let mut frames: Vec<Vec<Part>> = Vec::new();
    while rest.len() >= LENGTH {
        let length = u32::from_be_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let (message, after) = rest.split_at((LENGTH + length).min(rest.len()));
        rest = after;
        if !is_frame(message) {
            continue;
        }
        let flags = message[LENGTH + 1];
        let first = flags & 0x04 != 0;
        let skip = LENGTH + HEADER + if first { PREAMBLE_LEN } else { 0 };
        let data = message[skip..message.len() - TAG].to_vec();
        if first {
            frames.push(Vec::new());
        }
        let parts = frames.last_mut().expect("a frame begins with its first record");
        let offset = parts.last().map_or(0, |part| part.offset + part.data.len());
        parts.push(Part {
            offset,
            data,
            clear: flags & 1 == 0,
        });
    }
    frames
}

/// Publishes a file and watches it to its end through a proxy that changes nothing. If the options leave something in
/// clear, the viewer acknowledged that in time: otherwise, as on a machine that stands still, the file is played again.
fn watched(url: &str, publisher: &Home, options: &str, out: &str) -> (Proxy, Home, Program) {
    let in_clear = options.contains("--encrypt") && !options.contains("--encrypt all");
    let run = || {
        let viewer = Home::new();
        let (_program, ticket) = publisher.publish(url, options);
        let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act::pass(message));
        let mut watching = viewer.start(&format!(
            "watch {} --to file:{out} --report report.json --no-reconnect",
            proxy.ticket(&ticket)
        ));
        let code = watching.ends();
        if code == i32::from(FailureKind::Network.exit_code()) {
            return None;
        }
        assert_eq!(code, 0, "{}", watching.said());
        let agreed = observed(&proxy).iter().flatten().any(|part| part.clear);
        (agreed == in_clear).then_some((proxy, viewer, watching))
    };
    let mut runs = (0..TRIES).filter_map(|_| run());
    runs.next().expect("what is selected shows before the file ends")
}

/// True if a frame of the clip is a keyframe: there is one every ten frames.
fn keyframe(number: usize) -> bool {
    number.is_multiple_of(10)
}

/// The first frame with a part in clear, which was sealed after the viewer acknowledged the selection. All frames
/// before the acknowledgement are encrypted.
fn agreed(frames: &[Vec<Part>]) -> usize {
    let first = frames.iter().position(|parts| parts.iter().any(|part| part.clear));
    first.expect("the viewer agrees before the clip ends")
}

/// Whether a whole frame must be in clear; `None` if the selection decides about its parts.
fn whole(selection: &str, number: usize) -> Option<bool> {
    match selection {
        "all" => Some(false),
        "none" => Some(true),
        "keyframes" => Some(!keyframe(number)),
        "headers+keyframes" | "level:3" if keyframe(number) => Some(false),
        _ => None,
    }
}

#[test]
fn every_selection_and_unit_shows_what_it_says_and_the_viewer_gets_the_same_frames() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let sent = clip.frames.concat();
    for unit in ["frame", "packet", "chunk:128"] {
        for selection in [
            "all",
            "none",
            "rate:30",
            "keyframes",
            "headers",
            "headers+keyframes",
            "level:2",
            "level:3",
        ] {
            let what = format!("{unit} {selection}");
            let options = format!("--unit {unit} --encrypt {selection} --encrypt-seed 7");
            let (proxy, viewer, watching) = watched(&clip.url(RATE, ""), &home, &options, "out.h264");
            let received = viewer.recorded();
            assert!(received == sent, "{what}: {} bytes of {}", received.len(), sent.len());
            assert_eq!(watching.count(IN_CLEAR), usize::from(selection != "all"), "{what}");
            let frames = observed(&proxy);
            assert_eq!(frames.len(), FRAMES, "{what}");
            shows(&what, selection, &frames, &clip);
            let longest = frames.iter().flatten().map(|part| part.data.len()).max();
            let bound = match unit {
                "packet" => 1160,
                "chunk:128" => 128,
                _ => usize::MAX,
            };
            assert!(longest <= Some(bound), "{what}: {longest:?}");
            let report = viewer.report("report.json");
            let clear = frames.iter().flatten().filter(|part| part.clear).count() as u64;
            let counted = report["totals"]["records_opened_in_clear"].as_u64().expect("a counter");
            // The description of the stream may be in clear too.
            assert!(counted >= clear && counted <= clear + 20, "{what}: {counted} {clear}");
            assert_eq!(report["configuration"]["encrypt"], selection, "{what}");
        }
    }
}

/// Checks the frames that an observer saw against the selection.
fn shows(what: &str, selection: &str, frames: &[Vec<Part>], clip: &Clip) {
    let agreed = if selection == "all" { 0 } else { agreed(frames) };
    let (mut clear, mut all) = (0, 0);
    for (number, (parts, frame)) in frames.iter().zip(&clip.frames).enumerate() {
        for part in parts {
            let original = &frame[part.offset..part.offset + part.data.len()];
            let place = format!("{what}: frame {number}, byte {}", part.offset);
            // A few encrypted bytes may equal the original by chance.
            if part.clear || part.data.len() >= LONG {
                assert_eq!(part.data == original, part.clear, "{place}");
            }
            if number < agreed {
                continue;
            }
            (clear, all) = (clear + usize::from(part.clear), all + 1);
            if let Some(expected) = whole(selection, number) {
                assert_eq!(part.clear, expected, "{place}");
            } else if !selection.starts_with("rate") {
                let hidden = if selection == "level:2" && keyframe(number) {
                    512
                } else {
                    64
                };
                assert!(!part.clear || part.offset >= hidden, "{place}");
            }
        }
        let shown: usize = parts.iter().filter(|part| part.clear).map(|part| part.data.len()).sum();
        if number >= agreed && selection == "headers" {
            // A packet that begins with a header is encrypted as a whole.
            assert!(
                shown + 1400 >= frame.len(),
                "{what}: only {shown} of {} bytes",
                frame.len()
            );
        }
    }
    // If the viewer acknowledged late, there are too few units for a share.
    if selection == "rate:30" && all >= 60 {
        let share = clear as f64 / all as f64;
        assert!((0.4..0.95).contains(&share), "{what}: {share} of {all} in clear");
    }
}

#[test]
fn with_everything_encrypted_no_run_of_bytes_shows() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    for unit in ["packet", "chunk:16"] {
        let (proxy, _, _) = watched(&clip.url(RATE, ""), &home, &format!("--unit {unit}"), "out.h264");
        for (_, wire) in proxy.wire() {
            lacks(&wire, &clip.bytes);
        }
    }
}

#[test]
fn the_same_seed_draws_the_same_units() {
    let home = Home::new();
    let clip = Clip::make(home.path(), FRAMES);
    let draw = |seed: &str| {
        let options = format!("--unit chunk:128 --encrypt rate:50 {seed}");
        let (proxy, _, _) = watched(&clip.url(RATE, ""), &home, &options, "out.h264");
        let frames = observed(&proxy);
        let flags = frames.iter().flatten().map(|part| part.clear);
        // The random choice begins with the viewer's acknowledgement, which may come at any frame.
        flags.skip_while(|clear| !clear).collect::<Vec<bool>>()
    };
    let draws = [draw("--encrypt-seed 5"), draw("--encrypt-seed 5"), draw("")];
    // The same seed gives the same choices from there on; their number depends on the time of the acknowledgement.
    let common = draws.iter().map(Vec::len).min().unwrap_or(0);
    let [first, again, other] = draws.map(|draw| draw[..common].to_vec());
    assert!(common >= 20, "only {common} units");
    assert_eq!(first, again);
    assert_ne!(first, other);
}

/// The headers of a JPEG image: up to the entropy-coded data.
fn image_headers(image: &[u8]) -> usize {
    let sos = image.windows(2).position(|pair| pair == [0xFF, 0xDA]).expect("a scan");
    let length = usize::from(u16::from_be_bytes([image[sos + 2], image[sos + 3]]));
    sos + 2 + length
}

/// Makes a clip of Motion JPEG. Returns its file and the URL to publish it.
fn motion_jpeg(home: &Home) -> (PathBuf, String) {
    let file = home.file("clip.mjpeg");
    let input = ["-f", "lavfi", "-i", "testsrc2=size=320x240:rate=25:duration=2"];
    attack::ffmpeg(
        &[
            &input[..],
            &["-c:v", "mjpeg", "-q:v", "3", "-f", "mjpeg", attack::path(&file)],
        ]
        .concat(),
    );
    let url = format!("file:{}?fps={RATE}", file.display());
    (file, url)
}

#[test]
fn of_motion_jpeg_levels_2_and_3_hide_dc_and_low_ac_and_the_other_coefficients_show() {
    for (level, last) in [("level:2", 0), ("level:3", 5)] {
        let home = Home::new();
        let (file, url) = motion_jpeg(&home);
        let (proxy, viewer, _) = watched(&url, &home, &format!("--encrypt {level}"), "out.mjpeg");
        let received = fs::read(viewer.file("out.mjpeg")).expect("a recording");
        assert!(
            received == fs::read(&file).expect("the clip"),
            "{level}: the same images"
        );
        let (mut splitter, mut at, mut seen) = (Splitter::default(), 0, 0);
        let images = observed(&proxy);
        let agreed = agreed(&images);
        for (number, parts) in images.iter().enumerate() {
            let length = JpegWalker::image(&received[at..]).expect("an image");
            let image = &received[at..at + length];
            at += length;
            if number < agreed {
                continue;
            }
            seen += 1;
            let split = splitter.split(image, last).expect("an image of ffmpeg");
            let [hidden, shown] = &parts[..] else {
                panic!("{level}, image {number}: {} parts", parts.len())
            };
            assert!(
                !hidden.clear && hidden.data.len() == split.first,
                "{level}, image {number}"
            );
            assert!(
                shown.clear && shown.data == split.data[split.first..],
                "{level}, image {number}"
            );
        }
        assert!(seen > 0 && at == received.len(), "{level}: {seen} images");
    }
}

#[test]
fn of_motion_jpeg_the_headers_are_hidden_and_the_scans_show() {
    let home = Home::new();
    let (file, url) = motion_jpeg(&home);
    let (proxy, viewer, _) = watched(&url, &home, "--encrypt headers", "out.mjpeg");
    let received = fs::read(viewer.file("out.mjpeg")).expect("a recording");
    assert!(received == fs::read(&file).expect("the clip"), "the same images");
    let (mut at, mut seen) = (0, 0);
    let images = observed(&proxy);
    let agreed = agreed(&images);
    for (number, parts) in images.iter().enumerate() {
        let length: usize = parts.iter().map(|part| part.data.len()).sum();
        let image = &received[at..at + length];
        at += length;
        if number < agreed {
            continue;
        }
        seen += 1;
        let headers = image_headers(image);
        let cuts: Vec<(usize, usize, bool)> = parts
            .iter()
            .map(|part| (part.offset, part.data.len(), part.clear))
            .collect();
        let scan = length - headers - 2;
        let expected = [(0, headers, false), (headers, scan, true), (headers + scan, 2, false)];
        assert_eq!(cuts, expected, "image {number}");
        assert!(parts[1].data == image[headers..length - 2]);
    }
    assert!(seen > 0 && at == received.len(), "{seen} images");
}

/// Sends a command to a publisher. Returns the answer, and whether the command succeeded.
fn control(home: &Home, socket: &Path, command: &str) -> (String, bool) {
    let mut asked = home.start(&format!("control --socket {} {command}", socket.display()));
    let succeeded = asked.ends() == 0;
    let text = String::from_utf8_lossy(&asked.stdout()).into_owned() + &asked.said();
    (text, succeeded)
}

/// Checks the recording of a clip that was played in a loop, with `sent` frames in all: frames arrived unaltered and in
/// order, and the viewer counted all frames that are missing between them.
fn assert_accounted(viewer: &Home, clip: &Clip, sent: usize) {
    let looped: Vec<Vec<u8>> = clip
        .frames
        .iter()
        .cycle()
        .take(sent + clip.frames.len())
        .cloned()
        .collect();
    let frames = order(&viewer.recorded(), &looped);
    let missing = frames[frames.len() - 1] + 1 - frames[0] - frames.len();
    let report = viewer.report("report.json");
    let counted = ["gap", "queue"].map(|cause| total(&report, "frames_dropped", cause));
    assert!(
        missing as u64 <= counted.iter().sum::<u64>(),
        "{missing} frames are missing, {counted:?} counted"
    );
}

#[test]
fn what_is_encrypted_changes_while_the_stream_runs() {
    let (home, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(home.path(), 100);
    let socket = home.file("control");
    let options = format!("--control {} --report report.json", socket.display());
    let (mut publishing, ticket) = home.publish(&clip.url(50, "&loop"), &options);
    assert_eq!(
        fs::metadata(&socket).expect("a socket").permissions().mode() & 0o777,
        0o600
    );
    let proxy = Proxy::start(Proxy::port_of(&ticket), |_, message| Act::pass(message));
    let mut watching = viewer.start(&format!(
        "watch {} --to file:out.h264 --report report.json",
        proxy.ticket(&ticket)
    ));
    let frames_after = |count: usize| {
        let began = observed(&proxy).len();
        until("frames come", || {
            (observed(&proxy).len() >= began + count).then_some(())
        });
    };
    frames_after(15);
    assert!(observed(&proxy).iter().flatten().all(|part| !part.clear));

    assert_eq!(
        control(&home, &socket, "encrypt keyframes"),
        ("ok encrypt keyframes\n".to_owned(), true)
    );
    watching.says("leaves all frames but keyframes in clear");
    publishing.says("this publisher leaves all frames but keyframes in clear");
    until("frames in clear come", || {
        observed(&proxy).iter().flatten().any(|part| part.clear).then_some(())
    });
    frames_after(15);
    let frames = observed(&proxy);
    // The last frame may be incomplete.
    let whole = frames.iter().enumerate().take(frames.len() - 1);
    for (number, parts) in whole.skip(agreed(&frames)) {
        assert!(
            parts.iter().all(|part| part.clear != keyframe(number)),
            "frame {number}"
        );
    }

    assert_eq!(control(&home, &socket, "rekey").0, "ok rekey with 1 viewer\n");
    assert_eq!(control(&home, &socket, "keyframe").0, "ok keyframe requested\n");
    assert!(control(&home, &socket, "encrypt all").1);
    watching.says("the publisher encrypts everything");
    let agreed = observed(&proxy).len();
    frames_after(15);
    assert!(observed(&proxy)[agreed + 2..].iter().flatten().all(|part| !part.clear));

    let status = until("new keys", || {
        let (status, done) = control(&home, &socket, "status");
        assert!(done, "{status}");
        (!status.contains("epoch=0 ")).then_some(status)
    });
    assert!(status.starts_with("ok encrypt=all viewers=1 frames="), "{status}");
    assert!(!status.contains("records_in_clear=0"), "{status}");
    assert_eq!(watching.stop(), 0);
    assert_eq!(watching.count(IN_CLEAR), 1);
    assert_eq!(publishing.stop(), 0);
    assert!(!socket.exists(), "the socket is removed");
    assert_accounted(&viewer, &clip, observed(&proxy).len());
    assert_eq!(home.report("report.json")["configuration"]["encrypt of camera"], "all");
}

#[test]
fn the_control_socket_refuses_what_it_does_not_know_and_goes_on() {
    let home = Home::new();
    let socket = home.file("control");
    let options = format!("--control {}", socket.display());
    // The socket that a killed program left behind is replaced.
    drop(UnixListener::bind(&socket).expect("a socket"));
    let (mut publishing, _) = home.publish("test:160x120@5", &options);

    let again = format!("publish test:160x120@5 --listen tcp://127.0.0.1:0 --ticket-file - --name other {options}");
    let mut other = home.start(&again);
    assert_eq!(other.ends(), 2);
    assert!(
        other.said().contains("a running program listens at"),
        "{}",
        other.said()
    );
    assert!(other.stdout().is_empty(), "no ticket was handed out");

    for (command, words) in [
        ("encrypt", "encrypt what"),
        ("encrypt rate:101", "0 to 100 percent"),
        ("encrypt everything", "what to encrypt is all, none"),
        ("open the door", "there is no such command"),
        ("status now", "there is no such command"),
    ] {
        let (answer, done) = control(&home, &socket, command);
        assert!(!done && answer.contains(words), "{command}: {answer}");
    }
    let (help, _) = control(&home, &socket, "help");
    assert!(help.starts_with("ok encrypt [CAMERA] all|none|"));

    let mut stream = UnixStream::connect(&socket).expect("a connection");
    let mut answers = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    stream.write_all(b"\nencrypt rate:12.5\nstatus\n").expect("sent");
    let mut answer = || answers.next().expect("an answer").expect("text");
    assert!(answer().starts_with("error: an empty command"));
    assert_eq!(answer(), "ok encrypt rate:12.5");
    assert!(answer().starts_with("ok encrypt=rate:12.5 viewers=0"));
    stream.write_all(&[b'x'; 600]).expect("sent");
    assert!(answer().starts_with("error: a command has at most 512 bytes"));

    assert_eq!(publishing.stop(), 0);
    let (answer, done) = control(&home, &socket, "status");
    assert!(!done && answer.contains("no publisher answers at"), "{answer}");

    let file = home.write("a-file", "mine");
    let mut onto = home.start(&format!(
        "publish test: --listen tcp://127.0.0.1:0 --control {}",
        file.display()
    ));
    assert_eq!(
        (onto.ends(), fs::read(&file).expect("untouched")),
        (2, b"mine".to_vec())
    );
}

#[test]
fn nobody_between_can_change_what_is_in_clear_or_claim_that_it_is() {
    let (home, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(home.path(), 450);
    let (_program, ticket) = home.publish(&clip.url(90, ""), "--encrypt keyframes");
    let (mut frames, mut agreed, mut flipped) = (0, false, [0_u64; 4]);
    let (tell, told) = std::sync::mpsc::channel();
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.direction != Direction::Down || !is_frame(&message) {
            return Act::pass(message);
        }
        frames += 1;
        let clear = message[LENGTH + 1] & 1 == 0;
        // Begin only once the viewer has acknowledged that something is in clear.
        agreed |= clear;
        if agreed && frames % 9 == 0 {
            let (which, place, bit) = match (clear, frames % 2) {
                (false, _) => (0, LENGTH + 1, 1),
                (true, 0) => (1, LENGTH + 1, 1),
                (true, _) if frames % 4 == 1 => (2, LENGTH + HEADER + PREAMBLE_LEN + 20, 0x10),
                (true, _) => (3, message.len() - TAG - 1, 1),
            };
            message[place] ^= bit;
            flipped[which] += 1;
            let _ = tell.send(flipped);
        }
        Act::pass(message)
    });
    let mut watching = viewer.start(&format!(
        "watch {} --to file:out.h264 --report report.json",
        proxy.ticket(&ticket)
    ));
    assert_eq!(watching.ends(), 0, "{}", watching.said());
    let flipped = told.try_iter().last().expect("something was flipped");
    assert!(flipped.iter().all(|count| *count > 0), "{flipped:?}");
    assert_eq!(viewer.refused("report.json", "tag"), flipped.iter().sum::<u64>());
    assert_eq!(viewer.refused("report.json", "cleartext"), 0);
    let received = viewer.recorded();
    assert!(!order(&received, &clip.frames).is_empty());
    let report = viewer.report("report.json");
    assert_eq!(report["totals"]["handshakes"]["established"], 1, "the session goes on");
}

#[test]
fn a_viewer_that_was_told_nothing_accepts_nothing_in_clear() {
    let (home, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(home.path(), 150);
    let (_program, ticket) = home.publish(&clip.url(90, ""), "");
    let (tell, told) = std::sync::mpsc::channel();
    let mut media = 0;
    let proxy = Proxy::start(Proxy::port_of(&ticket), move |seen, mut message| {
        if seen.direction == Direction::Down && is_media(&message) {
            media += 1;
            if media % 20 == 0 {
                message[LENGTH + 1] &= !1;
                let _ = tell.send(());
            }
        }
        Act::pass(message)
    });
    let mut watching = viewer.start(&format!(
        "watch {} --to file:out.h264 --report report.json",
        proxy.ticket(&ticket)
    ));
    assert_eq!(watching.ends(), 0, "{}", watching.said());
    let claimed = told.try_iter().count() as u64;
    assert!(claimed > 0);
    assert_eq!(viewer.refused("report.json", "cleartext"), claimed);
    assert_eq!(viewer.refused("report.json", "tag"), 0);
}

#[test]
fn with_nothing_encrypted_a_stranger_and_a_wrong_publisher_are_still_refused() {
    let (home, viewer) = (Home::new(), Home::new());
    let clip = Clip::make(home.path(), 50);
    let (publishing, ticket) = home.publish(&clip.url(25, "&loop"), "--encrypt none");
    publishing.says(IN_CLEAR);
    let uninvited = ticket.split_once('#').expect("an invite").0;
    let mut refused = viewer.start(&format!("watch {uninvited} --to file:out.h264"));
    assert_eq!(refused.ends(), 6, "{}", refused.said());
    // The ticket's port leads to another publisher.
    let other = Home::new();
    let (_other, foreign) = other.publish(&clip.url(25, "&loop"), "--encrypt none");
    let misled = Proxy::redirect(&ticket, Proxy::port_of(&foreign));
    let mut refused = viewer.start(&format!("watch {misled} --to file:out.h264 --no-reconnect"));
    assert_eq!(refused.ends(), 5, "{}", refused.said());
    let nothing = |size: std::io::Result<fs::Metadata>| size.map_or(true, |file| file.len() == 0);
    assert!(nothing(fs::metadata(viewer.file("out.h264"))));
}

#[test]
fn what_is_no_selection_or_no_unit_is_refused_in_words() {
    let home = Home::new();
    for (options, code, words) in [
        ("--encrypt some", 2, "what to encrypt is all, none"),
        ("--encrypt rate:100.5", 2, "0 to 100 percent"),
        ("--unit chunk:15", 2, "N from 16 to 65535"),
        ("--unit slice", 2, "a unit is frame, packet"),
        ("--encrypt level:5", 2, "level:N with N from 1 to 4"),
    ] {
        let mut refused = home.start(&format!("publish test: --listen tcp://127.0.0.1:0 {options}"));
        assert_eq!(refused.ends(), code, "{options}: {}", refused.said());
        assert!(refused.said().contains(words), "{options}: {}", refused.said());
    }
    let file = home.write("sealcast.toml", "[publish]\nencrypt = \"some\"\n");
    let mut refused = home.start(&format!("config check --config {}", file.display()));
    assert_eq!(refused.ends(), 8, "{}", refused.said());
}

#[test]
fn a_gateway_refuses_what_it_would_have_to_read_pictures_for() {
    let home = Home::new();
    let gateway = "gateway camera --camera rtsp://127.0.0.1:9/ --listen tcp://127.0.0.1:0 --encrypt";
    for selection in ["keyframes", "headers", "level:2", "level:3"] {
        let mut refused = home.start(&format!("{gateway} {selection}"));
        assert_eq!(refused.ends(), 2, "{selection}: {}", refused.said());
        let said = refused.said();
        let words = format!("\"{selection}\" is nothing that a gateway can encrypt");
        assert!(
            said.contains(&words) && said.contains("use all, none or rate:PERCENT"),
            "{said}"
        );
    }
}
