//! Descriptions of cameras by themselves.

use sealcast_testkit::gateways::Deviation::Header;
use sealcast_testkit::gateways::When::At;
use sealcast_testkit::gateways::clip::{Clip, Codec, fragments};
use sealcast_testkit::gateways::clip::{access_unit, h264, h265, slice, small, small_access_unit};

use super::row::{Carried, Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Descriptions",
    rows: ROWS,
};

/// As `Header`, at DESCRIBE.
macro_rules! says {
    ($name:literal, $value:expr) => {
        &[Header(At("DESCRIBE"), $name, $value)]
    };
}

const SPROP: &str = ";sprop-parameter-sets=Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=,aMuDyyA=";
const FMTP: &str = "a=fmtp:96 packetization-mode=1;sprop-parameter-sets=Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=,aMuDyyA=\r\n";

fn with(instead_of: &str, text: &str) -> Clip {
    h264().described(instead_of, text)
}

/// Parameter sets are in the description alone.
fn without_sets() -> Clip {
    let units = |picture| access_unit(picture).split_off(if picture % 10 == 0 { 2 } else { 0 });
    Clip::of(Codec::H264, units, fragments)
}

const ROWS: &[Row] = &[
    row(
        "says the charset of its description",
        "gortsplib#52",
        says!("Content-Type", Some("application/sdp; charset=utf-8")),
    ),
    row(
        "writes the type in capitals",
        "",
        says!("Content-Type", Some("APPLICATION/SDP")),
    ),
    row("names no type", "", says!("Content-Type", None)),
    row("names no base", "", says!("Content-Base", None)),
    row(
        "names a base without scheme",
        "moonfire-nvr#356",
        says!("Content-Base", Some("127.0.0.1/cam/")),
    ),
    row("has a query and escapes in its URL", "gortsplib#121", &[]).at("rtsp://{camera}/cam?a=%241%26&b=/c"),
    row("is named as `RTSP://`", "", &[]).at("RTSP://{camera}/cam"),
    row("writes `o=` and `c=` short", "go2rtc#1663", &[])
        .sends(|| with("o=- 1 1 IN IP4 127.0.0.1", "o=- 1001 1 IN").described("c=IN IP4 0.0.0.0", "c=IN")),
    row("begins its description with `m=`", "go2rtc#679", &[]).sends(|| {
        with(
            "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=cam\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\na=control:*\r\n",
            "",
        )
    }),
    row("ends lines of its description with LF", "", &[]).sends(|| with("\r\n", "\n")),
    row("has no control for the session", "retina#9", &[]).sends(|| with("a=control:*\r\n", "")),
    row("has absolute controls of another host", "go2rtc#1663", &[])
        .sends(|| with("a=control:streamid", "a=control:rtsp://192.168.1.10/cam/streamid")),
    row("has a control that is a query", "go2rtc#1617", &[]).sends(|| with("a=control:streamid", "a=control:?id")),
    row("writes two spaces in rtpmap", "", &[]).sends(|| with("a=rtpmap:96 H264", "a=rtpmap:96  H264")),
    row("writes the encoding in small letters", "", &[]).sends(|| with("H264/90000", "h264/90000")),
    row("has no sprop-parameter-sets", "gortsplib#88", &[]).sends(|| with(SPROP, "")),
    row("has empty sprop-parameter-sets", "mediamtx#787", &[])
        .sends(|| with("=Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=,aMuDyyA=", "=")),
    row("has no fmtp", "media-stream-library-js#417", &[]).sends(|| with(FMTP, "")),
    row("leaves the PPS out of the sprops", "FFmpeg#181", &[]).sends(|| with(",aMuDyyA=", "")),
    row("has start codes inside the sprops", "go2rtc#1617", &[]).sends(|| {
        with(
            "=Z0LAHtkAoD2hAAADAAEAAAMAMg8WLkg=",
            "=AAAAAWdCwB7ZAKA9oQAAAwABAAADADIPFi5I",
        )
    }),
    row("has parameter sets in the description alone", "janus-gateway#849", &[]).sends(without_sets),
    row("sends H.265 without sprops", "mediamtx", &[]).sends(h265),
    row("calls H.265 `HEVC`", "", &[]).sends(|| h265().described("H265", "HEVC")),
    row("has a back channel before its sound", "go2rtc#830, #1617", &[]).sends(|| {
        with(
            "m=audio",
            "m=audio 0 RTP/AVP 8\r\na=sendonly\r\na=control:streamid=2\r\nm=audio",
        )
    }),
    row("has a track of metadata before its sound", "", &[]).sends(|| {
        with(
            "m=audio",
            "m=application 0 RTP/AVP 107\r\na=control:streamid=2\r\nm=audio",
        )
    }),
    row("offers VP8 alone", "", &[])
        .sends(|| with("H264", "VP8"))
        .published(Published::Fails("vp8 video")),
    row("offers AV1 alone", "", &[])
        .sends(|| with("H264", "AV1"))
        .published(Published::Fails("av1 video")),
    row("describes nothing", "", &[])
        .sends(|| Clip {
            description: "v=0\r\n".to_owned(),
            ..h264()
        })
        .published(Published::Fails("describes no track"))
        .carried(Carried::Refused(502)),
    row("begins with a picture that is no keyframe", "", &[])
        .sends(|| {
            Clip::of(
                Codec::H264,
                |picture| match picture {
                    0 => vec![slice(1, 400)],
                    _ => access_unit(picture),
                },
                fragments,
            )
        })
        .published(Published::But("those before a keyframe", |picture| picture < 10)),
    row("hangs up, and goes on when it is called again", "", &[]).then(h264),
    row(
        "comes back with H.265 where it had H.264",
        "SharpRealTimeStreaming#29",
        &[],
    )
    .then(h265),
    row("comes back with pictures of another size", "", &[]).then(small),
    row(
        "comes back with pictures of another size, which its parameter sets alone say",
        "",
        &[],
    )
    .then(|| Clip::of(Codec::H264, small_access_unit, fragments)),
    row("comes back without sound", "OpenIPC/firmware#1436", &[]).then(|| {
        let mut clip = h264();
        clip.description
            .truncate(clip.description.find("m=audio").expect("sound"));
        clip
    }),
    row("comes back with sound of another kind", "", &[]).then(|| with("a=rtpmap:0 PCMU/8000", "a=rtpmap:0 PCMA/8000")),
];
