//! Third-party session descriptions: the description forwarded to the other gateway does not reveal the camera's
//! address, has a control URL for each track, and would be forwarded again unchanged. Tracks are counted as media are.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use sealcast_proto::rtp::MediaDescription;
use sealcast_proto::rtsp::{
    CameraClient, CameraConfig, CameraEvent, CameraInput, CameraOutput, CameraUrl, Lower, MAX_BODY, Response,
};

const HOST: &[u8] = b"192.0.2.7";
const NOW: Duration = Duration::from_secs(1);

fuzz_target!(|bytes: &[u8]| {
    // Puts the camera's address in unexpected places.
    let sdp: Vec<u8> = bytes
        .iter()
        .flat_map(|byte| if *byte == 1 { HOST } else { std::slice::from_ref(byte) })
        .copied()
        .collect();
    if sdp.len() > MAX_BODY / 2 {
        return;
    }
    let described = MediaDescription::parse(&sdp).media.len();
    let Some(crossing) = crossing(sdp) else { return };
    assert!(!crossing.windows(HOST.len()).any(|window| window == HOST));
    let lines = crossing.split(|byte| *byte == b'\n');
    let controls = lines.clone().filter(|line| line.starts_with(b"a=control:")).count();
    let tracks = lines.filter(|line| line.starts_with(b"m=")).count();
    assert!((1..=16).contains(&tracks) && controls == tracks + 1);
    assert_eq!([described, MediaDescription::parse(&crossing).media.len()], [tracks; 2]);
    if crossing.len() <= MAX_BODY {
        assert_eq!(self::crossing(crossing.clone()), Some(crossing));
    }
});

fn crossing(sdp: Vec<u8>) -> Option<Vec<u8>> {
    let (url, credentials) = CameraUrl::parse("rtsp://192.0.2.7/cam").ok()?;
    let config = CameraConfig {
        url,
        redirects: 0,
        credentials,
        lower: Lower::Interleaved,
        entropy: [0; 16],
    };
    let mut client = CameraClient::new(config, NOW);
    let mut describe = Response::new(200);
    describe.body = sdp;
    client.handle(NOW, CameraInput::Timeout).ok()?;
    client
        .handle(NOW, CameraInput::Bytes(&Response::new(200).to_bytes()))
        .ok()?;
    client.handle(NOW, CameraInput::Bytes(&describe.to_bytes())).ok()?;
    // An empty one has no length, so more of it may come.
    client.handle(NOW + Duration::from_secs(1), CameraInput::Timeout).ok()?;
    loop {
        match client.poll() {
            CameraOutput::Event(CameraEvent::Described(sdp)) => return Some(sdp),
            CameraOutput::Timeout(_) => panic!("a description is an error or an event"),
            _ => {}
        }
    }
}
