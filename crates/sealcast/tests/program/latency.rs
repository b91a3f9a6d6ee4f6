//! `sealcast clock` and `sealcast probe`: events on a display, and the latency of video that shows them.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sealcast::codec::jpeg;
use sealcast::media::Picture;
use sealcast::run::Clock;
use sealcast::run::events::register;
use sealcast::source::test_card::{self, CardClock, CardPainter, read_clock};
use sealcast_proto::clock::Now;
use sealcast_proto::events::{EventClient, EventKeys, EventReport, EventTicket};
use sealcast_proto::wire::Invite;
use sealcast_testkit::browser;
use sealcast_testkit::media::{ffmpeg, path};
use sealcast_testkit::page::Page;
use sealcast_testkit::program::{PATIENCE, Program, home, publish, sealcast, until, write_private};
use sealcast_testkit::servers::gstreamer;
use serde_json::Value;

const TOKEN: &str = "token-of-the-clock";

/// A running clock, its page, and its ticket.
struct RunningClock {
    program: Program,
    page: Page,
    ticket: EventTicket,
    home: tempfile::TempDir,
}

/// The command of a clock with a free port for events, and the file of its ticket.
fn clock_command(home: &Path, period: &str) -> (Command, PathBuf) {
    let ticket = home.join("ticket");
    let mut command = sealcast(home);
    command.args(["clock", "--events", "127.0.0.1:0", "--period", period]);
    command.args(["--ticket-file", path(&ticket)]);
    (command, ticket)
}

fn read_ticket(file: &Path) -> EventTicket {
    let text = std::fs::read_to_string(file).expect("a ticket");
    text.trim().parse().unwrap_or_else(|error| panic!("{error}"))
}

fn clock(period: &str) -> RunningClock {
    let home = home();
    let token = home.path().join("token");
    write_private(&token, TOKEN);
    let (mut command, ticket) = clock_command(home.path(), period);
    command.args(["--page", &format!("http://127.0.0.1:0?token=@{}", path(&token))]);
    let program = Program::run("the clock", command);
    let line = program.line();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let page = Page {
        address: address.and_then(|text| text.parse().ok()).expect("an address"),
        token: TOKEN.to_owned(),
    };
    RunningClock {
        program,
        page,
        ticket: read_ticket(&ticket),
        home,
    }
}

fn wall_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    since.as_micros() as u64
}

/// The reports that a client of this ticket gets.
fn reports(ticket: &EventTicket) -> (Receiver<EventReport>, sealcast::run::events::Registered) {
    let (sender, reports) = channel();
    let feed = move |report| sender.send(report).is_ok();
    let registered = register(ticket, Clock::default(), feed).expect("the server answers");
    (reports, registered)
}

/// A picture file as a raw picture, by another program.
fn picture(file: &Path, width: usize, height: usize) -> Picture {
    picture_of(&["-i", path(file)], width, height)
}

/// The first picture of an input of ffmpeg.
fn picture_of(input: &[&str], width: usize, height: usize) -> Picture {
    let raw = Command::new("ffmpeg")
        .args(["-loglevel", "error"])
        .args(input)
        .args(["-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-"])
        .output()
        .expect("ffmpeg does not start; `cargo xtask test` installs it")
        .stdout;
    assert_eq!(raw.len(), width * height * 3 / 2, "a picture of that size");
    let (y, chroma) = raw.split_at(width * height);
    let (u, v) = chroma.split_at(chroma.len() / 2);
    Picture {
        width,
        height,
        y: y.to_vec(),
        u: u.to_vec(),
        v: v.to_vec(),
    }
}

