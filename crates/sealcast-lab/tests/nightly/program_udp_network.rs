//! The program over `udp://` on networks that lose, reorder, repeat and corrupt, that break off, that are slow.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use sealcast_testkit::attack::{self, Clip, Home, Row, Tap, carries_media, order, record, until};

use crate::bad_network::{film, missing, quantile, settled, told};
use crate::common::behind;

/// Watch a clip to its end through a network. The recording's frames, each one of the clip's, in order and once.
fn shown(clip: &Clip, rate: u32, options: &str, link: &str) -> (Vec<usize>, Home) {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp(&clip.url(rate, ""), options, "--report report.json");
    let (proxy, through) = behind(&ticket, link, 11);
    let (viewer_home, mut viewer) = record(&through, "");
    until("it watches", || (viewer.count("INFO watching") == 1).then_some(()));
    let patience = Instant::now() + Duration::from_secs(clip.frames.len() as u64 / u64::from(rate) + 20);
    while viewer.running() && Instant::now() < patience {
        sleep(Duration::from_millis(50));
    }
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    assert_eq!(viewer.count("INFO watching"), 1, "in one session: {}", viewer.said());
    println!("{link}: sent {}", home.report("report.json")["totals"]["media_packets"]);
    println!("got {}", viewer_home.report("report.json")["totals"]["media_packets"]);
    drop(proxy);
    (order(&viewer_home.recorded(), &clip.frames), viewer_home)
}

const IMPAIRED: &str = "delay=20ms jitter=5ms loss=5% reorder=2% duplicate=1% corrupt=0.5%";

fn nearly_all_are_shown(options: &str) {
    let home = Home::new();
    let clip = Clip::make(home.path(), 600);
    let (frames, viewer) = shown(&clip, 30, options, IMPAIRED);
    told(options, &viewer.rows());
    assert!(
        frames.len() * 100 >= clip.frames.len() * 99,
        "{} of 600 frames",
        frames.len()
    );
    let report = viewer.report("report.json");
    let refused = |reason: &str| report["totals"]["open_failures"][reason].as_u64().expect("a counter");
    assert!(refused("replay") > 0 && refused("tag") > 0, "{report}");
}

#[test]
fn of_a_hundred_frames_ninety_nine_are_shown_where_packets_are_lost_reordered_repeated_and_corrupted() {
    nearly_all_are_shown("latency=300&rate=off");
}

#[test]
fn losses_that_no_rate_causes_do_not_lower_the_rate() {
    nearly_all_are_shown("latency=300");
}

#[test]
fn repair_without_asking_and_asking_without_repair_show_most_frames_as_well() {
    const LINK: &str = "delay=10ms loss=2%";
    let home = Home::new();
    let clip = Clip::make(home.path(), 300);
    for options in ["latency=200&nack=off&fec=50", "latency=200&fec=off"] {
        let (frames, viewer) = shown(&clip, 50, options, LINK);
        told(options, &viewer.rows());
        assert!(frames.len() >= 285, "{options}: {} of 300 frames", frames.len());
    }
}

#[test]
fn nothing_longer_than_1200_bytes_is_sent_where_nothing_longer_arrives() {
    let home = Home::new();
    let clip = Clip::make(home.path(), 100);
    for options in ["", "mtu=auto", "mtu=auto&fec=50", "latency=0"] {
        let (mut publisher, ticket) = home.publish_udp(&clip.url(50, ""), options, "");
        let tap = Tap::start(attack::Proxy::port_of(&ticket), |_, _, datagram| {
            let arrives = datagram.len() <= 1200;
            if arrives { vec![datagram.to_vec()] } else { Vec::new() }
        });
        let (viewer_home, mut viewer) = record(&attack::Proxy::redirect(&ticket, tap.port), "");
        assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
        assert!(viewer_home.recorded() == clip.bytes, "{options}");
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
        // Only to find out what the path carries may one try.
        let longer = others.iter().filter(|(_, length)| *length > 1200).count();
        assert_eq!(longer > 0, options.contains("auto"), "{options}: {longer}");
    }
}

/// How many media datagrams a clip takes, and the number of each that `lost` says is lost; whether all arrived.
fn without(clip: &Clip, options: &str, mut lost: impl FnMut(usize) -> bool + Send + 'static) -> (usize, bool) {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp(&clip.url(50, ""), options, "");
    let mut media = 0;
    let tap = Tap::start(attack::Proxy::port_of(&ticket), move |_, _, datagram| {
        let number = media;
        media += usize::from(carries_media(datagram));
        if carries_media(datagram) && lost(number) {
            return Vec::new();
        }
        vec![datagram.to_vec()]
    });
    let (viewer_home, mut viewer) = record(&attack::Proxy::redirect(&ticket, tap.port), "");
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    let count = tap
        .seen()
        .iter()
        .filter(|(_, datagram)| carries_media(datagram))
        .count();
    (count, viewer_home.recorded() == clip.bytes)
}

