//! Tests by this end's own depacketizers, which cameras' streams have tried: they put together again the cut units.

use std::time::Duration;

use super::*;
use crate::rtp::{Damage, Depacketizer, Format, MediaDescription, RtpPacket, SoundDepacketizer, sender_reports};
use crate::unit::{FrameRate, SoundCodec, StreamInfo};

const RANDOM_BYTES: [u8; RANDOM] = [1, 2, 3, 4, 0xff, 0xff, 0xff, 0, 0xff, 0xfe];

fn annex_b(units: &[Vec<u8>]) -> Vec<u8> {
    units
        .iter()
        .flat_map(|unit| [&[0, 0, 0, 1], &unit[..]].concat())
        .collect()
}

/// A unit of so many bytes, none of which look like a start code.
fn unit(header: &[u8], length: usize) -> Vec<u8> {
    let body = (0..length - header.len()).map(|at| 1 + (at % 251) as u8);
    header.iter().copied().chain(body).collect()
}

fn info(codec: Codec, parameters: &[u8]) -> StreamInfo {
    StreamInfo {
        codec,
        width: 640,
        height: 480,
        rate: FrameRate {
            numerator: 25,
            denominator: 1,
        },
        parameters: parameters.to_vec(),
    }
}

/// The formats of a description's tracks.
fn formats(description: &str) -> Vec<Format> {
    let parsed = MediaDescription::parse(description.as_bytes());
    parsed
        .tracks()
        .map(|(_, medium)| medium.format().expect("a format").clone())
        .collect()
}

/// The units that a receiver of this format puts together of packets.
fn received(format: &Format, packets: &[Vec<u8>]) -> Vec<(u32, Vec<u8>)> {
    let mut depacketizer = Depacketizer::of(format, None).expect("a picture");
    let mut units = Vec::new();
    for packet in packets {
        assert!(packet.len() <= MAX_PACKET, "{} bytes", packet.len());
        let packet = RtpPacket::parse(packet).expect("RTP");
        assert_eq!((packet.payload_type, packet.source), (format.payload_type, 0x0102_0304));
        depacketizer.push(&packet, false);
        while let Some(unit) = depacketizer.poll() {
            assert!(!unit.lost);
            units.push((unit.timestamp, unit.data));
        }
    }
    assert_eq!(depacketizer.take_damage(), Damage::default());
    units
}

