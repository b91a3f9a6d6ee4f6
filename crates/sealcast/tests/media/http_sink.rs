//! The HTTP sink: what it serves to a browser, and what it refuses to other pages on the web.

use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Instant;

use sealcast::codec::jpeg;
use sealcast::failure::FailureKind;
use sealcast::media::{Frame, Orientation, Picture, ReceivedFrame};
use sealcast::sink::Sink;
use sealcast::sink::http::{self, HttpSink};
use sealcast::source::test_card::{self, read_clock};
use sealcast_testkit::browser;
use sealcast_testkit::page::Page;

fn received(frame: Frame) -> ReceivedFrame {
    ReceivedFrame {
        number: frame.number,
        keyframe: frame.keyframe,
        media_time: frame.media_time,
        opened: Instant::now(),
        data: frame.data,
    }
}

fn sink() -> (HttpSink, Page) {
    let sink = http::open("http://127.0.0.1:0", None)
        .expect("a free port")
        .decoding_by(Path::new(env!("CARGO_BIN_EXE_sealcast")));
    let page = Page::at(sink.reveal_url());
    (sink, page)
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
    let (mut sink, page) = sink();
    let mut source = test_card::open("320x240@50").expect("a source");
    let (head, _) = page.get("/snapshot.jpg");
    assert!(head.starts_with("http/1.1 503"), "{head}");
    sink.start(&source.info()).expect("a start");

    let mut browser = page.ask("/stream.mjpeg");
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
    let (head, body) = page.get("/snapshot.jpg");
    assert!(head.contains("content-type: image/jpeg"), "{head}");
    assert!(read_clock(&jpeg::decode(&body).expect("a JPEG")).is_some());

    let (_, health) = page.get("/health");
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
    let (mut sink, page) = sink();
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
    let url = page.url();
    let (shown, _) = browser::page(&url, &["live: "]);
    let screenshot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sink.png");
    browser::screenshot(&url, &screenshot, |_| true);
    stop.store(true, Ordering::Relaxed);
    writer.join().expect("a writer that ends well");
    assert!(shown.contains("live: H.264, 320x240 pixels"), "{shown}");
    assert!(screenshot.exists());
}

#[test]
fn motion_jpeg_goes_to_the_browser_as_it_came() {
    let (mut sink, page) = sink();
    let mut source = test_card::open("320x240@50?codec=mjpeg").expect("a source");
    sink.start(&source.info()).expect("a start");
    let frame = received(source.next().expect("a frame").expect("no end"));
    sink.write(&frame).expect("written");
    assert_eq!(page.get("/snapshot.jpg").1, frame.data);
}

/// A picture of which each quarter has another grey.
fn quarters() -> Picture {
    let mut picture = Picture::black(64, 32);
    for (at, luma) in picture.y.iter_mut().enumerate() {
        let (right, lower) = (at % 64 >= 32, at / 64 >= 16);
        *luma = [40, 90, 140, 190][usize::from(right) + 2 * usize::from(lower)];
    }
    picture
}

/// All ways to turn a picture.
fn orientations() -> impl Iterator<Item = Orientation> {
    (0..8).map(|number| Orientation::new(number % 4, number >= 4))
}

/// Width and height, and the greys of the quarters by lines, as numbers from the darkest on: those of a picture that is
/// shown so.
fn shown_so(orientation: Orientation) -> String {
    let mut quarters = match orientation.mirrored() {
        false => [0, 1, 2, 3],
        true => [1, 0, 3, 2],
    };
    for _ in 0..orientation.quarter_turns() {
        let [a, b, c, d] = quarters;
        quarters = [c, a, d, b];
    }
    let size = ["64x32", "32x64"][usize::from(orientation.quarter_turns() % 2)];
    format!("{size} {quarters:?}")
}

