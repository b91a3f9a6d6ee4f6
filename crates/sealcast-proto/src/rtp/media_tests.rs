//! Descriptions as cameras write them, mostly of public bug reports.

use super::*;

/// Text of what is read of a description, a line a medium.
fn told(sdp: &[u8]) -> String {
    let media = MediaDescription::parse(sdp).media;
    media.iter().map(medium).collect::<Vec<_>>().join("\n")
}

fn medium(medium: &Medium) -> String {
    let mut told = match &medium.kind {
        MediaKind::Video => "video".to_owned(),
        MediaKind::Audio => "audio".to_owned(),
        MediaKind::Other(kind) => format!("other {kind:?}"),
    };
    for format in &medium.formats {
        let Format {
            payload_type,
            encoding,
            clock_rate,
            channels,
            parameters,
        } = format;
        told += &format!(" {payload_type}:{encoding}/{clock_rate}/{channels}");
        if !parameters.is_empty() {
            told += &format!("[{parameters}]");
        }
    }
    told += if medium.back_channel { " back" } else { "" };
    told += if medium.encrypted { " encrypted" } else { "" };
    if let Some(rate) = medium.frame_rate {
        told += &format!(" {}/{} fps", rate.numerator, rate.denominator);
    }
    if let Some((width, height)) = medium.size {
        told += &format!(" {width}x{height}");
    }
    told
}

const H264: &str = "video 96:h264/90000/1";

/// Oddities of the whole description, which has one medium.
#[test]
fn what_is_odd_about_the_session_keeps_no_medium_away() {
    let media = "m=video 0 RTP/AVP 96\na=rtpmap:96 H264/90000\n";
    for (oddity, sdp) in [
        ("only the media", media.to_owned()),
        (
            "short lines",
            format!("v=0\no=- 1001 1 IN\ns=cam\nc=IN\nt=0 0\na=control:*\n{media}"),
        ),
        (
            "lines without content or sense",
            format!("v=0\n\n=\nx\na=\nm\n{media}a=\na=:\na=rtpmap\na=rtpmap:\na=fmtp:x y\n\n"),
        ),
        ("carriage returns", media.replace('\n', "\r\n")),
        ("only carriage returns", media.replace('\n', "\r")),
        ("no end of the last line", media.trim_end().to_owned()),
        ("a zero behind the last line", format!("{media}\0")),
        ("spaces around", media.replace("m=", " m=").replace('\n', " \t\n\n")),
        ("spaces within", media.replace(' ', "  ")),
        ("tabs", media.replace(' ', "\t")),
        ("spaces at the colon", media.replace("rtpmap:96", "rtpmap : 96")),
        (
            "other cases",
            media.replace("a=rtpmap", "A=RTPMAP").replace("m=video", "M=Video"),
        ),
        ("a folded line", media.replace("96 H264", "96\n H264")),
    ] {
        assert_eq!(told(sdp.as_bytes()), H264, "{oddity}");
    }
    let latin = [b"s=Einfahrt S\xfcd\n", media.as_bytes(), b"a=x:\xff\xfe\n"].concat();
    assert_eq!(told(&latin), H264);
    assert_eq!(told(b""), "");
    assert_eq!(told(&[0xff; 4000]), "");
}

