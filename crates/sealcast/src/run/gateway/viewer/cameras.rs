//! The cameras that players have asked for, and the messages to the camera gateway about them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{
    ANSWER_PATIENCE, CameraNumber, CarriedStatus, GatewayMessage, Parameters, TrackSet, packets,
};
use sealcast_proto::session::SessionError;
use sealcast_proto::unit::AssembledFrame;
use tokio::sync::mpsc;

use super::super::request_mux::{Action, Request, RequestMux};
use super::pictures::{Passing, Picture, Pictures};
use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;

/// Interval for repeating a request that was not answered.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// Maximum number of paths that players may ask for at once.
const MAX_PATHS: usize = 64;

/// A request sent to the camera gateway.
struct Asked {
    request: u32,
    message: Vec<u8>,
    again: Instant,
    until: Instant,
}

/// A camera that players have asked for.
struct Camera {
    /// The path of the first request, and further paths that turned out to lead to the same camera.
    paths: Vec<String>,
    number: Option<CameraNumber>,
    mux: RequestMux,
    asked: Option<Asked>,
    /// Number of the next frame, once the first has arrived.
    frame: Option<u64>,
    pictures: Pictures,
    /// Packets that were just delivered, and are not yet [settled](Cameras::settle).
    delivered: Vec<(Bytes, Passing)>,
    /// True if packets were delivered since the last [`Cameras::send_off`].
    handed: bool,
}

/// All these cameras. They outlive a session of the link.
pub(super) struct Cameras {
    requests: mpsc::Receiver<(String, Request)>,
    cameras: Vec<Camera>,
    last_request: u32,
}

impl Cameras {
    pub(super) fn new(requests: mpsc::Receiver<(String, Request)>) -> Self {
        Self {
            requests,
            cameras: Vec::new(),
            last_request: 0,
        }
    }

    /// Wait for a player's request and take it. Returns a message to send at once, if there is one. Cancel-safe.
    pub(super) async fn take_request(&mut self) -> Option<GatewayMessage> {
        let Some((path, request)) = self.requests.recv().await else {
            // No player can send a request any more.
            return std::future::pending().await;
        };
        let known = self.cameras.iter_mut().find(|camera| camera.paths.contains(&path));
        match (request, known) {
            (Request::Question(ask), Some(camera)) => camera.mux.ask(ask),
            (Request::Question(ask), None) => {
                self.forget_unneeded();
                if self.cameras.iter().map(|camera| camera.paths.len()).sum::<usize>() >= MAX_PATHS {
                    ask.settle(CarriedStatus::of_camera(503));
                    return None;
                }
                let mut mux = RequestMux::default();
                mux.ask(ask);
                self.cameras.push(Camera {
                    paths: vec![path],
                    number: None,
                    mux,
                    asked: None,
                    frame: None,
                    pictures: Pictures::default(),
                    delivered: Vec::new(),
                    handed: false,
                });
            }
            (Request::Leave(subscriber), Some(camera)) => camera.mux.leave(subscriber),
            (Request::Rtcp(channel, bytes), Some(camera)) => {
                let camera = camera.number?;
                return Some(GatewayMessage::Packet { camera, channel, bytes });
            }
            (Request::Leave(_) | Request::Rtcp(..), None) => {}
        }
        None
    }

    /// Remove paths for which there is no camera, and paths that are no longer used.
    fn forget_unneeded(&mut self) {
        self.cameras.retain_mut(|camera| {
            let idle = camera.mux.is_idle();
            if idle {
                camera.paths.truncate(1);
            }
            !idle || camera.number.is_some()
        });
    }

    /// The requests to send now, for the first time or again. Requests without an answer in time are given up.
    pub(super) fn questions(&mut self) -> Vec<Vec<u8>> {
        let now = Instant::now();
        let mut questions = Vec::new();
        for camera in &mut self.cameras {
            if camera.asked.take_if(|asked| asked.until <= now).is_some() {
                camera.mux.answered(CarriedStatus::TIMEOUT, Parameters::default());
            }
            if let Some(asked) = camera.asked.as_mut().filter(|asked| asked.again <= now) {
                asked.again = now + ASK_AGAIN;
                questions.push(asked.message.clone());
            }
            while camera.asked.is_none() {
                let Some(action) = camera.mux.next_action() else { break };
                self.last_request = self.last_request.wrapping_add(1);
                let request = self.last_request;
                match camera.question(request, action) {
                    Ok(message) => {
                        questions.push(message.clone());
                        camera.asked = Some(Asked {
                            request,
                            message,
                            again: now + ASK_AGAIN,
                            until: now + ANSWER_PATIENCE,
                        });
                    }
                    Err(status) => {
                        camera.mux.answered(status, Parameters::default());
                    }
                }
            }
        }
        questions
    }

    /// Time at which to send a request again or give it up.
    pub(super) fn wake(&self) -> Option<Instant> {
        let asked = self.cameras.iter().filter_map(|camera| camera.asked.as_ref());
        asked.map(|asked| asked.again.min(asked.until)).min()
    }

