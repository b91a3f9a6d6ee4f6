//! The demo's page in a real browser, with invented figures. Nobody publishes here, so the page's own picture is tested
//! in `web/test/page/demo.test.ts`.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use sealcast::codec::jpeg;
use sealcast::source::test_card::{CardClock, CardPainter};
use sealcast::transport::{Alteration, PageSessions};
use sealcast::web::demo::{
    self, DemoActions, DemoFeeds, DemoStats, EavesdropperStats, Estimate, FrameCounts, MachineStats, Price,
    SessionStats, Spread, Stage, StageStats, Wish,
};
use sealcast::web::{Listen, wire_picture};
use sealcast_testkit::browser;
use sealcast_testkit::page::Page;
use sealcast_testkit::program::until;

/// Figures such as a real run would give.
fn figures(frame: u64) -> DemoStats {
    let spread = |p50_us: f64, p99_us: f64, max_us: f64| Spread {
        p50_us,
        p99_us,
        max_us,
        samples: frame,
    };
    let stages = [
        (Stage::Capture, spread(62.1, 131.0, 702.0)),
        (Stage::Encode, spread(1_148.0, 1_940.0, 4_310.0)),
        (Stage::Seal, spread(3.4, 9.8, 41.2)),
        (Stage::Send, spread(17.9, 48.0, 220.5)),
        (Stage::Network, spread(84.0, 310.0, 1_870.0)),
        (Stage::Open, spread(3.9, 11.3, 58.0)),
        (Stage::Decode, spread(561.0, 918.0, 2_960.0)),
    ];
    let estimate = |median_us: f64, low_us: f64, high_us: f64| Estimate {
        median_us,
        low_us,
        high_us,
    };
    DemoStats {
        running_seconds: frame as f64 / 25.0,
        source: "test card, 640x480 at 25 frames/s, H.264 at 1.5 Mbit/s".into(),
        transport: "TCP on 127.0.0.1".into(),
        session: SessionStats {
            suite: "aes-128-gcm".into(),
            mechanism: "x25519-mlkem768".into(),
            epoch: 3,
            rekeys: 2,
            handshake_us: Some(412.0),
        },
        frames: FrameCounts {
            captured: frame,
            sealed: frame,
            sent: frame,
            received: frame,
            opened: frame,
            decoded: frame,
            refused: 0,
            dropped: 1,
        },
        stages: stages.map(|(stage, spread)| StageStats { stage, spread }).to_vec(),
        end_to_end: Some(spread(1_890.0, 3_020.0, 6_240.0)),
        clock_uncertainty_us: Some(0.0),
        eavesdropper: EavesdropperStats {
            selection: "level:2".into(),
            shape: "off".into(),
            known_percent: 41.6,
        },
        price: Some(Price {
            unsealed_us: 101.3,
            sealed_us: 109.9,
            difference: estimate(8.6, 7.9, 9.3),
            pairs: frame / 2,
            frame_interval_us: 40_000.0,
            added_bytes: 92.0,
            frame_bytes: 7_312.0,
        }),
        machine: MachineStats {
            cpu_percent: Some(11.8),
            memory_bytes: Some(48_300_000),
            temperature_celsius: None,
            codec_assembly: Some(true),
        },
    }
}

/// A served page with moving pictures; it ends when dropped.
struct Served {
    page: Page,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().expect("a thread that ends well");
        }
    }
}

fn feed(feeds: &DemoFeeds, figures: fn(u64) -> DemoStats, stop: &AtomicBool) {
    let mut painter = CardPainter::new(640, 480).expect("a painter");
    for frame in 1500u64.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let clock = CardClock {
            event: frame as u32,
            wall_us: 1_795_153_107_123_456 + frame * 40_000,
        };
        let picture = painter.paint(clock, Duration::from_millis(40 * frame));
        let preview = jpeg::preview(picture, 640, 80).expect("a JPEG");
        let mut state = frame | 1;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            (state >> 56) as u8
        })
        .take(7_400)
        .collect();
        feeds.show_camera(preview.clone());
        feeds.show_attack(preview.clone());
        feeds.show_viewer(preview);
        feeds.show_wire(wire_picture(&noise, 160, 120));
        feeds.show_stats(&figures(frame)).expect("figures");
        thread::sleep(Duration::from_millis(40));
    }
}

fn served(figures: fn(u64) -> DemoStats) -> Served {
    let feeds = DemoFeeds::default();
    let receivers = feeds.receivers();
    assert!(!feeds.watched());
    let listener = Listen::parse("http://127.0.0.1:0", 0, "the demo")
        .and_then(Listen::bind)
        .expect("a port");
    let page = Page::at(&listener.reveal_url());
    let stop = Arc::new(AtomicBool::new(false));
    let (wishes, mut asked) = tokio::sync::mpsc::channel::<demo::Asked>(1);
    thread::spawn(move || {
        while let Some((wish, answer)) = asked.blocking_recv() {
            let granted = match wish {
                Wish::Selection(wanted) if wanted == "keyframes" => Ok(()),
                Wish::Selection(other) | Wish::Suite(other) | Wish::Shape(other) => Err(format!("{other} is refused")),
            };
            // It fails if the page does not wait any more.
            let _ = answer.send(granted);
        }
    });
    let (fed, stopping) = (Arc::clone(&stop), Arc::clone(&stop));
    let feeder = thread::spawn(move || feed(&feeds, figures, &fed));
    let actions = DemoActions {
        wishes,
        alteration: Alteration::default(),
        ticket: "no ticket: nobody publishes here".to_owned().into(),
    };
    let sessions = PageSessions::new(listener.address()).routes(Alteration::default());
    let server = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        let closed = async move {
            while !stopping.load(Ordering::Relaxed) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        runtime
            .block_on(demo::serve(listener, receivers, actions, sessions, closed))
            .expect("served");
    });
    Served {
        page,
        stop,
        threads: vec![feeder, server],
    }
}

