//! The cameras in service, the viewer gateways that may see them, and the changes when the configuration is read
//! again.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use sealcast_proto::keys::PeerId;
use sealcast_proto::rtsp::CarriedStatus;
use tokio::sync::{mpsc, watch};

use super::super::MAX_REQUESTS;
use super::super::request_mux::Request;
use super::cameras::{CameraAt, Cameras, Target, shown};
use crate::keys::allow::AllowList;
use crate::run::Clock;
use crate::run::away::{Away, SourceStanding};
use crate::run::control::CameraStatus;

/// A camera as its sessions know it. Its task ends when the last reference is dropped.
pub(super) struct Camera {
    pub(super) path: Option<String>,
    pub(super) requests: mpsc::Sender<Request>,
    /// Frames sealed of it, for all sessions.
    frames: AtomicU64,
    standing: Arc<CameraStanding>,
}

impl Camera {
    /// A frame of it is sealed for a session.
    pub(super) fn count_frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether a camera is there, as far as its task knows: it connects when somebody asks for the camera.
#[derive(Default)]
pub(super) struct CameraStanding(Mutex<Option<SourceStanding>>);

impl CameraStanding {
    fn lock(&self) -> MutexGuard<'_, Option<SourceStanding>> {
        // It is set as a whole, so a panic in another thread does no harm.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The camera is there, or away for this reason.
    pub(super) fn set(&self, away: Option<Away>) {
        let mut standing = self.lock();
        let before = standing
            .as_ref()
            .filter(|before| before.away.is_some() == away.is_some());
        let since = before.map_or_else(Instant::now, |before| before.since);
        let away = away.map(Arc::new);
        *standing = Some(SourceStanding { since, away });
    }

