//! Detection of keyframes in RTP, where a decoder can begin: the first packet of one is recognised by the first bytes
//! of its payload. Packets are inspected and never modified; a malformed packet is not a keyframe.

use super::tracks::{Channel, MAX_TRACKS, Track, TrackSet};

/// Length of the RTP header without contributing sources and extension (RFC 3550, section 5.1).
const RTP_HEADER: usize = 12;
/// Static payload type of JPEG, valid without an `a=rtpmap` line (RFC 3551).
const STATIC_JPEG: u8 = 26;

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
    tracks: [Option<(u8, Codec)>; MAX_TRACKS as usize],
}

impl Keyframes {
    /// Reads the tracks from a session description (SDP). Only the first payload type of a track counts.
    pub fn of_description(sdp: &[u8]) -> Self {
        let mut known = Self::default();
        let lines = sdp
            .split(|byte| *byte == b'\n')
            .filter_map(|line| str::from_utf8(line).ok());
        let mut tracks = 0;
        let mut format = None;
        for line in lines.map(str::trim_end) {
            if let Some(media) = line.strip_prefix("m=") {
                format = payload_type(media);
                tracks += 1;
                if format == Some(STATIC_JPEG) {
                    known.set(tracks, STATIC_JPEG, Codec::Jpeg);
                }
            } else if let (Some(map), Some(format)) = (line.strip_prefix("a=rtpmap:"), format)
                && let Some((number, encoding)) = map.split_once(' ')
                && number.parse() == Ok(format)
                && let Some(codec) = Codec::named(encoding)
            {
                known.set(tracks, format, codec);
            }
        }
        known
    }

    /// Sets the payload type and codec of the last track, of `tracks` so far.
    fn set(&mut self, tracks: usize, format: u8, codec: Codec) {
        if let Some(track) = self.tracks.get_mut(tracks.wrapping_sub(1)) {
            *track = Some((format, codec));
        }
    }

    /// The tracks whose keyframes are recognised.
    pub fn tracks(&self) -> TrackSet {
        let mut tracks = TrackSet::default();
        for track in (0..self.tracks.len()).filter_map(Track::new) {
            if self.tracks[track.index()].is_some() {
                tracks.insert(track);
            }
        }
        tracks
    }

    /// Returns true if a packet is the first of a keyframe; always false for RTCP and for tracks that are not among
    /// [`tracks`](Self::tracks).
    pub fn begins(&self, channel: Channel, packet: &[u8]) -> bool {
        let Some((format, codec)) = self.tracks[channel.track.index()] else {
            return false;
        };
        let payload = payload(packet).filter(|(found, _)| *found == format && !channel.rtcp);
        payload.is_some_and(|(_, payload)| codec.begins(payload) == Some(true))
    }
}

/// First payload type of an `m=` line, if that is video in unencrypted RTP.
fn payload_type(media: &str) -> Option<u8> {
    let mut fields = media.split(' ');
    let (kind, _port, profile, format) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let plain = kind == "video" && profile.starts_with("RTP/AVP");
    format.parse().ok().filter(|_| plain)
}

/// Payload type and payload of an RTP packet, padding included.
fn payload(packet: &[u8]) -> Option<(u8, &[u8])> {
    let (&first, &second) = (packet.first()?, packet.get(1)?);
    if first >> 6 != 2 {
        return None;
    }
    let mut at = RTP_HEADER + 4 * usize::from(first & 0x0f);
    if first & 0x10 != 0 {
        let words = packet.get(at + 2..at + 4)?;
        at += 4 + 4 * usize::from(u16::from_be_bytes([words[0], words[1]]));
    }
    Some((second & 0x7f, packet.get(at..)?))
}

impl Codec {
    /// The codec with an encoding name as in `a=rtpmap`, for example `H264/90000`.
    fn named(encoding: &str) -> Option<Self> {
        let (name, _) = encoding.split_once('/')?;
        let names = [("H264", Self::H264), ("H265", Self::H265), ("JPEG", Self::Jpeg)];
        let found = names.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        found.map(|(_, codec)| codec)
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
#[path = "keyframes_tests.rs"]
mod tests;