    /// Handle a message from the camera gateway.
    pub(super) fn take_message(&mut self, message: GatewayMessage) {
        match message {
            GatewayMessage::Answer {
                request,
                camera: number,
                status,
                with,
            } => {
                let answers = |asked: &mut Asked| asked.request == request;
                let asker = self.cameras.iter_mut();
                let Some(at) = asker
                    .enumerate()
                    .find_map(|(at, camera)| camera.asked.take_if(answers).map(|_| at))
                else {
                    return;
                };
                self.cameras[at].mux.answered(status, with);
                if let Some(number) = number {
                    self.is_number(at, number);
                }
            }
            GatewayMessage::Ended { camera: number, status } => {
                let gone = self.cameras.iter_mut().find(|camera| camera.number == Some(number));
                if let Some(camera) = gone {
                    camera.end(status);
                }
            }
            GatewayMessage::InOrder { camera: number, tracks } => {
                let known = self.cameras.iter_mut().find(|camera| camera.number == Some(number));
                if let Some(camera) = known {
                    camera.mux.come_in_order(tracks);
                }
            }
            GatewayMessage::Describe { .. }
            | GatewayMessage::Command { .. }
            | GatewayMessage::Packet { .. }
            | GatewayMessage::Unknown => {}
        }
    }

    /// Assign a number to the camera at index `at`. If another entry already has that number, both are the same
    /// camera and are merged.
    fn is_number(&mut self, at: usize, number: CameraNumber) {
        let owner = self.cameras.iter().position(|camera| camera.number == Some(number));
        let Some(owner) = owner.filter(|&owner| owner != at) else {
            self.cameras[at].number = Some(number);
            return;
        };
        let other = self.cameras.remove(at);
        let owner = &mut self.cameras[owner - usize::from(owner > at)];
        owner.paths.extend(other.paths);
        owner.mux.take_over(other.mux);
    }

    /// Deliver the packets of a frame that `arrived` to its camera's players; they share its data. Returns true if
    /// any packet was queued. Call [`send_off`](Self::send_off) afterwards, and [`settle`](Self::settle) when the
    /// players' tasks had their turn.
    ///
    /// # Errors
    /// [`SessionError::PeerMisbehaved`]: the frame is malformed.
    pub(super) fn take_frame(
        &mut self,
        frame: &mut AssembledFrame,
        arrived: Instant,
        metrics: &Metrics,
    ) -> Result<bool, SessionError> {
        // Packets of a camera that has just ended may still arrive.
        let Some(camera) = self.cameras.iter_mut().find(|camera| camera.has(frame.stream)) else {
            return Ok(false);
        };
        let number = frame.preamble.frame;
        let expected = camera.frame.replace(number + 1).unwrap_or(number);
        if number > expected {
            metrics.record_dropped(DropCause::Gap, number - expected);
        }
        let data = std::mem::take(&mut frame.data);
        // Its packets share it.
        let mut memory = data.capacity();
        let data = Bytes::from(data);
        camera.handed = true;
        let subscribers = &camera.mux.subscribers;
        let mut queued = false;
        for packet in packets(&data) {
            let (channel, bytes) = packet.map_err(|_| SessionError::PeerMisbehaved)?;
            queued |= subscribers.deliver(channel, &data.slice_ref(bytes), memory, arrived, metrics);
            memory = 0;
        }
        let passing = Passing {
            came: frame.preamble.captured,
            sealed: frame.sealed_at,
            arrived,
            delivered: Instant::now(),
        };
        camera.delivered.push((data, passing));
        Ok(queued)
    }

    /// Do what the delivered packets need not wait for: keep them for players that join, and note the pictures that
    /// they belong to.
    pub(super) fn settle(&mut self) {
        for camera in &mut self.cameras {
            if camera.delivered.is_empty() {
                continue;
            }
            camera.mux.subscribers.settle();
            let video = camera.mux.subscribers.video();
            for (data, passing) in camera.delivered.drain(..) {
                for (channel, bytes) in packets(&data).flatten() {
                    if !channel.rtcp && video.contains(channel.track) {
                        camera.pictures.take(channel.track, bytes, passing);
                    }
                }
            }
        }
    }

    /// Calls `note` with the path and each picture that is over since the last call.
    pub(super) fn note_pictures(&mut self, mut note: impl FnMut(&str, &Picture)) {
        for camera in &mut self.cameras {
            for picture in camera.pictures.take_done() {
                note(&camera.paths[0], &picture);
            }
        }
    }

    /// Send the delivered packets that bypass the players' queues.
    pub(super) fn send_off(&mut self, metrics: &Metrics) {
        for camera in &mut self.cameras {
            if std::mem::take(&mut camera.handed) {
                camera.mux.subscribers.send_off(metrics);
            }
        }
    }

    /// The path of the camera with that stream; empty if there is none.
    pub(super) fn path_of(&self, stream: u32) -> &str {
        let camera = self.cameras.iter().find(|camera| camera.has(stream));
        camera.map_or("", |camera| &camera.paths[0])
    }

    /// The link is down: end all cameras.
    pub(super) fn end(&mut self) {
        for camera in &mut self.cameras {
            camera.end(CarriedStatus::of_camera(503));
        }
    }
}

impl Camera {
    fn has(&self, stream: u32) -> bool {
        self.number.is_some_and(|number| number.stream() == stream)
    }

    /// The message for a request, or the status if it cannot be sent.
    fn question(&self, request: u32, action: Action) -> Result<Vec<u8>, CarriedStatus> {
        let message = match action {
            Action::Describe => GatewayMessage::Describe {
                request,
                path: self.paths[0].clone(),
            },
            Action::Command(verb, with) => GatewayMessage::Command {
                request,
                // Without a number, the camera has ended since the player described it.
                camera: self.number.ok_or(CarriedStatus::of_camera(454))?,
                verb,
                with,
            },
        };
        message.to_bytes().map_err(|_| CarriedStatus::of_camera(413))
    }

    /// The camera is gone or cannot be reached.
    fn end(&mut self, status: CarriedStatus) {
        self.asked = None;
        self.number = None;
        self.frame = None;
        self.mux.end(status);
        self.mux.come_in_order(TrackSet::default());
    }
}
