//! What the tests on bad networks share: a seeded link in front of a ticket, films, and figures of what was shown.
#![allow(dead_code, unused_imports, reason = "every test binary uses its own part of this")]

#[allow(unreachable_pub, reason = "it is a part of a library")]
#[path = "../../../sealcast-lab/src/proxy/mod.rs"]
mod proxy;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use proxy::{Running, UdpProxy, Way};

use crate::attack::{Proxy, Row, ffmpeg, path};
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
