use super::*;
use crate::rtp::{MAX_PATIENCE, MAX_WAITING};

/// Source and payload type of a camera that does nothing odd.
const SOURCE: u32 = 7;
const TYPE: u8 = 96;
/// Timestamps of pictures at 25 a second.
const PICTURE: u32 = 3600;

/// A packet of a test: its number is the source's, and its payload tells it apart.
#[derive(Clone, Copy, Debug)]
struct Sent {
    number: u16,
    source: u32,
    payload_type: u8,
    timestamp: u32,
}

/// A packet with a number; four make a picture.
fn sent(number: u16) -> Sent {
    Sent {
        number,
        source: SOURCE,
        payload_type: TYPE,
        timestamp: u32::from(number / 4) * PICTURE,
    }
}

impl Sent {
    fn of(self, source: u32) -> Self {
        Self { source, ..self }
    }

    fn typed(self, payload_type: u8) -> Self {
        Self { payload_type, ..self }
    }

    fn at(self, timestamp: u32) -> Self {
        Self { timestamp, ..self }
    }

    fn bytes(self) -> Bytes {
        let mut packet = vec![0x80, self.payload_type];
        packet.extend(self.number.to_be_bytes());
        packet.extend(self.timestamp.to_be_bytes());
        packet.extend(self.source.to_be_bytes());
        packet.extend(b"payload");
        packet.into()
    }
}

/// A receiver on a virtual clock, and what came out of it: numbers, with `!` before what begins anew and `-N` where N
/// packets are missing.
struct Track {
    receiver: Receiver,
    now: Duration,
    out: Vec<String>,
    packets: Vec<Bytes>,
}

impl Track {
    fn new(types: &[u8], way: Way) -> Self {
        Self {
            receiver: Receiver::new(types, way),
            now: Duration::from_secs(5),
            out: Vec::new(),
            packets: Vec::new(),
        }
    }

    fn datagrams() -> Self {
        Self::new(&[TYPE], Way::Datagrams)
    }

    fn drain(&mut self) {
        while let Some(next) = self.receiver.poll(self.now) {
            let number = u16::from_be_bytes([next.packet[2], next.packet[3]]);
            if next.lost > 0 {
                self.out.push(format!("-{}", next.lost));
            }
            let begins = if next.new_source { "!" } else { "" };
            self.out.push(format!("{begins}{number}"));
            self.packets.push(next.packet);
        }
        assert!(self.receiver.deadline().is_none_or(|deadline| deadline > self.now));
    }

    fn push(&mut self, sent: Sent) {
        self.receiver.push(self.now, sent.bytes());
        self.drain();
    }

    /// Takes packets that come together.
    fn push_all(&mut self, packets: impl IntoIterator<Item = Sent>) {
        for sent in packets {
            self.push(sent);
        }
    }

    fn numbers(&mut self, numbers: &[u16]) {
        self.push_all(numbers.iter().map(|number| sent(*number)));
    }

    /// Lets time pass from deadline to deadline.
    fn wait(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(deadline) = self.receiver.deadline().filter(|deadline| *deadline <= end) {
            self.now = deadline;
            self.drain();
        }
        self.now = end;
    }

    /// Text of what came out since the last call.
    fn came(&mut self) -> String {
        std::mem::take(&mut self.out).join(" ")
    }
}

/// A row of a table: what it shows, numbers as they arrive together, and what comes out without and with waiting.
type Row = (&'static str, &'static [u16], &'static str, &'static str);

