//! Cameras that refer to another place.

use sealcast_testkit::gateways::Deviation::Refuses;
use sealcast_testkit::gateways::When::Path;

use super::row::{Carried, Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Redirects",
    rows: ROWS,
};

const ROWS: &[Row] = &[
    row(
        "refers to another path with 302",
        "go2rtc#1881, janus-gateway#2195",
        &[Refuses(Path("/cam"), 302, "Location: rtsp://127.0.0.1:{port}/real\r\n")],
    ),
    row(
        "refers to a path alone with 301",
        "",
        &[Refuses(Path("/cam"), 301, "Location: /real\r\n")],
    ),
    row(
        "refers to another name of its host with 307",
        "go2rtc#1480",
        &[Refuses(Path("/cam"), 307, "Location: rtsp://localhost:{port}/real\r\n")],
    ),
    row(
        "refers further three times",
        "go2rtc#565",
        &[
            Refuses(Path("/cam"), 302, "Location: rtsp://127.0.0.1:{port}/a\r\n"),
            Refuses(Path("/a"), 303, "Location: rtsp://localhost:{port}/b\r\n"),
            Refuses(Path("/b"), 308, "Location: rtsp://127.0.0.1:{port}/c\r\n"),
        ],
    ),
    row(
        "refers further for ever",
        "",
        &[Refuses(Path("/cam"), 302, "Location: rtsp://127.0.0.1:{port}/cam\r\n")],
    )
    .published(Published::Fails("more than 3 times"))
    .carried(Carried::Refused(502)),
    row("refers to nowhere", "", &[Refuses(Path("/cam"), 302, "Location: \r\n")])
        .published(Published::Fails("302"))
        .carried(Carried::Refused(502)),
];
