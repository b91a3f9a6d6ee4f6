//! Third-party session descriptions: what is read of one is bounded, and written down in a regular way it is read
//! again as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtp::{Format, MAX_FORMATS, MediaDescription, MediaKind, Medium};
use sealcast_proto::rtsp::{Keyframes, MAX_BODY, MAX_TRACKS, same_media};

fuzz_target!(|bytes: &[u8]| {
    if bytes.len() > MAX_BODY {
        return;
    }
    let read = MediaDescription::parse(bytes);
    assert!(read.media.len() <= usize::from(MAX_TRACKS));
    for medium in &read.media {
        assert!(medium.formats.len() <= MAX_FORMATS);
        for format in &medium.formats {
            assert!(format.clock_rate > 0 && format.channels > 0 && format.encoding.chars().count() <= 64);
        }
    }
    let regular: String = read.media.iter().map(written).collect();
    let again = MediaDescription::parse(regular.as_bytes());
    assert_eq!(again, read);
    assert!(same_media(bytes, regular.as_bytes()));
    let keyframes = Keyframes::of_description(bytes);
    assert_eq!(keyframes, Keyframes::of_description(regular.as_bytes()));
});

fn written(medium: &Medium) -> String {
    let kind = match &medium.kind {
        MediaKind::Video => "video",
        MediaKind::Audio => "audio",
        MediaKind::Other(kind) => kind,
    };
    let profile = if medium.encrypted { "RTP/SAVP" } else { "RTP/AVP" };
    let numbers: Vec<String> = medium
        .formats
        .iter()
        .map(|format| format.payload_type.to_string())
        .collect();
    let mut text = format!("m={kind} 0 {profile} {}\r\n", numbers.join(" "));
    for format in &medium.formats {
        let Format {
            payload_type,
            encoding,
            clock_rate,
            channels,
            parameters,
        } = format;
        if !encoding.is_empty() {
            text += &format!("a=rtpmap:{payload_type} {encoding}/{clock_rate}/{channels}\r\n");
        }
        if !parameters.is_empty() {
            text += &format!("a=fmtp:{payload_type} {parameters}\r\n");
        }
    }
    if medium.back_channel {
        text += "a=sendonly\r\n";
    }
    if let Some(rate) = medium.frame_rate {
        let (whole, part) = (rate.numerator / rate.denominator, rate.numerator % rate.denominator);
        text += &format!("a=framerate:{whole}.{part:03}\r\n");
    }
    if let Some((width, height)) = medium.size {
        text += &format!("a=x-dimensions:{width},{height}\r\n");
    }
    text
}
