//! Both gateways' state machines, and everything that passes between them, in memory. Recorded players are on one side,
//! and a camera that answers as real ones do on the other.

use std::time::Duration;

use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraError, CameraEvent, CameraInput, CameraNumber, CameraOutput, CameraUrl,
    CarriedStatus, Channel, Credentials, DigestAlgorithm, GatewayMessage, Lower, Message, MessageReader, Method,
    Parameters, PlayerAnswer, PlayerConfig, PlayerError, PlayerEvent, PlayerInput, PlayerOutput, PlayerServer,
    PortPair, Request, Response, Route, Track, packets, put_data, put_packet,
};

/// A camera as its client sees it: it answers requests and records them.
struct Camera {
    reader: MessageReader,
    asked: Vec<Request>,
    /// The only transport that it accepts.
    supports: Lower,
}

const CAMERA_PORTS: PortPair = PortPair {
    rtp: 50106,
    rtcp: 50107,
};
const GATEWAY_PORTS: PortPair = PortPair {
    rtp: 34028,
    rtcp: 34029,
};
const BASE: &str = "rtsp://192.0.2.7/cam/";
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=Session streamed with GStreamer\r\nt=0 0\r\na=control:*\r\n\
    m=video 0 RTP/AVP 96\r\nc=IN IP4 0.0.0.0\r\na=rtpmap:96 H264/90000\r\na=control:stream=0\r\n";

impl Camera {
    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.reader.push(bytes).expect("nobody breaks the form");
        let mut out = Vec::new();
        while let Some(message) = self.reader.next_message().expect("nobody breaks the form") {
            let Message::Request(request) = message else {
                panic!("only requests are awaited")
            };
            out.extend(self.response(&request).to_bytes());
            self.asked.push(request);
        }
        out
    }

    fn response(&self, request: &Request) -> Response {
        let authorized = request.headers.get("Authorization").is_some();
        let mut response = Response::new(if authorized || request.method == Method::Options {
            200
        } else {
            401
        });
        response
            .headers
            .add("CSeq", request.headers.get("CSeq").expect("requests are counted"));
        match &request.method {
            Method::Options => response.headers.add("Public", "OPTIONS, DESCRIBE, GET_PARAMETER, PLAY"),
            _ if !authorized => {
                let challenge = "Digest realm=\"GStreamer RTSP Server\", nonce=\"6d55735c1afefcdb\"";
                response.headers.add("WWW-Authenticate", challenge);
            }
            Method::Describe => {
                response.headers.add("Content-Base", BASE);
                response.body = SDP.into();
            }
            Method::Setup => {
                let udp = request
                    .headers
                    .get("Transport")
                    .expect("a SETUP says how")
                    .contains("client_port");
                if udp != (self.supports == Lower::Udp) {
                    response = Response::new(461);
                    response
                        .headers
                        .add("CSeq", request.headers.get("CSeq").expect("requests are counted"));
                    return response;
                }
                response.headers.add("Session", "ERA6rMrb-YiEdirI; timeout=20");
                let transport = match self.supports {
                    Lower::Udp => format!("RTP/AVP;unicast;server_port={CAMERA_PORTS};ssrc= A4184141"),
                    Lower::Interleaved => "RTP/AVP/TCP;unicast;interleaved=4-5;ssrc=A4184141;mode=\"PLAY\"".to_owned(),
                };
                response.headers.add("Transport", transport);
            }
            Method::Play => {
                response.headers.add("Range", "npt=0-30");
                response
                    .headers
                    .add("RTP-Info", format!("url={BASE}stream=0;seq=7507;rtptime=3917450975"));
            }
            _ => {}
        }
        response
    }
}

/// A player, both gateways and a camera, and what each received.
struct Pair {
    now: Duration,
    player: PlayerServer,
    client: CameraClient,
    camera: Camera,
    description: Option<Vec<u8>>,
    /// A pending request of the player for the description.
    waiting: Option<u32>,
    answers: Vec<u8>,
    from_camera: Vec<(Channel, Vec<u8>)>,
    to_camera: Vec<(Channel, Vec<u8>)>,
    torn_down: bool,
}

fn credentials(user: &str, password: &str) -> Credentials {
    Credentials::new(user, password.to_owned())
}

