//! RTP packets that say when they left. They pass for H.264 (RFC 6184), so that others may take them apart and put
//! them together again; no bytes in them look like a start code.

use std::time::Instant;

/// Bytes of an RTP header without extensions (RFC 3550).
const RTP_HEADER: usize = 12;
/// The dynamic payload type that the camera's description names.
const PAYLOAD_TYPE: u8 = 96;
/// A slice of a picture, alone in its packet or (FU-A) in several.
const SLICE: u8 = 0x41;
const FRAGMENT: u8 = 0x5c;
/// What stamps are written with: a nibble in a byte.
const NIBBLE: u8 = 0x80;
const NIBBLES: usize = 16;
const FILLER: u8 = 0x5a;
/// Ticks of the RTP clock in a second.
const CLOCK: u128 = 90_000;

/// A frame on its way into packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// How many packets it has, at least 1.
    pub(super) packets: usize,
    /// Bytes of each, the RTP header included, but not those of interleaving.
    pub(super) bytes: usize,
    /// When it left: nanoseconds of the course's clock.
    pub(super) stamp: u64,
}

impl Frame {
    /// A frame that leaves now.
    pub(super) fn now(packets: usize, bytes: usize, epoch: Instant) -> Self {
        Self {
            packets,
            bytes,
            stamp: since(epoch),
        }
    }

    /// Append the packet `at` of this frame; `sequence` counts the camera's packets.
    pub(super) fn put(&self, out: &mut Vec<u8>, at: usize, sequence: u16) {
        let end = out.len() + self.bytes;
        let last = at + 1 == self.packets;
        let time = (u128::from(self.stamp) * CLOCK / 1_000_000_000) as u32;
        out.extend_from_slice(&[0x80, PAYLOAD_TYPE | u8::from(last) << 7]);
        out.extend_from_slice(&sequence.to_be_bytes());
        out.extend_from_slice(&time.to_be_bytes());
        out.extend_from_slice(b"lab0");
        if self.packets == 1 {
            out.push(SLICE);
        } else {
            let ends = u8::from(at == 0) << 7 | u8::from(last) << 6;
            out.extend_from_slice(&[FRAGMENT, ends | SLICE & 0x1f]);
        }
        let nibble = |at: usize| NIBBLE | (self.stamp >> (4 * at)) as u8 & 0xf;
        out.extend((0..NIBBLES).map(nibble));
        out.resize(end, FILLER);
    }
}

/// Nanoseconds since then.
pub(super) fn since(epoch: Instant) -> u64 {
    u64::try_from(epoch.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// What a packet tells who receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// When its frame left. None in what a server cut otherwise than the camera did.
    pub(super) stamp: Option<u64>,
    /// Whether it is its frame's last.
    pub(super) last: bool,
}

/// Read a packet; `None` if it is none of ours.
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
                frame.put(&mut packet, at, 7);
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
