//! A camera that is a function from requests to the bytes of answers, and its client on a virtual clock.

use std::time::Duration;

use crate::rtsp::client::{
    CameraClient, CameraConfig, CameraError, CameraEvent, CameraInput, CameraOutput, CameraUrl, Lower,
};
use crate::rtsp::message::{Message, Method, Request, Response, put_data};
use crate::rtsp::oddity::Oddities;
use crate::rtsp::reader::MessageReader;
use crate::rtsp::tracks::{Track, TrackSet};
use crate::rtsp::transport::{Offer, PortPair, parse_offers};
use crate::rtsp::{Parameters, Verb};

/// Way of an answer, and of a packet.
const DELAY: Duration = Duration::from_millis(1);
/// Distance of packets.
const PACE: Duration = Duration::from_millis(500);
/// Time for which a camera is watched, if nothing ends it: eight keep-alives and more.
const WATCHED: Duration = Duration::from_secs(90);
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 192.0.2.7\r\ns=x\r\nt=0 0\r\na=control:*\r\nm=video 0 RTP/AVP 96\r\n\
    a=rtpmap:96 H264/90000\r\na=control:trackID=0\r\nm=audio 0 RTP/AVP 0\r\na=control:trackID=1\r\n";

/// Deviation of a camera: from its right answer, what it writes instead.
pub(super) type Deviation = fn(&mut Camera, &Request, Response) -> Vec<u8>;

/// The same with a state.
type Deviating = dyn FnMut(&mut Camera, &Request, Response) -> Vec<u8>;

/// Maximum number of inputs to a client.
const MAX_STEPS: usize = 10_000;

/// A camera.
pub(super) struct Camera {
    deviation: Option<Box<Deviating>>,
    /// Number of requests so far.
    pub(super) asked: Vec<Request>,
    /// Counter for deviations that change from request to request.
    pub(super) count: u32,
    /// Channels on which it sends the packets of each track.
    pub(super) channels: Vec<u8>,
    /// True if it sends over UDP.
    pub(super) udp: bool,
    playing: bool,
    /// True if it sends packets at all.
    pub(super) sends: bool,
    /// Bytes between the packets.
    pub(super) junk: &'static [u8],
    reader: MessageReader,
}

/// Outcome of a session with a camera.
#[derive(Default)]
pub(super) struct Came {
    /// Number of packets of each track.
    pub(super) packets: [u32; 2],
    /// Tracks that were refused.
    pub(super) refused: Vec<usize>,
    /// Status of PLAY.
    pub(super) played: Option<u16>,
    pub(super) error: Option<CameraError>,
    pub(super) asked: Vec<Request>,
    pub(super) oddities: Oddities,
}

impl Came {
    /// The requests with this method.
    pub(super) fn asked(&self, method: Method) -> impl Iterator<Item = &Request> {
        self.asked.iter().filter(move |request| request.method == method)
    }
}

impl Camera {
    pub(super) fn new(deviation: impl FnMut(&mut Self, &Request, Response) -> Vec<u8> + 'static) -> Self {
        Self {
            deviation: Some(Box::new(deviation)),
            asked: Vec::new(),
            count: 0,
            channels: Vec::new(),
            udp: false,
            playing: false,
            sends: true,
            junk: b"",
            reader: MessageReader::default(),
        }
    }

    /// Answers what the client sent.
    fn answer(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.reader.push(bytes).unwrap();
        let mut out = Vec::new();
        while let Some(message) = self.reader.next_message().unwrap() {
            let Message::Request(request) = message else { continue };
            let right = self.right(&request);
            let mut deviation = self.deviation.take().unwrap();
            out.extend(deviation(self, &request, right));
            self.deviation = Some(deviation);
            self.asked.push(request);
        }
        out
    }