impl Pair {
    fn new(wanted: Lower, supported: Lower) -> Self {
        let now = Duration::from_secs(100);
        let (url, login) = CameraUrl::parse("rtsp://admin:s3cret@192.0.2.7/cam").expect("this is a URL");
        let config = CameraConfig {
            url,
            redirects: 0,
            credentials: login,
            lower: wanted,
            entropy: [3; 16],
        };
        let player = PlayerConfig {
            login: Some((credentials("viewer", "sesame"), DigestAlgorithm::Md5)),
            udp: true,
            entropy: [7; 32],
        };
        let mut pair = Self {
            now,
            player: PlayerServer::new(player, now),
            client: CameraClient::new(config, now),
            camera: Camera {
                reader: MessageReader::default(),
                asked: Vec::new(),
                supports: supported,
            },
            description: None,
            waiting: None,
            answers: Vec::new(),
            from_camera: Vec::new(),
            to_camera: Vec::new(),
            torn_down: false,
        };
        pair.client(CameraInput::Timeout);
        pair
    }

    fn client(&mut self, input: CameraInput<'_>) {
        self.client.handle(self.now, input).expect("nobody breaks the form");
        self.pump();
    }

    fn player(&mut self, input: PlayerInput<'_>) -> Result<(), PlayerError> {
        let handled = self.player.handle(self.now, input);
        self.pump();
        handled
    }

    /// Runs everything that follows without further input.
    fn pump(&mut self) {
        while self.pump_client() | self.pump_player() {}
    }

    fn pump_client(&mut self) -> bool {
        let mut frame = Vec::new();
        let mut moved = false;
        loop {
            match self.client.poll() {
                CameraOutput::Timeout(_) => break,
                CameraOutput::Transmit(bytes) => {
                    let answer = self.camera.answer(&bytes);
                    self.client
                        .handle(self.now, CameraInput::Bytes(&answer))
                        .expect("nobody breaks the form");
                }
                CameraOutput::Packet(channel, packet) => {
                    put_packet(&mut frame, channel, &packet).expect("nobody breaks the form")
                }
                CameraOutput::Event(CameraEvent::Described(sdp)) => self.description = Some(sdp),
                CameraOutput::Event(CameraEvent::OpenPorts { .. }) => {
                    let ports = Some(PortPair { rtp: 9000, rtcp: 9001 });
                    self.client
                        .handle(self.now, CameraInput::Ports(ports))
                        .expect("nobody breaks the form");
                }
                CameraOutput::Event(CameraEvent::Refused { track, status }) => panic!("{track:?} {status:?}"),
                CameraOutput::Event(CameraEvent::Answered { number, status, with }) => {
                    let (number, status, with) = crossed(number, status, with);
                    let answer = PlayerAnswer::Done(status, &with);
                    self.player
                        .handle(self.now, PlayerInput::Answer(number, answer))
                        .expect("nobody breaks the form");
                }
            }
            moved = true;
        }
        if !frame.is_empty() {
            let came = packets(&frame).map(|packet| packet.expect("nobody breaks the form"));
            self.from_camera
                .extend(came.map(|(channel, packet)| (channel, packet.to_vec())));
        }
        moved
    }

    fn pump_player(&mut self) -> bool {
        let mut moved = false;
        loop {
            match self.player.poll() {
                PlayerOutput::Timeout(_) => break,
                PlayerOutput::Transmit(bytes) => self.answers.extend(bytes),
                PlayerOutput::Event(PlayerEvent::Describe { number, path }) => {
                    assert_eq!(path, "front");
                    self.waiting = Some(number);
                }
                PlayerOutput::Event(PlayerEvent::OpenPorts { number, .. }) => {
                    let answer = PlayerAnswer::Ports(Some(GATEWAY_PORTS));
                    self.player
                        .handle(self.now, PlayerInput::Answer(number, answer))
                        .expect("nobody breaks the form");
                }
                PlayerOutput::Event(PlayerEvent::Login { number, right }) => {
                    assert!(right, "recorded players know the password");
                    let answer = PlayerInput::Answer(number, PlayerAnswer::Login);
                    self.player.handle(self.now, answer).expect("nobody breaks the form");
                }
                PlayerOutput::Event(PlayerEvent::Command { number, verb, with }) => {
                    self.client
                        .handle(self.now, CameraInput::Command(number, verb, &with))
                        .expect("nobody breaks the form");
                }
                PlayerOutput::Event(PlayerEvent::Rtcp(channel, packet)) => self.to_camera.push((channel, packet)),
                PlayerOutput::Event(PlayerEvent::TornDown) => self.torn_down = true,
            }
            moved = true;
        }
        if let (Some(number), Some(sdp)) = (self.waiting, &self.description) {
            self.waiting = None;
            let answer = PlayerAnswer::Described(Ok(sdp));
            self.player
                .handle(self.now, PlayerInput::Answer(number, answer))
                .expect("nobody breaks the form");
            moved = true;
        }
        moved
    }

    /// Returns the responses that the player received since the last call.
    fn responses(&mut self) -> Vec<Response> {
        let mut reader = MessageReader::default();
        reader
            .push(&std::mem::take(&mut self.answers))
            .expect("nobody breaks the form");
        std::iter::from_fn(|| reader.next_message().expect("nobody breaks the form"))
            .map(|message| match message {
                Message::Response(response) => response,
                other => panic!("{other:?}"),
            })
            .collect()
    }

