//! Strangers on the port of the page: what they get, what they cost, and that viewers are not disturbed.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use sealcast_testkit::attack::websocket::{UPGRADE, ask, frame, upgrade};
use sealcast_testkit::attack::{PATIENCE, Stage, until};
use socket2::{Domain, Socket, Type};

/// Limit for the memory that a stranger costs who opens a WebSocket and sends an unfinished hello, in KiB.
const MOST_OF_STRANGER: u64 = 128;
const STRANGERS: u32 = 60;
/// Logged when a handshake takes longer than 5 s.
const TIMED_OUT: &str = "did not complete the handshake within 5 s";

/// A publisher with a page, and the port of the page.
struct Page {
    stage: Stage,
    port: u16,
}

impl Page {
    fn new(scheme: &str) -> Self {
        let web = format!("--web {scheme}://127.0.0.1:0 --report report.json");
        let stage = Stage::new(|home, clip| home.publish(clip, &web));
        let link = stage.publisher.page_link();
        let port = link.split(['/', ':']).find_map(|part| part.parse().ok());
        let port = port.expect("a port");
        Self { stage, port }
    }

    fn connect(&self) -> TcpStream {
        self.connect_from(Ipv4Addr::LOCALHOST)
    }

    fn connect_from(&self, host: Ipv4Addr) -> TcpStream {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket
            .bind(&SocketAddr::from((host, 0)).into())
            .expect("all of 127.0.0.0/8 is ours");
        socket
            .connect(&SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)).into())
            .expect("it listens");
        let stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    /// Opens a WebSocket.
    fn websocket(&self, from: Ipv4Addr) -> TcpStream {
        let mut stream = self.connect_from(from);
        upgrade(&mut stream, "");
        stream
    }
}

/// Bytes that the other end sends until it hangs up.
fn heard(stream: &mut TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer).map_err(|error| error.kind());
    assert!(ended != Err(ErrorKind::WouldBlock), "it does not hang up");
    answer
}

#[test]
fn the_page_is_the_same_for_all_and_other_requests_get_nothing() {
    let page = Page::new("http");
    let refused = "Origin: https://evil.example\r\n";
    for (path, headers, status) in [
        ("/", "", "200"),
        ("/worker.js", "", "200"),
        ("/relay.js", "", "200"),
        ("/sound.js", "", "200"),
        ("/nothing", "", "404"),
        ("/../Cargo.toml", "", "404"),
        ("/sealcast", "", "400"),
        ("/sealcast", &format!("{UPGRADE}{refused}"), "403"),
        ("/sealcast", &UPGRADE.replace("sealcast.3", "chat"), "400"),
        ("/", &format!("X: {}\r\n", "x".repeat(20_000)), "431"),
    ] {
        let head = ask(&mut page.connect(), path, headers);
        assert!(
            head.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path} {headers:.40}: {head}"
        );
        if status != "431" {
            assert!(head.contains("content-security-policy: default-src 'none';"), "{head}");
            // A ticket names the relay to which the worker connects, and nothing else does.
            let elsewhere = head.contains("connect-src 'self' https: wss:;");
            assert_eq!(elsewhere, path == "/worker.js", "{path}: {head}");
        }
    }
    page.stage.unharmed();
}

#[test]
fn a_stranger_s_websocket_is_closed_without_an_answer() {
    let page = Page::new("http");
    let hello = [&[0, 0, 5, 0, 1][..], b"sealcast", &[1; 1271]].concat();
    for (name, words) in [
        ("a hello without the ticket", frame(2, &hello)),
        (
            "a record",
            frame(2, &[&[0, 0, 0, 40, 0x10, 0x0d][..], &[0; 38]].concat()),
        ),
        ("no length", frame(2, &[0xff; 8])),
        ("text", frame(1, b"hello")),
        ("a long message", frame(2, &[1; (64 << 10) + 1])),
        ("an unknown frame", frame(5, b"?")),
        ("HTTP", b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        ("half a hello", frame(2, &hello[..700])),
    ] {
        let mut stream = page.websocket(Ipv4Addr::LOCALHOST);
        // The other end may close the connection before everything is sent.
        let _ = stream.write_all(&words);
        let answer = heard(&mut stream);
        // The goodbye of RFC 6455, perhaps with a code and a reason, and nothing of ours.
        assert!(answer.is_empty() || answer[0] == 0x88, "{name}: {answer:02x?}");
        assert!(answer.len() < 128, "{name}: {answer:02x?}");
    }
    page.stage.publisher.says(TIMED_OUT);
    page.stage.unharmed();
}

#[test]
fn garbage_where_tls_is_spoken_is_hung_up_on() {
    let page = Page::new("https");
    let tls = [&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3][..], &[7; 508]].concat();
    for (name, words) in [
        ("random bytes", vec![0x5a; 3000]),
        ("HTTP", b"GET / HTTP/1.1\r\nHost: camera\r\n\r\n".to_vec()),
        ("TLS", tls),
        ("half a hello", vec![0x16, 3, 1]),
        ("nothing", vec![]),
    ] {
        let mut stream = page.connect();
        let _ = stream.write_all(&words);
        let answer = heard(&mut stream);
        // An alert of TLS, if anything.
        assert!(answer.is_empty() || answer[0] == 0x15, "{name}: {answer:02x?}");
    }
    page.stage.unharmed();
}

#[test]
fn connections_that_say_nothing_keep_no_browser_out() {
    let page = Page::new("https");
    let descriptors = page.stage.publisher.descriptors();
    let silent: Vec<TcpStream> = (0..600)
        .map(|at| page.connect_from(Ipv4Addr::new(127, 0, 1, at as u8)))
        .collect();
    until("most have lost their places", || {
        (page.stage.publisher.descriptors() <= descriptors + 300).then_some(())
    });
    let openssl = std::process::Command::new("openssl")
        .args(["s_client", "-quiet", "-connect", &format!("127.0.0.1:{}", page.port)])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn();
    let mut browser = openssl.expect("openssl runs");
    let mut said = browser.stdin.take().expect("a pipe");
    said.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        .expect("a pipe");
    let mut page_text = String::new();
    let mut heard = browser.stdout.take().expect("a pipe");
    heard.read_to_string(&mut page_text).expect("text");
    assert!(page_text.starts_with("HTTP/1.1 200 OK"), "{page_text}");
    drop(said);
    browser.wait().expect("it ends");
    drop(silent);
    page.stage.unharmed();
}

#[test]
fn a_stranger_s_websocket_costs_little_memory() {
    let page = Page::new("http");
    let memory = page.stage.publisher.rss();
    let words = frame(2, &[&4096_u32.to_be_bytes()[..], &[1; 4000]].concat());
    let strangers: Vec<TcpStream> = (0..STRANGERS)
        .map(|host| {
            let mut stream = page.websocket(Ipv4Addr::from_bits(0x7F01_0001 + host));
            stream.write_all(&words).expect("a connection");
            stream
        })
        .collect();
    page.stage.plays_a_round();
    page.stage.assert_small(memory, u64::from(STRANGERS) * MOST_OF_STRANGER);
    drop(strangers);
    page.stage.unharmed();
}
