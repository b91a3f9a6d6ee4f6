//! Keep-alives that are answered oddly or never, while packets come. The sessions are to be kept each second, and last
//! for several.

use sealcast_testkit::gateways::Deviation::{self, Header, Ignores, OverUdp, Pause, Refuses};
use sealcast_testkit::gateways::When::{At, KeepAlive};

use super::row::{Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Keep-alives",
    rows: ROWS,
};

const SHORT: Deviation = Header(At("SETUP"), "Session", Some("12345678;timeout=2"));
const SLOW: Deviation = Pause(|_| 80);
const PUBLIC: Deviation = Header(At("OPTIONS"), "Public", Some("SETUP, PLAY, GET_PARAMETER"));

const ROWS: &[Row] = &[
    row(
        "answers keep-alives with 400 and the CSeq before",
        "retina#133",
        &[
            SHORT,
            SLOW,
            Refuses(KeepAlive, 400, ""),
            Header(KeepAlive, "CSeq", Some("{cseq-1}")),
        ],
    ),
    row(
        "never answers a keep-alive",
        "SharpRTSP#63",
        &[SHORT, SLOW, PUBLIC, Ignores(KeepAlive)],
    ),
    row(
        "never answers a keep-alive, over UDP",
        "SharpRTSP#63",
        &[SHORT, SLOW, PUBLIC, Ignores(KeepAlive), OverUdp],
    ),
    row(
        "lists GET_PARAMETER, and does not know it",
        "go2rtc#2409",
        &[SHORT, SLOW, PUBLIC, Refuses(At("GET_PARAMETER"), 501, "")],
    ),
    row(
        "answers keep-alives with 454, and plays on",
        "",
        &[SHORT, SLOW, Refuses(KeepAlive, 454, "")],
    ),
    row(
        "answers keep-alives with 401, and plays on",
        "",
        &[SHORT, SLOW, Refuses(KeepAlive, 401, "")],
    ),
    row(
        "answers keep-alives without Session and CSeq",
        "",
        &[
            SHORT,
            SLOW,
            Header(KeepAlive, "CSeq", None),
            Header(KeepAlive, "Session", None),
        ],
    ),
];
