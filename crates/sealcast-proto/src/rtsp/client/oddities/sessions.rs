//! Statements of cameras about the session.

use super::{Call, Came, Camera, Row, asked_for, check, plays, status, with};
use crate::rtsp::message::{Method, Request, Response};

fn session(asked: &Request, right: Response, header: Option<&str>) -> Vec<u8> {
    with(asked, Method::Setup, right, "Session", header)
}

fn known(came: &Came) {
    plays(came);
    assert_eq!(asked_for(came, Method::Setup), ["", "1"]);
    assert_eq!(asked_for(came, Method::Play), ["1"]);
}

const SESSIONS: &[Row] = &[
    (
        "with a space",
        |_, asked, right| session(asked, right, Some("1 ; timeout=20")),
        |came| {
            plays(came);
            assert_eq!(asked_for(came, Method::Setup), ["", "1"]);
            assert_eq!(came.asked(Method::GetParameter).count(), 8, "each ten seconds");
        },
    ),
    (
        "with nothing behind",
        |_, asked, right| session(asked, right, Some("1;")),
        known,
    ),
    (
        "quoted",
        |_, asked, right| session(asked, right, Some("\"1\";Timeout=0;x=y")),
        known,
    ),
    (
        "empty",
        |_, asked, right| session(asked, right, Some(";timeout=20")),
        plays,
    ),
    (
        "none before PLAY",
        |_, asked, right| session(asked, right, None),
        |came| {
            plays(came);
            assert_eq!(asked_for(came, Method::Setup), ["", ""]);
            assert_eq!(asked_for(came, Method::GetParameter), ["12345678"; 2]);
        },
    ),
    (
        "none at all",
        |_, _, mut right| {
            right.headers.remove("Session");
            right.to_bytes()
        },
        |came| {
            plays(came);
            assert_eq!(
                asked_for(came, Method::GetParameter),
                [""; 2],
                "it is kept all the same"
            );
        },
    ),
    ("a new id with each answer, of which the last counts", rolling, plays),
    ("a session for each track", by_track, |came| {
        plays(came);
        assert_eq!(asked_for(came, Method::Play), ["track2", "track1"]);
        assert_eq!(asked_for(came, Method::GetParameter)[..2], ["track2", "track1"]);
    }),
    (
        "a session for each track, which no SETUP may name",
        |camera, asked, right| {
            if asked.method == Method::Setup && asked.headers.get("Session").is_some() {
                return status(asked, 459).to_bytes();
            }
            by_track(camera, asked, right)
        },
        plays,
    ),
    (
        "the first id counts, whatever the others say",
        |camera, asked, right| {
            camera.count += 1;
            if asked.headers.get("Session").is_some_and(|session| session != "id3") {
                return status(asked, 454).to_bytes();
            }
            let id = format!("id{}", camera.count);
            with(asked, asked.method.clone(), right, "Session", Some(&id))
        },
        |came| assert_eq!((&came.error, came.played), (&None, Some(200))),
    ),
    (
        "tracks are played one by one",
        |_, asked, right| {
            if asked.method == Method::Play && !asked.url.contains("trackID") {
                return status(asked, 459).to_bytes();
            }
            right.to_bytes()
        },
        |came| {
            plays(came);
            assert_eq!(came.asked(Method::Play).count(), 3);
        },
    ),
];

#[test]
fn sessions_are_followed_in_all_forms() {
    check(SESSIONS, Call::default());
}

fn rolling(camera: &mut Camera, asked: &Request, right: Response) -> Vec<u8> {
    if matches!(asked.method, Method::Options | Method::Describe) {
        return right.to_bytes();
    }
    let id = format!("id{}", camera.count);
    if asked.headers.get("Session").is_some_and(|session| session != id) {
        return status(asked, 454).to_bytes();
    }
    camera.count += 1;
    let id = format!("id{}", camera.count);
    with(asked, asked.method.clone(), right, "Session", Some(&id))
}

pub(super) fn by_track(camera: &mut Camera, asked: &Request, right: Response) -> Vec<u8> {
    match asked.method {
        Method::Options | Method::Describe => right.to_bytes(),
        Method::Setup => {
            camera.count += 1;
            let id = format!("track{};timeout=20", camera.count);
            with(asked, Method::Setup, right, "Session", Some(&id))
        }
        _ => {
            let id = asked.headers.get("Session").unwrap_or_default().to_owned();
            if !["track1", "track2"].contains(&id.as_str()) {
                return status(asked, 454).to_bytes();
            }
            with(asked, asked.method.clone(), right, "Session", Some(&id))
        }
    }
}
