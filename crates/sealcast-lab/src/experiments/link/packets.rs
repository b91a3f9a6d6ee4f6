//! Splits frames into packets and reassembles them, for systems that carry packets.

use std::collections::BTreeMap;

use super::load::{Row, STAMP_LEN, Stamp};

/// Payload of a packet: seven packets of an MPEG transport stream, as is usual with SRT.
pub(super) const PAYLOAD: usize = 1316;
/// Header in each packet's payload: index and count, then the stamp.
const HEADER: usize = 4 + STAMP_LEN;
/// Bytes of media in one packet. The header takes about as much as the headers of a transport stream would.
const MEDIA: usize = PAYLOAD - HEADER;
/// Length of an RTP header without extensions.
const RTP: usize = 12;
/// Most incomplete frames held.
const MAX_OPEN: usize = 256;

/// Splits frames into packets.
pub(super) struct Cutter {
    rtp: bool,
    sequence: u16,
    buffer: Vec<u8>,
}

impl Cutter {
    /// `rtp`: put an RTP header before each packet.
    pub(super) fn new(rtp: bool) -> Self {
        Self {
            rtp,
            sequence: 0,
            buffer: Vec::new(),
        }
    }

    /// A packet outside any frame, which tests if the path is open.
    pub(super) fn hello(&mut self) -> &[u8] {
        self.packet(0, 0, &[0; STAMP_LEN], 0)
    }

    /// Splits a frame of `size` bytes into packets and gives each to `send`.
    pub(super) fn cut(&mut self, stamp: Stamp, size: usize, mut send: impl FnMut(&[u8])) {
        let count = size.div_ceil(MEDIA);
        let bytes = stamp.to_bytes();
        for index in 0..count {
            let media = (size - index * MEDIA).min(MEDIA);
            send(self.packet(index as u16, count as u16, &bytes, media));
        }
    }

    fn packet(&mut self, index: u16, count: u16, stamp: &[u8], media: usize) -> &[u8] {
        self.buffer.clear();
        if self.rtp {
            // Version 2, dynamic payload type 96, and the marker on a frame's last packet.
            let marker = if index + 1 == count { 0x80 } else { 0 };
            self.buffer.extend_from_slice(&[0x80, 96 | marker]);
            self.buffer.extend_from_slice(&self.sequence.to_be_bytes());
            self.buffer.resize(RTP, 0);
            self.sequence = self.sequence.wrapping_add(1);
        }
        self.buffer.extend_from_slice(&index.to_be_bytes());
        self.buffer.extend_from_slice(&count.to_be_bytes());
        self.buffer.extend_from_slice(stamp);
        self.buffer.resize(self.buffer.len() + media, 0);
        &self.buffer
    }
}

struct Open {
    have: Vec<bool>,
    missing: usize,
    bytes: usize,
}

/// Collects packets until frames are complete. Complete frames stay, so that duplicates do not complete them twice.
pub(super) struct Joiner {
    rtp: bool,
    frames: BTreeMap<u32, Open>,
}

impl Joiner {
    pub(super) fn new(rtp: bool) -> Self {
        Self {
            rtp,
            frames: BTreeMap::new(),
        }
    }

    /// Handles a packet that came at `now`; returns the frame that it completes.
    pub(super) fn take(&mut self, packet: &[u8], now: u64) -> Option<Row> {
        let packet = packet.get(if self.rtp { RTP } else { 0 }..)?;
        let (index, rest) = packet.split_first_chunk()?;
        let (count, rest) = rest.split_first_chunk()?;
        let (index, count) = (
            usize::from(u16::from_be_bytes(*index)),
            usize::from(u16::from_be_bytes(*count)),
        );
        let stamp = Stamp::parse(rest).filter(|_| count > 0)?;
        let open = self.frames.entry(stamp.number).or_insert_with(|| Open {
            have: vec![false; count],
            missing: count,
            bytes: 0,
        });
        let have = open.have.get_mut(index).filter(|have| !**have)?;
        *have = true;
        open.missing -= 1;
        open.bytes += rest.len() - STAMP_LEN;
        let whole = open.missing == 0;
        let bytes = open.bytes;
        if self.frames.len() > MAX_OPEN {
            self.frames.pop_first();
        }
        whole.then_some(Row {
            number: stamp.number,
            keyframe: stamp.keyframe,
            bytes,
            sent_ns: stamp.sent,
            received_ns: now,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packets(cutter: &mut Cutter, number: u32, size: usize) -> Vec<Vec<u8>> {
        let stamp = Stamp {
            number,
            keyframe: false,
            sent: 5,
        };
        let mut packets = Vec::new();
        cutter.cut(stamp, size, |packet| packets.push(packet.to_vec()));
        packets
    }

    #[test]
    fn a_frame_is_whole_with_its_last_packet_in_any_order() {
        for rtp in [false, true] {
            let (mut cutter, mut joiner) = (Cutter::new(rtp), Joiner::new(rtp));
            assert_eq!(joiner.take(cutter.hello(), 1), None);
            let mut packets = packets(&mut cutter, 3, 2 * MEDIA + 1);
            assert_eq!(packets.len(), 3);
            assert!(packets.iter().all(|packet| packet.len() <= PAYLOAD + RTP));
            packets.reverse();
            packets.insert(1, packets[0].clone());
            let (last, before) = packets.split_last().expect("four");
            assert!(before.iter().all(|packet| joiner.take(packet, 1).is_none()));
            let row = joiner.take(last, 9).expect("whole");
            assert_eq!(
                (row.number, row.bytes, row.sent_ns, row.received_ns),
                (3, 2 * MEDIA + 1, 5, 9)
            );
            assert_eq!(joiner.take(last, 10), None, "a repetition");
        }
    }

    #[test]
    fn a_frame_that_lacks_a_packet_is_never_whole() {
        let (mut cutter, mut joiner) = (Cutter::new(false), Joiner::new(false));
        let packets = packets(&mut cutter, 0, 5 * MEDIA);
        assert!(packets[..4].iter().all(|packet| joiner.take(packet, 1).is_none()));
    }
}