/// The answer to a request for `path`, or its first `enough` bytes.
fn get(page: &Page, path: &str, enough: usize) -> String {
    let mut stream = page.ask(path);
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while answer.len() < enough {
        match stream.read(&mut buffer).expect("an answer") {
            0 => break,
            n => answer.extend_from_slice(&buffer[..n]),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn serves_pictures_and_figures_to_the_user_alone() {
    let served = served(figures);
    let page = get(&served.page, "/", usize::MAX);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("content-security-policy: default-src 'none'"));
    assert!(
        !page.contains("http:") && !page.contains("https:"),
        "nothing comes from elsewhere"
    );
    assert!(served.page.get_as("/", "rebound.example").0.starts_with("http/1.1 403"));
    for path in ["/camera.jpg", "/wire.jpg", "/attack.jpg"] {
        let mut answer = Default::default();
        // There may be none yet.
        until("there is a picture", || {
            answer = served.page.get(path);
            !answer.0.starts_with("http/1.1 204")
        });
        let (head, picture) = answer;
        assert!(head.contains("content-type: image/jpeg"), "{head}");
        assert!(picture.starts_with(&[0xff, 0xd8]), "{path} is a JPEG");
    }
    for (path, kind) in [("/worker.js", "text/javascript"), ("/icon.svg", "image/svg+xml")] {
        let (head, _) = served.page.get(path);
        assert!(head.starts_with("http/1.1 200") && head.contains(kind), "{head}");
    }
    for path in ["/camera.mjpeg", "/wire.mjpeg", "/attack.mjpeg", "/viewer.mjpeg"] {
        let answer = get(&served.page, path, 20_000);
        assert!(answer.contains("multipart/x-mixed-replace") && answer.matches("Content-Type: image/jpeg").count() > 0);
    }
    let events = get(&served.page, "/events", 4_000);
    assert!(
        events.contains("text/event-stream") && events.contains("\"suite\":\"aes-128-gcm\""),
        "{events}"
    );
    assert!(events.contains("{\"stage\":\"seal\",\"p50_us\":3.4,"), "{events}");
    assert!(get(&served.page, "/stats.json", usize::MAX).contains("\"temperature_celsius\":null"));
}

#[test]
fn what_is_encrypted_is_changed_by_the_user_alone() {
    let served = served(figures);
    let put = |body: &str| served.page.send("PUT", "/selection", body);
    assert!(put("keyframes").starts_with("http/1.1 204"));
    let refused = put("something");
    assert!(
        refused.starts_with("http/1.1 409") && refused.ends_with("something is refused"),
        "{refused}"
    );
    assert!(put(&"k".repeat(65)).starts_with("http/1.1 413"));
    // A method that a form of another page could use.
    assert!(
        served
            .page
            .send("POST", "/selection", "keyframes")
            .starts_with("http/1.1 405")
    );
    let stranger = Page {
        token: "0".repeat(served.page.token.len()),
        ..served.page.clone()
    };
    assert!(
        stranger
            .send("PUT", "/selection", "keyframes")
            .starts_with("http/1.1 403")
    );
}

#[test]
fn a_browser_fills_the_page_in() {
    let served = served(figures);
    let expected = [
        "live for 00:01:",
        "test card, 640x480 at 25 frames/s",
        "<td>3.4 µs</td>",
        "<td>1.94 ms</td>",
        "+8.6 µs",
        "95 % confidence: 7.9 µs to 9.3 µs",
        "On the wire it adds 92 bytes to a frame of ",
        " bytes: 1.3 %.",
        "x25519-mlkem768",
        "not measurable here",
        "Both ends of the table read the same clock.",
        "made of the 42 % of bytes in clear",
    ];
    let (page, output) = browser::page(&served.page.url(), &expected);
    for shown in expected {
        assert!(page.contains(shown), "'{shown}' is not on the page:\n{page}");
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        !errors.contains("CONSOLE") || !errors.contains("rror"),
        "the page's script complains: {errors}"
    );
}

#[test]
fn before_a_frame_was_sent_the_page_says_nothing_of_its_bytes() {
    let served = served(|frame| {
        let mut stats = figures(frame);
        stats.price = stats.price.map(|price| Price {
            frame_bytes: 0.0,
            ..price
        });
        stats
    });
    let (page, _) = browser::page(&served.page.url(), &["95 % confidence:"]);
    assert!(page.contains("95 % confidence:"), "{page}");
    assert!(!page.contains("On the wire it adds"), "{page}");
}

#[test]
fn the_pictures_are_on_the_screen() {
    let served = served(figures);
    let file: PathBuf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo.png");
    let mut yellow = 0;
    browser::screenshot(&served.page.url(), &file, |_| {
        let pixels = Command::new("ffmpeg")
            .args(["-loglevel", "error", "-i"])
            .arg(&file)
            .args(["-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
            .output()
            .expect("ffmpeg does not start; `cargo xtask test` installs it")
            .stdout;
        assert_eq!(pixels.len(), 1280 * 800 * 3, "a screenshot of the page");
        yellow = pixels
            .chunks_exact(3)
            .filter(|p| p[0] > 160 && p[1] > 160 && p[2] < 60)
            .count();
        yellow > 2 * 3_000
    });
    assert!(
        yellow > 2 * 3_000,
        "the yellow bars of two test cards are {yellow} pixels"
    );
}
