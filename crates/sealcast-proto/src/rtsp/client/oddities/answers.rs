//! Forms of answers, their numbers, and the lengths that they claim.

use super::{Call, Row, check, edited, plays, status, with, with_lines};
use crate::rtsp::client::CameraError;
use crate::rtsp::message::{Method, Request, Response};
use crate::rtsp::not_rtsp::NotRtsp;

const WRITTEN: &[Row] = &[
    ("as it should be", |_, _, right| right.to_bytes(), plays),
    ("no reason", |_, _, right| edited(&right, "200 OK", "200"), plays),
    (
        "two spaces",
        |_, _, right| edited(&right, " 200 OK", "  200  OK"),
        plays,
    ),
    ("RTSP/2.0", |_, _, right| edited(&right, "RTSP/1.0", "RTSP/2.0"), plays),
    ("HTTP/1.1", |_, _, right| edited(&right, "RTSP/1.0", "HTTP/1.1"), plays),
    (
        "LF",
        |_, _, right| {
            let text = String::from_utf8(right.to_bytes()).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            format!("{}\n\n{body}", head.replace("\r\n", "\n")).into_bytes()
        },
        plays,
    ),
    ("LF in one line", |_, _, right| edited(&right, "\r\n", "\n"), plays),
    (
        "LF before the body",
        |_, _, right| edited(&right, "\r\n\r\n", "\r\n\n"),
        plays,
    ),
    ("a line of one space", |_, _, right| with_lines(&right, b" \r\n"), plays),
    (
        "a line of one space behind all others",
        |_, _, right| edited(&right, "\r\n\r\n", "\r\n \r\nX-A: b\r\n\r\n"),
        plays,
    ),
    ("an empty line", |_, _, right| edited(&right, "CSeq", "\r\nCSeq"), plays),
    (
        "a folded line",
        |_, _, right| with_lines(&right, b"X-A: b\r\n c\r\n\td\r\n"),
        plays,
    ),
    ("folded first", |_, _, right| with_lines(&right, b" c\r\n"), plays),
    (
        "no colon",
        |_, _, right| with_lines(&right, b"Server Cam 1\r\nX\r\n: x\r\n"),
        plays,
    ),
    (
        "Latin-1",
        |_, _, right| with_lines(&right, b"Server: Cam\xe9ra\r\n"),
        plays,
    ),
    (
        "a long line",
        |_, _, right| with_lines(&right, format!("X: {}\r\n", "y".repeat(12 << 10)).as_bytes()),
        plays,
    ),
    (
        "many headers",
        |_, _, right| with_lines(&right, "X: y\r\n".repeat(500).as_bytes()),
        |came| {
            // The right ones stand behind the bound, all but the status is lost: what is there is not enough.
            assert_eq!(came.asked(Method::Setup).count(), 2);
        },
    ),
    (
        "bytes before an answer",
        |_, _, right| [b"\0\0x", &right.to_bytes()[..]].concat(),
        plays,
    ),
    (
        "words before an answer",
        |_, _, right| [b"ready\r\n", &right.to_bytes()[..]].concat(),
        plays,
    ),
];

#[test]
fn answers_are_read_however_they_are_written() {
    check(WRITTEN, Call::default());
}

fn numbered(asked: &Request, mut response: Response, number: impl Fn(u32) -> Option<String>) -> Vec<u8> {
    let right = asked.headers.get("CSeq").unwrap().parse().unwrap();
    response.headers.remove("CSeq");
    if let Some(number) = number(right) {
        response.headers.add("CSeq", number);
    }
    response.to_bytes()
}

const NUMBERED: &[Row] = &[
    ("none", |_, asked, right| numbered(asked, right, |_| None), plays),
    (
        "spaces",
        |_, asked, right| numbered(asked, right, |n| Some(format!("{n}  "))),
        plays,
    ),
    (
        "with words",
        |_, asked, right| numbered(asked, right, |n| Some(format!("{n};x"))),
        plays,
    ),
    (
        "no number",
        |_, asked, right| numbered(asked, right, |_| Some("x".to_owned())),
        plays,
    ),
    (
        "always 0",
        |_, asked, right| numbered(asked, right, |_| Some("0".to_owned())),
        plays,
    ),
    (
        "one too low",
        |_, asked, right| numbered(asked, right, |n| Some((n - 1).to_string())),
        plays,
    ),
    ("each answer twice", |_, _, right| right.to_bytes().repeat(2), plays),
    (
        "an interim answer",
        |_, asked, right| [status(asked, 100).to_bytes(), right.to_bytes()].concat(),
        plays,
    ),
];

#[test]
fn answers_belong_to_requests_whatever_number_they_have() {
    check(NUMBERED, Call::default());
}

fn length(asked: &Request, right: &Response, text: &str) -> Vec<u8> {
    if asked.method != Method::Describe {
        return right.to_bytes();
    }
    let length = format!("Content-Length: {}\r\n", right.body.len());
    edited(right, &length, &text.replace('N', &right.body.len().to_string()))
}

const DESCRIBED: &[Row] = &[
    ("none", |_, asked, right| length(asked, &right, ""), plays),
    (
        "spaces",
        |_, asked, right| length(asked, &right, "Content-Length  :  N  \r\n"),
        plays,
    ),
    (
        "nothing",
        |_, asked, right| length(asked, &right, "Content-Length:\r\n"),
        plays,
    ),
    (
        "words",
        |_, asked, right| length(asked, &right, "Content-Length: x\r\n"),
        plays,
    ),
    (
        "zero",
        |_, asked, right| length(asked, &right, "Content-Length: 0\r\n"),
        plays,
    ),
    (
        "a unit",
        |_, asked, right| length(asked, &right, "Content-Length: N bytes\r\n"),
        plays,
    ),
    (
        "twice",
        |_, asked, right| length(asked, &right, "Content-Length: N\r\nContent-Length: 7\r\n"),
        plays,
    ),
    (
        "too short",
        |_, asked, right| {
            let short = format!("Content-Length: {}\r\n", right.body.len().saturating_sub(20));
            length(asked, &right, &short)
        },
        plays,
    ),
    (
        "too long",
        |_, asked, right| length(asked, &right, "Content-Length: 9999\r\n"),
        plays,
    ),
    (
        "behind an empty line",
        |_, asked, right| length(asked, &right, "\r\nContent-Length: N\r\n"),
        plays,
    ),
    (
        "too long for us",
        |_, asked, right| length(asked, &right, "Content-Length: 99999\r\n"),
        |came| {
            assert_eq!(came.error, Some(CameraError::NotRtsp(NotRtsp::BodyLength)));
        },
    ),
    (
        "a type with parameters",
        |_, asked, right| {
            with(
                asked,
                Method::Describe,
                right,
                "Content-Type",
                Some("Application/SDP; charset=utf-8"),
            )
        },
        plays,
    ),
    (
        "no type",
        |_, asked, right| with(asked, Method::Describe, right, "Content-Type", None),
        plays,
    ),
];

#[test]
fn a_description_is_read_with_a_right_length_and_without() {
    check(DESCRIBED, Call::default());
}
