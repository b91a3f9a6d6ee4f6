//! `vectors/control.json`: control messages, codec configurations and preambles.

use std::net::IpAddr;

use sealcast_proto::unit::{Codec, Description, Preamble, SOUND_STREAM, SoundCodec, StreamInfo};
use sealcast_proto::wire::{
    CameraName, CameraState, CellPlan, Control, DataChannel, DataOrder, DataStanding, GroupMessage, MulticastGroup,
    Numbers, Orientation,
};
use sealcast_testkit::vectors::{Hex, hex, load};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    messages: Vec<Case>,
    group_messages: Vec<Case>,
    codec_configurations: Vec<Case>,
    sound_configurations: Vec<Case>,
    preambles: Vec<Case>,
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
    frame_bytes: Option<Hex>,
}

fn orientation(turned: Orientation) -> Value {
    json!({"turns": turned.quarter_turns(), "mirrored": u8::from(turned.mirrored())})
}

/// Name and fields of a message as the vectors write them, or `None` for a type that is not known.
fn described(message: &Control<'_>) -> Option<(&'static str, Value)> {
    Some(match *message {
        Control::Welcome => ("welcome", json!({})),
        Control::Close { reason, text } => (
            "close",
            json!({"reason": close_byte(message), "text": text, "shown": reason.to_string()}),
        ),
        Control::RekeyOffer {
            epoch,
            mechanism,
            share,
            signature,
        } => (
            "rekey-offer",
            json!({"epoch": epoch, "mechanism": mechanism, "share": hex(share), "signature": hex(&signature)}),
        ),
        Control::RekeyAnswer {
            epoch,
            ciphertext,
            signature,
        } => (
            "rekey-answer",
            json!({"epoch": epoch, "ciphertext": hex(ciphertext), "signature": hex(&signature)}),
        ),
        Control::PathChallenge { token } => ("path-challenge", json!({"token": hex(&token)})),
        Control::PathResponse { token } => ("path-response", json!({"token": hex(&token)})),
        Control::KeyframeRequest { stream } => ("keyframe-request", json!({"stream": stream})),
        Control::Budget { milliseconds } => ("budget", json!({"milliseconds": milliseconds})),
        Control::Orientation(turned) => ("orientation", orientation(turned)),
        Control::Ping { t1 } => ("ping", json!({"t1": t1})),
        Control::Pong { t1, t2, t3 } => ("pong", json!({"t1": t1, "t2": t2, "t3": t3})),
        Control::RekeyRequest => ("rekey-request", json!({})),
        Control::Selection { number, selection } => {
            let payload = message.to_bytes();
            assert_eq!(payload.len(), 6);
            let argument = u16::from_be_bytes([payload[4], payload[5]]);
            let selection = selection.to_string();
            (
                "selection",
                json!({"number": number, "mode": payload[3], "argument": argument, "shown": selection}),
            )
        }
        Control::SelectionAck { number } => ("selection-ack", json!({"number": number})),
        Control::Part {
            message,
            index,
            count,
            bytes,
        } => (
            "part",
            json!({"message": message, "index": index, "count": count, "bytes": hex(bytes)}),
        ),
        Control::Nack(numbers) => ("nack", json!({"entries": entries(message, numbers)})),
        Control::Feedback(feedback) => (
            "feedback",
            json!({"highest": feedback.highest, "arrived": feedback.arrived, "budget": feedback.budget,
                "received": hex(feedback.received)}),
        ),
        Control::Probe { token, padding } => ("probe", json!({"token": token, "padding": padding})),
        Control::ProbeAck { token } => ("probe-ack", json!({"token": token})),
        Control::Gateway(message) => ("gateway", json!({"message": hex(message)})),
        Control::Shape { publisher, viewer } => {
            let cells = |plan: CellPlan| json!([plan.tick.as_nanos() as u64, plan.cells, plan.size]);
            ("shape", json!({"publisher": cells(publisher), "viewer": cells(viewer)}))
        }
        Control::Group(message) => described_of_group(&message),
        Control::Unknown => return None,
        _ => described_of_publisher(message),
    })
}

fn data_channel(channel: &DataChannel) -> Value {
    let order = match channel.order {
        DataOrder::Ordered => 1,
        DataOrder::Newest => 2,
    };
    let standing = match channel.standing {
        DataStanding::Hears => 1,
        DataStanding::Sends => 2,
        DataStanding::Waits => 3,
    };
    json!([channel.name.as_str(), order, standing])
}

