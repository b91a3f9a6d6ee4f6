//! AAC as cameras describe and send it.

use super::super::{Damage, MediaDescription, SoundDepacketizer, Unit};
use super::*;

/// Depacketizer of AAC with this encoding and these parameters.
fn described(map: &str, parameters: &str) -> Result<SoundDepacketizer, &'static str> {
    let sdp = format!("m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC{map}\na=fmtp:97 {parameters}\n");
    SoundDepacketizer::new(&MediaDescription::parse(sdp.as_bytes()).media[0].formats[0])
}

/// Depacketizer of AAC of 16 kHz with these parameters and this clock.
fn aac(clock_rate: u32, parameters: &str) -> SoundDepacketizer {
    described(&format!("/{clock_rate}"), &format!("config=1408;{parameters}")).expect("AAC")
}

struct Sent {
    timestamp: u32,
    marker: bool,
    lost: bool,
    payload: Vec<u8>,
}

/// A packet without marker, whose payload is these parts.
fn sent(timestamp: u32, parts: &[&[u8]]) -> Sent {
    Sent {
        timestamp,
        marker: false,
        lost: false,
        payload: parts.concat(),
    }
}

fn push(sound: &mut SoundDepacketizer, packet: &Sent) {
    let lost = packet.lost;
    let packet = RtpPacket {
        payload_type: 97,
        marker: packet.marker,
        sequence: 0,
        timestamp: packet.timestamp,
        source: 1,
        extension: None,
        payload: &packet.payload,
    };
    sound.push(&packet, lost);
}

/// All units of these packets: time, loss and data.
fn units(sound: &mut SoundDepacketizer, packets: &[Sent]) -> Vec<(u32, bool, Vec<u8>)> {
    let mut all = Vec::new();
    for packet in packets {
        push(sound, packet);
        let told = |unit: Unit| (unit.timestamp, unit.lost, unit.data);
        all.extend(std::iter::from_fn(|| sound.poll()).map(told));
    }
    all
}

fn unit(timestamp: u32, lost: bool, data: &[u8]) -> (u32, bool, Vec<u8>) {
    (timestamp, lost, data.to_vec())
}

fn damage(units: u64, reason: &'static str) -> Damage {
    Damage {
        units,
        reason: Some(reason),
    }
}

/// The headers of access units of these sizes, as in the usual mode.
fn headers(sizes: &[u16]) -> Vec<u8> {
    let length = u16::try_from(16 * sizes.len()).expect("few");
    let fields = sizes.iter().flat_map(|size| (size << 3).to_be_bytes());
    length.to_be_bytes().into_iter().chain(fields).collect()
}

#[test]
fn several_access_units_of_a_packet_are_as_far_apart_as_their_samples() {
    for (clock_rate, distances) in [
        (16_000, [0, 1024, 2048]),
        (90_000, [0, 5760, 11_520]),
        (22_050, [0, 1411, 2822]),
    ] {
        let mut sound = aac(clock_rate, "mode=aac-hbr");
        let packet = sent(u32::MAX, &[&headers(&[3, 0, 2, 1]), b"abcdef"]);
        let times = distances.map(|distance| u32::MAX.wrapping_add(distance));
        let third = (u64::from(clock_rate) * 3 * 1024 + 8_000) / 16_000;
        let expected = [
            unit(times[0], false, b"abc"),
            unit(times[2], false, b"de"),
            unit(u32::MAX.wrapping_add(third as u32), false, b"f"),
        ];
        assert_eq!(units(&mut sound, &[packet]), expected, "clock {clock_rate}");
        assert_eq!(sound.take_damage(), Damage::default());
    }
}

