//! Inner parts of the program that peers' bytes reach, for fuzz targets: without sockets, clocks of their own or files.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use quinn::ConnectionIdGenerator;
use sealcast_proto::keys::{PeerId, ticket_mac};
use sealcast_proto::wire::{COOKIE_LEN, Malformed, MessageLength, RetryCookies, TicketMac};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc;
use web_transport_quinn::proto;

use crate::media::{ReceivedFrame, StreamInfo};
use crate::meter::build_info::BuildInfo;
use crate::meter::metrics::Metrics;
pub use crate::run::gateway::fuzzing as gateway;
use crate::sink::file_mp4::Fragmenter;
use crate::transport::quic::door::{Door, IssuedIds};
use crate::transport::quic::incoming::{Incoming, MAX_STREAMED};
use crate::transport::udp::demultiplexer::{self, Begun, Demultiplexer, PeerTable};
use crate::transport::udp::{Path, Runs};
use crate::transport::{Alteration, PageSessions, Progress, StreamTransport, Transport};
use crate::web::{app, serve};

/// Maximum of sessions at a UDP listener that wait to be accepted.
pub const MAX_WAITING: usize = demultiplexer::MAX_WAITING;

/// Bytes that a stream transport holds for what it receives.
pub fn held<S: AsyncRead + AsyncWrite + Unpin + Send>(transport: &StreamTransport<S>) -> usize {
    transport.held()
}

/// The bytes of an MP4 file with these frames.
///
/// # Errors
/// The words that a user would see.
pub fn mp4(info: &StreamInfo, frames: &[ReceivedFrame]) -> Result<Vec<u8>, String> {
    let (mut file, mut out) = (Fragmenter::new(info.clone(), false), Vec::new());
    for frame in frames {
        out.extend(file.push(frame)?.into_iter().flat_map(|piece| piece.fragment));
    }
    out.extend(file.finish()?.into_iter().flat_map(|piece| piece.fragment));
    Ok(out)
}

/// A UDP listener without its socket.
pub struct UdpDoor {
    door: Demultiplexer,
    table: Arc<PeerTable>,
    new: mpsc::Receiver<Begun>,
    batch: Runs,
}

impl UdpDoor {
    /// A listener of this peer, whose cookies are made with `secret`.
    pub fn new(peer: &PeerId, secret: [u8; 32]) -> Self {
        let cookies = RetryCookies::new(ticket_mac(peer), secret);
        let (door, new) = Demultiplexer::new(cookies, Metrics::new(BuildInfo::default()));
        Self {
            table: door.peers(),
            door,
            new,
            batch: Runs::default(),
        }
    }

    /// Take a new secret for cookies.
    pub fn rotate(&mut self, secret: [u8; 32]) {
        self.door.rotate(secret);
    }

    /// Datagrams arrived that were read together: each run is of one sender, and has datagrams of `stride` bytes of
    /// which the last may be shorter. Returns the answers.
    pub fn receive(&mut self, runs: &[(SocketAddr, usize, Vec<u8>)]) -> Vec<(SocketAddr, Vec<u8>)> {
        self.batch = Runs::default();
        for (from, stride, bytes) in runs {
            self.batch.push(Path::to(*from), *stride, bytes);
        }
        let mut answers = Vec::new();
        self.door.hand_out(&mut self.batch, |path, answer| {
            answers.push((path.remote, answer.to_vec()))
        });
        answers
    }

    /// The next session that began.
    pub fn accept(&mut self) -> Option<UdpSession> {
        let begun = self.new.try_recv().ok()?;
        let table = Arc::clone(&self.table);
        Some(UdpSession { begun, table })
    }

    /// The number of sessions, those included that were not accepted yet.
    pub fn sessions(&self) -> usize {
        self.table.len()
    }
}

/// A session's place at a [`UdpDoor`], which goes when it is dropped.
pub struct UdpSession {
    begun: Begun,
    table: Arc<PeerTable>,
}

