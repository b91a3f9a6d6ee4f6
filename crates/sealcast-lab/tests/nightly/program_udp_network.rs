//! The program over `udp://` on networks that lose, reorder, repeat and corrupt packets, fail for a while, or are slow.

use std::path::Path;

use crate::bad_network::{assert_decodable, film, smaller_towards_the_end, told};
use crate::common::behind;
use sealcast_testkit::attack::{
    Clip, Home, Program, Proxy, Tap, carries_media, excused, gaps, order, overflowed, record, total, until,
};
use serde_json::Value;

/// Watches a clip to its end through a network. Returns the recorded frames, which must be frames of the clip, in order
/// and once, and the reports of publisher and viewer.
///
/// The number of frames depends on how soon this machine forwards packets, so it is not checked here; tests with the
/// simulated network check it.
fn shown(clip: &Clip, options: &str, link: &str) -> (Vec<usize>, [Value; 2]) {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp(&clip.url(50, ""), options, "--report report.json");
    let (_proxy, through) = behind(&ticket, link, 11);
    let (viewer_home, mut viewer) = record(&through, "");
    viewer.says("INFO watching");
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    assert_eq!(viewer.count("INFO watching"), 1, "in one session: {}", viewer.said());
    told(options, &viewer_home.rows());
    let reports = [&home, &viewer_home].map(|home| home.report("report.json"));
    for report in &reports {
        println!("{link}: {}", report["totals"]["media_packets"]);
    }
    (order(&viewer_home.recorded(), &clip.frames), reports)
}

const IMPAIRED: &str = "delay=20ms jitter=5ms loss=5% reorder=2% duplicate=3% corrupt=3%";

#[test]
fn only_what_was_sent_is_shown_where_packets_are_lost_reordered_repeated_and_corrupted() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 150);
    for options in ["latency=300&rate=off", "latency=300"] {
        let (frames, [sent, got]) = shown(&clip, options, IMPAIRED);
        assert!(!frames.is_empty(), "{options}");
        let refused = |reason: &str| total(&got, "open_failures", reason);
        assert!(refused("replay") > 0 && refused("tag") > 0, "{got}");
        let repaired = total(&sent, "media_packets", "resent") + total(&got, "media_packets", "recovered");
        assert!(repaired > 0, "{got}");
    }
}

#[test]
fn repair_without_asking_and_asking_without_repair_bring_records_back() {
    const LINK: &str = "delay=10ms loss=5%";
    let home = Home::new();
    let clip = Clip::make(home.path(), 150);
    for (options, asks) in [("latency=2000&nack=off&fec=50", false), ("latency=2000&fec=off", true)] {
        let (frames, [sent, got]) = shown(&clip, options, LINK);
        assert!(!frames.is_empty(), "{options}");
        let resent = total(&sent, "media_packets", "resent");
        let recovered = total(&got, "media_packets", "recovered");
        assert_eq!((resent > 0, recovered > 0), (asks, !asks), "{options}: {got}");
    }
}

#[test]
fn nothing_longer_than_1200_bytes_is_sent_where_nothing_longer_arrives() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 60);
    for options in ["", "mtu=auto", "mtu=auto&fec=50", "latency=0"] {
        let (mut publisher, ticket) = home.publish_udp(&clip.url(50, ""), options, "--report report.json");
        let tap = Tap::start(Proxy::port_of(&ticket), |_, _, datagram| {
            let arrives = datagram.len() <= 1200;
            if arrives { vec![datagram.to_vec()] } else { Vec::new() }
        });
        let (viewer_home, mut viewer) = record(&Proxy::redirect(&ticket, tap.port), "");
        assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
        let excused = unrepaired([(&home, &publisher), (&viewer_home, &viewer)]);
        viewer_home.assert_whole_but_for(excused, &clip, options);
        let lengths = tap
            .seen()
            .into_iter()
            .map(|(_, datagram)| (carries_media(&datagram), datagram.len()));
        let (media, others): (Vec<_>, Vec<_>) = lengths.partition(|(media, _)| *media);
        let longest = media.iter().map(|(_, length)| *length).max();
        assert!(
            longest.is_some_and(|longest| (1000..=1200).contains(&longest)),
            "{options}: {longest:?}"
        );
        // Only path MTU probes may be longer.
        let longer = others.iter().filter(|(_, length)| *length > 1200).count();
        assert_eq!(longer > 0, options.contains("auto"), "{options}: {longer}");
    }
}

