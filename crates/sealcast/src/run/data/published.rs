//! The data channels of a publisher, which all its viewers hear, and on which one of them sends.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, BoxStream, StreamExt as _};
use sealcast_proto::keys::PeerId;
use sealcast_proto::session::Datagram;
use sealcast_proto::wire::{DataChannel, DataStanding};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;

use super::Counted;
use super::port::DataPort;
use super::url::DataUrl;
use crate::failure::Result;
use crate::keys::allow::AllowList;
use crate::meter::labels::{ControlRefusal, DataDrop};
use crate::meter::metrics::Metrics;
use crate::run::session::connection::Connection;
use crate::run::session::ended::happened;
use crate::transport::Transport;

/// Maximum number of datagrams that wait for a viewer's task: an eighth of a second at the highest rate.
const MAX_WAITING: usize = 64;
/// A viewer that sends what it may not is told so again after so long.
const TELL_AGAIN: Duration = Duration::from_secs(1);

/// The data channels of a publisher, and who may send on them.
#[derive(Default)]
pub struct DataOptions {
    /// The channels.
    pub channels: Vec<DataUrl>,
    /// The viewers that may send.
    pub may_control: AllowList,
}

/// The viewer that sends on a channel.
#[derive(Clone, Copy)]
struct Controller {
    peer: PeerId,
    session: u64,
}

/// A channel of a publisher.
struct PublishedChannel {
    url: DataUrl,
    port: Arc<DataPort>,
    /// Channel for what the program at this machine sends.
    came: broadcast::Sender<Arc<[u8]>>,
    controller: Mutex<Option<Controller>>,
}

impl PublishedChannel {
    fn controller(&self) -> MutexGuard<'_, Option<Controller>> {
        // Each statement leaves it whole.
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True if the session sends on the channel from now on. A newer session of the same peer takes the place of an
    /// older one, which may be lost.
    fn take(&self, peer: PeerId, session: u64) -> bool {
        let mut controller = self.controller();
        let free = controller.is_none_or(|other| other.peer == peer && other.session <= session);
        if free {
            *controller = Some(Controller { peer, session });
        }
        free
    }

    fn holds(&self, session: u64) -> bool {
        self.controller()
            .is_some_and(|controller| controller.session == session)
    }

    fn release(&self, session: u64) {
        self.controller().take_if(|controller| controller.session == session);
    }
}

/// The data channels of a publisher, shared by the tasks of its viewers.
pub(crate) struct PublishedData {
    channels: Vec<PublishedChannel>,
    may_control: Mutex<AllowList>,
    sessions: AtomicU64,
    metrics: Metrics,
    /// Read the sockets, until the publisher ends.
    _reading: JoinSet<()>,
}

impl PublishedData {
    /// Opens the sockets; `None` if there are no channels.
    ///
    /// # Errors
    /// An address cannot be listened at.
    pub(crate) fn open(options: DataOptions, metrics: &Metrics) -> Result<Option<Arc<Self>>> {
        if options.channels.is_empty() {
            return Ok(None);
        }
        let mut reading = JoinSet::new();
        let open = |url: DataUrl| {
            let port = Arc::new(DataPort::open(&url, metrics.clone())?);
            let (came, _) = broadcast::channel(MAX_WAITING);
            reading.spawn(read(Arc::clone(&port), came.clone()));
            Ok(PublishedChannel {
                url,
                port,
                came,
                controller: Mutex::default(),
            })
        };
        let channels: Vec<PublishedChannel> = options.channels.into_iter().map(open).collect::<Result<_>>()?;
        if options.may_control.is_empty() {
            tracing::info!("no viewer may send on the data channels: --may-control names those that may");
        }
        Ok(Some(Arc::new(Self {
            channels,
            may_control: Mutex::new(options.may_control),
            sessions: AtomicU64::new(0),
            metrics: metrics.clone(),
            _reading: reading,
        })))
    }

    /// From now on these viewers may send, and no others.
    pub(crate) fn renew(&self, may_control: AllowList) {
        *self.may_control.lock().unwrap_or_else(PoisonError::into_inner) = may_control;
    }

    fn may_control(&self, peer: &PeerId) -> bool {
        let list = self.may_control.lock().unwrap_or_else(PoisonError::into_inner);
        list.contains(peer)
    }
}

/// Passes on what the program at this machine sends.
async fn read(port: Arc<DataPort>, came: broadcast::Sender<Arc<[u8]>>) {
    loop {
        let datagram = poll_fn(|context| port.poll_next(context)).await;
        // Sending fails if nobody hears it.
        let _ = came.send(datagram.into());
    }
}

/// The data channels at one viewer's session.
pub(crate) struct ViewerData {
    data: Arc<PublishedData>,
    peer: PeerId,
    session: u64,
    /// Standing on each channel that it was told last; `None` before.
    told: Vec<Option<DataStanding>>,
    told_at: Instant,
    wishes: Vec<DataChannel>,
    subscribed: Vec<bool>,
    counted: Counted,
}