/// The entries of a NACK as its bytes contain them. Asserts that they give the same numbers as its iterator.
fn entries(message: &Control<'_>, numbers: Numbers<'_>) -> Vec<(u32, u8)> {
    let bytes = message.to_bytes();
    let entries: Vec<(u32, u8)> = bytes[2..]
        .chunks_exact(5)
        .map(|entry| (u32::from_be_bytes([entry[0], entry[1], entry[2], entry[3]]), entry[4]))
        .collect();
    let run = |&(first, more): &(u32, u8)| (0..=u32::from(more)).map(move |ahead| first.wrapping_add(ahead));
    assert!(numbers.iter().eq(entries.iter().flat_map(run)));
    entries
}

/// Name and fields of what a publisher says of its camera, its addresses and its data channels.
fn described_of_publisher(message: &Control<'_>) -> (&'static str, Value) {
    match *message {
        Control::Camera(CameraState { on, since, why }) => {
            let state = if on { 1 } else { 2 };
            ("camera", json!({"state": state, "since": since, "why": why}))
        }
        Control::Cameras(ref names) => {
            let names: Vec<&str> = names.iter().map(CameraName::as_str).collect();
            ("cameras", json!({ "names": names }))
        }
        Control::Addresses(addresses) => {
            let texts: Vec<String> = addresses.texts().iter().map(|text| hex(text)).collect();
            ("addresses", json!({"addresses": texts}))
        }
        Control::Data(ref channels) => {
            let channels: Vec<Value> = channels.iter().map(data_channel).collect();
            ("data", json!({ "channels": channels }))
        }
        _ => panic!("another message"),
    }
}

fn described_of_group(message: &GroupMessage<'_>) -> (&'static str, Value) {
    match *message {
        GroupMessage::Terms(terms) => ("group-terms", json!({"terms": hex(terms)})),
        GroupMessage::Join { stream, media } => ("join", json!({"stream": stream, "media": media.byte()})),
        GroupMessage::Sheet(sheet) => ("key-sheet", json!({"sheet": hex(sheet)})),
        GroupMessage::Challenge(challenge) => ("challenge", json!({"challenge": hex(&challenge)})),
        GroupMessage::Answer(answer) => ("answer", json!({"answer": hex(answer)})),
        GroupMessage::Certificate(certificate) => ("gop-key", json!({"certificate": hex(certificate)})),
        GroupMessage::Signature(signature) => ("gop-signature", json!({"signature": hex(signature)})),
        GroupMessage::Begin { number } => ("begin", json!({"number": number})),
        GroupMessage::Numbered { number, more, bytes } => (
            "numbered",
            json!({"number": number, "more": u8::from(more), "bytes": hex(bytes)}),
        ),
        GroupMessage::Taken { next } => ("taken", json!({"next": next})),
        GroupMessage::Multicast(MulticastGroup { tag, address, port }) => {
            let address = match address {
                IpAddr::V4(address) => hex(&address.octets()),
                IpAddr::V6(address) => hex(&address.octets()),
            };
            ("multicast", json!({"tag": tag, "port": port, "address": address}))
        }
        GroupMessage::Hears(hearing) => ("hears", json!({"hearing": hearing as u8})),
        GroupMessage::Recipients(recipients) => ("archive-recipients", json!({"recipients": hex(recipients)})),
        GroupMessage::ArchiveKey { epoch, file } => ("archive-key", json!({"epoch": epoch, "file": hex(file)})),
    }
}

fn close_byte(message: &Control<'_>) -> u8 {
    message.to_bytes()[1]
}

#[test]
fn control_messages_are_the_references() {
    let File {
        messages,
        group_messages,
        ..
    } = load("control");
    let cases = messages.into_iter().chain(group_messages);
    let (mut good, mut malformed, mut ignored) = (0, 0, 0);
    for case in cases {
        assert!(case.frame_bytes.is_none());
        let parsed = Control::parse(&case.bytes.0);
        match case.expect.as_str() {
            "ok" => {
                let message = parsed.unwrap_or_else(|error| panic!("{}: {error}", case.name));
                assert_eq!(message.to_bytes(), case.bytes.0, "{}", case.name);
                let (name, mut fields) = described(&message).expect("a known type");
                let shown = fields.as_object_mut().and_then(|fields| fields.remove("shown"));
                assert!(shown.is_none_or(|shown| shown != ""), "{}", case.name);
                assert_eq!(
                    (Some(name), Some(fields)),
                    (case.message.as_deref(), case.fields),
                    "{}",
                    case.name
                );
                good += 1;
            }
            "malformed" => {
                assert!(parsed.is_err(), "{}", case.name);
                malformed += 1;
            }
            "ignored" => {
                assert_eq!(parsed, Ok(Control::Unknown), "{}", case.name);
                ignored += 1;
            }
            other => panic!("{}: {other}", case.name),
        }
    }
    assert_eq!((good, malformed, ignored), (104, 186, 12));
}

