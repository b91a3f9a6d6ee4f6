//! Line between a viewer's session with its camera and what it hears through relays.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sealcast_proto::clock::ClockEstimate;
use sealcast_proto::live::CHALLENGE_LEN;
use sealcast_proto::wire::Orientation;
use tokio::sync::{mpsc, oneshot};

use super::frames::SharedKey;
use crate::failure::{Failure, FailureKind, Result};
use crate::transport::RelayedStream;

/// Maximum number of the session's news that wait. Behind it the session waits for its inlet.
const MAX_NEWS: usize = 256;
/// Wishes that wait to be sent. A later challenge is more useful than those before it.
const MAX_WISHES: usize = 1;
/// Time in which a relay must bring a session to the camera.
const OPEN_PATIENCE: Duration = Duration::from_secs(10);

/// News of the session.
pub(super) enum News {
    /// It is established, and this is the key that the viewer and the camera share.
    Keyed(SharedKey),
    /// The camera said this to a member: type and fields.
    Said(Vec<u8>),
    /// A new estimate of the camera's clock.
    Clock(ClockEstimate),
    /// Orientation of the pictures.
    Oriented(Orientation),
    /// Whether the camera gives pictures, since when, and why not.
    Camera { on: bool, since: u64, why: String },
    /// It has ended.
    Closed,
    /// It has ended, since the stream is over.
    StreamOver,
    /// It wants a byte stream to the camera.
    Asks(oneshot::Sender<RelayedStream>),
}

/// Message to the camera.
pub(in crate::run) enum Wish {
    /// A challenge.
    Challenge([u8; CHALLENGE_LEN]),
    /// The relay does not bring a sheet.
    Sheet,
}

/// The session's end.
pub(in crate::run) struct SessionLine {
    tell: mpsc::Sender<News>,
    wishes: mpsc::Receiver<Wish>,
    ask: mpsc::Sender<oneshot::Sender<RelayedStream>>,
    round_trip: Arc<AtomicU64>,
}

/// The end of what comes through relays.
pub(in crate::run) struct InletLine {
    news: mpsc::Receiver<News>,
    wish: mpsc::Sender<Wish>,
    asked: mpsc::Receiver<oneshot::Sender<RelayedStream>>,
    round_trip: Arc<AtomicU64>,
}

/// The two ends of a line.
pub(in crate::run) fn line() -> (SessionLine, InletLine) {
    let (tell, news) = mpsc::channel(MAX_NEWS);
    let (wish, wishes) = mpsc::channel(MAX_WISHES);
    let (ask, asked) = mpsc::channel(1);
    let round_trip = Arc::new(AtomicU64::new(0));
    let session = SessionLine {
        tell,
        wishes,
        ask,
        round_trip: Arc::clone(&round_trip),
    };
    let inlet = InletLine {
        news,
        wish,
        asked,
        round_trip,
    };
    (session, inlet)
}

impl SessionLine {
    /// Opens a byte stream to the camera through the present relay. Cancel-safe.
    ///
    /// # Errors
    /// No relay brings it to the camera within 10 s.
    pub(in crate::run) async fn open(&self) -> Result<RelayedStream> {
        let opening = async {
            let (give, given) = oneshot::channel();
            self.ask.send(give).await.ok()?;
            given.await.ok()
        };
        let opened = tokio::time::timeout(OPEN_PATIENCE, opening).await;
        opened.ok().flatten().ok_or_else(|| {
            let hint = "the camera may be off, or the relay does not let this viewer publish";
            let what = "no relay brings a session to the camera";
            Failure::new(FailureKind::Network, what, hint)
        })
    }

    /// The session is established with this key.
    pub(in crate::run) fn keyed(&self, key: SharedKey) {
        self.tell(News::Keyed(key));
    }

    /// The camera said something.
    pub(in crate::run) fn said(&self, message: Vec<u8>) {
        self.tell(News::Said(message));
    }

    /// There is a new estimate of the camera's clock.
    pub(in crate::run) fn clock(&self, estimate: ClockEstimate) {
        self.tell(News::Clock(estimate));
    }

    /// The camera said how pictures are turned.
    pub(in crate::run) fn oriented(&self, orientation: Orientation) {
        self.tell(News::Oriented(orientation));
    }

    /// The camera said whether it gives pictures, since when, and why not.
    pub(in crate::run) fn camera(&self, on: bool, since: u64, why: String) {
        self.tell(News::Camera { on, since, why });
    }

    /// The session has ended.
    pub(in crate::run) fn closed(&self) {
        self.tell(News::Closed);
    }

    /// The camera said that the stream is over.
    pub(in crate::run) fn stream_over(&self) {
        self.tell(News::StreamOver);
    }

    fn tell(&self, news: News) {
        // An inlet that is so far behind misses an answer, and gets the next one.
        let _ = self.tell.try_send(news);
    }

    /// The session's shortest round-trip time.
    pub(in crate::run) fn note_round_trip(&self, round_trip: Duration) {
        let nanos = u64::try_from(round_trip.as_nanos()).unwrap_or(u64::MAX);
        self.round_trip.store(nanos, Ordering::Relaxed);
    }

    /// Next message to the camera. Cancel-safe.
    pub(in crate::run) async fn wish(&mut self) -> Wish {
        match self.wishes.recv().await {
            Some(wish) => wish,
            None => std::future::pending().await,
        }
    }
}

impl InletLine {
    /// Next news of the session. It may ask for a stream if there is a way to the relay: `connected`. Cancel-safe.
    pub(super) async fn news(&mut self, connected: bool) -> News {
        tokio::select! {
            Some(news) = self.news.recv() => news,
            Some(give) = self.asked.recv(), if connected => News::Asks(give),
            // The session is gone for good.
            else => std::future::pending().await,
        }
    }

    /// Shortest round-trip time of the session.
    pub(super) fn round_trip(&self) -> Duration {
        Duration::from_nanos(self.round_trip.load(Ordering::Relaxed))
    }

    /// True if something can be said now.
    pub(super) fn takes_wish(&self) -> bool {
        self.wish.capacity() > 0
    }

    /// Says something to the camera.
    pub(super) fn wish(&self, wish: Wish) {
        // The session is gone: then it is not answered.
        let _ = self.wish.try_send(wish);
    }
}
