//! Received media: on streams, one per group of pictures, and in datagrams.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use quinn::{AcceptUni, Connection, ReadDatagram, RecvStream};
use sealcast_proto::wire::{Malformed, MessageLength};
use tokio::io::{Join, Sink, join, sink};

use crate::meter::labels::MediaStream;
use crate::meter::metrics::Metrics;
use crate::transport::{StreamTransport, Transport};

/// Maximum of datagrams read at once, so that a peer that floods us does not block other tasks.
const DATAGRAMS_AT_ONCE: usize = 64;

/// Received media that has not been delivered yet.
pub(super) struct Incoming {
    /// Streams in the order in which they were opened. quinn limits how many the peer may open.
    streams: Vec<StreamTransport<Join<RecvStream, Sink>>>,
    datagrams: VecDeque<Bytes>,
    /// The datagram that was delivered last.
    lent: BytesMut,
    metrics: Metrics,
}

impl Incoming {
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            streams: Vec::new(),
            datagrams: VecDeque::new(),
            lent: BytesMut::new(),
            metrics,
        }
    }

    /// Reads available data; returns true if there was any.
    pub(super) fn poll<'a>(
        &mut self,
        context: &mut Context<'_>,
        connection: &'a Connection,
        mut opened: Pin<&mut AcceptUni<'a>>,
        mut datagram: Pin<&mut ReadDatagram<'a>>,
    ) -> bool {
        // An error here also occurs on the control stream, which reports it.
        while let Poll::Ready(Ok(stream)) = opened.as_mut().poll(context) {
            self.streams.push(StreamTransport::new(join(stream, sink())));
            opened.set(connection.accept_uni());
        }
        let mut any = false;
        let metrics = &self.metrics;
        self.streams.retain_mut(|stream| match stream.poll_read(context) {
            Ok(read) => {
                any |= read;
                // Keep a closed stream until all its records have been delivered; message() then removes it.
                true
            }
            Err(_) => {
                metrics.media_stream(MediaStream::Lost);
                false
            }
        });
        while self.datagrams.len() < DATAGRAMS_AT_ONCE {
            let Poll::Ready(Ok(bytes)) = datagram.as_mut().poll(context) else {
                break;
            };
            datagram.set(connection.read_datagram());
            self.datagrams.push_back(bytes);
            any = true;
        }
        any
    }

    /// Returns the next complete record.
    ///
    /// # Errors
    /// The framing of a stream is lost.
    pub(super) fn message(&mut self) -> Result<Option<&mut [u8]>, Malformed> {
        let limit = MessageLength::Record;
        let mut found = None;
        for (at, stream) in self.streams.iter_mut().enumerate() {
            if stream.next_length(limit)?.is_some() {
                found = Some(at);
                break;
            }
        }
        if let Some(at) = found {
            return self.streams[at].message(limit);
        }
        self.streams.retain(|stream| !stream.is_closed());
        // Skip empty datagrams: the peer sends them only to probe the path.
        let Some(datagram) = std::iter::from_fn(|| self.datagrams.pop_front()).find(|datagram| !datagram.is_empty())
        else {
            return Ok(None);
        };
        self.lent = datagram.into();
        Ok(Some(&mut self.lent))
    }
}