#[test]
fn a_browser_shows_motion_jpeg_turned_as_the_camera_is() {
    let image = jpeg::encode(&quarters(), 95).expect("an image");
    let mut page = String::from("<!doctype html><body>\n");
    for orientation in orientations() {
        let (mut sink, own) = sink();
        sink.orient(orientation).expect("it turns");
        let info = test_card::open("320x240@10?codec=mjpeg").expect("a source").info();
        sink.start(&info).expect("a start");
        let frame = ReceivedFrame {
            data: image.clone().into(),
            ..received(first_frame("320x240@10?codec=mjpeg"))
        };
        sink.write(&frame).expect("written");
        let snapshot = own.get("/snapshot.jpg").1;
        assert!(snapshot.ends_with(&image[2..]), "only its head differs");
        let snapshot = data_encoding::BASE64.encode(&snapshot);
        page += &format!("<img src=\"data:image/jpeg;base64,{snapshot}\">\n");
    }
    page += &format!("<script>{}</script>", include_str!("turned.js"));
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("turned.html");
    std::fs::write(&file, page).expect("space");
    let (seen, _) = browser::page(&format!("file://{}", file.display()), &["the end"]);
    for orientation in orientations() {
        let wanted = format!("{orientation}: {}", shown_so(orientation));
        let number = orientation.quarter_turns() + 4 * u8::from(orientation.mirrored());
        assert!(
            seen.contains(&format!("{number}: {}", shown_so(orientation))),
            "{wanted} is not in {seen}"
        );
    }
}

fn first_frame(card: &str) -> Frame {
    let mut source = test_card::open(card).expect("a source");
    source.next().expect("a frame").expect("no end")
}

#[test]
fn a_page_and_its_snapshot_show_the_picture_turned_as_the_camera_is() {
    let (mut sink, page) = sink();
    let mut source = test_card::open("320x240@50").expect("a source");
    for orientation in orientations() {
        // Before the stream begins, and while it runs.
        sink.orient(orientation).expect("it turns");
        if orientation.is_upright() {
            sink.start(&source.info()).expect("a start");
        }
        let frame = source.next().expect("a frame").expect("no end");
        let number = frame.number as u32;
        sink.write(&received(frame)).expect("written");
        let shown = jpeg::decode(&page.get("/snapshot.jpg").1).expect("a JPEG");
        let upright = upright(&shown, orientation);
        assert_eq!((upright.width, upright.height), (320, 240), "{orientation}");
        assert_eq!(read_clock(&upright).expect("a clock").event, number, "{orientation}");
    }
}

/// A picture as it was before it was turned.
fn upright(shown: &Picture, orientation: Orientation) -> Picture {
    let [width, height] = match orientation.quarter_turns() % 2 {
        0 => [shown.width, shown.height],
        _ => [shown.height, shown.width],
    };
    let mut picture = Picture::black(width, height);
    for (at, luma) in picture.y.iter_mut().enumerate() {
        let (mut x, mut y) = (at % width, at / width);
        let mut size = [width, height];
        if orientation.mirrored() {
            x = size[0] - 1 - x;
        }
        for _ in 0..orientation.quarter_turns() {
            (x, y) = (size[1] - 1 - y, x);
            size.swap(0, 1);
        }
        *luma = shown.y[y * size[0] + x];
    }
    picture
}

#[test]
fn a_frame_that_is_no_picture_does_not_reach_the_browser() {
    let (mut sink, page) = sink();
    let mut source = test_card::open("320x240@50?codec=mjpeg").expect("a source");
    sink.start(&source.info()).expect("a start");
    let card = received(source.next().expect("a frame").expect("no end"));
    let hostile: [&[u8]; 3] = [
        b"\r\n--picture\r\nContent-Type: text/html\r\n\r\n<script>alert(1)</script>\r\n--picture\r\n",
        &card.data[..card.data.len() - 2],
        &card.data[2..],
    ];
    for data in hostile {
        let data = data.to_vec().into();
        sink.write(&ReceivedFrame { data, ..card.clone() })
            .expect("it does not end the stream");
        assert!(page.get("/snapshot.jpg").0.starts_with("http/1.1 503"));
    }
    let padded = [&card.data[..], b"<html>"].concat();
    sink.write(&ReceivedFrame {
        data: padded.into(),
        ..card.clone()
    })
    .expect("written");
    assert_eq!(
        page.get("/snapshot.jpg").1,
        card.data,
        "what follows the picture is cut off"
    );
    let health: serde_json::Value = serde_json::from_slice(&page.get("/health").1).expect("JSON");
    assert_eq!(health["undecoded"].as_u64(), Some(3), "{health}");
}

