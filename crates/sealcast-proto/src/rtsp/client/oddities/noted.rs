//! Report of the oddities that were passed over.

use super::redirects::refer;
use super::{Call, Camera, Deviation, edited, session_for_each_track, status, watch, with, with_lines};
use crate::rtsp::client::Lower;
use crate::rtsp::message::Method;
use crate::rtsp::oddity::Oddity::{self, *};

/// Deviation, and all that is told of it.
const NOTED: &[(Deviation, &[Oddity])] = &[
    (|_, _, right| right.to_bytes(), &[]),
    (|_, _, right| edited(&right, "RTSP/1.0 200 OK", "RTSP/1.0 200"), &[]),
    (|_, _, right| with_lines(&right, b"Server Cam 1\r\n"), &[Head]),
    (|_, _, right| edited(&right, "RTSP/1.0", "HTTP/1.1"), &[Head]),
    (
        |_, asked, right| with(asked, asked.method.clone(), right, "CSeq", None),
        &[Unnumbered],
    ),
    (
        |_, asked, right| with(asked, asked.method.clone(), right, "CSeq", Some("77")),
        &[Misnumbered],
    ),
    (
        |_, asked, right| match asked.method {
            Method::Describe => edited(&right, "Content-Length: ", "X-Length: "),
            _ => right.to_bytes(),
        },
        &[DescriptionLength],
    ),
    (
        |camera, _, right| {
            camera.junk = b"ERROR: buffer full\r\n";
            right.to_bytes()
        },
        &[Junk],
    ),
    (
        |_, asked, right| match asked.method {
            Method::Options => Vec::new(),
            _ => right.to_bytes(),
        },
        &[OptionsUnanswered],
    ),
    (
        |_, asked, right| match asked.method {
            Method::GetParameter => Vec::new(),
            _ => right.to_bytes(),
        },
        &[KeepAliveUnanswered],
    ),
    (
        |_, asked, right| match asked.method {
            Method::GetParameter => status(asked, 501).to_bytes(),
            _ => right.to_bytes(),
        },
        &[KeepAliveRefused],
    ),
    (
        |_, asked, right| match asked.method {
            Method::Play => Vec::new(),
            _ => right.to_bytes(),
        },
        &[PlayUnanswered],
    ),
    (
        |_, asked, right| with(asked, Method::Setup, right, "Session", None),
        &[SessionLate],
    ),
    (
        |_, asked, right| with(asked, Method::Play, right, "Session", Some("other")),
        &[SessionChanges],
    ),
    (session_for_each_track, &[SessionPerTrack]),
    (
        |_, asked, right| with(asked, Method::Setup, right, "Transport", None),
        &[NoTransport],
    ),
    (
        |_, asked, right| {
            let channels = Some("RTP/AVP/TCP;unicast;interleaved=0-1");
            with(asked, Method::Setup, right, "Transport", channels)
        },
        &[ChannelsTaken],
    ),
    (
        |_, asked, right| match asked.headers.get("Transport") {
            Some(offer) if offer.contains("TCP") => status(asked, 461).to_bytes(),
            _ => right.to_bytes(),
        },
        &[OtherTransport],
    ),
    (|_, asked, right| refer(asked, &right, 302, "/there"), &[Redirect]),
];

#[test]
fn what_is_passed_over_is_told_and_nothing_else() {
    for (number, (deviation, told)) in NOTED.iter().enumerate() {
        let came = watch(Camera::new(*deviation), Call::default());
        let oddities = came.oddities.iter().collect::<Vec<_>>();
        assert_eq!((&oddities[..], came.error), (*told, None), "row {number}");
        assert!(oddities.iter().all(|oddity| oddity.to_string().contains(": ")));
    }
    let call = Call {
        lower: Lower::Udp,
        ..Call::default()
    };
    let came = watch(
        Camera::new(|_, asked, right| with(asked, Method::Setup, right, "Transport", Some("RTP/AVP;unicast"))),
        call,
    );
    assert_eq!(came.oddities.iter().collect::<Vec<_>>(), [NoPorts]);
}
