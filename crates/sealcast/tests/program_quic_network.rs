//! The program over `quic://` on networks that lose, that are slow, that break off, and whose addresses change.

mod attack;
#[allow(dead_code, unreachable_pub, unused_imports, reason = "these tests use a part of it")]
#[path = "../../sealcast-lab/src/proxy/mod.rs"]
mod proxy;

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::sleep;
use std::time::Duration;

use attack::{Home, Program};
use proxy::{Links, UdpProxy};

const HERE: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);
/// Some 1.3 Mbit/s.
const CARD: &str = "test:640x480@25?bitrate=1300000";

fn publish(home: &Home, source: &str, unit: &str) -> (Program, String) {
    let options = format!("--listen quic://127.0.0.1:0 --unit {unit} --report report.json");
    let program = home.start(&format!("publish {source} {options}"));
    let ticket = program.ticket();
    (program, ticket)
}

/// A bad network in front of the port of a ticket, and the ticket through it.
fn behind(ticket: &str, link: &str) -> (UdpProxy, String) {
    let port = attack::Proxy::port_of(ticket);
    let links = Links::both(link.parse().expect("a profile"), 11);
    let proxy = UdpProxy::start(HERE.into(), SocketAddr::from((Ipv4Addr::LOCALHOST, port)), links);
    let proxy = proxy.expect("a proxy");
    let ticket = attack::Proxy::redirect(ticket, proxy.address().port());
    (proxy, ticket)
}

struct Row {
    number: u64,
    keyframe: bool,
    delay: Duration,
}

/// What a viewer wrote down of its frames; both ends have the same clock here.
fn rows(home: &Home) -> Vec<Row> {
    let mut log = csv::Reader::from_path(home.file("logs/frames_latency.csv")).expect("a log");
    let headers = log.headers().expect("a head").clone();
    let column = |name: &str| headers.iter().position(|header| header == name).expect("a column");
    let columns = ["frame", "captured_ns", "received_ns"].map(column);
    let keyframe = column("keyframe");
    let rows = log.records().map(|row| row.expect("a row"));
    rows.map(|row| {
        let [number, captured, received] = columns.map(|column| row[column].parse().expect("a number"));
        let delay = Duration::from_nanos(u64::saturating_sub(received, captured));
        Row {
            number,
            keyframe: &row[keyframe] == "true",
            delay,
        }
    })
    .collect()
}

/// The delay that so many hundredths of the frames stay below.
fn quantile(rows: &[Row], percent: usize) -> Duration {
    let mut delays: Vec<Duration> = rows.iter().map(|row| row.delay).collect();
    delays.sort_unstable();
    delays[(delays.len() - 1) * percent / 100]
}

fn told(name: &str, rows: &[Row]) {
    let [median, most, longest] = [50, 95, 100].map(|percent| quantile(rows, percent));
    println!(
        "{name}: {} frames, delay {median:?}, 95 % {most:?}, longest {longest:?}",
        rows.len()
    );
}

fn missing(rows: &[Row]) -> u64 {
    let gaps = rows.windows(2).map(|pair| pair[1].number - pair[0].number - 1);
    gaps.sum()
}

/// Watch for so many seconds through a network.
fn watched(source: &str, unit: &str, link: &str, seconds: u32) -> Vec<Row> {
    let (publisher_home, home) = (Home::new(), Home::new());
    let (mut publisher, ticket) = publish(&publisher_home, source, unit);
    let (proxy, through) = behind(&ticket, link);
    let options = format!("--to null: --log-dir logs --seconds {seconds}");
    let mut viewer = home.start(&format!("watch {through} {options}"));
    viewer.says("INFO watching");
    sleep(Duration::from_secs(seconds.into()));
    assert_eq!(viewer.ends(), 0, "{}", viewer.said());
    assert_eq!(viewer.count("INFO watching"), 1, "in one session: {}", viewer.said());
    assert_eq!(publisher.stop(), 0);
    drop(proxy);
    let rows = rows(&home);
    told(&format!("{unit}, {link}"), &rows);
    rows
}

#[test]
fn a_stream_goes_on_when_one_packet_in_twenty_is_lost() {
    for unit in ["frame", "packet"] {
        let rows = watched(CARD, unit, "delay=20ms loss=5%", 8);
        assert!(rows.len() > 50, "{unit}: {} frames in 8 s", rows.len());
        assert!(
            missing(&rows) * 4 <= rows.len() as u64,
            "{unit}: {} missing",
            missing(&rows)
        );
    }
}

#[test]
fn a_viewer_behind_a_slow_link_loses_groups_and_its_delay_does_not_grow() {
    for unit in ["frame", "packet"] {
        let source = "test:640x480@25?bitrate=4000000";
        let rows = watched(source, unit, "delay=20ms rate=1mbit queue=200ms", 10);
        assert!(rows.len() > 20, "{unit}: {} frames", rows.len());
        assert!(missing(&rows) > 0, "{unit}: it cannot carry them all");
        for pair in rows.windows(2).filter(|pair| pair[1].number != pair[0].number + 1) {
            assert!(pair[1].keyframe, "{unit}: frame {} is of no use", pair[1].number);
        }
        // Ten seconds of four times too much would be thirty of delay.
        assert!(quantile(&rows, 100) < Duration::from_secs(4), "{unit}");
        let (early, late) = rows.split_at(rows.len() / 2);
        let (early, late) = (quantile(early, 50), quantile(late, 50));
        assert!(
            late < early * 2 + Duration::from_millis(500),
            "{unit}: from {early:?} to {late:?}"
        );
    }
}

#[test]
fn a_session_outlives_a_long_outage_and_goes_on_with_new_pictures() {
    for unit in ["frame", "packet"] {
        let rows = watched(CARD, unit, "delay=20ms outage=4s+8s", 20);
        let outage = rows.windows(2).position(|pair| pair[1].number - pair[0].number > 50);
        let (before, after) = rows.split_at(outage.expect("a gap") + 1);
        assert!(
            before.len() > 20 && after.len() > 20,
            "{} and {}",
            before.len(),
            after.len()
        );
        assert!(after[0].keyframe);
        let old = rows.iter().filter(|row| row.delay > Duration::from_secs(3)).count();
        assert!(
            old <= 3,
            "{unit}: {old} pictures from before the outage were shown after it"
        );
    }
}

#[test]
fn a_viewer_whose_address_changes_stays_in_its_session() {
    let (publisher_home, home) = (Home::new(), Home::new());
    let (mut publisher, ticket) = publish(&publisher_home, CARD, "frame");
    // Two ways to the same place: the publisher sees another port when the second takes over.
    let (mut first, through) = behind(&ticket, "delay=5ms");
    let options = "--to null: --log-dir logs";
    let mut viewer = home.start(&format!("watch {through} {options}"));
    viewer.says("INFO watching");
    sleep(Duration::from_secs(2));
    let at = first.address();
    drop(first);
    let port = attack::Proxy::port_of(&ticket);
    let links = Links::both("delay=5ms".parse().expect("a profile"), 12);
    first = UdpProxy::start(at, SocketAddr::from((Ipv4Addr::LOCALHOST, port)), links).expect("a proxy");
    sleep(Duration::from_secs(4));
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0));
    assert_eq!(viewer.count("INFO watching"), 1, "in one session: {}", viewer.said());
    drop(first);
    let rows = rows(&home);
    let last = rows.last().expect("frames").number;
    assert!(
        last > 100 && missing(&rows) < 50,
        "up to {last}, {} missing",
        missing(&rows)
    );
}
