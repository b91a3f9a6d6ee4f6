//! Answers to players that ask for a stream of which this program makes the packets itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sealcast_proto::rtsp::{ANSWER_PATIENCE, CarriedStatus, Parameters, rtcp_for_camera};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::super::request_mux::{Action, Request, RequestMux};
use super::super::subscribers::Subscribers;

/// The stream as both sides see it: who makes packets, and who answers players.
pub(super) struct SharedStream {
    pub(super) subscribers: Arc<Subscribers>,
    /// The description (SDP), once it is known.
    pub(super) description: watch::Sender<Option<String>>,
    /// A player has lost the picture.
    pub(super) wants_keyframe: AtomicBool,
}

impl SharedStream {
    /// No packet was made yet.
    pub(super) fn new() -> Self {
        Self {
            subscribers: Arc::new(Subscribers::of_running_stream()),
            description: watch::Sender::default(),
            wants_keyframe: AtomicBool::new(false),
        }
    }
}

/// Answers what players ask for, at one path.
pub(super) struct StreamAnswers {
    path: String,
    mux: RequestMux,
    shared: Arc<SharedStream>,
    description: watch::Receiver<Option<String>>,
    /// Since when requests wait for the description.
    waiting: Option<Instant>,
}

impl StreamAnswers {
    /// For the stream at this path, without slashes around it.
    pub(super) fn new(path: String, shared: Arc<SharedStream>) -> Self {
        Self {
            path,
            mux: RequestMux::of(Arc::clone(&shared.subscribers)),
            description: shared.description.subscribe(),
            shared,
            waiting: None,
        }
    }

    /// Answer requests, each with its path, until nobody can ask any more.
    pub(super) async fn answer(mut self, mut requests: mpsc::Receiver<(String, Request)>) {
        loop {
            self.settle();
            let patience = self.waiting.map(|since| since + ANSWER_PATIENCE);
            let over = async {
                match patience {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                asked = requests.recv() => match asked {
                    Some((path, request)) => self.take(&path, request),
                    None => return,
                },
                changed = self.description.changed() => if changed.is_err() {
                    return;
                },
                () = over => {
                    self.waiting = None;
                    self.mux.end(CarriedStatus::of_camera(503));
                }
            }
        }
    }

    fn take(&mut self, path: &str, request: Request) {
        match request {
            Request::Question(question) if path == self.path => self.mux.ask(question),
            Request::Question(question) => question.settle(CarriedStatus::of_camera(404)),
            Request::Leave(subscriber) => self.mux.leave(subscriber),
            Request::Rtcp(_, report) => {
                if rtcp_for_camera(&report, true).is_ok_and(|passed| passed.keyframe) {
                    self.shared.wants_keyframe.store(true, Ordering::Relaxed);
                }
            }
        }
    }

    /// Answers all requests, if the stream is described.
    fn settle(&mut self) {
        let description = self.description.borrow_and_update().clone();
        let Some(description) = description else {
            let waits = self.mux.has_requests();
            self.waiting = waits.then(|| self.waiting.unwrap_or_else(Instant::now));
            return;
        };
        self.waiting = None;
        while let Some(action) = self.mux.next_action() {
            let with = match action {
                Action::Describe => Parameters::of_body(description.clone().into_bytes()),
                Action::Command(..) => Parameters::default(),
            };
            self.mux.answered(CarriedStatus::OK, with);
        }
    }
}