#[test]
fn what_a_browser_draws_is_read_back_and_what_it_reports_reaches_who_has_the_ticket() {
    let mut clock = clock("500");
    let (reports, registered) = reports(&clock.ticket);
    let began = wall_us();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clock.png");
    let mut read = None;
    let output = browser::screenshot(&clock.page.url(), &file, |_| {
        read = read_clock(&picture(&file, 1280, 800));
        read.is_some_and(|strip| strip.event > 0)
    });
    let ended = wall_us();
    let strip = read.expect("the strip of docs/test-card.md");
    assert!(strip.event > 0, "an event is shown");
    assert!((began..=ended).contains(&strip.wall_us), "{began} {strip:?} {ended}");
    let report = reports.recv_timeout(PATIENCE).expect("a report");
    let shown = report.shown / 1000;
    assert!((began..=ended).contains(&shown), "{began} {report:?} {ended}");
    assert!(report.event > 0 && report.uncertainty > 0, "{report:?}");
    let counts = registered.stop();
    assert_eq!((counts.lost, counts.refused), (0, 0), "{counts:?}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!errors.contains("CONSOLE") || !errors.contains("rror"), "{errors}");
    clock.program.stop();
}

#[test]
fn a_window_shows_the_same_on_a_display_and_none_is_said_in_words() {
    let mut command = Command::new("Xvfb");
    command.args(["-displayfd", "1", "-screen", "0", "640x480x24", "-nolisten", "tcp"]);
    let screen = Program::run("the display", command);
    let display = format!(":{}", screen.line());
    let home = home();
    let (mut command, ticket) = clock_command(home.path(), "500");
    let mut clock = Program::run("the clock", {
        command.arg("--window").env("DISPLAY", &display);
        command
    });
    clock.says("the clock", PATIENCE);
    let (reports, registered) = reports(&read_ticket(&ticket));
    let began = wall_us();
    let mut seen = Vec::new();
    until("the window shows two events", || {
        let grab = ["-f", "x11grab", "-video_size", "640x480", "-i", &display];
        let strip = read_clock(&picture_of(&grab, 640, 480));
        seen.extend(strip.filter(|strip| strip.event > 0 && strip.wall_us >= began));
        seen.first().map(|strip| strip.event) < seen.last().map(|strip| strip.event)
    });
    let ended = wall_us();
    assert!(seen.iter().all(|strip| strip.wall_us <= ended), "{seen:?}");
    let (first, last) = (seen[0].event, seen[seen.len() - 1].event);
    let told: Vec<EventReport> = std::iter::from_fn(|| reports.recv_timeout(PATIENCE).ok())
        .take_while(|report| report.event <= last)
        .collect();
    assert!(
        told.iter().any(|report| (first..=last).contains(&report.event)),
        "{told:?}"
    );
    assert!(
        told.iter()
            .all(|report| report.uncertainty > 0 && report.shown / 1000 <= wall_us())
    );
    assert_eq!(registered.stop().lost, 0);
    clock.stop();
    let (mut command, _) = clock_command(&home.path().join("other"), "500");
    let output = command.arg("--window").env_remove("DISPLAY").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(said.contains("no X display") && said.contains("--window"), "{said}");
}

#[test]
fn the_page_needs_its_token_and_takes_each_event_once_from_one_display() {
    let clock = clock("200");
    let (head, page) = clock.page.get("/");
    assert!(
        head.starts_with("http/1.1 200") && head.contains("default-src 'none'"),
        "{head}"
    );
    let page = String::from_utf8_lossy(&page).into_owned();
    assert!(
        !page.contains("http:") && !page.contains("https:"),
        "nothing comes from elsewhere"
    );
    let stranger = Page {
        token: "another-token-than-that".to_owned(),
        ..clock.page.clone()
    };
    assert!(stranger.get("/time").0.starts_with("http/1.1 403"));
    let (event, due) = next_event(&clock.page, 0);
    let shown = |display: u32, event: u32, at: u64| {
        let body = format!("{{\"display\":{display},\"event\":{event},\"shown\":{at},\"uncertainty\":900}}");
        clock.page.send("POST", "/shown", &body)
    };
    assert!(stranger.send("POST", "/shown", "{}").starts_with("http/1.1 403"));
    for wrong in ["", "{}", "{\"display\":1}", &" ".repeat(300)] {
        assert!(
            clock.page.send("POST", "/shown", wrong).starts_with("http/1.1 4"),
            "{wrong}"
        );
    }
    assert!(shown(1, event + 1000, due).starts_with("http/1.1 400"), "no such event");
    assert!(shown(1, event, due).starts_with("http/1.1 204"));
    assert!(shown(1, event, due).starts_with("http/1.1 409"), "it was reported");
    let (next, due) = next_event(&clock.page, event);
    assert!(
        shown(2, next, due).starts_with("http/1.1 204"),
        "the newest page is the display"
    );
    let (next, due) = next_event(&clock.page, next);
    assert!(
        shown(1, next, due).starts_with("http/1.1 409"),
        "and not the one before it"
    );
}

/// Number and time of an event after this one.
fn next_event(page: &Page, after: u32) -> (u32, u64) {
    let (_, body) = page.get("/time");
    let time: Value = serde_json::from_slice(&body).expect("JSON");
    assert!(time["received"].as_u64() <= time["sent"].as_u64());
    let events = time["events"].as_array().expect("a list");
    let mut events = events.iter().map(|event| {
        let number = event[0].as_u64().expect("a number");
        (number as u32, event[1].as_u64().expect("a time"))
    });
    events
        .find(|event| event.0 > after)
        .expect("three seconds hold another event")
}

#[test]
fn the_events_port_is_silent_to_who_has_no_ticket() {
    let clock = clock("200");
    let stranger = UdpSocket::bind("127.0.0.1:0").expect("a port");
    stranger
        .connect(("127.0.0.1", clock.ticket.address.port))
        .expect("connected");
    let mut other = EventClient::new(EventKeys::new(&Invite::new([1; 16])), [2; 8]);
    let now = Now {
        monotonic: Duration::ZERO,
        wall: 1,
    };
    let asked = other.poll(now).expect("an ask");
    for datagram in [&b""[..], b"sealcast", &[0; 228], &[1; 1400], &asked] {
        stranger.send(datagram).expect("sent");
    }
    // The server takes datagrams in order: when it has answered this client, it has seen those before.
    let (_, registered) = reports(&clock.ticket);
    stranger.set_nonblocking(true).expect("our own socket");
    let heard = stranger.recv(&mut [0; 2048]);
    assert!(heard.is_err(), "the port answered a stranger");
    assert!(registered.stop().answered > 0);
}

/// A display and a camera in one: it shows the clock's events in its pictures, which it delivers `delay` later.
fn film(clock: &Page, delay: Duration, events: usize, mut to: impl Write) {
    let mut painter = CardPainter::new(640, 480).expect("a painter");
    let (mut shown, mut seen) = (0, 0);
    while seen < events {
        let (_, body) = clock.get("/time");
        let time: Value = serde_json::from_slice(&body).expect("JSON");
        let now = wall_us();
        let due = time["events"].as_array().expect("a list").iter().filter_map(|event| {
            let number = event[0].as_u64().expect("a number") as u32;
            (number > shown && event[1].as_u64().expect("a time") <= now).then_some(number)
        });
        let new = due.max();
        if let Some(event) = new {
            shown = event;
            seen += 1;
        }
        let picture = painted(&mut painter, shown, now);
        if let Some(event) = new {
            let body = format!("{{\"display\":1,\"event\":{event},\"shown\":{now},\"uncertainty\":1000}}");
            let answer = clock.send("POST", "/shown", &body);
            assert!(answer.starts_with("http/1.1 204"), "{answer}");
        }
        let frame = jpeg::encode(&picture, 85).expect("a JPEG");
        // What is late on a busy machine is only later.
        let wait = delay.saturating_sub(Duration::from_micros(wall_us() - now));
        thread::sleep(wait);
        to.write_all(&frame).and_then(|()| to.flush()).expect("the probe reads");
    }
}

/// Red, green, blue, yellow, magenta, cyan, as the page shows them, above the card's clock.
fn painted(painter: &mut CardPainter, event: u32, wall_us: u64) -> Picture {
    const COLOURS: [[u8; 3]; 6] = [
        [82, 90, 240],
        [145, 54, 34],
        [41, 240, 110],
        [210, 16, 146],
        [107, 202, 222],
        [169, 166, 16],
    ];
    let mut picture = painter.paint(CardClock { event, wall_us }, Duration::ZERO).clone();
    let [y, u, v] = COLOURS[event as usize % 6];
    let (all, chroma) = (picture.y.len() / 2, picture.u.len() / 2);
    picture.y[..all].fill(y);
    picture.u[..chroma].fill(u);
    picture.v[..chroma].fill(v);
    picture
}

/// The rows of a CSV file, each by its columns.
fn rows(file: &Path) -> Vec<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(file).expect("a log");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let header: Vec<String> = lines.next().expect("a header").collect();
    lines.map(|line| header.iter().cloned().zip(line).collect()).collect()
}

