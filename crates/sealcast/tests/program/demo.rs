//! The demo, started from the command line: its table, its report, and its page.

use std::path::Path;
use std::time::{Duration, Instant};

use sealcast::private_file::write_secret;
use sealcast_testkit::browser;
use sealcast_testkit::media::{self, path, tool};
use sealcast_testkit::page::Page;
use sealcast_testkit::program::{PATIENCE, Program, home, number, report, sealcast};

const STAGES: [&str; 12] = [
    "capture",
    "encode",
    "queue",
    "seal",
    "send",
    "network",
    "reassembly",
    "open",
    "wait",
    "decode",
    "present",
    "end_to_end",
];

fn demo(home: &Path, options: &[&str]) -> Program {
    let mut command = sealcast(home);
    command.arg("demo").args(options);
    Program::run("the demo", command)
}

#[test]
fn without_a_page_the_demo_prints_and_reports_its_figures() {
    let home = home();
    let file = home.path().join("report.json");
    let options = ["--headless", "--metrics", "127.0.0.1:0", "--report", path(&file)];
    let mut demo = demo(home.path(), &options);
    demo.says("http://", PATIENCE);
    demo.has_counted("sealcast_stage_seconds_count{stage=\"end_to_end\"}", 40.0);
    demo.stop();
    let table = demo.rest();
    for stage in STAGES {
        let row = table.iter().find(|line| line.split_whitespace().next() == Some(stage));
        let row = row.unwrap_or_else(|| panic!("no {stage} in {table:#?}"));
        let frames: u64 = row
            .split_whitespace()
            .nth(1)
            .expect("a count")
            .parse()
            .expect("a number");
        assert!(frames > 0, "{row}");
    }
    let table = table.join("\n");
    for words in [
        "price of sealing and opening: ",
        "95 % confidence",
        "CPU ",
        " dropped, 0 records refused",
    ] {
        assert!(table.contains(words), "no \"{words}\" in\n{table}");
    }

    let report = report(&file);
    assert_eq!(report["outcome"], "completed");
    assert_eq!(report["command"], "demo");
    for stage in STAGES {
        assert!(number(&report, &format!("/stages/{stage}/count")) > 0.0);
        // Over a byte stream no frame waits for an earlier one.
        assert!(stage == "reassembly" || number(&report, &format!("/stages/{stage}/p99_ns")) > 0.0);
    }
    let paired = report["paired"].as_object().expect("comparisons");
    let price = paired.values().next().expect("the price of sealing");
    assert!(price["n"].as_u64().is_some_and(|pairs| pairs > 0), "{price}");
    assert!(number(&report, "/resources/cpu_seconds") > 0.0);
    // One for each end, or more if the machine stood still for so long that the ends lost each other.
    let handshakes = report["handshakes"].as_array().expect("a list");
    let established = handshakes.iter().filter(|row| row["outcome"] == "established").count();
    assert!(established >= 2, "{handshakes:?}");
}

/// The demo with a page, whose token is in a file: a program whose output is no terminal does not print it.
fn demo_with_page(home: &Path) -> (Program, Page) {
    demo_with(home, &[])
}

/// The same with more options.
fn demo_with(home: &Path, more: &[&str]) -> (Program, Page) {
    let file = home.join("token");
    let token = "a-token-of-this-test".to_owned();
    write_secret(&file, token.as_bytes()).expect("room for a file");
    let page = format!("http://127.0.0.1:0?token=@{}", path(&file));
    let demo = demo(home, &[&["--page", &page], more].concat());
    let line = demo.line();
    assert!(!line.contains(&token), "{line}");
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
    let address = address.and_then(|address| address.parse().ok());
    let address = address.unwrap_or_else(|| panic!("no address in {line}"));
    (demo, Page { address, token })
}

/// Five pictures of the page in a row, as ffmpeg writes them with these options.
fn five_pictures(page: &Page, name: &str, format: &[&str]) -> Vec<u8> {
    let url = format!("http://{}/{name}", page.address);
    let token = format!("Authorization: Bearer {}", page.token);
    let read = ["-loglevel", "error", "-f", "mpjpeg", "-headers", &token, "-i", &url];
    let mut ffmpeg = tool("ffmpeg");
    ffmpeg.args(read).args(["-frames:v", "5"]).args(format).arg("-");
    ffmpeg.output().expect("ffmpeg runs").stdout
}

