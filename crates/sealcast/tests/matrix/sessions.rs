//! Statements of cameras about the session.

use sealcast_testkit::gateways::Deviation::Header;
use sealcast_testkit::gateways::When::{Always, At};

use super::row::{Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Sessions",
    rows: ROWS,
};

const ROWS: &[Row] = &[
    row(
        "writes spaces around the session's `;`",
        "ExoPlayer#9416, #9254",
        &[Header(Always, "Session", Some("12345678 ; timeout=60"))],
    ),
    row(
        "ends the session with `;`",
        "ExoPlayer#9416",
        &[Header(Always, "Session", Some("12345678;"))],
    ),
    row(
        "writes `Timeout=`",
        "zoneminder#3652",
        &[Header(Always, "Session", Some("1;Timeout=60"))],
    ),
    row(
        "says `timeout=0`",
        "",
        &[Header(Always, "Session", Some("12345678;timeout=0"))],
    ),
    row(
        "says more behind the timeout",
        "",
        &[Header(Always, "Session", Some("1;timeout=60;x=y"))],
    ),
    row(
        "puts the session in quotes",
        "",
        &[Header(Always, "Session", Some("\"12345678\""))],
    ),
    row(
        "gives an empty session",
        "",
        &[Header(Always, "Session", Some(";timeout=60"))],
    ),
    row(
        "gives the session at PLAY",
        "mediamtx#840, #822",
        &[Header(At("SETUP"), "Session", None)],
    ),
    row("never gives a session", "", &[Header(Always, "Session", None)]),
    row(
        "gives each track a session of its own",
        "retina#85",
        &[Header(At("SETUP"), "Session", Some("1234567{n};timeout=60"))],
    ),
    row(
        "gives a new session with each answer",
        "",
        &[Header(Always, "Session", Some("s{n}"))],
    ),
];
