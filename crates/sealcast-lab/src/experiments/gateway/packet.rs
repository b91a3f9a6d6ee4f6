//! RTP packets that contain their send time. They are valid H.264 (RFC 6184), so that programs on the way may split
//! and reassemble them. No bytes in them look like a start code.

use std::time::Instant;

/// Bytes of an RTP header without extensions (RFC 3550).
const RTP_HEADER: usize = 12;
/// The dynamic payload type in the camera's SDP.
const PAYLOAD_TYPE: u8 = 96;
/// NAL unit headers of slices, sent as a single packet or in fragments (FU-A): of a keyframe, and of another picture.
const KEYFRAME_SLICE: u8 = 0x65;
const SLICE: u8 = 0x41;
const FRAGMENT: u8 = 0x5c;
/// Stamps are written one nibble per byte, with this bit set, so that no zero bytes occur.
const NIBBLE: u8 = 0x80;
const NIBBLES: usize = 16;
const FILLER: u8 = 0x5a;
/// Ticks of the RTP clock per second.
const CLOCK: u128 = 90_000;

/// A frame to be sent as packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Number of packets, at least 1.
    pub(super) packets: usize,
    /// Bytes of each packet, RTP header included, interleaving header not.
    pub(super) bytes: usize,
    /// Send time in nanoseconds of the measurement's clock.
    pub(super) stamp: u64,
}

impl Frame {
    /// A frame that is sent now.
    pub(super) fn now(packets: usize, bytes: usize, epoch: Instant) -> Self {
        Self {
            packets,
            bytes,
            stamp: since(epoch),
        }
    }

    /// Appends packet number `at` of this frame to `out`; `sequence` counts the camera's packets.
    pub(super) fn put(&self, out: &mut Vec<u8>, at: usize, sequence: u16, keyframe: bool) {
        let slice = if keyframe { KEYFRAME_SLICE } else { SLICE };
        let end = out.len() + self.bytes;
        let last = at + 1 == self.packets;
        let time = (u128::from(self.stamp) * CLOCK / 1_000_000_000) as u32;
        out.extend_from_slice(&[0x80, PAYLOAD_TYPE | u8::from(last) << 7]);
        out.extend_from_slice(&sequence.to_be_bytes());
        out.extend_from_slice(&time.to_be_bytes());
        out.extend_from_slice(b"lab0");
        if self.packets == 1 {
            out.push(slice);
        } else {
            let ends = u8::from(at == 0) << 7 | u8::from(last) << 6;
            out.extend_from_slice(&[FRAGMENT, ends | slice & 0x1f]);
        }
        let nibble = |at: usize| NIBBLE | (self.stamp >> (4 * at)) as u8 & 0xf;
        out.extend((0..NIBBLES).map(nibble));
        out.resize(end, FILLER);
    }
}

/// Nanoseconds since `epoch`.
pub(super) fn since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// The content of a packet, as the receiver reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// Send time of its frame. `None` in packets that a server cut differently from the camera.
    pub(super) stamp: Option<u64>,
    /// True if it is the last packet of its frame.
    pub(super) last: bool,
}

/// Reads a packet; `None` if it is not one of ours.
pub(super) fn read(packet: &[u8]) -> Option<Seen> {
    let kind = packet.get(1)?;
    if packet[0] >> 6 != 2 || kind & 0x7f != PAYLOAD_TYPE || packet.len() < RTP_HEADER + 2 {
        return None;
    }
    let header = if packet[RTP_HEADER] & 0x1f == FRAGMENT & 0x1f {
        2
    } else {
        1
    };
    let letters = packet.get(RTP_HEADER + header..RTP_HEADER + header + NIBBLES);
    let letters = letters.filter(|letters| letters.iter().all(|letter| letter & 0xf0 == NIBBLE));
    let stamp = letters.map(|letters| {
        letters
            .iter()
            .rfold(0, |all, &letter| all << 4 | u64::from(letter & 0xf))
    });
    Some(Seen {
        stamp,
        last: kind >> 7 == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_comes_out_of_a_packet_as_it_went_in() {
        for (packets, stamp) in [(1, 0), (1, u64::MAX), (17, 0x0123_4567_89ab_cdef)] {
            let frame = Frame {
                packets,
                bytes: 1200,
                stamp,
            };
            for at in 0..packets {
                let mut packet = Vec::new();
                frame.put(&mut packet, at, 7, stamp == 0);
                assert_eq!(packet.len(), 1200);
                let seen = Seen {
                    stamp: Some(stamp),
                    last: at + 1 == packets,
                };
                assert_eq!(read(&packet), Some(seen));
                assert!(!packet[RTP_HEADER..].windows(3).any(|bytes| bytes == [0, 0, 1]));
            }
        }
    }

    #[test]
    fn what_is_cut_otherwise_has_no_stamp_and_reports_are_none_of_ours() {
        let mut packet = vec![0x80, PAYLOAD_TYPE, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, FRAGMENT, 1];
        packet.resize(1200, FILLER);
        let unstamped = Seen {
            stamp: None,
            last: false,
        };
        assert_eq!(read(&packet), Some(unstamped));
        assert_eq!(read(&[0x80, 200, 0, 6]), None, "a sender report");
        assert_eq!(read(&[]), None);
    }
}