impl UdpSession {
    /// The connection, the cookie that was shown, and who showed it.
    pub fn entry(&self) -> (u32, [u8; COOKIE_LEN], SocketAddr) {
        (self.begun.connection, self.begun.cookie, self.begun.path.remote)
    }

    /// Datagrams that arrived for it.
    pub fn datagrams(&self) -> Vec<(SocketAddr, Vec<u8>)> {
        let mut runs = Runs::default();
        self.begun.inbox.take(&mut runs);
        let next = || runs.next().map(|(path, datagram)| (path.remote, datagram.to_vec()));
        std::iter::from_fn(next).collect()
    }
}

impl Drop for UdpSession {
    fn drop(&mut self) {
        self.table.remove(self.begun.connection);
    }
}

/// The form in which cookies name an address.
pub fn address_bytes(address: SocketAddr) -> sealcast_proto::wire::AddressBytes {
    Path::to(address).bytes()
}

/// The door of a QUIC listener.
pub struct QuicDoor {
    door: Door,
    ticket: TicketMac,
    issued: IssuedIds,
}

impl QuicDoor {
    /// A door whose ticket gives the first key.
    pub fn new(ticket: &[u8; 32], issued: &[u8; 32]) -> Self {
        let (ticket, issued) = (TicketMac::new(ticket), IssuedIds::new(issued));
        Self {
            door: Door::new(ticket.clone(), issued.clone()),
            ticket,
            issued,
        }
    }

    /// A connection ID that the door knows: one that a connecting end chose, or one that the listener issued.
    pub fn id(&self, chosen: bool) -> Vec<u8> {
        if chosen {
            self.ticket.quic_id([5; 8]).to_vec()
        } else {
            self.issued.clone().generate_cid().to_vec()
        }
    }

    /// The packets of a run that come in, and how many stay outside.
    pub fn sift(&self, run: &[u8], stride: usize) -> (Vec<u8>, u64) {
        let mut run = run.to_vec();
        let (kept, strangers) = self.door.sift(&mut run, stride);
        run.truncate(kept);
        (run, strangers)
    }
}

/// A stream of a QUIC connection that gives what a test puts in.
#[derive(Default)]
pub struct ScriptedStream {
    pieces: std::collections::VecDeque<Vec<u8>>,
    /// Its end was reached.
    pub ends: bool,
}

impl ScriptedStream {
    /// A stream of these pieces, each of which is read at once if there is room; then it ends or stays open.
    pub fn new(pieces: impl IntoIterator<Item = Vec<u8>>, ends: bool) -> Self {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        Self { pieces, ends }
    }
}

impl AsyncRead for ScriptedStream {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        match this.pieces.pop_front() {
            Some(mut piece) => {
                let rest = piece.split_off(piece.len().min(room.remaining()));
                room.put_slice(&piece);
                if !rest.is_empty() {
                    this.pieces.push_front(rest);
                }
                Poll::Ready(Ok(()))
            }
            None if this.ends => Poll::Ready(Ok(())),
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for ScriptedStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// The media streams of a QUIC connection.
pub struct QuicStreams(Incoming<ScriptedStream>);

impl Default for QuicStreams {
    fn default() -> Self {
        Self(Incoming::new(Metrics::new(BuildInfo::default())))
    }
}

impl QuicStreams {
    /// Maximum of bytes held for all streams together.
    pub const MOST: usize = MAX_STREAMED;

    /// The peer has opened a stream.
    pub fn open(&mut self, stream: ScriptedStream, now: Instant) {
        self.0.opened(stream, now);
    }

    /// Read what the streams have; true if they had anything.
    pub fn read(&mut self, now: Instant) -> bool {
        self.0.read_streams(&mut Context::from_waker(Waker::noop()), now)
    }

    /// Bytes held for all streams.
    pub fn held(&self) -> usize {
        self.0.held()
    }

