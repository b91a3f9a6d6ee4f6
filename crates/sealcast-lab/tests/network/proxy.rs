//! The proxies, with real sockets at both ends.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_lab::proxy::{Direction, Links, Running, Tap, TcpProxy, UdpProxy};

const LAB: &str = env!("CARGO_BIN_EXE_sealcast-lab");

/// Time limit for anything, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

fn links(profile: &str, seed: u64) -> Links {
    Links::both(profile.parse().expect("a profile"), seed)
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind(HERE).expect("a port");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket option");
    socket
}

/// A UDP server that sends every datagram back, until it receives an empty one.
fn echo() -> SocketAddr {
    let socket = socket();
    let address = socket.local_addr().expect("bound");
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            if length == 0 {
                return;
            }
            socket.send_to(&buffer[..length], from).expect("sent");
        }
    });
    address
}

fn proxy(to: SocketAddr, links: Links) -> UdpProxy {
    UdpProxy::start(HERE.into(), to, links).expect("a proxy")
}

/// Waits until `so` returns true.
fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < PATIENCE, "{what} does not come true");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn datagrams_are_lost_as_often_as_the_profile_says_and_arrive_otherwise() {
    const SENT: u32 = 2000;
    let server = socket();
    let proxy = proxy(server.local_addr().expect("bound"), links("loss=20%", 5));
    let client = socket();
    client.connect(proxy.address()).expect("an address");
    let mut received = Vec::new();
    let mut buffer = [0; 64];
    for number in 0..SENT {
        client.send(&number.to_be_bytes()).expect("sent");
        // Wait for each datagram: the kernel's buffers must not overflow, since that would lose datagrams too.
        until("the datagram's arrival at the proxy", || {
            proxy.counts(Direction::Up).sent == u64::from(number) + 1
        });
        until("its delivery", || proxy.counts(Direction::Up).in_flight == 0);
        while u64::try_from(received.len()).expect("small") < proxy.counts(Direction::Up).delivered {
            let length = server.recv(&mut buffer).expect("what was delivered arrives");
            received.push(u32::from_be_bytes(buffer[..length].try_into().expect("a number")));
        }
    }
    // Five standard deviations are 89.
    assert!(
        (1511..1689).contains(&received.len()),
        "{} of {SENT} arrived",
        received.len()
    );
    assert!(
        received.windows(2).all(|pair| pair[0] < pair[1]),
        "without jitter they stay in order"
    );
    assert_eq!(
        proxy.counts(Direction::Up).lost,
        u64::from(SENT) - received.len() as u64
    );
}

#[test]
fn an_answer_takes_at_least_as_long_as_both_delays() {
    let proxy = proxy(echo(), links("delay=15ms", 1));
    let client = socket();
    client.connect(proxy.address()).expect("an address");
    let mut buffer = [0; 64];
    for number in 0..5_u8 {
        let sent = Instant::now();
        client.send(&[number]).expect("sent");
        assert_eq!(client.recv(&mut buffer).expect("an answer"), 1);
        assert_eq!(buffer[0], number);
        assert!(sent.elapsed() >= Duration::from_millis(30), "{:?}", sent.elapsed());
    }
}

#[test]
fn each_client_gets_its_own_answers() {
    let proxy = proxy(echo(), links("perfect", 1));
    let clients: Vec<UdpSocket> = (0..5).map(|_| socket()).collect();
    for (number, client) in (0..).zip(&clients) {
        client.send_to(&[number; 3], proxy.address()).expect("sent");
    }
    for (number, client) in (0..).zip(&clients) {
        let mut buffer = [0; 64];
        let (length, from) = client.recv_from(&mut buffer).expect("an answer");
        assert_eq!((&buffer[..length], from), (&[number; 3][..], proxy.address()));
    }
}

