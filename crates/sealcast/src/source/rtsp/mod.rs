//! Cameras that are asked for their packets by RTSP.

mod session;
mod trial;
mod words;

use super::rtp::CameraSource;

pub(super) use self::session::SharedCamera;
pub(crate) use self::trial::{Trial, trial};
pub(crate) use self::words::without_address;

/// A camera of the network.
pub(super) type RtspSource = CameraSource<session::Session>;