/// Packets that come out at once, and those after the longest wait.
const ROWS: &[Row] = &[
    ("in order", &[1, 2, 3, 4], "!1 2 3 4", ""),
    ("neighbours swapped", &[1, 2, 4, 3, 5], "!1 2 3 4 5", ""),
    ("swapped over three", &[1, 2, 4, 5, 6, 3, 7], "!1 2 3 4 5 6 7", ""),
    ("two swaps at once", &[1, 2, 4, 6, 5, 3, 7], "!1 2 3 4 5 6 7", ""),
    ("backwards", &[1, 2, 6, 5, 4, 3, 7], "!1 2 3 4 5 6 7", ""),
    ("twice each", &[1, 1, 2, 2, 3, 3], "!1 2 3", ""),
    ("twice as a whole", &[1, 2, 3, 1, 2, 3, 4], "!1 2 3 4", ""),
    ("twice and swapped", &[1, 1, 2, 2, 4, 4, 3, 3, 5], "!1 2 3 4 5", ""),
    ("wrap", &[65_534, 65_535, 0, 1], "!65534 65535 0 1", ""),
    ("wrap, swapped", &[65_534, 65_535, 1, 0, 2], "!65534 65535 0 1 2", ""),
    ("first not the lowest", &[2, 1, 3], "!1 2 3", ""),
    ("first not the lowest, over a wrap", &[0, 65_535, 1], "!65535 0 1", ""),
    ("first alone", &[9], "", "!9"),
    ("first two with a hole", &[1, 3], "", "!1 -1 3"),
    ("loss", &[1, 2, 4, 5], "!1 2", "-1 4 5"),
    ("two losses", &[1, 2, 4, 6, 7], "!1 2", "-1 4 -1 6 7"),
    ("long loss", &[1, 2, 500, 501], "!1 2 -497 500 501", ""),
    (
        "long loss, swapped behind it",
        &[1, 2, 501, 500],
        "!1 2 -497 500 501",
        "",
    ),
    ("restart", &[40_000, 40_001, 5, 6, 7], "!40000 40001 !5 6 7", ""),
    (
        "restart, last one late",
        &[40_000, 40_001, 5, 40_002, 6, 7],
        "!40000 40001 40002 !5 6 7",
        "",
    ),
    (
        "restart, swapped",
        &[40_000, 40_001, 6, 5, 7],
        "!40000 40001 !5 6 7",
        "",
    ),
    (
        "restart, twice each",
        &[40_000, 40_000, 40_001, 5, 5, 6, 6],
        "!40000 40001 !5 6",
        "",
    ),
    ("restart, nothing behind it", &[40_000, 40_001, 5], "!40000 40001", "!5"),
    ("one packet out of place", &[1, 2, 20_000, 3, 4], "!1 2 3 4", ""),
];

#[test]
fn packets_come_out_in_order_and_once() {
    for (what, numbers, at_once, later) in ROWS {
        let mut track = Track::datagrams();
        track.numbers(numbers);
        assert_eq!(track.came(), *at_once, "{what}");
        track.wait(MAX_PATIENCE);
        assert_eq!(track.came(), *later, "{what}, later");
        assert_eq!(track.receiver.deadline(), None, "{what}");
    }
}

#[test]
fn packets_come_out_as_they_came_whatever_is_in_them() {
    let mut track = Track::datagrams();
    let packets: Vec<Bytes> = [1, 2, 3, 4].map(|number| sent(number).bytes()).to_vec();
    let mut empty = packets[2].to_vec();
    empty.truncate(12);
    let packets = [packets[0].clone(), packets[1].clone(), empty.into(), packets[3].clone()];
    for packet in &packets {
        track.receiver.push(track.now, packet.clone());
        track.drain();
    }
    assert_eq!(track.packets, packets);
    let same = |(came, sent): (&Bytes, &Bytes)| came.as_ptr() == sent.as_ptr();
    assert!(track.packets.iter().zip(&packets).all(same), "none was copied");
}

#[test]
fn a_late_packet_is_dropped_and_counted() {
    let mut track = Track::datagrams();
    track.numbers(&[1, 2, 4]);
    track.wait(MAX_PATIENCE);
    track.numbers(&[3, 3, 5]);
    assert_eq!(track.came(), "!1 2 -1 4 5");
    let counts = track.receiver.take_counts();
    assert_eq!((counts.lost, counts.late, counts.duplicates), (1, 2, 0));
    assert_eq!(track.receiver.take_counts(), ReceiveCounts::default());
}

#[test]
fn what_belongs_to_no_sequence_is_dropped_when_its_time_is_over() {
    let mut track = Track::datagrams();
    track.numbers(&[1, 2, 1000, 3]);
    track.wait(MAX_PATIENCE / 3);
    // It stands before the one that came first.
    track.numbers(&[990, 4]);
    track.wait(MAX_PATIENCE);
    assert_eq!((track.came().as_str(), track.receiver.deadline()), ("!1 2 3 4", None));
    assert_eq!(track.receiver.take_counts().strays, 2);
}

#[test]
fn at_most_so_many_packets_wait() {
    let mut track = Track::datagrams();
    track.numbers(&[1, 2]);
    let most = MAX_WAITING as u16;
    track.push_all((4..4 + most).map(sent));
    assert_eq!(track.came(), "!1 2");
    track.push(sent(4 + most));
    assert_eq!(track.out.len(), 2 + usize::from(most), "{:?}", track.out);
    assert_eq!(track.out[0], "-1");
}