#[test]
fn a_change_holds_for_clients_that_are_there() {
    let proxy = proxy(echo(), links("perfect", 1));
    let client = socket();
    client.connect(proxy.address()).expect("an address");
    let mut buffer = [0; 64];
    client.send(b"one").expect("sent");
    assert_eq!(client.recv(&mut buffer).expect("an answer"), 3);
    proxy
        .change(Direction::Down, "loss=100%".parse().expect("a profile"))
        .expect("any profile will do");
    client.send(b"two").expect("sent");
    until("the loss of the answer", || proxy.counts(Direction::Down).lost == 1);
    client.set_nonblocking(true).expect("a socket option");
    assert_eq!(
        client.recv(&mut buffer).expect_err("nothing").kind(),
        ErrorKind::WouldBlock
    );
}

/// A TCP server that accepts one connection, reads it to its end, and sends the same bytes back.
fn tcp_echo() -> SocketAddr {
    let listener = TcpListener::bind(HERE).expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut said = Vec::new();
        stream.read_to_end(&mut said).expect("all of it");
        stream.write_all(&said).expect("sent");
    });
    address
}

#[test]
fn a_tap_sees_lengths_and_directions_of_packets_that_pass_and_of_those_that_are_lost() {
    let tap = Tap::default();
    let links = Links {
        up: "loss=100%".parse().expect("a profile"),
        ..Links::default()
    };
    let listening = Links {
        tap: Some(tap.clone()),
        ..Links::default()
    };
    let passing = proxy(echo(), listening);
    let socket = socket();
    for length in [100, 1200, 7] {
        socket.send_to(&vec![9; length], passing.address()).expect("sent");
        let received = socket.recv(&mut [0; 2000]).expect("it comes back");
        assert_eq!(received, length);
    }
    let seen: Vec<_> = tap
        .passed()
        .iter()
        .map(|passed| (passed.bytes, passed.direction))
        .collect();
    let both = |bytes| [(bytes, Direction::Up), (bytes, Direction::Down)];
    assert_eq!(seen, [100, 1200, 7].map(both).concat());
    assert!(tap.passed().is_sorted_by_key(|passed| passed.at_ns));

    let tap = Tap::default();
    let losing = Links {
        tap: Some(tap.clone()),
        ..links
    };
    let losing = proxy(echo(), losing);
    socket.send_to(&[9; 55], losing.address()).expect("sent");
    until("what is lost passes the tap", || !tap.passed().is_empty());
    assert_eq!(tap.passed()[0].bytes, 55);
}

#[test]
fn a_tap_counts_every_byte_of_a_stream() {
    let tap = Tap::default();
    let links = Links {
        tap: Some(tap.clone()),
        ..Links::default()
    };
    let proxy = TcpProxy::start(HERE.into(), tcp_echo(), links).expect("a proxy");
    let mut stream = TcpStream::connect(proxy.address()).expect("a connection");
    stream.write_all(&[3; 100_000]).expect("sent");
    stream.shutdown(std::net::Shutdown::Write).expect("a connection");
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("all of it");
    let sum = |direction| {
        let passed = tap.passed().into_iter().filter(|passed| passed.direction == direction);
        passed.map(|passed| passed.bytes).sum::<u32>()
    };
    assert_eq!(
        (back.len(), sum(Direction::Up), sum(Direction::Down)),
        (100_000, 100_000, 100_000)
    );
}