impl Drop for ViewerData {
    fn drop(&mut self) {
        for channel in &self.data.channels {
            channel.release(self.session);
        }
    }
}

impl ViewerData {
    pub(crate) fn new(data: &Arc<PublishedData>, peer: PeerId) -> Self {
        let count = data.channels.len();
        Self {
            data: Arc::clone(data),
            peer,
            session: data.sessions.fetch_add(1, Ordering::Relaxed),
            told: vec![None; count],
            told_at: Instant::now(),
            wishes: Vec::new(),
            subscribed: vec![false; count],
            counted: Counted::default(),
        }
    }

    /// The viewer wishes for these channels. Returns the answer.
    pub(crate) fn wished(&mut self, wishes: Vec<DataChannel>) -> Vec<DataChannel> {
        self.wishes = wishes;
        self.answer()
    }

    /// The publisher's channels, with what the viewer may do on each now.
    fn answer(&mut self) -> Vec<DataChannel> {
        self.told_at = Instant::now();
        let data = Arc::clone(&self.data);
        let told = data.channels.iter().enumerate().map(|(at, channel)| {
            let name = channel.url.name;
            let wish = self.wishes.iter().find(|wish| wish.name == name);
            let sends = wish.is_some_and(|wish| wish.standing == DataStanding::Sends);
            let standing = self.judge(channel, sends);
            if self.told[at].replace(standing) != Some(standing) && sends {
                self.tell(channel, standing);
            }
            DataChannel {
                name,
                order: channel.url.order,
                standing,
            }
        });
        told.collect()
    }

    fn judge(&self, channel: &PublishedChannel, sends: bool) -> DataStanding {
        if !sends || !self.data.may_control(&self.peer) {
            channel.release(self.session);
            DataStanding::Hears
        } else if channel.url.shared || channel.take(self.peer, self.session) {
            DataStanding::Sends
        } else {
            DataStanding::Waits
        }
    }

    /// Says what became of a wish to send.
    fn tell(&self, channel: &PublishedChannel, standing: DataStanding) {
        let (viewer, name, metrics) = (self.peer.short(), channel.url.name.as_str(), &self.data.metrics);
        match standing {
            DataStanding::Sends => tracing::info!(viewer, channel = name, "it sends on a data channel from now on"),
            DataStanding::Waits => {
                metrics.control_refused(ControlRefusal::Taken);
                let why = "another viewer sends on it, and one does at a time";
                tracing::warn!(viewer, channel = name, "refused to let it send: {}", happened(why));
            }
            DataStanding::Hears => {
                metrics.control_refused(ControlRefusal::NotListed);
                let why = "its peer id is not in the list of --may-control";
                let peer = self.peer;
                tracing::warn!(viewer, %peer, channel = name, "refused to let it send: {}", happened(why));
            }
        }
    }

    /// Streams of what comes from now on for the channels that the viewer named and did not name before, each datagram
    /// with the channel's place in the answer.
    pub(crate) fn subscribe(&mut self) -> Vec<BoxStream<'static, (u8, Arc<[u8]>)>> {
        let mut streams = Vec::new();
        for (at, channel) in self.data.channels.iter().enumerate() {
            let named = self.wishes.iter().any(|wish| wish.name == channel.url.name);
            if !named || std::mem::replace(&mut self.subscribed[at], true) {
                continue;
            }
            let place = at as u8 + 1;
            let state = (channel.came.subscribe(), self.data.metrics.clone());
            let next = move |(mut came, metrics): (broadcast::Receiver<Arc<[u8]>>, Metrics)| async move {
                loop {
                    match came.recv().await {
                        Ok(datagram) => return Some(((place, datagram), (came, metrics))),
                        Err(RecvError::Lagged(missed)) => metrics.data_dropped(DataDrop::TooFast, missed),
                        Err(RecvError::Closed) => return None,
                    }
                }
            };
            streams.push(stream::unfold(state, next).boxed());
        }
        streams
    }

    /// The viewer sent this. If it may no more, returns what it is to be told.
    pub(crate) fn came(&mut self, datagram: &Datagram) -> Option<Vec<DataChannel>> {
        let channel = self.data.channels.get(usize::from(datagram.channel).checked_sub(1)?)?;
        let may = self.data.may_control(&self.peer) && (channel.url.shared || channel.holds(self.session));
        if may {
            channel.port.send(&datagram.bytes);
            return None;
        }
        self.data.metrics.data_dropped(DataDrop::NotAllowed, 1);
        (self.told_at.elapsed() >= TELL_AGAIN).then(|| self.answer())
    }

    /// Counts what the session did.
    pub(crate) fn look<T: Transport>(&mut self, connection: &mut Connection<T>, metrics: &Metrics) {
        self.counted.look(connection, metrics);
    }
}
