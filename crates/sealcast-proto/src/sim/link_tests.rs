//! Measurements of the link.

use std::time::Duration;

use super::{Link, LinkCounts, LinkProfile, Loss};

const PACKETS: u32 = 100_000;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn link(profile: &str, seed: u64) -> Link {
    Link::new(profile.parse().expect("a profile"), seed)
}

/// A packet that contains its number.
fn packet(number: u32, length: usize) -> Vec<u8> {
    let mut packet = vec![0; length];
    packet[..4].copy_from_slice(&number.to_be_bytes());
    packet
}

fn number(packet: &[u8]) -> u32 {
    u32::from_be_bytes(packet[..4].try_into().expect("four bytes"))
}

/// Everything in flight: the time of arrival and the packet.
fn drain(link: &mut Link) -> Vec<(Duration, Vec<u8>)> {
    std::iter::from_fn(|| {
        let at = link.next_delivery()?;
        Some((at, link.deliver(at)?))
    })
    .collect()
}

/// Sends `count` packets of 100 bytes, one every `gap`. Returns for each that arrived: when it was sent, when it
/// arrived, and its number.
fn run(link: &mut Link, count: u32, gap: Duration) -> Vec<(Duration, Duration, u32)> {
    let mut arrived = Vec::new();
    for index in 0..count {
        let now = gap * index;
        while let Some(at) = link.next_delivery().filter(|at| *at <= now) {
            arrived.push((at, link.deliver(at).expect("it has arrived")));
        }
        link.send(now, packet(index, 100));
    }
    arrived.extend(drain(link));
    let with_times = arrived.into_iter().map(|(at, packet)| {
        let number = number(&packet);
        (gap * number, at, number)
    });
    with_times.collect()
}

fn accounted(counts: LinkCounts) {
    let gone = counts.lost + counts.cut_off + counts.queue_full + counts.too_long + counts.overflowed;
    assert_eq!(
        counts.sent + counts.duplicated,
        counts.delivered + counts.in_flight + gone,
        "{counts:?}"
    );
}

#[test]
fn a_perfect_link_hands_over_everything_at_once_and_in_order() {
    let mut link = link("perfect", 1);
    let arrived = run(&mut link, 1000, ms(1));
    let expected: Vec<_> = (0..1000)
        .map(|number| (ms(1) * number, ms(1) * number, number))
        .collect();
    assert_eq!(arrived, expected);
    accounted(link.counts());
    assert_eq!(link.counts().delivered_bytes, 100_000);
    link.send(ms(2000), &b""[..]);
    assert_eq!(link.deliver(ms(2000)), Some(vec![]));
}

#[test]
fn nothing_arrives_before_its_time() {
    let mut link = link("delay=20ms", 1);
    link.send(ms(5), &b"packet"[..]);
    assert_eq!(link.next_delivery(), Some(ms(25)));
    assert_eq!(link.deliver(ms(25) - Duration::from_nanos(1)), None);
    assert_eq!(link.deliver(ms(25)), Some(b"packet".to_vec()));
    assert_eq!((link.next_delivery(), link.deliver(ms(99))), (None, None));
}

#[test]
fn the_measured_loss_is_the_loss_asked_for() {
    let mut link = link("loss=2%", 3);
    run(&mut link, PACKETS, ms(1));
    // Five standard deviations of 100 000 draws are 221.
    assert!(link.counts().lost.abs_diff(2000) < 221, "{:?}", link.counts());
    accounted(link.counts());
    assert_eq!(link.counts().in_flight, 0);
}

#[test]
fn losses_come_in_bursts_of_the_length_asked_for() {
    let mut link = link("burst=5%/4", 4);
    let arrived = run(&mut link, PACKETS, ms(1));
    let lost = link.counts().lost;
    let bursts = arrived.windows(2).filter(|pair| pair[1].2 > pair[0].2 + 1).count();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let (share, length) = (lost as f64 / f64::from(PACKETS), lost as f64 / bursts as f64);
    // Bursts make the estimates less exact: only 1250 of them are expected, and the spread of their lengths is about as
    // large as the lengths.
    assert!((0.042..0.058).contains(&share), "{share} was lost");
    assert!((3.5..4.5).contains(&length), "{length} packets in a burst");
    // With bursts of one packet, no two losses follow each other.
    let apart = run(&mut self::link("burst=20%/1", 4), 10_000, ms(1));
    assert!(apart.windows(2).all(|pair| pair[1].2 <= pair[0].2 + 2));
}