    fn camera_was_asked(&self) -> Vec<&str> {
        self.camera.asked.iter().map(|request| request.method.name()).collect()
    }
}

/// An answer as it arrives through the sealed session.
fn crossed(request: u32, status: CarriedStatus, with: Parameters) -> (u32, CarriedStatus, Parameters) {
    let camera = CameraNumber::new(1);
    let message = GatewayMessage::Answer {
        request,
        camera,
        status,
        with,
    };
    match GatewayMessage::parse(&message.to_bytes().expect("nobody breaks the form")).expect("nobody breaks the form") {
        GatewayMessage::Answer {
            request, status, with, ..
        } => (request, status, with),
        other => panic!("{other:?}"),
    }
}

fn statuses(responses: &[Response]) -> Vec<u16> {
    responses.iter().map(|response| response.status).collect()
}

/// Splits a recording into its requests.
fn requests(recorded: &str) -> Vec<&str> {
    let requests: Vec<&str> = recorded.split_inclusive("\r\n\r\n").collect();
    assert!(requests.len() >= 6, "a whole dialogue");
    requests
}

const FFMPEG_TCP: &str = include_str!("rtsp/ffmpeg_tcp.txt");
const FFMPEG_UDP: &str = include_str!("rtsp/ffmpeg_udp.txt");
const GSTREAMER_TCP: &str = include_str!("rtsp/gstreamer_tcp.txt");
const GSTREAMER_UDP: &str = include_str!("rtsp/gstreamer_udp.txt");

#[test]
fn recorded_players_watch_whatever_the_camera_speaks() {
    for (name, recorded) in [
        ("ffmpeg over TCP", FFMPEG_TCP),
        ("ffmpeg over UDP", FFMPEG_UDP),
        ("GStreamer over TCP", GSTREAMER_TCP),
        ("GStreamer over UDP", GSTREAMER_UDP),
    ] {
        for camera in [Lower::Interleaved, Lower::Udp] {
            let mut pair = Pair::new(camera, camera);
            for request in requests(recorded) {
                pair.player(PlayerInput::Bytes(request.as_bytes())).unwrap();
            }
            let responses = pair.responses();
            let mut expected = vec![200; responses.len()];
            expected[1] = 401;
            assert_eq!(statuses(&responses), expected, "{name}");
            let described = String::from_utf8(responses[2].body.clone()).unwrap();
            assert!(
                described.contains("a=control:track0") && !described.contains("192.0.2.7"),
                "{described}"
            );
            let play = &responses[4];
            let info = play.headers.get("RTP-Info").unwrap();
            assert!(info.ends_with("/front/track0;seq=7507;rtptime=3917450975"), "{info}");
            assert!(pair.torn_down);
            let asked = pair.camera_was_asked();
            assert_eq!(
                asked[..5],
                ["OPTIONS", "DESCRIBE", "DESCRIBE", "SETUP", "PLAY"],
                "{name}"
            );
        }
    }
}

#[test]
fn a_dialogue_is_the_same_however_it_is_split_and_piped() {
    let whole = |pieces: usize| {
        let mut pair = Pair::new(Lower::Interleaved, Lower::Interleaved);
        for piece in FFMPEG_UDP.as_bytes().chunks(pieces) {
            pair.player(PlayerInput::Bytes(piece)).unwrap();
        }
        pair.answers
    };
    let expected = whole(FFMPEG_UDP.len());
    assert_eq!(String::from_utf8_lossy(&expected).matches("RTSP/1.0 200 OK").count(), 5);
    for pieces in 1..200 {
        assert_eq!(whole(pieces), expected, "in pieces of {pieces}");
    }
}

fn playing(recorded: &str, wanted: Lower, supported: Lower) -> Pair {
    let mut pair = Pair::new(wanted, supported);
    for request in requests(recorded).iter().take(5) {
        pair.player(PlayerInput::Bytes(request.as_bytes()))
            .expect("nobody breaks the form");
    }
    assert_eq!(statuses(&pair.responses()), [200, 401, 200, 200, 200]);
    pair
}

fn video(rtcp: bool) -> Channel {
    Channel {
        track: Track::new(0).expect("nobody breaks the form"),
        rtcp,
    }
}

