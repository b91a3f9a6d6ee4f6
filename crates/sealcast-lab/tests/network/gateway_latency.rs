//! The latency log of a viewer gateway, the shares of the latency that both gateways report, and encryption switched on
//! and off while packets flow. An observer between the gateways forwards, counts and inspects the packets.

use std::cell::RefCell;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::Method;
use sealcast_testkit::attack::{Act, Direction, LENGTH, Proxy, Tap, carries_media, is_frame};
use sealcast_testkit::gateways::{Camera, Packet, Plain, Player, camera_gateway, viewer_gateway};
use sealcast_testkit::media;
use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, free_port, home, number, report, sealcast, succeeds_once,
};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::behind;

/// Content of every packet, which must not be visible on the path.
const MARK: &[u8] = b"what the camera sees is nobody's business but the player's";
/// Upper bound for any part of a packet's latency between two programs of this machine, in µs, however busy it is.
const AT_MOST: f64 = 60e6;
/// Maximum difference of two readings of one machine's clocks, in µs.
const READINGS: f64 = 20_000.0;

/// The flag of a repair record.
const REPAIR: u8 = 0x40;
/// Interval between two looks at the counters; if they are equal, no more packets are arriving.
const SETTLED: Duration = Duration::from_millis(500);
/// Poll interval.
const LOOK: Duration = Duration::from_millis(20);

