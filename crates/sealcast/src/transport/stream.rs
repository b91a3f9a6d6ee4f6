//! Messages over a byte stream.

use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use sealcast_proto::group_media::SealedFrame;
use sealcast_proto::wire::{LENGTH_PREFIX, Malformed, MessageLength, message_length};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::outgoing::{Outgoing, PIECES};
use super::{Progress, Transport};

/// Capacity of a new receive buffer: room for the messages of a handshake.
const FIRST_READ: usize = 8 * 1024;
/// Bytes read at once where much arrives. Also the most that an unauthenticated peer can make us hold.
const READ_CHUNK: usize = 64 * 1024;

/// A byte stream whose type is known only at run time.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}

/// Carries messages over a byte stream.
pub struct StreamTransport<S> {
    stream: S,
    /// Received bytes are `incoming[start..end]`. The buffer doubles once it is full, so that it grows with what
    /// arrived and never with a length that was only announced.
    incoming: Vec<u8>,
    start: usize,
    end: usize,
    /// The last read filled the buffer.
    filled: bool,
    closed: bool,
    /// Reason why nothing more can be written. It is told once all that came is read: the other end may have said why
    /// it left.
    broken: Option<io::Error>,
    /// The session is established.
    admitted: bool,
    outgoing: Outgoing,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> StreamTransport<S> {
    /// Carry messages over `stream`.
    pub fn new(stream: S) -> Self {
        Self {
            stream,
            incoming: vec![0; FIRST_READ],
            start: 0,
            end: 0,
            filled: false,
            closed: false,
            broken: None,
            admitted: false,
            outgoing: Outgoing::default(),
        }
    }

    /// Takes all received bytes as they are, for a protocol with a framing of its own.
    pub(crate) fn take_bytes(&mut self) -> &[u8] {
        let came = self.start..self.end;
        (self.start, self.end) = (0, 0);
        &self.incoming[came]
    }

    /// The underlying stream.
    pub(crate) fn inner(&self) -> &S {
        &self.stream
    }

    /// The underlying stream.
    pub(super) fn inner_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// True if the other end has finished the stream.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Capacity of the receive buffer in bytes.
    pub(crate) fn held(&self) -> usize {
        self.incoming.len()
    }

    /// True if part of a message has arrived, and the rest has not.
    pub(super) fn is_partial(&self) -> bool {
        self.start < self.end
    }

    /// Returns the length of the next message if all of it has arrived. Otherwise makes room for more of it.
    ///
    /// # Errors
    /// [`Malformed`]: the framing is lost.
    pub(super) fn next_length(&mut self, limit: MessageLength) -> Result<Option<usize>, Malformed> {
        let Some(length) = message_length(&self.incoming[self.start..self.end], limit)? else {
            self.make_room(LENGTH_PREFIX);
            return Ok(None);
        };
        let whole = LENGTH_PREFIX + length;
        if self.end - self.start < whole {
            self.make_room(whole);
            return Ok(None);
        }
        Ok(Some(length))
    }

    /// Writes as much as the stream accepts; returns true if anything was written.
    pub(super) fn poll_write(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let mut moved = false;
        while self.outgoing.len() > 0 {
            let mut room = [IoSlice::new(&[]); PIECES];
            let pieces = self.outgoing.pieces(&mut room);
            match Pin::new(&mut self.stream).poll_write_vectored(context, pieces) {
                Poll::Ready(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(Ok(count)) => {
                    self.outgoing.advance(count);
                    moved = true;
                }
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => break,
            }
        }
        // TLS may buffer what it accepted; a later wait() registers the waker for the rest.
        if let Poll::Ready(Err(error)) = Pin::new(&mut self.stream).poll_flush(context) {
            return Err(error);
        }
        Ok(moved)
    }

    /// As [`poll_write`](Self::poll_write); an error is kept until everything is read.
    fn write(&mut self, context: &mut Context<'_>) -> bool {
        if self.broken.is_some() {
            return false;
        }
        let wrote = self.poll_write(context);
        wrote.unwrap_or_else(|error| {
            self.broken = Some(error);
            false
        })
    }

    /// Reads available bytes as far as there is room; returns true if anything was read.
    pub(super) fn poll_read(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        if self.closed {
            return Ok(false);
        }
        if self.end == 0 && self.filled && self.incoming.len() < READ_CHUNK {
            self.incoming.resize(READ_CHUNK, 0);
        }
        if self.end == self.incoming.len() {
            // Complete messages are taken between reads, so a full buffer holds a partial message, for which
            // message() has made room.
            return Ok(false);
        }
        let mut room = ReadBuf::new(&mut self.incoming[self.end..]);
        match Pin::new(&mut self.stream).poll_read(context, &mut room) {
            Poll::Ready(Ok(())) => {
                let count = room.filled().len();
                self.end += count;
                self.filled = self.end == self.incoming.len();
                self.closed = count == 0;
                Ok(count > 0)
            }
            Poll::Ready(Err(error)) => Err(error),
            Poll::Pending => Ok(false),
        }
    }

    /// Makes room so that the next read has space for more of a message of `needed` bytes.
    fn make_room(&mut self, needed: usize) {
        if self.start > 0 && (self.start == self.end || self.incoming.len() - self.start < needed.max(READ_CHUNK)) {
            self.incoming.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let full = self.end == self.incoming.len();
        if full && self.incoming.len() < needed {
            self.incoming.resize(needed.min(2 * self.end), 0);
        }
    }
}

impl StreamTransport<TcpStream> {
    /// The addresses of this end and of the other.
    ///
    /// # Errors
    /// The connection is broken.
    pub(crate) fn addresses(&self) -> io::Result<(SocketAddr, SocketAddr)> {
        Ok((self.stream.local_addr()?, self.stream.peer_addr()?))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Transport for StreamTransport<S> {
    async fn wait(&mut self) -> io::Result<Progress> {
        poll_fn(|context| {
            let wrote = self.write(context);
            let read = self.poll_read(context);
            match (read, self.broken.take()) {
                (Ok(true), broken) => {
                    self.broken = broken;
                    Poll::Ready(Ok(Progress::Read))
                }
                (_, Some(error)) | (Err(error), None) => Poll::Ready(Err(error)),
                (Ok(false), None) if wrote => Poll::Ready(Ok(Progress::Wrote)),
                (Ok(false), None) if self.closed => Poll::Ready(Ok(Progress::Closed)),
                (Ok(false), None) => Poll::Pending,
            }
        })
        .await
    }

    fn flush_now(&mut self) -> io::Result<()> {
        // A later wait() registers the real waker for bytes that could not be sent.
        self.write(&mut Context::from_waker(Waker::noop()));
        Ok(())
    }

    fn message(&mut self, limit: MessageLength) -> Result<Option<&mut [u8]>, Malformed> {
        let Some(length) = self.next_length(limit)? else {
            return Ok(None);
        };
        let from = self.start + LENGTH_PREFIX;
        self.start = from + length;
        Ok(Some(&mut self.incoming[from..from + length]))
    }

    fn outgoing(&mut self) -> &mut Vec<u8> {
        self.outgoing.buffer()
    }

    fn queue_frame(&mut self, frame: &Arc<SealedFrame>) {
        if self.stream.is_write_vectored() {
            self.outgoing.push(Arc::clone(frame));
        } else {
            self.outgoing.buffer().extend_from_slice(&frame.bytes);
        }
    }

    fn backlog(&self) -> usize {
        self.outgoing.len()
    }

    fn admit(&mut self, _receives_media: bool) {
        self.admitted = true;
    }

    async fn finish(&mut self) {
        let finished = poll_fn(|context| Pin::new(&mut self.stream).poll_shutdown(context)).await;
        // What still comes is read, or the system would reset the connection, and drop what it has not delivered. For a
        // stranger nobody waits.
        while finished.is_ok() && self.admitted && !self.closed {
            (self.start, self.end) = (0, 0);
            let read = poll_fn(|context| match self.poll_read(context) {
                Ok(false) if !self.closed => Poll::Pending,
                read => Poll::Ready(read),
            });
            if read.await.is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outgoing::KEPT as OUTGOING_KEPT;
    use super::*;
    use sealcast_proto::wire::write_framed;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn messages_come_out_whole_however_the_stream_is_cut() {
        let messages: Vec<Vec<u8>> = [1, 5, 70_000, 3, 200_000, 64 * 1024 - 4, 1]
            .iter()
            .map(|&length: &usize| (0..length).map(|byte| byte as u8).collect())
            .collect();
        let mut stream = Vec::new();
        messages.iter().for_each(|message| write_framed(&mut stream, message));
        for piece in [1_000, 4_096, 65_536, stream.len()] {
            let (mut far, near) = tokio::io::duplex(piece);
            let mut transport = StreamTransport::new(near);
            let reading = async {
                let mut got = Vec::new();
                while got.len() < messages.len() {
                    assert_eq!(transport.wait().await.expect("open"), Progress::Read);
                    while let Some(message) = transport.message(MessageLength::Record).expect("well framed") {
                        got.push(message.to_vec());
                    }
                }
                got
            };
            let (got, wrote) = tokio::join!(reading, far.write_all(&stream));
            wrote.expect("room");
            assert!(got == messages, "pieces of {piece}");
        }
    }

    #[tokio::test]
    async fn what_was_sent_arrives_though_the_other_end_has_sent_what_nobody_read() {
        const LENGTH: usize = 1 << 20;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let (far, near) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (mut far, near) = (far.expect("it listens"), near.expect("connected").0);
        far.write_all(&[7; 100_000]).await.expect("room");
        let mut transport = StreamTransport::new(near);
        transport.admit(false);
        write_framed(transport.outgoing(), &vec![1; LENGTH]);
        let sending = async {
            while transport.backlog() > 0 {
                transport.flush_now().expect("connected");
                transport.wait().await.expect("connected");
                (transport.start, transport.end) = (0, 0);
            }
            far.write_all(&[7; 10_000]).await.expect("room");
            let mut came = Vec::new();
            let closing = async move {
                transport.finish().await;
                drop(transport);
            };
            tokio::join!(closing, async {
                far.read_to_end(&mut came).await.expect("no reset");
                far.shutdown().await.expect("connected");
            });
            came.len()
        };
        assert_eq!(sending.await, LENGTH_PREFIX + LENGTH);
    }

    #[tokio::test]
    async fn what_the_other_end_said_before_it_left_is_read_though_nothing_can_be_written() {
        let (mut far, near) = tokio::io::duplex(64);
        let mut transport = StreamTransport::new(near);
        let mut said = Vec::new();
        write_framed(&mut said, b"you were removed");
        far.write_all(&said).await.expect("room");
        drop(far);
        write_framed(transport.outgoing(), b"are you there?");
        transport.flush_now().expect("it is told later");
        assert_eq!(transport.wait().await.expect("there is something"), Progress::Read);
        let message = transport.message(MessageLength::Record).expect("well framed");
        assert_eq!(
            message.map(|message| message.to_vec()),
            Some(b"you were removed".to_vec())
        );
        transport.flush_now().expect("it is told later");
        let error = transport.wait().await.expect_err("the stream is broken");
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn room_for_long_messages_is_kept_until_a_short_one_follows() {
        let (far, near) = tokio::io::duplex(4 << 20);
        let mut transport = StreamTransport::new(near);
        for _ in 0..2 {
            write_framed(transport.outgoing(), &[0; 1 << 20]);
            transport.flush_now().expect("room");
            transport.flush_now().expect("nothing to do");
            assert!(transport.backlog() == 0 && transport.outgoing().capacity() > 1 << 20);
        }
        write_framed(transport.outgoing(), &[0; 100]);
        transport.flush_now().expect("room");
        assert!(transport.outgoing().capacity() <= OUTGOING_KEPT);
        drop(far);
    }

    #[tokio::test]
    async fn a_length_out_of_bounds_is_refused_before_room_is_made_for_it() {
        let (mut far, near) = tokio::io::duplex(64);
        let mut transport = StreamTransport::new(near);
        far.write_all(b"GET / HTTP/1.1\r\n").await.expect("room");
        transport.wait().await.expect("open");
        assert_eq!(transport.message(MessageLength::Handshake), Err(Malformed));
        assert_eq!(transport.incoming.len(), FIRST_READ);
    }

    #[tokio::test]
    async fn the_buffer_grows_with_what_arrived_and_not_with_what_was_announced() {
        let length = 8 << 20;
        let (mut far, near) = tokio::io::duplex(1 << 20);
        let mut transport = StreamTransport::new(near);
        far.write_all(&u32::try_from(length).expect("short").to_be_bytes())
            .await
            .expect("room");
        let mut arrived = LENGTH_PREFIX;
        for part in [0, 5_000, 100_000, 1_000_000] {
            far.write_all(&vec![7; part]).await.expect("room");
            arrived += part;
            while transport.end < arrived {
                assert_eq!(transport.wait().await.expect("open"), Progress::Read);
                assert_eq!(transport.message(MessageLength::Record), Ok(None));
            }
            assert!(
                transport.held() <= FIRST_READ.max(2 * arrived),
                "{} of {arrived}",
                transport.held()
            );
        }
    }

    #[tokio::test]
    async fn the_end_of_the_stream_is_told() {
        let (far, near) = tokio::io::duplex(64);
        let mut transport = StreamTransport::new(near);
        drop(far);
        assert_eq!(transport.wait().await.expect("no error"), Progress::Closed);
    }
}
