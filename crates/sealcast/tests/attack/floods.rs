//! Peers that ask for answers and read none, at every listener that answers: what is held for them is bounded, and so
//! is the log about them.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ClientConnection, StreamOwned};
use sealcast_testkit::attack::websocket::{frame, part, upgrade};
use sealcast_testkit::attack::{Home, PATIENCE, Program, Puppet, Stage, tls_client, until};
use sealcast_testkit::gateways::{Camera, Plain, camera_gateway};
use sealcast_testkit::program::{free_port, home, metrics_address};
use socket2::{Domain, Socket, Type};

/// Number of strangers who flood a listener together, and limits in KiB for what they, and an admitted viewer beyond
/// its media, make the program grow by.
const STRANGERS: u32 = 64;
const MOST_OF_STRANGERS: u64 = 16 * 1024;
const MOST_OF_MEMBER: u64 = 4 * 1024;
/// Bytes that a listener takes at most of one who reads nothing: the buffers of both systems, and what the answers to
/// them need to fill those of the other direction.
const MOST_TAKEN: usize = 8 << 20;
/// Looks in a row, ten milliseconds apart, at which nothing is taken, until it counts as refused. On a busy machine
/// less is taken by then, which no check minds.
const LOOKS: u32 = 100;

/// Reaction of a listener to a flood.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    /// It ends the connection.
    HangsUp,
    /// It takes no more than [`MOST_TAKEN`], and may end the connection.
    Waits,
    /// It takes all of it and keeps nothing.
    Takes,
}

struct Flood {
    name: &'static str,
    /// A WebSocket is opened first.
    websocket: bool,
    bytes: Vec<u8>,
    then: Then,
}

fn flood(name: &'static str, bytes: impl Into<Vec<u8>>, then: Then) -> Flood {
    Flood {
        name,
        websocket: false,
        bytes: bytes.into(),
        then,
    }
}

fn websocket(name: &'static str, bytes: Vec<u8>, then: Then) -> Flood {
    Flood {
        websocket: true,
        ..flood(name, bytes, then)
    }
}

/// Floods for every server of HTTP. Its headers go into each request.
fn of_http(headers: &str) -> Vec<Flood> {
    let ask = |line: &str, rest: &str| format!("{line} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}{rest}");
    let get = |path: &str| ask(&format!("GET {path}"), "\r\n").repeat(20);
    let settings = [&[0, 0, 0, 4, 0, 0, 0, 0, 0][..], &[0, 0, 8, 6, 0, 0, 0, 0, 0], &[0; 8]].concat();
    let h2 = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &settings.repeat(100)].concat();
    vec![
        flood("GET of the page", get("/"), Then::Waits),
        flood("GET of what is not there", get("/nothing"), Then::Waits),
        flood("GET of metrics", get("/metrics"), Then::Waits),
        flood(
            "POST",
            ask("POST /", "Content-Length: 2\r\n\r\nxx").repeat(20),
            Then::Waits,
        ),
        flood(
            "100-continue",
            ask("POST /", "Expect: 100-continue\r\nContent-Length: 1\r\n\r\nx"),
            Then::Waits,
        ),
        flood("HTTP/2: SETTINGS and PING", h2, Then::HangsUp),
        flood("an endless header", "x".repeat(4096), Then::HangsUp),
    ]
}

/// Floods for a page with sessions besides.
fn of_websockets() -> Vec<Flood> {
    let first = part(0x02, &[0; 4]);
    vec![
        websocket("long pings", frame(9, &[7; 125]).repeat(100), Then::HangsUp),
        websocket("short pings", frame(9, &[]).repeat(100), Then::HangsUp),
        websocket("goodbyes", frame(8, &[3, 232]), Then::HangsUp),
        websocket("pongs", frame(10, &[7; 125]).repeat(100), Then::Takes),
        websocket("text", frame(1, b"hello"), Then::HangsUp),
        websocket(
            "an endless message",
            [first, part(0x00, &[0; 60_000]).repeat(2)].concat(),
            Then::HangsUp,
        ),
    ]
}

fn of_players() -> Vec<Flood> {
    let options = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(100);
    let describe = "DESCRIBE rtsp://127.0.0.1/front RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(100);
    let data = [&[b'$', 0, 0xff, 0xff][..], &[7; 0xffff]].concat();
    vec![
        flood("OPTIONS", options, Then::HangsUp),
        flood("DESCRIBE without a login", describe, Then::HangsUp),
        flood("packets before a login", data, Then::HangsUp),
        flood("an endless header", "x".repeat(4096), Then::HangsUp),
    ]
}

