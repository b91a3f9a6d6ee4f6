//! The HTTP sink: what it serves to a browser, and what it refuses to other pages on the web.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use sealcast::codec::jpeg;
use sealcast::failure::FailureKind;
use sealcast::media::{Frame, ReceivedFrame};
use sealcast::sink::Sink;
use sealcast::sink::http::{self, HttpSink};
use sealcast::source::test_card::{self, read_clock};
use sealcast_testkit::browser;

const PATIENCE: Duration = Duration::from_secs(60);

fn received(frame: Frame) -> ReceivedFrame {
    ReceivedFrame {
        number: frame.number,
        keyframe: frame.keyframe,
        media_time: frame.media_time,
        opened: Instant::now(),
        data: frame.data,
    }
}

fn sink() -> (HttpSink, SocketAddr) {
    let sink = http::open("http://127.0.0.1:0").expect("a free port");
    let address = sink.address().address;
    (sink, address)
}

/// Requests `path`. Returns the connection, with the answer unread.
fn ask(address: SocketAddr, path: &str, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .expect("a request");
    stream
}

/// Requests `path`. Returns head and body of the answer.
fn get_as(address: SocketAddr, path: &str, host: &str) -> (String, Vec<u8>) {
    let mut answer = Vec::new();
    ask(address, path, host).read_to_end(&mut answer).expect("an answer");
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    (
        String::from_utf8_lossy(&answer[..head]).to_lowercase(),
        answer[head..].to_vec(),
    )
}

fn get(address: SocketAddr, path: &str) -> (String, Vec<u8>) {
    get_as(address, path, "127.0.0.1")
}

/// Reads the next JPEG of a multipart stream.
fn next_jpeg(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") || !String::from_utf8_lossy(&head).contains("Content-Length: ") {
        stream.read_exact(&mut byte).expect("a part");
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = head
        .rsplit_once("Content-Length: ")
        .expect("a length")
        .1
        .trim()
        .parse()
        .expect("a number");
    // The answer is chunked. Each part is one chunk, so its length is enough to read it.
    let mut jpeg = vec![0; length];
    stream.read_exact(&mut jpeg).expect("a picture");
    jpeg
}

#[test]
fn shows_the_picture_that_was_sent() {
    let (mut sink, address) = sink();
    let mut source = test_card::open("320x240@50").expect("a source");
    let (head, _) = get(address, "/snapshot.jpg");
    assert!(head.starts_with("http/1.1 503"), "{head}");
    sink.start(&source.info()).expect("a start");

    let mut browser = ask(address, "/stream.mjpeg", "localhost");
    for _ in 0..5 {
        let frame = source.next().expect("a frame").expect("no end");
        let number = frame.number as u32;
        sink.write(&received(frame)).expect("written");
        let picture = jpeg::decode(&next_jpeg(&mut browser)).expect("a JPEG");
        assert_eq!(
            read_clock(&picture).expect("a clock").event,
            number,
            "every picture is shown at once"
        );
    }
    let (head, body) = get(address, "/snapshot.jpg");
    assert!(head.contains("content-type: image/jpeg"), "{head}");
    assert!(read_clock(&jpeg::decode(&body).expect("a JPEG")).is_some());

    let (_, health) = get(address, "/health");
    let health: serde_json::Value = serde_json::from_slice(&health).expect("JSON");
    assert_eq!(health["status"], "playing");
    assert_eq!(
        (health["frames"].as_u64(), health["undecoded"].as_u64()),
        (Some(5), Some(0))
    );

    sink.finish().expect("an end");
    drop(sink);
    // Any end of the connection will do, orderly or not.
    let ended = browser.read_to_end(&mut Vec::new());
    let waits = |error: &std::io::Error| matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut);
    assert!(!ended.is_err_and(|error| waits(&error)), "streams end with the sink");
}

