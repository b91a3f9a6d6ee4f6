//! Frames from a camera that speaks RTSP.

use crate::failure::{Failure, FailureKind, Result};
use crate::media::{Frame, StreamInfo};

use super::Source;

/// A camera, and how to reach it.
#[derive(Clone, Debug)]
pub struct RtspOptions {}

impl RtspOptions {
    /// Reads an `rtsp://` URL.
    ///
    /// # Errors
    /// Kind `Usage`.
    pub fn parse(_text: &str) -> Result<Self> {
        Err(Failure::new(FailureKind::Usage, "RTSP cameras are not there yet", "use a file"))
    }
}

/// A camera.
#[derive(Debug)]
pub struct RtspSource {}

impl RtspSource {
    /// Connects.
    ///
    /// # Errors
    /// Always.
    pub fn open(_options: RtspOptions) -> Result<Self> {
        Err(Failure::new(FailureKind::Usage, "RTSP cameras are not there yet", "use a file"))
    }
}

impl Source for RtspSource {
    fn info(&self) -> StreamInfo {
        unreachable!()
    }
    fn next(&mut self) -> Result<Option<Frame>> {
        Ok(None)
    }
    fn request_keyframe(&mut self) {}
}
