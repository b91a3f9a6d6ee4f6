//! A camera's connection that is shared: the source that has it gives others the packets as they come, and asks the
//! camera for what they want. Many cameras refuse a second session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use bytes::Bytes;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Parameters, TrackSet, Verb};
use tokio::sync::{mpsc, oneshot, watch};

/// Most requests that wait for the source. The other side has one command at a time under way; the rest are reports.
const MAX_WAITING: usize = 64;

/// Takes packets as they come, on the thread of the source.
pub(crate) trait TakePackets: Send + Sync {
    /// Packets are wanted from here on.
    fn begin(&self);

    /// A packet came.
    fn take(&self, channel: Channel, packet: &Bytes, came: Instant);

    /// Those that came together were taken.
    fn settle(&self);
}

/// A connection that plays.
pub(crate) struct Playing {
    /// The camera's description.
    pub(crate) sdp: Vec<u8>,
    /// The tracks that the source has the camera send.
    pub(crate) tracks: TrackSet,
    /// The tracks whose packets come on the connection, and so in order.
    pub(crate) in_order: TrackSet,
}

/// The camera's answer to a command.
pub(crate) struct Answered {
    pub(crate) status: CarriedStatus,
    pub(crate) with: Parameters,
    /// As in [`Playing`], from now on.
    pub(crate) in_order: TrackSet,
}

/// A request to the camera.
pub(crate) enum TapRequest {
    Command(Verb, Parameters, oneshot::Sender<Answered>),
    /// An RTCP packet.
    Rtcp(Channel, Bytes),
}

/// The place where a source and those who share its connection meet.
pub struct PacketTap {
    taker: OnceLock<Box<dyn TakePackets>>,
    /// False while nobody wants packets: then none is taken.
    wanted: AtomicBool,
    playing: watch::Sender<Option<Arc<Playing>>>,
    asks: mpsc::Sender<TapRequest>,
    /// The other end of `asks`, while no connection plays.
    asked: Mutex<Option<mpsc::Receiver<TapRequest>>>,
}

impl Default for PacketTap {
    fn default() -> Self {
        let (asks, asked) = mpsc::channel(MAX_WAITING);
        Self {
            taker: OnceLock::new(),
            wanted: AtomicBool::new(false),
            playing: watch::Sender::new(None),
            asks,
            asked: Mutex::new(Some(asked)),
        }
    }
}

impl PacketTap {
    /// Packets go here, while they are wanted.
    pub(crate) fn give_to(&self, taker: Box<dyn TakePackets>) {
        // It is there already if this is called twice.
        let _ = self.taker.set(taker);
    }

    /// Whether packets are wanted.
    pub(crate) fn want(&self, wanted: bool) {
        if let Some(taker) = self.taker.get().filter(|_| wanted) {
            taker.begin();
        }
        self.wanted.store(wanted, Ordering::Relaxed);
    }

    /// The connection that plays, and its changes.
    pub(crate) fn playing(&self) -> watch::Receiver<Option<Arc<Playing>>> {
        self.playing.subscribe()
    }

    /// Ask the camera for something. False if there is no room.
    pub(crate) fn ask(&self, request: TapRequest) -> bool {
        self.asks.try_send(request).is_ok()
    }

    fn taker(&self) -> Option<&dyn TakePackets> {
        let wanted = self.wanted.load(Ordering::Relaxed);
        self.taker.get().filter(|_| wanted).map(|taker| &**taker)
    }

    /// A packet came.
    pub(crate) fn take(&self, channel: Channel, packet: &Bytes, came: Instant) {
        if let Some(taker) = self.taker() {
            taker.take(channel, packet, came);
        }
    }

    /// The packets that came together were taken.
    pub(crate) fn settle(&self) {
        if let Some(taker) = self.taker() {
            taker.settle();
        }
    }
}

/// A connection at its tap, while it plays.
pub(crate) struct Tapped {
    tap: Arc<PacketTap>,
    asked: mpsc::Receiver<TapRequest>,
    /// Gets the answer to the command that the camera was asked.
    answer: Option<oneshot::Sender<Answered>>,
}

impl Tapped {
    /// A connection plays. `None` if another one plays still.
    pub(crate) fn begin(tap: &Arc<PacketTap>, playing: Playing) -> Option<Self> {
        let mut asked = tap.asked.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        // What was asked of an earlier connection is void: who asked learns it when this is dropped.
        while asked.try_recv().is_ok() {}
        tap.playing.send_replace(Some(Arc::new(playing)));
        Some(Self {
            tap: Arc::clone(tap),
            asked,
            answer: None,
        })
    }

    /// The next request, once the camera has answered the one before. Cancel-safe.
    pub(crate) async fn next(&mut self) -> TapRequest {
        if self.answer.is_none()
            && let Some(request) = self.asked.recv().await
        {
            return request;
        }
        std::future::pending().await
    }

    /// The camera is asked, and this waits for its answer.
    pub(crate) fn asks(&mut self, answer: oneshot::Sender<Answered>) {
        self.answer = Some(answer);
    }

    /// The camera answered. Returns false if nobody had asked here.
    pub(crate) fn answered(&mut self, status: CarriedStatus, with: Parameters, in_order: TrackSet) -> bool {
        let Some(answer) = self.answer.take() else { return false };
        // Who asked may be gone.
        let _ = answer.send(Answered { status, with, in_order });
        true
    }
}

impl Drop for Tapped {
    fn drop(&mut self) {
        self.tap.playing.send_replace(None);
        let (_, nobody) = mpsc::channel(1);
        let asked = std::mem::replace(&mut self.asked, nobody);
        *self.tap.asked.lock().unwrap_or_else(PoisonError::into_inner) = Some(asked);
    }
}