/// Attributes of media: what a camera writes, and what is read.
const MEDIA: &[(&str, &str, &str)] = &[
    (
        "H.265 by its other name",
        "m=video 0 RTP/AVP 97\na=rtpmap:97 HEVC/90000\na=fmtp:97 sprop-vps=AA==; sprop-sps=",
        "video 97:h265/90000/1[sprop-vps=AA==; sprop-sps=]",
    ),
    (
        "static payload types without a=rtpmap",
        "m=video 0 RTP/AVP 26\nm=audio 0 RTP/AVP 8\nm=audio 0 RTP/AVP 0 14 10",
        "video 26:jpeg/90000/1\naudio 8:pcma/8000/1\naudio 0:pcmu/8000/1 14:mpa/90000/1 10:l16/44100/2",
    ),
    (
        "a static payload type with another clock",
        "m=audio 0 RTP/AVP 0\na=rtpmap:0 PCMU/16000/1",
        "audio 0:pcmu/16000/1",
    ),
    (
        "a dynamic payload type without a=rtpmap",
        "m=audio 0 RTP/AVP 104\nm=video 0 RTP/AVP 96",
        "audio 104:/8000/1\nvideo 96:/90000/1",
    ),
    (
        "senseless clocks and channels",
        "m=audio 0 RTP/AVP 0\na=rtpmap:0 PCMU/8000/0\nm=audio 0 RTP/AVP 97\na=rtpmap:97 opus/0/2\n\
         m=video 0 RTP/AVP 96\na=rtpmap:96 H264\nm=audio 0 RTP/AVP 8\na=rtpmap:8 PCMA/-1/900",
        "audio 0:pcmu/8000/1\naudio 97:opus/48000/2\nvideo 96:h264/90000/1\naudio 8:pcma/8000/1",
    ),
    (
        "AAC whose clock only its configuration says, or nothing",
        "m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC\na=fmtp:97 config=1408\n\
         m=audio 0 RTP/AVP 97\na=rtpmap:97 MPEG4-GENERIC/0",
        "audio 97:mpeg4-generic/16000/1[config=1408]\naudio 97:mpeg4-generic/90000/1",
    ),
    (
        "parameters of another payload type",
        "m=audio 0 RTP/AVP 104\na=rtpmap:104 MPEG4-GENERIC/16000\na=fmtp:97 mode=AAC-hbr;config=1408",
        "audio 104:mpeg4-generic/16000/1[mode=AAC-hbr;config=1408]",
    ),
    (
        "a=rtpmap of another payload type",
        "m=video 0 RTP/AVP 96\na=rtpmap:97 H264/90000\na=fmtp:97 packetization-mode=1",
        "video 96:h264/90000/1[packetization-mode=1]",
    ),
    (
        "parameters of two other payload types, which could be anyone's",
        "m=audio 0 RTP/AVP 104\na=rtpmap:104 MPEG4-GENERIC/16000\na=fmtp:97 config=1408\na=fmtp:98 config=1210",
        "audio 104:mpeg4-generic/16000/1",
    ),
    (
        "parameters in two lines",
        "m=video 0 RTP/AVP 96\na=fmtp:96 packetization-mode=1\na=rtpmap:96 H264/90000\na=fmtp:96 profile-level-id=42",
        "video 96:h264/90000/1[packetization-mode=1;profile-level-id=42]",
    ),
    (
        "attributes of the session or of another medium",
        "a=rtpmap:96 H265/90000\nm=video 0 RTP/AVP 96\nm=audio 0 RTP/AVP 96\na=rtpmap:96 opus/48000/2",
        "video 96:/90000/1\naudio 96:opus/48000/2",
    ),
    (
        "metadata, which keep their number",
        "m=application 0 RTP/AVP 107\na=rtpmap:107 vnd.onvif.metadata/90000\na=recvonly\nm=\nm=video 0 RTP/AVP 26",
        "other \"application\" 107:vnd.onvif.metadata/90000/1\nother \"-\"\nvideo 26:jpeg/90000/1",
    ),
    (
        "a back channel",
        "m=video 0 RTP/AVP 26\na=recvonly\nm=audio 0 RTP/AVP 0\na=recvonly\nm=audio 0 RTP/AVP 0\na=sendonly",
        "video 26:jpeg/90000/1\naudio 0:pcmu/8000/1\naudio 0:pcmu/8000/1 back",
    ),
    (
        "a back channel where the other media have no direction",
        "m=video 0 RTP/AVP 26\nm=audio 0 RTP/AVP 8\na=SendOnly",
        "video 26:jpeg/90000/1\naudio 8:pcma/8000/1 back",
    ),
    (
        "directions of a server that means its own",
        "m=audio 0 RTP/AVP 0\na=sendonly\nm=video 0 RTP/AVP 26\na=sendonly",
        "audio 0:pcmu/8000/1\nvideo 26:jpeg/90000/1",
    ),
    (
        "a direction of the session",
        "a=sendonly\nm=audio 0 RTP/AVP 0\nm=audio 0 RTP/AVP 8\na=sendrecv",
        "audio 0:pcmu/8000/1\naudio 8:pcma/8000/1",
    ),
    (
        "rates of pictures",
        "m=video 0 RTP/AVP 26\na=framerate:25\nm=video 0 RTP/AVP 26\na=x-framerate: 29.97\n\
         m=video 0 RTP/AVP 26\na=framerate:0\na=framerate:12.5000 fps\nm=video 0 RTP/AVP 26\na=framerate:0.5",
        "video 26:jpeg/90000/1 25000/1000 fps\nvideo 26:jpeg/90000/1 29970/1000 fps\n\
         video 26:jpeg/90000/1 12500/1000 fps\nvideo 26:jpeg/90000/1 500/1000 fps",
    ),
    (
        "rates that are none",
        "m=video 0 RTP/AVP 26\na=framerate:\na=framerate:-1\na=framerate:1001\na=framerate:4294968\na=framerate:nan\n\
         a=framerate:99999999999999999999\na=framerate:1.\u{e4}\u{e4}",
        "video 26:jpeg/90000/1",
    ),
    (
        "sizes",
        "m=video 0 RTP/AVP 26\na=x-dimensions:2592,1944\nm=video 0 RTP/AVP 26\na=x-dimensions: 640, 480\n\
         m=video 0 RTP/AVP 96\na=framesize:96 1280-720\nm=video 0 RTP/AVP 26\na=x-dimensions:0,0\na=x-dimensions:1x2",
        "video 26:jpeg/90000/1 2592x1944\nvideo 26:jpeg/90000/1 640x480\nvideo 96:/90000/1 1280x720\n\
         video 26:jpeg/90000/1 1x2",
    ),
    (
        "sizes that are none",
        "m=video 0 RTP/AVP 26\na=x-dimensions:65536,1\na=x-dimensions:7\na=x-dimensions:,",
        "video 26:jpeg/90000/1",
    ),
    (
        "what the camera encrypts",
        "m=video 0 RTP/SAVP 96\na=rtpmap:96 H264/90000\nm=audio 0 UDP/TLS/RTP/SAVPF 0\nm=video 0 RTP/AVPF 26",
        "video 96:h264/90000/1 encrypted\naudio 0:pcmu/8000/1 encrypted\nvideo 26:jpeg/90000/1",
    ),
    (
        "payload types that are none, or there twice",
        "m=video 0 RTP/AVP 96 96 x 128 300 -1 97\na=rtpmap:97 H264/90000\na=rtpmap:128 H265/90000",
        "video 96:/90000/1 97:h264/90000/1",
    ),
];

