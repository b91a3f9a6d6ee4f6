//! What cameras answer to SETUP.

use sealcast_testkit::gateways::Deviation::{Channels, Header, OverUdp};
use sealcast_testkit::gateways::When::At;

use super::row::{Carried, Published, Row, Table, row};

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

const FIRST: fn(usize) -> bool = |picture| picture < 10;

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
    )
    .published(Published::But("the first group of pictures", FIRST))
    .carried(Carried::Later),
];
