//! Ways to log in at cameras, and what cameras make of them.

use sealcast_testkit::gateways::Deviation::{self, Asks};
use sealcast_testkit::gateways::Login;

use super::row::{Carried, Published, Row, Table, row};

pub(crate) const TABLE: Table = Table {
    title: "Logins",
    rows: ROWS,
};

const URL: &str = "rtsp://admin:pw@{camera}/cam";

const fn asks(challenges: &'static [&'static str]) -> Deviation {
    Asks(Login {
        challenges,
        takes: "",
        fresh: false,
    })
}

const fn takes(challenges: &'static [&'static str], takes: &'static str) -> Deviation {
    Asks(Login {
        challenges,
        takes,
        fresh: false,
    })
}

const fn fresh(challenges: &'static [&'static str]) -> Deviation {
    Asks(Login {
        challenges,
        takes: "",
        fresh: true,
    })
}

/// A challenge of Digest, with what stands behind realm and nonce.
macro_rules! digest {
    ($more:literal) => {
        concat!("Digest realm=\"cam\", nonce=\"{nonce}\"", $more)
    };
}

const ROWS: &[Row] = &[
    row("wants MD5 without qop", "", &[asks(&[digest!("")])]).at(URL),
    row(
        "wants MD5 with qop",
        "",
        &[asks(&[digest!(", algorithm=MD5, qop=\"auth\"")])],
    )
    .at(URL),
    row(
        "lists qop as `auth,auth-int`",
        "go2rtc#2451",
        &[asks(&[digest!(", qop=\"auth,auth-int\"")])],
    )
    .at(URL),
    row(
        "wants auth-int",
        "go2rtc#2451",
        &[asks(&[digest!(", qop=\"auth-int\"")])],
    )
    .at(URL),
    row(
        "wants SHA-256",
        "go2rtc#2344",
        &[asks(&[digest!(", algorithm=SHA-256, qop=\"auth\"")])],
    )
    .at(URL),
    row(
        "wants SHA-512-256",
        "SharpRTSP#153",
        &[asks(&[digest!(", algorithm=SHA-512-256")])],
    )
    .at(URL),
    row(
        "wants MD5-sess",
        "SharpRTSP#153",
        &[asks(&[digest!(", algorithm=\"MD5-sess\", qop=\"auth\"")])],
    )
    .at(URL),
    row(
        "wants SHA-256-sess",
        "",
        &[asks(&[digest!(", algorithm=SHA-256-sess, qop=\"auth-int,auth\"")])],
    )
    .at(URL),
    row(
        "offers SHA-256, MD5 and Basic in three headers",
        "SharpRTSP#153",
        &[asks(&[
            digest!(", algorithm=SHA-256"),
            digest!(", algorithm=MD5"),
            "Basic realm=\"cam\"",
        ])],
    )
    .at(URL),
    row(
        "offers Basic and Digest in one header",
        "SharpRTSP#153",
        &[asks(&[concat!("Basic realm=\"cam\", ", digest!(", algorithm=MD5"))])],
    )
    .at(URL),
    row(
        "offers SHA-256, and takes only MD5",
        "gortsplib#863",
        &[takes(
            &[digest!(", algorithm=\"SHA-256\""), digest!(", algorithm=\"MD5\"")],
            "MD5",
        )],
    )
    .at(URL),
    row(
        "offers Digest, and takes only Basic",
        "",
        &[takes(&[digest!(""), "Basic realm=\"cam\""], "Basic")],
    )
    .at(URL),
    row(
        "offers what nobody knows before MD5",
        "",
        &[asks(&["Bearer", digest!(", algorithm=SHA3-512"), digest!("")])],
    )
    .at(URL),
    row(
        "gives a new nonce for each request, as stale",
        "media#522, ExoPlayer#9800",
        &[fresh(&[digest!(", stale=true")])],
    )
    .at(URL),
    row(
        "gives a new nonce for each request without a word",
        "curl#2136",
        &[fresh(&[digest!("")])],
    )
    .at(URL),
    row("wants Basic", "", &[asks(&["Basic realm=\"cam\""])]).at(URL),
    row("lets nobody in", "", &[takes(&[digest!("")], "nothing")])
        .at(URL)
        .published(Published::Fails("does not accept this user and password"))
        .carried(Carried::Refused(502)),
];
