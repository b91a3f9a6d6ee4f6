//! Players: an RTSP client that negotiates only. The measurement itself receives the packets.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, Method, Request, Response};

use super::paths::{LOOK, PacketReceiver, RTP, STREAM_ROOM, unless_silent};
use crate::experiments::throughput::Carrier;

/// Time limit for connecting to a server, and for each of its answers.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two attempts to connect.
const RETRY: Duration = Duration::from_millis(20);

/// Connects to a local server that may not listen yet.
pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let began = Instant::now();
    let stream = loop {
        match TcpStream::connect((Ipv4Addr::LOCALHOST, port)) {
            Ok(stream) => break stream,
            Err(error) if began.elapsed() > PATIENCE => return Err(error),
            Err(_) => thread::sleep(RETRY),
        }
    };
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(LOOK))?;
    Ok(stream)
}

/// An RTSP client on a stream with read timeout [`LOOK`].
pub(super) struct Player<S> {
    stream: S,
    url: String,
    reader: MessageReader,
    session: Option<String>,
    asked: u32,
}

impl<S: Read + Write + Send + 'static> Player<S> {
    pub(super) fn new(stream: S, url: String) -> Self {
        Self {
            stream,
            url,
            reader: MessageReader::default(),
            session: None,
            asked: 0,
        }
    }

    /// Plays the only track over this connection.
    pub(super) fn interleaved(mut self) -> io::Result<PacketReceiver> {
        self.play(&format!("RTP/AVP/TCP;unicast;interleaved={RTP}-{}", RTP + 1))?;
        Ok(PacketReceiver::stream(self.stream, self.reader))
    }

    /// Plays the only track over UDP; the caller must keep the returned connection open.
    pub(super) fn datagrams(mut self) -> io::Result<(PacketReceiver, S)> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        // No RTCP is sent, but RTSP demands a pair of ports.
        let port = socket.local_addr()?.port();
        self.play(&format!("RTP/AVP;unicast;client_port={port}-{}", port.wrapping_add(1)))?;
        Ok((PacketReceiver::datagrams(socket)?, self.stream))
    }

    fn play(&mut self, transport: &str) -> io::Result<()> {
        let described = self.ask(Method::Describe, "", None)?;
        let base = described.headers.get("Content-Base").unwrap_or(&self.url);
        let base = base.trim_end_matches('/').to_owned();
        let text = String::from_utf8_lossy(&described.body).into_owned();
        let track = text.lines().rev().find_map(|line| line.strip_prefix("a=control:"));
        let track = track.ok_or_else(|| io::Error::other("the description names no track"))?;
        let track = if track.contains("://") {
            track.to_owned()
        } else {
            format!("{base}/{track}")
        };
        self.ask(Method::Setup, &track, Some(transport))?;
        self.ask(Method::Play, "", None)?;
        Ok(())
    }

    /// Sends a request for the whole presentation, or for a track by its URL. Skips packets that come before the
    /// answer.
    fn ask(&mut self, method: Method, track: &str, transport: Option<&str>) -> io::Result<Response> {
        let name = method.name().to_owned();
        let url = if track.is_empty() { &self.url } else { track };
        let mut request = Request::new(method, url);
        self.asked += 1;
        request.headers.add("CSeq", self.asked.to_string());
        if let Some(session) = &self.session {
            request.headers.add("Session", session.clone());
        }
        if let Some(transport) = transport {
            request.headers.add("Transport", transport);
        }
        self.stream.write_all(&request.to_bytes())?;
        let response = self.answer()?;
        if response.status != 200 {
            return Err(io::Error::other(format!(
                "{name} was answered with status {}",
                response.status
            )));
        }
        if let Some(session) = response.headers.get("Session") {
            self.session = session.split(';').next().map(str::to_owned);
        }
        Ok(response)
    }

    fn answer(&mut self) -> io::Result<Response> {
        let began = Instant::now();
        let mut room = vec![0; STREAM_ROOM];
        while began.elapsed() < PATIENCE {
            while let Some(message) = self.reader.next_message().map_err(io::Error::other)? {
                if let Message::Response(response) = message {
                    return Ok(response);
                }
            }
            match self.stream.read(&mut room) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => self.reader.push(&room[..length]).map_err(io::Error::other)?,
                Err(error) => unless_silent(error)?,
            }
        }
        Err(ErrorKind::TimedOut.into())
    }
}

/// A player at a server's port; also its connection, if packets do not come on it.
pub(super) fn watch(port: u16, path: &str, carrier: Carrier) -> io::Result<(PacketReceiver, Option<TcpStream>)> {
    let player = Player::new(connect(port)?, format!("rtsp://127.0.0.1:{port}/{path}"));
    match carrier {
        Carrier::Tcp => Ok((player.interleaved()?, None)),
        Carrier::Udp => player.datagrams().map(|(receiver, session)| (receiver, Some(session))),
    }
}
