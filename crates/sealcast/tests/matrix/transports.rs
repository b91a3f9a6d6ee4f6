//! Answers of cameras to SETUP.

use sealcast_testkit::gateways::Clip;
use sealcast_testkit::gateways::Deviation::{Channels, Header, OverUdp};
use sealcast_testkit::gateways::When::At;
use sealcast_testkit::gateways::clip::{h264, h265, jpeg};

use super::row::{Carried, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Transports",
    rows: ROWS,
};

/// As `Header`, for Transport.
macro_rules! says {
    ($value:expr) => {
        Header(At("SETUP"), "Transport", $value)
    };
}

const ROWS: &[Row] = &[
    row("names no transport", "gortsplib#456", &[says!(None)]),
    row("names no channels", "", &[says!(Some("RTP/AVP/TCP;unicast"))]),
    row(
        "writes spaces in the transport",
        "smolrtsp#31",
        &[says!(Some("RTP/AVP/TCP; unicast; interleaved={channels}"))],
    ),
    row("calls the connection UDP", "", &[says!(Some("RTP/AVP/UDP;unicast"))]),
    row("names nonsense as transport", "", &[says!(Some("yes"))]),
    row("takes channels of its own", "", &[Channels(6)]),
    row(
        "names the same channels for both tracks",
        "",
        &[says!(Some("RTP/AVP/TCP;unicast;interleaved=0-1"))],
    ),
    row(
        "announces another SSRC than it sends",
        "retina#79, mediamtx#762",
        &[says!(Some("RTP/AVP/TCP;unicast;interleaved={channels};ssrc=DEADBEEF"))],
    ),
    row("refuses the connection with 461, and has UDP", "", &[OverUdp]),
    row("refuses UDP with 461, and has the connection", "", &[]).at("rtsp://{camera}/cam?transport=udp"),
    row("has UDP as asked", "", &[OverUdp]).at("rtsp://{camera}/cam?transport=udp"),
    row("names no transport over UDP", "", &[OverUdp, says!(None)]).at("rtsp://{camera}/cam?transport=udp"),
    row(
        "names no ports of its own",
        "moonfire-nvr#192",
        &[OverUdp, says!(Some("RTP/AVP;unicast;client_port={client}"))],
    ),
    row(
        "writes spaces, and no ports of its own",
        "smolrtsp#31",
        &[OverUdp, says!(Some("RTP/AVP/UDP; unicast; client_port={client}"))],
    ),
    row(
        "says `server_port=0-0`",
        "moonfire-nvr#192",
        &[
            OverUdp,
            says!(Some("RTP/AVP;unicast;client_port={client};server_port=0-0")),
        ],
    ),
    row(
        "names its address by a word",
        "moonfire-nvr#192",
        &[
            OverUdp,
            says!(Some(
                "RTP/AVP;unicast;source=cam.example;client_port={client};server_port={server}"
            )),
        ],
    ),
    row(
        "sends from other ports than it named",
        "mediamtx#762",
        &[
            OverUdp,
            says!(Some("RTP/AVP;unicast;client_port={client};server_port=9-10")),
        ],
    ),
    row(
        "has datagrams that overtake one another",
        "retina#40, minisatip#439",
        &[OverUdp],
    )
    .sends(|| h264().swapped())
    .carried(Carried::As(h264)),
    row("has datagrams that come twice", "gortsplib#132", &[OverUdp])
        .sends(|| doubled(h264()))
        .carried(Carried::As(h264)),
    row(
        "has datagrams of H.265 that overtake one another and come twice",
        "gortsplib#132",
        &[OverUdp],
    )
    .sends(|| doubled(h265().swapped()))
    .carried(Carried::As(h265)),
    row(
        "has datagrams of Motion JPEG that overtake one another",
        "retina#40",
        &[OverUdp],
    )
    .sends(|| jpeg().swapped())
    .carried(Carried::As(jpeg)),
    row(
        "has datagrams that overtake one another while numbers wrap",
        "",
        &[OverUdp],
    )
    .sends(|| wrapping().swapped())
    .carried(Carried::As(wrapping)),
];

/// Each packet twice, one after the other; but not reports, which have no numbers.
fn doubled(clip: Clip) -> Clip {
    clip.instead(|packet| match packet.report {
        true => vec![packet],
        false => vec![packet.clone(), packet],
    })
}

/// Numbers of picture and sound wrap.
fn wrapping() -> Clip {
    h264().each(|packet| packet.number = packet.number.wrapping_add(65_535 - 1020))
}