#[test]
fn packets_of_a_camera_on_tcp_come_out_exactly_and_reach_a_player_on_udp() {
    let mut pair = playing(FFMPEG_UDP, Lower::Interleaved, Lower::Interleaved);
    let sent: Vec<(bool, Vec<u8>)> = (1..200_u8).map(|n| (n % 7 == 0, vec![n; usize::from(n) * 7])).collect();
    let mut bytes = Vec::new();
    for (rtcp, packet) in &sent {
        put_data(&mut bytes, if *rtcp { 5 } else { 4 }, packet);
    }
    put_data(&mut bytes, 9, b"of no track");
    for piece in bytes.chunks(1000) {
        pair.client(CameraInput::Bytes(piece));
    }
    let expected: Vec<(Channel, Vec<u8>)> = sent.into_iter().map(|(rtcp, packet)| (video(rtcp), packet)).collect();
    assert!(pair.from_camera == expected);
    let transport = FFMPEG_UDP.split("client_port=").nth(1).unwrap();
    let port = transport[..5].parse().unwrap();
    assert_eq!(pair.player.route(video(false)), Some(Route::Udp { port }));
    assert_eq!(pair.player.route(video(true)), Some(Route::Udp { port: port + 1 }));
    assert_eq!(pair.client.route(video(true)), Some(Route::Interleaved(5)));
}

#[test]
fn a_player_on_tcp_watches_a_camera_on_udp_and_its_reports_reach_it() {
    let mut pair = playing(GSTREAMER_TCP, Lower::Udp, Lower::Udp);
    assert_eq!(pair.player.route(video(false)), Some(Route::Interleaved(0)));
    assert_eq!(
        pair.client.route(video(true)),
        Some(Route::Udp {
            port: CAMERA_PORTS.rtcp
        })
    );
    let mut bytes = Vec::new();
    put_data(&mut bytes, 1, &[0x81, 0xc9, 0, 1]);
    put_data(&mut bytes, 0, b"no player sends RTP");
    pair.player(PlayerInput::Bytes(&bytes)).unwrap();
    assert_eq!(pair.to_camera, [(video(true), vec![0x81, 0xc9, 0, 1])]);
}

#[test]
fn where_a_camera_does_not_support_one_transport_the_other_is_taken() {
    for (wanted, supported) in [(Lower::Interleaved, Lower::Udp), (Lower::Udp, Lower::Interleaved)] {
        let pair = playing(FFMPEG_TCP, wanted, supported);
        let asked = pair.camera_was_asked();
        assert_eq!(asked[3..], ["SETUP", "SETUP", "PLAY"]);
    }
}

#[test]
fn a_session_is_kept_alive_at_half_its_timeout() {
    let mut pair = playing(FFMPEG_TCP, Lower::Interleaved, Lower::Interleaved);
    let before = pair.camera.asked.len();
    for _ in 0..12 {
        let CameraOutput::Timeout(at) = pair.client.poll() else {
            panic!("nothing else is due")
        };
        assert_eq!(at, pair.now + Duration::from_secs(10), "the camera said 20 s");
        pair.now = at;
        pair.client(CameraInput::Timeout);
    }
    let asked = &pair.camera.asked[before..];
    assert!(asked.len() == 12 && asked.iter().all(|request| request.method == Method::GetParameter));
    assert_eq!(asked[0].headers.get("Session"), Some("ERA6rMrb-YiEdirI"));
}

#[test]
fn a_camera_that_is_silent_is_given_up_before_its_player_is() {
    let mut pair = playing(FFMPEG_TCP, Lower::Interleaved, Lower::Interleaved);
    pair.client
        .handle(pair.now + Duration::from_secs(10), CameraInput::Timeout)
        .unwrap();
    let CameraOutput::Transmit(_) = pair.client.poll() else {
        panic!("a sign of life is due")
    };
    let CameraOutput::Timeout(at) = pair.client.poll() else {
        panic!("nothing else is due")
    };
    assert_eq!(at, pair.now + Duration::from_secs(18));
    assert_eq!(pair.client.handle(at, CameraInput::Timeout), Err(CameraError::Silent));
}

#[test]
fn no_credential_leaves_either_gateway() {
    let mut pair = playing(GSTREAMER_UDP, Lower::Interleaved, Lower::Interleaved);
    pair.player(PlayerInput::Bytes(requests(GSTREAMER_UDP)[5].as_bytes()))
        .unwrap();
    let mut seen: Vec<String> = pair.camera.asked.iter().map(|request| format!("{request:?}")).collect();
    let written = pair.camera.asked.iter().map(Request::to_bytes);
    seen.extend(written.map(|bytes| String::from_utf8(bytes).unwrap()));
    seen.push(String::from_utf8(pair.description.unwrap()).unwrap());
    seen.push(String::from_utf8(pair.answers).unwrap());
    assert!(seen.iter().any(|text| text.contains("username=\"admin\"")));
    for secret in ["s3cret", "sesame", "admin:"] {
        assert!(!seen.iter().any(|text| text.contains(secret)), "{secret}");
    }
}
