//! Media that comes: on streams, each of its own, and in datagrams.

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

/// Datagrams taken at once, so that whoever floods us does not keep others from their turn.
const DATAGRAMS_AT_ONCE: usize = 64;

/// What of the peer's media has come and was not handed out.
pub(super) struct Incoming {
    /// In the order in which they were opened. quinn lets the peer open no more than it was told.
    streams: Vec<StreamTransport<Join<RecvStream, Sink>>>,
    datagrams: VecDeque<Bytes>,
    /// The datagram that was handed out last.
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

    /// Take what is there; whether anything was.
    pub(super) fn poll<'a>(
        &mut self,
        context: &mut Context<'_>,
        connection: &'a Connection,
        mut opened: Pin<&mut AcceptUni<'a>>,
        mut datagram: Pin<&mut ReadDatagram<'a>>,
    ) -> bool {
        // What fails here fails on the control stream, too, which tells of it.
        while let Poll::Ready(Ok(stream)) = opened.as_mut().poll(context) {
            self.streams.push(StreamTransport::new(join(stream, sink())));
            opened.set(connection.accept_uni());
        }
        let mut any = false;
        let metrics = &self.metrics;
        self.streams.retain_mut(|stream| match stream.poll_read(context) {
            Ok(read) => {
                any |= read;
                // A closed one goes when what came of it has been handed out.
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

    /// The next whole record.
    ///
    /// # Errors
    /// A stream has lost its framing.
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
        // An empty one only asks whether the path is there.
        let Some(datagram) = std::iter::from_fn(|| self.datagrams.pop_front()).find(|datagram| !datagram.is_empty())
        else {
            return Ok(None);
        };
        self.lent = datagram.into();
        Ok(Some(&mut self.lent))
    }
}
