//! An RTSP server towards one player.
//!
//! A [`PlayerServer`] is a deterministic machine. Feed it with [`PlayerServer::handle`], and after every call drain
//! [`PlayerServer::poll`] until it answers [`PlayerOutput::Timeout`]. Where it needs the camera or a socket it asks
//! with an event and answers nothing else to the player until it is told. Media does not pass through it:
//! [`PlayerServer::route`] says how a packet reaches the player.

mod answers;
mod machine;
mod requests;
#[cfg(test)]
mod tests;

pub use machine::PlayerServer;

use std::time::Duration;

use super::auth::{Credentials, DigestAlgorithm};
use super::carried::{CarriedStatus, Parameters, Verb};
use super::reader::NotRtsp;
use super::tracks::{Channel, Track};
use super::transport::PortPair;

/// How long the camera's gateway may take for an answer; then the player gets a 504.
pub const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// Silence after which a player that receives over UDP is gone.
pub const PLAYER_TIMEOUT: Duration = Duration::from_secs(60);
/// Wrong credentials in a row that end a connection. Players ask once without any.
pub const MAX_LOGINS: u32 = 8;
/// Longest path of a camera in a player's URL, in bytes.
pub const MAX_PATH: usize = 255;

/// What a player meets.
pub struct PlayerConfig {
    /// Who may watch, where not anybody who reaches the port.
    pub login: Option<(Credentials, DigestAlgorithm)>,
    /// Whether UDP is offered besides the RTSP connection.
    pub udp: bool,
    /// 32 fresh random bytes: the session's name and the nonce of the login.
    pub entropy: [u8; 32],
}

/// What the machine is told.
#[derive(Clone, Copy, Debug)]
pub enum PlayerInput<'a> {
    /// Bytes came from the player; 64 KiB at a time always fit.
    Bytes(&'a [u8]),
    /// The answer to the question of that number.
    Answer(u32, PlayerAnswer<'a>),
    /// Something came from the player over UDP: it is there.
    Alive,
    /// The time of the last [`PlayerOutput::Timeout`] has come.
    Timeout,
}

/// The program's answer to a question. One that comes too late is ignored.
#[derive(Clone, Copy, Debug)]
pub enum PlayerAnswer<'a> {
    /// To [`PlayerEvent::Describe`]: the description that crossed.
    Described(Result<&'a [u8], CarriedStatus>),
    /// To [`PlayerEvent::OpenPorts`]: the gateway's ports, or `None` if there are none to be had.
    Ports(Option<PortPair>),
    /// To [`PlayerEvent::Command`].
    Done(CarriedStatus, &'a Parameters),
}

/// What the machine wants done.
#[derive(Debug)]
pub enum PlayerOutput {
    /// Send these bytes to the player.
    Transmit(Vec<u8>),
    /// Something the program should know, or must answer.
    Event(PlayerEvent),
    /// Nothing more for now. Come back with [`PlayerInput::Timeout`] at this monotonic time, or never if it is
    /// `Duration::MAX`.
    Timeout(Duration),
}

/// What the program should know, or must answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlayerEvent {
    /// What camera is at this path? Answer with [`PlayerAnswer::Described`].
    Describe {
        /// Of the question; counted up on each connection.
        number: u32,
        /// Without slashes around it; at most [`MAX_PATH`] bytes.
        path: String,
    },
    /// Bind a pair of UDP ports for a track, instead of any it had. Answer with [`PlayerAnswer::Ports`].
    OpenPorts {
        /// Of the question; counted up on each connection.
        number: u32,
        /// Which track.
        track: Track,
        /// The player's ports, at the address from which it connected and nowhere else.
        client: PortPair,
    },
    /// Tell the camera of the last description. Answer with [`PlayerAnswer::Done`].
    Command {
        /// Of the question; counted up on each connection.
        number: u32,
        /// What it should do.
        verb: Verb,
        /// The details.
        with: Parameters,
    },
    /// An RTCP packet of the player's, that came on the RTSP connection.
    Rtcp(Channel, Vec<u8>),
    /// The player no longer watches: its ports can be closed. It may begin again.
    TornDown,
}

/// Why a connection must end. What [`PlayerServer::poll`] still gives should be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlayerError {
    /// What came is no RTSP.
    #[error("the player sent what is no RTSP: {0}")]
    NotRtsp(#[from] NotRtsp),
    /// [`MAX_LOGINS`] wrong credentials in a row.
    #[error("the player gave wrong credentials {MAX_LOGINS} times")]
    Login,
    /// A player over UDP was silent for [`PLAYER_TIMEOUT`].
    #[error("nothing was heard from the player for {} s", PLAYER_TIMEOUT.as_secs())]
    Silent,
    /// Another kind of answer than the question's, or a call after the end: our own bug.
    #[error("the player's machine was used out of turn")]
    Misuse,
}
