//! Requests of players, in and out of order, and the responses to them.

use super::*;
use crate::rtsp::auth::Authenticator;
use crate::rtsp::carried::CarriedHeader;
use crate::rtsp::message::{Message, Method, Request, Response, put_data};
use crate::rtsp::reader::MessageReader;
use crate::rtsp::tracks::TrackSet;
use crate::rtsp::transport::Route;

const NOW: Duration = Duration::from_secs(100);
const URL: &str = "rtsp://127.0.0.1:9554/front";
const TWO_TRACKS: &[u8] = b"v=0\r\ns=-\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\na=control:track0\r\n\
    m=audio 0 RTP/AVP 8\r\na=control:track1\r\n";
const SESSION: &str = "0707070707070707";

fn open(udp: bool, login: bool) -> PlayerServer {
    let credentials = Credentials::new("viewer", "sesame".to_owned());
    let config = PlayerConfig {
        login: login.then_some((credentials, DigestAlgorithm::Md5)),
        udp,
        entropy: [7; 32],
    };
    PlayerServer::new(config, NOW)
}

/// Responses and events of the server.
fn drain(player: &mut PlayerServer) -> (Vec<Response>, Vec<PlayerEvent>) {
    let (mut reader, mut events) = (MessageReader::default(), Vec::new());
    loop {
        match player.poll() {
            PlayerOutput::Transmit(bytes) => reader.push(&bytes).unwrap(),
            PlayerOutput::Event(event) => events.push(event),
            PlayerOutput::Timeout(_) => break,
        }
    }
    let messages = std::iter::from_fn(|| reader.next_message().unwrap());
    let responses = messages.map(|message| match message {
        Message::Response(response) => response,
        other => panic!("{other:?}"),
    });
    (responses.collect(), events)
}

fn say(player: &mut PlayerServer, text: &str) -> (Vec<Response>, Vec<PlayerEvent>) {
    player.handle(NOW, PlayerInput::Bytes(text.as_bytes())).unwrap();
    drain(player)
}

/// The status of the one response to a request with these headers.
fn status(player: &mut PlayerServer, line: &str, headers: &str) -> u16 {
    let (responses, events) = say(player, &format!("{line} RTSP/1.0\r\nCSeq: 5\r\n{headers}\r\n"));
    assert!(events.is_empty(), "{line}: {events:?}");
    assert_eq!(responses.len(), 1, "{line}");
    assert_eq!(responses[0].headers.get("CSeq"), Some("5"));
    responses[0].status
}

fn answer(player: &mut PlayerServer, number: u32, answer: PlayerAnswer<'_>) -> (Vec<Response>, Vec<PlayerEvent>) {
    player.handle(NOW, PlayerInput::Answer(number, answer)).unwrap();
    drain(player)
}

fn described(udp: bool) -> PlayerServer {
    let mut player = open(udp, false);
    let (_, events) = say(&mut player, &format!("DESCRIBE {URL} RTSP/1.0\r\nCSeq: 1\r\n\r\n"));
    let path = "front".to_owned();
    assert_eq!(events, [PlayerEvent::Describe { number: 1, path }]);
    let (responses, _) = answer(&mut player, 1, PlayerAnswer::Described(Ok(TWO_TRACKS)));
    assert_eq!(
        responses[0].headers.get("Content-Base"),
        Some("rtsp://127.0.0.1:9554/front/")
    );
    assert_eq!(responses[0].body, TWO_TRACKS);
    player
}

fn interleaved(track: u8) -> (String, String) {
    let channels = format!("{}-{}", 2 * track, 2 * track + 1);
    let transport = format!("Transport: RTP/AVP/TCP;unicast;interleaved={channels}\r\n");
    (format!("SETUP {URL}/track{track}"), transport)
}

fn set_up() -> PlayerServer {
    let mut player = described(true);
    let (line, transport) = interleaved(0);
    assert_eq!(status(&mut player, &line, &transport), 200);
    player
}

/// A state, a request in that state with its headers, and the expected status.
type Case<'a> = (fn() -> PlayerServer, &'a str, &'a str, u16);

fn fresh() -> PlayerServer {
    open(true, false)
}

