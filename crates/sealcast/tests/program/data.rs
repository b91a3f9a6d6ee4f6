//! Data channels beside the picture: a vehicle behind a publisher, and ground stations at viewers.

use std::net::{SocketAddr, UdpSocket};
use std::path::Path;
use std::time::Duration;

use sealcast_testkit::program::{
    PATIENCE, Program, Publisher, free_port, home, publish, sealcast, until, write_private,
};

use super::groups::{MEMBER, watching};

const CARD: &str = "test:160x120@10";
/// Granted control, in a viewer's log.
const SENDS: &str = "this viewer sends on it";
/// For how long a program waits for a datagram, each time.
const SHORTLY: Duration = Duration::from_millis(100);

/// A program at this machine.
struct Station(UdpSocket);

impl Station {
    fn new() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
        socket.set_read_timeout(Some(SHORTLY)).expect("a time");
        Self(socket)
    }

    fn at(&self) -> SocketAddr {
        self.0.local_addr().expect("bound")
    }

    fn hears(&self) -> Option<(Vec<u8>, SocketAddr)> {
        let mut room = [0; 2000];
        let (length, from) = self.0.recv_from(&mut room).ok()?;
        Some((room[..length].to_vec(), from))
    }

    /// Says `words` to `to` until `other` hears them. Returns where they came from.
    fn reaches(&self, to: SocketAddr, other: &Self, words: &[u8]) -> SocketAddr {
        let mut came = None;
        until("a datagram crosses", || {
            self.0.send_to(words, to).expect("loopback");
            came = std::iter::from_fn(|| other.hears()).find(|(heard, _)| heard == words);
            came.is_some()
        });
        came.expect("it came").1
    }
}

/// The peer id of the viewer that this home will have.
fn peer(home: &Path) -> String {
    let made = sealcast(home)
        .args(["keygen", "--for", "viewer"])
        .output()
        .expect("it runs");
    assert!(made.status.success());
    let said = String::from_utf8(made.stdout).expect("UTF-8");
    let is_peer = |word: &&str| word.len() == 52;
    let peer = said.split(|mark: char| !mark.is_ascii_alphanumeric()).find(is_peer);
    peer.unwrap_or_else(|| panic!("no peer id in {said}")).to_owned()
}

/// A vehicle behind a publisher that lets these viewers send.
struct Vehicle {
    station: Station,
    /// Where the publisher hears it.
    port: SocketAddr,
}

impl Vehicle {
    fn new() -> Self {
        Self {
            station: Station::new(),
            port: SocketAddr::from(([127, 0, 0, 1], free_port())),
        }
    }

    fn publishes(&self, home: &Path, controllers: &[&str], more: &[&str]) -> Publisher {
        let channel = format!("mavlink=udp:{}", self.port);
        let mut args = vec!["--data", &channel, "--metrics", "127.0.0.1:0"];
        for controller in controllers {
            args.extend(["--may-control", controller]);
        }
        args.extend(more);
        publish(home, CARD, &args)
    }
}

/// A viewer with a ground station.
fn flown(home: &Path, ticket: &str, station: &Station) -> Program {
    let channel = format!("mavlink=udp:{}", station.at());
    watching(home, ticket, &["--to", "null:", "--data", &channel])
}

#[test]
fn telemetry_comes_to_a_viewer_and_what_it_answers_to_the_vehicle_on_every_carrier() {
    for carrier in ["tcp", "udp", "quic"] {
        let (own, theirs) = (home(), home());
        let (vehicle, ground) = (Vehicle::new(), Station::new());
        let pilot = peer(theirs.path());
        let listen = format!("{carrier}://127.0.0.1:{}", free_port());
        let mut publisher = vehicle.publishes(own.path(), &[&pilot], &["--listen", &listen]);
        let mut viewer = flown(theirs.path(), &publisher.ticket, &ground);
        viewer.says(SENDS, PATIENCE);
        let back = vehicle.station.reaches(vehicle.port, &ground, b"heartbeat");
        assert_eq!(
            ground.reaches(back, &vehicle.station, b"left stick"),
            vehicle.port,
            "{carrier}"
        );
        for (end, direction) in [(&publisher.program, "out"), (&viewer, "in")] {
            end.has_counted(
                &format!("sealcast_data_datagrams_total{{direction=\"{direction}\"}}"),
                1.0,
            );
        }
        viewer.has_counted("sealcast_records_total{dir=\"in\",kind=\"data\"}", 1.0);
        // The picture goes on beside it.
        viewer.has_counted("sealcast_frames_total{dir=\"in\"}", 5.0);
        viewer.stop();
        publisher.program.stop();
    }
}

