//! Responses of real cameras, and responses that no camera should send.

use super::*;
use crate::rtsp::carried::CarriedHeader;
use crate::rtsp::message::{Message, Method, Request, put_data};
use crate::rtsp::reader::MessageReader;
use crate::rtsp::tracks::TrackSet;

const NOW: Duration = Duration::from_secs(100);

fn connect(url: &str) -> CameraClient {
    connect_by(url, Lower::Interleaved)
}

fn connect_by(url: &str, lower: Lower) -> CameraClient {
    let (url, credentials) = CameraUrl::parse(url).unwrap();
    let config = CameraConfig {
        url,
        redirects: 0,
        credentials,
        lower,
        entropy: [3; 16],
    };
    let mut client = CameraClient::new(config, NOW);
    client.handle(NOW, CameraInput::Timeout).unwrap();
    client
}

/// Requests and events of the client.
fn drain(client: &mut CameraClient) -> (Vec<Request>, Vec<CameraEvent>) {
    let (mut reader, mut events) = (MessageReader::default(), Vec::new());
    loop {
        match client.poll() {
            CameraOutput::Transmit(bytes) => reader.push(&bytes).unwrap(),
            CameraOutput::Event(event) => events.push(event),
            CameraOutput::Packet(..) => panic!("no packet was sent"),
            CameraOutput::Timeout(_) => break,
        }
    }
    let messages = std::iter::from_fn(|| reader.next_message().unwrap());
    let requests = messages.map(|message| match message {
        Message::Request(request) => request,
        other => panic!("{other:?}"),
    });
    (requests.collect(), events)
}

/// Responds to the outstanding request.
fn reply(client: &mut CameraClient, text: &str) -> Result<(), CameraError> {
    client.handle(NOW, CameraInput::Bytes(text.replace('\n', "\r\n").as_bytes()))
}

/// A client whose camera has sent this description, with this base.
fn described(base: &str, sdp: &str) -> CameraClient {
    let client = connect("rtsp://192.168.1.10/stream0");
    describe(client, base, sdp)
}

fn describe(mut client: CameraClient, base: &str, sdp: &str) -> CameraClient {
    reply(&mut client, "RTSP/1.0 200 OK\nCSeq: 1\nPublic: OPTIONS, DESCRIBE\n\n").unwrap();
    let length = sdp.replace('\n', "\r\n").len();
    let head = format!("RTSP/1.0 200 OK\nCSeq: 2\nContent-Base: {base}\nContent-Length: {length}\n\n");
    reply(&mut client, &(head + sdp)).unwrap();
    let (requests, events) = drain(&mut client);
    assert_eq!(requests.last().unwrap().method, Method::Describe);
    assert!(matches!(events[..], [CameraEvent::Described(_)]));
    client
}

fn play(client: &mut CameraClient, number: u32, tracks: u16) -> (Vec<Request>, Vec<CameraEvent>) {
    let verb = Verb::Play(TrackSet::from_bits(tracks));
    let command = CameraInput::Command(number, verb, &Parameters::default());
    client.handle(NOW, command).unwrap();
    drain(client)
}

const REOLINK: &str = "v=0\no=- 1 1 IN IP4 192.168.1.10\ns=x\na=control:*\nm=video 0 RTP/AVP 96\na=control:trackID=1\n\
    m=audio 0 RTP/AVP 97\na=control:trackID=2\n";