    /// The right answer.
    fn right(&mut self, request: &Request) -> Response {
        let mut response = Response::new(200);
        response.headers.add("CSeq", request.headers.get("CSeq").unwrap());
        match request.method {
            Method::Options => response
                .headers
                .add("Public", "OPTIONS, DESCRIBE, SETUP, PLAY, GET_PARAMETER"),
            Method::Describe => {
                response.headers.add("Content-Base", format!("{}/", request.url));
                response.headers.add("Content-Type", "application/sdp");
                response.body = SDP.into();
            }
            Method::Setup => {
                let offer = parse_offers(request.headers.get("Transport").unwrap())[0];
                let transport = match offer {
                    Offer::Interleaved(Some((rtp, rtcp))) => {
                        self.channels.push(rtp);
                        format!("RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}")
                    }
                    Offer::Udp(ports) => {
                        self.udp = true;
                        format!("RTP/AVP;unicast;client_port={ports};server_port=6970-6971")
                    }
                    Offer::Interleaved(None) => panic!("channels are offered"),
                };
                response.headers.add("Transport", transport);
                response.headers.add("Session", "12345678;timeout=20");
            }
            Method::Play => {
                self.playing = true;
                response.headers.add("Session", "12345678");
            }
            Method::Teardown => self.playing = false,
            _ => {}
        }
        response
    }

    /// The packets of one moment.
    fn packets(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for channel in &self.channels {
            put_data(&mut out, *channel, b"\x80\x60packet");
            out.extend_from_slice(self.junk);
        }
        out
    }
}

/// Call of the camera.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) url: &'static str,
    pub(super) lower: Lower,
    pub(super) redirects: u8,
}

impl Default for Call {
    fn default() -> Self {
        Self {
            url: "rtsp://admin:pw@192.0.2.7/s",
            lower: Lower::Interleaved,
            redirects: 0,
        }
    }
}

/// Describes, plays and watches a camera.
pub(super) fn watch(mut camera: Camera, call: Call) -> Came {
    let (url, credentials) = CameraUrl::parse(call.url).unwrap();
    let config = CameraConfig {
        url,
        redirects: call.redirects,
        credentials,
        lower: call.lower,
        entropy: [3; 16],
    };
    let mut now = Duration::from_secs(100);
    let end = now + WATCHED;
    let mut client = CameraClient::new(config, now);
    let mut came = Came::default();
    let mut next_packets = now + PACE;
    let mut result = client.handle(now, CameraInput::Timeout);
    let mut steps = 0;
    while result.is_ok() && now < end {
        steps += 1;
        assert!(
            steps < MAX_STEPS,
            "the client asks to be called at once, again and again"
        );
        let (answers, next) = drain(&mut client, &mut camera, now, &mut came);
        if !answers.is_empty() {
            now += DELAY;
            result = client.handle(now, CameraInput::Bytes(&answers));
            continue;
        }
        if next <= next_packets {
            now = now.max(next);
            result = client.handle(now, CameraInput::Timeout);
            continue;
        }
        now = next_packets;
        next_packets += PACE;
        if camera.playing && camera.sends && camera.udp {
            came.packets = came.packets.map(|packets| packets + 1);
            client.heard(now);
        } else if camera.playing && camera.sends {
            result = client.handle(now, CameraInput::Bytes(&camera.packets()));
        }
    }
    drain(&mut client, &mut camera, now, &mut came);
    came.error = result.err();
    came.asked = camera.asked;
    came.oddities = client.oddities();
    came
}

/// Takes all outputs; returns the camera's answers, and the time of the next timeout.
fn drain(client: &mut CameraClient, camera: &mut Camera, now: Duration, came: &mut Came) -> (Vec<u8>, Duration) {
    let mut answers = Vec::new();
    loop {
        match client.poll() {
            CameraOutput::Transmit(bytes) => answers.extend(camera.answer(&bytes)),
            CameraOutput::Event(CameraEvent::Described(_)) => {
                let play = Verb::Play(TrackSet::from_bits(0b11));
                let played = client.handle(now, CameraInput::Command(1, play, &Parameters::default()));
                played.unwrap();
            }
            CameraOutput::Event(CameraEvent::OpenPorts { .. }) => {
                let ports = PortPair { rtp: 5000, rtcp: 5001 };
                client.handle(now, CameraInput::Ports(Some(ports))).unwrap();
            }
            CameraOutput::Event(CameraEvent::Refused { track, .. }) => came.refused.push(track.index()),
            CameraOutput::Event(CameraEvent::Answered { status, .. }) => came.played = Some(status.code()),
            CameraOutput::Packet(channel, packet) => {
                assert_eq!(packet, &b"\x80\x60packet"[..], "as it was sent");
                assert!(Track::new(1).is_some_and(|last| channel.track <= last));
                came.packets[channel.track.index()] += 1;
            }
            CameraOutput::Timeout(at) => return (answers, at),
        }
    }
}
