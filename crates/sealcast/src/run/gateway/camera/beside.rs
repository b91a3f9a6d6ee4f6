//! Packets of a camera beside its frames: the source has the only connection to it, and shares that.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{CarriedStatus, Channel, Parameters, same_media};
use tokio::sync::{mpsc, oneshot, watch};

use super::super::request_mux::{Action, Request, RequestMux};
use super::super::subscribers::Subscribers;
use super::passed_reports::PassedReports;
use super::upstream::RETURN_PATIENCE;
use crate::meter::metrics::Metrics;
use crate::rtsp::{Answered, PacketTap, Playing, TakePackets, TapRequest};
use crate::run::session::observe::Observation;
use crate::run::session::retry::turned_on;

/// Time for which requests wait for a camera that is away, if nobody watches it.
const ASK_PATIENCE: Duration = Duration::from_secs(5);

/// Gives the packets that the source gets to the subscribers, on the source's thread.
struct Deliveries {
    subscribers: Arc<Subscribers>,
    metrics: Metrics,
}

impl TakePackets for Deliveries {
    fn begin(&self) {
        // What was kept for who joins was not kept on.
        self.subscribers.resume();
    }

    fn take(&self, channel: Channel, packet: &Bytes, came: Instant) {
        self.subscribers
            .deliver(channel, packet, packet.len(), came, &self.metrics);
    }

    fn settle(&self) {
        self.subscribers.settle();
    }
}

/// The requests of gateways to a camera whose connection its source has.
struct Beside<'a> {
    mux: RequestMux,
    tap: &'a PacketTap,
    metrics: &'a Metrics,
    /// The connection, while it plays.
    playing: Option<Arc<Playing>>,
    /// The camera's description before it went away.
    before: Option<Vec<u8>>,
    /// Gets the camera's answer to the command that it was asked.
    answer: Option<oneshot::Receiver<Answered>>,
    reports: PassedReports,
    away_since: Instant,
    /// Since when there are requests or subscribers.
    needed_since: Option<Instant>,
}

/// Serve the requests of gateways over the connection of a source, until `stop` turns true.
pub(super) async fn keep(
    tap: Arc<PacketTap>,
    asked: (mpsc::Receiver<Request>, watch::Receiver<bool>),
    observation: Arc<Observation>,
) {
    serve(&tap, Arc::default(), asked, &observation.metrics).await;
}

async fn serve(
    tap: &PacketTap,
    subscribers: Arc<Subscribers>,
    (mut requests, mut stop): (mpsc::Receiver<Request>, watch::Receiver<bool>),
    metrics: &Metrics,
) {
    tap.give_to(Box::new(Deliveries {
        subscribers: Arc::clone(&subscribers),
        metrics: metrics.clone(),
    }));
    let mut changes = tap.playing();
    let mut beside = Beside {
        mux: RequestMux::of(subscribers),
        tap,
        metrics,
        playing: None,
        before: None,
        answer: None,
        reports: PassedReports::default(),
        away_since: Instant::now(),
        needed_since: None,
    };
    let playing = changes.borrow_and_update().clone();
    beside.turn(playing);
    loop {
        beside.work();
        let due = beside.due();
        let over = async {
            match due {
                Some(due) => tokio::time::sleep_until(due.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            answer = answered(&mut beside.answer) => beside.answered(answer),
            Ok(()) = changes.changed() => {
                let playing = changes.borrow_and_update().clone();
                beside.turn(playing);
            }
            Some(request) = requests.recv() => beside.take(request),
            () = over => beside.mux.end(CarriedStatus::of_camera(503)),
            _ = turned_on(&mut stop) => return,
        }
    }
}

/// The camera's answer, or `None` if its connection ended before.
async fn answered(answer: &mut Option<oneshot::Receiver<Answered>>) -> Option<Answered> {
    match answer {
        Some(receiver) => {
            let came = receiver.await.ok();
            *answer = None;
            came
        }
        None => std::future::pending().await,
    }
}

impl Beside<'_> {
    /// The connection plays, or is gone.
    fn turn(&mut self, playing: Option<Arc<Playing>>) {
        if let Some(before) = self.playing.take() {
            self.before = Some(before.sdp.clone());
            self.away_since = Instant::now();
        }
        self.answer = None;
        self.mux.away();
        let Some(playing) = playing else { return };
        let subscribers = Arc::clone(&self.mux.subscribers);
        let before = self.before.take().filter(|_| !subscribers.is_empty());
        if before.is_some_and(|before| !same_media(&before, &playing.sdp)) {
            tracing::warn!("the camera came back with another description: players of gateways begin anew");
            self.mux.end(CarriedStatus::BAD_GATEWAY);
        }
        subscribers.described(&playing.sdp);
        let more = subscribers.run(playing.tracks);
        self.mux.come_in_order(playing.in_order);
        subscribers.resume();
        if more && let Some(action) = self.mux.go_on() {
            self.give(&playing, action);
        }
        self.playing = Some(playing);
    }

    fn take(&mut self, request: Request) {
        match request {
            Request::Question(question) => self.mux.ask(question),
            Request::Leave(subscriber) => self.mux.leave(subscriber),
            Request::Rtcp(channel, compound) => {
                if self.playing.is_some()
                    && let Some(passed) = self.reports.pass(&compound, self.metrics)
                {
                    // If there is no room, another report will follow.
                    self.tap.ask(TapRequest::Rtcp(channel, passed.into()));
                }
            }
        }
    }

    /// Answer what can be answered, and ask the camera for the next of the rest. While it is away, requests wait.
    fn work(&mut self) {
        match self.playing.clone() {
            None => self.mux.away(),
            Some(playing) => {
                while self.answer.is_none()
                    && let Some(action) = self.mux.next_action()
                {
                    self.give(&playing, action);
                }
            }
        }
        self.needed_since = match self.mux.is_idle() {
            true => None,
            false => Some(self.needed_since.unwrap_or_else(Instant::now)),
        };
    }

    fn give(&mut self, playing: &Playing, action: Action) {
        match action {
            Action::Describe => {
                let description = Parameters::of_body(playing.sdp.clone());
                self.mux.answered(CarriedStatus::OK, description);
            }
            Action::Command(verb, with) => {
                let (sender, answer) = oneshot::channel();
                if self.tap.ask(TapRequest::Command(verb, with, sender)) {
                    self.answer = Some(answer);
                } else {
                    self.mux.answered(CarriedStatus::of_camera(503), Parameters::default());
                }
            }
        }
    }

    fn answered(&mut self, answer: Option<Answered>) {
        match answer {
            Some(Answered { status, with, in_order }) => {
                self.mux.come_in_order(in_order);
                self.mux.answered(status, with);
            }
            None => drop(self.mux.answered(CarriedStatus::BAD_GATEWAY, Parameters::default())),
        }
    }

    /// When a camera that is away is no longer waited for.
    fn due(&self) -> Option<Instant> {
        let needed = self.needed_since.filter(|_| self.playing.is_none())?;
        Some(match self.mux.subscribers.is_empty() {
            true => needed + ASK_PATIENCE,
            false => self.away_since + RETURN_PATIENCE,
        })
    }
}

#[cfg(test)]
#[path = "beside_tests.rs"]
mod tests;
