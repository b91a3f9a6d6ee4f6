//! The program over `quic://` on networks that are slow, that lose, that break off, and whose addresses change.

use std::thread::sleep;
use std::time::{Duration, Instant};

use sealcast_lab::proxy::{Running, UdpProxy, Way};
use sealcast_testkit::attack::{Home, Program, Proxy, Row, Tap, record, until};

use crate::bad_network::{film, missing, quantile, settled, told};
use crate::common::behind;

/// Four times what the slow link carries, for a source that can follow.
const RICH: &str = "test:640x480@25?bitrate=8000000";
/// What every link here carries.
const MODEST: &str = "test:640x480@25?bitrate=1000000";
const FRAMES_A_SECOND: usize = 25;
/// By which a publisher sends streams, and datagrams.
const UNITS: [&str; 2] = ["frame", "packet"];
/// However slow the link is, pictures are no older than this once the rate has settled.
const OLDEST: Duration = Duration::from_secs(1);

/// A publisher and its viewer, and what is between them.
struct Pair<N> {
    name: String,
    publisher: Program,
    _publisher_home: Home,
    viewer: Program,
    home: Home,
    network: N,
}

impl<N> Pair<N> {
    /// Have somebody watch `source` through the network that `between` puts in front of a ticket.
    fn start(source: &str, unit: &str, between: impl FnOnce(&str) -> (N, String)) -> Self {
        let publisher_home = Home::new();
        let options = format!("--listen quic://127.0.0.1:0 --unit {unit}");
        let publisher = publisher_home.start(&format!("publish {source} {options}"));
        let (network, through) = between(&publisher.ticket());
        let (home, viewer) = record(&through, "");
        viewer.says("INFO watching");
        Self {
            name: format!("{source} by {unit}"),
            publisher,
            _publisher_home: publisher_home,
            viewer,
            home,
            network,
        }
    }

    /// Stop both, which had one session all the while; the frames that the viewer got.
    fn stop(mut self) -> Vec<Row> {
        assert_eq!((self.viewer.stop(), self.publisher.stop()), (0, 0), "{}", self.name);
        assert_eq!(self.viewer.count("INFO watching"), 1, "{}", self.viewer.said());
        assert_eq!(self.publisher.count("a viewer watches"), 1, "{}", self.publisher.said());
        let rows = self.home.rows();
        told(&self.name, &rows);
        rows
    }
}

/// Somebody watches `source` by each unit over a link of this profile, all at the same time.
fn each_unit(source: &str, link: &str) -> Vec<Pair<UdpProxy>> {
    let pair = |unit| Pair::start(source, unit, |ticket| behind(ticket, link, 11));
    UNITS.into_iter().map(pair).collect()
}

#[test]
fn where_a_link_becomes_slow_an_encoder_follows_and_a_film_loses_whole_groups() {
    // It carries everything at first: QUIC's window opens, and nothing holds it back later.
    const LINK: &str = "rate=50mbit queue=300ms delay=10ms";
    const SLOW: &str = "rate=2mbit queue=300ms delay=10ms";
    const SECONDS: usize = 10;
    let (fast, settling) = (Duration::from_secs(3), Duration::from_secs(5));
    let films = Home::new();
    let film = format!("file:{}?loop", film(films.path(), "640x480", 5, "3M").display());
    let encoded = each_unit(RICH, LINK);
    let passed = Pair::start(&film, "frame", |ticket| behind(ticket, LINK, 11));
    sleep(fast);
    for pair in encoded.iter().chain([&passed]) {
        pair.network
            .change(Way::Down, SLOW.parse().expect("a profile"))
            .expect("it is for datagrams");
    }
    sleep(settling + Duration::from_secs(SECONDS as u64));
    for pair in encoded {
        let name = pair.name.clone();
        let rows = settled(&pair.stop(), fast + settling);
        told("settled", &rows);
        assert!(quantile(&rows, 990) < OLDEST, "{name}: {:?}", quantile(&rows, 990));
        let all = SECONDS * FRAMES_A_SECOND;
        assert!(rows.len() * 4 >= all * 3, "{name}: {} frames of {all}", rows.len());
    }
    let rows = settled(&passed.stop(), fast + settling);
    told("settled", &rows);
    assert!(
        rows.len() >= SECONDS * 2 && missing(&rows) > 0,
        "{film}: {} frames",
        rows.len()
    );
    for pair in rows.windows(2).filter(|pair| pair[1].number != pair[0].number + 1) {
        assert!(pair[1].keyframe, "frame {} is of no use", pair[1].number);
    }
}

