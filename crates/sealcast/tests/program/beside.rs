//! `sealcast probe --beside`: two ways to one camera, paired picture by picture.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::codec::jpeg;
use sealcast::media::Picture;
use sealcast_testkit::attack::Proxy;
use sealcast_testkit::media::path;
use sealcast_testkit::program::{PATIENCE, Program, home, invite, publish, sealcast, until};

/// While it is locked, a relay passes nothing on.
type Hold = Arc<Mutex<()>>;

/// A relay of TCP that passes on everything from this port, what comes back so much later. It ends with the test.
fn delaying(target: u16, delay: Duration, hold: &Hold) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let hold = Arc::clone(hold);
    thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let Ok(far) = TcpStream::connect(("127.0.0.1", target)) else {
                continue;
            };
            let both = [&near, &far].map(|stream| {
                stream.set_nodelay(true).expect("a socket option");
                stream.try_clone().expect("a descriptor")
            });
            let [near_too, far_too] = both;
            pass(near, far_too, Duration::ZERO, Hold::default());
            pass(far, near_too, delay, Arc::clone(&hold));
        }
    });
    port
}

fn pass(mut from: TcpStream, mut to: TcpStream, delay: Duration, hold: Hold) {
    let (sender, taken) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut bytes = [0; 1 << 16];
        while let Ok(count) = from.read(&mut bytes) {
            if count == 0 || sender.send((Instant::now() + delay, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in taken {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            drop(hold.lock().expect("no test failed with it"));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // Its other end may have gone before.
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// The columns of complete rows of a log that begin with these words in `compared` and `by`.
fn rows(file: &Path, compared: &str, by: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let own = lines.filter(|row| row.len() == 10 && row[1] == compared && row[2] == by && !row[9].is_empty());
    own.collect()
}

#[test]
fn a_way_that_is_later_is_said_to_be_with_its_control_and_raises_the_alarm() {
    let (ours, theirs) = (home(), home());
    let publisher = publish(ours.path(), "test:320x240@25", &[]);
    let port = delaying(
        Proxy::port_of(&publisher.ticket),
        Duration::from_millis(500),
        &Hold::default(),
    );
    let logs = theirs.path().join("logs");
    let mut command = sealcast(theirs.path());
    command.args(["probe", &publisher.ticket, "--log-dir", path(&logs), "--alarm", "100ms"]);
    command.args(["--beside", &Proxy::redirect(&publisher.ticket, port)]);
    let mut probe = Program::run("the probe", command);
    let file = logs.join("probe_beside.csv");
    until("A is compared with itself", || {
        rows(&file, "control", "clock").len() > 200
    });
    until("A is compared with B", || !rows(&file, "beside", "clock").is_empty());
    until("there are enough pairs", || rows(&file, "beside", "clock").len() > 350);
    probe.signal("INT");
    assert_eq!(probe.ends(PATIENCE), 10, "the alarm was raised");
    let said = probe.said();
    assert!(said.contains("alarm: B is later than A") && said.contains("B was later than A by more than 100 ms"));
    assert!(!said.contains(invite(&publisher.ticket)), "{said}");
    let text = probe.rest().join("\n");
    assert!(
        text.contains("B is later than A by ") && text.contains("pictures paired by the clock"),
        "{text}"
    );
    assert!(text.contains("the same way beside itself"), "two sessions: {text}");
    assert!(
        text.contains("video latency, ms"),
        "a session knows the publisher's clock: {text}"
    );
    let beside = rows(&file, "beside", "clock");
    let mut differences: Vec<f64> = beside.iter().map(|row| row[7].parse().expect("a number")).collect();
    differences.sort_unstable_by(f64::total_cmp);
    // A machine that stands still makes both ways late, and this one no less late than the other.
    assert!(differences[differences.len() / 2] > 250.0, "{differences:?}");
    assert!(
        beside.iter().all(|row| row[3] == row[4] && row[9] == "true"),
        "the same numbers of frames"
    );
}

#[test]
fn a_way_that_stands_still_raises_the_alarm_by_its_name_and_is_told_of_when_it_goes_on() {
    let (ours, theirs) = (home(), home());
    let publisher = publish(ours.path(), "test:320x240@25", &[]);
    let hold = Hold::default();
    let port = delaying(Proxy::port_of(&publisher.ticket), Duration::ZERO, &hold);
    let logs = theirs.path().join("logs");
    let mut command = sealcast(theirs.path());
    command.args(["probe", &publisher.ticket, "--log-dir", path(&logs), "--alarm", "1s"]);
    command.args(["--beside", &Proxy::redirect(&publisher.ticket, port)]);
    let mut probe = Program::run("the probe", command);
    let file = logs.join("probe_beside.csv");
    until("A is compared with B", || !rows(&file, "beside", "clock").is_empty());
    let held = hold.lock().expect("nobody failed with it");
    probe.says("alarm: way B stands still, and way A goes on", PATIENCE);
    drop(held);
    probe.says("way B gives pictures again", PATIENCE);
    probe.signal("INT");
    let code = probe.ends(PATIENCE);
    let said = probe.said();
    assert_eq!(code, 10, "{said}");
    assert!(
        said.contains("way=\"B\" since=") && said.contains("stood still"),
        "{said}"
    );
}

/// Writes a picture again and again until its reader has gone.
fn show(jpeg: &[u8], to: &mut impl Write) {
    while to.write_all(jpeg).and_then(|()| to.flush()).is_ok() {
        thread::sleep(Duration::from_millis(40));
    }
}

#[test]
fn still_pictures_without_a_clock_are_refused_with_what_helps() {
    let home = home();
    let mut picture = Picture::black(320, 240);
    for (at, luma) in picture.y.iter_mut().enumerate() {
        *luma = (at % 320 / 2) as u8 + (at / 320 / 4) as u8;
    }
    let jpeg = jpeg::encode(&picture, 85).expect("a JPEG");
    let clip = home.path().join("still.mjpeg");
    std::fs::write(&clip, jpeg.repeat(50)).expect("space");
    let mut command = sealcast(home.path());
    let still = format!("file:{}?loop&fps=25", path(&clip));
    command.args(["probe", "-", "--beside", &still, "--seconds", "30"]);
    let (mut probe, mut input) = Program::run_fed("the probe", command);
    let showing = thread::spawn(move || show(&jpeg, &mut input));
    let code = probe.ends(PATIENCE);
    showing.join().expect("it showed");
    let said = probe.said();
    assert_eq!(code, 3, "{said}");
    assert!(
        said.contains("one stream, decoded twice"),
        "standard input cannot be opened again: {said}"
    );
    assert!(
        said.contains("move something before the camera, or show it `sealcast clock --window`"),
        "{said}"
    );
}

#[test]
fn what_cannot_be_compared_is_said_at_once() {
    let home = home();
    for (arguments, code, words) in [
        (&["test:", "--alarm", "20"][..], 2, "an alarm compares two ways"),
        (&["-", "--beside", "-"], 2, "one way and not two"),
        (&["test:", "--beside", "clip.mp4"], 2, "is not a source"),
        (
            &["test:", "--beside", "test:", "--pair-by", "luck"],
            2,
            "use auto, clock, event or content",
        ),
        (&["test:", "--beside", "@/nonexistent"], 7, "does not exist"),
        (
            &["test:", "--beside", "rtsp://u:hunter2@127.0.0.1:1/front"],
            3,
            "way B, rtsp://u:***@127.0.0.1:1/front: ",
        ),
    ] {
        let output = sealcast(home.path())
            .arg("probe")
            .args(arguments)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(
            said.contains(words) && !said.contains("hunter2"),
            "{arguments:?}: {said}"
        );
    }
}
