//! Requests of a viewer gateway's players, and the answers of cameras.

use std::sync::Arc;
use std::time::Instant;

use sealcast_proto::rtsp::{CarriedStatus, GatewayMessage, Parameters, Verb};
use sealcast_proto::session::Input;
use sealcast_proto::wire::MAX_STREAM;
use tokio::sync::mpsc::error::TrySendError;

use super::super::request_mux::{Action, Question, Request};
use super::super::subscribers::{Subscriber, SubscriberEvent};
use super::asked::{Asked, Asking, Known, number, slot_of};
use super::command::{Judged, judge};
use super::session::{PacketRole, Task};
use crate::meter::labels::RtcpRefusal;
use crate::run::publish::camera::Camera;
use crate::run::session::connection::Ended;
use crate::run::session::registry::shown;
use crate::transport::Transport;

/// Number of requests that are remembered with their answers, to repeat an answer that was lost.
const MAX_REMEMBERED: usize = 64;

impl PacketRole {
    pub(super) fn take_message<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        message: GatewayMessage,
    ) -> Result<(), Ended> {
        match message {
            GatewayMessage::Describe { request, path } => {
                if self.is_new(task, request, true)? {
                    self.take_registry(task)?;
                    match self.number_of(&path) {
                        Ok(slot) => self.ask(task, slot, request, Action::Describe)?,
                        Err(status) => self.answer(task, request, 0, status, Parameters::default())?,
                    }
                }
                Ok(())
            }
            GatewayMessage::Command {
                request,
                camera,
                verb,
                with,
            } => {
                if self.is_new(task, request, false)? {
                    self.command(task, slot_of(camera), request, verb, with)?;
                }
                Ok(())
            }
            GatewayMessage::Packet { camera, channel, bytes } => {
                if !self.reports.admits(Instant::now()) {
                    self.observation.metrics.rtcp_refused(RtcpRefusal::Rate, 1);
                } else if let Some(camera) = self.camera(slot_of(camera)) {
                    // If there is no room, drop the report; another will follow.
                    let _ = camera.packets.requests.try_send(Request::Rtcp(channel, bytes));
                }
                Ok(())
            }
            GatewayMessage::Answer { .. }
            | GatewayMessage::Ended { .. }
            | GatewayMessage::InOrder { .. }
            | GatewayMessage::Unknown => Ok(()),
        }
    }

    /// True if the request is new. If it was already answered, its answer is sent again.
    fn is_new<T: Transport>(&mut self, task: &mut Task<T>, request: u32, describe: bool) -> Result<bool, Ended> {
        if let Some(asked) = self.asked.iter().find(|asked| asked.request == request) {
            if let Some(answer) = &asked.answer {
                task.handle(Input::Gateway(answer))?;
            }
            return Ok(false);
        }
        if self.asked.len() == MAX_REMEMBERED {
            self.asked.pop_front();
        }
        self.asked.push_back(Asked {
            request,
            describe,
            slot: None,
            answer: None,
        });
        Ok(true)
    }

    /// The camera in a slot, if the viewer gateway still sees it.
    pub(super) fn camera(&self, slot: u8) -> Option<&Asking> {
        self.cameras.get(usize::from(slot))?.camera.as_ref()
    }

    /// The slot of the camera at a path. It is assigned at the camera's first description and then kept.
    fn number_of(&mut self, path: &str) -> Result<u8, CarriedStatus> {
        // A camera without packets is none for players.
        let asking = self.seen_at(path).and_then(|camera| Asking::new(camera).ok());
        let asking = asking.ok_or(CarriedStatus::of_camera(404))?;
        let known = |known: &Known| known.path == asking.packets.path;
        if let Some(at) = self.cameras.iter().position(known) {
            self.cameras[at].camera = Some(asking);
            return Ok(at as u8);
        }
        if self.cameras.len() == MAX_STREAM as usize {
            return Err(CarriedStatus::of_camera(503));
        }
        self.cameras.push(Known {
            path: asking.packets.path.clone(),
            camera: Some(asking),
            frame: 0,
            began: None,
            refused: false,
        });
        Ok((self.cameras.len() - 1) as u8)
    }

    /// The camera that players find at a path: the only camera of a publisher at each.
    fn seen_at(&mut self, path: &str) -> Option<Arc<Camera>> {
        let seer = self.shared.common.admission.seer(self.peer.as_ref()?);
        let named = self.seen.camera(path, &seer);
        let only = !self.shared.gateways.alone && !self.seen.are_several();
        named.or_else(|| self.seen.first(&seer).filter(|_| only))
    }

    /// Leave a camera and report its end to the viewer gateway.
    pub(super) fn lose<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        slot: u8,
        camera: &Asking,
        status: CarriedStatus,
    ) -> Result<(), Ended> {
        let leave = Request::Leave(self.subscriber_of(slot));
        if let Err(TrySendError::Full(leave)) = camera.packets.requests.try_send(leave) {
            let requests = camera.packets.requests.clone();
            // The camera must get this message, but the packets of other cameras must not wait for that.
            tokio::spawn(async move { requests.send(leave).await });
        }
        let unanswered = |asked: &&Asked| asked.slot == Some(slot) && asked.answer.is_none();
        let requests: Vec<u32> = self
            .asked
            .iter()
            .filter(unanswered)
            .map(|asked| asked.request)
            .collect();
        for request in requests {
            self.answer(task, request, slot, status, Parameters::default())?;
        }
        let Some(camera) = number(slot) else { return Ok(()) };
        self.say(task, &GatewayMessage::Ended { camera, status }).map(drop)
    }

    pub(super) fn subscriber_of(&self, slot: u8) -> Subscriber {
        Subscriber {
            slot,
            ..self.subscriber.clone()
        }
    }

    /// Forward a command, or answer it: a player may not change every camera that it may watch.
    fn command<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        slot: u8,
        request: u32,
        verb: Verb,
        with: Parameters,
    ) -> Result<(), Ended> {
        let controls = match (self.camera(slot), self.peer) {
            (Some(camera), Some(peer)) => self.seen.controls(&camera.camera, &peer.id),
            _ => false,
        };
        match judge(verb, with, controls) {
            Judged::Forward(with) => self.ask(task, slot, request, Action::Command(verb, with)),
            Judged::Answer(status, with) => {
                if !status.is_ok() {
                    self.log_refusal(task, slot);
                }
                self.answer(task, request, slot, status, with)
            }
        }
    }

    /// Log a refused command, once per camera: a hostile viewer gateway must not fill the log.
    fn log_refusal<T: Transport>(&mut self, task: &Task<T>, slot: u8) {
        if let Some(known) = self.cameras.get_mut(usize::from(slot)).filter(|known| !known.refused) {
            known.refused = true;
            let camera = shown(known.path.as_deref());
            tracing::warn!(
                viewer = %task.name(),
                camera,
                "a player would change the camera: its viewer gateway is not in the list `control`"
            );
        }
    }

    fn ask<T: Transport>(&mut self, task: &mut Task<T>, slot: u8, request: u32, action: Action) -> Result<(), Ended> {
        let subscriber = self.subscriber_of(slot);
        if let Some(asked) = self.asked.iter_mut().find(|asked| asked.request == request) {
            asked.slot = Some(slot);
        }
        let refused = match self.camera(slot) {
            None => CarriedStatus::of_camera(404),
            Some(camera) => match camera.packets.requests.try_send(Request::Question(Question {
                subscriber,
                request,
                action,
            })) {
                Ok(()) => return Ok(()),
                Err(_) => CarriedStatus::of_camera(503),
            },
        };
        self.answer(task, request, slot, refused, Parameters::default())
    }

    pub(super) fn take_subscriber_event<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        event: SubscriberEvent,
    ) -> Result<(), Ended> {
        let slot = event.slot();
        let (Some(camera), Some(_)) = (number(slot), self.camera(slot)) else {
            // The viewer gateway was told when the camera was lost.
            return Ok(());
        };
        let message = match event {
            SubscriberEvent::Answer {
                request,
                status,
                with,
                in_order: tracks,
                ..
            } => {
                // Before the answer, for packets may follow it at once.
                self.say(task, &GatewayMessage::InOrder { camera, tracks })?;
                return self.answer(task, request, slot, status, with);
            }
            SubscriberEvent::InOrder { tracks, .. } => GatewayMessage::InOrder { camera, tracks },
            SubscriberEvent::Ended { status, .. } => GatewayMessage::Ended { camera, status },
        };
        self.say(task, &message).map(drop)
    }

    fn answer<T: Transport>(
        &mut self,
        task: &mut Task<T>,
        request: u32,
        slot: u8,
        status: CarriedStatus,
        with: Parameters,
    ) -> Result<(), Ended> {
        let asked = self.asked.iter().position(|asked| asked.request == request);
        let describe = asked.is_some_and(|at| self.asked[at].describe);
        let camera = number(slot).filter(|_| status.is_ok() || !describe);
        let answer = |status, with| GatewayMessage::Answer {
            request,
            camera,
            status,
            with,
        };
        let said = match self.say(task, &answer(status, with))? {
            Some(said) => Some(said),
            None => {
                tracing::warn!("a camera's answer is too long to cross and was left out");
                self.say(task, &answer(CarriedStatus::BAD_GATEWAY, Parameters::default()))?
            }
        };
        if let Some(at) = asked {
            self.asked[at].answer = said;
        }
        Ok(())
    }

    /// Send a message. Returns its bytes, or `None` if it is too long.
    fn say<T: Transport>(&mut self, task: &mut Task<T>, message: &GatewayMessage) -> Result<Option<Vec<u8>>, Ended> {
        let Ok(bytes) = message.to_bytes() else { return Ok(None) };
        task.handle(Input::Gateway(&bytes))?;
        Ok(Some(bytes))
    }
}
