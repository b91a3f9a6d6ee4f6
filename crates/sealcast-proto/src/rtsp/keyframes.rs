//! Detection of keyframes in RTP, where a decoder can begin: the first packet of one is recognised by the first bytes
//! of its payload. Packets are inspected and never modified; a malformed packet is not a keyframe.

use super::tracks::{Channel, MAX_TRACKS, TrackSet};
use crate::rtp::{MediaDescription, MediaKind, RtpPacket};

/// Codecs whose keyframes are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Codec {
    /// RFC 6184.
    H264,
    /// RFC 7798, without decoding order numbers.
    H265,
    /// RFC 2435; each picture is a keyframe.
    Jpeg,
}

/// The video tracks of a camera that must begin with a keyframe, read from its description. A track whose packets are
/// encrypted by the camera itself is not among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keyframes {
    /// Payload type and codec, by track.
    codecs: [Option<(u8, Codec)>; MAX_TRACKS as usize],
    tracks: TrackSet,
}

impl Keyframes {
    /// Reads the tracks from a session description (SDP). Only the first payload type of a track counts.
    pub fn of_description(sdp: &[u8]) -> Self {
        let mut known = Self::default();
        for (track, medium) in MediaDescription::parse(sdp).tracks() {
            let plain = medium.kind == MediaKind::Video && !medium.encrypted;
            let first = medium.formats.first().filter(|_| plain);
            if let Some(format) = first
                && let Some(codec) = Codec::named(&format.encoding)
            {
                known.codecs[track.index()] = Some((format.payload_type, codec));
                known.tracks.insert(track);
            }
        }
        known
    }

    /// The tracks whose keyframes are recognised.
    pub fn tracks(&self) -> TrackSet {
        self.tracks
    }

    /// Returns true if a packet is the first of a keyframe; always false for RTCP and for tracks that are not among
    /// [`tracks`](Self::tracks).
    pub fn begins(&self, channel: Channel, packet: &[u8]) -> bool {
        let Some((format, codec)) = self.codecs[channel.track.index()] else {
            return false;
        };
        let packet = RtpPacket::parse(packet).filter(|packet| packet.payload_type == format && !channel.rtcp);
        packet.is_some_and(|packet| codec.begins(packet.payload) == Some(true))
    }
}

impl Codec {
    /// The codec of an encoding's name.
    fn named(encoding: &str) -> Option<Self> {
        match encoding {
            "h264" => Some(Self::H264),
            "h265" => Some(Self::H265),
            "jpeg" => Some(Self::Jpeg),
            _ => None,
        }
    }

    /// Returns true if a keyframe begins with this payload, and `None` if the payload is cut short.
    fn begins(self, payload: &[u8]) -> Option<bool> {
        match self {
            Self::H264 => h264_begins(payload),
            Self::H265 => h265_begins(payload),
            // The fragment's offset within its picture.
            Self::Jpeg => payload.get(1..4).map(|offset| offset == [0; 3]),
        }
    }
}

fn h264_begins(payload: &[u8]) -> Option<bool> {
    match payload.first()? & 0x1f {
        // STAP-A
        24 => Some(any_unit(&payload[1..], h264_unit_begins)),
        // FU-A: the second byte has the start bit, set in the first fragment, and the type of the whole unit.
        28 => {
            let (header, slice) = (*payload.get(1)?, payload.get(2)?);
            Some(header & 0x80 != 0 && h264_unit_begins(&[header & 0x1f, *slice]) == Some(true))
        }
        _ => h264_unit_begins(payload),
    }
}

/// Returns true for a sequence parameter set and for the first slice of an IDR picture. The first slice has
/// `first_mb_in_slice` 0, which is coded as a single 1 bit.
fn h264_unit_begins(unit: &[u8]) -> Option<bool> {
    Some(match unit.first()? & 0x1f {
        5 => unit.get(1)? & 0x80 != 0,
        kind => kind == 7,
    })
}

fn h265_begins(payload: &[u8]) -> Option<bool> {
    match h265_type(payload)? {
        // AP
        48 => Some(any_unit(payload.get(2..)?, h265_unit_begins)),
        // FU
        49 => {
            let (header, slice) = (*payload.get(2)?, payload.get(3)?);
            let unit = [(header & 0x3f) << 1, 1, *slice];
            Some(header & 0x80 != 0 && h265_unit_begins(&unit) == Some(true))
        }
        _ => h265_unit_begins(payload),
    }
}

fn h265_type(unit: &[u8]) -> Option<u8> {
    Some((unit.first()? >> 1) & 0x3f)
}

/// Returns true for a video or sequence parameter set, and for the first slice segment of a random access picture
/// (IRAP).
fn h265_unit_begins(unit: &[u8]) -> Option<bool> {
    Some(match h265_type(unit)? {
        16..=23 => unit.get(2)? & 0x80 != 0,
        kind => kind == 32 || kind == 33,
    })
}