#[test]
fn a_packet_waits_for_a_quarter_of_the_time_between_pictures() {
    // The time between two pictures, and how long a packet waits.
    for (between, waits) in [(1000, 30), (200, 30), (80, 20), (40, 10), (8, 2), (4, 1)] {
        let mut track = Track::datagrams();
        let mut number = 0;
        for _ in 0..80 {
            track.numbers(&[number, number + 1, number + 2, number + 3]);
            number += 4;
            track.wait(Duration::from_millis(between));
        }
        track.push(sent(number + 1));
        let waited = track.receiver.deadline().expect("it waits") - track.now;
        assert!(
            waited.abs_diff(Duration::from_millis(waits)) < Duration::from_micros(waits * 50),
            "{between}: {waited:?}"
        );
    }
}

#[test]
fn equal_timestamps_leave_the_longest_wait() {
    let mut track = Track::datagrams();
    for number in 0..200 {
        track.push(sent(number).at(0));
        track.wait(Duration::from_millis(10));
    }
    assert_eq!(track.packets.len(), 200);
    track.push(sent(201).at(0));
    assert_eq!(track.receiver.deadline(), Some(track.now + MAX_PATIENCE));
}

#[test]
fn packets_do_not_wait_for_numbers_that_a_camera_never_sends() {
    let mut track = Track::datagrams();
    for number in 0..100 {
        track.push(sent(number * 2));
        track.wait(MAX_PATIENCE);
    }
    track.came();
    track.push(sent(200));
    assert_eq!(track.came(), "-1 200");
    track.numbers(&[199, 203]);
    assert_eq!(track.came(), "", "one came late, so the next is waited for");
}

#[test]
fn packets_of_a_byte_stream_never_wait() {
    let rows: [(&[u16], &str); 6] = [
        (&[1, 2, 3], "!1 2 3"),
        (&[1, 3, 4], "!1 -1 3 4"),
        (&[1, 2, 500, 501], "!1 2 -497 500 501"),
        (&[1, 3, 2, 4], "!1 -1 3 4"),
        (&[1, 1, 2, 2], "!1 2"),
        (&[40_000, 5, 6], "!40000 !5 6"),
    ];
    for (numbers, expected) in rows {
        let mut track = Track::new(&[TYPE], Way::Stream);
        track.numbers(numbers);
        assert_eq!(track.came(), expected, "{numbers:?}");
    }
}

#[test]
fn numbers_that_begin_anew_with_each_group_of_pictures_lose_nothing() {
    for way in [Way::Stream, Way::Datagrams] {
        let mut track = Track::new(&[TYPE], way);
        for group in 0..20 {
            track.push_all((0..30).map(|number| sent(number).at(group * 30 * PICTURE + u32::from(number) * PICTURE)));
        }
        assert_eq!(track.packets.len(), 600, "{way:?}");
    }
}

#[test]
fn a_source_for_each_group_of_pictures_takes_over_at_once_and_loses_nothing() {
    for way in [Way::Stream, Way::Datagrams] {
        let mut track = Track::new(&[TYPE], way);
        for group in 0..50_u32 {
            let first = (group * 7777) as u16;
            track.push_all((0..30).map(|number| sent(first.wrapping_add(number)).of(1000 + group)));
            assert_eq!(track.packets.len() as u32, (group + 1) * 30, "{way:?}");
        }
        assert_eq!(track.out.iter().filter(|came| came.starts_with('!')).count(), 50);
        assert!(!track.out.iter().any(|came| came.starts_with('-')));
        assert_eq!(track.receiver.take_alternating(), None);
        assert_eq!(track.receiver.take_counts(), ReceiveCounts::default());
    }
}

#[test]
fn a_source_changes_although_the_last_packets_of_the_one_before_come_late() {
    let mut track = Track::datagrams();
    track.numbers(&[1, 2]);
    track.push_all([sent(500).of(9), sent(3), sent(501).of(9), sent(502).of(9)]);
    assert_eq!(track.came(), "!1 2 3 !500 501 502");
    track.push_all([sent(4), sent(503).of(9)]);
    assert_eq!(track.came(), "503");
    assert_eq!(track.receiver.take_counts().late, 1);
    // A source that sends one packet, and then nothing, takes over as well.
    track.push(sent(70).of(10));
    track.wait(MAX_PATIENCE);
    assert_eq!(track.came(), "!70");
    assert_eq!(track.receiver.take_alternating(), None);
}

