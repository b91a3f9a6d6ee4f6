//! A camera that sends packets from a test and records the requests and packets it receives.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, Method, Offer, Request, Response, parse_offers, put_data};

use super::{Packet, Plain};
use crate::program::PATIENCE;

/// Pause after each packet.
const PACE: Duration = Duration::from_micros(300);
/// Read timeout of sockets for reports, after which they check if the session is over.
const LOOK: Duration = Duration::from_millis(200);

/// The default codec of the video: the gateways do not look for its keyframes.
const CODEC: &str = "VP8";

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

/// State that a test changes while the camera runs.
struct State {
    codec: Mutex<&'static str>,
    /// Number of connections, counted from the first, that behave as if dead.
    silent: AtomicUsize,
    gone: AtomicBool,
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
        let port = listener.local_addr().expect("bound").port();
        let (sender, heard) = channel();
        let connections = Arc::new(Mutex::new(Vec::new()));
        let state = Arc::new(State {
            codec: Mutex::new(CODEC),
            silent: AtomicUsize::new(0),
            gone: AtomicBool::new(false),
        });
        let (packets, open, shared) = (Arc::new(packets), Arc::clone(&connections), Arc::clone(&state));
        thread::spawn(move || {
            for (number, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                if shared.gone.load(Ordering::Relaxed) {
                    return;
                }
                let copy = stream.try_clone().expect("a copy");
                open.lock().expect("not poisoned").push(copy);
                let serving = Serving {
                    plain,
                    packets: Arc::clone(&packets),
                    forever,
                    heard: sender.clone(),
                    tracks: vec![None; 2],
                    over: Arc::default(),
                    state: Arc::clone(&shared),
                    number,
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
    plain: Plain,
    packets: Arc<Vec<Packet>>,
    forever: bool,
    heard: Sender<Heard>,
    tracks: Vec<Option<TrackTransport>>,
    /// The session is over: no more packets are sent or received.
    over: Arc<AtomicBool>,
    state: Arc<State>,
    /// Index of the connection.
    number: usize,
}

impl Serving {
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
                    Message::Request(request) => self.answer(&mut stream, &request),
                    Message::Data { channel, bytes } => drop(self.heard.send(Heard::Report(channel, bytes))),
                    Message::Response(_) => {}
                }
            }
        }
    }

    fn answer(&mut self, stream: &mut TcpStream, request: &Request) {
        let mut response = Response::new(200);
        response
            .headers
            .add("CSeq", request.headers.get("CSeq").expect("a number"));
        response.headers.add("Session", "12345678;timeout=60");
        match request.method {
            Method::Options => response.headers.add("Public", "DESCRIBE, SETUP, PLAY, TEARDOWN"),
            Method::Describe => {
                response.headers.add("Content-Type", "application/sdp");
                let codec = *self.state.codec.lock().expect("not poisoned");
                response.body = description(codec).into_bytes();
            }
            Method::Setup => match self.set_up(request) {
                Some(transport) => response.headers.add("Transport", transport),
                None => response.status = 461,
            },
            Method::Teardown => {
                std::mem::take(&mut self.over).store(true, Ordering::Relaxed);
                self.tracks.fill(None);
            }
            _ => {}
        }
        stream.write_all(&response.to_bytes()).expect("answered");
        let _ = self.heard.send(Heard::Asked(request.method.name().to_owned()));
        if request.method == Method::Play {
            let stream = stream.try_clone().expect("a copy");
            let (tracks, packets, forever) = (self.tracks.clone(), Arc::clone(&self.packets), self.forever);
            let (over, state, number) = (Arc::clone(&self.over), Arc::clone(&self.state), self.number);
            let goes_on = move || !over.load(Ordering::Relaxed) && number >= state.silent.load(Ordering::Relaxed);
            thread::spawn(move || send(stream, &tracks, &packets, forever, goes_on));
        }
    }

    fn set_up(&mut self, request: &Request) -> Option<String> {
        let track: usize = request
            .url
            .rsplit_once('=')
            .expect("a track")
            .1
            .parse()
            .expect("a number");
        let offers = parse_offers(request.headers.get("Transport").expect("an offer"));
        let (way, granted) = match (offers.first()?, self.plain) {
            (Offer::Interleaved(Some((rtp, rtcp))), Plain::Tcp) => {
                let granted = format!("RTP/AVP/TCP;unicast;interleaved={rtp}-{rtcp}");
                (TrackTransport::Channels(*rtp, *rtcp), granted)
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
                let granted = format!("RTP/AVP;unicast;client_port={client};server_port={rtp}-{rtcp}");
                (
                    TrackTransport::Ports(Arc::new(sockets), [client.rtp, client.rtcp]),
                    granted,
                )
            }
            _ => return None,
        };
        self.tracks[track] = Some(way);
        Some(granted)
    }
}

fn send(
    mut stream: TcpStream,
    tracks: &[Option<TrackTransport>],
    packets: &[Packet],
    forever: bool,
    goes_on: impl Fn() -> bool,
) {
    while goes_on() {
        for (channel, packet) in packets {
            let Some(way) = &tracks[usize::from(channel / 2)] else {
                continue;
            };
            let rtcp = usize::from(channel % 2);
            match way {
                TrackTransport::Channels(first, second) => {
                    let mut data = Vec::new();
                    put_data(&mut data, [*first, *second][rtcp], packet);
                    if stream.write_all(&data).is_err() {
                        return;
                    }
                }
                TrackTransport::Ports(sockets, ports) => {
                    // The player's socket may not exist.
                    let _ = sockets[rtcp].send_to(packet, (Ipv4Addr::LOCALHOST, ports[rtcp]));
                }
            }
            thread::sleep(PACE);
        }
        if !forever {
            return;
        }
        thread::sleep(Duration::from_millis(5));
    }
}
