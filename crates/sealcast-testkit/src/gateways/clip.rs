//! A clip as the packets of a camera. Every picture and every packet of sound tells by its bytes which one it is, so
//! that a test can say what came out of it, in what order and how often.

use super::Packet;

/// Pictures of a clip: fewer than a queue for a viewer holds.
pub const PICTURES: usize = 50;
/// Pictures from keyframe to keyframe.
pub const GROUP: usize = 10;
/// Time between two pictures at 90 kHz.
pub const INTERVAL: u32 = 3600;
/// Payload type of the picture, and sources of picture and sound.
pub const PICTURE_TYPE: u8 = 96;
const SOURCES: [u32; 2] = [0x1122_3344, 0x5566_7788];
/// Numbers and stamps with which picture and sound begin.
const FIRST: [(u16, u32); 2] = [(1000, 90_000), (5000, 8000)];
/// Packets of sound for each picture, and samples of each at 8 kHz.
const SOUNDS: usize = 2;
const SAMPLES: u32 = 160;
/// Longest payload of a packet that is not told otherwise.
const LONGEST: usize = 1200;

/// Parameter sets of 640x480 pixels.
const SETS: [&[u8]; 2] = [
    &[
        0x67, 0x42, 0xc0, 0x1e, 0xd9, 0x00, 0xa0, 0x3d, 0xa1, 0x00, 0x00, 0x03, 0x00, 0x01, 0x00, 0x00, 0x03, 0x00,
        0x32, 0x0f, 0x16, 0x2e, 0x48,
    ],
    &[0x68, 0xcb, 0x83, 0xcb, 0x20],
];
/// Parameter sets of 320x240 pixels, as an encoder made them.
const SMALL_SETS: [&[u8]; 2] = [
    &[
        0x67, 0x42, 0xc0, 0x0d, 0xd9, 0x01, 0x41, 0xfb, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00, 0x03,
        0x03, 0x20, 0xf1, 0x42, 0xa4, 0x80,
    ],
    &[0x68, 0xcb, 0x83, 0xcb, 0x20],
];
/// Parameter sets of 320x240 pixels, as an encoder made them.
const H265_SETS: [&[u8]; 3] = [
    &[
        0x40, 0x01, 0x0c, 0x01, 0xff, 0xff, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00,
        0x03, 0x00, 0x3c, 0xba, 0x02, 0x40,
    ],
    &[
        0x42, 0x01, 0x01, 0x01, 0x60, 0x00, 0x00, 0x03, 0x00, 0x90, 0x00, 0x00, 0x03, 0x00, 0x00, 0x03, 0x00, 0x3c,
        0xa0, 0x0a, 0x08, 0x0f, 0x16, 0x5b, 0xa4, 0xa4, 0xc2, 0xf0, 0x16, 0x80, 0x80, 0x00, 0x00, 0x03, 0x00, 0x80,
        0x00, 0x00, 0x0c, 0x84,
    ],
    &[0x44, 0x01, 0xc0, 0x73, 0xc1, 0x89],
];

/// The picture of a description.
const H264: &str = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n\
    a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=,aMuDyyA=\r\n";
const H265: &str = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 H265/90000\r\n";
const JPEG: &str = "m=video 0 RTP/AVP 96\r\na=rtpmap:96 JPEG/90000\r\n";
const SOUND: &str = "m=audio 0 RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=control:streamid=1\r\n";

/// Format in which a picture is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// H.264: slices of access units.
    H264,
    /// H.265, as H.264.
    H265,
    /// Motion JPEG: the coded data of images.
    Jpeg,
}

