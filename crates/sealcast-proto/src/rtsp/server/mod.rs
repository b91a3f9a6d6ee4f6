//! An RTSP server for one player.
//!
//! A [`PlayerServer`] is a deterministic state machine. Feed it with [`PlayerServer::handle`], and after every call
//! drain [`PlayerServer::poll`] until it returns [`PlayerOutput::Timeout`]. Where it needs the camera or a socket it
//! emits an event, and answers no request of the player until that event is answered or [`ANSWER_PATIENCE`] is over.
//! Media does not pass through it: [`PlayerServer::route`] returns how a packet reaches the player.

mod answers;
mod machine;
mod requests;
#[cfg(test)]
mod tests;

pub use machine::PlayerServer;

use std::time::Duration;

use super::auth::DigestAlgorithm;
use super::carried::{CarriedStatus, Parameters, Verb};
use super::credentials::Credentials;
use super::not_rtsp::NotRtsp;
use super::tracks::{Channel, Track};
use super::transport::PortPair;

/// Time that the program has to answer an event. After it the player gets a 504, a 461 where the event asked for ports,
/// or its due where the event was a login.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// Silence after which a player that receives over UDP is considered gone.
pub const PLAYER_TIMEOUT: Duration = Duration::from_secs(60);
/// Failed logins in a row that a connection survives; one more ends it. A player's first request, usually without
/// credentials, counts as one.
pub const MAX_LOGINS: u32 = 8;
/// Maximum length of a camera's path in a player's URL, in bytes.
pub const MAX_PATH: usize = 255;

/// Configuration of a player's connection.
pub struct PlayerConfig {
    /// Required credentials; `None` if everybody who can reach the port may watch.
    pub login: Option<(Credentials, DigestAlgorithm)>,
    /// True if UDP is offered in addition to the RTSP connection.
    pub udp: bool,
    /// 32 fresh random bytes, from which the session's identifier and the nonce of the login are made.
    pub entropy: [u8; 32],
}

/// Input of the server.
#[derive(Clone, Copy, Debug)]
pub enum PlayerInput<'a> {
    /// Bytes from the player. 64 KiB at a time always fit, except while a request waits for an answer: bytes then
    /// accumulate, up to [`MAX_UNREAD`](super::MAX_UNREAD).
    Bytes(&'a [u8]),
    /// The answer to the event with this number.
    Answer(u32, PlayerAnswer<'a>),
    /// A packet arrived from the player over UDP, so it is still there.
    Alive,
    /// The time of the last [`PlayerOutput::Timeout`] has come.
    Timeout,
}

/// The program's answer to an event. An answer that comes too late is ignored.
#[derive(Clone, Copy, Debug)]
pub enum PlayerAnswer<'a> {
    /// To [`PlayerEvent::Describe`]: the description from the camera gateway.
    Described(Result<&'a [u8], CarriedStatus>),
    /// To [`PlayerEvent::OpenPorts`]: the gateway's ports, or `None` if none are available.
    Ports(Option<PortPair>),
    /// To [`PlayerEvent::Command`].
    Done(CarriedStatus, &'a Parameters),
    /// To [`PlayerEvent::Login`]: the player may learn now whether its password is right.
    Login,
}

/// Output of the server.
#[derive(Debug)]
pub enum PlayerOutput {
    /// Send these bytes to the player.
    Transmit(Vec<u8>),
    /// An event for the program, which it may have to answer.
    Event(PlayerEvent),
    /// Nothing more for now. Call again with [`PlayerInput::Timeout`] at this monotonic time, or never if it is
    /// `Duration::MAX`.
    Timeout(Duration),
}

/// Events that the server reports to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerEvent {
    /// Get the description of the camera at this path. Answer with [`PlayerAnswer::Described`].
    Describe {
        /// Number of the event, counted per connection.
        number: u32,
        /// Path without leading and trailing slashes; at most [`MAX_PATH`] bytes.
        path: String,
    },
    /// Bind a pair of UDP ports for a track, replacing any that it had. Answer with [`PlayerAnswer::Ports`].
    OpenPorts {
        /// Number of the event, counted per connection.
        number: u32,
        /// The track.
        track: Track,
        /// The player's ports. Send to them only at the address from which the player connected.
        client: PortPair,
    },
    /// Send a command to the camera of the last description. Answer with [`PlayerAnswer::Done`].
    Command {
        /// Number of the event, counted per connection.
        number: u32,
        /// The command.
        verb: Verb,
        /// Headers and body.
        with: Parameters,
    },
    /// The player gives credentials, and has not proved any before. Answer with [`PlayerAnswer::Login`]; until then it
    /// does not learn whether they are right. So the program can slow down who guesses.
    Login {
        /// Number of the event, counted per connection.
        number: u32,
        /// True if the credentials are right.
        right: bool,
    },
    /// An RTCP packet of the player, received on the RTSP connection.
    Rtcp(Channel, Vec<u8>),
    /// The player ended its session: close its ports. It may start another session.
    TornDown,
}

/// Reason why a connection must end. Still send the remaining output of [`PlayerServer::poll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayerError {
    /// The received bytes are not RTSP.
    #[error("the player sent what is no RTSP: {0}")]
    NotRtsp(#[from] NotRtsp),
    /// More than [`MAX_LOGINS`] failed logins in a row.
    #[error("the player gave wrong credentials {MAX_LOGINS} times")]
    Login,
    /// A packet came from a player that has not logged in, and so watches nothing.
    #[error("the player sent a packet before it logged in")]
    DataBeforeLogin,
    /// A player over UDP was silent for [`PLAYER_TIMEOUT`].
    #[error("nothing was heard from the player for {} s", PLAYER_TIMEOUT.as_secs())]
    Silent,
    /// An answer of the wrong type, or a call after the end: our own bug.
    #[error("the player's machine was used out of turn")]
    Misuse,
}
