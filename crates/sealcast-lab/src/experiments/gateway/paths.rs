//! The measured path from the cameras to the players, with its entry and exit points.

use std::any::Any;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sealcast_proto::rtsp::{Message, MessageReader, put_data};

use super::packet::Frame;

/// Read timeout of receivers, after which they check if the measurement is over.
pub(super) const LOOK: Duration = Duration::from_millis(200);
/// Size of receive buffers in bytes: a burst must survive a pause of this process.
pub(super) const RECEIVE_BUFFER: usize = 4 << 20;
/// The interleaved channel of RTP that players request on RTSP connections.
pub(super) const RTP: u8 = 0;
/// Longest packet in bytes.
const PACKET_ROOM: usize = 2048;
/// Bytes read from a stream at a time; a [`MessageReader`] always has room for this many.
pub(super) const STREAM_ROOM: usize = 64 << 10;

/// The path of one camera.
pub(super) struct CameraPath {
    pub(super) sender: PacketSender,
    pub(super) receiver: PacketReceiver,
    /// The player's RTSP connection, if packets do not come on it; dropping it would end the session.
    pub(super) _session: Option<TcpStream>,
}

/// The paths of all cameras, and the programs that carry them.
pub(super) struct Paths {
    // Fields are dropped in this order: the paths must end before the programs that carry them.
    pub(super) camera_paths: Vec<CameraPath>,
    /// Start of its clock.
    pub(super) epoch: Instant,
    /// The processes whose processor time counts, from the camera to the player.
    pub(super) processes: Vec<u32>,
    /// Resources that must live as long as the paths.
    pub(super) _held: Box<dyn Any>,
}

impl Paths {
    /// Paths through these processes, which hold something for as long as there are the paths.
    pub(super) fn new(camera_paths: Vec<CameraPath>, processes: impl Into<Vec<u32>>, held: impl Any) -> Self {
        Self {
            camera_paths,
            epoch: Instant::now(),
            processes: processes.into(),
            _held: Box::new(held),
        }
    }
}

/// Frames from one keyframe to the next, of which the first is one: some programs pass on nothing before it.
const KEYFRAME_INTERVAL: u32 = 50;

/// The entry point for a camera's packets.
pub(super) struct PacketSender {
    transport: RtpTransport,
    /// Sequence number of the last packet.
    sequence: u16,
    /// Number of frames so far.
    frames: u32,
    packet: Vec<u8>,
    frame: Vec<u8>,
}

/// The transport of a camera's packets.
pub(super) enum RtpTransport {
    Datagrams(UdpSocket),
    /// The camera's RTSP answers go there, too.
    Stream(Arc<Mutex<TcpStream>>),
}

impl PacketSender {
    pub(super) fn new(transport: RtpTransport) -> Self {
        Self {
            transport,
            sequence: 0,
            frames: 0,
            packet: Vec::new(),
            frame: Vec::new(),
        }
    }

    /// Sends a frame; on a stream with a single write.
    pub(super) fn send(&mut self, frame: &Frame) -> io::Result<()> {
        self.frame.clear();
        let keyframe = self.frames.is_multiple_of(KEYFRAME_INTERVAL);
        self.frames = self.frames.wrapping_add(1);
        for at in 0..frame.packets {
            self.sequence = self.sequence.wrapping_add(1);
            self.packet.clear();
            frame.put(&mut self.packet, at, self.sequence, keyframe);
            match &self.transport {
                RtpTransport::Datagrams(socket) => drop(socket.send(&self.packet)?),
                RtpTransport::Stream(_) => put_data(&mut self.frame, RTP, &self.packet),
            }
        }
        match &self.transport {
            RtpTransport::Datagrams(_) => Ok(()),
            RtpTransport::Stream(stream) => {
                let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
                stream.write_all(&self.frame)
            }
        }
    }
}

/// The exit point of a player's packets.
pub(super) enum PacketReceiver {
    Datagrams(UdpSocket, Vec<u8>),
    Stream {
        stream: Box<dyn Read + Send>,
        reader: Box<MessageReader>,
        room: Vec<u8>,
    },
}

impl PacketReceiver {
    /// Receives from a bound socket.
    pub(super) fn datagrams(socket: UdpSocket) -> io::Result<Self> {
        socket.set_read_timeout(Some(LOOK))?;
        // The kernel reduces it to its limit.
        rustix::net::sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
        Ok(Self::Datagrams(socket, vec![0; PACKET_ROOM]))
    }

    /// Receives from a stream with read timeout [`LOOK`]. `reader` holds the bytes read from it so far.
    pub(super) fn stream(stream: impl Read + Send + 'static, reader: MessageReader) -> Self {
        Self::Stream {
            stream: Box::new(stream),
            reader: Box::new(reader),
            room: vec![0; STREAM_ROOM],
        }
    }

    /// Waits for packets and gives each to `each`; returns after [`LOOK`] if none comes.
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

/// Treats a read timeout as success.
pub(super) fn unless_silent(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

/// Makes a path of the two ends of a relayed stream.
pub(super) fn stream_path(sender: TcpStream, receiver: TcpStream) -> io::Result<CameraPath> {
    sender.set_nodelay(true)?;
    receiver.set_read_timeout(Some(LOOK))?;
    Ok(CameraPath {
        sender: PacketSender::new(RtpTransport::Stream(Arc::new(Mutex::new(sender)))),
        receiver: PacketReceiver::stream(receiver, MessageReader::default()),
        _session: None,
    })
}
