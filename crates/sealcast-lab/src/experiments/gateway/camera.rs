//! Cameras: an RTSP server that negotiates only. The measurement itself sends the packets.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use sealcast_proto::rtsp::{Message, MessageReader, Method, Offer, Request, Response, parse_offers};

use super::paths::{PacketSender, RTP, RtpTransport, STREAM_ROOM};
use crate::experiments::throughput::Carrier;

/// Time limit for the first PLAY request to a camera.
const PATIENCE: Duration = Duration::from_secs(60);

/// Describes H.264 with parameter sets of 1280x720, since some players want them.
const SDP: &str = "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=lab\r\nc=IN IP4 0.0.0.0\r\nt=0 0\r\na=control:*\r\n\
    m=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track0\r\na=fmtp:96 packetization-mode=1;\
    profile-level-id=42c01f;sprop-parameter-sets=Z0LAH9oBQBbsBEAAAAMAQAAADIPGDKg=,aM4PyA==\r\n";

/// All cameras, at paths `0`, `1` and so on of one port. A connection is served until its client closes it.
pub(super) struct Cameras {
    pub(super) port: u16,
    playing: Receiver<(usize, PacketSender)>,
    over: Arc<AtomicBool>,
}

impl Cameras {
    /// Starts cameras that offer this carrier only.
    pub(super) fn start(carrier: Carrier) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let (sender, playing) = channel();
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(io::Result::ok) {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                let sender = sender.clone();
                // A broken connection shows in packets that do not arrive.
                thread::spawn(move || drop(Serving::new(stream, carrier).map(|serving| serving.run(&sender))));
            }
        });
        Ok(Self { port, playing, over })
    }

    /// Waits for the next camera that is asked to play; returns its number and the way to send its packets.
    pub(super) fn next(&self) -> io::Result<(usize, PacketSender)> {
        let silent = |_| io::Error::other(format!("no camera was asked to play within {} s", PATIENCE.as_secs()));
        self.playing.recv_timeout(PATIENCE).map_err(silent)
    }
}

impl Drop for Cameras {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts connections.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

/// One connection.
struct Serving {
    stream: TcpStream,
    /// Answers and interleaved packets share this writer.
    writing: Arc<Mutex<TcpStream>>,
    carrier: Carrier,
    camera: usize,
    sockets: Option<[UdpSocket; 2]>,
}

impl Serving {
    fn new(stream: TcpStream, carrier: Carrier) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            writing: Arc::new(Mutex::new(stream.try_clone()?)),
            stream,
            carrier,
            camera: 0,
            sockets: None,
        })
    }

    fn run(mut self, playing: &Sender<(usize, PacketSender)>) -> io::Result<()> {
        let mut reader = MessageReader::default();
        let mut room = vec![0; STREAM_ROOM];
        loop {
            let length = self.stream.read(&mut room)?;
            if length == 0 {
                return Ok(());
            }
            reader.push(&room[..length]).map_err(io::Error::other)?;
            while let Some(message) = reader.next_message().map_err(io::Error::other)? {
                if let Message::Request(request) = message {
                    self.answer(&request, playing)?;
                }
            }
        }
    }

    fn answer(&mut self, request: &Request, playing: &Sender<(usize, PacketSender)>) -> io::Result<()> {
        let mut response = Response::new(200);
        response.headers.add("CSeq", request.headers.get("CSeq").unwrap_or("0"));
        response.headers.add("Session", "1");
        match request.method {
            Method::Options => response
                .headers
                .add("Public", "DESCRIBE, SETUP, PLAY, TEARDOWN, GET_PARAMETER"),
            Method::Describe => {
                let path = request.url.split('/').nth(3);
                self.camera = path.and_then(|path| path.parse().ok()).unwrap_or(0);
                response.headers.add("Content-Type", "application/sdp");
                response.body = SDP.as_bytes().to_vec();
            }
            Method::Setup => match self.set_up(request)? {
                Some(transport) => response.headers.add("Transport", transport),
                None => response.status = 461,
            },
            _ => {}
        }
        let mut writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        writing.write_all(&response.to_bytes())?;
        drop(writing);
        if request.method == Method::Play {
            let transport = match &self.sockets {
                Some([packets, _]) => RtpTransport::Datagrams(packets.try_clone()?),
                None => RtpTransport::Stream(Arc::clone(&self.writing)),
            };
            // If the receiver is gone, this is a repeated PLAY, which needs no new way.
            let _ = playing.send((self.camera, PacketSender::new(transport)));
        }
        Ok(())
    }

    fn set_up(&mut self, request: &Request) -> io::Result<Option<String>> {
        let offers = parse_offers(request.headers.get("Transport").unwrap_or_default());
        Ok(match (offers.first(), self.carrier) {
            (Some(Offer::Interleaved(Some((RTP, rtcp)))), Carrier::Tcp) => {
                Some(format!("RTP/AVP/TCP;unicast;interleaved={RTP}-{rtcp}"))
            }
            (Some(Offer::Udp(client)), Carrier::Udp) => {
                let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
                let [packets, reports] = self.sockets.insert([bind()?, bind()?]);
                packets.connect((Ipv4Addr::LOCALHOST, client.rtp))?;
                let (rtp, rtcp) = (packets.local_addr()?.port(), reports.local_addr()?.port());
                Some(format!("RTP/AVP;unicast;client_port={client};server_port={rtp}-{rtcp}"))
            }
            _ => None,
        })
    }
}