#[test]
fn a_viewer_that_is_not_in_the_list_hears_and_is_refused_in_words_and_counted() {
    let (own, theirs) = (home(), home());
    let (vehicle, ground) = (Vehicle::new(), Station::new());
    let somebody = peer(home().path());
    let mut publisher = vehicle.publishes(own.path(), &[&somebody], &[]);
    let mut viewer = flown(theirs.path(), &publisher.ticket, &ground);
    publisher
        .program
        .says("its peer id is not in the list of --may-control", PATIENCE);
    viewer.says("does not let this viewer send on it", PATIENCE);
    let back = vehicle.station.reaches(vehicle.port, &ground, b"heartbeat");
    ground.0.send_to(b"left stick", back).expect("loopback");
    viewer.has_counted("sealcast_data_dropped_total{cause=\"not_allowed\"}", 1.0);
    publisher
        .program
        .has_counted("sealcast_data_control_refused_total{reason=\"not_listed\"}", 1.0);
    assert_eq!(vehicle.station.hears(), None, "nothing reaches the vehicle");
    assert!(
        publisher
            .program
            .counts("sealcast_data_datagrams_total{direction=\"in\"}")
            < 1.0
    );
    viewer.stop();
    publisher.program.stop();
}

#[test]
fn the_list_of_who_may_send_is_read_again_and_who_is_taken_out_sends_no_more() {
    let (own, theirs) = (home(), home());
    let (vehicle, ground) = (Vehicle::new(), Station::new());
    let (pilot, somebody) = (peer(theirs.path()), peer(home().path()));
    let list = own.path().join("pilots");
    write_private(&list, &somebody);
    let file = format!("@{}", list.display());
    let mut publisher = vehicle.publishes(own.path(), &[&file], &[]);
    let mut viewer = flown(theirs.path(), &publisher.ticket, &ground);
    viewer.says("does not let this viewer send on it", PATIENCE);
    write_private(&list, format!("{somebody}\n{pilot} the pilot\n"));
    publisher.program.signal("HUP");
    viewer.says(SENDS, PATIENCE);
    let back = vehicle.station.reaches(vehicle.port, &ground, b"heartbeat");
    ground.reaches(back, &vehicle.station, b"left stick");
    write_private(&list, &somebody);
    publisher.program.signal("HUP");
    until("it is told that it may no more", || {
        ground.0.send_to(b"right stick", back).expect("loopback");
        viewer.said().matches("does not let this viewer send on it").count() == 2
    });
    // What it sends from now on does not leave its own machine.
    while vehicle.station.hears().is_some() {}
    ground.0.send_to(b"the last one", back).expect("loopback");
    let not_allowed = "sealcast_data_dropped_total{cause=\"not_allowed\"}";
    viewer.has_counted(not_allowed, 1.0);
    assert_eq!(vehicle.station.hears(), None);
    viewer.stop();
    publisher.program.stop();
}

