//! The session: one peer, from the first hello to the last record.
//!
//! A [`Session`] is a deterministic machine: it asks for no time, draws no randomness and does no I/O. The program that
//! drives it owns the carrier and the clock, and calls four kinds of methods.
//!
//! **Begin.** The end that opened the connection calls [`Session::initiate`], the other [`Session::respond`], each with
//! a [`SessionConfig`], 32 fresh random bytes and the time. [`SessionConfig::carrier`] says what the connection is: a
//! byte stream, datagrams, or QUIC. It decides what the calls below do.
//!
//! **Feed.** [`Session::handle`] takes an [`Input`]: a message from the network, a deadline that has come, or a wish of
//! the program's. A record is opened in the caller's buffer. [`Handled::Refused`] is no error: the session goes on. An
//! `Err` ends the session; what [`Session::poll`] still gives is what to tell the peer about it.
//!
//! **Drain.** After every call that takes `&mut self` and the time, call [`Session::poll`] until it answers
//! [`Output::Timeout`]: send every [`Output::Transmit`], act upon every [`Output::Event`], show every
//! [`Output::Media`]. Call `handle` with [`Input::Timeout`] no later than that timeout says. A responder answers
//! [`Event::PeerProved`] with [`Input::Admit`] or [`Input::Close`]; media flows from [`Event::Established`] on.
//!
//! **Publish.** [`Session::seal_info`] and [`Session::seal_frame`] (or [`Session::seal_packets`]) seal media:
//!
//! * On a byte stream they append the records to the caller's buffer, which the caller sends. What is sealed can no
//!   longer be dropped, so the caller seals the next frame when little of the last one waits.
//! * Where media may be lost ([`Session::holds_media`]) the session keeps the records. After every call drain
//!   [`Session::poll_packets`] too, send what it lends, and call [`Session::packets_sent`] each time the carrier took
//!   them; then drain `poll` again. Seal the next frame when [`Session::media_backlog`] is small, and say with
//!   [`Session::media_waits`] how many bytes wait in the program, so that the pacer lets them through where the path is
//!   free. [`Session::target`] is the bit rate that the path carries.
//!
//! A viewer does nothing of that. It calls [`Session::caught_up`] when it has taken all messages that had come: reports
//! leave then, and not by a timer.
//!
//! In what order: messages first, each followed by a drain; then `Timeout` if it is due; then `caught_up`; then
//! `poll_packets`; then frames. After the end ([`Session::is_over`]) a session on datagrams says goodbye more than
//! once: keep calling `handle` with `Timeout` and draining until `poll` answers a timeout of `Duration::MAX`.

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
pub use media::{OutgoingFrame, OutgoingPackets, SealedRecords};
pub use rekey::RekeyCause;

use std::time::Duration;

use crate::clock::ClockEstimate;
use crate::keys::{HandshakeError, Peer};
use crate::rtsp::GatewayMessage;
use crate::seal::{Refusal, Suite};
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
    /// A message from the network, without the carrier's length. A record is opened in place: the buffer holds its
    /// payload in clear afterwards.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// It was taken care of.
    Done,
    /// A second copy of a media record that had come, as is expected where records are repaired. It was counted
    /// ([`InboundCounts::duplicates`]) and nothing else.
    Duplicate,
    /// It was a record that is not the peer's, or came before. The session goes on.
    Refused(Refusal),
}

/// What a session wants done.
#[derive(Debug)]
pub enum Output {
    /// Send this message.
    Transmit(Vec<u8>),
    /// Something the program should know.
    Event(Event),
    /// Viewer: whole frames and descriptions, in the order of the publisher, and what is missing between them. On a
    /// byte stream [`Assembled::Lost`] says that a record is missing.
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
