use std::fmt::Write;

use sealcast_proto::rtp::{MAX_PATIENCE, MAX_WAITING, MAX_WAITING_BYTES};
use sealcast_proto::rtsp::Channel;

use super::*;

const MILLISECOND: Duration = Duration::from_millis(1);
/// Source of a camera that does nothing odd.
const SOURCE: u32 = 7;

/// A packet as it arrives.
#[derive(Clone, Copy)]
enum Came {
    /// RTP of the source with this number.
    Rtp(u16),
    /// RTP with this number of another source.
    Of(u32, u16),
    /// RTCP on its own channel.
    Report(u8),
    /// Packet that is no RTP, on the channel for it.
    Odd(u8),
}

use Came::{Odd, Of, Report, Rtp};

/// An RTP packet; four make a picture, 25 pictures a second.
fn rtp(source: u32, number: u16, length: usize) -> Vec<u8> {
    let time = u32::from(number / 4) * 3600;
    let mut packet = vec![0x80, 96];
    packet.extend(number.to_be_bytes());
    packet.extend(time.to_be_bytes());
    packet.extend(source.to_be_bytes());
    packet.resize(length.max(12), number as u8);
    packet
}

/// The order of one player on a virtual clock, and what came out of it.
struct Player {
    order: PacketOrder,
    began: Instant,
    /// Time since the beginning.
    now: Duration,
    out: Vec<Packet>,
}

impl Player {
    fn new() -> Self {
        Self {
            order: PacketOrder::default(),
            began: Instant::now(),
            now: Duration::ZERO,
            out: Vec::new(),
        }
    }

    fn push_bytes(&mut self, number: u8, bytes: impl Into<Bytes>) {
        let channel = Channel::from_number(number).expect("a channel");
        let packet = Packet {
            slot: 0,
            channel,
            bytes: bytes.into(),
            arrived: self.began + self.now,
        };
        let out = &mut self.out;
        self.order.take(packet, |next| {
            assert_eq!(next.channel, channel);
            out.push(next);
        });
    }

    fn push(&mut self, came: &[Came]) {
        for came in came {
            match *came {
                Rtp(number) => self.push_bytes(0, rtp(SOURCE, number, 100)),
                Of(source, number) => self.push_bytes(0, rtp(source, number, 100)),
                Report(mark) => self.push_bytes(1, vec![0x80, 200, 0, 1, mark]),
                Odd(mark) => self.push_bytes(0, vec![0, mark]),
            }
        }
    }

    fn numbers(&mut self, numbers: &[u16]) {
        for number in numbers {
            self.push(&[Rtp(*number)]);
        }
    }

    /// Lets time pass from deadline to deadline.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(deadline) = self.order.deadline().filter(|deadline| *deadline <= self.began + end) {
            let out = &mut self.out;
            self.order.give_up(deadline, |packet| out.push(packet));
            assert!(self.order.deadline() > Some(deadline) || self.order.deadline().is_none());
        }
        self.now = end;
    }

    /// Packets that came out since the last call: numbers, with the source where it is another.
    fn came(&mut self) -> String {
        let mut words = String::new();
        for packet in self.out.drain(..) {
            let bytes = &packet.bytes;
            let separator = if words.is_empty() { "" } else { " " };
            let written = match Label::of(bytes) {
                _ if packet.channel.rtcp => write!(words, "{separator}r{}", bytes[4]),
                None => write!(words, "{separator}x{}", bytes[1]),
                Some(label) if label.source == SOURCE => write!(words, "{separator}{}", label.number),
                Some(label) => write!(words, "{separator}{}:{}", label.source, label.number),
            };
            written.expect("a string takes everything");
        }
        words
    }
}

/// Subject of a row, packets that arrive together, and what comes out at once and after the longest wait.
type Row = (&'static str, &'static [Came], &'static str, &'static str);

