//! The data channels of a viewer.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use sealcast_proto::session::Datagram;
use sealcast_proto::wire::{DataChannel, DataStanding};

use super::Counted;
use super::port::DataPort;
use super::url::DataUrl;
use crate::failure::Result;
use crate::meter::metrics::Metrics;
use crate::run::session::connection::Connection;
use crate::transport::Transport;

/// The data channels of a viewer, with their sockets, which stay while it connects again.
pub(crate) struct WatchedData {
    channels: Vec<(DataUrl, DataPort)>,
}

impl WatchedData {
    /// Opens the sockets; `None` if there are no channels.
    ///
    /// # Errors
    /// An address cannot be listened at.
    pub(crate) fn open(channels: Vec<DataUrl>, metrics: &Metrics) -> Result<Option<Arc<Self>>> {
        if channels.is_empty() {
            return Ok(None);
        }
        let open = |url: DataUrl| DataPort::open(&url, metrics.clone()).map(|port| (url, port));
        let channels: Vec<_> = channels.into_iter().map(open).collect::<Result<_>>()?;
        Ok(Some(Arc::new(Self { channels })))
    }
}

/// The data channels at one session with the publisher.
pub(crate) struct WatchedSession {
    data: Arc<WatchedData>,
    /// The publisher's channels, in its order.
    told: Vec<DataChannel>,
    counted: Counted,
}

impl WatchedSession {
    /// Those of a session that begins.
    pub(crate) fn new(data: &Arc<WatchedData>) -> Self {
        Self {
            data: Arc::clone(data),
            told: Vec::new(),
            counted: Counted::default(),
        }
    }

    /// The channels that this end wants. What came for them meanwhile is old.
    pub(crate) fn wishes(&self) -> Vec<DataChannel> {
        let wish = |(url, port): &(DataUrl, DataPort)| {
            port.forget();
            DataChannel {
                name: url.name,
                order: url.order,
                standing: match url.hears {
                    true => DataStanding::Hears,
                    false => DataStanding::Sends,
                },
            }
        };
        self.data.channels.iter().map(wish).collect()
    }

    /// The publisher says which channels it has, and what this viewer may do on them.
    pub(crate) fn told(&mut self, channels: Vec<DataChannel>) {
        for (url, _) in &self.data.channels {
            let name = url.name.as_str();
            let standing = |channels: &[DataChannel]| {
                let told = channels.iter().find(|told| told.name == url.name);
                told.map(|told| told.standing)
            };
            let (before, now) = (standing(&self.told), standing(&channels));
            if before == now && now.is_some() {
                continue;
            }
            match now {
                None => tracing::warn!(
                    channel = name,
                    "the publisher has no data channel of that name: it declares each as --data NAME=udp:ADDRESS:PORT"
                ),
                Some(_) if url.hears => tracing::info!(channel = name, "the data channel is heard"),
                Some(DataStanding::Sends) => {
                    tracing::info!(channel = name, "the data channel is heard, and this viewer sends on it");
                }
                Some(DataStanding::Waits) => tracing::warn!(
                    channel = name,
                    "the data channel is heard; another viewer sends on it, and this one may when that has left"
                ),
                Some(DataStanding::Hears) => tracing::warn!(
                    channel = name,
                    "the data channel is heard; the publisher does not let this viewer send on it: its peer id has to \
                     be named there with --may-control"
                ),
            }
        }
        self.told = channels;
    }

    /// The publisher did not say which channels it has.
    pub(crate) fn unanswered(&self) {
        tracing::warn!("the publisher says nothing of data channels: it may be a page, or of an older version");
    }

    /// The publisher sent this.
    pub(crate) fn came(&self, datagram: &Datagram) {
        let place = usize::from(datagram.channel).checked_sub(1);
        let Some(told) = place.and_then(|at| self.told.get(at)) else {
            return;
        };
        let own = self.data.channels.iter().find(|(url, _)| url.name == told.name);
        if let Some((_, port)) = own {
            port.send(&datagram.bytes);
        }
    }

    /// The next datagram of a program at this machine, with the place of its channel; 0 if the publisher does not have
    /// the channel. Cancel-safe.
    pub(crate) async fn next(&self) -> (u8, Vec<u8>) {
        poll_fn(|context| {
            for (url, port) in &self.data.channels {
                if let Poll::Ready(datagram) = port.poll_next(context) {
                    let place = self.told.iter().position(|told| told.name == url.name);
                    return Poll::Ready((place.map_or(0, |at| at as u8 + 1), datagram));
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Counts what the session did.
    pub(crate) fn look<T: Transport>(&mut self, connection: &mut Connection<T>, metrics: &Metrics) {
        self.counted.look(connection, metrics);
    }
}
