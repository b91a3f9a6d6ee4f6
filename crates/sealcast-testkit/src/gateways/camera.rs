//! A camera that sends packets from a test and records the requests and packets it receives.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, Method, Offer, Request, Response, parse_offers, put_data};

use super::clip::Clip;
use super::deviations::{Asked, Deviation};
use super::{Packet, Plain};
use crate::program::PATIENCE;

/// Pause after each packet, and after each picture of a clip, whose packets leave together.
const PACE: Duration = Duration::from_micros(300);
const PICTURE_PACE: Duration = Duration::from_millis(2);
/// A camera of 25 pictures a second.
const LIVE: &[Deviation] = &[Deviation::Pause(|_| 40)];
/// Read timeout of sockets for reports, after which they check if the session is over.
const LOOK: Duration = Duration::from_millis(200);

/// The default codec of the video: the gateways do not look for its keyframes.
const CODEC: &str = "VP8";

/// Answers of cameras to SETUP over UDP. The two numbers are of any distance.
const PORTS: &str = ";server_port={rtp}-{rtcp}";

fn description(codec: &str) -> String {
    format!(
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=hidden-in-the-attic 127.0.0.1\r\nt=0 0\r\na=control:*\r\n\
        m=video 0 RTP/AVP 96\r\na=rtpmap:96 {codec}/90000\r\na=control:streamid=0\r\n\
        m=audio 0 RTP/AVP 97\r\na=rtpmap:97 L16/44100\r\na=control:streamid=1\r\n"
    )
}

/// An event at the camera.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A request with this method.
    Asked(String),
    /// A packet on this channel.
    Report(u8, Vec<u8>),
    /// The other end closed the connection.
    Gone,
}

/// A camera at a local port.
pub struct Camera {
    /// The listening port.
    pub port: u16,
    heard: Receiver<Heard>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
    state: Arc<State>,
}

/// Description and packets that a camera gives.
#[derive(Clone)]
struct Show {
    /// Its description, unless that is the default with a codec.
    description: Option<String>,
    /// The value of RTP-Info, if it says one.
    info: Option<String>,
    /// Packets, each with the number of its picture.
    packets: Vec<(usize, Packet)>,
}

impl Show {
    fn of(clip: &Clip) -> Self {
        let begins = [0, 1].map(|track| {
            let mut packets = clip.packets.iter().filter(|packet| !packet.report);
            let first = packets.find(|packet| packet.track == track)?;
            let (number, stamp) = (first.number, first.stamp);
            Some(format!("url=streamid={track};seq={number};rtptime={stamp}"))
        });
        Self {
            description: Some(clip.description.clone()),
            info: Some(begins.into_iter().flatten().collect::<Vec<_>>().join(",")),
            packets: clip.to_packets(),
        }
    }
}

/// Behaviour of a camera.
struct Script {
    plain: Plain,
    /// Shows on the first connection, and on those after it.
    shows: [Show; 2],
    /// It hangs up when it has shown all on the first connection.
    hangs_up: bool,
    forever: bool,
    deviations: &'static [Deviation],
}

/// State that a test changes while the camera runs.
struct State {
    codec: Mutex<&'static str>,
    /// Its ports in answers to SETUP, with `{rtp}` and `{rtcp}` for their numbers.
    ports: Mutex<&'static str>,
    /// Number of connections, counted from the first, that behave as if dead.
    silent: AtomicUsize,
    gone: AtomicBool,
    /// Number of requests so far.
    asked: AtomicUsize,
    /// Number of proofs of a password that were accepted.
    nonces: AtomicUsize,
}

impl Camera {
    /// Starts a camera that supports only this transport, and sends these packets to every player, in a loop if
    /// `forever`.
    pub fn start(plain: Plain, packets: Vec<Packet>, forever: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        Self::at(listener, plain, packets, forever)
    }

    /// Starts a camera on an existing listener.
    pub fn at(listener: TcpListener, plain: Plain, packets: Vec<Packet>, forever: bool) -> Self {
        let show = Show {
            description: None,
            info: None,
            packets: packets.into_iter().map(|packet| (0, packet)).collect(),
        };
        let script = Script {
            plain,
            shows: [show.clone(), show],
            hangs_up: false,
            forever,
            deviations: &[],
        };
        Self::run(listener, script)
    }

