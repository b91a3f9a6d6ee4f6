//! A player that sends arbitrary messages, and a program that gives arbitrary answers: nothing panics, the output is
//! bounded by the input, and it never contains the password that players need.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtsp::{
    CarriedHeader, CarriedStatus, Channel, Credentials, DigestAlgorithm, Parameters, PlayerAnswer, PlayerConfig,
    PlayerInput, PlayerOutput, PlayerServer, PortPair, Track, TrackSet, Verb,
};

const PASSWORD: &str = "k9Zt3qLwX1";
/// Allowance per request byte: a response is longer than the shortest request.
const GROWTH: usize = 64;
/// Allowance per step: an answer of the program has a body and headers of its own.
const FOR_EACH_STEP: usize = 16 << 10;

#[derive(Debug, Arbitrary)]
struct Plan {
    login: bool,
    udp: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Bytes(Vec<u8>),
    /// A request that passes the first checks.
    Request(u8, String, String),
    Described(u8, Result<Vec<u8>, u16>),
    Ports(u8, Option<(u16, u16)>),
    Done(u8, u16, String, Vec<u8>),
    Login(u8),
    Alive,
    Wait(u8),
}

const METHODS: [&str; 8] = [
    "OPTIONS",
    "DESCRIBE",
    "SETUP",
    "PLAY",
    "PAUSE",
    "GET_PARAMETER",
    "SET_PARAMETER",
    "TEARDOWN",
];

fuzz_target!(|plan: Plan| {
    let credentials = Credentials::new("viewer", PASSWORD.to_owned());
    let config = PlayerConfig {
        login: plan.login.then_some((credentials, DigestAlgorithm::Md5)),
        udp: plan.udp,
        entropy: [7; 32],
    };
    let mut now = Duration::from_secs(100);
    let mut player = PlayerServer::new(config, now);
    let (mut came, mut went) = (0, 0);
    for step in plan.steps.iter().take(256) {
        came += FOR_EACH_STEP;
        let handled = match step {
            Step::Bytes(bytes) => {
                came += bytes.len() * GROWTH;
                player.handle(now, PlayerInput::Bytes(bytes))
            }
            Step::Request(method, path, headers) => {
                let method = METHODS[usize::from(*method) % METHODS.len()];
                let request = format!(
                    "{method} rtsp://g/{path} RTSP/1.0\r\nCSeq: 1\r\nSession: 0707070707070707\r\n{headers}\r\n\r\n"
                );
                came += request.len() * GROWTH;
                player.handle(now, PlayerInput::Bytes(request.as_bytes()))
            }
            Step::Described(number, sdp) => {
                let sdp = sdp.as_deref().map_err(|code| CarriedStatus::of_camera(*code));
                came += sdp.map_or(0, <[u8]>::len);
                player.handle(now, PlayerInput::Answer((*number).into(), PlayerAnswer::Described(sdp)))
            }
            Step::Ports(number, ports) => {
                let ports = ports.map(|(rtp, rtcp)| PortPair { rtp, rtcp });
                player.handle(now, PlayerInput::Answer((*number).into(), PlayerAnswer::Ports(ports)))
            }
            Step::Done(number, code, info, body) => {
                came += body.len() + info.len() * GROWTH;
                let mut with = Parameters::of_body(body.clone());
                with.set(CarriedHeader::RtpInfo, info.clone());
                let answer = PlayerAnswer::Done(CarriedStatus::of_camera(*code), &with);
                player.handle(now, PlayerInput::Answer((*number).into(), answer))
            }
            Step::Login(number) => player.handle(now, PlayerInput::Answer((*number).into(), PlayerAnswer::Login)),
            Step::Alive => player.handle(now, PlayerInput::Alive),
            Step::Wait(seconds) => {
                now += Duration::from_secs((*seconds).into());
                player.handle(now, PlayerInput::Timeout)
            }
        };
        went += drain(&mut player);
        assert!(went <= came, "{went} bytes went out for {came}");
        if let Err(error) = handled {
            assert!(!error.to_string().contains(PASSWORD));
            return;
        }
    }
});

/// Number of bytes sent. Checks that none of them are secret and that every output is meaningful.
fn drain(player: &mut PlayerServer) -> usize {
    let mut went = 0;
    loop {
        match player.poll() {
            PlayerOutput::Transmit(bytes) => {
                went += bytes.len();
                assert!(
                    !bytes
                        .windows(PASSWORD.len())
                        .any(|window| window == PASSWORD.as_bytes())
                );
            }
            PlayerOutput::Event(event) => {
                let shown = format!("{event:?}");
                assert!(!shown.contains(PASSWORD));
                assert!(
                    !shown.contains(&format!("{:?}", Verb::Play(TrackSet::default()))),
                    "a PLAY has tracks"
                );
            }
            PlayerOutput::Timeout(_) => break,
        }
    }
    for number in 0..32 {
        let channel = Channel::from_number(number).expect("32 channels");
        assert!(Track::new(channel.track.index()).is_some());
        player.route(channel);
    }
    went
}
