//! The packets of the group of pictures that a camera is in, for subscribers that join in the middle of it.

use bytes::Bytes;
use sealcast_proto::rtsp::{Channel, Keyframes, MAX_TRACKS, Track};

/// Most packets of a track that are kept: three quarters of a subscriber's queue, which also takes what follows.
const MAX_KEPT_PACKETS: usize = 1536;
/// Most bytes of a track that are kept: half of a subscriber's queue.
const MAX_KEPT_BYTES: usize = 4 << 20;
/// Several packets begin a keyframe: each of its parameter sets, and its first slice. So many belong to one keyframe.
const BEGINNING: usize = 4;
/// Place of the timestamp in an RTP packet (RFC 3550, section 5.1).
const TIMESTAMP: std::ops::Range<usize> = 4..8;
/// Kept pictures follow one another this many times as fast, as powers of two: 10 s become 40 ms.
const FASTER: u32 = 8;

/// The packets since the last keyframe of each video track. They keep the memory in use in which they came.
#[derive(Default)]
pub(super) struct KeptPackets {
    tracks: [KeptTrack; MAX_TRACKS as usize],
}

#[derive(Default)]
struct KeptTrack {
    /// Timestamp of the last packet.
    last: u32,
    packets: Vec<Bytes>,
    /// Bytes of memory that they keep in use.
    bytes: usize,
}

fn timestamp(packet: &[u8]) -> Option<u32> {
    let bytes = packet.get(TIMESTAMP)?.try_into().ok()?;
    Some(u32::from_be_bytes(bytes))
}

impl KeptPackets {
    /// Takes the next packet of a camera. `memory` are the bytes that it keeps in use and no packet kept before; they
    /// are taken if the packet is kept.
    pub(super) fn take(&mut self, channel: Channel, packet: Bytes, memory: &mut usize, keyframes: &Keyframes) {
        if channel.rtcp || !keyframes.tracks().contains(channel.track) {
            return;
        }
        let begins = keyframes.begins(channel, &packet);
        self.tracks[channel.track.index()].take(packet, memory, begins);
    }

    /// Forgets everything: what follows does not continue it.
    pub(super) fn clear(&mut self) {
        self.tracks.iter_mut().for_each(KeptTrack::clear);
    }

    /// Number of packets and bytes of a track's group of pictures so far.
    pub(super) fn size(&self, track: Track) -> (usize, usize) {
        let track = &self.tracks[track.index()];
        (track.packets.len(), track.bytes)
    }

    /// The packets of a track's group of pictures so far; none if there is no such group. Their timestamps lie so close
    /// before that of the newest that a player shows them at once, and does not stay behind by their age.
    pub(super) fn packets(&self, track: Track) -> impl Iterator<Item = Bytes> + '_ {
        let track = &self.tracks[track.index()];
        track.packets.iter().map(|packet| track.moved(packet))
    }
}

impl KeptTrack {
    fn take(&mut self, packet: Bytes, memory: &mut usize, begins: bool) {
        let Some(at) = timestamp(&packet) else { return };
        if begins && self.packets.len() > BEGINNING {
            self.clear();
        }
        if self.packets.is_empty() && !begins {
            return;
        }
        if self.packets.len() >= MAX_KEPT_PACKETS || self.bytes + *memory > MAX_KEPT_BYTES {
            return self.clear();
        }
        self.last = at;
        self.bytes += std::mem::take(memory);
        self.packets.push(packet);
    }

    fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    fn moved(&self, packet: &[u8]) -> Bytes {
        let mut packet = packet.to_vec();
        if let (Some(at), Some(place)) = (timestamp(&packet), packet.get_mut(TIMESTAMP)) {
            // Pictures that are shown later than the last packet's keep their distance.
            let before = self.last.wrapping_sub(at).cast_signed();
            let moved = self.last.wrapping_sub((before >> FASTER).cast_unsigned());
            place.copy_from_slice(&moved.to_be_bytes());
        }
        packet.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SDP: &[u8] = b"v=0\nm=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\nm=audio 0 RTP/AVP 0\n";
    const SPS: &[u8] = &[0x67, 0x42];
    const PPS: &[u8] = &[0x68, 0xce];
    const IDR: &[u8] = &[0x65, 0x88];
    const OTHER: &[u8] = &[0x41, 0x9a];

    fn rtp(timestamp: u32, payload: &[u8]) -> Vec<u8> {
        let head = [0x80, 96, 0, 1];
        [&head[..], &timestamp.to_be_bytes(), &[0, 0, 0, 3], payload].concat()
    }

    struct Camera {
        kept: KeptPackets,
        keyframes: Keyframes,
    }

    impl Camera {
        fn new() -> Self {
            Self {
                kept: KeptPackets::default(),
                keyframes: Keyframes::of_description(SDP),
            }
        }

        fn sends(&mut self, channel: u8, timestamp: u32, payload: &[u8]) {
            let channel = Channel::from_number(channel).expect("a channel");
            let packet = Bytes::from(rtp(timestamp, payload));
            self.kept
                .take(channel, packet.clone(), &mut packet.len(), &self.keyframes);
        }

        fn kept(&self) -> Vec<Vec<u8>> {
            let track = Track::new(0).expect("a track");
            self.kept.packets(track).map(|packet| packet.to_vec()).collect()
        }
    }

    #[test]
    fn the_group_so_far_is_kept_with_its_parameters_and_no_other_channel() {
        let mut camera = Camera::new();
        camera.sends(0, 100, OTHER);
        assert!(camera.kept().is_empty());
        for payload in [SPS, PPS, IDR] {
            camera.sends(0, 3700, payload);
        }
        camera.sends(1, 3700, OTHER);
        camera.sends(2, 3700, OTHER);
        let keyframe = [SPS, PPS, IDR].map(|payload| rtp(3700, payload));
        assert_eq!(camera.kept(), keyframe);
        camera.sends(0, 7300, OTHER);
        camera.sends(0, 10_900, OTHER);
        camera.sends(0, 14_500, IDR);
        assert_eq!(camera.kept(), [rtp(14_500, IDR)]);
        camera.kept.clear();
        camera.sends(0, 18_100, OTHER);
        assert!(camera.kept().is_empty(), "what follows continues nothing");
    }

    #[test]
    fn pictures_come_in_their_order_and_close_before_the_newest() {
        let mut camera = Camera::new();
        // Timestamps wrap.
        let times = [0u32, 3600, 7200, 10_800].map(|step| step.wrapping_sub(5000));
        for (number, time) in times.into_iter().enumerate() {
            camera.sends(0, time, if number == 0 { IDR } else { OTHER });
        }
        let newest = times[3];
        let moved: Vec<_> = camera
            .kept()
            .iter()
            .map(|packet| newest.wrapping_sub(timestamp(packet).expect("a header")))
            .collect();
        assert_eq!(moved, [42, 28, 14, 0]);
    }

    #[test]
    fn a_group_that_is_too_long_is_not_kept_and_the_next_one_is() {
        let mut camera = Camera::new();
        camera.sends(0, 1, IDR);
        for time in 0..MAX_KEPT_PACKETS as u32 {
            camera.sends(0, 2 + time, OTHER);
        }
        assert!(camera.kept().is_empty());
        camera.sends(0, 5000, IDR);
        assert_eq!(camera.kept().len(), 1);
        let large = [OTHER, &vec![0; MAX_KEPT_BYTES]].concat();
        camera.sends(0, 5001, &large);
        assert!(camera.kept().is_empty());
    }

    #[test]
    fn packets_that_are_cut_short_do_no_harm() {
        let mut camera = Camera::new();
        camera.sends(0, 1, IDR);
        let whole = rtp(2, OTHER);
        for length in 0..whole.len() {
            let channel = Channel::from_number(0).expect("a channel");
            let packet = Bytes::copy_from_slice(&whole[..length]);
            camera.kept.take(channel, packet, &mut { length }, &camera.keyframes);
        }
        assert!(camera.kept().len() > 1);
    }
}