/// Waits until `happened` returns true.
fn wait_for(what: &str, happened: impl Fn() -> bool) {
    let began = Instant::now();
    while !happened() {
        assert!(began.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        sleep(LOOK);
    }
}

/// A row of the log.
#[derive(Debug, Deserialize)]
struct Row {
    camera: String,
    frame: u64,
    unit: u32,
    bytes: u32,
    carrier: String,
    encrypted: bool,
    repaired: bool,
    sealed_ns: u64,
    arrived_ns: u64,
    opened_ns: u64,
    camera_gateway_us: f64,
    network_us: f64,
    link_us: f64,
    viewer_gateway_us: f64,
    clock_offset_us: f64,
    clock_uncertainty_us: f64,
}

fn rows(dir: &Path) -> Vec<Row> {
    let mut log = csv::Reader::from_path(dir.join("logs/network_latency.csv")).expect("a log");
    log.deserialize().map(|row| row.expect("a whole row")).collect()
}

/// The complete rows of the log while more are written.
fn rows_so_far(dir: &Path) -> Vec<Row> {
    let mut log = csv::Reader::from_path(dir.join("logs/network_latency.csv")).expect("a log");
    log.deserialize().map_while(Result::ok).collect()
}

/// The observer between the gateways.
enum Between {
    Tcp(Proxy),
    Udp(Tap),
    /// None over QUIC, where units are not visible.
    Nobody,
}

impl Between {
    fn new(ticket: &str) -> Self {
        let port = Proxy::port_of(ticket);
        if ticket.contains("transport=quic") {
            Self::Nobody
        } else if ticket.contains("transport=udp") {
            Self::Udp(Tap::start(port, |_, _, datagram| vec![datagram.to_vec()]))
        } else {
            Self::Tcp(Proxy::start(port, |_, message| Act::pass(message)))
        }
    }

    fn ticket(&self, ticket: &str) -> String {
        let port = match self {
            Self::Tcp(proxy) => proxy.port,
            Self::Udp(tap) => tap.port,
            Self::Nobody => return ticket.to_owned(),
        };
        Proxy::redirect(ticket, port)
    }

    /// The messages that the camera gateway sent so far.
    fn seen(&self) -> Vec<Vec<u8>> {
        match self {
            Self::Udp(tap) => {
                let down = tap
                    .seen()
                    .into_iter()
                    .filter(|(direction, _)| *direction == Direction::Down);
                down.map(|(_, datagram)| datagram).collect()
            }
            Self::Tcp(proxy) => {
                let wire = proxy.wire();
                let mut rest = wire
                    .iter()
                    .find(|(direction, _)| *direction == Direction::Down)
                    .map_or(&[][..], |(_, bytes)| bytes);
                let mut messages = Vec::new();
                while let Some(length) = rest.first_chunk::<LENGTH>() {
                    let (message, after) = rest.split_at(LENGTH + u32::from_be_bytes(*length) as usize);
                    messages.push(message.to_vec());
                    rest = after;
                }
                messages
            }
            Self::Nobody => Vec::new(),
        }
    }

    /// Number of units of packets among them. A repetition is the same unit.
    fn units(&self) -> usize {
        let seen = self.seen();
        match self {
            Self::Nobody => 0,
            Self::Tcp(_) => seen.iter().filter(|message| is_frame(message)).count(),
            Self::Udp(_) => {
                let source = |datagram: &&Vec<u8>| carries_media(datagram) && datagram[5] & REPAIR == 0;
                seen.iter().filter(source).collect::<HashSet<_>>().len()
            }
        }
    }

    /// Number of messages, from index `from` on, that contain the mark in clear.
    fn marks(&self, from: usize) -> usize {
        let seen = self.seen();
        let says = |message: &&Vec<u8>| message.windows(MARK.len()).any(|bytes| bytes == MARK);
        seen[from..].iter().filter(says).count()
    }
}

/// A pair of gateways with an observer between them, a camera that never stops, and a player.
struct Scene {
    camera: Publisher,
    viewer: Program,
    player: Player,
    between: Between,
    home: TempDir,
    _source: Camera,
}

impl Scene {
    fn new(listen: &str, camera: &[&str], viewer: &[&str]) -> Self {
        let home = home();
        let source = Camera::start(Plain::Tcp, marked(), true);
        let at = |name: &str| home.path().join(name).to_string_lossy().into_owned();
        let (reports, logs, control) = ([at("camera.json"), at("viewer.json")], at("logs"), at("control"));
        let more = ["--listen", listen, "--report", &reports[0], "--control", &control];
        let camera = camera_gateway(&home.path().join("near"), &source.url(), &[&more, camera].concat());
        let between = Between::new(&camera.ticket);
        let port = free_port();
        let more = ["--report", &reports[1], "--log-dir", &logs, "--metrics", "127.0.0.1:0"];
        let ticket = between.ticket(&camera.ticket);
        let viewer = viewer_gateway(&home.path().join("far"), &ticket, port, &[&more, viewer].concat());
        let player = Player::watch(port, Plain::Tcp);
        Self {
            camera,
            viewer,
            player,
            between,
            home,
            _source: source,
        }
    }

    fn control(&self, words: &str) -> Output {
        let mut command = sealcast(self.home.path());
        command
            .args(["control", "--socket"])
            .arg(self.home.path().join("control"))
            .args(words.split(' '));
        command.output().expect("it runs")
    }

    fn encrypt(&self, selection: &str) {
        let output = self.control(&format!("encrypt {selection}"));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Number of units that the viewer gateway has opened.
    fn opened(&self) -> usize {
        let metrics = self.viewer.metrics();
        let line = "sealcast_stage_seconds_count{stage=\"link\"} ";
        let count = metrics.split_once(line).and_then(|(_, rest)| rest.lines().next());
        count.expect("a histogram").parse().expect("a number")
    }

    /// Stops the player and, once all packets in transit have arrived, the gateways. Returns the log, and the reports
    /// of camera gateway and viewer gateway.
    fn stop(&mut self) -> (Vec<Row>, [Value; 2]) {
        assert_eq!(self.player.ask(Method::Teardown, "", &[]).status, 200);
        let mut counts = (0, 0);
        wait_for_rest(|| {
            let before = std::mem::replace(&mut counts, (self.between.units(), self.opened()));
            let all = matches!(self.between, Between::Nobody) || counts.0 == counts.1;
            (all, before == counts)
        });
        self.viewer.stop();
        self.camera.program.stop();
        let reports = ["camera.json", "viewer.json"].map(|name| report(&self.home.path().join(name)));
        (rows(self.home.path()), reports)
    }
}

/// Waits until `look` reports that all packets have arrived and that nothing changed since the last look. Packets that
/// do not arrive for a long time count as lost.
fn wait_for_rest(mut look: impl FnMut() -> (bool, bool)) {
    let began = Instant::now();
    loop {
        let (all, settled) = look();
        if settled && (all || began.elapsed() > PATIENCE / 4) {
            return;
        }
        sleep(SETTLED);
    }
}

/// Packets of two tracks and several lengths, which contain nothing but the mark.
fn marked() -> Vec<Packet> {
    let packet = |at: usize| ((at % 4) as u8, MARK.repeat(1 + at % 20));
    (0..50).map(packet).collect()
}

/// Checks that every unit has a row, in order, and that none was repaired.
fn in_order(rows: &[Row]) -> Result<(), String> {
    let mut expected = (0, 0);
    for row in rows {
        let place = (row.frame, row.unit);
        if row.repaired || place != expected && place != (expected.0 + 1, 0) {
            return Err(format!("{row:?} where {expected:?} was expected"));
        }
        expected = (row.frame, row.unit + 1);
    }
    Ok(())
}

/// Checks that the values of the rows are possible.
fn check(what: &str, rows: &[Row], carrier: &str) {
    for row in rows {
        assert_eq!((&*row.camera, &*row.carrier), ("front", carrier), "{what}");
        assert!(row.bytes > 40, "{what}: {row:?}");
        let own = [row.camera_gateway_us, row.viewer_gateway_us];
        assert!(own.iter().all(|time| (0.0..AT_MOST).contains(time)), "{what}: {row:?}");
        let between = [row.network_us, row.link_us];
        // As far below 0 as the clocks may be off: the uncertainty is half a 95 % interval.
        let possible = -3.0 * row.clock_uncertainty_us..AT_MOST;
        assert!(between.iter().all(|time| possible.contains(time)), "{what}: {row:?}");
        assert!(
            row.arrived_ns <= row.opened_ns && row.network_us <= row.link_us,
            "{what}: {row:?}"
        );
        assert!(row.clock_uncertainty_us > 0.0, "{what}: {row:?}");
        // Both gateways read the clock of the same machine, so the true latency is known.
        let stamp = row.sealed_ns as f64 + row.clock_offset_us * 1e3;
        let truth = (row.opened_ns as f64 - stamp) / 1e3;
        let off = (row.link_us - truth).abs();
        assert!(
            off <= 3.0 * row.clock_uncertainty_us + READINGS,
            "{what}: {off} µs off in {row:?}"
        );
        assert!(truth > -READINGS, "{what}: {row:?}");
    }
}

#[test]
fn every_sealed_unit_is_a_row_with_its_latency_and_how_sure_that_is() {
    for (listen, unit) in [
        ("tcp://127.0.0.1:0", "frame"),
        ("tcp://127.0.0.1:0", "chunk:128"),
        ("udp://127.0.0.1:0?fec=off", "packet"),
        ("udp://127.0.0.1:0?fec=off", "chunk:128"),
        ("quic://127.0.0.1:0", "packet"),
    ] {
        let what = format!("{listen} {unit}");
        let logs = || log_units(&what, listen, unit);
        assert!(succeeds_once(&what, logs), "{what}: units were lost every time");
    }
}

/// Watches with a log, and compares the log with the units on the wire. Returns an error if units are missing, since
/// datagrams may be lost.
fn log_units(what: &str, listen: &str, unit: &str) -> Result<(), String> {
    let carrier = listen.split(':').next().expect("a scheme");
    let mut scene = Scene::new(listen, &["--unit", unit], &[]);
    let came = scene.player.packets(3000).len() as f64;
    let metrics = scene.viewer.metrics();
    let (rows, [near, far]) = scene.stop();
    check(what, &rows, carrier);
    assert!(rows.iter().all(|row| row.encrypted), "{what}");
    let count = |report: &Value, stage: &str| number(report, &format!("/stages/{stage}/count"));
    assert_eq!(count(&far, "link"), rows.len() as f64, "{what}");
    assert_eq!(number(&far, "/logs/lost_rows"), 0.0, "{what}");
    assert!(count(&far, "deliver") >= came, "{what}");
    assert!(count(&near, "forward") >= count(&far, "deliver"), "{what}");
    let links = [&far, &near, &far].into_iter().zip(["link", "forward", "deliver"]);
    for (report, stage) in links {
        let at = |figure: &str| number(report, &format!("/stages/{stage}/{figure}_ns"));
        let figures = ["min", "p50", "p90", "p99", "max"].map(at);
        // A latency below the uncertainty of the clocks is recorded as 0.
        assert!(
            figures.is_sorted() && (figures[4] > 0.0 || stage == "link"),
            "{what} {stage}: {figures:?}"
        );
    }
    for stage in ["link", "deliver"] {
        let line = format!("sealcast_stage_seconds_count{{stage=\"{stage}\"}} ");
        let (_, counted) = metrics.split_once(&line).expect("a histogram");
        assert!(!counted.starts_with("0\n"), "{what}: {line}");
    }
    let units = scene.between.units();
    let complete = in_order(&rows).and(match scene.between {
        Between::Nobody => Ok(()),
        _ if rows.len() == units => Ok(()),
        _ => Err(format!("{} rows, and {units} units on the wire", rows.len())),
    });
    if carrier == "tcp" {
        assert_eq!(complete, Ok(()), "{what}");
    }
    complete?;
    let frames = 1.0 + rows[rows.len() - 1].frame as f64;
    assert_eq!(number(&far, "/totals/frames_in"), frames, "{what}");
    Ok(())
}

#[test]
fn what_the_network_takes_is_in_neither_gateways_share() {
    let home = home();
    let source = Camera::start(Plain::Tcp, marked(), true);
    let camera = camera_gateway(
        &home.path().join("near"),
        &source.url(),
        &["--listen", "udp://127.0.0.1:0"],
    );
    let (_proxy, ticket) = behind(&camera.ticket, "delay=40ms", 1);
    let port = free_port();
    let logs = home.path().join("logs");
    let logging = ["--log-dir", media::path(&logs)];
    let mut viewer = viewer_gateway(&home.path().join("far"), &ticket, port, &logging);
    let player = Player::watch(port, Plain::Tcp);
    player.packets(2000);
    viewer.stop();
    let rows = rows(home.path());
    for row in &rows {
        // The round trip is 80 ms, and the delay in each direction is unknown.
        assert!(row.clock_uncertainty_us >= 38e3, "{row:?}");
        assert!(row.network_us + row.clock_uncertainty_us > 40e3, "{row:?}");
    }
    // A gateway's share would never be below 40 ms if it contained the network's delay.
    for share in [|row: &Row| row.camera_gateway_us, |row: &Row| row.viewer_gateway_us] {
        let least = rows.iter().map(share).fold(f64::INFINITY, f64::min);
        assert!(least < 40e3, "{least} µs of a gateway");
    }
}

#[test]
fn what_a_camera_sends_as_one_packet_crosses_as_one_datagram() {
    let mut scene = Scene::new("udp://127.0.0.1:0", &["--unit", "packet"], &[]);
    // Wait until path MTU discovery has finished.
    let known = RefCell::new(0);
    wait_for("a packet is one datagram", || {
        scene.player.packets(500);
        let rows = rows_so_far(scene.home.path());
        *known.borrow_mut() = rows.len();
        rows.len() > 200 && rows[rows.len() - 200..].iter().all(|row| row.unit == 0)
    });
    scene.player.packets(1000);
    let (rows, _) = scene.stop();
    let rows = &rows[known.take()..];
    let longest = rows.iter().map(|row| row.bytes).max();
    assert!(
        longest > Some(1200),
        "with what sealing adds the longest packet is longer than {longest:?} bytes"
    );
    let cut = rows.iter().filter(|row| row.unit > 0).count();
    assert_eq!(cut, 0, "of {} units", rows.len());
}

/// The states of encryption in the order of the log, without repetitions.
fn switches(rows: &[Row]) -> Vec<bool> {
    let mut states: Vec<bool> = rows.iter().map(|row| row.encrypted).collect();
    states.dedup();
    states
}

#[test]
fn encryption_goes_off_and_on_while_packets_flow_and_the_log_says_where() {
    for listen in ["tcp://127.0.0.1:0", "udp://127.0.0.1:0"] {
        let mut scene = Scene::new(listen, &[], &[]);
        scene.player.packets(500);
        assert_eq!(scene.between.marks(0), 0, "{listen}: all is encrypted at first");
        let from = scene.between.seen().len();
        scene.encrypt("none");
        let clear = "leaves everything in clear (authenticated, not secret)";
        scene.viewer.says(&format!("the camera gateway {clear}"), PATIENCE);
        scene.camera.program.says(clear, PATIENCE);
        wait_for("in clear it can be read", || scene.between.marks(from) > 100);

        scene.encrypt("all");
        scene.viewer.says("the camera gateway encrypts everything", PATIENCE);
        // Units that were sealed in clear may still be in transit.
        wait_for("all is encrypted again", || {
            let from = scene.between.seen().len();
            wait_for("it flows", || scene.between.seen().len() > from + 100);
            scene.between.marks(from) == 0
        });
        let from = scene.between.seen().len();
        wait_for("it flows", || scene.between.seen().len() > from + 500);
        assert_eq!(scene.between.marks(from), 0, "{listen}: all is encrypted again");

        let (rows, [near, far]) = scene.stop();
        check(listen, &rows, &listen[..3]);
        let opened = number(&far, "/totals/records_opened_in_clear");
        assert_eq!(
            opened,
            rows.iter().filter(|row| !row.encrypted).count() as f64,
            "{listen}"
        );
        let sealed = number(&near, "/totals/records_sealed_in_clear");
        let states = switches(&rows);
        if listen.starts_with("tcp") {
            assert_eq!(in_order(&rows), Ok(()), "{listen}");
            assert_eq!((states, sealed), (vec![true, false, true], opened), "{listen}");
        } else {
            // Datagrams may be lost and sent again.
            assert!(
                states.len() >= 3 && states[0] && states[states.len() - 1],
                "{listen}: {states:?}"
            );
            assert!(sealed >= opened, "{listen}: {sealed} sealed in clear, {opened} opened");
        }
        for report in [near, far] {
            assert_eq!(report["configuration"]["encrypt"], "all", "{listen}");
        }
    }
}

#[test]
fn a_gateway_encrypts_only_by_what_it_can_tell_apart() {
    let scene = Scene::new("tcp://127.0.0.1:0", &["--encrypt", "rate:50"], &[]);
    scene.viewer.says("leaves 50.0 % of its units in clear", PATIENCE);
    for (words, refused) in [
        ("encrypt headers", "a gateway does not read what cameras send"),
        ("encrypt keyframes", "a gateway does not read what cameras send"),
        ("keyframe", "a gateway cannot ask a camera for a keyframe"),
    ] {
        let output = scene.control(words);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(refused), "{words}: {said}");
    }
    let status = scene.control("status");
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(status.starts_with("ok encrypt=rate:50 viewers=1 "), "{status}");
    assert!(scene.control("rekey").status.success());
    scene.player.packets(500);

    let home = home();
    let mut command = sealcast(home.path());
    command.args([
        "gateway",
        "camera",
        "--camera",
        "rtsp://127.0.0.1/1",
        "--encrypt",
        "headers",
    ]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("nothing that a gateway can encrypt"), "{said}");
}

#[test]
fn a_viewer_gateway_that_was_told_nothing_refuses_what_comes_in_clear() {
    let (home, far) = (home(), home());
    let source = Camera::start(Plain::Tcp, marked(), true);
    let camera = camera_gateway(home.path(), &source.url(), &[]);
    // The proxy marks every third frame as in clear.
    let proxy = Proxy::start(Proxy::port_of(&camera.ticket), |seen, mut message| {
        if is_frame(&message) && seen.number % 3 == 0 {
            message[LENGTH + 1] &= !1;
        }
        Act::pass(message)
    });
    let file = far.path().join("viewer.json");
    let port = free_port();
    let mut viewer = viewer_gateway(
        far.path(),
        &proxy.ticket(&camera.ticket),
        port,
        &["--report", media::path(&file)],
    );
    let player = Player::watch(port, Plain::Tcp);
    // The gateway prints this for the first such record, the second, the fourth, and so on.
    let words = "refused a record in clear: the camera gateway has not said that it leaves any";
    viewer.says_times(words, 5, PATIENCE);
    player.packets(500);
    viewer.stop();
    let report = report(&file);
    assert!(number(&report, "/totals/open_failures/cleartext") >= 16.0);
    assert_eq!(number(&report, "/totals/records_opened_in_clear"), 0.0);
}

#[test]
fn a_log_that_finds_no_room_any_more_is_said_and_the_stream_goes_on() {
    let (near, far) = (home(), home());
    let source = Camera::start(Plain::Tcp, marked(), true);
    let camera = camera_gateway(near.path(), &source.url(), &[]);
    let (port, logs, file) = (free_port(), far.path().join("logs"), far.path().join("viewer.json"));
    let mut gateway = sealcast(far.path());
    let rtsp = format!("127.0.0.1:{port}");
    gateway.args(["gateway", "viewer", "--peer", &camera.ticket, "--rtsp", &rtsp]);
    gateway.args([
        "--rtsp-open",
        "--log-dir",
        media::path(&logs),
        "--report",
        media::path(&file),
    ]);
    // No file may grow beyond 64 KiB, or 128 KiB if the shell counts in KiB. To the program that is a full disk.
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 128; exec \"$0\" \"$@\""]);
    command.arg(gateway.get_program()).args(gateway.get_args());
    for (name, value) in gateway.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut viewer = Program::run("the viewer gateway", command);
    viewer.says("linked to the camera gateway", PATIENCE);
    let player = Player::watch(port, Plain::Tcp);
    viewer.says("the stream goes on without this log", PATIENCE);
    viewer.says("network_latency.csv cannot be written any more", PATIENCE);
    assert!(player.receives());
    player.packets(1000);
    viewer.stop();
    let report = report(&file);
    assert!(number(&report, "/logs/lost_rows") > 0.0);
    assert!(
        report["logs"]["failure"]
            .as_str()
            .is_some_and(|words| words.contains("network_latency.csv"))
    );
    assert!(number(&report, "/stages/link/count") > number(&report, "/logs/rows"));
}