#[test]
fn header_fields_have_the_lengths_that_the_camera_says() {
    let one = |sizes: &str, headers: &[u8]| {
        let mut sound = aac(16_000, sizes);
        let found = units(&mut sound, &[sent(5, &[headers, b"abcde"])]);
        let lengths: Vec<usize> = found.iter().map(|unit| unit.2.len()).collect();
        (lengths, sound.take_damage())
    };
    let whole = |lengths: &[usize]| (lengths.to_vec(), Damage::default());
    assert_eq!(one("", &headers(&[5])), whole(&[5]), "as usual");
    assert_eq!(one("mode=AAC-LBR", &[0, 16, 3 << 2, 2 << 2]), whole(&[3, 2]));
    assert_eq!(
        one(
            "SizeLength=12; IndexLength=4; IndexDeltaLength=0",
            &[0, 28, 0, 0x30, 0, 0x20]
        ),
        whole(&[3, 2])
    );
    assert_eq!(one("sizelength=32;indexlength=0", &[0, 32, 0, 0, 0, 5]), whole(&[5]));
    assert_eq!(
        one("sizelength=16;indexlength=0;indexdeltalength=0", &[0, 17, 0, 4, 0]),
        whole(&[4]),
        "a bit more"
    );
    assert_eq!(one("", &[0, 16, 0, 5 << 3 | 2]), whole(&[5]), "an index of the first");
    assert_eq!(
        one("", &[0, 32, 0, 2 << 3, 0, 2 << 3 | 1]),
        (vec![], damage(1, INTERLEAVED))
    );
    assert_eq!(one("", &[0, 8, 0]), (vec![], damage(1, NO_UNITS)));
    assert_eq!(one("", &[0, 200]), (vec![], damage(1, SHORT)));
    assert_eq!(one("", &headers(&[2, 9])), (vec![2], damage(1, SHORT)));
    assert_eq!(one("", &headers(&[0; 65])), (vec![], damage(1, MANY)));
}

#[test]
fn without_headers_a_packet_is_an_access_unit_up_to_its_marker() {
    let mut sound = aac(16_000, "mode=generic");
    let marked = |timestamp, data: &[u8]| Sent {
        marker: true,
        ..sent(timestamp, &[data])
    };
    let packets = [
        marked(1, b"ab"),
        sent(2, &[b"c"]),
        marked(2, b"d"),
        sent(3, &[b"e"]),
        marked(4, b"f"),
    ];
    let expected = [
        unit(1, false, b"ab"),
        unit(2, false, b"cd"),
        unit(3, false, b"e"),
        unit(4, false, b"f"),
    ];
    assert_eq!(units(&mut sound, &packets), expected);
    let long = [sent(5, &[&[0; 40_000]]), sent(5, &[&[0; 40_000]])];
    assert!(units(&mut sound, &long).is_empty());
    assert_eq!(sound.take_damage(), damage(1, LONG));
}

#[test]
fn fragments_are_put_together_whatever_their_markers() {
    let mut sound = aac(16_000, "");
    let piece = |timestamp, size: u16, data: &[u8]| sent(timestamp, &[&headers(&[size]), data]);
    let marked = |packet| Sent { marker: true, ..packet };
    let packets = [
        piece(1, 5, b"ab"),
        marked(piece(1, 5, b"cd")),
        piece(1, 5, b"e"),
        // Without an end; a whole one after it.
        piece(2, 5, b"ab"),
        piece(3, 2, b"xy"),
        // Without an end, of the same time; too much data.
        piece(4, 3, b"ab"),
        piece(4, 4, b"abc"),
        piece(4, 4, b"cd"),
        piece(4, 4, b"ef"),
    ];
    let expected = [unit(1, false, b"abcde"), unit(3, true, b"xy"), unit(4, true, b"cdef")];
    assert_eq!(units(&mut sound, &packets), expected);
    assert_eq!(sound.take_damage(), damage(3, UNENDED));
}

#[test]
fn an_access_unit_of_which_fragments_were_lost_is_left_out() {
    let mut sound = aac(16_000, "");
    let piece = |timestamp, data: &[u8]| sent(timestamp, &[&headers(&[4]), data]);
    let lost = |packet| Sent { lost: true, ..packet };
    let packets = [
        piece(1, b"ab"),
        lost(piece(2, b"cd")),
        piece(3, b"efgh"),
        lost(piece(4, b"ijkl")),
        piece(5, b"mnop"),
    ];
    let expected = [unit(3, true, b"efgh"), unit(4, true, b"ijkl"), unit(5, false, b"mnop")];
    assert_eq!(units(&mut sound, &packets), expected);
    assert_eq!(sound.take_damage(), damage(2, UNENDED));
}