    /// Starts a camera on an existing listener that plays this clip once to every player, and deviates so.
    pub fn odd(listener: TcpListener, clip: &Clip, deviations: &'static [Deviation]) -> Self {
        Self::odd_again(listener, clip, None, deviations)
    }

    /// As [`odd`](Self::odd), but hangs up after the clip, and has another one when it is called again.
    pub fn odd_again(
        listener: TcpListener,
        clip: &Clip,
        again: Option<&Clip>,
        deviations: &'static [Deviation],
    ) -> Self {
        let over_udp = |deviation: &Deviation| matches!(deviation, Deviation::OverUdp);
        let script = Script {
            plain: if deviations.iter().any(over_udp) {
                Plain::Udp
            } else {
                Plain::Tcp
            },
            shows: [clip, again.unwrap_or(clip)].map(Show::of),
            hangs_up: again.is_some(),
            forever: false,
            deviations,
        };
        Self::run(listener, script)
    }

    /// Starts a camera that plays this clip to every player again and again, as fast as 25 pictures a second are.
    pub fn endless(listener: TcpListener, clip: &Clip) -> Self {
        let script = Script {
            plain: Plain::Tcp,
            shows: [Show::of(clip), Show::of(clip)],
            hangs_up: false,
            forever: true,
            deviations: LIVE,
        };
        Self::run(listener, script)
    }

    fn run(listener: TcpListener, script: Script) -> Self {
        let port = listener.local_addr().expect("bound").port();
        let (sender, heard) = channel();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let state = Arc::new(State {
            codec: Mutex::new(CODEC),
            ports: Mutex::new(PORTS),
            silent: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
            asked: AtomicUsize::new(0),
            nonces: AtomicUsize::new(0),
        });
        let (script, open, shared) = (Arc::new(script), Arc::clone(&connections), Arc::clone(&state));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                if shared.gone.load(Ordering::Relaxed) {
                    return;
                }
                let copy = stream.try_clone().expect("a copy");
                open.lock().expect("not poisoned").push(copy);
                let serving = Serving {
                    script: Arc::clone(&script),
                    port,
                    heard: sender.clone(),
                    tracks: Vec::new(),
                    plays: false,
                    over: Arc::default(),
                    state: Arc::clone(&shared),
                    number,
                    writer: Arc::new(Mutex::new(stream.try_clone().expect("a copy"))),
                };
                thread::spawn(move || serving.run(stream));
            }
        });
        Self {
            port,
            heard,
            connections,
            state,
        }
    }

    /// From now on describes the video with another codec.
    pub fn changes_to(&self, codec: &'static str) {
        *self.state.codec.lock().expect("not poisoned") = codec;
    }

    /// From now on names its ports otherwise than with `;server_port={rtp}-{rtcp}`.
    pub fn names_ports(&self, ports: &'static str) {
        *self.state.ports.lock().expect("not poisoned") = ports;
    }

    /// Keeps its present connections open without any further activity, as if it had lost power.
    pub fn falls_silent(&self) {
        let connections = self.connections.lock().expect("not poisoned").len();
        self.state.silent.store(connections, Ordering::Relaxed);
    }

    /// Closes all connections and is unreachable from now on.
    pub fn goes(&self) {
        self.state.gone.store(true, Ordering::Relaxed);
        // The listener checks if it should end when a connection arrives.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        self.hang_up();
    }

    /// Its RTSP URL.
    pub fn url(&self) -> String {
        format!("rtsp://127.0.0.1:{}/cam", self.port)
    }

    /// Closes all connections.
    pub fn hang_up(&self) {
        for connection in self.connections.lock().expect("not poisoned").iter() {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    /// All events up to `wanted`.
    pub fn hears(&self, wanted: &Heard) -> Vec<Heard> {
        let deadline = Instant::now() + PATIENCE;
        let mut all = Vec::new();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(heard) = self.heard.recv_timeout(left) else {
                panic!("the camera never heard {wanted:?}, but {all:?}");
            };
            all.push(heard);
            if all.last() == Some(wanted) {
                return all;
            }
        }
    }

    /// All events that were not consumed yet.
    pub fn heard_so_far(&self) -> Vec<Heard> {
        self.heard.try_iter().collect()
    }
}