const ROWS: &[Row] = &[
    ("in order", &[Rtp(1), Rtp(2), Rtp(3)], "1 2 3", ""),
    (
        "neighbours swapped",
        &[Rtp(1), Rtp(2), Rtp(4), Rtp(3), Rtp(5)],
        "1 2 3 4 5",
        "",
    ),
    ("the first two swapped", &[Rtp(2), Rtp(1), Rtp(3)], "1 2 3", ""),
    (
        "each twice",
        &[Rtp(1), Rtp(1), Rtp(2), Rtp(2), Rtp(3), Rtp(3)],
        "1 2 3",
        "",
    ),
    (
        "twice and swapped",
        &[Rtp(1), Rtp(1), Rtp(2), Rtp(4), Rtp(4), Rtp(3), Rtp(3), Rtp(2), Rtp(5)],
        "1 2 3 4 5",
        "",
    ),
    (
        "wrap",
        &[Rtp(65_534), Rtp(65_535), Rtp(0), Rtp(1)],
        "65534 65535 0 1",
        "",
    ),
    (
        "wrap, swapped",
        &[Rtp(65_534), Rtp(65_535), Rtp(1), Rtp(0)],
        "65534 65535 0 1",
        "",
    ),
    ("loss", &[Rtp(1), Rtp(2), Rtp(4), Rtp(5)], "1 2", "4 5"),
    ("long loss", &[Rtp(1), Rtp(2), Rtp(500), Rtp(501)], "1 2 500 501", ""),
    ("the only one", &[Rtp(9)], "", "9"),
    (
        "numbers begin anew",
        &[Rtp(40_000), Rtp(40_001), Rtp(5), Rtp(6)],
        "40000 40001 5 6",
        "",
    ),
    (
        "another source takes over at once",
        &[Rtp(1), Rtp(2), Of(9, 500), Of(9, 501), Of(9, 502)],
        "1 2 9:500 9:501 9:502",
        "",
    ),
    (
        "another source takes over, and the last of the one before is late",
        &[Rtp(1), Rtp(2), Of(9, 500), Rtp(3), Of(9, 502), Of(9, 501), Of(9, 503)],
        "1 2 9:500 3 9:501 9:502 9:503",
        "",
    ),
    (
        "two sources alternate",
        &[
            Rtp(1),
            Rtp(2),
            Of(9, 5),
            Rtp(4),
            Rtp(3),
            Of(9, 6),
            Rtp(5),
            Of(9, 7),
            Rtp(6),
        ],
        "1 2 9:5 3 4 9:6 5 9:7 6",
        "",
    ),
    (
        "reports pass by",
        &[Report(1), Rtp(1), Rtp(2), Rtp(4), Report(2), Rtp(3)],
        "r1 1 2 r2 3 4",
        "",
    ),
    (
        "what is no RTP passes by",
        &[Odd(1), Rtp(1), Rtp(2), Rtp(4), Odd(2), Rtp(3)],
        "x1 1 2 x2 3 4",
        "",
    ),
    (
        "what is no RTP comes behind what begins before it",
        &[Rtp(1), Odd(1), Rtp(2), Rtp(3)],
        "1 x1 2 3",
        "",
    ),
];

#[test]
fn packets_that_came_in_datagrams_go_on_in_order_and_once() {
    for (what, came, at_once, later) in ROWS {
        let mut player = Player::new();
        player.push(came);
        assert_eq!(player.came(), *at_once, "{what}");
        player.wait(MAX_PATIENCE);
        assert_eq!(player.came(), *later, "{what}, later");
        assert_eq!((player.order.deadline(), player.order.bytes()), (None, 0), "{what}");
    }
}

#[test]
fn packets_that_came_over_a_connection_go_on_as_they_are() {
    for (what, came, ..) in ROWS {
        let mut player = Player::new();
        player.order.come_in_order(TrackSet::from_bits(1));
        for (count, came) in (1..).zip(*came) {
            player.push(&[*came]);
            assert_eq!(player.out.len(), count, "{what}");
        }
        assert_eq!(player.order.deadline(), None, "{what}");
    }
}

#[test]
fn what_waits_goes_first_when_the_camera_goes_on_over_a_connection() {
    let mut player = Player::new();
    player.numbers(&[1, 2, 4, 5]);
    player.order.come_in_order(TrackSet::from_bits(1));
    player.numbers(&[6, 8]);
    assert_eq!(player.came(), "1 2 4 5 6 8");
    player.order.come_in_order(TrackSet::default());
    player.numbers(&[11, 10, 12]);
    assert_eq!((player.came().as_str(), player.order.bytes()), ("10 11 12", 0));
}

