//! Cameras and requests that a viewer gateway has asked for.

use std::sync::Arc;
use std::time::Instant;

use super::shared::Camera;

/// A camera that the viewer gateway has asked for. Its index in the list is its camera number minus one.
pub(super) struct Known {
    pub(super) path: Option<String>,
    /// `None` once the viewer gateway no longer sees it.
    pub(super) camera: Option<Arc<Camera>>,
    /// Number of the next frame in its stream.
    pub(super) frame: u64,
    pub(super) began: Option<Instant>,
    /// True once a refused command was logged.
    pub(super) refused: bool,
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
