//! Answers of cameras to SETUP.

use super::{Call, Row, check, plays, plays_the_picture_alone, status, with};
use crate::rtsp::client::Lower;
use crate::rtsp::message::{Method, Request, Response};

fn transport(asked: &Request, right: Response, value: Option<&str>) -> Vec<u8> {
    with(asked, Method::Setup, right, "Transport", value)
}

const TCP: &[Row] = &[
    ("none", |_, asked, right| transport(asked, right, None), plays),
    (
        "no channels",
        |_, asked, right| transport(asked, right, Some("RTP/AVP/TCP;unicast")),
        plays,
    ),
    (
        "another profile",
        |_, asked, right| transport(asked, right, Some("RTP/AVP/UDP;unicast")),
        plays,
    ),
    (
        "nonsense",
        |_, asked, right| transport(asked, right, Some("yes")),
        plays,
    ),
    (
        "channels of its own choice",
        |camera, asked, right| {
            let number = camera.channels.len() * 2 + 6;
            if asked.method == Method::Setup {
                *camera.channels.last_mut().unwrap() = u8::try_from(number).unwrap();
            }
            transport(
                asked,
                right,
                Some(&format!("RTP/AVP/TCP; unicast; interleaved={number}")),
            )
        },
        plays,
    ),
    (
        "the same channels for both tracks, where it uses those that it was offered",
        |_, asked, right| transport(asked, right, Some("RTP/AVP/TCP;unicast;interleaved=0-1")),
        plays,
    ),
    (
        "461, or ports without a word",
        |camera, asked, right| {
            let tcp = asked
                .headers
                .get("Transport")
                .is_some_and(|offer| offer.contains("TCP"));
            camera.count += u32::from(tcp);
            if tcp && camera.count == 1 {
                return status(asked, 461).to_bytes();
            }
            if tcp {
                return transport(asked, right, Some("RTP/AVP;unicast;client_port=1-2;server_port=3-4"));
            }
            right.to_bytes()
        },
        plays,
    ),
    (
        "a SETUP of the sound that fails",
        |camera, asked, right| {
            if asked.method == Method::Setup && asked.url.ends_with("trackID=1") {
                camera.channels.truncate(1);
                return status(asked, 404).to_bytes();
            }
            right.to_bytes()
        },
        plays_the_picture_alone,
    ),
    (
        "a SETUP of the picture that fails",
        |_, asked, right| {
            let picture = asked.method == Method::Setup && asked.url.ends_with("trackID=0");
            if picture {
                status(asked, 453).to_bytes()
            } else {
                right.to_bytes()
            }
        },
        |came| assert_eq!((came.played, &came.refused[..]), (Some(453), &[0][..])),
    ),
];

const UDP: &[Row] = &[
    ("as it should be", |_, _, right| right.to_bytes(), plays),
    ("none", |_, asked, right| transport(asked, right, None), plays),
    (
        "no ports",
        |_, asked, right| transport(asked, right, Some("RTP/AVP/UDP;unicast")),
        plays,
    ),
    (
        "0-0",
        |_, asked, right| transport(asked, right, Some("RTP/AVP;unicast;server_port=0-0")),
        plays,
    ),
    (
        "one",
        |_, asked, right| transport(asked, right, Some("RTP/AVP; unicast; server_port=7000")),
        plays,
    ),
    (
        "apart",
        |_, asked, right| transport(asked, right, Some("RTP/AVP;server_port=7000-9000")),
        plays,
    ),
    (
        "a name",
        |_, asked, right| transport(asked, right, Some("RTP/AVP;source=cam.example;server_port=x")),
        plays,
    ),
    (
        "461",
        |camera, asked, right| {
            if asked
                .headers
                .get("Transport")
                .is_some_and(|offer| !offer.contains("TCP"))
            {
                camera.udp = false;
                return status(asked, 461).to_bytes();
            }
            right.to_bytes()
        },
        plays,
    ),
    (
        "the connection, without being asked",
        |camera, asked, right| {
            camera.udp = false;
            let number = u8::try_from(camera.channels.len() * 2).unwrap();
            if asked.method == Method::Setup {
                camera.channels.push(number);
            }
            transport(
                asked,
                right,
                Some(&format!("RTP/AVP/TCP;interleaved={number}-{}", number + 1)),
            )
        },
        plays,
    ),
];

#[test]
fn transports_are_taken_as_they_are_meant() {
    check(TCP, Call::default());
    let call = Call {
        lower: Lower::Udp,
        ..Call::default()
    };
    check(UDP, call);
}