#[test]
fn codec_configurations_are_the_references() {
    let cases = load::<File>("control").codec_configurations;
    let (mut good, mut malformed) = (0, 0);
    for case in cases {
        assert!(case.message.is_none() && case.frame_bytes.is_none());
        let parsed = StreamInfo::parse(&case.bytes.0);
        if case.expect == "ok" {
            let info = parsed.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(info.to_bytes(), case.bytes.0, "{}", case.name);
            let fields = json!({
                "codec": match info.codec {
                    Codec::H264 => 1,
                    Codec::Mjpeg => 2,
                    Codec::H265 => 3,
                    Codec::Av1 => 4,
                },
                "width": info.width,
                "height": info.height,
                "rate_numerator": info.rate.numerator,
                "rate_denominator": info.rate.denominator,
                "parameters": hex(&info.parameters),
            });
            assert_eq!(Some(fields), case.fields, "{}", case.name);
            good += 1;
        } else {
            assert_eq!(case.expect, "malformed");
            assert!(parsed.is_err(), "{}", case.name);
            malformed += 1;
        }
    }
    assert_eq!((good, malformed), (9, 17));
}

#[test]
fn sound_configurations_are_the_references() {
    let cases = load::<File>("control").sound_configurations;
    let (mut good, mut malformed) = (0, 0);
    for case in cases {
        assert!(case.message.is_none() && case.frame_bytes.is_none());
        let parsed = Description::parse(SOUND_STREAM, &case.bytes.0);
        let on_video = Description::parse(1, &case.bytes.0);
        assert!(on_video.is_err(), "{}: sound on stream 1", case.name);
        if case.expect == "ok" {
            let Ok(Description::Sound(info)) = parsed else {
                panic!("{}: {parsed:?}", case.name)
            };
            assert_eq!(info.to_bytes(), case.bytes.0, "{}", case.name);
            let fields = json!({
                "codec": match info.codec {
                    SoundCodec::Aac => 16,
                    SoundCodec::Opus => 17,
                    SoundCodec::Ulaw => 18,
                    SoundCodec::Alaw => 19,
                },
                "channels": info.channels,
                "samples_per_second": info.samples_per_second,
                "samples_per_frame": info.samples_per_frame,
                "parameters": hex(&info.parameters),
            });
            assert_eq!(Some(fields), case.fields, "{}", case.name);
            good += 1;
        } else {
            assert_eq!(case.expect, "malformed");
            assert!(parsed.is_err(), "{}", case.name);
            malformed += 1;
        }
    }
    assert_eq!((good, malformed), (7, 23));
}

#[test]
fn preambles_are_the_references() {
    let cases = load::<File>("control").preambles;
    let (mut good, mut malformed) = (0, 0);
    for case in cases {
        assert!(case.message.is_none());
        let split = Preamble::split(&case.bytes.0);
        if case.expect == "ok" {
            let (preamble, frame) = split.unwrap_or_else(|error| panic!("{}: {error}", case.name));
            assert_eq!(
                Some(frame),
                case.frame_bytes.as_ref().map(|bytes| &bytes.0[..]),
                "{}",
                case.name
            );
            assert_eq!(
                [&preamble.to_bytes()[..], frame].concat(),
                case.bytes.0,
                "{}",
                case.name
            );
            let fields = json!({
                "frame": preamble.frame,
                "media_time": preamble.media_time,
                "captured": preamble.captured,
                "encoded": preamble.encoded,
                "previous_seal": preamble.previous_seal,
                "previous_send": preamble.previous_send,
                "capture": preamble.capture,
                "padding": preamble.padding,
                "stamp": preamble.to_bytes()[48],
                "layout": preamble.to_bytes()[49],
                "kept": preamble.to_bytes()[50],
            });
            assert_eq!(Some(fields), case.fields, "{}", case.name);
            good += 1;
        } else {
            assert_eq!(case.expect, "malformed");
            assert!(split.is_err(), "{}", case.name);
            malformed += 1;
        }
    }
    assert_eq!((good, malformed), (8, 17));
}