#[test]
fn a_fragmented_unit_has_a_bounded_size() {
    let mut sound = aac(16_000, "sizelength=32;indexlength=0;indexdeltalength=0");
    let size = |size: u32| [&[0, 32][..], &size.to_be_bytes()].concat();
    let half = vec![7; MAX_SOUND_BYTES / 2];
    let most = size(MAX_SOUND_BYTES as u32);
    let packets = [
        sent(1, &[&size(MAX_SOUND_BYTES as u32 + 1), b"a"]),
        sent(2, &[&most, &half]),
        sent(2, &[&most, &half]),
    ];
    let found = units(&mut sound, &packets);
    assert_eq!((found.len(), found[0].0, found[0].2.len()), (1, 2, MAX_SOUND_BYTES));
    assert_eq!(sound.take_damage(), damage(1, LONG));
}

#[test]
fn an_adts_header_before_an_access_unit_is_left_out() {
    let mut sound = aac(16_000, "");
    let header = |length: u8, second: u8| [0xff, second, 0x60, 0x40, length >> 3, length << 5 | 0x1f, 0xfc];
    let with = [&header(10, 0xf1)[..], b"abc"].concat();
    let checked = [&header(12, 0xf8)[..], &[1, 2], b"abc"].concat();
    let other = [&header(11, 0xf1)[..], b"abc"].concat();
    let packets = [
        sent(1, &[&headers(&[10]), &with]),
        sent(2, &[&headers(&[12]), &checked]),
        sent(3, &[&headers(&[10]), &other]),
        sent(4, &[&headers(&[7]), &header(7, 0xf1)]),
    ];
    let expected = [
        unit(1, false, b"abc"),
        unit(2, false, b"abc"),
        unit(3, false, &other),
        unit(4, false, &header(7, 0xf1)),
    ];
    assert_eq!(units(&mut sound, &packets), expected);
}

#[test]
fn sound_is_described_however_the_camera_writes_it() {
    let described = |map: &str, parameters: &str| {
        described(map, parameters).map(|sound| {
            let info = sound.info().clone();
            (info.samples_per_second, info.channels, info.parameters)
        })
    };
    let lc16 = Ok((16_000, 1, vec![0x14, 0x08]));
    for (map, parameters) in [
        (
            "/16000",
            "streamtype=5;profile-level-id=1;mode=AAC-hbr;config=1408;sizelength=13",
        ),
        ("/16000/1", "mode=AAC-hbr; Config = 0x1408 ;"),
        ("/90000", "config=\"1408\""),
        ("/90000/2", "config=14080"),
        ("/16000", "mode=aac-hbr"),
        ("/16000", "config="),
        ("/16000", "config=zz"),
        ("/16000", "config=14"),
        ("/16000", "config=0000"),
        ("/16000", "config=1788"),
    ] {
        assert_eq!(described(map, parameters), lc16, "{map} {parameters}");
    }
    assert_eq!(described("/44100/2", "x=y"), Ok((44_100, 2, vec![0x12, 0x10])));
    assert_eq!(described("/48000/8", "x=y"), Ok((48_000, 8, vec![0x11, 0xb8])));
    for (map, parameters, reason) in [
        ("/90000", "mode=AAC-hbr", "which it does not describe"),
        ("/16000/9", "x=y", "which it does not describe"),
        ("/16000", "config=1408;sizelength=33", "which it does not describe"),
        (
            "/16000",
            "config=1408;mode=CELP-cbr",
            "which is CELP, and is not carried",
        ),
        (
            "/16000",
            "config=1408;constantSize=20",
            "which it sends in a form that is not read",
        ),
        (
            "/16000",
            "config=1408;CTSDeltaLength=8",
            "which it sends in a form that is not read",
        ),
    ] {
        assert_eq!(described(map, parameters), Err(reason), "{map} {parameters}");
    }
    assert!(described("/16000", "config=1408;CTSDeltaLength=0").is_ok());
}
