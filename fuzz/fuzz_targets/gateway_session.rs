//! A viewer gateway that is admitted and says anything to a camera gateway, whose cameras answer anything: commands
//! that need a right reach no camera without it, nobody sees a hidden camera, and who is gone has left everything.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use sealcast::fuzzing::gateway::{self, Step};
use sealcast_fuzz::{Ends, RANDOM_INITIATOR, RANDOM_RESPONDER};
use sealcast_proto::keys::{HelloKeys, Wish, WishedMedia};
use sealcast_proto::rtsp::{CameraNumber, CarriedHeader, Channel, GatewayMessage, Parameters, TrackSet, Verb};
use sealcast_proto::session::Carrier;

const PATHS: [&str; 4] = ["seen", "controlled", "hidden", "nowhere"];
const SDP: &[u8] = include_bytes!("../src/camera.sdp");

#[derive(Debug, Arbitrary)]
enum Act {
    Say(Vec<u8>),
    Describe(u8, u8),
    DescribeAt(u8, String),
    Command {
        request: u8,
        camera: u8,
        verb: u8,
        tracks: u8,
        header: Option<(u8, String)>,
        body: Vec<u8>,
    },
    Packet {
        camera: u8,
        channel: u8,
        bytes: Vec<u8>,
    },
    Answer {
        camera: u8,
        code: u16,
        body: Option<Vec<u8>>,
    },
    FromCamera {
        camera: u8,
        channel: u8,
        length: u16,
        bytes: Vec<u8>,
    },
    Away(u8, bool),
    Renew(u8),
    Rekey,
}

impl Act {
    fn step(self) -> Option<Step> {
        Some(match self {
            Self::Say(bytes) => Step::Say(bytes),
            Self::Describe(request, path) => Step::Tell(GatewayMessage::Describe {
                request: request.into(),
                path: PATHS[usize::from(path) % PATHS.len()].to_owned(),
            }),
            Self::DescribeAt(request, path) => Step::Tell(GatewayMessage::Describe {
                request: request.into(),
                path,
            }),
            Self::Command {
                request,
                camera,
                verb,
                tracks,
                header,
                body,
            } => {
                let mut with = Parameters::of_body(body);
                if let Some((header, value)) = header {
                    with.set(
                        CarriedHeader::ALL[usize::from(header) % CarriedHeader::ALL.len()],
                        value,
                    );
                }
                let verb = match verb % 5 {
                    0 => Verb::Play(TrackSet::from_bits(u16::from(tracks).max(1))),
                    1 => Verb::Pause,
                    2 => Verb::GetParameter,
                    3 => Verb::SetParameter,
                    _ => Verb::Teardown,
                };
                let camera = CameraNumber::new(camera % 4 + 1)?;
                Step::Tell(GatewayMessage::Command {
                    request: request.into(),
                    camera,
                    verb,
                    with,
                })
            }
            Self::Packet { camera, channel, bytes } => Step::Tell(GatewayMessage::Packet {
                camera: CameraNumber::new(camera % 4 + 1)?,
                channel: Channel::from_number(channel % 32)?,
                bytes,
            }),
            Self::Answer { camera, code, body } => Step::Answer(camera, code, body.unwrap_or_else(|| SDP.to_vec())),
            Self::FromCamera {
                camera,
                channel,
                length,
                mut bytes,
            } => {
                bytes.resize(bytes.len().max(usize::from(length) % 1500), 0x65);
                Step::Packet(camera, channel % 32, bytes)
            }
            Self::Away(camera, ended) => Step::Away(camera, ended),
            Self::Renew(camera) => Step::Renew(camera),
            Self::Rekey => Step::Rekey,
        })
    }
}

fuzz_target!(|acts: Vec<Act>| {
    let mut ends = Ends::new(false, Carrier::Stream);
    // Without an invite: the camera gateway admits everybody.
    let keys = Arc::new(HelloKeys::new(&ends.responder.handshake.identity.peer_id(), []));
    ends.initiator.handshake.hello_keys = Arc::clone(&keys);
    // Another viewer is refused by a camera gateway.
    ends.initiator.handshake.wish = Wish::of(WishedMedia::Packets);
    ends.responder.handshake.hello_keys = keys;
    let steps = acts.into_iter().take(128).filter_map(Act::step).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("memory");
    let random = [RANDOM_INITIATOR, RANDOM_RESPONDER];
    runtime.block_on(gateway::run(ends.initiator, ends.responder, random, steps));
});