#[test]
fn a_lost_frame_is_counted_and_the_next_keyframe_heals() {
    let (mut sink, page) = sink();
    let mut source = test_card::open("320x240@100?gop=8").expect("a source");
    sink.start(&source.info()).expect("a start");
    for index in 0..17 {
        let frame = received(source.next().expect("a frame").expect("no end"));
        if index != 4 {
            sink.write(&frame).expect("a damaged picture does not end the stream");
        }
    }
    let health: serde_json::Value = serde_json::from_slice(&page.get("/health").1).expect("JSON");
    assert_eq!(health["undecoded"].as_u64(), Some(1), "{health}");
    assert!(read_clock(&jpeg::decode(&page.get("/snapshot.jpg").1).expect("a JPEG")).is_some());
}

#[test]
fn a_stream_that_changes_its_size_or_codec_is_shown_on() {
    let (mut sink, page) = sink();
    for card in ["320x240@100", "640x480@100", "320x240@100?codec=mjpeg", "160x120@100"] {
        let mut source = test_card::open(card).expect("a source");
        sink.start(&source.info()).expect("a start");
        for _ in 0..3 {
            let frame = received(source.next().expect("a frame").expect("no end"));
            sink.write(&frame).expect("written");
        }
        let shown = jpeg::decode(&page.get("/snapshot.jpg").1).expect("a JPEG");
        let info = source.info();
        assert_eq!((shown.width, shown.height), (info.width as usize, info.height as usize));
    }
    let health: serde_json::Value = serde_json::from_slice(&page.get("/health").1).expect("JSON");
    let counts = ["pictures", "undecoded"].map(|name| health[name].as_u64());
    assert_eq!(counts, [Some(12), Some(0)], "{health}");
}

#[test]
fn slow_browsers_do_not_hold_up_the_stream() {
    let (mut sink, page) = sink();
    let mut source = test_card::open("1280x720@100?codec=mjpeg&quality=95").expect("a source");
    sink.start(&source.info()).expect("a start");
    // This browser never reads, and the pictures do not fit into the buffers of a connection.
    let _slow = page.ask("/stream.mjpeg");
    let mut quick = page.ask("/stream.mjpeg");
    for _ in 0..40 {
        sink.write(&received(source.next().expect("a frame").expect("no end")))
            .expect("written");
        next_jpeg(&mut quick);
    }
}

#[test]
fn answers_nobody_but_the_user() {
    let (_sink, page) = sink();
    for path in ["/", "/health", "/snapshot.jpg", "/stream.mjpeg"] {
        let (head, body) = page.get_as(path, "rebound.example");
        assert!(head.starts_with("http/1.1 403"), "{path}: {head}");
        assert!(String::from_utf8_lossy(&body).contains("address"));
    }
    let (head, body) = page.get("/");
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
        assert!(page.get(path).0.starts_with("http/1.1 200"));
    }
}

#[test]
fn taken_ports_and_open_addresses_are_refused_in_words() {
    let (_sink, page) = sink();
    let taken = http::open(&format!("http://{}", page.address), None)
        .err()
        .expect("taken");
    assert_eq!(taken.kind, FailureKind::Network);
    let open = http::open("http://0.0.0.0:0", None).err().expect("open to the network");
    assert_eq!(open.kind, FailureKind::Usage);
    assert!(
        open.to_string().contains("decrypted") && open.to_string().contains("?public"),
        "{open}"
    );
    let public = http::open("http://0.0.0.0:0?public", None).expect("asked for");
    assert!(public.reveal_url().starts_with("http://0.0.0.0:"));
}
