//! A player that records every packet.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use sealcast_proto::rtsp::{Message, MessageReader, Method, Request, Response, put_data};
use socket2::SockRef;

use super::{Packet, Plain};
use crate::program::PATIENCE;

/// Read timeout of sockets, after which they check if the player still exists.
const LOOK: Duration = Duration::from_millis(200);
/// Time that a test waits for packets that must not come.
const MOMENT: Duration = Duration::from_millis(500);
/// If no datagram comes for this long, the next one is considered lost.
const LOSS: Duration = Duration::from_secs(5);

/// A player in a session.
pub struct Player {
    stream: TcpStream,
    plain: Plain,
    url: String,
    session: Option<String>,
    cseq: u32,
    responses: Receiver<Response>,
    packets: Receiver<Packet>,
    sender: Sender<Packet>,
    /// For each track, the RTCP socket and the gateway's port for it.
    reports: Vec<(UdpSocket, u16)>,
    over: Arc<AtomicBool>,
    /// For each track, the first of the gateway's two ports. Packets from other ports were meant for a previous owner
    /// of our port.
    gateway_ports: [Arc<AtomicU16>; 2],
}

impl Drop for Player {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // This fails only if the connection is closed already.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Player {
    /// A player that is connected and has sent no request.
    pub fn connect(port: u16, path: &str, plain: Plain) -> Self {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the gateway listens");
        let (answers, responses) = channel();
        let (sender, packets) = channel();
        let (mut reading, interleaved) = (stream.try_clone().expect("a copy"), sender.clone());
        thread::spawn(move || {
            let mut reader = MessageReader::default();
            let mut buffer = vec![0; 64 << 10];
            while let Ok(length @ 1..) = reading.read(&mut buffer) {
                reader.push(&buffer[..length]).expect("the gateway speaks RTSP");
                while let Some(message) = reader.next_message().expect("the gateway speaks RTSP") {
                    // The receiver may be gone.
                    let _ = match message {
                        Message::Response(response) => answers.send(response).is_ok(),
                        Message::Data { channel, bytes } => interleaved.send((channel, bytes)).is_ok(),
                        Message::Request(_) => panic!("the gateway asks"),
                    };
                }
            }
        });
        Self {
            stream,
            plain,
            url: format!("rtsp://127.0.0.1:{port}/{path}"),
            session: None,
            cseq: 0,
            responses,
            packets,
            sender,
            reports: Vec::new(),
            over: Arc::default(),
            gateway_ports: Default::default(),
        }
    }

    /// A player that watches both tracks.
    pub fn watch(port: u16, plain: Plain) -> Self {
        let mut player = Self::connect(port, "front", plain);
        player.play();
        player
    }

    /// Sends DESCRIBE, SETUP and PLAY; returns the description.
    pub fn play(&mut self) -> String {
        let described = self.ask(Method::Describe, "", &[]);
        assert_eq!(described.status, 200);
        for track in 0..2 {
            assert_eq!(self.set_up(track), 200);
        }
        assert_eq!(self.begin(), 200);
        String::from_utf8(described.body).expect("text")
    }

    /// Sends SETUP for a track; returns the status of the answer.
    pub fn set_up(&mut self, track: u8) -> u16 {
        let transport = match self.plain {
            Plain::Tcp => format!("RTP/AVP/TCP;unicast;interleaved={}-{}", track * 2, track * 2 + 1),
            Plain::Udp => self.open_ports(track),
        };
        let answer = self.ask(Method::Setup, &format!("/track{track}"), &[("Transport", &transport)]);
        if let Some((_, port)) = self.reports.get_mut(usize::from(track)) {
            let transport = answer.headers.get("Transport").expect("a transport");
            let (_, ports) = transport.split_once("server_port=").expect("ports");
            *port = ports.split_once('-').expect("two ports").1.parse().expect("a number");
            self.gateway_ports[usize::from(track)].store(*port - 1, Ordering::Relaxed);
        }
        answer.status
    }

    /// Sends PLAY; returns the status of the answer.
    pub fn begin(&mut self) -> u16 {
        self.ask(Method::Play, "", &[("Range", "npt=0-")]).status
    }

