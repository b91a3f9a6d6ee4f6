//! Cameras and requests that a viewer gateway has asked for.

use std::sync::Arc;
use std::time::Instant;

use sealcast_proto::rtsp::CameraNumber;

use super::packets::PacketCamera;
use crate::run::publish::camera::Camera;

/// A camera that the viewer gateway has asked for. Its index in the list is its camera number minus one.
pub(super) struct Known {
    pub(super) path: Option<String>,
    /// `None` once the viewer gateway no longer sees it.
    pub(super) camera: Option<Asking>,
    /// Number of the next frame in its stream.
    pub(super) frame: u64,
    pub(super) began: Option<Instant>,
    /// True once a refused command was logged.
    pub(super) refused: bool,
}

/// A camera that a session has asked for, and counts at until this is dropped.
pub(super) struct Asking {
    pub(super) camera: Arc<Camera>,
    pub(super) packets: Arc<PacketCamera>,
}

impl Asking {
    /// Asks for a camera.
    ///
    /// # Errors
    /// The reason why it has no packets.
    pub(super) fn new(camera: Arc<Camera>) -> Result<Self, &'static str> {
        let packets = Arc::clone(camera.packets.as_ref().map_err(|why| *why)?);
        packets.gateway_came();
        camera.count_gateways();
        Ok(Self { camera, packets })
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.packets.gateway_left();
        self.camera.count_gateways();
    }
}

/// A request from the viewer gateway.
pub(super) struct Asked {
    pub(super) request: u32,
    pub(super) describe: bool,
    /// Index of the camera it concerns.
    pub(super) slot: Option<u8>,
    /// The answer that was sent, if any.
    pub(super) answer: Option<Vec<u8>>,
}

/// Slots count from 0, camera numbers from 1.
pub(super) fn number(slot: u8) -> Option<CameraNumber> {
    CameraNumber::new(slot + 1)
}

pub(super) fn slot_of(camera: CameraNumber) -> u8 {
    (camera.stream() - 1) as u8
}