    /// Nobody needs the camera, so nobody knows.
    pub(super) fn unknown(&self) {
        *self.lock() = None;
    }
}

struct Entry {
    camera: Arc<Camera>,
    target: Arc<Target>,
    allow: Option<AllowList>,
    control: AllowList,
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
    /// Those of the unchanged cameras whose lists changed of who may see or control them.
    lists_changed: Vec<String>,
}

impl Changes {
    pub(super) fn log(&self) {
        tracing::info!(
            added = self.added.join(", "),
            removed = self.removed.join(", "),
            changed = self.changed.join(", "),
            unchanged = self.unchanged.join(", "),
            lists_changed = self.lists_changed.join(", "),
            "cameras and allow lists were read again"
        );
    }
}

impl Registry {
    /// The registry for a new set of cameras. Unchanged cameras continue; `start` is called for all others.
    pub(super) fn renewed(
        &self,
        cameras: Cameras,
        mut start: impl FnMut(Arc<Target>, mpsc::Receiver<Request>, Arc<CameraStanding>),
    ) -> (Self, Changes) {
        let (mut next, mut changes) = (Self::default(), Changes::default());
        for camera in cameras.0 {
            let CameraAt {
                path,
                target,
                allow,
                control,
            } = camera;
            let name = shown(path.as_deref()).to_owned();
            let before = self.entries.iter().find(|entry| entry.camera.path == path);
            if let Some(same) = before.filter(|entry| *entry.target == target) {
                if same.allow != allow || same.control != control {
                    changes.lists_changed.push(name.clone());
                }
                changes.unchanged.push(name);
                next.entries.push(Entry {
                    camera: Arc::clone(&same.camera),
                    target: Arc::clone(&same.target),
                    allow,
                    control,
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
            let standing = Arc::<CameraStanding>::default();
            start(Arc::clone(&target), requests, Arc::clone(&standing));
            let camera = Arc::new(Camera {
                path,
                requests: sender,
                frames: AtomicU64::new(0),
                standing,
            });
            next.entries.push(Entry {
                camera,
                target,
                allow,
                control,
            });
        }
        let gone = |entry: &&Entry| next.entries.iter().all(|other| other.camera.path != entry.camera.path);
        let gone = self.entries.iter().filter(gone);
        changes.removed = gone
            .map(|entry| shown(entry.camera.path.as_deref()).to_owned())
            .collect();
        (next, changes)
    }

    /// The cameras as they are. Its viewers are the sessions that have asked for it.
    pub(super) fn statuses(&self, clock: &Clock) -> Vec<CameraStatus> {
        let status = |entry: &Entry| {
            let camera = &entry.camera;
            let standing = camera.standing.lock().clone();
            CameraStatus {
                name: shown(camera.path.as_deref()).to_owned(),
                frames: camera.frames.load(Ordering::Relaxed),
                // Each such session holds it, as this list does.
                viewers: Arc::strong_count(camera).saturating_sub(1),
                info: None,
                since: standing.as_ref().map(|standing| clock.wall(standing.since)),
                away: standing.and_then(|standing| standing.away),
            }
        };
        self.entries.iter().map(status).collect()
    }

    /// The names of the cameras that a peer sees; `None` if it sees all.
    pub(super) fn seen_by(&self, peer: &PeerId) -> Option<Vec<String>> {
        let seen = self.entries.iter().filter(|entry| entry.admits(peer));
        let seen: Vec<String> = seen
            .map(|entry| shown(entry.camera.path.as_deref()).to_owned())
            .collect();
        (seen.len() < self.entries.len()).then_some(seen)
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

    /// True if the peer's players may change the camera.
    pub(super) fn controls(&self, camera: &Arc<Camera>, peer: &PeerId) -> bool {
        let registry = self.registry.borrow();
        let mut entries = registry.entries.iter();
        entries.any(|entry| Arc::ptr_eq(&entry.camera, camera) && entry.control.contains(peer))
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
mod tests {
    use super::*;

    const FRIEND: PeerId = PeerId([1; 32]);
    const STRANGER: PeerId = PeerId([2; 32]);

    fn cameras(named: &[(&str, &[PeerId])]) -> Cameras {
        let camera = |&(text, allow): &(&str, &[PeerId])| {
            let allow = (!allow.is_empty()).then(|| AllowList::of(allow.iter().copied()));
            CameraAt {
                allow,
                ..text.parse().expect("a camera")
            }
        };
        Cameras::new(named.iter().map(camera).collect()).expect("no two at one path")
    }

    /// The registry for the new cameras, the number of cameras started for it, and the changes.
    fn renewed(registry: &Registry, named: &[(&str, &[PeerId])]) -> (Registry, usize, Changes) {
        let mut started = 0;
        let (next, changes) = registry.renewed(cameras(named), |_, _, _| started += 1);
        (next, started, changes)
    }

    fn snapshot(registry: Registry) -> Snapshot {
        Snapshot::new(watch::Sender::new(registry).subscribe())
    }

    #[test]
    fn only_what_changed_is_started_and_everything_is_told() {
        let (first, started, changes) = renewed(
            &Registry::default(),
            &[("a=rtsp://h/1", &[]), ("b=rtsp://h/2", &[]), ("c=rtsp://h/3", &[])],
        );
        assert_eq!((started, changes.added.join(" ")), (3, "a b c".to_owned()));
        let (second, started, changes) = renewed(
            &first,
            &[
                ("rtsp://h/0", &[]),
                ("b=rtsp://h/2?transport=udp", &[]),
                ("a=rtsp://h/1", &[FRIEND]),
            ],
        );
        assert_eq!(started, 2);
        let words = |list: &[&str]| list.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let expected = Changes {
            added: words(&["every path"]),
            removed: words(&["c"]),
            changed: words(&["b"]),
            unchanged: words(&["a"]),
            lists_changed: words(&["a"]),
        };
        assert_eq!(changes, expected);
        let camera = |registry: &Registry, path| Arc::clone(&registry.at(path, |_| true).expect("it is there").camera);
        let [a, b, c] = ["a", "b", "c"].map(|path| camera(&first, path));
        assert!(Arc::ptr_eq(&a, &camera(&second, "a")) && !Arc::ptr_eq(&b, &camera(&second, "b")));
        let snapshot = snapshot(second);
        let lost = [(&a, FRIEND), (&a, STRANGER), (&b, FRIEND), (&c, FRIEND)]
            .map(|(camera, peer)| snapshot.lost(camera, &peer));
        let status = |code| Some(CarriedStatus::of_camera(code));
        assert_eq!(lost, [None, status(404), status(503), status(404)]);
    }

    #[test]
    fn a_camera_that_a_peer_may_not_see_does_not_exist_for_it() {
        let (registry, ..) = renewed(
            &Registry::default(),
            &[("a=rtsp://h/1", &[FRIEND]), ("b=rtsp://h/2", &[])],
        );
        let mut snapshot = snapshot(registry);
        for (path, peer, seen) in [
            ("a", FRIEND, true),
            ("a", STRANGER, false),
            ("b", STRANGER, true),
            ("c", FRIEND, false),
        ] {
            assert_eq!(snapshot.camera(path, &peer).is_some(), seen, "{path}");
        }
        let said: Vec<_> = snapshot.denied.into_iter().collect();
        assert_eq!(said, [Some("a".to_owned())], "what is not there is not hidden");
    }

    #[test]
    fn where_a_camera_is_hidden_the_one_of_every_other_path_is_seen() {
        let (registry, ..) = renewed(
            &Registry::default(),
            &[("a=rtsp://h/1", &[FRIEND]), ("rtsp://h/2", &[])],
        );
        let mut snapshot = snapshot(registry);
        let path = |peer| snapshot.camera("a", &peer).expect("one of them").path.clone();
        assert_eq!([FRIEND, STRANGER].map(path), [Some("a".to_owned()), None]);
    }
}