#[test]
fn access_units_of_any_lengths_arrive_as_they_were_without_what_says_nothing() {
    let h264 = |kind: u8, length| unit(&[0x60 | kind], length);
    let h265 = |kind: u8, length| unit(&[kind << 1, 1], length);
    type Make<'a> = &'a dyn Fn(u8, usize) -> Vec<u8>;
    let rows: [(Codec, usize, [u8; 5], Make<'_>); 2] = [
        (Codec::H264, 1, [7, 8, 5, 9, 12], &h264),
        (Codec::H265, 2, [33, 34, 19, 35, 38], &h265),
    ];
    for (codec, header, [sps, pps, slice, delimiter, filler], make) in rows {
        for lengths in [
            &[20][..],
            &[1386],
            &[1387],
            &[1388],
            &[1389],
            &[1390],
            &[2772, 20],
            &[20, 30, 1300, 40],
            &[700, 700, 700],
            &[40_000, 3],
        ] {
            let parameters = [make(sps, 12), make(pps, 5)];
            let mut slices: Vec<_> = lengths.iter().map(|length| make(slice, *length)).collect();
            // It says that it is the first of its picture.
            slices[0][header] |= 0x80;
            let sent: Vec<Vec<u8>> = parameters.iter().cloned().chain(slices).collect();
            let mut data = annex_b(&[make(delimiter, 3)]);
            data.extend(annex_b(&sent));
            data.extend(annex_b(&[make(filler, 50)]));
            let mut packetizer = Packetizer::for_picture(codec, RANDOM_BYTES).expect("a form");
            let mut packets = Vec::new();
            for at in [0, 40] {
                packetizer
                    .cut(Duration::from_millis(at), &data, &mut packets)
                    .expect("it is cut");
            }
            let description = describe(&info(codec, &annex_b(&parameters)), None).expect("a form");
            let format = &formats(&description)[0];
            let expected = annex_b(&sent);
            let first = 0xffff_ff00_u32;
            assert_eq!(
                received(format, &packets),
                [(first, expected.clone()), (first.wrapping_add(3600), expected)],
                "{codec:?} {lengths:?}"
            );
            let sets = Depacketizer::of(format, None).expect("a picture");
            assert_eq!(sets.parameter_sets(), parameters, "{description}");
        }
    }
}

#[test]
fn sequence_numbers_and_marks_are_those_of_one_stream() {
    let data = annex_b(&[unit(&[0x65, 0x88], 5000)]);
    let mut packetizer = Packetizer::for_picture(Codec::H264, RANDOM_BYTES).expect("a form");
    let mut packets = Vec::new();
    packetizer.cut(Duration::ZERO, &data, &mut packets).expect("cut");
    packetizer
        .cut(Duration::from_millis(40), &data, &mut packets)
        .expect("cut");
    let parsed: Vec<RtpPacket<'_>> = packets
        .iter()
        .map(|packet| RtpPacket::parse(packet).expect("RTP"))
        .collect();
    for (at, packet) in parsed.iter().enumerate() {
        assert_eq!(packet.sequence, 0xfffe_u16.wrapping_add(at as u16));
        assert_eq!(packet.marker, at % 4 == 3, "packet {at}");
    }
    assert_eq!(parsed.len(), 8);
}

/// A baseline image with tables of its own, and the standard Huffman tables.
fn image(sampling: u8, restart: Option<u16>, scan: &[u8]) -> Vec<u8> {
    let segment = |code: u8, content: &[u8]| {
        let length = (content.len() as u16 + 2).to_be_bytes();
        [&[0xff, code][..], &length, content].concat()
    };
    let mut image = vec![0xff, 0xd8];
    for number in 0..2 {
        let table: Vec<u8> = (0..64).map(|at| 1 + at + number * 64).collect();
        image.extend(segment(0xdb, &[&[number], &table[..]].concat()));
    }
    if let Some(interval) = restart {
        image.extend(segment(0xdd, &interval.to_be_bytes()));
    }
    image.extend(segment(
        0xc0,
        &[8, 1, 224, 2, 128, 3, 1, sampling, 0, 2, 0x11, 1, 3, 0x11, 1],
    ));
    image.extend_from_slice(crate::rtp::HUFFMAN_TABLES);
    image.extend(segment(0xda, &[3, 1, 0, 2, 0x11, 3, 0x11, 0, 63, 0]));
    [&image, scan, &[0xff, 0xd9]].concat()
}

#[test]
fn images_arrive_with_their_tables_whatever_their_sampling_and_restarts() {
    let format = &formats(&describe(&info(Codec::Mjpeg, &[]), None).expect("a form"))[0];
    let scan: Vec<u8> = (0..9000).map(|at| (at % 250) as u8).collect();
    for (sampling, restart, length) in [
        (0x22, None, 9000),
        (0x21, None, 1),
        (0x22, Some(40), 9000),
        (0x21, Some(1), 1300),
    ] {
        let sent = image(sampling, restart, &scan[..length]);
        let cut = |data: &[u8]| {
            let mut packetizer = Packetizer::for_picture(Codec::Mjpeg, RANDOM_BYTES).expect("a form");
            let mut packets = Vec::new();
            packetizer.cut(Duration::ZERO, data, &mut packets).expect("cut");
            packets
        };
        let packets = cut(&sent);
        let [(_, image)] = &received(format, &packets)[..] else {
            panic!("one image")
        };
        assert_eq!(cut(image), packets, "the same tables and the same scan");
    }
}

#[test]
fn images_that_no_player_would_show_are_refused_in_words() {
    let good = image(0x22, None, &[1; 100]);
    let changed = |from: &[u8], to: &[u8]| {
        let at = good
            .windows(from.len())
            .position(|window| window == from)
            .expect("it is there");
        let mut image = good.clone();
        image[at..at + to.len()].copy_from_slice(to);
        image
    };
    for (image, words) in [
        (Vec::new(), "no JPEG image"),
        (good[..40].to_vec(), "no JPEG image"),
        (changed(&[0xff, 0xc0], &[0xff, 0xc2]), "no baseline"),
        (changed(&[1, 0x22, 0], &[1, 0x11, 0]), "sampled"),
        (changed(&[8, 1, 224, 2, 128], &[8, 1, 224, 8, 8]), "2040"),
        (changed(&[3, 0x11, 1], &[3, 0x11, 0]), "quantization"),
        (
            changed(&[0xff, 0xdb, 0, 67, 0], &[0xff, 0xdb, 0, 67, 16]),
            "quantization",
        ),
        (changed(&[0x10, 0, 2, 1, 3, 3], &[0x10, 0, 2, 1, 3, 2]), "Huffman"),
    ] {
        let mut packetizer = Packetizer::for_picture(Codec::Mjpeg, RANDOM_BYTES).expect("a form");
        let mut packets = Vec::new();
        let why = packetizer.cut(Duration::ZERO, &image, &mut packets).expect_err(words);
        assert!(why.contains(words) && packets.is_empty(), "{why}");
    }
    assert!(Packetizer::for_picture(Codec::Av1, RANDOM_BYTES).is_none());
    assert_eq!(describe(&info(Codec::Av1, &[]), None), None);
}

#[test]
fn any_bytes_are_cut_or_refused() {
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    for round in 0..2000_usize {
        let mut data: Vec<u8> = (0..round % 300).map(|_| next() & 3).collect();
        if round % 3 == 0 {
            drop(data.splice(0..0, [0xff, 0xd8, 0xff, 0xdb, 0, next()]));
        }
        for codec in [Codec::H264, Codec::H265, Codec::Mjpeg] {
            let mut packetizer = Packetizer::for_picture(codec, RANDOM_BYTES).expect("a form");
            let mut packets = Vec::new();
            let _ = packetizer.cut(Duration::ZERO, &data, &mut packets);
            assert!(packets.iter().all(|packet| packet.len() <= MAX_PACKET));
        }
    }
}

fn sound(codec: SoundCodec, channels: u16, samples_per_second: u32, parameters: &[u8]) -> SoundInfo {
    SoundInfo {
        codec,
        channels,
        samples_per_second,
        samples_per_frame: 0,
        parameters: parameters.to_vec(),
    }
}

#[test]
fn sound_of_each_codec_arrives_with_its_description() {
    // AAC-LC, 48 kHz, two channels; and what Opus says of itself.
    let (aac, opus) = ([0x11, 0x90], [1, 2, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0]);
    let rows = [
        (sound(SoundCodec::Aac, 2, 48_000, &aac), 97, 371),
        (sound(SoundCodec::Aac, 2, 48_000, &aac), 97, 6000),
        (sound(SoundCodec::Opus, 2, 48_000, &opus), 97, 160),
        (sound(SoundCodec::Ulaw, 1, 8_000, &[]), 0, 160),
        (sound(SoundCodec::Alaw, 1, 8_000, &[]), 8, 160),
        (sound(SoundCodec::Alaw, 2, 16_000, &[]), 97, 640),
    ];
    for (sent, payload_type, length) in rows {
        let picture = info(Codec::Mjpeg, &[]);
        let description = describe(&picture, Some(&sent)).expect("a form");
        let format = formats(&description)[1].clone();
        assert_eq!(format.payload_type, payload_type, "{description}");
        let mut depacketizer = SoundDepacketizer::new(&format).expect("it is carried");
        let told = depacketizer.info();
        assert_eq!(
            (told.codec, told.channels, told.samples_per_second),
            (sent.codec, sent.channels, sent.samples_per_second)
        );
        let data: Vec<u8> = (0..length).map(|at| (at % 253) as u8).collect();
        let mut packetizer = Packetizer::for_sound(&sent, RANDOM_BYTES).expect("a form");
        let mut packets = Vec::new();
        packetizer
            .cut(Duration::from_secs(1), &data, &mut packets)
            .expect("cut");
        for packet in &packets {
            depacketizer.push(&RtpPacket::parse(packet).expect("RTP"), false);
        }
        let unit = depacketizer.poll().expect("a packet of sound");
        assert_eq!(
            (unit.data, depacketizer.take_damage().units),
            (data, 0),
            "{description}"
        );
        assert_eq!(unit.timestamp, 0xffff_ff00_u32.wrapping_add(format.clock_rate));
    }
}

#[test]
fn sound_that_players_have_no_form_for_is_left_out() {
    let surround = sound(SoundCodec::Opus, 6, 48_000, &[1, 6, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 1]);
    assert!(Packetizer::for_sound(&surround, RANDOM_BYTES).is_none());
    let description = describe(&info(Codec::Mjpeg, &[]), Some(&surround)).expect("the picture has one");
    assert!(!description.contains("m=audio"), "{description}");
}

#[test]
fn a_report_ties_the_timestamp_to_the_time_of_capture() {
    let mut packetizer = Packetizer::for_picture(Codec::H264, RANDOM_BYTES).expect("a form");
    let mut packets = Vec::new();
    packetizer
        .cut(Duration::ZERO, &annex_b(&[unit(&[0x65, 0x88], 5000)]), &mut packets)
        .expect("cut");
    let captured = Duration::new(1_764_460_800, 500_000_000);
    let report = packetizer.report(Duration::from_secs(2), captured);
    let read: Vec<_> = sender_reports(&report).collect();
    let [read] = read[..] else { panic!("one report") };
    assert_eq!(read.source, 0x0102_0304);
    assert_eq!(read.timestamp, 0xffff_ff00_u32.wrapping_add(180_000));
    assert_eq!(read.ntp, ((1_764_460_800 + 2_208_988_800) << 32) | 1 << 31);
    assert_eq!(report.len() % 4, 0);
    assert_eq!(
        &report[20..28],
        [0, 0, 0, 4, 0, 0, 0x13, 0x8f],
        "4 packets, and 5007 bytes behind their headers"
    );
    assert_eq!(
        &report[28..],
        [
            0x81, 202, 0, 4, 1, 2, 3, 4, 1, 8, b's', b'e', b'a', b'l', b'c', b'a', b's', b't', 0, 0
        ]
    );
}

#[test]
fn payloads_can_be_shorter_and_come_to_ports_that_the_description_names() {
    let picture = annex_b(&[
        unit(&[0x67, 0x42], 20),
        unit(&[0x68, 0xce], 8),
        unit(&[0x65, 0x88], 5000),
    ]);
    let packetizer = Packetizer::for_picture(Codec::H264, RANDOM_BYTES).expect("H.264");
    let mut packets = Vec::new();
    let mut packetizer = packetizer.in_payloads_of(1200);
    packetizer
        .cut(Duration::ZERO, &picture, &mut packets)
        .expect("a picture");
    let lengths: Vec<usize> = packets.iter().map(|packet| packet.len() - HEADER).collect();
    assert_eq!((lengths.len(), lengths.iter().max()), (6, Some(&1200)));
    let address = "::1".parse().expect("an address");
    let text = describe_at(&info(Codec::H264, &[]), None, address, [5600, 0]).expect("H.264");
    assert_eq!(received(&formats(&text)[0], &packets)[0].1, picture);
    let medium = &MediaDescription::parse(text.as_bytes()).media[0];
    assert_eq!((medium.port, medium.address), (5600, Some(address)));
}
