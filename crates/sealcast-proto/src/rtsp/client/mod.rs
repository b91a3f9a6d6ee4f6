//! An RTSP client for one camera.
//!
//! A [`CameraClient`] is a deterministic state machine. Feed it with [`CameraClient::handle`], beginning with
//! [`CameraInput::Timeout`] once the connection is open, and after every call drain [`CameraClient::poll`] until it
//! returns [`CameraOutput::Timeout`]. It asks the camera for its description on its own, and then executes the commands
//! of players. Packets over UDP do not pass through it: tell [`CameraClient::heard`] of them, and ask
//! [`CameraClient::route`] where RTCP must be sent.
//!
//! It is lenient, because cameras are as they are. Each oddity that it takes has a row in the tests (`oddities.rs`).

mod keep_alive;
mod machine;
#[cfg(test)]
mod oddities;
mod redirects;
mod requests;
mod responses;
mod sessions;
#[cfg(test)]
mod tests;

pub use machine::CameraClient;

use std::time::Duration;

use bytes::Bytes;

use super::auth::AuthError;
use super::carried::{CarriedStatus, Parameters, Verb};
use super::credentials::Credentials;
use super::not_rtsp::NotRtsp;
use super::sdp::DescriptionError;
use super::tracks::{Channel, Track};
use super::transport::PortPair;
use super::url::CameraUrl;

/// Time that a camera has for a response. Shorter than the other gateway's timeout, so that the player still gets the
/// reason.
pub const RESPONSE_PATIENCE: Duration = Duration::from_secs(8);
/// Maximum number of commands that wait for the camera; one more is answered with 503.
const MAX_COMMANDS: usize = 16;
/// Time that a camera has for the response to OPTIONS, which it may as well ignore. The description has what is left of
/// [`RESPONSE_PATIENCE`] then.
const OPTIONS_PATIENCE: Duration = Duration::from_secs(4);
/// Time in which the response with the right number may come after one with a wrong number. Then the latter counts.
const NUMBER_PATIENCE: Duration = Duration::from_secs(1);
/// Time after which a description without a length is complete.
const DESCRIPTION_PATIENCE: Duration = Duration::from_millis(500);
/// Maximum number of redirects that are followed, on all connections together.
pub const MAX_REDIRECTS: u8 = 3;

/// Transport of the packets from the camera.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lower {
    /// On the RTSP connection.
    #[default]
    Interleaved,
    /// Over UDP, with a pair of ports for each track.
    Udp,
}

/// Configuration of the connection to a camera.
pub struct CameraConfig {
    /// URL of the camera.
    pub url: CameraUrl,
    /// Number of redirects that led to this URL: 0, or that of [`CameraError::Redirected`].
    pub redirects: u8,
    /// Credentials, if the camera asks for them. After a redirect to another server there must be none: they are for
    /// URLs that [have the same server](CameraUrl::is_same_server) as the one that they were given with.
    pub credentials: Option<Credentials>,
    /// Transport that is tried first; the other is tried if the camera does not support it. With TLS only the RTSP
    /// connection is used.
    pub lower: Lower,
    /// 16 fresh random bytes.
    pub entropy: [u8; 16],
}

/// Input of the client.
#[derive(Clone, Copy, Debug)]
pub enum CameraInput<'a> {
    /// Bytes from the camera; 64 KiB at a time always fit.
    Bytes(&'a [u8]),
    /// A command of a player. The number is returned with the answer.
    Command(u32, Verb, &'a Parameters),
    /// The answer to [`CameraEvent::OpenPorts`]: the gateway's ports, or `None` if none are available.
    Ports(Option<PortPair>),
    /// The time of the last [`CameraOutput::Timeout`] has come.
    Timeout,
}

/// Output of the client.
#[derive(Debug)]
pub enum CameraOutput {
    /// Send these bytes to the camera.
    Transmit(Vec<u8>),
    /// An event for the program, which it may have to answer.
    Event(CameraEvent),
    /// A packet that was received on the RTSP connection, unmodified.
    Packet(Channel, Bytes),
    /// Nothing more for now. Call again with [`CameraInput::Timeout`] at this monotonic time, or never if it is
    /// `Duration::MAX`.
    Timeout(Duration),
}

/// Events that the client reports to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CameraEvent {
    /// The camera's description, rewritten for the other gateway. Reported once, before any command is executed.
    Described(Vec<u8>),
    /// Bind a pair of UDP ports for a track, and accept packets from the camera's address only. Answer with
    /// [`CameraInput::Ports`].
    OpenPorts {
        /// The track.
        track: Track,
    },
    /// The camera refused a track that the pending [`Verb::Play`] asked for, with this status. If others can be
    /// played, a track with pictures among them if one was asked for, the command goes on without it.
    Refused {
        /// The track.
        track: Track,
        /// The camera's status.
        status: CarriedStatus,
    },
    /// The answer to a command.
    Answered {
        /// Number of the command.
        number: u32,
        /// Result.
        status: CarriedStatus,
        /// Headers and body.
        with: Parameters,
    },
}

/// Reason why the connection to a camera must end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CameraError {
    /// The received bytes are not RTSP.
    #[error("the camera sent what is no RTSP: {0}")]
    NotRtsp(#[from] NotRtsp),
    /// Authentication failed.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// The camera refused to describe itself, with this status.
    #[error("the camera answered status {0} when asked what it has: check the path of its URL")]
    Status(u16),
    /// The camera's description cannot be used.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The camera refers to another server: connect to this URL, without credentials unless it has the
    /// [same server](CameraUrl::is_same_server) as the one that they were given with.
    #[error("the camera refers to {to}")]
    Redirected {
        /// The other server's URL. Within TLS, if the camera was.
        to: CameraUrl,
        /// For [`CameraConfig::redirects`].
        redirects: u8,
    },
    /// The camera refers to another place again and again.
    #[error("the camera refers to another place more than {MAX_REDIRECTS} times: give the URL that it means")]
    Redirects,
    /// A camera within TLS refers to a place without.
    #[error("the camera refers from rtsps:// to rtsp://, which is not followed: give that URL, if it may be in clear")]
    Downgrade,
    /// The camera did not respond within [`RESPONSE_PATIENCE`], and sent no packet either.
    #[error("the camera did not respond within {} s", RESPONSE_PATIENCE.as_secs())]
    Silent,
    /// The camera no longer knows the session.
    #[error("the camera has ended the session")]
    SessionLost,
    /// A call after the end, or ports without a request for them: our own bug.
    #[error("the camera's machine was used out of turn")]
    Misuse,
}