/// A packet before it is bytes.
#[derive(Clone, Debug, Default)]
pub struct Rtp {
    /// The number of the track: 0 for the picture, 1 for the sound.
    pub track: u8,
    /// The packet is a report: its payload is all of it.
    pub report: bool,
    /// Number of the picture beside which it is sent.
    pub picture: usize,
    /// Payload type.
    pub payload_type: u8,
    /// The marker bit.
    pub marker: bool,
    /// Sequence number.
    pub number: u16,
    /// Timestamp.
    pub stamp: u32,
    /// SSRC.
    pub source: u32,
    /// A header extension, with its own header of four bytes, or nothing.
    pub extension: Vec<u8>,
    /// Bytes of padding.
    pub padding: u8,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Rtp {
    /// Its channel and bytes.
    pub fn to_packet(&self) -> Packet {
        let channel = self.track * 2 + u8::from(self.report);
        if self.report {
            return (channel, self.payload.clone());
        }
        let flags = u8::from(self.padding > 0) << 5 | u8::from(!self.extension.is_empty()) << 4;
        let mut bytes = vec![0x80 | flags, self.payload_type | u8::from(self.marker) << 7];
        bytes.extend_from_slice(&self.number.to_be_bytes());
        bytes.extend_from_slice(&self.stamp.to_be_bytes());
        bytes.extend_from_slice(&self.source.to_be_bytes());
        bytes.extend_from_slice(&self.extension);
        bytes.extend_from_slice(&self.payload);
        if let Some(zeros) = self.padding.checked_sub(1) {
            bytes.resize(bytes.len() + usize::from(zeros), 0);
            bytes.push(self.padding);
        }
        (channel, bytes)
    }

    /// True for a packet of the picture.
    pub fn is_picture(&self) -> bool {
        self.track == 0 && !self.report
    }
}

/// A payload, and whether the packet has the marker.
pub type Payload = (Vec<u8>, bool);

/// A clip.
#[derive(Clone, Debug)]
pub struct Clip {
    /// Format of its pictures.
    pub codec: Codec,
    /// The description of its tracks.
    pub description: String,
    /// Packets in the order in which they are sent.
    pub packets: Vec<Rtp>,
    /// The slices, or the coded data, of each picture.
    pub pictures: Vec<Vec<Vec<u8>>>,
}

impl Clip {
    /// A clip of these units of each picture, in these payloads.
    pub fn of(codec: Codec, units: fn(usize) -> Vec<Vec<u8>>, pack: fn(&[Vec<u8>]) -> Vec<Payload>) -> Self {
        let video = match codec {
            Codec::H264 => H264,
            Codec::H265 => H265,
            Codec::Jpeg => JPEG,
        };
        let mut clip = Self {
            codec,
            description: format!(
                "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=cam\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\na=control:*\r\n\
                 {video}a=control:streamid=0\r\n{SOUND}"
            ),
            packets: Vec::new(),
            pictures: Vec::new(),
        };
        for picture in 0..PICTURES {
            let units = units(picture);
            clip.put(picture, pack(&units));
            let shown = units.into_iter().filter(|unit| codec.is_shown(unit));
            clip.pictures.push(shown.collect());
        }
        clip.numbered()
    }

    fn put(&mut self, picture: usize, payloads: Vec<Payload>) {
        let of = |track: u8, at: usize, step: u32| Rtp {
            track,
            picture,
            payload_type: PICTURE_TYPE * u8::from(track == 0),
            stamp: FIRST[usize::from(track)].1 + at as u32 * step,
            source: SOURCES[usize::from(track)],
            ..Rtp::default()
        };
        let image = of(0, picture, INTERVAL);
        if picture.is_multiple_of(20) {
            let sound = of(1, picture * SOUNDS, SAMPLES);
            self.packets.extend([&image, &sound].map(report));
        }
        self.packets.extend(payloads.into_iter().map(|(payload, marker)| Rtp {
            payload,
            marker,
            ..image.clone()
        }));
        for at in picture * SOUNDS..(picture + 1) * SOUNDS {
            let payload = filled(&[0x80 | (at % 128) as u8], at, SAMPLES as usize);
            self.packets.push(Rtp {
                payload,
                ..of(1, at, SAMPLES)
            });
        }
    }

    /// Shows the same pictures so many times, with numbers and stamps that go on, and reports in the first time alone.
    #[must_use]
    pub fn repeated(mut self, times: usize) -> Self {
        let once = self.packets.clone();
        for time in 1..times {
            let later = once.iter().filter(|packet| !packet.report).map(|packet| {
                let step = [INTERVAL, SOUNDS as u32 * SAMPLES][usize::from(packet.track)];
                Rtp {
                    picture: packet.picture + time * PICTURES,
                    stamp: packet.stamp.wrapping_add(step * (time * PICTURES) as u32),
                    ..packet.clone()
                }
            });
            self.packets.extend(later);
        }
        self.numbered()
    }

