//! State shared by the tasks of a publisher's viewers.

use std::sync::Arc;

use sealcast_proto::unit::Selection;

use super::control::Controlled;
use super::{Admission, Hub, Observation, Offer, RuntimeSettings};

/// Inspects the sealed records of each frame on their way out, with the number of the viewer that they are for.
pub(super) type WireTap = Box<dyn Fn(u64, &[u8]) + Send + Sync>;

/// State shared by the viewers' tasks.
pub(super) struct PublisherState {
    pub(super) hub: Arc<Hub>,
    pub(super) observation: Arc<Observation>,
    pub(super) admission: Arc<Admission>,
    pub(super) max_viewers: usize,
    pub(super) wire_tap: Option<WireTap>,
    pub(super) offer: Offer,
    pub(super) settings: RuntimeSettings,
}

impl Controlled for PublisherState {
    fn settings(&self) -> &RuntimeSettings {
        &self.settings
    }

    fn observation(&self) -> &Observation {
        &self.observation
    }

    fn admission(&self) -> &Admission {
        &self.admission
    }

    fn viewers(&self) -> usize {
        self.hub.viewers()
    }

    fn frames(&self) -> u64 {
        self.hub.frames()
    }

    fn check(&self, selection: Selection) -> Result<(), &'static str> {
        if !self.offer.shape.is_off() && selection != Selection::All {
            return Err("with a shape everything is encrypted: restart with --shape off to leave something in clear");
        }
        Ok(())
    }

    fn request_keyframe(&self) -> Result<(), &'static str> {
        self.hub.request_keyframe();
        Ok(())
    }
}