/// The rows so far of a file that is being written: at first it does not exist, then it is empty.
fn rows_so_far(file: &Path) -> Vec<BTreeMap<String, String>> {
    let begun = std::fs::metadata(file).is_ok_and(|found| found.len() > 0);
    if begun { rows(file) } else { Vec::new() }
}

fn value(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

#[test]
fn events_are_found_by_colour_and_by_clock_and_joined_with_what_the_server_said() {
    const EVENTS: usize = 8;
    let clock = clock("600");
    let logs = clock.home.path().join("logs");
    let ticket = clock.home.path().join("ticket");
    let mut command = sealcast(clock.home.path());
    command.args(["probe", "-", "--events", &format!("@{}", path(&ticket))]);
    command.args(["--log-dir", path(&logs)]);
    let (mut probe, input) = Program::run_fed("the probe", command);
    let delay = Duration::from_millis(250);
    film(&clock.page, delay, EVENTS, input);
    probe.succeeds(PATIENCE);
    let table = probe.rest().join("\n");
    let found = rows(&logs.join("probe_events.csv"));
    // The colours are learnt from the first pictures, so the first events are found by their clock alone.
    for (by, least) in [("clock", EVENTS - 1), ("colour", EVENTS - 4)] {
        let joined: Vec<_> = found
            .iter()
            .filter(|row| row["by"] == by && !row["latency_ms"].is_empty())
            .collect();
        assert!(joined.len() >= least, "{by}: {found:?}\n{table}");
        for row in joined {
            let (latency, uncertainty) = (value(row, "latency_ms"), value(row, "uncertainty_ms"));
            assert!(
                latency + uncertainty >= 250.0,
                "no picture was seen before it came: {row:?}"
            );
            assert!(uncertainty >= 1.0, "the display's own bound is part of it: {row:?}");
            assert!(value(row, "examining_us") > 0.0);
        }
    }
    let by_event = |by: &str| -> BTreeMap<String, String> {
        let of = found.iter().filter(|row| row["by"] == by);
        of.map(|row| (row["event"].clone(), row["frame"].clone())).collect()
    };
    let by_clock = by_event("clock");
    for (event, frame) in by_event("colour") {
        assert_eq!(
            by_clock.get(&event),
            Some(&frame),
            "both ways find event {event} in the same frame"
        );
    }
    let frames = rows(&logs.join("probe_frames.csv"));
    assert!(
        frames
            .iter()
            .all(|row| row["clock"] == "events" && !row["latency_ms"].is_empty())
    );
    assert!(table.contains("queues: 0 pictures lost"), "{table}");
    assert!(
        table.contains(&format!("frames: {0} came, {0} decoded, {0} examined", frames.len())),
        "{table}"
    );
    // Only the first one may have been shown before the probe had begun to ask, as for its clock above.
    let clocked = found.iter().filter(|row| row["by"] == "clock");
    let unreported: Vec<bool> = clocked.map(|row| row["latency_ms"].is_empty()).collect();
    assert!(!unreported.iter().skip(1).any(|&missing| missing), "{found:?}");
    let count = usize::from(unreported[0]);
    let words = format!(" {count} events seen that it did not report");
    assert!(table.contains(&words), "{table}");
}

#[test]
fn a_pipe_with_a_clock_in_its_pictures_needs_no_display() {
    const FRAMES: u64 = 40;
    for codec in ["h264", "mjpeg"] {
        let home = home();
        let logs = home.path().join("logs");
        let mut command = sealcast(home.path());
        command.args(["probe", "-", "--log-dir", path(&logs)]);
        let (mut probe, mut input) = Program::run_fed("the probe", command);
        let spec = format!("320x240@50?codec={codec}&frames={FRAMES}");
        let mut card = test_card::open(&spec).expect("a card");
        while let Some(frame) = card.next().expect("a frame") {
            input
                .write_all(&frame.data)
                .and_then(|()| input.flush())
                .expect("the probe reads");
        }
        drop(input);
        probe.succeeds(PATIENCE);
        let table = probe.rest().join("\n");
        let frames = rows(&logs.join("probe_frames.csv"));
        assert_eq!(frames.len() as u64, FRAMES, "{table}");
        for row in &frames {
            assert!(value(row, "latency_ms") >= 0.0, "both read one clock: {row:?}");
            assert_eq!(row["clock"], "same");
            assert!(value(row, "decode_us") > 0.0 && row["uncertainty_ms"].is_empty());
        }
        assert!(
            table.contains(&format!("frames: {FRAMES} came, {FRAMES} decoded, {FRAMES} examined")),
            "{table}"
        );
        assert!(rows(&logs.join("probe_events.csv")).is_empty());
    }
}

#[test]
fn a_publisher_is_measured_by_its_clock_and_by_its_capture_stamps() {
    let (ours, theirs) = (home(), home());
    let publisher = publish(ours.path(), "test:320x240@25", &[]);
    let logs = theirs.path().join("logs");
    let mut command = sealcast(theirs.path());
    command.args(["probe", &publisher.ticket, "--log-dir", path(&logs)]);
    let mut probe = Program::run("the probe", command);
    let frames = || rows_so_far(&logs.join("probe_frames.csv"));
    let complete = |row: &BTreeMap<String, String>| row.len() == 14 && !row["examining_us"].is_empty();
    until("the probe has logged frames with capture stamps", || {
        let rows = frames();
        rows.iter()
            .filter(|row| complete(row) && !row["capture_latency_ms"].is_empty())
            .count()
            > 30
    });
    probe.stop();
    let measured = frames();
    for row in measured.iter().filter(|row| row["clock"] == "session") {
        let by_clock = value(row, "latency_ms") + value(row, "uncertainty_ms");
        let by_stamp = value(row, "capture_latency_ms") + value(row, "capture_uncertainty_ms");
        assert!(by_clock >= 0.0 && by_stamp >= 0.0, "{row:?}");
    }
    let table = probe.rest().join("\n");
    assert!(
        table.contains("frames, by capture stamp") && table.contains("queues: 0 pictures lost"),
        "{table}"
    );
    assert!(!table.contains("event server:"), "{table}");
}

#[test]
fn a_camera_of_another_vendor_is_measured_by_the_clock_in_its_picture() {
    let home = home();
    let (raw, film) = (home.path().join("card.h264"), home.path().join("card.mp4"));
    let mut recorded = Vec::new();
    let mut card = test_card::open("320x240@25?frames=75").expect("a card");
    while let Some(frame) = card.next().expect("a frame") {
        recorded.extend_from_slice(&frame.data);
    }
    let ended = wall_us();
    std::fs::write(&raw, recorded).expect("space");
    ffmpeg(&["-r", "25", "-i", path(&raw), "-c", "copy", path(&film)]);
    let camera = gstreamer(&film, &[]);
    let logs = home.path().join("logs");
    let mut command = sealcast(home.path());
    command.args([
        "probe",
        &format!("{}?transport=tcp", camera.url()),
        "--log-dir",
        path(&logs),
    ]);
    let mut probe = Program::run("the probe", command);
    let file = logs.join("probe_frames.csv");
    until("the probe has read the camera's clock", || {
        let complete = |row: &&BTreeMap<String, String>| row.len() == 14 && !row["latency_ms"].is_empty();
        rows_so_far(&file).iter().filter(complete).count() > 30
    });
    probe.stop();
    for row in rows(&file).iter().filter(|row| !row["latency_ms"].is_empty()) {
        let decoded = value(row, "strip_ns") / 1e3 + value(row, "latency_ms") * 1e3;
        assert!(decoded > ended as f64, "it was recorded before it was played: {row:?}");
    }
}

#[test]
fn a_probe_says_what_it_lacks() {
    let home = home();
    let secret = home.path().join("events");
    write_private(&secret, "sealcast-events://127.0.0.1:1#nonsense");
    let run = |arguments: &[&str]| {
        let output = sealcast(home.path())
            .arg("probe")
            .args(arguments)
            .output()
            .expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code().unwrap_or(-1), said)
    };
    for (arguments, code, words) in [
        (&[][..], 2, "nothing to measure"),
        (&["clip.mp4"], 2, "is not a source"),
        (&["@/nonexistent"], 7, "does not exist"),
        (
            &["test:", "--events", "sealcast-events://h:1#x"],
            2,
            "must be in a file",
        ),
        (
            &["test:", "--events", &format!("@{}", path(&secret))],
            7,
            "no ticket of an event server",
        ),
    ] {
        let (found, said) = run(arguments);
        assert_eq!(found, code, "{arguments:?}: {said}");
        assert!(
            said.contains(words) && !said.contains("nonsense"),
            "{arguments:?}: {said}"
        );
    }
    let output = sealcast(home.path())
        .args(["clock", "--period", "5"])
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}