    /// Numbers the packets of each track anew, in the order in which they are sent.
    #[must_use]
    pub fn numbered(mut self) -> Self {
        let mut next = FIRST.map(|(number, _)| number);
        for packet in self.packets.iter_mut().filter(|packet| !packet.report) {
            let number = &mut next[usize::from(packet.track)];
            packet.number = *number;
            *number = number.wrapping_add(1);
        }
        self
    }

    /// Changes each packet.
    #[must_use]
    pub fn each(mut self, change: fn(&mut Rtp)) -> Self {
        self.packets.iter_mut().for_each(change);
        self
    }

    /// Sends these packets in place of each.
    #[must_use]
    pub fn instead(mut self, with: fn(Rtp) -> Vec<Rtp>) -> Self {
        self.packets = self.packets.into_iter().flat_map(with).collect();
        self
    }

    /// Describes itself with one text in place of another, which must be there.
    #[must_use]
    pub fn described(mut self, instead_of: &str, with: &str) -> Self {
        assert!(self.description.contains(instead_of), "{instead_of} is not described");
        self.description = self.description.replace(instead_of, with);
        self
    }

    /// Swaps the first two packets of each picture but the first, before which there is nothing that tells their order.
    #[must_use]
    pub fn swapped(mut self) -> Self {
        let at: Vec<usize> = (0..self.packets.len())
            .filter(|at| self.packets[*at].is_picture())
            .collect();
        for pair in at.windows(2) {
            let [first, second] = [pair[0], pair[1]].map(|at| &self.packets[at]);
            let begins = pair[0] > 0 && !self.packets[pair[0] - 1].is_picture();
            if begins && first.picture > 0 && first.stamp == second.stamp {
                self.packets.swap(pair[0], pair[1]);
            }
        }
        self
    }