/// Number of frames that may be missing, since a lost datagram is not always sent again.
fn unrepaired(ends: [(&Home, &Program); 2]) -> usize {
    if overflowed() { usize::MAX } else { excused(ends) }
}

/// Watches a clip on a path that drops the media datagrams for whose number `lost` returns true, and checks that all
/// frames arrive. Returns the number of media datagrams.
fn without(clip: &Clip, options: &str, mut lost: impl FnMut(usize) -> bool + Send + 'static) -> usize {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp(&clip.url(50, ""), options, "--report report.json");
    let mut media = 0;
    let tap = Tap::start(Proxy::port_of(&ticket), move |_, _, datagram| {
        let number = media;
        media += usize::from(carries_media(datagram));
        if carries_media(datagram) && lost(number) {
            return Vec::new();
        }
        vec![datagram.to_vec()]
    });
    let (viewer_home, mut viewer) = record(&Proxy::redirect(&ticket, tap.port), "");
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    let excused = excused([(&home, &publisher), (&viewer_home, &viewer)]);
    viewer_home.assert_whole_but_for(excused, clip, options);
    let seen = tap.seen();
    seen.iter().filter(|(_, datagram)| carries_media(datagram)).count()
}

#[test]
fn the_last_frames_are_repaired_before_the_stream_ends() {
    const OPTIONS: &str = "fec=off&latency=5000";
    let home = Home::new();
    let clip = Clip::make(home.path(), 60);
    let count = without(&clip, OPTIONS, |_| false);
    for last in [1, 3, 12] {
        without(&clip, OPTIONS, move |number| (count - last..count).contains(&number));
    }
}

#[test]
fn after_an_outage_the_same_session_goes_on_from_another_address() {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "", "");
    let tap = Tap::start(Proxy::port_of(&ticket), |_, _, datagram| vec![datagram.to_vec()]);
    let (viewer_home, mut viewer) = record(&Proxy::redirect(&ticket, tap.port), "");
    viewer_home.flows(&viewer);
    tap.tamper(|_, _, _| Vec::new());
    for end in [&publisher, &viewer] {
        end.says("nothing was heard");
    }
    tap.move_to("127.0.0.2:0");
    tap.tamper(|_, _, datagram| vec![datagram.to_vec()]);
    for end in [&publisher, &viewer] {
        end.says("is heard again");
    }
    viewer_home.grows_by(20_000);
    // Once more from another address, without an outage.
    tap.move_to("127.0.0.3:0");
    viewer_home.grows_by(20_000);
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0));
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    assert_eq!(publisher.count("a viewer watches"), 1, "{}", publisher.said());
    assert_decodable(&viewer_home.rows());
}

/// Watches a film to its end, and checks that all frames arrive that the publisher sent.
fn arrives_whole(home: &Home, file: &Path, frames: usize, options: &str) {
    let source = format!("file:{}", file.display());
    let (mut publisher, ticket) = home.publish_udp(&source, options, "--report report.json");
    let (viewer_home, mut viewer) = record(&ticket, "");
    viewer.says("INFO watching");
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    let rows = viewer_home.rows();
    told(&format!("{} {options}", file.display()), &rows);
    println!("{}", viewer_home.report("report.json")["totals"]["media_packets"]);
    assert_decodable(&rows);
    let excused = unrepaired([(home, &publisher), (&viewer_home, &viewer)]);
    assert!(
        frames - rows.len() <= excused,
        "{} of {frames}, {excused} excused",
        rows.len()
    );
}

