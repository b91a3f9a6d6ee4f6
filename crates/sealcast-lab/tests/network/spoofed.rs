//! Datagrams with forged source addresses, on a link where they can be counted: whom they name is not flooded, and who
//! watches does not notice. It needs root and `/dev/net/tun`; where they are missing the test says that it was not run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use sealcast_lab::net::{End, Net, NetConfig, Way};
use socket2::{Domain, Protocol, Socket, Type};

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");
const PORT: u16 = 9553;
/// Addresses of the link's network that nobody has.
const VICTIMS: u8 = 100;
/// Of each kind of forgery.
const EACH: usize = 1000;
/// Datagrams after which the link is waited for.
const AT_ONCE: usize = 50;
/// More than strangers may make a publisher hold, in KiB.
const MOST_GROWTH: u64 = 10 * 1024;
const FRAMES_A_SECOND: u64 = 25;
const PATIENCE: Duration = Duration::from_secs(60);

/// An end of a stream in namespace B; ended when dropped.
struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
    folder: PathBuf,
}

impl Program {
    /// Start the laboratory's publisher (`link-send`) or viewer (`link-receive`).
    fn start(net: &Net, verb: &str, folder: &Path, frames: usize) -> Self {
        let mut command = net.command(End::B, LAB);
        command.args([verb, "--carrier", "sealcast", "--options", "fec=auto&nack=on"]);
        command.args(["--frames", &frames.to_string()]);
        command.args(["--address", &format!("{}:{PORT}", End::B.ipv4())]);
        command.arg("--rows").arg(folder.join(format!("{verb}.csv")));
        command.arg("--metrics").arg(folder.join(format!("{verb}.prom")));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("ip runs");
        Self {
            stdin: child.stdin.take(),
            child,
            folder: folder.to_owned(),
        }
    }

    /// The ticket that the publisher prints.
    fn ticket(&mut self) -> String {
        let mut lines = BufReader::new(self.child.stdout.take().expect("piped")).lines();
        let line = lines.next().expect("a line").expect("text");
        line.strip_prefix("ticket ").expect("a ticket").to_owned()
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().expect("piped"), "{line}").expect("it listens");
    }

    /// Resident memory in KiB.
    fn rss(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")).expect("a size");
        size.trim().parse().expect("a number")
    }

    fn running(&mut self) -> bool {
        self.child.try_wait().expect("our own child").is_none()
    }

    /// Wait until it has ended well; its counters.
    fn ends(&mut self, verb: &str, frames: usize) -> BTreeMap<String, u64> {
        let patience = PATIENCE + Duration::from_secs(frames as u64 / FRAMES_A_SECOND);
        let began = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                break status;
            }
            assert!(began.elapsed() < patience, "{verb} does not end");
            thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{verb}: {status}");
        let text = std::fs::read_to_string(self.folder.join(format!("{verb}.prom"))).expect("metrics");
        let counters = text.lines().filter_map(|line| line.rsplit_once(' '));
        counters
            .filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?)))
            .collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sockets that send from addresses which are not ours, in namespace A.
fn spoofing(net: &Net) -> std::io::Result<Vec<UdpSocket>> {
    let victims = (0..VICTIMS).map(|victim| SocketAddr::from((Ipv4Addr::new(10, 77, 0, 100 + victim), 5000)));
    let namespace = File::open(format!("/run/netns/{}", net.namespace(End::A)))?;
    // The calling thread moves there for good.
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
    let open = |victim: SocketAddr| {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.set_ip_transparent_v4(true)?;
        socket.bind(&victim.into())?;
        Ok(socket.into())
    };
    victims.map(open).collect()
}

/// What strangers can say without having received anything: a knock, a fragment with a guessed cookie, a record of
/// nobody, noise.
fn word(kind: u8, number: usize) -> Vec<u8> {
    let [.., a, b, c, d] = number.wrapping_mul(0x9E37_79B9).to_be_bytes();
    let (begin, length) = match kind {
        0 => ([0x07, b], 64),
        1 => ([0x06, b], 40 + number % 1100),
        2 => ([0x10 + d % 2, c], 5 + number % 1195),
        _ => ([0x40 | a, b], 5 + number % 90),
    };
    let mut word = [&[a, b, c, d][..], &begin].concat();
    word.resize(length, 0);
    if kind == 1 {
        // The only fragment of the first message.
        word[23] = 1;
    }
    word
}

/// Bytes of IP packets that went to the publisher and came from it, once nothing is under way.
fn bytes(net: &Net) -> (u64, u64) {
    let began = Instant::now();
    loop {
        let [up, down] = [Way::Up, Way::Down].map(|way| net.report(way));
        thread::sleep(Duration::from_millis(200));
        let [later, back] = [Way::Up, Way::Down].map(|way| net.report(way).counts);
        if (up.counts.sent, down.counts.sent) == (later.sent, back.sent) {
            assert_eq!(
                (up.unread, down.unread),
                (0, 0),
                "packets were dropped before they were counted"
            );
            return (later.sent_bytes, back.sent_bytes);
        }
        assert!(began.elapsed() < PATIENCE, "the link does not come to rest");
    }
}

