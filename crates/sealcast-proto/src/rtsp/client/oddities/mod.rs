//! Deviations of cameras from what they should do, and what comes of them.
//!
//! A row is an oddity: its name, how the camera deviates from the right answer, and what is expected. Most stand in
//! public reports of people with such a camera.

mod answers;
mod camera;
mod logins;
mod noted;
mod redirects;
mod sessions;
mod silence;
mod transports;

use camera::{Call, Came, Camera, Deviation, watch};
use sessions::by_track as session_for_each_track;

use crate::rtsp::message::{Method, Request, Response};

/// Name, deviation, and check of what came.
type Row = (&'static str, Deviation, fn(&Came));

/// Picture and sound come until the end.
fn plays(came: &Came) {
    assert_eq!((&came.error, came.played), (&None, Some(200)));
    assert!(came.packets.iter().all(|packets| *packets > 150), "{:?}", came.packets);
    assert!(came.refused.is_empty());
}

fn plays_the_picture_alone(came: &Came) {
    assert_eq!((&came.error, came.played), (&None, Some(200)));
    assert!(came.packets[0] > 150 && came.packets[1] == 0, "{:?}", came.packets);
    assert_eq!(came.refused, [1]);
}

/// The values of the Session header in requests of a method.
fn asked_for(came: &Came, method: Method) -> Vec<&str> {
    let requests = came.asked(method);
    requests
        .map(|request| request.headers.get("Session").unwrap_or_default())
        .collect()
}

fn check(rows: &[Row], call: Call) {
    for (name, deviation, check) in rows {
        println!("{name}");
        check(&watch(Camera::new(*deviation), call));
    }
}

/// The answer to a method with this header in place of the right one; without a value, none.
fn with(asked: &Request, method: Method, mut response: Response, name: &str, value: Option<&str>) -> Vec<u8> {
    if asked.method == method {
        response.headers.remove(name);
        if let Some(value) = value {
            response.headers.add(name, value);
        }
    }
    response.to_bytes()
}

/// The answer with its text changed.
fn edited(response: &Response, from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(response.to_bytes()).unwrap();
    text.replacen(from, to, 1).into_bytes()
}

/// The answer with something behind its first line.
fn with_lines(response: &Response, lines: &[u8]) -> Vec<u8> {
    let bytes = response.to_bytes();
    let at = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    [&bytes[..at], lines, &bytes[at..]].concat()
}

fn status(asked: &Request, status: u16) -> Response {
    let mut response = Response::new(status);
    response.headers.add("CSeq", asked.headers.get("CSeq").unwrap());
    response
}