#[test]
fn a_packet_that_is_the_next_is_neither_copied_nor_held() {
    let mut player = Player::new();
    player.numbers(&[0, 1]);
    player.out.clear();
    for number in 2..200 {
        let bytes = Bytes::from(rtp(SOURCE, number, 1400));
        player.push_bytes(0, bytes.clone());
        let came = player.out.pop().expect("it goes on at once");
        assert_eq!(came.bytes.as_ptr(), bytes.as_ptr());
        assert!(player.out.is_empty());
    }
    // One that waits has memory of its own: it does not keep that of all in use with which it came.
    let together = Bytes::from([rtp(SOURCE, 201, 1400), rtp(SOURCE, 202, 1400)].concat());
    player.push_bytes(0, together.slice(..1400));
    player.push_bytes(0, together.slice(1400..));
    assert!(together.is_unique());
    player.numbers(&[200]);
    assert_eq!(player.came(), "200 201 202");
}

#[test]
fn a_lost_packet_costs_a_quarter_of_the_time_between_pictures_at_most_30_ms() {
    for (between, waits) in [(1000, 30), (200, 30), (80, 20), (40, 10)] {
        let mut player = Player::new();
        let mut number = 0;
        for _ in 0..80 {
            player.numbers(&[number, number + 1, number + 2, number + 3]);
            number += 4;
            player.wait(MILLISECOND * between);
        }
        player.out.clear();
        player.push(&[Rtp(number + 1)]);
        player.wait(MILLISECOND * (waits - 1));
        assert_eq!(player.came(), "", "{between}");
        player.wait(MILLISECOND * 2);
        assert_eq!(player.came(), (number + 1).to_string(), "{between}");
        player.push(&[Rtp(number), Rtp(number + 2)]);
        assert_eq!(player.came(), (number + 2).to_string(), "{between}: it is late");
    }
}

#[test]
fn nothing_is_given_up_because_the_players_task_is_late() {
    let mut player = Player::new();
    player.numbers(&[1, 2, 4]);
    // The task does not run at the deadline, and 3 was in its queue by then.
    player.now += MILLISECOND;
    player.numbers(&[3]);
    let out = &mut player.out;
    player
        .order
        .give_up(player.began + MAX_PATIENCE * 100, |packet| out.push(packet));
    assert_eq!(player.came(), "1 2 3 4");
}

#[test]
fn so_many_packets_and_bytes_wait_and_not_more() {
    for (length, most) in [(100, MAX_WAITING), (60_000, MAX_WAITING_BYTES / 60_000)] {
        let mut player = Player::new();
        player.numbers(&[1, 2]);
        player.out.clear();
        for number in 4..4 + most as u16 {
            player.push_bytes(0, rtp(SOURCE, number, length));
            assert_eq!(player.order.bytes(), usize::from(number - 3) * length);
        }
        assert!(player.out.is_empty(), "{length}");
        player.push_bytes(0, rtp(SOURCE, 4 + most as u16, length));
        assert_eq!((player.out.len(), player.order.bytes()), (most + 1, 0), "{length}");
    }
    // Numbers that fit nowhere, each beside the one before and not behind it.
    let mut player = Player::new();
    player.numbers(&[1, 2]);
    for step in 0..1000 {
        player.push_bytes(0, rtp(SOURCE, 20_000 + step % 8 * 2, 60_000));
        assert!(player.order.bytes() <= MAX_WAITING_BYTES);
    }
}

#[test]
fn a_burst_in_any_order_of_neighbours_loses_nothing_on_either_track() {
    let mut player = Player::new();
    for number in (0..1000_u16).step_by(2) {
        for number in [number + 1, number, number + 1] {
            player.push_bytes(0, rtp(SOURCE, number.wrapping_add(65_000), 100));
            player.push_bytes(2, rtp(9, number.wrapping_add(300), 100));
        }
    }
    for (track, first) in [(0, 65_000_u16), (1, 300)] {
        let of_track = player.out.iter().filter(|packet| packet.channel.track.index() == track);
        let numbers = of_track.map(|packet| Label::of(&packet.bytes).expect("RTP").number);
        assert!(
            numbers.eq((0..1000).map(|number| first.wrapping_add(number))),
            "track {track}"
        );
    }
    assert_eq!(player.order.deadline(), None);
}

#[test]
fn a_track_does_not_wait_for_another() {
    let mut player = Player::new();
    player.numbers(&[1, 2, 4]);
    player.push_bytes(2, rtp(9, 1, 100));
    player.push_bytes(2, rtp(9, 2, 100));
    assert_eq!(player.came(), "1 2 9:1 9:2");
}
