//! Requests that are answered oddly or never, and what comes unasked.

use super::{Call, Came, Camera, Row, check, plays, status};
use crate::rtsp::client::{CameraError, Lower};
use crate::rtsp::message::{Method, Request, Response};
use crate::rtsp::not_rtsp::NotRtsp;
use crate::rtsp::oddity::Oddity;

/// True for a keep-alive of any method.
fn keeps_alive(camera: &Camera, asked: &Request) -> bool {
    let played = camera.asked.iter().any(|request| request.method == Method::Play);
    played && asked.method != Method::Play
}

fn tried_otherwise(came: &Came) {
    plays(came);
    assert!(came.asked(Method::GetParameter).count() > 0);
    assert!(came.asked(Method::Options).count() > 1 && came.asked(Method::SetParameter).count() > 0);
}

const KEEP_ALIVES: &[Row] = &[
    (
        "no answer",
        |camera, asked, right| {
            if keeps_alive(camera, asked) {
                Vec::new()
            } else {
                right.to_bytes()
            }
        },
        tried_otherwise,
    ),
    (
        "400 with the number of the request before",
        |camera, asked, right| {
            if !keeps_alive(camera, asked) {
                return right.to_bytes();
            }
            let number: u32 = asked.headers.get("CSeq").unwrap().parse().unwrap();
            let mut response = Response::new(400);
            response.headers.add("CSeq", (number - 1).to_string());
            response.to_bytes()
        },
        plays,
    ),
    (
        "501",
        |camera, asked, right| {
            let odd = keeps_alive(camera, asked);
            if odd {
                status(asked, 501).to_bytes()
            } else {
                right.to_bytes()
            }
        },
        tried_otherwise,
    ),
    (
        "454",
        |camera, asked, right| {
            let odd = keeps_alive(camera, asked);
            if odd {
                status(asked, 454).to_bytes()
            } else {
                right.to_bytes()
            }
        },
        plays,
    ),
    (
        "454 and no packets any more",
        |camera, asked, right| {
            camera.sends = !keeps_alive(camera, asked);
            if camera.sends {
                right.to_bytes()
            } else {
                status(asked, 454).to_bytes()
            }
        },
        |came| assert_eq!(came.error, Some(CameraError::SessionLost)),
    ),
    (
        "no answer and no packets any more",
        |camera, asked, right| {
            camera.sends = !keeps_alive(camera, asked);
            if camera.sends { right.to_bytes() } else { Vec::new() }
        },
        |came| assert_eq!(came.error, Some(CameraError::Silent)),
    ),
    (
        "401, although it let us in",
        |camera, asked, right| {
            let odd = keeps_alive(camera, asked);
            if odd {
                status(asked, 401).to_bytes()
            } else {
                right.to_bytes()
            }
        },
        plays,
    ),
];

#[test]
fn a_camera_that_sends_packets_lives_whatever_it_makes_of_keep_alives() {
    check(KEEP_ALIVES, Call::default());
    let udp = Call {
        lower: Lower::Udp,
        ..Call::default()
    };
    check(KEEP_ALIVES, udp);
}

fn silent(came: &Came) {
    assert_eq!(came.error, Some(CameraError::Silent));
}

const UNANSWERED: &[Row] = &[
    (
        "OPTIONS",
        |_, asked, right| {
            if asked.method == Method::Options {
                Vec::new()
            } else {
                right.to_bytes()
            }
        },
        plays,
    ),
    (
        "PLAY",
        |_, asked, right| {
            if asked.method == Method::Play {
                Vec::new()
            } else {
                right.to_bytes()
            }
        },
        plays,
    ),
    ("all", |_, _, _| Vec::new(), silent),
    (
        "SETUP",
        |_, asked, right| {
            if asked.method == Method::Setup {
                Vec::new()
            } else {
                right.to_bytes()
            }
        },
        silent,
    ),
    (
        "something that is no RTSP",
        |_, _, _| b"SSH-2.0-dropbear\r\n".to_vec(),
        |came| {
            assert_eq!(came.error, Some(CameraError::NotRtsp(NotRtsp::FirstLine)));
        },
    ),
    (
        "questions of its own, and answers to nobody",
        |_, _, right| {
            let asks = b"ANNOUNCE rtsp://x/ RTSP/1.0\r\nCSeq: 900\r\nContent-Length: 3\r\n\r\nv=0\
                SET_PARAMETER * RTSP/1.0\r\nCSeq: 901\r\n\r\nREDIRECT * RTSP/1.0\r\n\r\n";
            [asks, &right.to_bytes()[..], b"RTSP/1.0 200 OK\r\n\r\n"].concat()
        },
        plays,
    ),
];

#[test]
fn requests_that_are_not_answered_do_not_end_what_is_there() {
    check(UNANSWERED, Call::default());
}

fn skips(came: &Came) {
    plays(came);
    assert!(came.oddities.iter().any(|oddity| oddity == Oddity::Junk));
}

fn junk(camera: &mut Camera, right: &Response, junk: &'static [u8]) -> Vec<u8> {
    camera.junk = junk;
    right.to_bytes()
}

const JUNK: &[Row] = &[
    ("zeros", |camera, _, right| junk(camera, &right, &[0; 9]), skips),
    (
        "a packet cut short",
        |camera, _, right| junk(camera, &right, b"\x80\x60rest$\x09\0\x04\x01"),
        skips,
    ),
    (
        "words",
        |camera, _, right| junk(camera, &right, b"ERROR: buffer full\r\n"),
        skips,
    ),
    (
        "the beginning of an answer",
        |camera, _, right| junk(camera, &right, b"RTSP/1.0 \x80\x60"),
        skips,
    ),
    (
        "channels of nobody",
        |camera, _, right| junk(camera, &right, b"$\x63\0\x04\x80\x60xx$\0\0\0"),
        plays,
    ),
];

#[test]
fn packets_are_found_between_whatever_else_comes() {
    check(JUNK, Call::default());
}