#[test]
fn the_last_frames_are_repaired_before_the_stream_ends() {
    const OPTIONS: &str = "fec=off&latency=500";
    let home = Home::new();
    let clip = Clip::make(home.path(), 60);
    let (count, whole) = without(&clip, OPTIONS, |_| false);
    assert!(whole, "nothing was lost");
    for last in [1, 3, 12] {
        let (_, whole) = without(&clip, OPTIONS, move |number| (count - last..count).contains(&number));
        assert!(whole, "the last {last} of {count} datagrams were not sent again");
    }
}

#[test]
fn after_half_a_minute_without_network_the_same_session_goes_on_from_another_address() {
    const OUTAGE: Duration = Duration::from_secs(30);
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "", "");
    let tap = Tap::start(attack::Proxy::port_of(&ticket), |_, _, datagram| {
        vec![datagram.to_vec()]
    });
    let (viewer_home, mut viewer) = record(&attack::Proxy::redirect(&ticket, tap.port), "");
    viewer.says("INFO watching");
    sleep(Duration::from_secs(2));
    tap.tamper(|_, _, _| Vec::new());
    sleep(Duration::from_secs(4));
    for end in [&publisher, &viewer] {
        end.says("nothing was heard");
    }
    let size = || viewer_home.recorded_size();
    let before = size();
    sleep(OUTAGE - Duration::from_secs(4));
    assert_eq!(size(), before, "nothing can have come");
    tap.move_to("127.0.0.2:0");
    tap.tamper(|_, _, datagram| vec![datagram.to_vec()]);
    let back = Instant::now();
    until("the picture comes back", || (size() > before).then_some(()));
    println!("the picture was back after {:?}", back.elapsed());
    // Half a second until a ping, and a keyframe; the rest is the machine's.
    assert!(back.elapsed() < Duration::from_secs(2), "{:?}", back.elapsed());
    sleep(Duration::from_secs(2));
    // And from yet another port, without any outage.
    tap.move_to("127.0.0.3:0");
    sleep(Duration::from_secs(2));
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0));
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    assert_eq!(publisher.count("a viewer watches"), 1, "{}", publisher.said());
    let rows = viewer_home.rows();
    let after: Vec<Row> = rows.into_iter().filter(|row| row.number > 25 * 31).collect();
    assert!(after.len() > 75, "{} frames after the outage", after.len());
    let missing = missing(&after);
    // Half a second until a ping tells the new address, and some pictures until a keyframe.
    assert!(
        missing < 25,
        "{missing} frames are missing after the change of the port"
    );
}

/// Watch a film to its end; the numbers of its frames that came.
fn film_numbers(home: &Home, file: &Path, options: &str) -> Vec<u64> {
    let source = format!("file:{}", file.display());
    let (mut publisher, ticket) = home.publish_udp(&source, options, "--report report.json");
    let (viewer_home, mut viewer) = record(&ticket, "");
    viewer.says("INFO watching");
    sleep(Duration::from_secs(5));
    assert_eq!((viewer.ends(), publisher.ends()), (0, 0), "{}", viewer.said());
    let rows = viewer_home.rows();
    told(&format!("{} {options}", file.display()), &rows);
    println!("{}", viewer_home.report("report.json")["totals"]["media_packets"]);
    rows.into_iter().map(|row| row.number).collect()
}

#[test]
fn large_pictures_pass_a_clean_network_without_a_drop() {
    let home = Home::new();
    for (size, bits, frames) in [("1920x1080", "8M", 150), ("3840x2160", "25M", 150)] {
        let file = film(home.path(), size, frames / 30, bits);
        let numbers = film_numbers(&home, &file, "rate=off");
        assert!(numbers.iter().copied().eq(0..frames.into()), "{size}: {numbers:?}");
    }
}

#[test]
fn large_pictures_pass_a_clean_network_without_a_drop_while_the_rate_is_found() {
    let home = Home::new();
    for (size, bits, frames) in [("1920x1080", "8M", 150), ("3840x2160", "25M", 150)] {
        let file = film(home.path(), size, frames / 30, bits);
        let numbers = film_numbers(&home, &file, "");
        assert!(
            numbers.iter().copied().eq(0..frames.into()),
            "{size}: {} of {frames}",
            numbers.len()
        );
    }
}