/// A port that is flooded.
#[derive(Clone, Copy)]
struct Listener {
    name: &'static str,
    port: u16,
    tls: bool,
}

impl Listener {
    fn new(name: &'static str, port: u16) -> Self {
        let tls = false;
        Self { name, port, tls }
    }

    /// As a stranger from one of the addresses of this machine, or as a browser that opened a WebSocket.
    fn reached(self, host: u32, websocket: Option<&str>) -> Box<dyn Write> {
        let mut stream = connect(host, self.port);
        if self.tls {
            let name = "localhost".try_into().expect("a name");
            let client = ClientConnection::new(Arc::new(tls_client("http/1.1")), name);
            let mut tls = StreamOwned::new(client.expect("a client"), stream);
            match websocket {
                Some(headers) => upgrade(&mut tls, headers),
                None => tls.flush().expect("it speaks TLS"),
            }
            tls.sock.set_nonblocking(true).expect("a socket option");
            return Box::new(tls);
        }
        if let Some(headers) = websocket {
            upgrade(&mut stream, headers);
        }
        stream.set_nonblocking(true).expect("a socket option");
        Box::new(stream)
    }
}

/// Connects from an address of this machine, with buffers as small as can be.
fn connect(host: u32, port: u16) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a socket option");
    let from = Ipv4Addr::from_bits(0x7F03_0001 + host);
    socket
        .bind(&SocketAddr::from((from, 0)).into())
        .expect("all of 127.0.0.0/8 is ours");
    socket
        .connect(&SocketAddr::from(([127, 0, 0, 1], port)).into())
        .expect("it listens");
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// A connection that floods: bytes taken of it, and whether the other end has hung up.
struct Flooding<S> {
    stream: S,
    taken: usize,
    at: usize,
    ended: bool,
}

impl<S: Write> Flooding<S> {
    fn new(stream: S) -> Self {
        Self {
            stream,
            taken: 0,
            at: 0,
            ended: false,
        }
    }

    /// Writes what is taken now; true if anything was.
    fn write(&mut self, bytes: &[u8]) -> bool {
        let before = self.taken;
        while self.taken < MOST_TAKEN && self.write_once(bytes) {}
        self.taken > before
    }

    fn write_once(&mut self, bytes: &[u8]) -> bool {
        match self.stream.write(&bytes[self.at..]) {
            Ok(count) => {
                self.taken += count;
                self.at = (self.at + count) % bytes.len();
                true
            }
            Err(error) => {
                self.ended |= error.kind() != ErrorKind::WouldBlock;
                false
            }
        }
    }

    /// True if the other end has hung up; until then it may read on, in order to say goodbye, and is given more.
    fn is_ended(&mut self, bytes: &[u8]) -> bool {
        if !self.ended {
            self.write_once(bytes);
        }
        self.ended
    }
}