#[test]
fn large_pictures_pass_a_clean_network_without_a_drop() {
    let home = Home::new();
    for (size, bits, frames) in [("1920x1080", "8M", 60), ("3840x2160", "25M", 30)] {
        let file = film(home.path(), size, frames / 30, bits);
        for options in ["rate=off", ""] {
            arrives_whole(&home, &file, frames as usize, options);
        }
    }
}

/// Profile of the slow link.
const SLOW: &str = "rate=2mbit queue=300ms delay=10ms";

#[test]
fn an_encoder_follows_a_slow_link() {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp("test:640x480@25?bitrate=8000000", "", "");
    let (_proxy, through) = behind(&ticket, SLOW, 3);
    let (viewer_home, mut viewer) = record(&through, "");
    viewer_home.flows(&viewer);
    viewer_home.grows_by(1_000_000);
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0), "{}", viewer.said());
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    let rows = viewer_home.rows();
    told(SLOW, &rows);
    assert_decodable(&rows);
    smaller_towards_the_end(&rows, 8_000_000 / 25 / 8);
}

#[test]
fn a_film_over_a_slow_link_loses_groups_of_pictures() {
    let home = Home::new();
    let file = film(home.path(), "640x480", 5, "8M");
    let source = format!("file:{}?loop", file.display());
    let (mut publisher, ticket) = home.publish_udp(&source, "", "--report report.json");
    let (_proxy, through) = behind(&ticket, SLOW, 3);
    let (viewer_home, mut viewer) = record(&through, "");
    viewer_home.flows(&viewer);
    viewer_home.grows_by(1_000_000);
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0), "{}", viewer.said());
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    let rows = viewer_home.rows();
    told(SLOW, &rows);
    assert_decodable(&rows);
    assert!(gaps(&viewer_home.numbers()) > 0, "four times what the link carries");
    let report = home.report("report.json");
    assert!(total(&report, "frames_dropped", "queue") > 0, "{report}");
}

/// Number of epochs of one second to wait for: five, or the value of `SEALCAST_LONG`.
fn epochs() -> usize {
    let asked = std::env::var("SEALCAST_LONG").ok();
    asked.map_or(5, |text| text.parse().expect("SEALCAST_LONG is a number of seconds"))
}

#[test]
fn new_keys_every_second_on_a_bad_network_are_agreed_on_in_time() {
    let home = Home::new();
    let more = "--rekey-seconds 1 -v --report report.json";
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "latency=300", more);
    // The link corrupts nothing: a record with a corrupted epoch would rightly be refused as one of an unknown epoch.
    let link = "delay=20ms jitter=5ms loss=3% reorder=1% duplicate=1%";
    let (_proxy, through) = behind(&ticket, link, 5);
    let (viewer_home, mut viewer) = record(&through, "");
    viewer.says("INFO watching");
    for number in 0..epochs() {
        until("new keys", || (publisher.count("new keys") > number).then_some(()));
    }
    viewer_home.grows_by(20_000);
    let (publisher_rss, viewer_rss) = (publisher.rss(), viewer.rss());
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0), "{}", viewer.said());
    told(link, &viewer_home.rows());
    let (sent, got) = (home.report("report.json"), viewer_home.report("report.json"));
    println!(
        "publisher {publisher_rss} KiB, viewer {viewer_rss} KiB\nsent {}\ngot {}",
        sent["totals"], got["totals"]
    );
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    assert_decodable(&viewer_home.rows());
    assert!(total(&sent, "rekeys", "time") >= epochs() as u64, "{sent}");
    for reason in ["unknown_epoch", "tag"] {
        let refused = total(&got, "open_failures", reason);
        // After seconds of silence an old key may be wiped before its last record arrives.
        assert!(refused == 0 || viewer.heard_nothing(), "{reason}: {got}");
    }
}