/// The transport of a track to the client.
#[derive(Clone)]
enum TrackTransport {
    Channels(u8, u8),
    Ports(Arc<[UdpSocket; 2]>, [u16; 2]),
}

struct Serving {
    script: Arc<Script>,
    port: u16,
    heard: Sender<Heard>,
    tracks: Vec<Option<TrackTransport>>,
    /// PLAY was asked.
    plays: bool,
    /// The session is over: no more packets are sent or received.
    over: Arc<AtomicBool>,
    state: Arc<State>,
    /// Index of the connection.
    number: usize,
    /// The connection, on which an answer never stands inside a packet.
    writer: Arc<Mutex<TcpStream>>,
}

impl Serving {
    /// Show of this connection.
    fn show(&self) -> &Show {
        &self.script.shows[self.number.min(1)]
    }

    fn is_silent(&self) -> bool {
        self.number < self.state.silent.load(Ordering::Relaxed)
    }

    fn run(mut self, mut stream: TcpStream) {
        let mut reader = MessageReader::default();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let length = stream.read(&mut buffer).unwrap_or(0);
            if length == 0 {
                self.over.store(true, Ordering::Relaxed);
                let _ = self.heard.send(Heard::Gone);
                return;
            }
            reader.push(&buffer[..length]).expect("the gateway speaks RTSP");
            while let Some(message) = reader.next_message().expect("the gateway speaks RTSP") {
                match message {
                    _ if self.is_silent() => {}
                    Message::Request(request) => self.answer(&request),
                    Message::Data { channel, bytes } => drop(self.heard.send(Heard::Report(channel, bytes))),
                    Message::Response(_) => {}
                }
            }
        }
    }

    fn answer(&mut self, request: &Request) {
        let right = self.right(request);
        let (answer, refused) = self.deviate(request, &right);
        // The other end may be gone.
        let _ = self.writer.lock().expect("not poisoned").write_all(&answer);
        let _ = self.heard.send(Heard::Asked(request.method.name().to_owned()));
        // A clip is played once in a session, whose tracks some clients play one by one.
        let again = self.plays && self.show().description.is_some();
        if request.method == Method::Play && right.status == 200 && !refused && !again {
            self.plays = true;
            let (writer, tracks, script) = (Arc::clone(&self.writer), self.tracks.clone(), Arc::clone(&self.script));
            let (over, state, number) = (Arc::clone(&self.over), Arc::clone(&self.state), self.number);
            let goes_on = move || !over.load(Ordering::Relaxed) && number >= state.silent.load(Ordering::Relaxed);
            thread::spawn(move || send(&writer, &tracks, &script, number, goes_on));
        }
    }

    /// The right answer.
    fn right(&mut self, request: &Request) -> Response {
        let mut response = Response::new(200);
        response
            .headers
            .add("CSeq", request.headers.get("CSeq").expect("a number"));
        response.headers.add("Session", "12345678;timeout=60");
        match request.method {
            Method::Options => response.headers.add("Public", "DESCRIBE, SETUP, PLAY, TEARDOWN"),
            Method::Describe => {
                response.headers.add("Content-Type", "application/sdp");
                response.body = match &self.show().description {
                    Some(description) => {
                        response.headers.add("Content-Base", format!("{}/", request.url));
                        description.clone().into_bytes()
                    }
                    None => description(*self.state.codec.lock().expect("not poisoned")).into_bytes(),
                };
            }
            Method::Setup => match self.set_up(request) {
                Some(transport) => response.headers.add("Transport", transport),
                None => response.status = 461,
            },
            Method::Play => {
                if let Some(info) = &self.show().info {
                    response.headers.add("RTP-Info", info.clone());
                }
            }
            Method::Teardown => {
                std::mem::take(&mut self.over).store(true, Ordering::Relaxed);
                self.tracks.clear();
                self.plays = false;
            }
            _ => {}
        }
        response
    }

    /// The answer as this camera gives it, and true if it does not do what was asked.
    fn deviate(&self, request: &Request, right: &Response) -> (Vec<u8>, bool) {
        let exchange = Asked {
            request,
            number: self.state.asked.fetch_add(1, Ordering::Relaxed),
            plays: self.plays,
            port: self.port,
        };
        let mut answer = right.to_bytes();
        let mut refused = false;
        for deviation in self.script.deviations {
            refused |= deviation.change(&exchange, &self.state.nonces, &mut answer);
        }
        (answer, refused)
    }

    fn set_up(&mut self, request: &Request) -> Option<String> {
        // A track without a number of its own is the next.
        let number = request.url.trim_end_matches('/').rsplit_once('=');
        let track = number.and_then(|(_, number)| number.parse().ok());
        let track: usize = track.unwrap_or(self.tracks.len());
        let offers = parse_offers(request.headers.get("Transport").expect("an offer"));
        let own = self.script.deviations.iter().find_map(|deviation| match deviation {
            Deviation::Channels(first) => Some(first + track as u8 * 2),
            _ => None,
        });
        let (way, granted) = match (offers.first()?, self.script.plain) {
            (Offer::Interleaved(Some((rtp, rtcp))), Plain::Tcp) => {
                let (rtp, rtcp) = own.map_or((*rtp, *rtcp), |own| (own, own + 1));
                let granted = format!("RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}");
                (TrackTransport::Channels(rtp, rtcp), granted)
            }
            (Offer::Udp(client), Plain::Udp) => {
                let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
                let sockets = [bind(), bind()];
                let [rtp, rtcp] = [0, 1].map(|at: usize| sockets[at].local_addr().expect("bound").port());
                let reports = sockets[1].try_clone().expect("a copy");
                reports.set_read_timeout(Some(LOOK)).expect("not zero");
                let (heard, number, over) = (self.heard.clone(), track as u8 * 2 + 1, Arc::clone(&self.over));
                thread::spawn(move || {
                    let mut buffer = [0; 2048];
                    while !over.load(Ordering::Relaxed) {
                        if let Ok((length, _)) = reports.recv_from(&mut buffer) {
                            let _ = heard.send(Heard::Report(number, buffer[..length].to_vec()));
                        }
                    }
                });
                let ports = *self.state.ports.lock().expect("not poisoned");
                let ports = ports.replace("{rtp}", &rtp.to_string());
                let ports = ports.replace("{rtcp}", &rtcp.to_string());
                let granted = format!("RTP/AVP;unicast;client_port={client}{ports}");
                (
                    TrackTransport::Ports(Arc::new(sockets), [client.rtp, client.rtcp]),
                    granted,
                )
            }
            _ => return None,
        };
        self.tracks.resize(self.tracks.len().max(track + 1), None);
        self.tracks[track] = Some(way);
        Some(granted)
    }
}