#[test]
fn delays_spread_evenly_around_the_delay() {
    let mut link = link("delay=20ms jitter=5ms", 5);
    let arrived = run(&mut link, PACKETS, ms(1));
    let delays: Vec<f64> = arrived
        .iter()
        .map(|(sent, at, _)| (*at - *sent).as_secs_f64() * 1e3)
        .collect();
    let (least, most) = delays.iter().fold((f64::MAX, 0.0_f64), |(least, most), &delay| {
        (least.min(delay), most.max(delay))
    });
    let mean = delays.iter().sum::<f64>() / f64::from(PACKETS);
    let variance = delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>() / f64::from(PACKETS);
    assert!(
        (15.0..15.01).contains(&least) && (24.99..=25.0).contains(&most),
        "{least} to {most} ms"
    );
    assert!((19.95..20.05).contains(&mean), "{mean} ms");
    // The standard deviation of a uniform distribution over 10 ms is 10 / √12.
    assert!((2.85..2.92).contains(&variance.sqrt()), "{} ms", variance.sqrt());
    assert!(
        arrived.windows(2).any(|pair| pair[0].2 > pair[1].2),
        "packets overtake each other"
    );
    assert!(
        arrived.windows(2).all(|pair| pair[0].1 <= pair[1].1),
        "they come in the order of time"
    );
}

#[test]
fn jitter_beyond_the_delay_never_reaches_into_the_past() {
    let arrived = run(&mut link("delay=1ms jitter=5ms", 6), 10_000, ms(1));
    assert!(arrived.iter().all(|(sent, at, _)| at >= sent));
    assert!(arrived.iter().any(|(sent, at, _)| at == sent));
}

#[test]
fn order_is_kept_where_that_was_asked_for() {
    let arrived = run(&mut link("delay=20ms jitter=15ms keep-order", 7), 10_000, ms(1));
    let numbers: Vec<u32> = arrived.iter().map(|(_, _, number)| *number).collect();
    assert_eq!(numbers, (0..10_000).collect::<Vec<_>>());
    assert!(
        arrived
            .iter()
            .all(|(sent, at, _)| (ms(5)..=ms(35)).contains(&(*at - *sent)))
    );
}

#[test]
fn reordered_packets_skip_the_delay() {
    let mut link = link("delay=20ms jitter=2ms reorder=10%", 8);
    let arrived = run(&mut link, 10_000, ms(1));
    let early = arrived.iter().filter(|(sent, at, _)| at == sent).count() as u64;
    assert!(early.abs_diff(1000) < 150, "{early} of 10000 were early");
    assert_eq!(link.counts().reordered, early);
}

#[test]
fn copies_and_damage_come_as_often_as_asked_for() {
    let mut link = link("duplicate=10% corrupt=5%", 9);
    let original = packet(0xAAAA_5555, 50);
    for _ in 0..10_000 {
        link.send(ms(1), &original[..]);
    }
    let mut damaged = 0;
    for (_, packet) in drain(&mut link) {
        let bits: u32 = packet.iter().zip(&original).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert!(bits <= 1 && packet.len() == original.len());
        damaged += u64::from(bits);
    }
    let counts = link.counts();
    assert!(counts.duplicated.abs_diff(1000) < 150, "{counts:?}");
    assert!(counts.corrupted.abs_diff(550) < 120, "{counts:?}");
    assert_eq!(damaged, counts.corrupted);
    accounted(counts);
}

#[test]
fn the_rate_spaces_packets_and_adds_the_delay_behind_it() {
    let mut link = link("rate=8mbit delay=20ms queue=1MB", 10);
    // 1000 bytes take 1 ms.
    for index in 0..100 {
        link.send(ms(3), packet(index, 1000));
    }
    let arrived = drain(&mut link);
    for (index, (at, packet)) in (0..100).zip(&arrived) {
        assert_eq!((*at, number(packet)), (ms(24) + ms(1) * index, index));
    }
    assert_eq!(arrived.len(), 100);
    // Idle time gives no credit: the next packet takes its full time again.
    link.send(ms(1000), packet(0, 1000));
    assert_eq!(link.next_delivery(), Some(ms(1021)));
}

#[test]
fn a_full_queue_drops_the_newest() {
    let mut link = link("rate=8mbit queue=4kB", 11);
    for index in 0..10 {
        link.send(Duration::ZERO, packet(index, 1000));
    }
    // One is being sent and four wait.
    assert_eq!(link.counts().queue_full, 5);
    // At 0.5 ms the first packet is still being sent; at 1 ms a place in the queue is free.
    link.send(Duration::from_micros(500), packet(10, 1000));
    link.send(ms(1), packet(11, 1000));
    let numbers: Vec<u32> = drain(&mut link).iter().map(|(_, packet)| number(packet)).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 11]);
    accounted(link.counts());
}

