//! Cameras of the machine: real video devices of the kernel's test driver `vivid`, in a virtual machine. The program
//! there publishes them, and viewers on this machine watch.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sealcast::codec::H264Decoder;
use sealcast::media::Picture;
use sealcast_testkit::media::{ffmpeg, path, unpaced};
use sealcast_testkit::program::{Program, file_url, home, until, watch};
use serde_json::Value;

use crate::guest::{Guest, has_kernel};

/// One webcam, with pictures alone.
const WEBCAM: &str = "n_devs=1 node_types=0x1 num_inputs=1 input_types=0x00";
/// Its bus address.
const DEVICE: &str = "vivid.0";
const DRIVER: &str = "/sys/bus/platform/drivers/vivid";

/// Frames that a viewer must get.
const FRAMES: u64 = 25;

/// Luma, and the two kinds of chroma, of the driver's colour bars from left to right (75 %, BT.601, video range).
const BARS: [[i32; 3]; 8] = [
    [180, 128, 128],
    [162, 44, 142],
    [131, 156, 44],
    [112, 72, 58],
    [84, 184, 198],
    [65, 100, 212],
    [35, 212, 114],
    [16, 128, 128],
];
/// Most that a sample may be off.
const OFF: i32 = 14;

/// Boots the machine. `cargo xtask cameras` says where its kernel is; without that there is nothing to test.
fn boot() -> Option<Guest> {
    has_kernel().then(|| Guest::boot(&[("e1000", ""), ("vivid", WEBCAM)], &[], &BTreeMap::new()))
}

/// Publishes in the guest with more options, and waits for the ticket. Its words go to `/said`.
pub(crate) fn publish(guest: &mut Guest, source: &str, more: &str) -> String {
    let listen = format!(
        "--listen 'tcp://0.0.0.0:{}?latency=10000' --advertise 127.0.0.1",
        guest.port
    );
    guest.shell("rm -f /ticket /said");
    guest.shell(&format!(
        "sealcast publish '{source}' {listen} --invite-uses 9 {more} --ticket-file - >/ticket 2>/said &"
    ));
    let ticket = guest.until("cat /ticket; grep -a '^sealcast:' /said", "sealcast:");
    let ticket = ticket.lines().find(|line| line.starts_with("sealcast://"));
    ticket
        .map(str::to_owned)
        .unwrap_or_else(|| panic!("{}", guest.shell("cat /said").0))
}

/// Watches until enough frames came. Returns the rows of the viewer's log of frames.
pub(crate) fn watched(ticket: &str, out: &Path) -> Vec<Vec<String>> {
    let viewer_home = home();
    let log = viewer_home.path().join("log");
    let mut viewer = watch(
        viewer_home.path(),
        ticket,
        &["--to", &file_url(out), "--log-dir", path(&log)],
    );
    let frames = log.join("frames_latency.csv");
    let lines = || std::fs::read_to_string(&frames).map_or(0, |text| text.lines().count() as u64);
    until("enough frames came", || lines() > FRAMES);
    viewer.stop();
    rows(&frames)
}

/// The frame number, stamp, and times of stamp, capture and encoding, in nanoseconds.
pub(crate) fn rows(file: &Path) -> Vec<Vec<String>> {
    let mut reader = csv::Reader::from_path(file).expect("a log");
    let header = reader.headers().expect("a header").clone();
    let wanted = ["frame", "stamp", "stamped_ns", "captured_ns", "encoded_ns"];
    let columns = wanted.map(|name| header.iter().position(|column| column == name).expect(name));
    let rows = reader.records().map(|row| {
        let row = row.expect("a row");
        columns.map(|column| row[column].to_owned()).to_vec()
    });
    rows.collect()
}

