//! Reasons for the end of a connection to a camera.

use std::io;

use sealcast_proto::rtsp::CameraError;

/// Reason for the end of a connection to a camera.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LinkError {
    /// The client found what it cannot go on with.
    #[error(transparent)]
    Client(#[from] CameraError),
    /// An error of the operating system.
    #[error("the connection broke: {0}")]
    Broken(io::Error),
    /// The camera closed the connection.
    #[error("the camera closed the connection")]
    Closed,
    /// The camera does not read.
    #[error("the camera does not read what it is sent")]
    Deaf,
}
