//! What the tests on bad networks share: a seeded link in front of a ticket, films, and what a viewer wrote down.
#![allow(dead_code, unused_imports, reason = "every test binary uses its own part of this")]

#[allow(unreachable_pub, reason = "it is a part of a library")]
#[path = "../../../sealcast-lab/src/proxy/mod.rs"]
mod proxy;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use proxy::{UdpProxy, Way};

use crate::attack::{Home, Program, Proxy, ffmpeg, path};
use proxy::Links;

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// A bad network in front of the port of a ticket, and the ticket through it.
pub(crate) fn behind(ticket: &str, link: &str, seed: u64) -> (UdpProxy, String) {
    let port = Proxy::port_of(ticket);
    let links = Links::both(link.parse().expect("a profile"), seed);
    let proxy = UdpProxy::start(HERE.into(), SocketAddr::from((Ipv4Addr::LOCALHOST, port)), links);
    let proxy = proxy.expect("a proxy");
    let ticket = Proxy::redirect(ticket, proxy.address().port());
    (proxy, ticket)
}

/// A viewer that records all it gets, and writes everything down.
pub(crate) fn record(ticket: &str, more: &str) -> (Home, Program) {
    let home = Home::new();
    let options = "--to file:out.h264 --log-dir logs --report report.json";
    let program = home.start(&format!("watch {ticket} {options} {more}"));
    (home, program)
}

/// A pass-through clip of this size and bit rate.
pub(crate) fn film(dir: &Path, size: &str, seconds: u32, bits: &str) -> PathBuf {
    let file = dir.join(format!("{size}.mp4"));
    let input = format!("testsrc2=size={size}:rate=30:duration={seconds},noise=alls=12:allf=t");
    let codec = [
        "-c:v",
        "libx264",
        "-preset",
        "ultrafast",
        "-tune",
        "zerolatency",
        "-g",
        "30",
        "-pix_fmt",
        "yuv420p",
    ];
    let rate = ["-b:v", bits, "-maxrate", bits, "-bufsize", bits];
    ffmpeg(&[&["-f", "lavfi", "-i", &input][..], &codec, &rate, &[path(&file)]].concat());
    file
}

/// What a viewer wrote down of a frame.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) number: u64,
    pub(crate) keyframe: bool,
    captured_ns: u64,
    pub(crate) received_ns: u64,
}

impl Row {
    /// From the picture to the viewer; both ends have the same clock here.
    fn delay(self) -> Duration {
        Duration::from_nanos(self.received_ns.saturating_sub(self.captured_ns))
    }
}

pub(crate) fn rows(home: &Home) -> Vec<Row> {
    let mut log = csv::Reader::from_path(home.file("logs/frames_latency.csv")).expect("a log");
    let headers = log.headers().expect("a head").clone();
    let column = |name: &str| headers.iter().position(|header| header == name).expect("a column");
    let columns = ["frame", "captured_ns", "received_ns"].map(column);
    let keyframe = column("keyframe");
    let rows = log.records().map(|row| row.expect("a row"));
    rows.map(|row| {
        let [number, captured_ns, received_ns] = columns.map(|column| row[column].parse().expect("a number"));
        Row {
            number,
            keyframe: &row[keyframe] == "true",
            captured_ns,
            received_ns,
        }
    })
    .collect()
}

/// How many frames are missing between the first and the last.
pub(crate) fn missing(rows: &[Row]) -> u64 {
    let gaps = rows.windows(2).map(|pair| pair[1].number - pair[0].number - 1);
    gaps.sum()
}

/// The frames that came more than `settling` after the first.
pub(crate) fn settled(rows: &[Row], settling: Duration) -> Vec<Row> {
    let first = rows.first().expect("frames").received_ns;
    let from = first + u64::try_from(settling.as_nanos()).expect("a test is short");
    rows.iter().copied().filter(|row| row.received_ns > from).collect()
}

/// The delay that so many thousandths of the frames stay below.
pub(crate) fn quantile(rows: &[Row], thousandths: usize) -> Duration {
    let mut delays: Vec<Duration> = rows.iter().map(|row| row.delay()).collect();
    delays.sort_unstable();
    delays[(delays.len() - 1) * thousandths / 1000]
}

pub(crate) fn told(name: &str, rows: &[Row]) {
    println!(
        "{name}: {} frames, delay: median {:?}, 99 % {:?}, longest {:?}",
        rows.len(),
        quantile(rows, 500),
        quantile(rows, 990),
        quantile(rows, 1000)
    );
}
