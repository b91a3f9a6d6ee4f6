//! The socket of a QUIC listener, behind its door.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

use super::door::Door;
use crate::meter::labels::DatagramRefusal;
use crate::meter::metrics::Metrics;

/// Passes on to QUIC what the door lets in. Packets that came together stay together.
pub(super) struct GuardedSocket {
    inner: Arc<dyn AsyncUdpSocket>,
    door: Door,
    metrics: Metrics,
}

impl GuardedSocket {
    pub(super) fn new(inner: Arc<dyn AsyncUdpSocket>, door: Door, metrics: Metrics) -> Self {
        Self { inner, door, metrics }
    }
}

impl fmt::Debug for GuardedSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The door has keys.
        formatter.debug_struct("GuardedSocket").finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for GuardedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.inner.poll_recv(context, buffers, metas))?;
        let mut strangers = 0;
        // A run of which nothing is left has length 0; quinn passes over it, and counts it as work done.
        for (buffer, meta) in buffers.iter_mut().zip(metas).take(count) {
            let (kept, refused) = self.door.sift(&mut buffer[..meta.len], meta.stride);
            meta.len = kept;
            strangers += refused;
        }
        if strangers > 0 {
            self.metrics.datagrams_refused(DatagramRefusal::Stranger, strangers);
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
