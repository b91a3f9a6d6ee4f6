//! Forms of answers, and their numbers.

use sealcast_testkit::gateways::Deviation::{Adds, Before, Between, Header, Ignores, Lines, Refuses, Twice, Writes};
use sealcast_testkit::gateways::When::{Always, At};

use super::row::{Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Answers",
    rows: ROWS,
};

const ROWS: &[Row] = &[
    row("does as it should", "", &[]),
    row("ends lines with LF alone", "janus-gateway#1922", &[Lines(Always, "\n")]),
    row(
        "gives no reason behind the status",
        "gortsplib#807",
        &[Writes(Always, " 200 OK", " 200")],
    ),
    row(
        "writes two spaces in its first line",
        "",
        &[Writes(Always, " 200 OK", "  200  OK")],
    ),
    row("answers as `RTSP/2.0`", "", &[Writes(Always, "RTSP/1.0", "RTSP/2.0")]),
    row(
        "answers without CSeq",
        "librtsp#2, pyatv#1576",
        &[Header(Always, "CSeq", None)],
    ),
    row(
        "writes spaces behind CSeq",
        "gortsplib#437",
        &[Header(Always, "CSeq", Some("{cseq}  "))],
    ),
    row(
        "gives the CSeq of the request before",
        "",
        &[Header(Always, "CSeq", Some("{cseq-1}"))],
    ),
    row("always says `CSeq: 0`", "", &[Header(Always, "CSeq", Some("0"))]),
    row(
        "has a line of one space among its headers",
        "scrypted#2137",
        &[Writes(Always, "\r\n\r\n", "\r\n \r\nX-A: b\r\n\r\n")],
    ),
    row(
        "begins its headers with a line of one space",
        "scrypted#2137",
        &[Adds(Always, b" \r\n")],
    ),
    row("folds a header line", "", &[Adds(Always, b"X-A: b\r\n c\r\n\td\r\n")]),
    row(
        "writes Latin-1 in a header",
        "",
        &[Adds(Always, b"Server: Cam\xe9ra\r\n")],
    ),
    row(
        "has a header line without colon",
        "",
        &[Adds(Always, b"Server Cam 1\r\n")],
    ),
    row("has an empty line behind its first", "", &[Adds(Always, b"\r\n")]),
    row("answers twice", "", &[Twice(Always)]),
    row(
        "says 100 before it answers",
        "",
        &[Before(Always, b"RTSP/1.0 100 Continue\r\n\r\n")],
    ),
    row(
        "asks something itself before it answers",
        "",
        &[Before(
            Always,
            b"ANNOUNCE * RTSP/1.0\r\nCSeq: 900\r\nContent-Length: 3\r\n\r\nv=0",
        )],
    ),
    row("says words before it answers", "", &[Before(Always, b"ready\r\n")]),
    row(
        "knows no OPTIONS",
        "go2rtc#2409, mediamtx#1066",
        &[Refuses(At("OPTIONS"), 501, "")],
    ),
    row("never answers PLAY, and plays", "", &[Ignores(At("PLAY"))]).published(Published::Later),
    row("puts zeros between its packets", "", &[Between(&[0; 9])]),
    row(
        "puts words between its packets",
        "",
        &[Between(b"ERROR: buffer full\r\n")],
    ),
    row("sends on a channel of nobody", "", &[Between(b"$\x63\0\x04\x80\x60xx")]),
];