#[test]
fn a_stream_goes_on_where_one_packet_in_twenty_is_lost() {
    const SECONDS: usize = 6;
    let pairs = each_unit(MODEST, "delay=20ms loss=5%");
    sleep(Duration::from_secs(SECONDS as u64));
    for pair in pairs {
        let name = pair.name.clone();
        let rows = pair.stop();
        let all = SECONDS * FRAMES_A_SECOND;
        assert!(rows.len() * 10 >= all * 9, "{name}: {} frames of {all}", rows.len());
        assert!(quantile(&rows, 500) < OLDEST / 4, "{name}: {:?}", quantile(&rows, 500));
        assert!(quantile(&rows, 990) < OLDEST, "{name}: {:?}", quantile(&rows, 990));
    }
}

#[test]
fn a_session_outlives_ten_seconds_without_network_and_goes_on_with_new_pictures() {
    const OUTAGE: Duration = Duration::from_secs(10);
    const BACK: Duration = Duration::from_secs(2);
    let pairs = each_unit(MODEST, "delay=20ms");
    let every_link = |link: &str| {
        for (pair, way) in pairs.iter().flat_map(|pair| [(pair, Way::Up), (pair, Way::Down)]) {
            let changed = pair.network.change(way, link.parse().expect("a profile"));
            changed.expect("it is for datagrams");
        }
    };
    sleep(Duration::from_secs(2));
    every_link("loss=100%");
    sleep(OUTAGE);
    let before: Vec<u64> = pairs.iter().map(|pair| pair.home.recorded_size()).collect();
    every_link("delay=20ms");
    let back = Instant::now();
    for (pair, before) in pairs.iter().zip(before) {
        until("the picture comes back", || {
            (pair.home.recorded_size() > before).then_some(())
        });
    }
    println!("the pictures were back after {:?}", back.elapsed());
    assert!(back.elapsed() < BACK, "{:?}", back.elapsed());
    sleep(Duration::from_secs(2));
    for pair in pairs {
        let name = pair.name.clone();
        let rows = pair.stop();
        let outage = rows.windows(2).position(|pair| pair[1].number > pair[0].number + 200);
        let (before, after) = rows.split_at(outage.expect("ten seconds of pictures are missing") + 1);
        let counts = (before.len(), after.len());
        assert!(
            counts.0 > FRAMES_A_SECOND && counts.1 > FRAMES_A_SECOND,
            "{name}: {counts:?} frames before and after"
        );
        assert!(after[0].keyframe, "{name}");
        assert!(quantile(after, 1000) < OLDEST, "{name}: {:?}", quantile(after, 1000));
    }
}

#[test]
fn a_viewer_whose_address_changes_keeps_its_session() {
    let mut pairs: Vec<Pair<Tap>> = Vec::new();
    for unit in UNITS {
        pairs.push(Pair::start(MODEST, unit, |ticket| {
            let tap = Tap::start(Proxy::port_of(ticket), |_, _, datagram| vec![datagram.to_vec()]);
            let through = Proxy::redirect(ticket, tap.port);
            (tap, through)
        }));
    }
    for address in ["127.0.0.2:0", "127.0.0.3:0"] {
        sleep(Duration::from_secs(2));
        pairs.iter().for_each(|pair| pair.network.move_to(address));
    }
    sleep(Duration::from_secs(2));
    for pair in pairs {
        let name = pair.name.clone();
        let rows = pair.stop();
        let last = rows.last().expect("frames").number;
        // Half a second until a ping tells each new address, and what was under way.
        assert!(
            last > 125 && missing(&rows) < 40,
            "{name}: up to {last}, {} missing",
            missing(&rows)
        );
    }
}
