//! Announcements of cameras in their answers to PLAY.

use sealcast_testkit::gateways::Deviation::Header;
use sealcast_testkit::gateways::When::At;

use super::row::{Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Answers to PLAY",
    rows: ROWS,
};

/// As `Header`, for RTP-Info.
macro_rules! says {
    ($value:expr) => {
        &[Header(At("PLAY"), "RTP-Info", $value)]
    };
}

const ROWS: &[Row] = &[
    row("has no RTP-Info", "retina#10, SharpRTSP#43", says!(None)),
    row(
        "has RTP-Info of the picture alone",
        "retina#10",
        says!(Some("url=streamid=0;seq=1000;rtptime=90000")),
    ),
    row(
        "has RTP-Info of other URLs",
        "",
        says!(Some(
            "url=rtsp://10.0.0.1/a;seq=1000;rtptime=90000,url=rtsp://10.0.0.1/b;seq=5000;rtptime=8000"
        )),
    ),
    row(
        "announces 0 and 0",
        "ZLMediaKit#4802",
        says!(Some("url=streamid=0;seq=0;rtptime=0,url=streamid=1;seq=0;rtptime=0")),
    ),
    row(
        "announces other numbers than it sends",
        "retina#64",
        says!(Some(
            "url=streamid=0;seq=100;rtptime=77,url=streamid=1;seq=43915;rtptime=4000000000"
        )),
    ),
    row(
        "writes spaces in RTP-Info",
        "",
        says!(Some(
            "url=streamid=0; seq=1000; rtptime=90000, url=streamid=1; seq=5000; rtptime=8000"
        )),
    ),
    row(
        "has empty values in RTP-Info",
        "",
        says!(Some("url=streamid=0;seq=;rtptime=,url=streamid=1;seq=;rtptime=")),
    ),
    row(
        "has RTP-Info without URLs",
        "",
        says!(Some("seq=1000;rtptime=90000,seq=5000;rtptime=8000")),
    ),
    row(
        "announces numbers beyond 16 and 32 bits",
        "",
        says!(Some(
            "url=streamid=0;seq=66536;rtptime=4295057296,url=streamid=1;seq=70536;rtptime=4294975296"
        )),
    ),
    row("has RTP-Info that is nonsense", "", says!(Some(",,;;url==,"))),
];
