//! Limits on changes to a running camera gateway.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sealcast_proto::keys::PeerId;
use sealcast_proto::unit::Selection;

use super::shared::{Camera, CameraGateway};
use crate::run::control::{CameraStatus, Controlled, Sealing};
use crate::run::session::admission::Admission;
use crate::run::session::observe::Observation;
use crate::run::session::registry::shown;
use crate::run::session::runtime_settings::RuntimeSettings;

/// Check that a selection is possible at a gateway, which seals packets without splitting them into frames and
/// headers.
///
/// # Errors
/// The reason why it is not possible.
pub fn check_selection(selection: Selection) -> Result<(), &'static str> {
    match selection {
        Selection::All | Selection::None | Selection::Rate(_) => Ok(()),
        Selection::Keyframes | Selection::Headers | Selection::HeadersAndKeyframes | Selection::Level(_) => Err(
            "a gateway does not read what cameras send: it knows no keyframes, no headers and no macroblocks; \
             use all, none or rate:PERCENT",
        ),
    }
}

impl Sealing for CameraGateway {
    fn settings(&self) -> &RuntimeSettings {
        &self.settings
    }

    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn check(&self, selection: Selection) -> Result<(), &'static str> {
        check_selection(selection)
    }

    fn request_keyframe(&self) -> Result<(), &'static str> {
        Err("a gateway cannot ask a camera for a keyframe; its players can")
    }
}

impl Controlled for CameraGateway {
    fn each(
        &self,
        camera: Option<&str>,
        act: &mut dyn FnMut(&dyn Sealing) -> Result<(), String>,
    ) -> Result<usize, String> {
        match camera {
            Some(_) => Err("a gateway seals all its cameras alike: name none".to_owned()),
            None => act(self).map(|()| 1),
        }
    }

    fn lists_changed(&self) {
        self.registry.send_modify(|_| {});
    }

    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn kind(&self) -> &'static str {
        "camera gateway"
    }

    fn cameras_for(&self, peer: &PeerId) -> Option<Vec<String>> {
        self.registry.borrow().names_for(&self.admission.seer_of(peer))
    }

    fn cameras(&self) -> Vec<CameraStatus> {
        let status = |(name, camera): (Option<&str>, &Arc<Camera>)| {
            let standing = camera.standing.now();
            CameraStatus {
                name: shown(name).to_owned(),
                frames: camera.frames.load(Ordering::Relaxed),
                // Each session that has asked for it holds it, as the registry does.
                viewers: Arc::strong_count(camera).saturating_sub(1),
                info: None,
                since: standing
                    .as_ref()
                    .map(|standing| self.observation.clock.wall(standing.since)),
                away: standing.and_then(|standing| standing.away),
                ended: false,
            }
        };
        self.registry.borrow().all().map(status).collect()
    }
}
