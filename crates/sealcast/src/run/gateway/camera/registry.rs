//! The cameras in service, the viewer gateways that may see them, and the changes when the configuration is read
//! again.

use std::collections::BTreeSet;
use std::sync::Arc;

use sealcast_proto::keys::PeerId;
use sealcast_proto::rtsp::CarriedStatus;
use tokio::sync::{mpsc, watch};

use super::super::MAX_REQUESTS;
use super::super::request_mux::Request;
use super::cameras::{CameraAt, Cameras, Target, shown};
use crate::keys::allow::AllowList;

/// A camera as its sessions know it. Its task ends when the last reference is dropped.
pub(super) struct Camera {
    pub(super) path: Option<String>,
    pub(super) requests: mpsc::Sender<Request>,
}

struct Entry {
    camera: Arc<Camera>,
    target: Arc<Target>,
    allow: Option<AllowList>,
}

impl Entry {
    fn admits(&self, peer: &PeerId) -> bool {
        self.allow.as_ref().is_none_or(|list| list.contains(peer))
    }
}

/// The cameras; no two have the same path.
#[derive(Default)]
pub(super) struct Registry {
    entries: Vec<Entry>,
}

/// Changes after the configuration was read again: the paths of the cameras concerned.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    added: Vec<String>,
    removed: Vec<String>,
    /// Cameras that are started again because their settings changed.
    changed: Vec<String>,
    /// Cameras that continue without interruption.
    unchanged: Vec<String>,
    /// Those of the unchanged cameras whose allow list changed.
    allow_changed: Vec<String>,
}

impl Changes {
    pub(super) fn log(&self) {
        tracing::info!(
            added = self.added.join(", "),
            removed = self.removed.join(", "),
            changed = self.changed.join(", "),
            unchanged = self.unchanged.join(", "),
            allow_changed = self.allow_changed.join(", "),
            "cameras and allow lists were read again"
        );
    }
}

impl Registry {
    /// The registry for a new set of cameras. Unchanged cameras continue; `start` is called for all others.
    pub(super) fn renewed(
        &self,
        cameras: Cameras,
        mut start: impl FnMut(Arc<Target>, mpsc::Receiver<Request>),
    ) -> (Self, Changes) {
        let (mut next, mut changes) = (Self::default(), Changes::default());
        for CameraAt { path, target, allow } in cameras.0 {
            let name = shown(path.as_deref()).to_owned();
            let before = self.entries.iter().find(|entry| entry.camera.path == path);
            if let Some(same) = before.filter(|entry| *entry.target == target) {
                if same.allow != allow {
                    changes.allow_changed.push(name.clone());
                }
                changes.unchanged.push(name);
                next.entries.push(Entry {
                    camera: Arc::clone(&same.camera),
                    target: Arc::clone(&same.target),
                    allow,
                });
                continue;
            }
            let list = if before.is_some() {
                &mut changes.changed
            } else {
                &mut changes.added
            };
            list.push(name);
            let (sender, requests) = mpsc::channel(MAX_REQUESTS);
            let target = Arc::new(target);
            start(Arc::clone(&target), requests);
            let camera = Arc::new(Camera { path, requests: sender });
            next.entries.push(Entry { camera, target, allow });
        }
        let gone = |entry: &&Entry| next.entries.iter().all(|other| other.camera.path != entry.camera.path);
        let gone = self.entries.iter().filter(gone);
        changes.removed = gone
            .map(|entry| shown(entry.camera.path.as_deref()).to_owned())
            .collect();
        (next, changes)
    }

    /// The camera for a path, among the entries accepted by `sees`.
    fn at(&self, path: &str, sees: impl Fn(&Entry) -> bool) -> Option<&Entry> {
        let entries = || self.entries.iter().filter(|entry| sees(entry));
        let named = entries().find(|entry| entry.camera.path.as_deref() == Some(path));
        named.or_else(|| entries().find(|entry| entry.camera.path.is_none()))
    }
}

/// The cameras as seen by one viewer gateway's session.
pub(super) struct Snapshot {
    registry: watch::Receiver<Registry>,
    /// Paths of cameras for which a denial has already been logged.
    denied: BTreeSet<Option<String>>,
}

impl Snapshot {
    pub(super) fn new(registry: watch::Receiver<Registry>) -> Self {
        Self {
            registry,
            denied: BTreeSet::new(),
        }
    }

    /// Wait until the cameras are read again. Cancel-safe.
    pub(super) async fn changed(&mut self) {
        if self.registry.changed().await.is_err() {
            // The gateway is stopping, so the cameras will not be read again.
            std::future::pending().await
        }
    }

    /// The camera that the peer sees at a path. A camera that it may not see does not exist for it.
    pub(super) fn camera(&mut self, path: &str, peer: &PeerId) -> Option<Arc<Camera>> {
        let registry = self.registry.borrow();
        if let Some(hidden) = registry.at(path, |_| true).filter(|entry| !entry.admits(peer))
            && self.denied.insert(hidden.camera.path.clone())
        {
            let camera = shown(hidden.camera.path.as_deref());
            tracing::warn!(%peer, camera, "this peer may not see the camera: it is told that there is none");
        }
        let seen = registry.at(path, |entry| entry.admits(peer))?;
        Some(Arc::clone(&seen.camera))
    }

    /// The status to report if the peer no longer sees a camera.
    pub(super) fn lost(&self, camera: &Arc<Camera>, peer: &PeerId) -> Option<CarriedStatus> {
        let registry = self.registry.borrow();
        let now = registry.entries.iter().find(|entry| entry.camera.path == camera.path);
        match now.filter(|entry| entry.admits(peer)) {
            Some(entry) if Arc::ptr_eq(&entry.camera, camera) => None,
            // The camera was restarted with other settings, so the client may ask again.
            Some(_) => Some(CarriedStatus::of_camera(503)),
            None => Some(CarriedStatus::of_camera(404)),
        }
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