/// Send all words of a kind; how many bytes went, and how many went to those who never asked.
fn attack(net: &Net, sockets: &[UdpSocket], kind: u8) -> (u64, u64) {
    let before = bytes(net);
    let taken = net.report(Way::Up).counts.sent;
    for number in 0..EACH {
        let socket = &sockets[number % sockets.len()];
        socket
            .send_to(&word(kind, number), (End::B.ipv4(), PORT))
            .expect("sent");
        if number % AT_ONCE == 0 {
            let began = Instant::now();
            // Nothing may pile up before the link, which would lose it uncounted.
            while net.report(Way::Up).counts.sent < taken + number as u64 {
                assert!(began.elapsed() < PATIENCE, "the link does not take what is sent");
                thread::sleep(Duration::from_millis(1));
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
    let after = bytes(net);
    (after.0 - before.0, after.1 - before.1)
}

/// Datagrams that the system dropped in B because a program did not take them in time.
fn overflowed(net: &Net) -> u64 {
    let output = net
        .command(End::B, "cat")
        .arg("/proc/net/snmp")
        .output()
        .expect("ip runs");
    let counters = String::from_utf8(output.stdout).expect("text");
    let mut rows = counters.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, values) = rows.next().zip(rows.next()).expect("two rows");
    let mut columns = names.split(' ').zip(values.split(' '));
    let (_, count) = columns.find(|(name, _)| *name == "RcvbufErrors").expect("a column");
    count.parse().expect("a number")
}

#[test]
fn forged_source_addresses_are_answered_with_less_than_came_and_nobody_notices() {
    if let Some(failure) = Net::obstacle() {
        println!("not run: {failure}");
        return;
    }
    // On a busy machine the attack may take longer than the stream.
    let done = [300, 1200, 4800].into_iter().any(attacked_during);
    assert!(done, "the attack took longer than every stream");
}

/// Attack a publisher while it sends so many frames; whether it sent frames until the attack was over.
fn attacked_during(frames: usize) -> bool {
    let config = NetConfig {
        name: format!("test-spoofed-{}", std::process::id()),
        ..NetConfig::default()
    };
    let net = Net::start(&config).expect("a link");
    let folder = tempfile::tempdir().expect("a folder");
    // Both ends of the stream are in B, so that the link carries forgeries, and answers to them, alone.
    let mut publisher = Program::start(&net, "link-send", folder.path(), frames);
    let ticket = publisher.ticket();
    let mut viewer = Program::start(&net, "link-receive", folder.path(), frames);
    viewer.say(&ticket);
    thread::sleep(Duration::from_secs(1));
    let memory = publisher.rss();
    let kinds = ["knocks", "fragments", "records", "noise"];
    let attacked = thread::scope(|scope| {
        let attacking = scope.spawn(|| {
            let sockets = spoofing(&net).expect("root may send from any address");
            [0, 1, 2, 3].map(|kind| attack(&net, &sockets, kind))
        });
        attacking.join().expect("the attack goes through")
    });
    if !publisher.running() {
        return false;
    }
    for (kind, (asked, answered)) in kinds.iter().zip(attacked) {
        println!("{kind}: {asked} bytes, {answered} in answer");
        assert!(answered <= asked, "{kind}: {answered} bytes for {asked}");
    }
    assert!(attacked[0].1 > 0 && attacked[2].1 > 0, "the answers are seen here");
    assert_eq!(
        (attacked[1].1, attacked[3].1),
        (0, 0),
        "nothing is said to who shows no cookie"
    );
    let grown = publisher.rss().saturating_sub(memory);
    assert!(grown < MOST_GROWTH, "the publisher grew by {grown} KiB");

    let counters = publisher.ends("link-send", frames);
    // It ends with the stream.
    viewer.ends("link-receive", frames);
    let count = |name: &str| counters[&format!("sealcast_{name}")];
    let overflowed = overflowed(&net);
    println!("the system dropped {overflowed} datagrams");
    assert_eq!(count(r#"handshakes_total{outcome="established"}"#), 1);
    if overflowed == 0 {
        // A session that is begun, and so held, is one that was neither answered nor refused.
        let cookies = count(r#"door_answers_total{kind="cookie"}"#);
        assert!(cookies > EACH as u64, "{cookies}: and the viewer's");
        assert_eq!(count(r#"datagrams_refused_total{reason="stranger"}"#), 2 * EACH as u64);
        assert_eq!(count(r#"datagrams_refused_total{reason="unknown"}"#), EACH as u64);
        let late = count(r#"frames_dropped_total{cause="queue"}"#);
        all_that_was_sent_came(folder.path(), frames, late);
    }
    true
}

/// Fails unless all frames came that the publisher did not drop because they were too late, each once and in order. Two
/// seconds without any end the waiting for them.
fn all_that_was_sent_came(folder: &Path, frames: usize, late: u64) {
    let mut log = csv::Reader::from_path(folder.join("link-receive.csv")).expect("a log");
    let rows: Vec<[u64; 2]> = log
        .records()
        .map(|row| row.expect("a row"))
        .map(|row| [0, 4].map(|column| row[column].parse().expect("a number")))
        .collect();
    assert!(rows.windows(2).all(|pair| pair[0][0] < pair[1][0]), "in order and once");
    let silent = rows.windows(2).any(|pair| pair[1][1] - pair[0][1] > 2_000_000_000);
    let missing = frames - rows.len();
    println!("{missing} frames are missing, {late} were too late");
    assert!(missing as u64 <= late || silent, "{missing} frames are missing");
}
