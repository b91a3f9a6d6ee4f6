//! Limits on changes to a running camera gateway.

use sealcast_proto::keys::PeerId;
use sealcast_proto::unit::Selection;

use super::CameraGateway;
use crate::run::control::{CameraStatus, Controlled};
use crate::run::{Admission, Observation, RuntimeSettings};

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

impl Controlled for CameraGateway {
    fn settings(&self) -> Option<&RuntimeSettings> {
        Some(&self.settings)
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

    fn cameras(&self) -> Vec<CameraStatus> {
        self.registry.borrow().statuses(&self.observation.clock)
    }

    fn cameras_for(&self, peer: &PeerId) -> Option<Vec<String>> {
        self.registry.borrow().seen_by(peer)
    }

    fn check(&self, selection: Selection) -> Result<(), &'static str> {
        check_selection(selection)
    }

    fn request_keyframe(&self) -> Result<(), &'static str> {
        Err("a gateway cannot ask a camera for a keyframe; its players can")
    }
}