    /// The next record.
    ///
    /// # Errors
    /// The framing of a stream is lost.
    pub fn message(&mut self) -> Result<Option<Vec<u8>>, Malformed> {
        Ok(self.0.message()?.map(|message| message.to_vec()))
    }
}

/// As [`StreamTransport`] with a [`ScriptedStream`]: all messages until the stream has no more, and the bytes held at
/// most. `None` as the last one: the framing is lost.
pub fn messages(stream: ScriptedStream, limit: MessageLength) -> (Vec<Option<Vec<u8>>>, usize) {
    let mut transport = StreamTransport::new(stream);
    let (mut found, mut most) = (Vec::new(), 0);
    while read_once(&mut transport) {
        loop {
            most = most.max(transport.held());
            match transport.message(limit) {
                Ok(Some(message)) => found.push(Some(message.to_vec())),
                Ok(None) => break,
                Err(Malformed) => {
                    found.push(None);
                    return (found, most);
                }
            }
        }
    }
    (found, most)
}

fn read_once(transport: &mut StreamTransport<ScriptedStream>) -> bool {
    let waited = std::pin::pin!(transport.wait()).poll(&mut Context::from_waker(Waker::noop()));
    matches!(waited, Poll::Ready(Ok(Progress::Read)))
}

/// A page's server and a WebSocket on it: what a client says in pieces, over a pipe from which it reads nothing.
/// Returns the bytes that were taken of it, and the most that the WebSocket held for it.
pub async fn page(pieces: Vec<Vec<u8>>) -> (usize, usize) {
    let remote = SocketAddr::from(([127, 0, 0, 1], 1));
    let sessions = PageSessions::new(remote);
    let router = app::router().merge(sessions.routes(Alteration::default()));
    let mut listener = sessions.listen();
    let (mut client, server) = tokio::io::duplex(PIPE);
    let serving = tokio::spawn(serve::over_pipe(server, remote, router));
    let most = Arc::new(AtomicUsize::new(0));
    let held = Arc::clone(&most);
    let session = tokio::spawn(async move {
        let Ok((mut transport, _)) = listener.accept().await else {
            return;
        };
        while let Ok(Progress::Read | Progress::Wrote) = transport.wait().await {
            while let Ok(Some(_)) = transport.message(MessageLength::Handshake) {}
            held.fetch_max(transport.inner().unread(), Ordering::Relaxed);
        }
    });
    let mut taken = 0;
    for piece in &pieces {
        let mut rest = piece.as_slice();
        let mut idle = 0;
        while !rest.is_empty() && idle < IDLE {
            match poll_fn(|cx| Poll::Ready(Pin::new(&mut client).poll_write(cx, rest))).await {
                Poll::Ready(Ok(count)) => (rest, taken, idle) = (&rest[count..], taken + count, 0),
                Poll::Ready(Err(_)) => break,
                Poll::Pending => idle += 1,
            }
            tokio::task::yield_now().await;
        }
    }
    drop(client);
    // A panic there is one here.
    serving.await.expect("the page's server does not panic");
    session.abort();
    let ended = session.await;
    assert!(!ended.is_err_and(|error| error.is_panic()), "a session does not panic");
    (taken, most.load(Ordering::Relaxed))
}

/// Length in bytes of a page's pipe.
const PIPE: usize = 16 << 10;
/// Turns of the runtime without progress after which a page takes no more.
const IDLE: usize = 50;

/// HTTP/3 as a browser's WebTransport session speaks it: the frame of settings, the request, and the capsules that
/// follow. Returns how many capsules were read.
pub async fn web_transport(settings: &[u8], request: &[u8], capsules: Vec<Vec<u8>>) -> usize {
    let mut settings = settings;
    let mut request = request;
    // What is refused here ends the connection.
    let _ = proto::Settings::read(&mut settings).await;
    let _ = proto::ConnectRequest::read(&mut request).await;
    let mut reader = proto::Http3CapsuleReader::new(ScriptedStream::new(capsules, true));
    let mut read = 0;
    while let Ok(Some(_)) = reader.read().await {
        read += 1;
    }
    read
}