/// Watch for a while through a slow link; what was shown once it had settled.
fn squeezed(source: &str, link: &str, seconds: u64) -> Vec<Row> {
    let home = Home::new();
    let (mut publisher, ticket) = home.publish_udp(source, "", "--report report.json");
    let (_proxy, through) = behind(&ticket, link, 3);
    let (viewer_home, mut viewer) = record(&through, "");
    viewer.says("INFO watching");
    sleep(Duration::from_secs(seconds));
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0), "{}", viewer.said());
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    let rows = viewer_home.rows();
    told(&format!("{source} over {link}, all"), &rows);
    let settled = settled(&rows, Duration::from_secs(4));
    told("settled", &settled);
    println!("{}", home.report("report.json")["totals"]["frames_dropped"]);
    settled
}

/// However slow the link is, pictures are no older than this once the rate has settled.
const OLDEST: Duration = Duration::from_secs(1);

#[test]
fn an_encoder_follows_a_slow_link_and_the_delay_stays_bounded() {
    for link in ["rate=5mbit queue=300ms delay=10ms", "rate=2mbit queue=300ms delay=10ms"] {
        let rows = squeezed("test:640x480@25?bitrate=8000000", link, 20);
        assert!(quantile(&rows, 990) < OLDEST, "{link}: {:?}", quantile(&rows, 990));
        assert!(rows.len() > 200, "{link}: {} frames in sixteen seconds", rows.len());
    }
}

#[test]
fn a_film_over_a_slow_link_loses_groups_of_pictures_and_the_delay_stays_bounded() {
    let home = Home::new();
    let file = film(home.path(), "640x480", 10, "8M");
    let source = format!("file:{}?loop", file.display());
    for link in ["rate=5mbit queue=300ms delay=10ms", "rate=2mbit queue=300ms delay=10ms"] {
        let rows = squeezed(&source, link, 20);
        assert!(quantile(&rows, 990) < OLDEST, "{link}: {:?}", quantile(&rows, 990));
        assert!(rows.len() > 20, "{link}: {} frames in sixteen seconds", rows.len());
    }
}

/// How long keys are renewed: half a minute, or as many seconds as `SEALCAST_LONG` says.
fn renewed_for() -> u64 {
    let asked = std::env::var("SEALCAST_LONG").ok();
    asked.map_or(30, |text| text.parse().expect("SEALCAST_LONG is a number of seconds"))
}

#[test]
fn new_keys_every_second_on_a_bad_network_cost_no_frame() {
    let seconds = renewed_for();
    let home = Home::new();
    let more = "--rekey-seconds 1 --report report.json";
    let (mut publisher, ticket) = home.publish_udp("test:320x240@25", "latency=300", more);
    // Nothing is corrupted: a record whose epoch was altered on the way is refused for its key, and rightly.
    let link = "delay=20ms jitter=5ms loss=3% reorder=1% duplicate=1%";
    let (_proxy, through) = behind(&ticket, link, 5);
    let (viewer_home, mut viewer) = record(&through, "");
    viewer.says("INFO watching");
    sleep(Duration::from_secs(seconds));
    let (publisher_rss, viewer_rss) = (publisher.rss(), viewer.rss());
    assert_eq!((viewer.stop(), publisher.stop()), (0, 0), "{}", viewer.said());
    let rows = viewer_home.rows();
    told(&format!("{seconds} s"), &rows);
    let (sent, got) = (home.report("report.json"), viewer_home.report("report.json"));
    println!(
        "publisher {publisher_rss} KiB, viewer {viewer_rss} KiB\nsent {}\ngot {}",
        sent["totals"], got["totals"]
    );
    assert_eq!(viewer.count("INFO watching"), 1, "{}", viewer.said());
    let all = rows.last().expect("frames").number + 1 - rows[0].number;
    assert!(rows.len() as u64 * 100 >= all * 99, "{} of {all} frames", rows.len());
    assert!(
        rows.windows(2).all(|pair| pair[0].number < pair[1].number),
        "in order and once"
    );
    let count = |report: &serde_json::Value, place: [&str; 2]| {
        report["totals"][place[0]][place[1]].as_u64().expect("a counter")
    };
    let rekeys = count(&sent, ["rekeys", "time"]);
    assert!(rekeys * 10 >= seconds * 9, "{rekeys} new epochs");
    for reason in ["unknown_epoch", "tag"] {
        assert_eq!(count(&got, ["open_failures", reason]), 0, "{reason}: {got}");
    }
}