#[test]
fn a_stream_arrives_whole_late_and_no_faster_than_its_rate() {
    let links = Links {
        up: "delay=20ms jitter=10ms rate=8mbit queue=10kB"
            .parse()
            .expect("a profile"),
        down: "delay=20ms".parse().expect("a profile"),
        seed: 1,
        tap: None,
    };
    let proxy = TcpProxy::start(HERE.into(), tcp_echo(), links).expect("a proxy");
    let data: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
    let began = Instant::now();
    let mut stream = TcpStream::connect(proxy.address()).expect("a connection");
    let mut writer = stream.try_clone().expect("a descriptor");
    let sent = data.clone();
    thread::spawn(move || {
        writer.write_all(&sent).expect("sent");
        writer.shutdown(std::net::Shutdown::Write).expect("ended");
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).expect("the answer");
    assert!(back == data, "{} of {} bytes came back", back.len(), data.len());
    // 400 kB at 8 Mbit/s take 400 ms, and the delay of the path is at least 30 ms.
    assert!(began.elapsed() >= Duration::from_millis(430), "{:?}", began.elapsed());
    assert_eq!(proxy.counts(Direction::Up).delivered_bytes, 400_000);
}

#[test]
fn a_stream_cannot_lose_packets() {
    let refused = TcpProxy::start(HERE.into(), tcp_echo(), links("loss=1%", 1))
        .err()
        .expect("it makes no sense");
    assert!(
        refused.to_string().contains("`loss` makes no sense for a byte stream"),
        "{refused}"
    );
    let proxy = TcpProxy::start(HERE.into(), tcp_echo(), links("perfect", 1)).expect("a proxy");
    assert!(
        proxy
            .change(Direction::Up, "mtu=1280".parse().expect("a profile"))
            .is_err()
    );
}

#[test]
fn the_proxy_command_passes_on_obeys_and_counts() {
    let server = echo();
    let mut lab = Command::new(LAB)
        .args([
            "proxy",
            "--listen",
            "udp://127.0.0.1:0",
            "--to",
            &format!("udp://{server}"),
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut input = lab.stdin.take().expect("piped");
    let mut output = BufReader::new(lab.stdout.take().expect("piped")).lines();
    let mut line = || output.next().expect("a line").expect("text");
    let first = line();
    let address = first
        .strip_prefix("udp://")
        .and_then(|rest| rest.split(' ').next())
        .expect("an address");
    assert_eq!(line(), "link: perfect");
    let client = socket();
    client.connect(address).expect("an address");
    let mut buffer = [0; 64];
    client.send(b"one").expect("sent");
    assert_eq!(client.recv(&mut buffer).expect("an answer"), 3);
    input.write_all(b"up loss=100%\n").expect("it listens");
    assert_eq!(
        (line(), line()),
        ("up:   loss=100%".to_owned(), "down: perfect".to_owned())
    );
    client.send(b"two").expect("sent");
    until("the loss", || {
        input.write_all(b"show\n").expect("it listens");
        let (up, down, control) = (line(), line(), line());
        assert!(down.contains(" 1 packets (3 bytes) sent, 1 delivered"), "{down}");
        assert!(control.starts_with("TCP congestion control: "), "{control}");
        up.contains("2 packets (6 bytes) sent, 1 delivered, 1 lost")
    });
    input.write_all(b"quit\n").expect("it listens");
    assert!(lab.wait().expect("it ends").success());
}

#[test]
fn what_cannot_be_meant_is_refused_with_words() {
    for (arguments, word) in [
        (
            ["udp://127.0.0.1:0", "tcp://127.0.0.1:1", "perfect"],
            "not the same protocol",
        ),
        (
            ["http://127.0.0.1:0", "tcp://127.0.0.1:1", "perfect"],
            "neither udp:// nor tcp://",
        ),
        (["udp://127.0.0.1", "udp://127.0.0.1:1", "perfect"], "is not an address"),
        (
            ["tcp://127.0.0.1:0", "tcp://127.0.0.1:1", "burst=1%/3"],
            "`loss` makes no sense",
        ),
        (
            ["udp://127.0.0.1:0", "udp://127.0.0.1:1", "dleay=1ms"],
            "`dleay` is not a key",
        ),
    ] {
        let [listen, to, link] = arguments;
        let output = Command::new(LAB)
            .args(["proxy", "--listen", listen, "--to", to, "--link", link])
            .output();
        let output = output.expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(
            errors.starts_with("sealcast-lab: ") && errors.contains(word),
            "{errors}"
        );
    }
}