#[test]
fn media_are_read_as_cameras_mean_them() {
    for (oddity, sdp, expected) in MEDIA {
        assert_eq!(told(sdp.as_bytes()), *expected, "{oddity}");
    }
}

#[test]
fn of_several_formats_the_first_that_can_be_put_together_is_preferred() {
    let sdp = b"m=video 0 RTP/AVP 95 96 26\na=rtpmap:95 VP8/90000\na=rtpmap:96 H264/90000\n\
        m=audio 0 RTP/AVP 9 8 0\na=fmtp:101 x=1\nm=audio 0 RTP/AVP 9 4\nm=audio 0 RTP/AVP\n\
        m=application 0 RTP/AVP 26 0\n";
    let media = MediaDescription::parse(sdp).media;
    let types: Vec<_> = media
        .iter()
        .map(|medium| medium.format().map(|format| format.payload_type))
        .collect();
    assert_eq!(types, [Some(96), Some(8), Some(9), None, Some(26)]);
    assert_eq!(media[1].format().and_then(|format| format.parameter("X")), Some("1"));
}

#[test]
fn a_description_makes_nothing_grow_beyond_its_bounds() {
    let many = "m=video 0 RTP/AVP 26\na=framerate:5\n".repeat(17) + "a=framerate:9\n";
    let media = MediaDescription::parse(many.as_bytes());
    assert_eq!(media.media.len(), 16);
    assert!(media.tracks().map(|(track, _)| track.index()).eq(0..16));
    assert_eq!(
        media.media[15].frame_rate.map(|rate| rate.numerator),
        Some(5000),
        "not of the one left out"
    );

    let numbers: Vec<String> = (0..=127).map(|number| number.to_string()).collect();
    let long = "x".repeat(MAX_LINE);
    let parameters = format!("a=fmtp:0 {}\n", &long[..MAX_LINE / 2]).repeat(9);
    let sdp = format!(
        "m=audio 0 RTP/AVP {}\n{parameters}a=fmtp:1 {long}\na=rtpmap:3 {long}\n",
        numbers.join(" ")
    );
    let formats = &MediaDescription::parse(sdp.as_bytes()).media[0].formats;
    assert_eq!(formats.len(), MAX_FORMATS);
    assert_eq!(formats[0].parameters.len(), MAX_LINE / 2);
    assert_eq!(
        (formats[1].parameters.len(), &*formats[3].encoding),
        (0, "gsm"),
        "too long a line"
    );

    let named = format!("m={0} 0 RTP/AVP 96\na=rtpmap:96 {0}\x1b[2J/1\n", &long[..100]);
    assert_eq!(
        told(named.as_bytes()),
        format!("other {0:?} 96:{0}/1/1", &long[..MAX_NAME])
    );
    let hostile = MediaDescription::parse(b"m=\x1b[2J 0 RTP/AVP 96\na=rtpmap:96 \xe2\x80\xaeX/1\n");
    assert_eq!(hostile.media[0].formats[0].encoding, "\u{fffd}x");
    assert_eq!(hostile.media[0].kind, MediaKind::Other("\u{fffd}[2j".to_owned()));
}