#[test]
fn packets_longer_than_the_mtu_are_dropped_and_counted() {
    let mut link = link("mtu=1280", 12);
    link.send(ms(0), vec![1; 1280]);
    link.send(ms(0), vec![1; 1281]);
    assert_eq!(drain(&mut link).len(), 1);
    assert_eq!((link.counts().too_long, link.counts().delivered), (1, 1));
    let mut link = Link::new(LinkProfile::default(), 0);
    link.send(ms(0), vec![1; 65_536]);
    assert_eq!(link.counts().too_long, 1);
}

#[test]
fn an_outage_swallows_what_is_sent_while_it_lasts() {
    let mut link = link("delay=5ms outage=10ms+10ms outage=50ms+1ms", 13);
    let arrived = run(&mut link, 60, ms(1));
    let missing: Vec<u32> = (0..60)
        .filter(|number| !arrived.iter().any(|(_, _, got)| got == number))
        .collect();
    assert_eq!(missing, (10..20).chain([50]).collect::<Vec<_>>());
    assert_eq!(link.counts().cut_off, 11);
    accounted(link.counts());
}

#[test]
fn the_seed_decides_and_decides_alone() {
    let text = "delay=20ms jitter=10ms loss=5% reorder=1% duplicate=1% corrupt=1% rate=5mbit queue=20ms";
    let arrived = |seed| run(&mut link(text, seed), 5000, Duration::from_micros(100));
    assert_eq!(arrived(1), arrived(1));
    assert_ne!(arrived(1), arrived(2));
}

#[test]
fn another_loss_leaves_the_delays_of_what_arrives_alone() {
    let calm = run(&mut link("delay=20ms jitter=10ms", 14), 5000, ms(1));
    let lossy = run(&mut link("delay=20ms jitter=10ms burst=10%/3", 14), 5000, ms(1));
    assert!(lossy.len() < calm.len());
    assert!(lossy.iter().all(|packet| calm.contains(packet)));
}

#[test]
fn what_waits_goes_on_at_the_new_rate() {
    let mut link = link("rate=8mbit delay=10ms", 15);
    for index in 0..4 {
        link.send(ms(0), packet(index, 1000));
    }
    // The first is being sent until 1 ms; the other three then take 2 ms each.
    link.set_profile(
        Duration::from_micros(500),
        link.profile().changed("rate=4mbit").expect("a change"),
    );
    let times: Vec<Duration> = drain(&mut link).iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [ms(11), ms(13), ms(15), ms(17)]);
    // Without a limit they all leave as soon as the packet being sent is finished.
    for index in 0..4 {
        link.send(ms(100), packet(index, 1000));
    }
    link.set_profile(ms(101), link.profile().changed("rate=none").expect("a change"));
    let arrived = drain(&mut link);
    assert!(
        arrived.iter().all(|(at, _)| *at == ms(112)),
        "{:?}",
        arrived.iter().map(|(at, _)| at).collect::<Vec<_>>()
    );
    let numbers: Vec<u32> = arrived.iter().map(|(_, packet)| number(packet)).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    accounted(link.counts());
}

#[test]
fn what_is_on_the_link_at_once_is_bounded() {
    let mut link = link("delay=1min", 16);
    for _ in 0..super::MAX_IN_FLIGHT + 3 {
        link.send(ms(0), &b"x"[..]);
    }
    assert_eq!(link.counts().overflowed, 3);
    let mut link = self::link("delay=1min", 17);
    for _ in 0..super::MAX_IN_FLIGHT_BYTES / 65_535 + 3 {
        link.send(ms(0), vec![0; 65_535]);
    }
    assert!(link.counts().overflowed >= 2);
    accounted(link.counts());
}

#[test]
fn impossible_shares_and_rates_do_not_break_a_link() {
    let loss = Loss::Burst {
        mean_loss: 1.0,
        mean_burst: 0.0,
    };
    let profile = LinkProfile {
        loss,
        rate: Some(0),
        jitter: Duration::MAX,
        delay: Duration::MAX,
        reorder: 7.0,
        corrupt: f64::NAN,
        duplicate: -1.0,
        outages: vec![(Duration::MAX, Duration::MAX)],
        ..LinkProfile::default()
    };
    let mut link = Link::new(profile.clone(), 0);
    link.send(ms(1), vec![0; 100]);
    assert_eq!(link.counts().lost, 1);
    let mut link = Link::new(
        LinkProfile {
            loss: Loss::None,
            ..profile
        },
        0,
    );
    link.send(ms(1), vec![0; 100]);
    link.send(ms(1), vec![0; 100]);
    accounted(link.counts());
}