#[test]
fn a_browser_shows_the_picture_and_says_what_it_is() {
    let (mut sink, address) = sink();
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = Arc::clone(&stop);
    let writer = thread::spawn(move || {
        let mut source = test_card::open("320x240@25").expect("a source");
        sink.start(&source.info()).expect("a start");
        while !stopping.load(Ordering::Relaxed) {
            sink.write(&received(source.next().expect("a frame").expect("no end")))
                .expect("written");
        }
    });
    let (page, _) = browser::page(address, &["live: "]);
    let screenshot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sink.png");
    browser::look(address, &[&format!("--screenshot={}", screenshot.display())], |_| true);
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("a writer that ends well");
    assert!(page.contains("live: H.264, 320x240 pixels"), "{page}");
    assert!(screenshot.exists());
}

#[test]
fn motion_jpeg_goes_to_the_browser_as_it_came() {
    let (mut sink, address) = sink();
    let mut source = test_card::open("320x240@50?codec=mjpeg").expect("a source");
    sink.start(&source.info()).expect("a start");
    let frame = received(source.next().expect("a frame").expect("no end"));
    sink.write(&frame).expect("written");
    assert_eq!(get(address, "/snapshot.jpg").1, frame.data);
}

#[test]
fn a_lost_frame_is_counted_and_the_next_keyframe_heals() {
    let (mut sink, address) = sink();
    let mut source = test_card::open("320x240@100?gop=8").expect("a source");
    sink.start(&source.info()).expect("a start");
    for index in 0..17 {
        let frame = received(source.next().expect("a frame").expect("no end"));
        if index != 4 {
            sink.write(&frame).expect("a damaged picture does not end the stream");
        }
    }
    let health: serde_json::Value = serde_json::from_slice(&get(address, "/health").1).expect("JSON");
    assert_eq!(health["undecoded"].as_u64(), Some(1), "{health}");
    assert!(read_clock(&jpeg::decode(&get(address, "/snapshot.jpg").1).expect("a JPEG")).is_some());
}

#[test]
fn slow_browsers_do_not_hold_up_the_stream() {
    let (mut sink, address) = sink();
    let mut source = test_card::open("1280x720@100?codec=mjpeg&quality=95").expect("a source");
    sink.start(&source.info()).expect("a start");
    // This browser never reads, and the pictures do not fit into the buffers of a connection.
    let _slow = ask(address, "/stream.mjpeg", "127.0.0.1");
    let mut quick = ask(address, "/stream.mjpeg", "127.0.0.1");
    for _ in 0..40 {
        sink.write(&received(source.next().expect("a frame").expect("no end")))
            .expect("written");
        next_jpeg(&mut quick);
    }
}

#[test]
fn answers_nobody_but_the_user() {
    let (_sink, address) = sink();
    for path in ["/", "/health", "/snapshot.jpg", "/stream.mjpeg"] {
        let (head, body) = get_as(address, path, "rebound.example");
        assert!(head.starts_with("http/1.1 403"), "{path}: {head}");
        assert!(String::from_utf8_lossy(&body).contains("address"));
    }
    let (head, body) = get(address, "/");
    for header in [
        "content-security-policy: default-src 'none'",
        "cross-origin-resource-policy: same-origin",
        "nosniff",
    ] {
        assert!(head.contains(header), "{header} is missing in {head}");
    }
    let body = String::from_utf8(body).expect("text");
    assert!(
        body.contains("stream.mjpeg") && !body.contains("http:") && !body.contains("//"),
        "nothing from elsewhere"
    );
    for path in ["/page.css", "/page.js"] {
        assert!(get(address, path).0.starts_with("http/1.1 200"));
    }
}

#[test]
fn taken_ports_and_open_addresses_are_refused_in_words() {
    let (_sink, address) = sink();
    let taken = http::open(&format!("http://{address}")).err().expect("taken");
    assert_eq!(taken.kind, FailureKind::Network);
    let open = http::open("http://0.0.0.0:0").err().expect("open to the network");
    assert_eq!(open.kind, FailureKind::Usage);
    assert!(
        open.to_string().contains("decrypted") && open.to_string().contains("?public"),
        "{open}"
    );
    let public = http::open("http://0.0.0.0:0?public").expect("asked for");
    assert!(public.address().public);
}