fn send(
    stream: &Mutex<TcpStream>,
    tracks: &[Option<TrackTransport>],
    script: &Script,
    number: usize,
    goes_on: impl Fn() -> bool,
) {
    let between = script.deviations.iter().find_map(|deviation| match deviation {
        Deviation::Between(bytes) => Some(*bytes),
        _ => None,
    });
    let pause = script.deviations.iter().find_map(|deviation| match deviation {
        Deviation::Pause(pause) => Some(*pause),
        _ => None,
    });
    let show = &script.shows[number.min(1)];
    while goes_on() {
        let mut before = 0;
        for (picture, (channel, packet)) in &show.packets {
            if *picture != before {
                thread::sleep(pause.map_or(PICTURE_PACE, |pause| Duration::from_millis(pause(before))));
                if !goes_on() {
                    return;
                }
            }
            before = *picture;
            let Some(Some(way)) = tracks.get(usize::from(channel / 2)) else {
                continue;
            };
            let rtcp = usize::from(channel % 2);
            match way {
                TrackTransport::Channels(first, second) => {
                    let mut data = Vec::new();
                    put_data(&mut data, [*first, *second][rtcp], packet);
                    data.extend_from_slice(between.unwrap_or_default());
                    if stream.lock().expect("not poisoned").write_all(&data).is_err() {
                        return;
                    }
                }
                TrackTransport::Ports(sockets, ports) => {
                    // The player's socket may not exist.
                    let _ = sockets[rtcp].send_to(packet, (Ipv4Addr::LOCALHOST, ports[rtcp]));
                }
            }
            if show.description.is_none() {
                thread::sleep(PACE);
            }
        }
        if script.hangs_up && number == 0 {
            let _ = stream.lock().expect("not poisoned").shutdown(Shutdown::Both);
        }
        if !script.forever {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
