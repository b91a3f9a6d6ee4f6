//! A camera that sends arbitrary messages, and a program that gives arbitrary commands: nothing panics, the number of
//! requests is bounded by answers and commands, and the password is in no event and no error.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraInput, CameraOutput, CameraUrl, CarriedHeader, Lower, Parameters, PortPair,
    TrackSet, Verb,
};

const PASSWORD: &str = "k9Zt3qLwX1";

#[derive(Debug, Arbitrary)]
struct Plan {
    udp: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Bytes(Vec<u8>),
    /// An answer to the pending request.
    Response(u16, String, Vec<u8>),
    /// An answer that sets up a track.
    SetUp(u8, u8, bool),
    Command(u8, u16, String, Vec<u8>),
    Ports(Option<(u16, u16)>),
    Wait(u8),
    /// Packets come over UDP.
    Heard,
}

fuzz_target!(|plan: Plan| {
    let url = format!("rtsp://admin:{PASSWORD}@192.0.2.7/cam");
    let Ok((url, credentials)) = CameraUrl::parse(&url) else {
        panic!("this is one")
    };
    let config = CameraConfig {
        url,
        redirects: 0,
        credentials,
        lower: if plan.udp { Lower::Udp } else { Lower::Interleaved },
        entropy: [3; 16],
    };
    let mut now = Duration::from_secs(100);
    let mut client = CameraClient::new(config, now);
    let mut opening = false;
    let _ = client.handle(now, CameraInput::Timeout);
    for (number, step) in (0..).zip(plan.steps.iter().take(256)) {
        let handled = match step {
            Step::Bytes(bytes) => client.handle(now, CameraInput::Bytes(bytes)),
            Step::Response(status, headers, body) => {
                let length = body.len();
                let head = format!("RTSP/1.0 {status} x\r\n{headers}\r\nContent-Length: {length}\r\n\r\n");
                client.handle(now, CameraInput::Bytes(&[head.as_bytes(), body].concat()))
            }
            Step::SetUp(rtp, rtcp, udp) => {
                let way = if *udp { "server_port" } else { "interleaved" };
                let text =
                    format!("RTSP/1.0 200 OK\r\nSession: 1;timeout=8\r\nTransport: TCP;{way}={rtp}-{rtcp}\r\n\r\n");
                client.handle(now, CameraInput::Bytes(text.as_bytes()))
            }
            Step::Command(verb, tracks, range, body) => {
                let mut with = Parameters::of_body(body.clone());
                with.set(CarriedHeader::Range, range.clone());
                let verb = match verb % 5 {
                    0 => Verb::Play(TrackSet::from_bits(*tracks)),
                    1 => Verb::Pause,
                    2 => Verb::GetParameter,
                    3 => Verb::SetParameter,
                    _ => Verb::Teardown,
                };
                client.handle(now, CameraInput::Command(number, verb, &with))
            }
            Step::Ports(_) if !opening => continue,
            Step::Ports(ports) => {
                opening = false;
                client.handle(now, CameraInput::Ports(ports.map(|(rtp, rtcp)| PortPair { rtp, rtcp })))
            }
            Step::Heard => {
                client.heard(now);
                continue;
            }
            Step::Wait(seconds) => {
                now += Duration::from_secs((*seconds).into());
                client.handle(now, CameraInput::Timeout)
            }
        };
        opening |= drain(&mut client);
        if let Err(error) = handled {
            assert!(!error.to_string().contains(PASSWORD));
            return;
        }
    }
});

/// Handles all outputs; returns true if ports are to be opened.
fn drain(client: &mut CameraClient) -> bool {
    let mut opening = false;
    loop {
        match client.poll() {
            // Basic authentication sends it in base64, to the camera alone; it never appears in clear.
            CameraOutput::Transmit(bytes) => {
                assert!(
                    !bytes
                        .windows(PASSWORD.len())
                        .any(|window| window == PASSWORD.as_bytes())
                );
            }
            CameraOutput::Event(event) => {
                let shown = format!("{event:?}");
                assert!(!shown.contains(PASSWORD));
                opening |= shown.starts_with("OpenPorts");
            }
            CameraOutput::Packet(channel, packet) => assert!(channel.number() < 32 && !packet.is_empty()),
            CameraOutput::Timeout(_) => return opening,
        }
    }
}
