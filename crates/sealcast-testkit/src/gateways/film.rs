//! Pictures and sound as numbered RTP packets, for tests of which packets may be dropped.

use super::Packet;

/// Pictures from one keyframe to the next.
const GROUP: usize = 30;
/// Time between two pictures at 90 kHz.
const INTERVAL: u32 = 3600;
/// Packets per picture.
pub const FRAGMENTS: usize = 5;

/// The first bytes of a codec's payloads: a keyframe's first packet and its others, then another picture's first
/// packet and its others.
fn heads(codec: &str) -> [&'static [u8]; 4] {
    match codec {
        "H264" => [
            &[0x7c, 0x85, 0x88],
            &[0x7c, 0x05, 0x11],
            &[0x5c, 0x81, 0x9a],
            &[0x5c, 0x01, 0x11],
        ],
        "H265" => [
            &[0x62, 1, 0x93, 0xaf],
            &[0x62, 1, 0x13, 0x11],
            &[0x62, 1, 0x81, 0xd0],
            &[0x62, 1, 0x01, 0x11],
        ],
        // In Motion JPEG, each picture is a keyframe.
        "JPEG" => [&[0, 0, 0, 0], &[0, 0, 5, 0x78], &[0, 0, 0, 0], &[0, 0, 5, 0x78]],
        other => panic!("no film of {other}"),
    }
}

/// A group of pictures on track 0, with a report and a packet of sound after each. `length`: bytes of each packet
/// without header and first bytes of the payload.
pub fn film(codec: &str, length: usize) -> Vec<Packet> {
    let [first, others, first_of_other, others_of_other] = heads(codec);
    let mut packets = Vec::new();
    let mut put = |channel: u8, picture: usize, head: &[u8]| {
        let number = (packets.len() as u16).to_be_bytes();
        let time = (picture as u32 * INTERVAL).to_be_bytes();
        let header = [&[0x80, 96][..], &number, &time, &[0, 0, 0, 3]].concat();
        packets.push((channel, [&header, head, &vec![7; length]].concat()));
    };
    for picture in 0..GROUP {
        for fragment in 0..FRAGMENTS {
            put(
                0,
                picture,
                match (picture, fragment) {
                    (0, 0) => first,
                    (0, _) => others,
                    (_, 0) => first_of_other,
                    _ => others_of_other,
                },
            );
        }
        put(1, picture, &[]);
        put(2, picture, &[]);
    }
    packets
}

/// The packet's number in its film.
pub fn number(packet: &Packet) -> usize {
    u16::from_be_bytes([packet.1[2], packet.1[3]]).into()
}