    /// Its packets as bytes, with the picture beside which each is sent.
    pub fn to_packets(&self) -> Vec<(usize, Packet)> {
        let packets = self.packets.iter();
        packets.map(|packet| (packet.picture, packet.to_packet())).collect()
    }
}

impl Codec {
    /// True for a slice, or coded data.
    pub fn is_shown(self, unit: &[u8]) -> bool {
        match self {
            Self::H264 => matches!(unit[0] & 0x1f, 1..=5),
            Self::H265 => unit[0] >> 1 < 32,
            Self::Jpeg => true,
        }
    }
}

/// H.264 as it should be, with PCMU beside it.
pub fn h264() -> Clip {
    Clip::of(Codec::H264, access_unit, fragments)
}

/// H.264 of 320x240 pixels.
pub fn small() -> Clip {
    let sets = "Z0LADdkBQfsBEAAAAwAQAAADAyDxQqSA,aMuDyyA=";
    let clip = Clip::of(Codec::H264, small_access_unit, fragments);
    clip.described("Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=,aMuDyyA=", sets)
}

/// H.265 as it should be.
pub fn h265() -> Clip {
    Clip::of(Codec::H265, h265_access_unit, h265_fragments)
}

/// Motion JPEG of 16x16 pixels as it should be.
pub fn jpeg() -> Clip {
    Clip::of(Codec::Jpeg, |picture| vec![filled(&[], picture, 260)], jpeg_fragments)
}

/// A sender report of the moment of this packet.
fn report(packet: &Rtp) -> Rtp {
    let seconds = 3_900_000_000_u64 << 32;
    let ntp = seconds + ((packet.picture as u64) << 32) / 25;
    let mut payload = vec![0x80, 200, 0, 6];
    payload.extend_from_slice(&packet.source.to_be_bytes());
    payload.extend_from_slice(&ntp.to_be_bytes());
    payload.extend_from_slice(&packet.stamp.to_be_bytes());
    payload.extend_from_slice(&[0; 8]);
    Rtp {
        report: true,
        payload,
        ..packet.clone()
    }
}

/// Bytes that begin so and tell this number. None of them is one of which start codes and markers of JPEG are made.
fn filled(head: &[u8], number: usize, length: usize) -> Vec<u8> {
    let mut bytes = head.to_vec();
    bytes.extend([20 + (number / 100) as u8, 20 + (number % 100) as u8]);
    let rest = length.saturating_sub(bytes.len());
    bytes.extend((0..rest).map(|at| 20 + ((number * 7 + at) % 200) as u8));
    bytes
}

/// Bytes of a picture's slice.
fn length(picture: usize) -> usize {
    match picture % GROUP {
        0 => 3000,
        3 | 8 => 2000,
        _ => 300,
    }
}

/// A slice of a picture.
pub fn slice(picture: usize, length: usize) -> Vec<u8> {
    let head: &[u8] = match picture.is_multiple_of(GROUP) {
        true => &[0x65, 0x88, 0x84],
        false => &[0x41, 0x9a, 0x11],
    };
    filled(head, picture, length)
}

/// A picture with its parameter sets if it is a keyframe.
pub fn access_unit(picture: usize) -> Vec<Vec<u8>> {
    with_sets(&SETS, picture)
}

/// A picture of 320x240 pixels, as [`access_unit`].
pub fn small_access_unit(picture: usize) -> Vec<Vec<u8>> {
    with_sets(&SMALL_SETS, picture)
}

fn with_sets(sets: &[&[u8]], picture: usize) -> Vec<Vec<u8>> {
    let sets = sets.iter().filter(|_| picture.is_multiple_of(GROUP));
    let mut units: Vec<Vec<u8>> = sets.map(|set| set.to_vec()).collect();
    units.push(slice(picture, length(picture)));
    units
}

/// A picture of H.265, as [`access_unit`].
pub fn h265_access_unit(picture: usize) -> Vec<Vec<u8>> {
    let keyframe = picture.is_multiple_of(GROUP);
    let mut units: Vec<Vec<u8>> = H265_SETS.iter().filter(|_| keyframe).map(|set| set.to_vec()).collect();
    let head: &[u8] = if keyframe { &[0x28, 1, 0xac] } else { &[0x02, 1, 0xd0] };
    units.push(filled(head, picture, length(picture)));
    units
}

/// With the marker on the last.
pub fn marked(payloads: Vec<Vec<u8>>) -> Vec<Payload> {
    let last = payloads.len().saturating_sub(1);
    let payloads = payloads.into_iter().enumerate();
    payloads.map(|(at, payload)| (payload, at == last)).collect()
}

/// Each unit in a packet, or in fragments if it is long (RFC 6184).
pub fn fragments(units: &[Vec<u8>]) -> Vec<Payload> {
    let packed = units.iter().flat_map(|unit| match unit.len() {
        0..=LONGEST => vec![unit.clone()],
        _ => fragments_of(unit, LONGEST),
    });
    marked(packed.collect())
}

/// A unit in fragments of this length.
pub fn fragments_of(unit: &[u8], length: usize) -> Vec<Vec<u8>> {
    let last = unit[1..].chunks(length).count() - 1;
    let chunks = unit[1..].chunks(length).enumerate();
    let flags = |at: usize| u8::from(at == 0) << 7 | u8::from(at == last) << 6;
    let fragment = |(at, chunk): (usize, &[u8])| {
        let head = [unit[0] & 0xe0 | 28, unit[0] & 0x1f | flags(at)];
        [&head, chunk].concat()
    };
    chunks.map(fragment).collect()
}

fn h265_fragments(units: &[Vec<u8>]) -> Vec<Payload> {
    let packed = units.iter().flat_map(|unit| {
        if unit.len() <= LONGEST {
            return vec![unit.clone()];
        }
        let last = unit[2..].chunks(LONGEST).count() - 1;
        let chunks = unit[2..].chunks(LONGEST).enumerate();
        let flags = |at: usize| u8::from(at == 0) << 7 | u8::from(at == last) << 6;
        chunks
            .map(|(at, chunk)| [&[0x62, 1, unit[0] >> 1 | flags(at)], chunk].concat())
            .collect()
    });
    marked(packed.collect())
}

/// Coded data in packets of 100 bytes, of an image of 16x16 pixels (RFC 2435).
fn jpeg_fragments(units: &[Vec<u8>]) -> Vec<Payload> {
    jpeg_of(units, &[0, 50, 2, 2])
}

/// Coded data in packets of 100 bytes, with this type, quality, and size in units of 8 pixels.
pub fn jpeg_of(units: &[Vec<u8>], head: &[u8; 4]) -> Vec<Payload> {
    let chunks = units[0].chunks(100).enumerate();
    let packet = |(at, chunk): (usize, &[u8])| {
        let offset = (at as u32 * 100).to_be_bytes();
        [&offset[..], head, chunk].concat()
    };
    marked(chunks.map(packet).collect())
}
