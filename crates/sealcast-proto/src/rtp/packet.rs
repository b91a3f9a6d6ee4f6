//! One RTP packet (RFC 3550, section 5.1).

/// Length of the header without contributing sources and extension.
const HEADER: usize = 12;

/// An RTP packet, its padding removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtpPacket<'a> {
    /// Payload type, 0 to 127.
    pub payload_type: u8,
    /// Marker bit: of video the last packet of a picture, if the camera sets it rightly.
    pub marker: bool,
    /// Sequence number, which wraps.
    pub sequence: u16,
    /// Time in ticks of the format's clock, which wraps.
    pub timestamp: u32,
    /// Number of the synchronization source (SSRC).
    pub source: u32,
    /// Profile and content of the header extension, a multiple of 4 bytes.
    pub extension: Option<(u16, &'a [u8])>,
    /// Payload; it may be empty.
    pub payload: &'a [u8],
}

impl<'a> RtpPacket<'a> {
    /// Parses a packet. Returns `None` if it is not RTP of version 2, or shorter than it says. Padding that is longer
    /// than the packet leaves no payload.
    pub fn parse(packet: &'a [u8]) -> Option<Self> {
        let (head, mut rest) = packet.split_first_chunk::<HEADER>()?;
        let [first, second, s0, s1, t0, t1, t2, t3, source @ ..] = *head;
        if first >> 6 != 2 {
            return None;
        }
        rest = rest.get(4 * usize::from(first & 0x0f)..)?;
        let mut extension = None;
        if first & 0x10 != 0 {
            let ([p0, p1, w0, w1], after) = rest.split_first_chunk::<4>()?;
            let words = usize::from(u16::from_be_bytes([*w0, *w1]));
            let (content, after) = after.split_at_checked(4 * words)?;
            extension = Some((u16::from_be_bytes([*p0, *p1]), content));
            rest = after;
        }
        if first & 0x20 != 0 {
            let padding = rest.last().map_or(0, |length| usize::from(*length));
            rest = &rest[..rest.len().saturating_sub(padding)];
        }
        Some(Self {
            payload_type: second & 0x7f,
            marker: second & 0x80 != 0,
            sequence: u16::from_be_bytes([s0, s1]),
            timestamp: u32::from_be_bytes([t0, t1, t2, t3]),
            source: u32::from_be_bytes(source),
            extension,
            payload: rest,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_with_all_its_parts_is_taken_apart() {
        let packet = [
            &[0xb1, 0xe0, 0x12, 0x34, 0, 0, 1, 0, 9, 8, 7, 6][..],
            &[1, 1, 1, 1],
            &[0xab, 0xac, 0, 1, 5, 5, 5, 5],
            b"payload",
            &[0, 0, 3],
        ]
        .concat();
        let parsed = RtpPacket::parse(&packet).expect("RTP");
        let expected = RtpPacket {
            payload_type: 96,
            marker: true,
            sequence: 0x1234,
            timestamp: 256,
            source: 0x0908_0706,
            extension: Some((0xabac, &[5; 4])),
            payload: b"payload",
        };
        assert_eq!(parsed, expected);
    }

    #[test]
    fn what_is_shorter_than_it_says_is_refused() {
        let whole = [&[0x91, 96][..], &[0; 10], &[1; 4], &[0xab, 0xac, 0, 1, 5, 5, 5, 5]].concat();
        assert!(RtpPacket::parse(&whole).is_some_and(|packet| packet.payload.is_empty()));
        for length in 0..whole.len() {
            assert_eq!(RtpPacket::parse(&whole[..length]), None, "{length} bytes");
        }
        assert_eq!(RtpPacket::parse(&[0x40; 20]), None, "version 1");
        let padded = [&[0xa0, 96][..], &[0; 10], &[7, 200]].concat();
        assert!(RtpPacket::parse(&padded).is_some_and(|packet| packet.payload.is_empty()));
    }
}
