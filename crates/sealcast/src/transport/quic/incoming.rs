//! Received media: on streams, one per group of pictures, and in datagrams.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn::{AcceptUni, Connection, ReadDatagram, RecvStream};
use sealcast_proto::session::PART_TIMEOUT;
use sealcast_proto::wire::{MAX_RECORD, Malformed, MessageLength};
use tokio::io::{AsyncRead, Join, Sink, join, sink};

use crate::meter::labels::MediaStream as MediaStreamEvent;
use crate::meter::metrics::Metrics;
use crate::transport::{StreamTransport, Transport};

/// Maximum of datagrams read at once, so that a peer that floods us does not block other tasks.
const DATAGRAMS_AT_ONCE: usize = 64;
/// Bytes of datagrams kept that overtook the welcome.
const EARLY_BYTES: usize = 16 << 10;
/// Maximum of bytes held for parts of records on all streams: the longest record, and 4 MiB more.
pub(crate) const MAX_STREAMED: usize = MAX_RECORD + (4 << 20);

/// The media that is read. It may overtake the handshake, and an unauthenticated peer may send none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// The session is not established: streams wait, and a few datagrams are kept.
    Early,
    /// The peer is admitted and a viewer: it sends none.
    Nothing,
    /// The peer is admitted and sends media.
    Media,
}

/// A stream of the peer.
struct MediaStream<R> {
    records: StreamTransport<Join<R, Sink>>,
    /// Time of the last read.
    grew: Instant,
}

impl<R: AsyncRead + Unpin + Send> MediaStream<R> {
    fn is_stuck(&self, now: Instant) -> bool {
        self.records.is_partial() && now.duration_since(self.grew) >= PART_TIMEOUT
    }
}

/// Received media that has not been delivered yet.
pub(crate) struct Incoming<R = RecvStream> {
    /// Streams in the order in which they were opened. quinn limits how many the peer may open.
    streams: Vec<MediaStream<R>>,
    datagrams: VecDeque<Bytes>,
    /// Bytes of datagrams that came before the session was established.
    early: usize,
    /// The datagram that was delivered last.
    lent: BytesMut,
    metrics: Metrics,
}

impl<R: AsyncRead + Unpin + Send> Incoming<R> {
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            streams: Vec::new(),
            datagrams: VecDeque::new(),
            early: 0,
            lent: BytesMut::new(),
            metrics,
        }
    }

    /// The peer has opened a stream.
    pub(crate) fn opened(&mut self, stream: R, now: Instant) {
        self.streams.push(MediaStream {
            records: StreamTransport::new(join(stream, sink())),
            grew: now,
        });
    }

    /// Reads available data of streams; returns true if there was any. Gives up streams whose record does not go on,
    /// and the fullest where all together hold too much.
    pub(crate) fn read_streams(&mut self, context: &mut Context<'_>, now: Instant) -> bool {
        let (mut any, before) = (false, self.streams.len());
        self.streams
            .retain_mut(|stream| match stream.records.poll_read(context) {
                Ok(read) => {
                    if read {
                        stream.grew = now;
                    }
                    any |= read;
                    // Keep a closed stream until all its records have been delivered; message() then removes it.
                    !stream.is_stuck(now)
                }
                Err(_) => false,
            });
        if self.held() > MAX_STREAMED {
            let fullest = (0..self.streams.len()).max_by_key(|&at| self.streams[at].records.held());
            fullest.map(|at| self.streams.remove(at));
        }
        (self.streams.len()..before).for_each(|_| self.metrics.media_stream(MediaStreamEvent::Lost));
        any
    }

    /// Bytes held for the records of all streams.
    pub(crate) fn held(&self) -> usize {
        self.streams.iter().map(|stream| stream.records.held()).sum()
    }

    /// Returns the next complete record.
    ///
    /// # Errors
    /// The framing of a stream is lost.
    pub(crate) fn message(&mut self) -> Result<Option<&mut [u8]>, Malformed> {
        let limit = MessageLength::Record;
        let mut found = None;
        for (at, stream) in self.streams.iter_mut().enumerate() {
            if stream.records.next_length(limit)?.is_some() {
                found = Some(at);
                break;
            }
        }
        if let Some(at) = found {
            return self.streams[at].records.message(limit);
        }
        self.streams.retain(|stream| !stream.records.is_closed());
        // Skip empty datagrams: the peer sends them only to probe the path.
        let Some(datagram) = std::iter::from_fn(|| self.datagrams.pop_front()).find(|datagram| !datagram.is_empty())
        else {
            return Ok(None);
        };
        self.lent = datagram.into();
        Ok(Some(&mut self.lent))
    }
}

impl Incoming {
    /// Takes the streams that the peer has opened, and reads all; see [`Incoming::read_streams`].
    pub(super) fn poll_streams<'a>(
        &mut self,
        context: &mut Context<'_>,
        connection: &'a Connection,
        mut opened: Pin<&mut AcceptUni<'a>>,
    ) -> bool {
        let now = Instant::now();
        // An error here also occurs on the control stream, which reports it.
        while let Poll::Ready(Ok(stream)) = opened.as_mut().poll(context) {
            self.opened(stream, now);
            opened.set(connection.accept_uni());
        }
        self.read_streams(context, now)
    }

    /// Reads available datagrams; returns true if there were any.
    pub(super) fn poll_datagrams<'a>(
        &mut self,
        context: &mut Context<'_>,
        connection: &'a Connection,
        mut datagram: Pin<&mut ReadDatagram<'a>>,
        reading: Reading,
    ) -> bool {
        let mut any = false;
        for _ in 0..DATAGRAMS_AT_ONCE {
            let full = self.datagrams.len() >= DATAGRAMS_AT_ONCE;
            if full && reading == Reading::Media {
                break;
            }
            let Poll::Ready(Ok(bytes)) = datagram.as_mut().poll(context) else {
                break;
            };
            datagram.set(connection.read_datagram());
            any = true;
            match reading {
                Reading::Media => self.datagrams.push_back(bytes),
                // Copied: a datagram of QUIC keeps the whole packet, and those that came with it.
                Reading::Early if !full && self.early + bytes.len() <= EARLY_BYTES => {
                    self.early += bytes.len();
                    self.datagrams.push_back(Bytes::copy_from_slice(&bytes));
                }
                Reading::Early | Reading::Nothing => {}
            }
        }
        any
    }
}
