//! A camera that answers each request with the next part of the input: nothing panics, the client comes to an end, and
//! what it asks and hands out is bounded by what came.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraEvent, CameraInput, CameraOutput, CameraUrl, Lower, Parameters, TrackSet, Verb,
};

/// Separates two answers in the input.
const SEPARATOR: &[u8] = &[0xff, 0x00];
/// Placeholder for the request's number.
const NUMBER: &[u8] = b"CSeq: ?";
const PASSWORD: &str = "k9Zt3qLwX1";
/// Requests without an answer before the client gives up: OPTIONS, DESCRIBE and those that follow it.
const UNANSWERED: usize = 64;

fuzz_target!(|bytes: &[u8]| {
    let (url, credentials) = CameraUrl::parse(&format!("rtsp://admin:{PASSWORD}@192.0.2.7/x")).expect("this is one");
    let config = CameraConfig {
        url,
        redirects: 0,
        credentials,
        lower: Lower::Interleaved,
        entropy: [3; 16],
    };
    let mut now = Duration::from_secs(100);
    let mut client = CameraClient::new(config, now);
    let mut parts = split(bytes);
    parts.reverse();
    let answers = parts.len();
    let (mut asked, mut handed_out) = (0, 0);
    let mut handled = client.handle(now, CameraInput::Timeout);
    while handled.is_ok() {
        let mut answer = Vec::new();
        let wait = loop {
            match client.poll() {
                CameraOutput::Transmit(request) => {
                    asked += 1;
                    let part = parts.pop().unwrap_or_default();
                    answer.extend(numbered(part, &request));
                }
                CameraOutput::Event(CameraEvent::Described(_)) => {
                    let play = Verb::Play(TrackSet::from_bits(0b11));
                    let _ = client.handle(now, CameraInput::Command(1, play, &Parameters::default()));
                }
                CameraOutput::Event(CameraEvent::OpenPorts { .. }) => {
                    let _ = client.handle(now, CameraInput::Ports(None));
                }
                CameraOutput::Event(_) => {}
                CameraOutput::Packet(_, packet) => handed_out += packet.len(),
                CameraOutput::Timeout(at) => break at,
            }
        };
        // What it answers to the camera's own requests counts as well: none is shorter than 8 bytes.
        assert!(asked <= answers + bytes.len() / 8 + UNANSWERED, "{asked} requests");
        assert!(handed_out <= bytes.len());
        if !answer.is_empty() {
            // As the programs give it.
            let pieces = answer.chunks(64 << 10);
            handled = pieces.map(|piece| client.handle(now, CameraInput::Bytes(piece))).collect();
        } else if parts.is_empty() && wait == Duration::MAX {
            return;
        } else {
            now = wait.max(now);
            handled = client.handle(now, CameraInput::Timeout);
        }
    }
    let shown = handled.expect_err("it came to an end").to_string();
    assert!(!shown.contains(PASSWORD));
});

fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let mut rest = bytes;
    while let Some(at) = find(rest, SEPARATOR) {
        parts.push(&rest[..at]);
        rest = &rest[at + SEPARATOR.len()..];
    }
    parts.push(rest);
    parts
}

/// An answer with the number of a request.
fn numbered(part: &[u8], request: &[u8]) -> Vec<u8> {
    let Some(at) = find(part, NUMBER) else {
        return part.to_vec();
    };
    let value = find(request, b"CSeq: ").map_or(&[][..], |at| &request[at + 6..]);
    let digits: Vec<u8> = value.iter().copied().take_while(u8::is_ascii_digit).collect();
    let (before, after) = part.split_at(at + NUMBER.len());
    [&before[..before.len() - 1], &digits, after].concat()
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
