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

/// Fails unless frames came in order and once, and each is of use: a keyframe, or the one after the one before.
pub(crate) fn assert_decodable(rows: &[Row]) {
    assert!(rows.first().expect("frames").keyframe);
    for pair in rows.windows(2) {
        let [before, after] = [pair[0].number, pair[1].number];
        assert!(before < after, "frame {after} came after {before}");
        assert!(pair[1].keyframe || after == before + 1, "frame {after} is of no use");
    }
}

/// Fails unless the last quarter of the frames was made to be much shorter than `wished` bytes on average.
pub(crate) fn smaller_towards_the_end(rows: &[Row], wished: u64) {
    let last = &rows[rows.len() * 3 / 4..];
    let mean = last.iter().map(|row| row.bytes).sum::<u64>() / last.len() as u64;
    assert!(mean < wished / 2, "{mean} bytes a frame, {wished} were wished");
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