#[test]
fn of_two_sources_that_alternate_the_first_stays() {
    for way in [Way::Stream, Way::Datagrams] {
        // How many packets of one source come before those of the other.
        for run in [1, 2, 4, 10] {
            let mut track = Track::new(&[TYPE], way);
            track.push_all((0..8).map(sent));
            for turn in 0..40 {
                let numbers = turn * run..(turn + 1) * run;
                track.push_all(numbers.clone().map(|number| sent(900 + number).of(9)));
                track.push_all(numbers.map(|number| sent(8 + number)));
                track.wait(Duration::from_millis(5));
            }
            let what = format!("{way:?}, {run}");
            assert_eq!(track.receiver.take_alternating(), Some((SOURCE, 9)), "{what}");
            assert_eq!(track.receiver.take_alternating(), None, "{what}: it is told once");
            let last = &track.packets[track.packets.len() - usize::from(run) * 20..];
            let first = |packet: &Bytes| packet[8..12] == SOURCE.to_be_bytes();
            assert!(last.iter().all(first), "{what}");
            assert!(
                track.receiver.take_counts().foreign_sources > u64::from(run) * 20,
                "{what}"
            );

            track.wait(RETURN_PATIENCE);
            track.came();
            track.push_all((2000..2004).map(|number| sent(number).of(9)));
            track.wait(MAX_PATIENCE);
            assert_eq!(track.came(), "!2000 2001 2002 2003", "{what}: the first is gone");
        }
    }
}

#[test]
fn packets_of_another_payload_type_are_dropped_and_leave_no_gap() {
    // Their numbers are of the same sequence, repeat those of the picture, or are of a sequence of their own.
    let rows: [(&str, [u16; 3]); 3] = [
        ("same", [2, 4, 6]),
        ("repeated", [1, 3, 5]),
        ("own", [9000, 9001, 9002]),
    ];
    for (what, foreign) in rows {
        let mut track = Track::datagrams();
        track.numbers(&[65_534, 65_535, 0]);
        let mut counted = 1;
        for foreign in foreign {
            track.push(sent(counted));
            counted += 1;
            track.push(sent(foreign).typed(107));
            counted += u16::from(what == "same");
        }
        track.numbers(&[counted, counted + 1]);
        assert_eq!(track.packets.len(), 8, "{what}: {:?}", track.out);
        assert!(
            !track.out.iter().any(|came| came.starts_with('-')),
            "{what}: {:?}",
            track.out
        );
        assert_eq!(track.receiver.take_counts().foreign_types, 3, "{what}");
        assert_eq!(track.receiver.payload_type(), Some(TYPE), "{what}");
    }
    // RTCP in the channel of RTP.
    let mut track = Track::datagrams();
    track.numbers(&[1, 2]);
    track.receiver.push(
        track.now,
        Bytes::from_static(&[0x80, 200, 0, 6, 0, 0, 0, 7, 0, 0, 0, 3, 0, 0]),
    );
    track.push(sent(3));
    assert_eq!(
        (track.came().as_str(), track.receiver.take_counts().foreign_types),
        ("!1 2 3", 1)
    );
}

#[test]
fn a_packet_is_not_taken_for_a_copy_of_another_type_with_its_number() {
    let mut track = Track::datagrams();
    track.numbers(&[1, 2]);
    track.push_all([sent(4).typed(107), sent(3).typed(107), sent(3), sent(4), sent(5)]);
    assert_eq!(track.came(), "!1 2 3 4 5");
}

#[test]
fn the_only_payload_type_that_comes_counts_though_it_is_not_described() {
    let every = Duration::from_millis(40);
    for (described, first) in [(&[TYPE][..], 97), (&[TYPE, 97], 97), (&[8, 101], 101)] {
        let mut track = Track::new(described, Way::Datagrams);
        for number in 0..25 {
            track.push(sent(number).typed(first));
            track.wait(every);
        }
        assert_eq!(track.out.len(), 0, "a second is not over");
        track.push(sent(25).typed(first));
        track.wait(every);
        assert_eq!(
            (track.packets.len(), track.receiver.payload_type()),
            (26, Some(first)),
            "nothing is lost"
        );
        track.push_all([sent(26).typed(first), sent(27).typed(100), sent(28).typed(first)]);
        assert_eq!(track.packets.len(), 28);
        // The described type counts as soon as it comes.
        track.came();
        track.push_all([
            sent(29).typed(described[0]),
            sent(30).typed(first),
            sent(31).typed(described[0]),
        ]);
        assert_eq!(track.came(), "29 31");
        assert_eq!(track.receiver.payload_type(), Some(described[0]));
    }
}

