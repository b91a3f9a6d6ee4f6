//! `vectors/gateway.json`: messages and media between two RTSP gateways.

use sealcast_proto::rtsp::{CameraNumber, GatewayMessage, Parameters, TrackSet, Verb, packets, put_packet};
use sealcast_testkit::vectors::{Hex, hex, load};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    messages: Vec<Case>,
    frames: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    expect: String,
    #[serde(rename = "why")]
    _why: Option<String>,
    bytes: Hex,
    message: Option<String>,
    fields: Option<Value>,
    packets: Option<Vec<Packet>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packet {
    channel: u8,
    bytes: Hex,
}

fn verb_and_tracks(verb: Verb) -> (&'static str, TrackSet) {
    match verb {
        Verb::Play(tracks) => ("PLAY", tracks),
        Verb::Pause => ("PAUSE", TrackSet::default()),
        Verb::GetParameter => ("GET_PARAMETER", TrackSet::default()),
        Verb::SetParameter => ("SET_PARAMETER", TrackSet::default()),
        Verb::Teardown => ("TEARDOWN", TrackSet::default()),
    }
}

/// The fields as the vectors write them, with the headers and the body of messages that have them.
fn with_details(mut fields: Value, with: &Parameters) -> Value {
    let headers: Vec<_> = with.headers().map(|(header, value)| (header.name(), value)).collect();
    fields["headers"] = json!(headers);
    fields["body"] = json!(hex(&with.body));
    fields
}

/// Name and fields of a message as the vectors write them, or `None` for a type that is not known.
fn described(message: &GatewayMessage) -> Option<(&'static str, Value)> {
    Some(match message {
        GatewayMessage::Describe { request, path } => ("describe", json!({"request": request, "path": path})),
        GatewayMessage::Command {
            request,
            camera,
            verb,
            with,
        } => {
            let (verb, tracks) = verb_and_tracks(*verb);
            let tracks: Vec<usize> = tracks.iter().map(|track| track.index()).collect();
            let fields = json!({"request": request, "camera": camera.stream(), "verb": verb, "tracks": tracks});
            ("command", with_details(fields, with))
        }
        GatewayMessage::Answer {
            request,
            camera,
            status,
            with,
        } => {
            let camera = camera.map_or(0, CameraNumber::stream);
            let fields = json!({"request": request, "camera": camera, "status": status.code()});
            ("answer", with_details(fields, with))
        }
        GatewayMessage::Packet { camera, channel, bytes } => (
            "packet",
            json!({"camera": camera.stream(), "channel": channel.number(), "bytes": hex(bytes)}),
        ),
        GatewayMessage::Ended { camera, status } => {
            ("ended", json!({"camera": camera.stream(), "status": status.code()}))
        }
        GatewayMessage::InOrder { camera, tracks } => {
            let tracks: Vec<usize> = tracks.iter().map(|track| track.index()).collect();
            ("in-order", json!({"camera": camera.stream(), "tracks": tracks}))
        }
        GatewayMessage::Unknown => return None,
    })
}

#[test]
fn gateway_messages_are_the_references() {
    let (mut good, mut malformed, mut ignored) = (0, 0, 0);
    for case in load::<File>("gateway").messages {
        assert!(case.packets.is_none());
        let parsed = GatewayMessage::parse(&case.bytes.0);
        match case.expect.as_str() {
            "ok" => {
                let message = parsed.unwrap_or_else(|error| panic!("{}: {error}", case.name));
                assert_eq!(message.to_bytes().as_ref(), Ok(&case.bytes.0), "{}", case.name);
                let (name, fields) = described(&message).expect("a known type");
                let expected = (case.message.as_deref(), case.fields);
                assert_eq!((Some(name), Some(fields)), expected, "{}", case.name);
                good += 1;
            }
            "malformed" => {
                assert!(parsed.is_err(), "{}", case.name);
                malformed += 1;
            }
            "ignored" => {
                assert_eq!(parsed, Ok(GatewayMessage::Unknown), "{}", case.name);
                ignored += 1;
            }
            other => panic!("{}: {other}", case.name),
        }
    }
    assert_eq!((good, malformed, ignored), (26, 50, 3));
}

#[test]
fn frames_of_packets_are_the_references() {
    let (mut good, mut malformed) = (0, 0);
    for case in load::<File>("gateway").frames {
        assert!(case.message.is_none() && case.fields.is_none());
        let parsed: Result<Vec<_>, _> = packets(&case.bytes.0).collect();
        if case.expect == "ok" {
            let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            let expected = case.packets.expect("packets");
            assert_eq!(parsed.len(), expected.len(), "{}", case.name);
            let mut frame = Vec::new();
            for ((channel, bytes), expected) in parsed.into_iter().zip(expected) {
                assert_eq!(
                    (channel.number(), bytes),
                    (expected.channel, &expected.bytes.0[..]),
                    "{}",
                    case.name
                );
                put_packet(&mut frame, channel, bytes).expect("it came out of a frame");
            }
            assert_eq!(frame, case.bytes.0, "{}", case.name);
            good += 1;
        } else {
            assert_eq!(case.expect, "malformed");
            assert!(parsed.is_err(), "{}", case.name);
            malformed += 1;
        }
    }
    assert_eq!((good, malformed), (3, 6));
}