    fn open_ports(&mut self, track: u8) -> String {
        let sockets = [0, 1].map(|_| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
        let [rtp, rtcp] = [0, 1].map(|at: usize| sockets[at].local_addr().expect("bound").port());
        for (rtcp, socket) in (0..).zip(&sockets) {
            // Room for a burst during a pause of this process.
            SockRef::from(socket).set_recv_buffer_size(4 << 20).expect("room");
            socket.set_read_timeout(Some(LOOK)).expect("not zero");
            let (socket, sender) = (socket.try_clone().expect("a copy"), self.sender.clone());
            let over = Arc::clone(&self.over);
            let ours = Arc::clone(&self.gateway_ports[usize::from(track)]);
            thread::spawn(move || {
                let mut buffer = vec![0; 1 << 16];
                while !over.load(Ordering::Relaxed) {
                    if let Ok((length, from)) = socket.recv_from(&mut buffer)
                        && from.port() == ours.load(Ordering::Relaxed) + u16::from(rtcp)
                    {
                        // The receiver may be gone.
                        let _ = sender.send((track * 2 + rtcp, buffer[..length].to_vec()));
                    }
                }
            });
        }
        let [_, reports] = sockets;
        self.reports.push((reports, 0));
        format!("RTP/AVP;unicast;client_port={rtp}-{rtcp}")
    }

    /// Sends a request about the camera, or about a part of it.
    pub fn ask(&mut self, method: Method, part: &str, headers: &[(&str, &str)]) -> Response {
        self.ask_with(method, part, headers, b"")
    }

    /// Sends a request with a body.
    pub fn ask_with(&mut self, method: Method, part: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.cseq += 1;
        let mut request = Request::new(method, format!("{}{part}", self.url));
        request.headers.add("CSeq", self.cseq.to_string());
        if let Some(session) = &self.session {
            request.headers.add("Session", session.clone());
        }
        for (name, value) in headers {
            request.headers.add(name, *value);
        }
        request.body = body.to_vec();
        self.stream.write_all(&request.to_bytes()).expect("asked");
        let response = self.responses.recv_timeout(PATIENCE).expect("an answer");
        assert_eq!(response.headers.get("CSeq"), Some(&*self.cseq.to_string()));
        if let Some(session) = response.headers.get("Session") {
            self.session = session.split(';').next().map(str::to_owned);
        }
        response
    }

    /// The next packets.
    pub fn packets(&self, count: usize) -> Vec<Packet> {
        let next = |at| {
            let packet = self.packets.recv_timeout(PATIENCE);
            packet.unwrap_or_else(|_| panic!("only {at} packets came of {count}"))
        };
        (0..count).map(next).collect()
    }

    /// True if more packets come.
    pub fn receives(&self) -> bool {
        self.packets.try_iter().for_each(drop);
        self.packets.recv_timeout(PATIENCE).is_ok()
    }

    /// True if no packets come for a moment.
    pub fn receives_nothing(&self) -> bool {
        self.packets.try_iter().for_each(drop);
        self.packets.recv_timeout(MOMENT).is_err()
    }

    /// The next packets, at most `most`; ends early if none comes for a while.
    pub fn packets_that_come(&self, most: usize) -> Vec<Packet> {
        let next = |_| self.packets.recv_timeout(LOSS).ok();
        (0..most).map_while(next).collect()
    }

    /// Sends an RTCP packet for a track.
    pub fn report(&mut self, track: u8, packet: &[u8]) {
        match self.reports.get(usize::from(track)) {
            Some((socket, port)) => {
                socket.send_to(packet, (Ipv4Addr::LOCALHOST, *port)).expect("sent");
            }
            None => {
                let mut data = Vec::new();
                put_data(&mut data, track * 2 + 1, packet);
                self.stream.write_all(&data).expect("sent");
            }
        }
    }

    /// Closes the connection without TEARDOWN.
    pub fn hang_up(self) {}

    /// True if the gateway closes the connection in time.
    pub fn is_ended(&self, within: Duration) -> bool {
        // The channel disconnects when the reading thread has seen the end.
        matches!(self.responses.recv_timeout(within), Err(RecvTimeoutError::Disconnected))
    }
}