/// Floods over all connections until none of them takes anything any more.
fn drown<S: Write>(floods: &mut [Flooding<S>], bytes: &[u8]) {
    let mut idle = 0;
    while idle < LOOKS && floods.iter().any(|one| !one.ended && one.taken < MOST_TAKEN) {
        let moved = floods
            .iter_mut()
            .map(|one| one.write(bytes))
            .filter(|moved| *moved)
            .count();
        idle = if moved > 0 { 0 } else { idle + 1 };
        if moved == 0 {
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Floods a port with each of these as strangers, and checks what becomes of them.
fn strangers(at: Listener, memory: impl Fn() -> u64, floods: Vec<Flood>) {
    let listener = at.name;
    for (
        number,
        Flood {
            name,
            websocket,
            bytes,
            then,
        },
    ) in (0..).zip(floods)
    {
        let before = memory();
        let connections = (0..STRANGERS).map(|host| {
            let stream = at.reached(STRANGERS * number + host, websocket.then_some(""));
            Flooding::new(stream)
        });
        let mut connections: Vec<_> = connections.collect();
        drown(&mut connections, &bytes);
        let grown = memory().saturating_sub(before);
        let most = connections.iter().map(|one| one.taken).max().unwrap_or_default();
        println!("{listener}: {name}: {most} bytes of one were taken at most, {grown} KiB more");
        assert!(grown <= MOST_OF_STRANGERS, "{listener}: {name}: it grew by {grown} KiB");
        match then {
            Then::HangsUp => until(&format!("{listener} hangs up on {name}"), || {
                // Who is turned away at the door is hung up on before a byte is taken.
                let ended = connections
                    .iter_mut()
                    .filter_map(|one| one.is_ended(&bytes).then_some(()));
                (ended.count() == STRANGERS as usize).then_some(())
            }),
            Then::Waits => assert!(most < MOST_TAKEN, "{listener}: {name}: {most} bytes"),
            Then::Takes => {}
        }
    }
}

/// The port in the last URL of a line that a program printed.
fn port_in(printed: &str) -> u16 {
    let begins = |scheme: &str| printed.rfind(scheme).map(|at| at + scheme.len());
    let begins = begins("http://").max(begins("https://")).expect("a URL");
    let address = &printed[begins..];
    let port = address.split(['/', ';', ':']).find_map(|part| part.parse().ok());
    port.unwrap_or_else(|| panic!("no port in {printed}"))
}

fn page(more: &str) -> (Stage, u16) {
    let options = format!("--web http://127.0.0.1:0 --metrics 127.0.0.1:0 --report report.json {more}");
    let stage = Stage::new(|home, clip| home.publish(clip, &options));
    let port = port_in(&stage.publisher.page_link());
    (stage, port)
}

#[test]
fn strangers_who_read_no_answer_hold_little_of_a_publisher_s_memory() {
    let (stage, port) = page("--control control");
    let publisher = &stage.publisher;
    let memory = || publisher.rss();
    strangers(Listener::new("the page", port), memory, of_http(""));
    strangers(Listener::new("the page", port), memory, of_websockets());
    assert!(publisher.counts(r#"sealcast_turned_away_total{reason="unread"}"#) >= f64::from(STRANGERS));
    let metrics = metrics_address(&publisher.said());
    let metrics = port_in(&format!("http://{metrics}"));
    strangers(Listener::new("the metrics", metrics), memory, of_http(""));
    let tls = [&[0x16, 3, 1, 2, 0][..], &[7; 512]].concat();
    strangers(
        Listener::new("the port of TCP", stage.port()),
        memory,
        vec![
            flood("HTTP", "GET / HTTP/1.1\r\n\r\n", Then::HangsUp),
            flood("TLS", tls, Then::HangsUp),
        ],
    );
    let before = memory();
    let mut clients: Vec<_> = (0..8)
        .map(|_| {
            let stream = UnixStream::connect(stage.homes.0.file("control")).expect("it listens");
            stream.set_nonblocking(true).expect("a socket option");
            Flooding::new(stream)
        })
        .collect();
    drown(&mut clients, &b"help\n".repeat(50));
    assert!(clients.iter().all(|client| client.taken < MOST_TAKEN));
    stage.assert_small(before, MOST_OF_MEMBER);
    drop(clients);
    let held = publisher.counts(r#"sealcast_peer_bytes{queue="session"}"#);
    assert!(held < f64::from(1 << 20), "{held} bytes are still held");
    stage.unharmed();
}

#[test]
fn strangers_who_read_no_answer_over_tls_hold_little_of_a_publisher_s_memory() {
    let options = "--web https://127.0.0.1:0 --report report.json";
    let stage = Stage::new(|home, clip| home.publish(clip, options));
    let page = Listener {
        name: "the page over TLS",
        port: port_in(&stage.publisher.page_link()),
        tls: true,
    };
    let memory = || stage.publisher.rss();
    strangers(page, memory, of_http(""));
    strangers(page, memory, of_websockets());
    stage.unharmed();
}

#[test]
fn a_stranger_s_flood_is_told_in_a_few_lines() {
    let (stage, port) = page("");
    for number in 0..600_u32 {
        let _ = connect(number, stage.port());
        let mut browser = connect(number, port);
        upgrade(&mut browser, "");
        let _ = browser.write_all(&frame(2, &[0xff; 8]));
    }
    let counted = || {
        let reasons = ["silent", "malformed", "crowded", "broken", "slow", "handshake"];
        let of = |reason| {
            stage
                .publisher
                .counts(&format!("sealcast_turned_away_total{{reason=\"{reason}\"}}"))
        };
        reasons.map(of).iter().sum::<f64>()
    };
    until("all are counted", || (counted() >= 1200.0).then_some(()));
    let told = stage.publisher.count(" reason=");
    assert!((1..100).contains(&told), "{told} lines:\n{}", stage.publisher.said());
    stage.unharmed();
}

#[test]
fn an_admitted_viewer_that_pings_and_reads_nothing_is_cut_off() {
    let (stage, port) = page("");
    let before = stage.publisher.rss();
    let puppet = Puppet::connect_by_websocket(&stage.ticket, port);
    stage.publisher.says("a viewer watches");
    puppet.stream.set_nonblocking(true).expect("a socket option");
    let mut flooding = Flooding::new(puppet.stream);
    let pings = frame(9, &[7; 125]).repeat(100);
    until("it is cut off", || flooding.is_ended(&pings).then_some(()));
    println!("{} bytes of pings were taken", flooding.taken);
    stage.publisher.says("it asks and does not read the answers");
    // Media waits for a viewer in queues of its own, which have their own bound.
    let media = stage.publisher.counts(r#"sealcast_peer_bytes{queue="media"}"#) as u64 / 1024;
    stage.assert_small(before, MOST_OF_MEMBER + media);
    stage.unharmed();
}

#[test]
fn strangers_who_read_no_answer_hold_little_of_other_listeners_memory() {
    let home = Home::new();
    let token = "0123456789abcdef";
    home.write("token", token);
    let known = format!("Authorization: Bearer {token}\r\n");
    let served = |arguments: &str, marker: &str| -> (Program, u16) {
        let program = home.start(arguments);
        let port = until("its page is there", || {
            let text = String::from_utf8_lossy(&program.stdout()).into_owned();
            let line = text.lines().find(|line| line.contains(marker))?;
            Some(port_in(line))
        });
        (program, port)
    };
    let listening = "watch --listen tcp://127.0.0.1:0 --web http://127.0.0.1:0 --ticket-file - --to null:";
    let (viewer, port) = served(listening, "http://127");
    let page = Listener::new("a listening viewer's page", port);
    strangers(page, || viewer.rss(), of_websockets());
    drop(viewer);
    for (name, arguments, websockets) in [
        ("the demo's page", "demo --page http://127.0.0.1:0?token=@token", true),
        (
            "the clock's page",
            "clock --events 127.0.0.1:0 --page http://127.0.0.1:0?token=@token",
            false,
        ),
    ] {
        let (program, port) = served(arguments, "TOKEN");
        let memory = || program.rss();
        if websockets {
            let mut floods = of_websockets();
            floods.retain(|flood| flood.name.ends_with("pings"));
            guests(Listener::new(name, port), memory, floods, &known);
        } else {
            strangers(Listener::new(name, port), memory, of_http(&known));
        }
        strangers(Listener::new(name, port), memory, of_http(""));
    }
}

/// As [`strangers`], over WebSockets that show the token of the page.
fn guests(at: Listener, memory: impl Fn() -> u64, floods: Vec<Flood>, known: &str) {
    let listener = at.name;
    for (number, Flood { name, bytes, .. }) in (100..).zip(floods) {
        // A program that has just begun its stream grows by itself.
        let before = until("its memory has settled", || {
            let before = memory();
            thread::sleep(Duration::from_secs(1));
            (memory() <= before + 64).then_some(before)
        });
        // A page has 64 places in all.
        let connections =
            (0..STRANGERS / 2).map(|host| Flooding::new(at.reached(STRANGERS * number + host, Some(known))));
        let mut connections: Vec<_> = connections.collect();
        drown(&mut connections, &bytes);
        let grown = memory().saturating_sub(before);
        assert!(grown <= MOST_OF_STRANGERS, "{listener}: {name}: it grew by {grown} KiB");
        until(&format!("{listener} hangs up on {name}"), || {
            connections.iter_mut().all(|one| one.is_ended(&bytes)).then_some(())
        });
    }
}

#[test]
fn players_who_read_no_answer_hold_little_of_a_gateway_s_memory() {
    let homes = [home(), home()];
    let camera = Camera::start(Plain::Tcp, vec![(0, vec![1; 500])], true);
    let gateway = camera_gateway(homes[0].path(), &camera.url(), &[]);
    let secret = homes[1].path().join("password");
    sealcast_testkit::program::write_private(&secret, "letmesee\n");
    let port = free_port();
    let login = [
        "--rtsp-user",
        "guard",
        "--rtsp-password-file",
        sealcast_testkit::media::path(&secret),
    ];
    let viewer = sealcast_testkit::gateways::viewer_gateway(homes[1].path(), &gateway.ticket, port, &login);
    let memory = || {
        let status = fs::read_to_string(format!("/proc/{}/status", viewer.id())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let size = line.and_then(|line| line.trim().strip_suffix(" kB")).expect("a size");
        size.trim().parse().expect("a number")
    };
    strangers(Listener::new("the players' port", port), memory, of_players());
    let mut honest = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    honest.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    until("a player is served again", || {
        honest = TcpStream::connect(("127.0.0.1", port)).ok()?;
        honest.write_all(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n").ok()?;
        let mut head = [0; 15];
        honest.read_exact(&mut head).ok()?;
        (&head == b"RTSP/1.0 200 OK").then_some(())
    });
}
