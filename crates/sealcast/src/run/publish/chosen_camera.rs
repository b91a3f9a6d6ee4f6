//! Which of a publisher's cameras a viewer watches, and which it is told of.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sealcast_proto::keys::{Peer, Wish, WishedMedia};
use sealcast_proto::session::Input;
use sealcast_proto::wire::{CameraName, CloseReason};

use super::camera::Camera;
use super::camera_telling::CameraTelling;
use super::serve_viewer::{Task, ViewerRole, Woken};
use crate::run::session::connection::Ended;
use crate::run::session::ended::happened;
use crate::run::session::rarely::Rarely;
use crate::run::session::registry::Lost;
use crate::transport::Transport;

/// Interval at which a viewer that wished for the names of the cameras is told them again.
const LIST_AGAIN: Duration = Duration::from_secs(1);

impl ViewerRole {
    /// Turn to the camera that a viewer wishes. Returns the reason, in words, if this end does not have what it wishes.
    pub(crate) fn choose(&mut self, peer: &Peer) -> Option<&'static str> {
        let wish = peer.wish?;
        if self.packets_alone || wish.media == WishedMedia::Packets {
            return self.choose_packets(peer, wish);
        }
        let seer = self.shared.admission.seer(peer);
        let camera = match wish.camera {
            CameraName::NONE => self.seen.first(&seer),
            name => self.seen.camera(name.as_str(), &seer),
        };
        let Some(camera) = camera else {
            return Some("there is no camera of that name here; `sealcast cameras TICKET` lists the cameras");
        };
        self.turn_to(camera);
        self.lists = wish.media == WishedMedia::Cameras;
        match wish.media {
            WishedMedia::NothingYet if self.shared.group.is_none() => Some(
                "this publisher seals for no group, so there is nothing for relays and archives; have it started with \
                 --group",
            ),
            WishedMedia::NothingYet | WishedMedia::Frames | WishedMedia::Cameras | WishedMedia::Packets => None,
        }
    }

    /// Whether packets can be had here, which a gateway asks for by the paths of its players.
    fn choose_packets(&mut self, peer: &Peer, wish: Wish) -> Option<&'static str> {
        if wish.media != WishedMedia::Packets {
            return Some(
                "this is a camera gateway, which has packets for players and no pictures; take its ticket to \
                 `sealcast gateway viewer`",
            );
        }
        if wish.camera != CameraName::NONE {
            return Some("cameras of a gateway are named by the paths that players ask for; leave out --camera");
        }
        if self.shared.admission.is_archive_node(&peer.id) {
            return Some(
                "this end is known here as an archive's node, which may open nothing; give the gateway an identity of \
                 its own",
            );
        }
        self.gateway = true;
        if self.packets_alone {
            return None;
        }
        let seer = self.shared.admission.seer(peer);
        if let Some(camera) = self.seen.first_that(&seer, |camera| camera.packets.is_ok()) {
            self.turn_to(camera);
            return None;
        }
        let first = self.seen.first(&seer);
        let why = first.and_then(|camera| camera.packets.as_ref().err().copied());
        Some(why.unwrap_or("there is no camera here for this gateway"))
    }

    /// From here on the viewer is one of this camera.
    fn turn_to(&mut self, camera: Arc<Camera>) {
        self.settings = camera.settings.subscribe();
        self.camera = CameraTelling::new(&camera.hub.standing);
        self.shared = camera;
        self.wait_for_changes();
    }

    /// Wait for what changes of the camera that the viewer watches, from here on.
    pub(crate) fn wait_for_changes(&mut self) {
        self.rarely = Rarely::new()
            .changes(self.settings.changes(), || Woken::Settings)
            .changes(self.camera.changes(), || Woken::Camera)
            .changes(self.seen.changes(), || Woken::Cameras);
    }

    /// Take over what has changed of the cameras, and who may see them: the session ends if its own is not among them.
    pub(crate) fn take_cameras<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let Some(peer) = task.peer.filter(|_| task.established) else {
            return Ok(());
        };
        let (name, seer) = (self.shared.name.as_str(), self.shared.admission.seer(&peer));
        // One that leaves says so when all that it gave is sent.
        let gone = !self.shared.leaves() && self.seen.lost(Some(name), &self.shared, &seer) == Some(Lost::Gone);
        if gone && self.list_due.is_none() {
            let words = "there is no camera of that name here any more; `sealcast cameras TICKET` lists the \
                         cameras";
            tracing::info!(viewer = %task.name(), camera = name, "{}, or not for this viewer", happened(words));
            task.handle(Input::Close(CloseReason::NotOffered, words))?;
            return Err(Ended::Closed);
        }
        self.tell_cameras(task)
    }

    /// Tell the viewer the names of the cameras that it may watch, if it wished for them, or there are several and they
    /// are others than before.
    pub(crate) fn tell_cameras<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let Some(peer) = task.peer else { return Ok(()) };
        // The first is that of who names none: it stays with that one, whatever is added before it.
        let names_none = peer.wish.is_some_and(|wish| wish.camera == CameraName::NONE);
        let first = (names_none && !self.lists).then_some(self.shared.name);
        if self.lists {
            self.list_due = Some(Instant::now() + LIST_AGAIN);
        }
        let least = if self.lists { 0 } else { 2 };
        match self
            .seen
            .names_to_tell(&self.shared.admission.seer(&peer), first, least, |_| true)
        {
            Some(names) => task.handle(Input::TellCameras(names)),
            None => Ok(()),
        }
    }

    /// Say how the picture is turned, if it ever was.
    pub(crate) fn orient<T: Transport>(&self, task: &mut Task<T>) -> Result<(), Ended> {
        match self.shared.hub.standing.orientation() {
            Some(orientation) => task.handle(Input::Orient(orientation)),
            None => Ok(()),
        }
    }

    /// Say whether the camera gives pictures, and how they are turned, if there is something to say.
    pub(crate) fn tell_camera<T: Transport>(&mut self, task: &mut Task<T>) -> Result<(), Ended> {
        let told = self.camera.take(&self.shared.observation.clock);
        told.into_iter().flatten().try_for_each(|input| task.handle(input))
    }

    /// True if the viewer wished for this.
    pub(crate) fn wishes<T: Transport>(&self, task: &Task<T>, media: WishedMedia) -> bool {
        let wish = task.peer.and_then(|peer| peer.wish);
        wish.is_some_and(|wish| wish.media == media)
    }
}
