//! The session: one peer, from the first hello to the last record.
//!
//! A [`Session`] is a deterministic machine. Feed it with [`Session::handle`], and **after every call drain
//! [`Session::poll`] until it answers [`Output::Timeout`]**; call `handle` with [`Input::Timeout`] no later than that.
//! On a byte stream media is the one thing that does not pass through the queue: it is sealed into, and opened in, the
//! caller's own buffers. On other carriers a publisher also drains [`Session::poll_packets`], and a viewer gets
//! [`Output::Media`].

mod close;
mod config;
mod control;
mod control_fragments;
mod datagram_handshake;
mod datagram_media;
mod delivery;
mod epochs;
mod flow;
#[cfg(test)]
mod forgery_tests;
mod gateway;
mod handshake;
#[cfg(test)]
mod hostile_tests;
mod keyframe_request;
mod keyring;
mod liveness;
mod machine;
mod media;
mod records;
mod rekey;
mod selection;
#[cfg(test)]
mod tests;
mod timers;
#[cfg(test)]
mod vector_tests;

pub use config::{Carrier, QuicMedia, RekeyPolicy, SessionConfig};
pub use datagram_handshake::Entry;
pub use delivery::{DEFAULT_BUDGET, Delivery, Fec, MAX_BUDGET, Mtu};
pub use flow::{InboundCounts, OutboundCounts, Packets};
pub use machine::Session;
pub use media::{OutgoingFrame, SealedRecords};
pub use rekey::RekeyCause;

use std::time::Duration;

use crate::clock::ClockEstimate;
use crate::keys::{HandshakeError, Peer};
use crate::rtsp::GatewayMessage;
use crate::seal::{Opened, Refusal, Suite};
use crate::unit::{Assembled, Selection};
use crate::wire::CloseReason;

/// Longest a handshake may take.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an established end pings.
pub const PING_INTERVAL: Duration = Duration::from_millis(500);
/// Silence after which a peer is lost.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(2);
/// Silence after which a peer that is reached by datagrams is lost; after [`PEER_TIMEOUT`] it is stalled.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Silence of valid records after which a peer is lost even though parts of one keep coming.
pub const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Refusals in a row that end a session on a byte stream.
pub const MAX_CONSECUTIVE_REFUSALS: u32 = 16;

/// What a session is told.
pub enum Input<'b> {
    /// A message from the network, without the carrier's length. A media record is opened in place.
    Message(&'b mut [u8]),
    /// Bytes came on a byte stream that do not make a whole message yet: on a slow link a long one takes its time.
    PartOfMessage,
    /// The time of the last [`Output::Timeout`] has come.
    Timeout,
    /// Responder: let the peer of [`Event::PeerProved`] in.
    Admit,
    /// End the session, at a responder also instead of admitting.
    Close(CloseReason, &'b str),
    /// Viewer: ask for a keyframe of this stream.
    RequestKeyframe(u32),
    /// Begin a new epoch now (publisher), or ask for one (viewer).
    Rekey,
    /// Publisher: encrypt by another selection. What leaves something in clear waits for the viewer's acknowledgement;
    /// that everything is encrypted holds at once.
    Select(Selection),
    /// Say something to the other gateway: the bytes of a [`GatewayMessage`], which this end may send. On datagrams it
    /// may be lost.
    Gateway(&'b [u8]),
}

/// What became of an input.
#[derive(Debug)]
pub enum Handled<'b> {
    /// It was taken care of.
    Done,
    /// A verified media record, in the caller's buffer.
    Media(Opened<'b>),
    /// A second copy of a media record that had come, as is expected where records are repaired. It was counted
    /// ([`InboundCounts::duplicates`]) and nothing else.
    Duplicate,
    /// A record that was refused; the session goes on.
    Refused(Refusal),
}

/// What a session wants done.
#[derive(Debug)]
pub enum Output {
    /// Send this message.
    Transmit(Vec<u8>),
    /// Something the program should know.
    Event(Event),
    /// Viewer, where media comes in any order: what it makes, in order. Never [`Assembled::Partial`].
    Media(Assembled),
    /// Nothing more for now. Come back with [`Input::Timeout`] at this monotonic time, or never if it is
    /// `Duration::MAX`.
    Timeout(Duration),
}

/// What the program should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Responder: the peer proved who it is. Answer with [`Input::Admit`] or [`Input::Close`].
    PeerProved(Peer),
    /// Both ends have keys and the peer is admitted.
    Established(Facts),
    /// Publisher: the viewer cannot go on before a keyframe of this stream.
    KeyframeRequested(u32),
    /// Records are sealed under a new epoch from here on.
    Rekeyed {
        /// Its number.
        epoch: u64,
        /// Why, at the publisher; the viewer is not told.
        cause: Option<RekeyCause>,
    },
    /// Another selection holds: frames are sealed by it from here on (publisher), or may be (viewer).
    Selection(Selection),
    /// The other gateway has said something, which is its to say.
    Gateway(GatewayMessage),
    /// A new estimate of the peer's clock.
    Clock(ClockEstimate),
    /// On datagrams: nothing came from the peer for [`PEER_TIMEOUT`]. A publisher's media is dropped from here on.
    Stalled,
    /// It is heard again.
    Resumed,
    /// The peer ended the session.
    Closed {
        /// Why.
        reason: CloseReason,
        /// In the peer's words.
        text: String,
    },
}

/// What was agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The other end.
    pub peer: Peer,
    /// The suite.
    pub suite: Suite,
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// Public name of the session, for logs.
    pub session_id: [u8; 8],
}

impl Eq for Suite {}

/// Why a session failed. It is over then; what [`Session::poll`] still gives should be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The handshake failed.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// Nothing valid came for [`PEER_TIMEOUT`], or on datagrams for [`STALL_TIMEOUT`].
    #[error("nothing was heard from the peer for too long")]
    PeerLost,
    /// On datagrams: the peer was silent and then said that it knows no such session.
    #[error("the peer does not know this session any more")]
    PeerForgot,
    /// A key reached its hard limit and the peer agreed on no new epoch.
    #[error("the keys reached their limit and the peer agreed on no new ones")]
    KeyLimit,
    /// Framing was lost: what came is no record.
    #[error("what arrived is no record: the stream was altered on the way")]
    Framing,
    /// [`MAX_CONSECUTIVE_REFUSALS`] records in a row were refused, or far too many in all.
    #[error("too many records in a row were refused: the stream was altered on the way")]
    TooManyRefusals,
    /// The peer broke the protocol in an authentic message.
    #[error("the peer broke the protocol")]
    PeerMisbehaved,
    /// The session was over, or called out of turn: our own bug.
    #[error("the session was used out of turn")]
    Misuse,
}