/// Returns true if `begins` is true for any unit of an aggregation packet. Each unit is preceded by its length.
fn any_unit(mut units: &[u8], begins: impl Fn(&[u8]) -> Option<bool>) -> bool {
    while let Some((length, rest)) = units.split_first_chunk() {
        let Some((unit, rest)) = rest.split_at_checked(u16::from_be_bytes(*length).into()) else {
            return false;
        };
        if begins(unit) == Some(true) {
            return true;
        }
        units = rest;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtsp::Track;

    const SDP: &[u8] = b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\n\
        m=video 0 RTP/AVP 96 97\r\na=rtpmap:97 rtx/90000\r\na=rtpmap:96 H264/90000\r\na=control:track0\r\n\
        m=audio 0 RTP/AVP 0\r\n\
        m=video 0 RTP/AVPF 98\r\na=rtpmap:98  HEVC/90000\r\n\
        m=video 0 RTP/AVP 26\r\n\
        m=video 0 RTP/AVP 99\r\na=rtpmap:99 VP8/90000\r\n\
        m=video 0 RTP/SAVP 96\r\na=rtpmap:96 H264/90000\r\n";

    fn rtp(track: usize, rtcp: bool) -> Channel {
        let track = Track::new(track).expect("a track");
        Channel { track, rtcp }
    }

    /// An RTP packet with this payload type.
    fn packet(format: u8, payload: &[u8]) -> Vec<u8> {
        [&[0x80, format | 0x80, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3], payload].concat()
    }

    fn begins(track: usize, format: u8, payload: &[u8]) -> bool {
        Keyframes::of_description(SDP).begins(rtp(track, false), &packet(format, payload))
    }

    #[test]
    fn only_plain_video_of_a_known_codec_waits_for_keyframes() {
        let known = Keyframes::of_description(SDP);
        assert_eq!(known.tracks(), TrackSet::from_bits(0b00_1101));
        assert!(
            Keyframes::of_description(b"\xff\nm=\nm=video\na=rtpmap:x\na=rtpmap:96 H264/90000")
                .tracks()
                .is_empty()
        );
        let many = b"m=video 0 RTP/AVP 26\n".repeat(17);
        assert_eq!(Keyframes::of_description(&many).tracks(), TrackSet::from_bits(0xffff));
    }

    #[test]
    fn an_h264_keyframe_begins_with_its_parameters_or_its_first_slice() {
        for (payload, expected) in [
            (&[0x67, 0x42][..], true),
            (&[0x65, 0x88], true),
            (&[0x65, 0x40], false),
            (&[0x65], false),
            (&[0x41, 0x9a], false),
            (&[0x68, 0xce], false),
            // STAP-A: AUD and SPS; SEI and a slice; a length beyond the end; one cut short.
            (&[0x18, 0, 2, 0x09, 0xf0, 0, 2, 0x67, 0x42], true),
            (&[0x18, 0, 1, 0x06, 0, 2, 0x41, 0x9a], false),
            (&[0x18, 0, 9, 0x67, 0x42], false),
            (&[0x18, 0], false),
            // FU-A: start of the first and of a later IDR slice, middle of one, start of another slice, one cut short.
            (&[0x7c, 0x85, 0x88], true),
            (&[0x7c, 0x85, 0x40], false),
            (&[0x7c, 0x05, 0x88], false),
            (&[0x7c, 0x81, 0x9a], false),
            (&[0x7c, 0x85], false),
            (&[], false),
        ] {
            assert_eq!(begins(0, 96, payload), expected, "{payload:02x?}");
        }
    }

    #[test]
    fn an_h265_keyframe_begins_with_its_parameters_or_its_first_slice_segment() {
        for (payload, expected) in [
            (&[0x40, 0x01, 0x0c][..], true),
            (&[0x42, 0x01, 0x01], true),
            (&[0x44, 0x01, 0xc1], false),
            (&[0x26, 0x01, 0xaf], true),
            (&[0x2a, 0x01, 0xaf], true),
            (&[0x26, 0x01, 0x2f], false),
            (&[0x02, 0x01, 0xd0], false),
            // AP: VPS first; only a trailing picture.
            (&[0x60, 0x01, 0, 3, 0x40, 0x01, 0x0c, 0, 3, 0x42, 0x01, 0x01], true),
            (&[0x60, 0x01, 0, 3, 0x02, 0x01, 0xd0], false),
            (&[0x60], false),
            // FU: start and middle of an IDR picture, start of a trailing picture, a fragment cut short.
            (&[0x62, 0x01, 0x93, 0xaf], true),
            (&[0x62, 0x01, 0x13, 0xaf], false),
            (&[0x62, 0x01, 0x81, 0xd0], false),
            (&[0x62, 0x01, 0x93], false),
        ] {
            assert_eq!(begins(2, 98, payload), expected, "{payload:02x?}");
        }
    }

    #[test]
    fn every_jpeg_picture_begins_with_the_fragment_at_its_beginning() {
        assert!(begins(3, 26, &[0, 0, 0, 0, 1, 80, 80, 60]));
        assert!(!begins(3, 26, &[0, 0, 5, 0x78, 1, 80, 80, 60]));
        assert!(!begins(3, 26, &[0, 0, 0]));
    }

    #[test]
    fn the_payload_is_found_behind_sources_and_an_extension() {
        let known = Keyframes::of_description(SDP);
        let long = [
            &[0x91, 96][..],
            &[0; 10],
            &[7; 4],
            &[0xbe, 0xde, 0, 2],
            &[9; 8],
            &[0x67],
        ]
        .concat();
        assert!(known.begins(rtp(0, false), &long));
        for length in 0..long.len() {
            assert!(!known.begins(rtp(0, false), &long[..length]), "cut to {length} bytes");
        }
    }

    #[test]
    fn reports_other_tracks_and_other_payload_types_are_no_keyframes() {
        let known = Keyframes::of_description(SDP);
        let sps = packet(96, &[0x67, 0x42]);
        assert!(known.begins(rtp(0, false), &sps));
        assert!(!known.begins(rtp(0, true), &sps));
        for track in [1, 2, 4, 5, 15] {
            assert!(!known.begins(rtp(track, false), &sps), "track {track}");
        }
        assert!(!begins(0, 97, &[0x67, 0x42]));
        assert!(
            !known.begins(rtp(0, false), &[&[0x40], &sps[1..]].concat()),
            "another version of RTP"
        );
    }
}