#[test]
fn a_camera_whose_base_is_no_url_is_set_up_and_played_all_the_same() {
    let mut client = described("192.168.1.10:554/stream0/", REOLINK);
    let (requests, _) = play(&mut client, 9, 0b11);
    assert_eq!(requests[0].url, "rtsp://192.168.1.10/stream0/trackID=1");
    assert_eq!(
        requests[0].headers.get("Transport"),
        Some("RTP/AVP/TCP;unicast;interleaved=0-1")
    );
    let granted = "RTSP/1.0 200 OK\nCSeq: 3\nSession: 708886412;timeout=60\n\
        Transport: RTP/AVP/TCP;unicast;interleaved=0-1;ssrc= d6d6627\n\n";
    reply(&mut client, granted).unwrap();
    let (requests, _) = drain(&mut client);
    assert_eq!(requests[0].url, "rtsp://192.168.1.10/stream0/trackID=2");
    assert_eq!(requests[0].headers.get("Session"), Some("708886412"));
    // Some cameras omit CSeq.
    reply(
        &mut client,
        "RTSP/1.0 200 OK\nTransport: RTP/AVP/TCP;unicast;interleaved=2-3\n\n",
    )
    .unwrap();
    let (requests, _) = drain(&mut client);
    assert_eq!(
        (&requests[0].method, requests[0].url.as_str()),
        (&Method::Play, "rtsp://192.168.1.10/stream0")
    );
    let info = "url=trackID=1;seq=16852;rtptime=1070938629;ssrc=dcc4a0d8,url=trackID=2;seq=39409;rtptime=3075976528";
    reply(&mut client, &format!("RTSP/1.0 200 OK\nCSeq: 5\nRTP-Info: {info}\n\n")).unwrap();
    let (_, events) = drain(&mut client);
    let [
        CameraEvent::Answered {
            number: 9,
            status,
            with,
        },
    ] = &events[..]
    else {
        panic!("{events:?}")
    };
    assert!(status.is_ok());
    let info = with.get(CarriedHeader::RtpInfo);
    assert_eq!(
        info,
        Some("url=track0;seq=16852;rtptime=1070938629,url=track1;seq=39409;rtptime=3075976528")
    );
}

#[test]
fn packets_among_the_answers_are_handed_out_and_others_are_dropped() {
    let mut client = described("rtsp://192.168.1.10/stream0/", REOLINK);
    play(&mut client, 1, 0b10);
    reply(
        &mut client,
        "RTSP/1.0 200 OK\nCSeq: 3\nSession: 1\nTransport: RTP/AVP/TCP;interleaved=6-7\n\n",
    )
    .unwrap();
    drain(&mut client);
    let mut bytes = Vec::new();
    put_data(&mut bytes, 6, b"early");
    put_data(&mut bytes, 0, b"of no track");
    put_data(&mut bytes, 6, b"");
    bytes.extend_from_slice(b"RTSP/1.0 200 OK\r\nCSeq: 4\r\n\r\n");
    put_data(&mut bytes, 7, b"report");
    client.handle(NOW, CameraInput::Bytes(&bytes)).unwrap();
    let came: Vec<(u8, Bytes)> = std::iter::from_fn(|| match client.poll() {
        CameraOutput::Timeout(_) => None,
        CameraOutput::Packet(channel, packet) => Some(Some((channel.number(), packet))),
        _ => Some(None),
    })
    .flatten()
    .collect();
    assert_eq!(came, [(2, Bytes::from("early")), (3, Bytes::from("report"))]);
}

#[test]
fn a_wrong_password_is_an_error_that_does_not_say_it() {
    let mut client = connect("rtsp://admin:s3cret@192.168.1.10/stream0");
    let refused = |cseq: u32| {
        format!(
            "RTSP/1.0 401 Unauthorized\nCSeq: {cseq} \n\
             WWW-Authenticate: Digest realm=\"Surveillance Server\", nonce=\"98481030\"\n\n"
        )
    };
    reply(&mut client, &refused(1)).unwrap();
    let (requests, _) = drain(&mut client);
    assert!(
        requests[1]
            .headers
            .get("Authorization")
            .unwrap()
            .contains("username=\"admin\"")
    );
    let error = reply(&mut client, &refused(2)).unwrap_err();
    assert_eq!(error, CameraError::Auth(AuthError::Refused));
    assert!(!error.to_string().contains("s3cret") && !error.to_string().contains("admin"));

    let mut nobody = connect("rtsp://192.168.1.10/stream0");
    assert_eq!(
        reply(&mut nobody, &refused(1)),
        Err(CameraError::Auth(AuthError::NoCredentials))
    );
}