/// Stamps grow, and those of this kind are most; all others are arrivals, because a stamp of the future is not
/// believed.
pub(crate) fn assert_stamps(rows: &[Vec<String>], kind: &str) {
    let number = |text: &String| text.parse::<u64>().expect("a number");
    assert!(rows.len() as u64 >= FRAMES);
    for pair in rows.windows(2) {
        assert!(
            number(&pair[0][2]) < number(&pair[1][2]),
            "stamps do not grow: {pair:?}"
        );
        assert!(
            number(&pair[0][0]) < number(&pair[1][0]),
            "frames are out of order: {pair:?}"
        );
    }
    let (of_kind, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row[1] == kind);
    assert!(
        of_kind.len() > others.len(),
        "{} of {}: {rows:?}",
        of_kind.len(),
        rows.len()
    );
    assert!(others.iter().all(|row| row[1] == "arrival"), "{rows:?}");
    // Emulation is slow; a wrong clock would be off by the time since the machine started, or by decades.
    let ages = of_kind.iter().map(|row| number(&row[3]).checked_sub(number(&row[2])));
    let quickest = ages.map(|age| age.expect("stamped before it came")).min();
    println!(
        "{kind}: {} of {}, the quickest after {quickest:?} ns",
        of_kind.len(),
        rows.len()
    );
    assert!(
        quickest < Some(1_000_000_000),
        "the quickest frame came {quickest:?} ns after its stamp"
    );
}

/// The means of a small area of each bar, at a third of the height, where the driver writes no text.
fn bars(picture: &Picture) -> Vec<[i32; 3]> {
    let mean = |plane: &[u8], width: usize, x: usize, y: usize| {
        let cells = (0..16).map(|at| i32::from(plane[(y + at / 4) * width + x + at % 4]));
        cells.sum::<i32>() / 16
    };
    let (width, y) = (picture.width, picture.height * 4 / 5);
    (0..8)
        .map(|bar| {
            let x = ((2 * bar + 1) * width / 16) & !1;
            [
                mean(&picture.y, width, x, y),
                mean(&picture.u, width / 2, x / 2, y / 2),
                mean(&picture.v, width / 2, x / 2, y / 2),
            ]
        })
        .collect()
}

/// The recording shows the driver's colour bars in every picture, and pictures differ: the driver draws a clock.
fn assert_bars(recording: &Path, size: (usize, usize)) {
    let mut decoder = H264Decoder::new().expect("a decoder");
    let mut source = unpaced(recording);
    let (mut pictures, mut different) = (0, BTreeSet::new());
    while let Some(frame) = sealcast::source::Source::next(&mut source).expect("a frame") {
        let picture = decoder.decode(&frame.data).expect("it decodes").expect("a picture");
        assert_eq!((picture.width, picture.height), size);
        for (bar, (got, meant)) in bars(&picture).iter().zip(BARS).enumerate() {
            let off = got.iter().zip(meant).map(|(got, meant)| (got - meant).abs()).max();
            assert!(
                off <= Some(OFF),
                "bar {bar} of picture {pictures} is {got:?}, not {meant:?}"
            );
        }
        pictures += 1;
        different.insert(picture.y);
    }
    assert!(pictures >= FRAMES, "{pictures} pictures");
    assert!(different.len() > 5, "only {} different pictures", different.len());
}

#[test]
fn raw_pictures_of_a_real_device_arrive_with_their_stamps() {
    let Some(mut guest) = boot() else { return };
    let (said, code) = guest.shell("sealcast devices");
    assert_eq!(code, 0, "{said}");
    for words in ["/dev/video0  vivid", "driver vivid", "yuyv   320x180 at", "not taken"] {
        assert!(said.contains(words), "no \"{words}\" in\n{said}");
    }
    let (json, _) = guest.shell("sealcast devices --json");
    let json: Value = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}:\n{json}"));
    assert_eq!(json[0]["device"], "/dev/video0");
    let folder = home();
    // The end of a frame is what the driver says first, and it says it before that end: a stamp of the future.
    let stamps = [
        ("yuyv", "arrival"),
        ("nv12", "exposure_start"),
        ("yvyu", "exposure_start"),
    ];
    for (format, stamp) in stamps {
        if stamp == "exposure_start" {
            let (said, code) = guest.shell("v4l2-ctl -d /dev/video0 -c timestamp_source=1 2>&1");
            assert_eq!(code, 0, "{said}");
        }
        let ticket = publish(
            &mut guest,
            &format!("v4l2:/dev/video0?size=320x180&fps=10&format={format}"),
            "",
        );
        let out = folder.path().join(format!("{format}.mp4"));
        assert_stamps(&watched(&ticket, &out), stamp);
        assert_bars(&out, (320, 180));
        // Another program plays it too.
        assert!(ffmpeg(&["-i", path(&out), "-f", "framemd5", "-"]).len() > 1000);
        guest.shell("killall sealcast; wait");
    }
}