#[test]
fn one_viewer_sends_at_a_time_and_the_next_when_it_has_left() {
    let homes = [home(), home(), home()];
    let (vehicle, grounds) = (Vehicle::new(), [Station::new(), Station::new()]);
    let pilots = [1, 2].map(|at| peer(homes[at].path()));
    let mut publisher = vehicle.publishes(homes[0].path(), &[&pilots[0], &pilots[1]], &[]);
    let mut first = flown(homes[1].path(), &publisher.ticket, &grounds[0]);
    first.says(SENDS, PATIENCE);
    let mut second = flown(homes[2].path(), &publisher.ticket, &grounds[1]);
    second.says("another viewer sends on it", PATIENCE);
    publisher
        .program
        .has_counted("sealcast_data_control_refused_total{reason=\"taken\"}", 1.0);
    // Both hear the vehicle, and one is heard.
    let back = [0, 1].map(|at: usize| vehicle.station.reaches(vehicle.port, &grounds[at], &[at as u8; 20]));
    grounds[1].0.send_to(b"mutiny", back[1]).expect("loopback");
    second.has_counted("sealcast_data_dropped_total{cause=\"not_allowed\"}", 1.0);
    grounds[0].reaches(back[0], &vehicle.station, b"left stick");
    first.stop();
    second.says(SENDS, PATIENCE);
    let came = grounds[1].reaches(back[1], &vehicle.station, b"right stick");
    assert_eq!(came, vehicle.port);
    second.stop();
    publisher.program.stop();
}

#[test]
fn data_goes_on_after_the_restart_of_either_end() {
    let (own, theirs) = (home(), home());
    let (vehicle, ground) = (Vehicle::new(), Station::new());
    let pilot = peer(theirs.path());
    let listen = format!("tcp://127.0.0.1:{}", free_port());
    let start = || vehicle.publishes(own.path(), &[&pilot], &["--listen", &listen]);
    let first = start();
    let ticket = first.ticket.clone();
    let viewer = flown(theirs.path(), &ticket, &ground);
    viewer.says(SENDS, PATIENCE);
    let crosses = |words: &[u8]| {
        let back = vehicle.station.reaches(vehicle.port, &ground, words);
        ground.reaches(back, &vehicle.station, words);
    };
    crosses(b"before");
    first.program.signal("KILL");
    drop::<Publisher>(first);
    viewer.says("the publisher may be restarting", PATIENCE);
    let second = start();
    viewer.says_times(SENDS, 2, PATIENCE);
    crosses(b"another publisher");
    viewer.signal("KILL");
    drop::<Program>(viewer);
    // Its session may still stand when the viewer is back: the same peer takes its own place.
    let mut again = flown(theirs.path(), &ticket, &ground);
    again.says(SENDS, PATIENCE);
    crosses(b"another viewer");
    again.stop();
    drop::<Publisher>(second);
}

#[test]
fn a_member_of_a_group_has_its_data_over_its_own_session() {
    let (own, theirs) = (home(), home());
    let (vehicle, ground) = (Vehicle::new(), Station::new());
    let pilot = peer(theirs.path());
    let mut publisher = vehicle.publishes(own.path(), &[&pilot], &["--group"]);
    let mut viewer = flown(theirs.path(), &publisher.ticket, &ground);
    publisher.program.says(MEMBER, PATIENCE);
    viewer.says(SENDS, PATIENCE);
    let back = vehicle.station.reaches(vehicle.port, &ground, b"heartbeat");
    ground.reaches(back, &vehicle.station, b"left stick");
    viewer.stop();
    publisher.program.stop();
}

#[test]
fn another_program_at_the_port_is_not_heard_while_the_first_one_is_there() {
    let (own, theirs) = (home(), home());
    let (vehicle, ground) = (Vehicle::new(), Station::new());
    let mut publisher = vehicle.publishes(own.path(), &[], &[]);
    let mut viewer = flown(theirs.path(), &publisher.ticket, &ground);
    vehicle.station.reaches(vehicle.port, &ground, b"heartbeat");
    let stranger = Station::new();
    until("a stranger is counted", || {
        vehicle.station.0.send_to(b"heartbeat", vehicle.port).expect("loopback");
        stranger.0.send_to(b"crash", vehicle.port).expect("loopback");
        let strangers = "sealcast_data_dropped_total{cause=\"stranger\"}";
        publisher.program.counts(strangers) > 0.0
    });
    let heard: Vec<Vec<u8>> = std::iter::from_fn(|| ground.hears()).map(|(heard, _)| heard).collect();
    assert!(heard.iter().all(|heard| heard == b"heartbeat"), "{heard:?}");
    viewer.stop();
    publisher.program.stop();
}
