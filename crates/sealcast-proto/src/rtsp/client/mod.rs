//! An RTSP client towards one camera.
//!
//! A [`CameraClient`] is a deterministic machine. Feed it with [`CameraClient::handle`], beginning with
//! [`CameraInput::Timeout`] once the connection stands, and after every call drain [`CameraClient::poll`] until it
//! answers [`CameraOutput::Timeout`]. It asks what the camera has by itself and then does what players want of it.
//! RTP over UDP does not pass through it; [`CameraClient::route`] says where RTCP goes.

mod machine;
mod requests;
mod responses;
#[cfg(test)]
mod tests;

pub use machine::CameraClient;

use std::time::Duration;

use super::auth::{AuthError, Credentials};
use super::carried::{CarriedStatus, Parameters, Verb};
use super::reader::NotRtsp;
use super::sdp::DescriptionError;
use super::tracks::{Channel, Track};
use super::transport::PortPair;
use super::url::CameraUrl;

/// How long a camera may take for a response. Shorter than the other gateway's patience, so that it still hears why.
pub const RESPONSE_PATIENCE: Duration = Duration::from_secs(8);
/// Most commands that wait for the camera; one more is answered with 503.
const MAX_COMMANDS: usize = 16;
/// Most times that a request is sent because the camera asked for credentials.
const MAX_TRIES: u32 = 3;

/// How packets should come from the camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lower {
    /// On the RTSP connection.
    #[default]
    Interleaved,
    /// Over UDP, a pair of ports for each track.
    Udp,
}

/// A camera, and how to speak to it.
pub struct CameraConfig {
    /// Where it is.
    pub url: CameraUrl,
    /// What it may ask for.
    pub credentials: Option<Credentials>,
    /// What is tried first; the other is tried where the camera does not support it. Over TLS, packets come on the
    /// RTSP connection or not at all.
    pub lower: Lower,
    /// 16 fresh random bytes.
    pub entropy: [u8; 16],
}

/// What the machine is told.
#[derive(Clone, Copy, Debug)]
pub enum CameraInput<'a> {
    /// Bytes came from the camera; 64 KiB at a time always fit.
    Bytes(&'a [u8]),
    /// A player wants something. `number` comes back with the answer.
    Command(u32, Verb, &'a Parameters),
    /// The answer to [`CameraEvent::OpenPorts`]: ports of this end, or `None` if there are none to be had.
    Ports(Option<PortPair>),
    /// The time of the last [`CameraOutput::Timeout`] has come.
    Timeout,
}

/// What the machine wants done.
#[derive(Debug)]
pub enum CameraOutput {
    /// Send these bytes to the camera.
    Transmit(Vec<u8>),
    /// Something the program should know, or must answer.
    Event(CameraEvent),
    /// A packet that came on the RTSP connection, exactly as it came.
    Packet(Channel, Vec<u8>),
    /// Nothing more for now. Come back with [`CameraInput::Timeout`] at this monotonic time.
    Timeout(Duration),
}

/// What the program should know, or must answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CameraEvent {
    /// The camera is there; its description as it may cross. Comes once, first.
    Described(Vec<u8>),
    /// Bind a pair of UDP ports for a track. Answer with [`CameraInput::Ports`]. Take packets from the camera's
    /// address only.
    OpenPorts {
        /// Which track.
        track: Track,
    },
    /// The answer to a command.
    Answered {
        /// The command's number.
        number: u32,
        /// Whether the camera did it.
        status: CarriedStatus,
        /// The details.
        with: Parameters,
    },
}

/// Why the connection to a camera must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CameraError {
    /// What came is no RTSP.
    #[error("the camera sent what is no RTSP: {0}")]
    NotRtsp(#[from] NotRtsp),
    /// It wants to know who asks.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// It would not describe itself.
    #[error("the camera answered status {0} when asked what it has: check the path of its URL")]
    Status(u16),
    /// Its description is of no use.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// It did not respond within [`RESPONSE_PATIENCE`].
    #[error("the camera did not respond within {} s", RESPONSE_PATIENCE.as_secs())]
    Silent,
    /// It forgot the session.
    #[error("the camera has ended the session")]
    SessionLost,
    /// A call after the end, or ports that nobody asked for: our own bug.
    #[error("the camera's machine was used out of turn")]
    Misuse,
}
