//! The description of what is sent (SDP, RFC 8866), for players.

use core::net::{IpAddr, Ipv4Addr};
use std::fmt::Write as _;

use data_encoding::{BASE64, HEXUPPER};

use super::sound::SoundForm;
use super::{JPEG_TYPE, PICTURE_TYPE};
use crate::unit::{Codec, SoundCodec, SoundInfo, StreamInfo, nal_units};

/// Describes a picture, and the sound beside it: track 0 and track 1. What players have no form for is left out; `None`
/// if that is the picture.
pub fn describe(picture: &StreamInfo, sound: Option<&SoundInfo>) -> Option<String> {
    describe_at(picture, sound, Ipv4Addr::UNSPECIFIED.into(), [0, 0])
}

/// As [`describe`], of a picture and a sound that are sent to these ports of an address without being asked for.
pub fn describe_at(
    picture: &StreamInfo,
    sound: Option<&SoundInfo>,
    address: IpAddr,
    ports: [u16; 2],
) -> Option<String> {
    let family = if address.is_ipv4() { "IP4" } else { "IP6" };
    let mut text = format!(
        "v=0\r\no=- 0 0 IN {family} {address}\r\ns=sealcast\r\nc=IN {family} {address}\r\nt=0 0\r\na=control:*\r\n"
    );
    let (payload_type, encoding, parameters) = match picture.codec {
        Codec::H264 => (PICTURE_TYPE, "H264/90000", h264(&picture.parameters)),
        Codec::H265 => (PICTURE_TYPE, "H265/90000", h265(&picture.parameters)),
        Codec::Mjpeg => (JPEG_TYPE, "JPEG/90000", String::new()),
        Codec::Av1 => return None,
    };
    track(&mut text, ("video", ports[0]), 0, (payload_type, encoding, &parameters));
    if let Some(form) = sound.and_then(SoundForm::of) {
        let parameters = parameters_of(&form.info);
        track(
            &mut text,
            ("audio", ports[1]),
            1,
            (form.payload_type(), &form.encoding(), &parameters),
        );
    }
    Some(text)
}

fn track(
    text: &mut String,
    (kind, port): (&str, u16),
    number: u8,
    (payload_type, encoding, parameters): (u8, &str, &str),
) {
    // Writing into a string cannot fail.
    let _ = write!(
        text,
        "m={kind} {port} RTP/AVP {payload_type}\r\na=rtpmap:{payload_type} {encoding}\r\n"
    );
    if !parameters.is_empty() {
        let _ = write!(text, "a=fmtp:{payload_type} {parameters}\r\n");
    }
    let _ = write!(text, "a=recvonly\r\na=control:track{number}\r\n");
}

fn h264(parameters: &[u8]) -> String {
    let sets: Vec<&[u8]> = nal_units(parameters).collect();
    let profile = sets
        .iter()
        .find(|set| set.first().is_some_and(|first| first & 0x1f == 7));
    let profile = profile.and_then(|set| set.get(1..4));
    let mut text = "packetization-mode=1".to_owned();
    if let Some(profile) = profile {
        let _ = write!(text, ";profile-level-id={}", HEXUPPER.encode(profile));
    }
    if !sets.is_empty() {
        let _ = write!(text, ";sprop-parameter-sets={}", encoded(sets.iter().copied()));
    }
    text
}

fn h265(parameters: &[u8]) -> String {
    let of = |kind: u8| {
        let sets =
            nal_units(parameters).filter(move |set| set.first().is_some_and(|first| (first >> 1) & 0x3f == kind));
        encoded(sets)
    };
    let named = [("sprop-vps", 32), ("sprop-sps", 33), ("sprop-pps", 34)].map(|(name, kind)| (name, of(kind)));
    let present = named.iter().filter(|(_, sets)| !sets.is_empty());
    let words: Vec<String> = present.map(|(name, sets)| format!("{name}={sets}")).collect();
    words.join(";")
}

fn encoded<'s>(sets: impl Iterator<Item = &'s [u8]>) -> String {
    sets.map(|set| BASE64.encode(set)).collect::<Vec<_>>().join(",")
}

fn parameters_of(info: &SoundInfo) -> String {
    match info.codec {
        SoundCodec::Aac => format!(
            "streamtype=5;profile-level-id=1;mode=AAC-hbr;sizelength=13;indexlength=3;indexdeltalength=3;config={}",
            HEXUPPER.encode(&info.parameters)
        ),
        SoundCodec::Opus => format!("sprop-stereo={}", u8::from(info.channels == 2)),
        SoundCodec::Ulaw | SoundCodec::Alaw => String::new(),
    }
}