#[test]
fn requests_out_of_turn_get_the_status_that_says_why() {
    let session = format!("Session: {SESSION}\r\n");
    let (set_up_line, transport) = interleaved(0);
    let cases: [Case<'_>; 21] = [
        (fresh, &set_up_line, &transport, 455),
        (fresh, "PLAY rtsp://127.0.0.1:9554/front", "", 455),
        (fresh, "PLAY rtsp://127.0.0.1:9554/front", &session, 454),
        (fresh, "TEARDOWN rtsp://127.0.0.1:9554/front", "", 454),
        (fresh, "DESCRIBE *", "", 404),
        (fresh, "OPTIONS *", "", 200),
        (fresh, "GET_PARAMETER *", "", 200),
        (fresh, "ANNOUNCE rtsp://127.0.0.1:9554/front", "", 405),
        (fresh, "RECORD rtsp://127.0.0.1:9554/front", "", 405),
        (fresh, "BREW rtsp://127.0.0.1:9554/front", "", 501),
        (fresh, "OPTIONS *", "Require: implicit-play\r\n", 551),
        (|| described(true), &set_up_line, "", 400),
        (
            || described(true),
            &set_up_line,
            "Transport: RTP/AVP;multicast\r\n",
            461,
        ),
        (
            || described(false),
            &set_up_line,
            "Transport: RTP/AVP;unicast;client_port=5000-5001\r\n",
            461,
        ),
        (
            || described(true),
            "SETUP rtsp://127.0.0.1:9554/front/track2",
            &transport,
            404,
        ),
        (
            || described(true),
            "SETUP rtsp://127.0.0.1:9554/back/track0",
            &transport,
            404,
        ),
        (|| described(true), "SETUP rtsp://127.0.0.1:9554/front", &transport, 459),
        (set_up, "PLAY rtsp://127.0.0.1:9554/front", "", 454),
        (set_up, "PLAY rtsp://127.0.0.1:9554/front", "Session: 1\r\n", 454),
        (set_up, "PLAY rtsp://127.0.0.1:9554/back", &session, 404),
        (set_up, "DESCRIBE rtsp://127.0.0.1:9554/back", &session, 455),
    ];
    for (state, line, headers, expected) in cases {
        assert_eq!(status(&mut state(), line, headers), expected, "{line} {headers}");
    }
    let (responses, _) = say(&mut fresh(), "RECORD * RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    assert!(responses[0].headers.get("Public").unwrap().contains("TEARDOWN"));
    let (responses, _) = say(&mut fresh(), "OPTIONS * RTSP/2.0\r\nCSeq: 1\r\n\r\n");
    assert_eq!(responses[0].status, 505);
}

#[test]
fn a_request_without_a_number_is_refused_and_no_number_is_made_up() {
    for cseq in ["", "CSeq: x\r\n", "CSeq: -1\r\n", "CSeq: 4294967296\r\n"] {
        let (responses, _) = say(&mut open(true, false), &format!("OPTIONS * RTSP/1.0\r\n{cseq}\r\n"));
        assert_eq!((responses[0].status, responses[0].headers.get("CSeq")), (400, None));
    }
}

#[test]
fn what_is_no_rtsp_gets_an_answer_and_the_end() {
    let mut player = open(true, false);
    let handled = player.handle(NOW, PlayerInput::Bytes(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_eq!(handled, Err(PlayerError::NotRtsp(NotRtsp::FirstLine)));
    assert_eq!(drain(&mut player).0[0].status, 400);
    assert_eq!(player.handle(NOW, PlayerInput::Timeout), Err(PlayerError::Misuse));
}

/// Recorded from VLC's SAT>IP module: it sends SETUP before DESCRIBE, and puts the password into the URL.
#[test]
fn a_player_that_writes_its_password_into_the_url_is_not_shown_it_again() {
    let setup = "SETUP rtsp://viewer:sesame@127.0.0.1:9554/front RTSP/1.0\r\nCSeq: 0\r\n\
        Transport: RTP/AVP;unicast;client_port=9138-9139\r\n\r\n";
    let mut player = open(true, true);
    let (responses, events) = say(&mut player, setup);
    assert_eq!((responses[0].status, events.len()), (401, 0));

    let mut player = open(true, false);
    assert_eq!(say(&mut player, setup).0[0].status, 455);
    let (_, events) = say(&mut player, &setup.replace("SETUP", "DESCRIBE"));
    assert!(!format!("{events:?}").contains("sesame"));
    let (responses, _) = answer(&mut player, 1, PlayerAnswer::Described(Ok(TWO_TRACKS)));
    assert_eq!(
        responses[0].headers.get("Content-Base"),
        Some("rtsp://127.0.0.1:9554/front/")
    );
}

#[test]
fn wrong_credentials_end_the_connection_in_the_end() {
    let mut player = open(true, true);
    let request = format!("DESCRIBE {URL} RTSP/1.0\r\nCSeq: 5\r\n\r\n");
    for _ in 0..MAX_LOGINS {
        assert_eq!(say(&mut player, &request).0[0].status, 401);
    }
    let handled = player.handle(NOW, PlayerInput::Bytes(request.as_bytes()));
    assert_eq!(handled, Err(PlayerError::Login));
}

/// A DESCRIBE with an answer to the server's challenge.
fn authorized(password: &str) -> String {
    let mut asked = Request::new(Method::Describe, URL.to_owned());
    let challenge = say(
        &mut open(true, true),
        &format!("DESCRIBE {URL} RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
    );
    let credentials = Credentials::new("viewer", password.to_owned());
    let mut authenticator = Authenticator::new(Some(credentials), [1; 16]);
    authenticator.challenged(&challenge.0[0], false).unwrap();
    assert!(authenticator.authorize(&mut asked));
    asked.headers.add("CSeq", "7");
    String::from_utf8(asked.to_bytes()).unwrap()
}

#[test]
fn whether_a_password_is_right_is_told_when_the_program_says_so() {
    for (password, right) in [("sesame", true), ("wrong", false)] {
        let mut player = open(true, true);
        let twice = authorized(password).repeat(2);
        let (responses, events) = say(&mut player, &twice);
        assert_eq!(
            (responses.len(), &events[..]),
            (0, &[PlayerEvent::Login { number: 1, right }][..])
        );
        assert!(!player.is_logged_in());
        let (responses, events) = answer(&mut player, 1, PlayerAnswer::Login);
        assert_eq!(player.is_logged_in(), right);
        if right {
            let path = "front".to_owned();
            assert_eq!(
                (responses.len(), events),
                (0, vec![PlayerEvent::Describe { number: 2, path }])
            );
            continue;
        }
        assert_eq!(
            (responses[0].status, responses[0].headers.get("CSeq")),
            (401, Some("7"))
        );
        assert_eq!(
            events,
            [PlayerEvent::Login { number: 2, right }],
            "each guess is asked about"
        );
    }
}

#[test]
fn a_login_that_the_program_forgets_is_answered_in_the_end() {
    let mut player = open(true, true);
    say(&mut player, &authorized("wrong"));
    player.handle(NOW + ANSWER_PATIENCE, PlayerInput::Timeout).unwrap();
    assert_eq!(drain(&mut player).0[0].status, 401);
}

#[test]
fn channels_that_are_taken_are_replaced_by_free_ones() {
    let mut player = set_up();
    let (_, transport) = interleaved(0);
    let (responses, _) = say(
        &mut player,
        &format!("SETUP {URL}/track1 RTSP/1.0\r\nCSeq: 5\r\n{transport}\r\n"),
    );
    let granted = responses[0].headers.get("Transport");
    assert_eq!(granted, Some("RTP/AVP/TCP;unicast;interleaved=2-3"));
}

#[test]
fn what_a_player_says_to_the_camera_crosses_and_so_does_the_answer() {
    let mut player = set_up();
    let play = format!(
        "PLAY {URL}/ RTSP/1.0\r\nCSeq: 6\r\nSession: {SESSION}\r\nRange: npt=5-\r\nScale: 2\r\nX-Secret: 1\r\n\r\n"
    );
    let (responses, events) = say(&mut player, &play);
    let mut tracks = TrackSet::default();
    tracks.insert(Track::new(0).unwrap());
    let mut with = Parameters::default();
    with.set(CarriedHeader::Range, "npt=5-".into());
    with.set(CarriedHeader::Scale, "2".into());
    let verb = Verb::Play(tracks);
    assert!(responses.is_empty());
    assert_eq!(events, [PlayerEvent::Command { number: 2, verb, with }]);

    let channel = Channel {
        track: Track::new(0).unwrap(),
        rtcp: true,
    };
    assert_eq!(player.route(channel), None, "not before the camera plays");
    let mut with = Parameters::default();
    with.set(CarriedHeader::RtpInfo, "url=track0;seq=1".into());
    let (responses, _) = answer(&mut player, 2, PlayerAnswer::Done(CarriedStatus::OK, &with));
    let info = responses[0].headers.get("RTP-Info");
    assert_eq!(info, Some("url=rtsp://127.0.0.1:9554/front/track0;seq=1"));
    assert_eq!(player.route(channel), Some(Route::Interleaved(1)));

    let body = "GET_PARAMETER * RTSP/1.0\r\nCSeq: 7\r\nSession: 0707070707070707\r\nContent-Length: 6\r\n\r\njitter";
    let (_, events) = say(&mut player, &body.replace('*', URL));
    assert!(matches!(&events[..], [PlayerEvent::Command { with, .. }] if with.body == b"jitter"));
}

#[test]
fn an_answer_that_does_not_come_is_a_504_and_one_that_comes_late_is_nothing() {
    let mut player = open(true, false);
    let describe = format!("DESCRIBE {URL} RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    say(&mut player, &describe);
    // Requests that arrive meanwhile wait.
    assert_eq!(say(&mut player, "OPTIONS * RTSP/1.0\r\nCSeq: 2\r\n\r\n").0.len(), 0);
    player.handle(NOW + ANSWER_PATIENCE, PlayerInput::Timeout).unwrap();
    let statuses: Vec<u16> = drain(&mut player).0.iter().map(|response| response.status).collect();
    assert_eq!(statuses, [504, 200]);
    assert_eq!(
        answer(&mut player, 1, PlayerAnswer::Described(Ok(TWO_TRACKS))).0.len(),
        0
    );
    let (_, events) = say(&mut player, &describe);
    assert!(matches!(events[..], [PlayerEvent::Describe { number: 2, .. }]));
    assert_eq!(
        answer(&mut player, 1, PlayerAnswer::Described(Ok(TWO_TRACKS))).0.len(),
        0
    );
    let refused = CarriedStatus::of_camera(404);
    assert_eq!(
        answer(&mut player, 2, PlayerAnswer::Described(Err(refused))).0[0].status,
        404
    );
}

#[test]
fn a_player_over_udp_that_is_silent_is_gone() {
    let mut player = described(true);
    let setup =
        format!("SETUP {URL}/track1 RTSP/1.0\r\nCSeq: 2\r\nTransport: RTP/AVP;unicast;client_port=5000\r\n\r\n");
    let (_, events) = say(&mut player, &setup);
    let client = PortPair { rtp: 5000, rtcp: 5001 };
    let track = Track::new(1).unwrap();
    assert_eq!(
        events,
        [PlayerEvent::OpenPorts {
            number: 2,
            track,
            client
        }]
    );
    let ports = PortPair { rtp: 7000, rtcp: 7001 };
    let (responses, _) = answer(&mut player, 2, PlayerAnswer::Ports(Some(ports)));
    let granted = responses[0].headers.get("Transport");
    assert_eq!(
        granted,
        Some("RTP/AVP;unicast;client_port=5000-5001;server_port=7000-7001")
    );

    let alive = NOW + PLAYER_TIMEOUT / 2;
    player.handle(alive, PlayerInput::Alive).unwrap();
    assert!(matches!(player.poll(), PlayerOutput::Timeout(at) if at == alive + PLAYER_TIMEOUT));
    let handled = player.handle(alive + PLAYER_TIMEOUT, PlayerInput::Timeout);
    assert_eq!(handled, Err(PlayerError::Silent));
    assert_eq!(drain(&mut player).1, [PlayerEvent::TornDown]);
}

#[test]
fn a_player_that_does_not_wait_is_bounded() {
    let mut player = open(true, false);
    say(&mut player, &format!("DESCRIBE {URL} RTSP/1.0\r\nCSeq: 1\r\n\r\n"));
    let mut flood = Vec::new();
    put_data(&mut flood, 1, &[0; 60_000]);
    let error = (0..100).find_map(|_| player.handle(NOW, PlayerInput::Bytes(&flood)).err());
    assert_eq!(error, Some(PlayerError::NotRtsp(NotRtsp::Unread)));
}

#[test]
fn a_packet_before_the_login_ends_the_connection_with_its_first_byte() {
    for bytes in [b"$".as_slice(), b"$\0\xff\xff", b"\r\n$\x01\0\x01x"] {
        let mut player = open(true, true);
        let ended = player.handle(NOW, PlayerInput::Bytes(bytes));
        assert_eq!(ended, Err(PlayerError::DataBeforeLogin), "{bytes:02x?}");
        let mut open_to_all = open(true, false);
        assert_eq!(
            open_to_all.handle(NOW, PlayerInput::Bytes(bytes)),
            Ok(()),
            "{bytes:02x?}"
        );
    }
    let mut late = open(true, true);
    say(&mut late, "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n");
    let ended = late.handle(NOW, PlayerInput::Bytes(b"$"));
    assert_eq!(ended, Err(PlayerError::DataBeforeLogin));
}