#[test]
fn other_payload_types_do_not_count_where_they_are_several_few_or_not_alone() {
    let second = Duration::from_secs(1);
    let mut several = Track::datagrams();
    let mut few = Track::datagrams();
    let mut late = Track::datagrams();
    for number in 0..100 {
        several.push(sent(number).typed(97 + (number % 2) as u8));
        several.wait(second);
        if number < 19 {
            few.push(sent(number).typed(97));
            few.wait(second);
        }
        late.push(sent(number).typed(97));
    }
    late.wait(second);
    late.push_all((100..103).map(sent));
    for (mut track, expected) in [(several, ""), (few, ""), (late, "!100 101 102")] {
        assert_eq!(track.came(), expected);
    }
    // Of several, the only one that is described counts.
    let mut described = Track::new(&[TYPE, 98], Way::Stream);
    for number in 0..40 {
        described.push(sent(number).typed(97 + (number % 2) as u8));
        described.wait(second / 10);
    }
    assert_eq!(
        (described.receiver.payload_type(), described.packets.len()),
        (Some(98), 20)
    );
}

#[test]
fn packets_that_are_kept_until_the_payload_type_is_known_are_bounded() {
    for (payload, most) in [(1, MAX_KEPT), (65_000, MAX_KEPT_BYTES / 65_000)] {
        let mut track = Track::datagrams();
        let packet = |number: u16, payload_type: u8| {
            let mut bytes = sent(number).typed(payload_type).bytes().to_vec();
            bytes.resize(12 + payload, 0);
            Bytes::from(bytes)
        };
        for number in 0..5000 {
            track.receiver.push(track.now, packet(number, 97 + (number % 2) as u8));
            assert!(track.receiver.types.kept.len() <= most);
        }
        assert_eq!(
            track.receiver.take_counts().foreign_types as usize,
            5000 - track.receiver.types.kept.len()
        );
        // One type alone is chosen early.
        let mut track = Track::datagrams();
        for number in 0..5000 {
            track.receiver.push(track.now, packet(number, 97));
            track.drain();
        }
        assert_eq!(track.packets.len(), 5000);
    }
}

#[test]
fn without_a_description_the_first_payload_type_counts() {
    let mut track = Track::new(&[], Way::Datagrams);
    track.push_all([sent(1), sent(2), sent(3).typed(97), sent(4)]);
    assert_eq!((track.packets.len(), track.receiver.payload_type()), (3, Some(TYPE)));
}

#[test]
fn what_is_no_rtp_is_counted() {
    let mut track = Track::datagrams();
    for packet in [
        &b""[..],
        b"\x80",
        &[0; 20],
        &[0x8f; 20],
        &[0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0],
    ] {
        track.receiver.push(track.now, Bytes::copy_from_slice(packet));
    }
    track.numbers(&[1, 2]);
    assert_eq!(
        (track.came().as_str(), track.receiver.take_counts().malformed),
        ("!1 2", 5)
    );
}

#[test]
fn nothing_but_copies_is_lost_on_any_path_that_swaps_over_a_few() {
    // Pseudo-random orders, repeated by the seed.
    for seed in 1..50_u64 {
        let mut state = seed;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut queue: Vec<(u64, u16)> = Vec::new();
        for number in 0..3000_u16 {
            for _ in 0..=random(2) {
                queue.push((u64::from(number) + random(8), number.wrapping_add(64_000)));
            }
        }
        queue.sort_by_key(|(at, _)| *at);
        let mut track = Track::datagrams();
        track.push_all([sent(63_998), sent(63_999)]);
        track.push_all(queue.into_iter().map(|(_, number)| sent(number)));
        assert_eq!(track.packets.len(), 3002, "seed {seed}");
        let numbers = track.packets.windows(2).all(|pair| {
            let number = |packet: &Bytes| u16::from_be_bytes([packet[2], packet[3]]);
            number(&pair[1]) == number(&pair[0]).wrapping_add(1)
        });
        assert!(numbers, "seed {seed}");
    }
}
