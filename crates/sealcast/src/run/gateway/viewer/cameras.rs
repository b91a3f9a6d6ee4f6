//! The cameras that players ask for, and what is to be said to the camera gateway about them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sealcast_proto::rtsp::{ANSWER_PATIENCE, CameraNumber, CarriedStatus, GatewayMessage, Parameters, packets};
use sealcast_proto::session::SessionError;
use sealcast_proto::unit::AssembledFrame;
use tokio::sync::mpsc;

use super::super::request_mux::{Action, Request, RequestMux};
use crate::meter::labels::DropCause;
use crate::meter::metrics::Metrics;

/// A question that is not answered is asked again this often.
const ASK_AGAIN: Duration = Duration::from_millis(500);
/// Most paths that players ask for at once.
const MAX_PATHS: usize = 64;

/// A question that has been put to the camera gateway.
struct Asked {
    request: u32,
    message: Vec<u8>,
    again: Instant,
    until: Instant,
}

/// A camera that players have asked for.
struct Camera {
    /// The path that it was first asked for by, and others that turned out to be its own as well.
    paths: Vec<String>,
    number: Option<CameraNumber>,
    mux: RequestMux,
    asked: Option<Asked>,
    /// Number of the next frame, once one has come.
    frame: Option<u64>,
    /// Packets were handed out that are to be sent off.
    handed: bool,
}

/// All of them, whether the link stands or not.
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

    /// Wait for a player's request and take it. A message to be said at once, if there is one. Cancel-safe.
    pub(super) async fn take_request(&mut self) -> Option<GatewayMessage> {
        let Some((path, request)) = self.requests.recv().await else {
            // No player is left.
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

    /// Forget paths that turned out to be no camera's, and those that nobody uses any more.
    fn forget_unneeded(&mut self) {
        self.cameras.retain_mut(|camera| {
            let idle = camera.mux.is_idle();
            if idle {
                camera.paths.truncate(1);
            }
            !idle || camera.number.is_some()
        });
    }

    /// Questions to be put now, for the first time or again. Those that found no answer in time are given up.
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

    /// When a question is to be asked again.
    pub(super) fn wake(&self) -> Option<Instant> {
        let asked = self.cameras.iter().filter_map(|camera| camera.asked.as_ref());
        asked.map(|asked| asked.again.min(asked.until)).min()
    }

    /// The camera gateway has said something.
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
            GatewayMessage::Describe { .. }
            | GatewayMessage::Command { .. }
            | GatewayMessage::Packet { .. }
            | GatewayMessage::Unknown => {}
        }
    }

    /// The camera at this place has this number. If another has it, both are one and get one voice.
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

    /// Hand the packets of a frame that `arrived` to the players who watch its camera, who share its data; whether any
    /// waits in a queue. [`send_off`](Self::send_off) follows.
    ///
    /// # Errors
    /// [`SessionError::PeerMisbehaved`]: the frame breaks the form.
    pub(super) fn take_frame(
        &mut self,
        frame: &mut AssembledFrame,
        arrived: Instant,
        metrics: &Metrics,
    ) -> Result<bool, SessionError> {
        // Packets of a camera that has just ended may still be on their way.
        let Some(camera) = self.cameras.iter_mut().find(|camera| camera.has(frame.stream)) else {
            return Ok(false);
        };
        let number = frame.preamble.frame;
        let expected = camera.frame.replace(number + 1).unwrap_or(number);
        if number > expected {
            metrics.record_dropped(DropCause::Gap, number - expected);
        }
        let data = Bytes::from(std::mem::take(&mut frame.data));
        camera.handed = true;
        let mut queued = false;
        for packet in packets(&data) {
            let (channel, bytes) = packet.map_err(|_| SessionError::PeerMisbehaved)?;
            let subscribers = &camera.mux.subscribers;
            queued |= subscribers.deliver(channel, &data.slice_ref(bytes), arrived, metrics);
        }
        Ok(queued)
    }

    /// Send what players take at once of what was handed out.
    pub(super) fn send_off(&mut self, metrics: &Metrics) {
        for camera in &mut self.cameras {
            if std::mem::take(&mut camera.handed) {
                camera.mux.subscribers.send_off(metrics);
            }
        }
    }

    /// The path of the camera with a stream, empty if there is none.
    pub(super) fn path_of(&self, stream: u32) -> &str {
        let camera = self.cameras.iter().find(|camera| camera.has(stream));
        camera.map_or("", |camera| &camera.paths[0])
    }

    /// The link is gone, and with it all cameras.
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

    /// The message that puts a question, or why it cannot be put.
    fn question(&self, request: u32, action: Action) -> Result<Vec<u8>, CarriedStatus> {
        let message = match action {
            Action::Describe => GatewayMessage::Describe {
                request,
                path: self.paths[0].clone(),
            },
            Action::Command(verb, with) => GatewayMessage::Command {
                request,
                // The player speaks of a camera that ended since.
                camera: self.number.ok_or(CarriedStatus::of_camera(454))?,
                verb,
                with,
            },
        };
        message.to_bytes().map_err(|_| CarriedStatus::of_camera(413))
    }

    /// It is gone, or cannot be reached.
    fn end(&mut self, status: CarriedStatus) {
        self.asked = None;
        self.number = None;
        self.frame = None;
        self.mux.end(status);
    }
}