#[test]
fn what_a_real_device_cannot_do_is_told_in_words() {
    let Some(mut guest) = boot() else { return };
    let mut fails = |source: &str, words: &str| {
        let (said, code) = guest.shell(&format!("sealcast publish '{source}' --listen tcp://127.0.0.1:0 2>&1"));
        assert_eq!(code, 3, "{source}: {said}");
        assert!(said.contains(words), "{source}: {said}");
    };
    fails("v4l2:/dev/video7", "there is no camera at /dev/video7");
    fails("v4l2:/dev/null", "is no video device");
    fails(
        "v4l2:/dev/video0?format=mjpeg",
        "does not offer the format mjpeg; it offers",
    );
    fails("v4l2:/dev/video0?size=330x190", "the nearest is size=320x180");
    fails(
        "v4l2:/dev/video0?size=320x180&fps=999",
        "does not offer 999 frames per second",
    );
    publish(&mut guest, "v4l2:/dev/video0?size=320x180&fps=10", "");
    let (said, code) = guest.shell("sealcast publish v4l2:/dev/video0 --listen tcp://127.0.0.1:0 2>&1");
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("/dev/video0 is in use: sealcast (process "), "{said}");
    guest.shell("chmod 660 /dev/video0");
    let (said, _) = guest.shell("su somebody -s /bin/sh -c 'SEALCAST_HOME=/tmp/k sealcast devices'");
    assert!(
        said.contains("this user may not open /dev/video0") && said.contains("usermod -aG video"),
        "{said}"
    );
}

#[test]
fn what_a_real_driver_drops_or_damages_is_counted() {
    let Some(mut guest) = boot() else { return };
    let source = "v4l2:/dev/video0?size=320x180&fps=10&format=yuyv";
    publish(&mut guest, source, "--metrics 127.0.0.1:9100");
    let metrics = "wget -q -O - http://127.0.0.1:9100/metrics";
    guest.until(
        metrics,
        "sealcast_frames_dropped_total{camera=\"camera\",cause=\"damaged\"} 0",
    );
    let mut set = |control: &str| {
        let (said, code) = guest.shell(&format!("v4l2-ctl -d /dev/video0 -c {control} 2>&1"));
        assert_eq!(code, 0, "{said}");
    };
    set("inject_v4l2_buf_flag_error=1");
    set("percentage_of_dropped_buffers=60");
    guest.until(
        metrics,
        "sealcast_frames_dropped_total{camera=\"camera\",cause=\"damaged\"} 1",
    );
    let lost = format!("{metrics} | grep 'cause=\"source\"' | grep -v ' 0$'");
    guest.until(&lost, "sealcast_frames_dropped_total");
}

#[test]
fn a_camera_that_is_unplugged_is_opened_again_when_it_is_back() {
    let Some(mut guest) = boot() else { return };
    let folder = home();
    let ticket = publish(&mut guest, "v4l2:/dev/video0?size=320x180&fps=10&format=yuyv", "");
    let viewer_home = home();
    let log = viewer_home.path().join("log");
    let out = folder.path().join("out.mp4");
    let viewer: Program = watch(
        viewer_home.path(),
        &ticket,
        &["--to", &file_url(&out), "--log-dir", path(&log)],
    );
    let frames = log.join("frames_latency.csv");
    let lines = || std::fs::read_to_string(&frames).map_or(0, |text| text.lines().count());
    until("frames come", || lines() > 10);
    guest.shell(&format!("echo {DEVICE} > {DRIVER}/unbind"));
    guest.until("cat /said", "opening the camera again");
    guest.shell(&format!("echo {DEVICE} > {DRIVER}/bind"));
    guest.until("cat /said", "the camera is on again");
    let before = lines();
    until("frames come again", || lines() > before + 10);
    let numbers: Vec<u64> = rows(&frames)
        .iter()
        .map(|row| row[2].parse().expect("a number"))
        .collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] < pair[1]),
        "stamps go back: {numbers:?}"
    );
    drop(viewer);
    // And for good: the publisher ends, and says why.
    guest.shell(&format!("echo {DEVICE} > {DRIVER}/unbind"));
    let (_, code) = guest.shell("wait $!");
    let (said, _) = guest.shell("cat /said");
    assert_eq!(code, 3, "{said}");
    let words =
        |said: &str| said.contains("unplugged, or its driver removed it") || said.contains("there is no camera");
    assert!(words(&said), "{said}");
}