#[test]
fn a_camera_that_changes_its_nonce_without_end_is_not_followed() {
    let mut client = connect("rtsp://admin:s3cret@192.168.1.10/stream0");
    let error = (1..100_u32).find_map(|cseq| {
        let challenge = format!("WWW-Authenticate: Digest realm=\"x\", nonce=\"{cseq}\"");
        reply(
            &mut client,
            &format!("RTSP/1.0 401 Unauthorized\nCSeq: {cseq}\n{challenge}\n\n"),
        )
        .err()
    });
    assert_eq!(error, Some(CameraError::Auth(AuthError::Refused)));
}

#[test]
fn what_a_camera_refuses_its_player_hears() {
    let mut client = described("rtsp://192.168.1.10/stream0/", REOLINK);
    let (_, events) = play(&mut client, 4, 0b100);
    let expect = |events: &[CameraEvent], expected: u16| {
        assert!(
            matches!(events, [.., CameraEvent::Answered { status, .. }] if status.code() == expected),
            "{events:?}"
        );
    };
    expect(&events, 404);
    play(&mut client, 5, 0b1);
    reply(&mut client, "RTSP/1.0 453 Not Enough Bandwidth\nCSeq: 3\n\n").unwrap();
    expect(&drain(&mut client).1, 453);
    play(&mut client, 6, 0b1);
    reply(
        &mut client,
        "RTSP/1.0 200 OK\nCSeq: 4\nTransport: RTP/AVP;multicast;port=5000-5001\n\n",
    )
    .unwrap();
    assert!(matches!(drain(&mut client).1[..], [CameraEvent::OpenPorts { .. }]));
    client.handle(NOW, CameraInput::Ports(None)).unwrap();
    expect(&drain(&mut client).1, 461);
    let pause = CameraInput::Command(7, Verb::Pause, &Parameters::default());
    client.handle(NOW, pause).unwrap();
    expect(&drain(&mut client).1, 455);
}

#[test]
fn commands_that_a_camera_does_not_get_to_are_bounded() {
    let mut client = described("rtsp://192.168.1.10/stream0/", REOLINK);
    let with = Parameters::default();
    for number in 0..100 {
        client
            .handle(NOW, CameraInput::Command(number, Verb::GetParameter, &with))
            .unwrap();
    }
    let (requests, events) = drain(&mut client);
    assert_eq!(requests.len(), 1);
    assert_eq!(events.len(), 100 - 1 - MAX_COMMANDS);
}

#[test]
fn a_session_that_the_camera_forgot_is_over() {
    let mut client = described("rtsp://192.168.1.10/stream0/", REOLINK);
    play(&mut client, 1, 0b1);
    reply(
        &mut client,
        "RTSP/1.0 200 OK\nCSeq: 3\nSession: 1\nTransport: RTP/AVP/TCP;interleaved=0-1\n\n",
    )
    .unwrap();
    assert_eq!(
        reply(&mut client, "RTSP/1.0 454 Session Not Found\nCSeq: 4\n\n"),
        Err(CameraError::SessionLost)
    );
}

