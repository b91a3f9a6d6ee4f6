//! The program over `quic://` on networks that are slow, lose packets, fail for a while, and change addresses.

use crate::bad_network::{assert_decodable, film, smaller_towards_the_end, told};
use crate::common::behind;
use sealcast_lab::proxy::{Direction, Running, UdpProxy};
use sealcast_testkit::attack::{Home, Program, Proxy, Row, Tap, gaps, record};

/// A source at four times the rate of the slow link, whose encoder can adapt to the path.
const RICH: &str = "test:640x480@25?bitrate=8000000";
/// A source at a rate that every link here carries.
const MODEST: &str = "test:640x480@25?bitrate=1000000";
/// Units for which a publisher uses streams (`frame`) and datagrams (`packet`).
const UNITS: [&str; 2] = ["frame", "packet"];

/// A publisher and its viewer, and the network between them.
struct Pair<N> {
    name: String,
    publisher: Program,
    _publisher_home: Home,
    viewer: Program,
    home: Home,
    network: N,
}

impl<N> Pair<N> {
    /// Publishes `source`, and starts a viewer through the network that `between` puts in front of the ticket's port.
    fn start(source: &str, unit: &str, between: impl FnOnce(&str) -> (N, String)) -> Self {
        let publisher_home = Home::new();
        let options = format!("--listen quic://127.0.0.1:0 --unit {unit} --ticket-file -");
        let publisher = publisher_home.start(&format!("publish {source} {options}"));
        let (network, through) = between(&publisher.ticket());
        let (home, viewer) = record(&through, "");
        home.flows(&viewer);
        Self {
            name: format!("{source} by {unit}"),
            publisher,
            _publisher_home: publisher_home,
            viewer,
            home,
            network,
        }
    }

    /// Stops both ends. Fails unless they had a single session and all received frames are decodable. Returns these
    /// frames.
    fn stop(mut self) -> Vec<Row> {
        self.ends()
    }

    fn ends(&mut self) -> Vec<Row> {
        assert_eq!((self.viewer.stop(), self.publisher.stop()), (0, 0), "{}", self.name);
        assert_eq!(self.viewer.count("INFO watching"), 1, "{}", self.viewer.said());
        assert_eq!(self.publisher.count("a viewer watches"), 1, "{}", self.publisher.said());
        let rows = self.home.rows();
        told(&self.name, &rows);
        assert_decodable(&rows);
        rows
    }

    /// As [`Pair::stop`]; returns the viewer's home.
    fn stop_at_home(mut self) -> Home {
        self.ends();
        self.home
    }
}

/// Pairs that stream `source` at the same time, one for each unit, each over its own link of this profile.
fn each_unit(source: &str, link: &str) -> Vec<Pair<UdpProxy>> {
    let pair = |unit| Pair::start(source, unit, |ticket| behind(ticket, link, 11));
    UNITS.into_iter().map(pair).collect()
}

#[test]
fn where_a_link_becomes_slow_an_encoder_follows_and_a_film_loses_whole_groups() {
    // The link carries everything at first, so that QUIC's congestion window is wide open when the link becomes slow.
    const LINK: &str = "rate=50mbit queue=300ms delay=10ms";
    const SLOW: &str = "rate=2mbit queue=300ms delay=10ms";
    let films = Home::new();
    let film = format!("file:{}?loop", film(films.path(), "640x480", 5, "3M").display());
    let encoded = each_unit(RICH, LINK);
    let passed = Pair::start(&film, "frame", |ticket| behind(ticket, LINK, 11));
    for pair in encoded.iter().chain([&passed]) {
        pair.home.grows_by(500_000);
        pair.network
            .change(Direction::Down, SLOW.parse().expect("a profile"))
            .expect("it is for datagrams");
    }
    for pair in encoded.iter().chain([&passed]) {
        pair.home.grows_by(1_000_000);
    }
    for pair in encoded {
        smaller_towards_the_end(&pair.stop(), 8_000_000 / 25 / 8);
    }
    let home = passed.stop_at_home();
    assert!(gaps(&home.numbers()) > 0, "{film}: it is more than the link carries");
}

#[test]
fn a_stream_goes_on_where_one_packet_in_twenty_is_lost() {
    let pairs = each_unit(MODEST, "delay=20ms loss=5%");
    for pair in &pairs {
        pair.home.grows_by(300_000);
    }
    for pair in pairs {
        pair.stop();
    }
}

#[test]
fn a_session_outlives_an_outage_and_goes_on_with_new_pictures() {
    let pairs = each_unit(MODEST, "delay=20ms");
    let every_link = |link: &str| {
        for (pair, direction) in pairs
            .iter()
            .flat_map(|pair| [(pair, Direction::Up), (pair, Direction::Down)])
        {
            let changed = pair.network.change(direction, link.parse().expect("a profile"));
            changed.expect("it is for datagrams");
        }
    };
    every_link("loss=100%");
    for pair in &pairs {
        pair.viewer.says("nothing was heard");
    }
    every_link("delay=20ms");
    for pair in &pairs {
        pair.viewer.says("is heard again");
        pair.home.grows_by(100_000);
    }
    for pair in pairs {
        let name = pair.name.clone();
        let home = pair.stop_at_home();
        let (before, after) = home.numbers_around_silence();
        assert!(after[0] > before[before.len() - 1] + 1, "{name}: new pictures");
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
        pairs.iter().for_each(|pair| pair.network.move_to(address));
        // More data than can have been in transit.
        pairs.iter().for_each(|pair| pair.home.grows_by(100_000));
    }
    for pair in pairs {
        pair.stop();
    }
}