#[test]
fn a_browser_shows_the_demos_pictures_and_figures() {
    let home = home();
    let (mut demo, page) = demo_with_page(home.path());
    let expected = [
        "live for",
        "test:640x480@25",
        "x25519-mlkem768",
        "aes-256-gcm",
        // The colon follows only once there are figures; the text of the page contains the words without it.
        "95 % confidence:",
        "On the wire it adds",
        "µs</td>",
    ];
    let (shown, _) = browser::page(&page.url(), &expected);
    for words in expected {
        assert!(shown.contains(words), "'{words}' is not on the page:\n{shown}");
    }
    for picture in ["camera.mjpeg", "wire.mjpeg", "viewer.mjpeg"] {
        let seen = String::from_utf8(five_pictures(&page, picture, &["-f", "framemd5"])).expect("text");
        let mut pictures: Vec<_> = seen
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit(',').next())
            .collect();
        assert_eq!(pictures.len(), 5, "{picture}");
        pictures.sort_unstable();
        pictures.dedup();
        assert!(pictures.len() > 1, "{picture} does not move");
    }
    demo.stop();
}

#[test]
fn both_test_cards_are_on_the_demos_screen() {
    let home = home();
    let (mut demo, page) = demo_with_page(home.path());
    let file = home.path().join("demo.png");
    let mut yellow = 0;
    browser::screenshot(&page.url(), &file, |_| {
        let pixels = media::ffmpeg(&["-i", path(&file), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]);
        assert_eq!(pixels.len(), 1280 * 800 * 3, "a screenshot of the page");
        let is_yellow = |p: &&[u8]| p[0] > 160 && p[1] > 160 && p[2] < 60;
        yellow = pixels.chunks_exact(3).filter(is_yellow).count();
        yellow > 2 * 3_000
    });
    assert!(
        yellow > 2 * 3_000,
        "the yellow bars of two test cards are {yellow} pixels"
    );
    demo.stop();
}

/// Difference between the lightest and the darkest pixel of what the eavesdropper shows.
fn contrast_for_the_eavesdropper(page: &Page) -> u8 {
    let pictures = five_pictures(page, "attack.mjpeg", &["-f", "rawvideo", "-pix_fmt", "gray"]);
    let last = pictures.chunks(pictures.len() / 5).next_back().unwrap_or_default();
    let (darkest, lightest) = (last.iter().min(), last.iter().max());
    lightest.expect("a picture") - darkest.expect("a picture")
}

#[test]
fn an_eavesdropper_sees_what_is_left_in_clear_and_nothing_else() {
    let home = home();
    let (mut demo, page) = demo_with_page(home.path());
    let known = |selection: &str| {
        let stats: serde_json::Value = serde_json::from_slice(&page.get("/stats.json").1).expect("JSON");
        let eavesdropper = &stats["eavesdropper"];
        let percent = eavesdropper["known_percent"].as_f64();
        percent.filter(|_| eavesdropper["selection"] == selection)
    };
    let deadline = Instant::now() + PATIENCE;
    let wait = |what: &str, holds: &dyn Fn() -> bool| {
        while !holds() {
            assert!(Instant::now() < deadline, "{what}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    wait("a picture of nothing", &|| contrast_for_the_eavesdropper(&page) < 8);
    assert_eq!(known("all"), Some(0.0));
    assert!(page.send("PUT", "/selection", "none").starts_with("http/1.1 204"));
    wait("everything in clear", &|| {
        known("none").is_some_and(|percent| percent > 99.0)
    });
    wait("the picture", &|| contrast_for_the_eavesdropper(&page) > 150);
    assert!(page.send("PUT", "/selection", "all").starts_with("http/1.1 204"));
    wait("nothing in clear", &|| {
        known("all").is_some_and(|percent| percent < 1.0)
    });
    wait("a picture of nothing again", &|| {
        contrast_for_the_eavesdropper(&page) < 8
    });
    assert!(
        page.send("PUT", "/selection", "some")
            .contains("what to encrypt is all, none")
    );
    demo.stop();
}

#[test]
fn with_a_shape_the_page_leaves_nothing_in_clear() {
    let home = home();
    let (mut demo, page) = demo_with(home.path(), &["--shape", "constant:4mbit"]);
    let refused = page.send("PUT", "/selection", "none");
    assert!(
        refused.starts_with("http/1.1 409") && refused.contains("with a shape everything is encrypted"),
        "{refused}"
    );
    demo.stop();
}
