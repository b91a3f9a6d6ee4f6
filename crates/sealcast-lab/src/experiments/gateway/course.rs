//! What lies between the cameras and the players, and how to get in and out.

use std::any::Any;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, put_data};

use super::packet::Frame;

/// How long somebody who receives waits before it looks whether it is over.
pub(super) const LOOK: Duration = Duration::from_millis(200);
/// Bytes that may wait for who receives: a burst must outlast a pause of this process.
pub(super) const RECEIVE_BUFFER: usize = 4 << 20;
/// The channel of RTP on RTSP connections, as it is asked for.
pub(super) const RTP: u8 = 0;
/// Longest packet.
const PACKET_ROOM: usize = 2048;
/// Bytes read from a stream at a time; a [`MessageReader`] always takes as many.
pub(super) const STREAM_ROOM: usize = 64 << 10;

/// One camera's way.
pub(super) struct Lane {
    pub(super) out: Out,
    pub(super) come: Come,
    /// The player's RTSP connection, where packets do not come on it.
    pub(super) _session: Option<TcpStream>,
}

/// All ways, and who is on them.
pub(super) struct Course {
    // The lanes end before who carries them.
    pub(super) lanes: Vec<Lane>,
    /// When its clock began.
    pub(super) epoch: Instant,
    /// Whose processor time counts.
    pub(super) processes: Vec<u32>,
    /// What has to go on.
    pub(super) _held: Box<dyn Any>,
}

/// Where a camera's packets go in.
pub(super) struct Out {
    way: Way,
    /// Of the last packet.
    sequence: u16,
    packet: Vec<u8>,
    frame: Vec<u8>,
}

/// What carries them.
pub(super) enum Way {
    Datagrams(UdpSocket),
    /// Its camera also answers there.
    Stream(Arc<Mutex<TcpStream>>),
}

impl Out {
    pub(super) fn new(way: Way) -> Self {
        Self {
            way,
            sequence: 0,
            packet: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Send a frame; on a stream all of it at once.
    pub(super) fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.frame.clear();
        for at in 0..frame.packets {
            self.sequence = self.sequence.wrapping_add(1);
            self.packet.clear();
            frame.put(&mut self.packet, at, self.sequence);
            match &self.way {
                Way::Datagrams(socket) => drop(socket.send(&self.packet)?),
                Way::Stream(_) => put_data(&mut self.frame, RTP, &self.packet),
            }
        }
        match &self.way {
            Way::Datagrams(_) => Ok(()),
            Way::Stream(stream) => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.write_all(&self.frame)
            }
        }
    }
}

/// Where a player's packets come out.
pub(super) enum Come {
    Datagrams(UdpSocket, Vec<u8>),
    Stream {
        stream: Box<dyn Read + Send>,
        reader: Box<MessageReader>,
        room: Vec<u8>,
    },
}

impl Come {
    /// From a socket that is bound.
    pub(super) fn datagrams(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOOK))?;
        // More than the limit is cut down to it.
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
        Ok(Self::Datagrams(socket, vec![0; PACKET_ROOM]))
    }

    /// From a stream whose reads end after [`LOOK`], and what was read of it already.
    pub(super) fn stream(stream: impl Read + Send + 'static, reader: MessageReader) -> Self {
        Self::Stream {
            stream: Box::new(stream),
            reader: Box::new(reader),
            room: vec![0; STREAM_ROOM],
        }
    }

    /// Wait for packets and give each to `each`; return after [`LOOK`] if none comes.
    pub(super) fn receive(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        match self {
            Self::Datagrams(socket, room) => match socket.recv(room) {
                Ok(length) => each(&room[..length]),
                Err(error) => return unless_silent(error),
            },
            Self::Stream { stream, reader, room } => {
                let length = match stream.read(room) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(length) => length,
                    Err(error) => return unless_silent(error),
                };
                reader.push(&room[..length]).map_err(io::Error::other)?;
                while let Some(message) = reader.next_message().map_err(io::Error::other)? {
                    if let Message::Data { channel: RTP, bytes } = message {
                        each(&bytes);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Silence is no error.
pub(super) fn unless_silent(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Both ends of a stream that somebody passes on, as a lane.
pub(super) fn stream_lane(out: TcpStream, come: TcpStream) -> io::Result<Lane> {
    out.set_nodelay(true)?;
    come.set_read_timeout(Some(LOOK))?;
    Ok(Lane {
        out: Out::new(Way::Stream(Arc::new(Mutex::new(out)))),
        come: Come::stream(come, MessageReader::default()),
        _session: None,
    })
}
