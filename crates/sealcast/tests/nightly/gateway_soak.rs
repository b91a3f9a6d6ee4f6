//! Hundreds of players that connect to one pair of gateways and leave in every possible way: all their resources are
//! released.

use std::io::Write;
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::Method;
use sealcast_testkit::gateways::{Camera, Packet, Pair, Plain, Player, pair};
use sealcast_testkit::program::{PATIENCE, Program};

/// Players that come and go in one round, after which memory is measured; there are at least two rounds.
/// `SEALCAST_LONG` overrides the number.
const ROUND: usize = 250;
/// Maximum number of them at the same time.
const AT_ONCE: usize = 8;
/// Maximum number of rounds until the gateways' memory stops growing. With a leak it grows in each round.
const MOST_ROUNDS: usize = 10;
/// Growth of a gateway's memory that counts as a leak, in KiB per player.
const LEAK: u64 = 10;
/// Maximum time that any resource outlives its player, on a busy machine. A camera that was only described is kept for
/// 10 s.
const SETTLED: Duration = Duration::from_secs(10 + PATIENCE.as_secs());
/// Number of different packets of the camera, which repeats them.
const PACKETS: usize = 50;

/// Packets whose first byte is their number.
fn packets() -> Vec<Packet> {
    let packet = |at: usize| {
        let filling = (0..100 + at * 20).map(|byte| (byte * 7 + at) as u8);
        ((at % 4) as u8, [at as u8].into_iter().chain(filling).collect())
    };
    (0..PACKETS).map(packet).collect()
}

/// Fails unless the received packets are equal to the sent ones. Datagrams may be missing.
fn assert_sent(came: &[Packet], sent: &[Packet]) {
    for packet in came {
        let number = usize::from(packet.1[0]);
        let (length, channel) = (packet.1.len(), packet.0);
        assert!(
            *packet == sent[number],
            "{length} bytes of packet {number} came on channel {channel}"
        );
    }
}

/// A player connects and leaves, in a way that depends on `number`.
fn come_and_go(port: u16, number: usize, sent: &[Packet]) {
    let plain = if number.is_multiple_of(2) {
        Plain::Tcp
    } else {
        Plain::Udp
    };
    match number % 5 {
        0 => {
            let mut player = Player::watch(port, plain);
            assert_sent(&player.packets(20), sent);
            assert_eq!(player.ask(Method::Teardown, "", &[]).status, 200);
        }
        1 => assert_sent(&Player::watch(port, plain).packets(20), sent),
        2 => {
            let mut player = Player::connect(port, "front", plain);
            assert_eq!(player.ask(Method::Describe, "", &[]).status, 200);
            let transport = [("Transport", "RTP/AVP;unicast;client_port=40000-40001")];
            assert_eq!(player.ask(Method::Setup, "/track0", &transport).status, 200);
        }
        half => {
            let request = format!("DESCRIBE rtsp://127.0.0.1:{port}/front RTSP/1.0\r\nCSeq: 1\r\n\r\n");
            let length = if half == 3 { request.len() } else { request.len() / 2 };
            let mut player = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the gateway listens");
            player.write_all(&request.as_bytes()[..length]).expect("asked");
        }
    }
}

/// Lets players come and go, several at once.
fn many(port: u16, count: usize, sent: &[Packet]) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(number) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count) {
                    come_and_go(port, number, sent);
                }
            });
        }
    });
}

/// System resources that a process holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holdings {
    /// Targets of its file descriptors, without inode numbers.
    files: Vec<String>,
    threads: usize,
    udp_ports: usize,
}

impl Holdings {
    fn of(program: &Program) -> Self {
        let process = Path::new("/proc").join(program.id().to_string());
        let list = |name| {
            std::fs::read_dir(process.join(name))
                .expect("it runs")
                .map_while(Result::ok)
        };
        let targets: Vec<String> = list("fd")
            .filter_map(|entry| std::fs::read_link(entry.path()).ok())
            .map(|target| target.to_string_lossy().into_owned())
            .collect();
        let of_udp = ["net/udp", "net/udp6"].map(|table| std::fs::read_to_string(process.join(table)));
        let inodes = of_udp.iter().flatten().flat_map(|table| table.lines().skip(1));
        let inodes = inodes.filter_map(|line| line.split_whitespace().nth(9));
        let sockets: Vec<String> = inodes.map(|inode| format!("socket:[{inode}]")).collect();
        let udp_ports = targets.iter().filter(|target| sockets.contains(target)).count();
        let kind = |target: String| target.split(":[").next().map(str::to_owned);
        let mut files: Vec<String> = targets.into_iter().filter_map(kind).collect();
        files.sort();
        Self {
            files,
            threads: list("task").count(),
            udp_ports,
        }
    }

    fn of_both(gateways: &Pair) -> [Self; 2] {
        [&gateways.camera.program, &gateways.viewer].map(Self::of)
    }

    /// Holdings of both gateways before any player connects, once the thread that measures their resources has opened
    /// its files.
    fn before_anybody(gateways: &Pair) -> [Self; 2] {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let both = Self::of_both(gateways);
            let opened = |one: &Self| one.files.iter().any(|file| file.ends_with("/statm"));
            if both.iter().all(opened) {
                return both;
            }
            assert!(Instant::now() < deadline, "they do not watch their resources: {both:?}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Resident memory of both gateways, in KiB.
fn memory(gateways: &Pair) -> [u64; 2] {
    [&gateways.camera.program, &gateways.viewer].map(|program| {
        let status = std::fs::read_to_string(format!("/proc/{}/status", program.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.expect("a size").parse().expect("a number")
    })
}

#[test]
fn hundreds_of_players_leave_no_file_no_thread_no_port_and_no_memory_behind() {
    let round = std::env::var("SEALCAST_LONG").map_or(ROUND, |text| text.parse().expect("a number"));
    let sent = packets();
    let camera = Camera::start(Plain::Udp, sent.clone(), true);
    let gateways = pair(&camera.url(), &[], &[]);
    let before = Holdings::before_anybody(&gateways);
    let mut taken = [0; 2];
    let settles = (0..MOST_ROUNDS).any(|number| {
        many(gateways.port, round, &sent);
        let before = std::mem::replace(&mut taken, memory(&gateways));
        println!("after {round} players more, {taken:?} KiB of memory");
        let leak = LEAK * round as u64;
        number > 0 && taken.iter().zip(before).all(|(now, before)| *now < before + leak)
    });
    assert!(settles, "memory goes on growing");

    let began = Instant::now();
    while Holdings::of_both(&gateways) != before && began.elapsed() < SETTLED {
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(Holdings::of_both(&gateways), before);
    for plain in [Plain::Tcp, Plain::Udp] {
        assert_sent(&Player::watch(gateways.port, plain).packets(500), &sent);
    }
}
