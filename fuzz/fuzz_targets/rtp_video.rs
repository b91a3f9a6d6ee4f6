//! RTP packets of a picture's track, of any content: each depacketizer hands out bounded units of the form that it
//! promises, and after whatever came a whole picture comes out again.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtp::{Depacketizer, Format, MAX_PICTURE, MAX_PIECES, RtpPacket, Unit};
use sealcast_proto::unit::find_start_code;

/// Most times that a payload is repeated, which long pictures need.
const REPEATS: u8 = 64;

#[derive(Debug, Arbitrary)]
struct Plan {
    parameters: String,
    size: Option<(u16, u16)>,
    packets: Vec<Packet>,
}

#[derive(Debug, Arbitrary)]
struct Packet {
    /// Added to the time before.
    later: u8,
    marker: bool,
    lost: bool,
    payload: Vec<u8>,
    /// Bytes that are added to the payload.
    fill: u16,
    repeats: u8,
    extension: Option<(u16, Vec<u8>)>,
}

/// Two pictures of each kind, of one packet each; the first ends what was under way.
const PICTURES: [(&str, [&[u8]; 2]); 3] = [
    ("h264", [&[0x65, 0x88, 1], &[0x65, 0x88, 2]]),
    ("h265", [&[0x26, 0x01, 0xaf, 1], &[0x26, 0x01, 0xaf, 2]]),
    ("jpeg", [&[0, 0, 0, 0, 1, 50, 8, 8, 1], &[0, 0, 0, 0, 1, 50, 8, 8, 2]]),
];

fuzz_target!(|plan: Plan| {
    for (encoding, pictures) in PICTURES {
        let format = Format {
            encoding: encoding.to_owned(),
            parameters: plan.parameters.clone(),
            ..Format::default()
        };
        let mut depacketizer = Depacketizer::of(&format, plan.size).expect("a known encoding");
        assert!(depacketizer.parameter_sets().iter().all(|set| !set.is_empty()));
        let mut time = 0_u32;
        for packet in &plan.packets {
            time = time.wrapping_add(u32::from(packet.later));
            push(&mut depacketizer, packet, time, encoding);
        }
        // Numbers before units cannot be in these pictures.
        if plan.parameters.to_ascii_lowercase().contains("sprop") {
            continue;
        }
        let mut last = None;
        for (at, payload) in (1..).zip(pictures.iter().chain(&pictures)) {
            depacketizer.push(&picture(time.wrapping_add(at), payload), false);
            while let Some(unit) = depacketizer.poll() {
                last = Some(unit);
            }
        }
        // It may wait for the next one, where markers are not to be trusted.
        let last = last.expect("a picture").timestamp.wrapping_sub(time);
        assert!(last == 3 || last == 4, "picture {last}");
    }
});

fn push(depacketizer: &mut Depacketizer, packet: &Packet, time: u32, encoding: &str) {
    let mut payload = packet.payload.clone();
    payload.resize(payload.len() + usize::from(packet.fill), 0x55);
    let extension = packet.extension.as_ref();
    let content = RtpPacket {
        marker: packet.marker,
        extension: extension.map(|(profile, content)| (*profile, &content[..])),
        ..picture(time, &payload)
    };
    for _ in 0..=packet.repeats % REPEATS {
        depacketizer.push(&content, packet.lost);
        let mut units = 0;
        while let Some(unit) = depacketizer.poll() {
            check(&unit, encoding);
            units += 1;
        }
        assert!(units <= 128, "{units} units of a packet");
    }
    let damage = depacketizer.take_damage();
    assert_eq!(damage.units > 0, damage.reason.is_some());
}

fn picture(timestamp: u32, payload: &[u8]) -> RtpPacket<'_> {
    RtpPacket {
        payload_type: 96,
        marker: true,
        sequence: 0,
        timestamp,
        source: 1,
        extension: None,
        payload,
    }
}

fn check(unit: &Unit, encoding: &str) {
    assert!(unit.data.len() <= MAX_PICTURE);
    if encoding == "jpeg" {
        assert!(unit.data.starts_with(&[0xff, 0xd8]) && unit.data.ends_with(&[0xff, 0xd9]));
        return;
    }
    assert!(unit.data.starts_with(&[0, 0, 0, 1]));
    let starts = std::iter::successors(find_start_code(&unit.data, 0), |at| find_start_code(&unit.data, at + 3));
    let mut count = 0;
    for at in starts {
        assert_eq!(unit.data[at - 1], 0, "start codes have four bytes");
        assert!(unit.data.len() > at + 3, "a unit has bytes");
        count += 1;
    }
    assert!((1..=MAX_PIECES).contains(&count));
}