#[test]
fn a_camera_cannot_make_us_ask_without_pause() {
    for (said, seconds) in [
        ("1;timeout=0", 30),
        ("1;timeout=1", 2),
        ("1; timeout=120", 60),
        ("1", 30),
        ("1;timeout=x", 30),
    ] {
        let mut client = described("rtsp://192.168.1.10/stream0/", REOLINK);
        play(&mut client, 1, 0b1);
        let setup = format!("RTSP/1.0 200 OK\nCSeq: 3\nSession: {said}\nTransport: RTP/AVP/TCP;interleaved=0-1\n\n");
        reply(&mut client, &setup).unwrap();
        reply(&mut client, "RTSP/1.0 200 OK\nCSeq: 4\n\n").unwrap();
        drain(&mut client);
        let CameraOutput::Timeout(at) = client.poll() else {
            panic!("all was said")
        };
        assert_eq!(at, NOW + Duration::from_secs(seconds), "{said}");
        client.handle(at, CameraInput::Timeout).unwrap();
        assert_eq!(
            drain(&mut client).0[0].method,
            Method::Options,
            "it did not list GET_PARAMETER"
        );
    }
}

#[test]
fn over_tls_no_packet_is_asked_for_in_datagrams_whatever_was_preferred() {
    for (scheme, retried) in [("rtsp", true), ("rtsps", false)] {
        for (lower, offers) in [
            (Lower::Interleaved, ["RTP/AVP/TCP", "RTP/AVP;"]),
            (Lower::Udp, ["RTP/AVP;", "RTP/AVP/TCP"]),
        ] {
            let url = format!("{scheme}://192.168.1.10/stream0");
            let mut client = describe(connect_by(&url, lower), &url, REOLINK);
            let set_up = |mut asked: (Vec<Request>, Vec<CameraEvent>), client: &mut CameraClient| {
                if let [CameraEvent::OpenPorts { .. }] = asked.1[..] {
                    let ports = PortPair { rtp: 5000, rtcp: 5001 };
                    client.handle(NOW, CameraInput::Ports(Some(ports))).unwrap();
                    asked = drain(client);
                }
                asked
            };
            let asked = play(&mut client, 1, 0b1);
            let (first, _) = set_up(asked, &mut client);
            let offered = |requests: &[Request]| requests[0].headers.get("Transport").unwrap().to_owned();
            let expected = if retried { offers[0] } else { "RTP/AVP/TCP" };
            assert!(offered(&first).starts_with(expected), "{url} {lower:?}");
            reply(&mut client, "RTSP/1.0 461 Unsupported Transport\nCSeq: 3\n\n").unwrap();
            let asked = drain(&mut client);
            let (second, events) = set_up(asked, &mut client);
            if retried {
                assert!(offered(&second).starts_with(offers[1]), "{url} {lower:?}");
            } else {
                let refused =
                    |event: &CameraEvent| matches!(event, CameraEvent::Answered { status, .. } if !status.is_ok());
                assert!(second.is_empty() && events.iter().any(refused), "{events:?}");
            }
        }
    }
}

#[test]
fn a_camera_that_describes_nothing_says_why() {
    let failure = |answer: &str| {
        let mut client = connect("rtsp://192.168.1.10/stream0");
        reply(&mut client, "RTSP/1.0 200 OK\nCSeq: 1\n\n").unwrap();
        // Without a length the description may still come.
        let answered = reply(&mut client, answer);
        let later = NOW + DESCRIPTION_PATIENCE;
        answered
            .and_then(|()| client.handle(later, CameraInput::Timeout))
            .unwrap_err()
    };
    assert_eq!(failure("RTSP/1.0 404 Not Found\nCSeq: 2\n\n"), CameraError::Status(404));
    assert_eq!(
        failure("RTSP/1.0 200 OK\nCSeq: 2\n\n"),
        CameraError::Description(DescriptionError::NoTracks)
    );
}

#[test]
fn a_camera_may_ask_whether_we_are_there() {
    let mut client = connect("rtsp://192.168.1.10/stream0");
    while !matches!(client.poll(), CameraOutput::Timeout(_)) {}
    reply(&mut client, "OPTIONS * RTSP/1.0\nCSeq: 77\n\n").unwrap();
    let CameraOutput::Transmit(bytes) = client.poll() else {
        panic!("it is answered")
    };
    assert_eq!(bytes, b"RTSP/1.0 200 OK\r\nCSeq: 77\r\n\r\n");
}
