//! The session: one peer, from the first hello to the last record.
//!
//! A [`Session`] is a deterministic state machine: it reads no clock, draws no randomness and does no I/O. The
//! program that drives it owns the carrier and the clock, and calls four kinds of methods.
//!
//! **Begin.** The end that opened the connection calls [`Session::initiate`], the other [`Session::respond`], each with
//! a [`SessionConfig`], 32 fresh random bytes and the time. [`SessionConfig::carrier`] says what the connection is: a
//! byte stream, datagrams, or QUIC. It decides what the calls below do.
//!
//! **Feed.** [`Session::handle`] takes an [`Input`]: a message from the network, an expired timeout, or a request of
//! the program. A record is opened in the caller's buffer. [`Handled::Refused`] is no error: the session goes on. An
//! `Err` ends the session; keep polling, because [`Session::poll`] may still return messages that tell the peer why.
//!
//! **Drain.** After every call that takes `&mut self` and the time, call [`Session::poll`] until it returns
//! [`Output::Timeout`]: send every [`Output::Transmit`], handle every [`Output::Event`], show every
//! [`Output::Media`]. Call `handle` with [`Input::Timeout`] no later than that timeout. A responder answers
//! [`Event::PeerProved`] with [`Input::Admit`] or [`Input::Close`]; media flows from [`Event::Established`] on.
//!
//! **Publish.** [`Session::seal_info`] and [`Session::seal_frame`] (or [`Session::seal_packets`]) seal media:
//!
//! * On a byte stream they append the records to the caller's buffer, which the caller sends. A sealed record can no
//!   longer be dropped, so the caller seals the next frame only when little of the last one is still queued, and calls
//!   [`Session::mark_stream`] before it: [`Session::stream_is_full`] then says when enough is on the way.
//! * Where media may be lost ([`Session::holds_media`]) the session keeps the records. After every call also drain
//!   [`Session::poll_packets`], send the packets it lends, and call [`Session::packets_sent`] each time the carrier
//!   accepted them; then drain `poll` again. Seal the next frame when [`Session::media_backlog`] is small. Report the
//!   bytes queued in the program with [`Session::media_waits`], so that the pacer speeds up for them where the path
//!   is free. [`Session::target`] is the bit rate that the path carries.
//!
//! A viewer does not publish. It calls [`Session::caught_up`] when it has processed all messages that had arrived:
//! feedback reports are sent then, which saves a timer.
//!
//! Order of calls: messages first, each followed by a drain; then `Timeout` if it is due; then `caught_up`; then
//! `poll_packets`; then frames. After the end ([`Session::is_over`]) a session on datagrams sends its close message
//! more than once: keep calling `handle` with `Timeout` and draining until `poll` returns a timeout of
//! `Duration::MAX`.

mod carried;
mod close;
mod config;
mod control;
mod control_fragments;
mod data;
mod datagram_handshake;
mod datagram_media;
mod delivery;
mod early_records;
mod epochs;
mod farewell;
mod flow;
#[cfg(test)]
mod forgery_tests;
mod gateway;
mod group;
mod group_channel;
#[cfg(test)]
mod group_forgery_tests;
mod group_messages;
mod group_packets;
mod group_view;
mod handshake;
#[cfg(test)]
mod hostile_tests;
mod keyframe_request;
mod keyring;
mod liveness;
mod machine;
mod media;
mod multicast;
mod multicast_view;
mod outgoing;
mod path;
mod records;
mod rekey;
#[cfg(test)]
mod rekey_tests;
mod selection;
mod shape;
mod stream_marks;
#[cfg(test)]
mod tests;
mod timers;
#[cfg(test)]
mod vector_tests;

pub use config::{Carrier, GroupPolicy, OpenedBy, QuicMedia, RekeyPolicy, SessionConfig};
pub use data::{DataCounts, Datagram};
pub use datagram_handshake::Entry;
pub use delivery::{DEFAULT_BUDGET, Delivery, Fec, MAX_BUDGET, Mtu};
pub(crate) use flow::{BlockSealer, Content, Mark, Ordered, Packing, Place, Prefix, Sealing, blocks_of, packet_unit};
pub use flow::{InboundCounts, OutboundCounts, Packets, RepairNeed};
pub use machine::Session;
pub use outgoing::{OutgoingFrame, OutgoingPackets, OutgoingSound, SealedRecords};
pub(crate) use outgoing::{OutgoingUnit, pack_whole};
pub use path::Elsewhere;
pub use rekey::RekeyCause;
pub use shape::{RATES, ShapeCounts, ShapePlan};

use std::time::Duration;

use crate::clock::ClockEstimate;
use crate::keys::{HandshakeError, Peer};
use crate::live::{CHALLENGE_LEN, Challenge};
use crate::rtsp::GatewayMessage;
use crate::seal::{Refusal, Suite};
use crate::sign::{FrameRefusal, GopVerdict, NoSignMode, SignMode};
use crate::unit::{Assembled, Selection};
use crate::wire::{
    Address, CameraName, CameraState, CloseReason, DataChannel, GroupMessage, Hearing, MediaFrom, MulticastGroup,
    Orientation,
};

/// Handshake timeout.
pub const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval between the pings of an established end.
pub const PING_INTERVAL: Duration = Duration::from_millis(500);
/// Silence after which a peer is lost.
pub const PEER_TIMEOUT: Duration = Duration::from_secs(2);
/// Silence after which a peer on datagrams is lost; after [`PEER_TIMEOUT`] it is stalled.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// The same at an end that knows other addresses of the peer, where it may be heard.
pub const ELSEWHERE_TIMEOUT: Duration = Duration::from_secs(10);
/// Silence of valid records after which a peer is lost even though bytes of an incomplete record keep arriving.
pub const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Refusals in a row that end a session on a byte stream.
pub const MAX_CONSECUTIVE_REFUSALS: u32 = 16;

/// Input of a session.
pub enum Input<'b> {
    /// A message from the network, without the carrier's length. A record is opened in place: the buffer holds its
    /// payload in clear afterwards.
    Message(&'b mut [u8]),
    /// A datagram from another address than those to which messages are sent.
    MessageFrom(Elsewhere, &'b mut [u8]),
    /// Bytes of an incomplete message arrived on a byte stream. A long message takes time on a slow link.
    PartOfMessage,
    /// The time of the last [`Output::Timeout`] has come.
    Timeout,
    /// Responder: admit the peer of [`Event::PeerProved`].
    Admit,
    /// End the session; a responder may also use it instead of admitting.
    Close(CloseReason, &'b str),
    /// Viewer: ask for a keyframe of this stream.
    RequestKeyframe(u32),
    /// Viewer on a byte stream: say how long media may wait for it, at most 10 s. Elsewhere the publisher hears it by
    /// the reports of what arrived.
    StateBudget(Duration),
    /// Publisher: say how pictures are turned before they are shown, from here on. Say it again with a keyframe: it may
    /// be lost on datagrams.
    Orient(Orientation),
    /// Publisher: say whether the camera gives pictures. It may be lost on datagrams.
    TellCamera(CameraState<'b>),
    /// Publisher: tell the names of the cameras that the viewer may watch, 1 to
    /// [`MAX_CAMERAS`](crate::wire::MAX_CAMERAS). They may be lost on datagrams.
    TellCameras(Vec<CameraName>),
    /// Publisher: say where it can be reached, by the first 4 addresses that have at most 255 bytes as text. It may be
    /// lost on datagrams.
    TellAddresses(&'b [Address]),
    /// Viewer: say which data channels it wants. Publisher: say which it has and what the viewer may do on them, in
    /// answer to [`Event::DataTold`], and again when that changes. Both hold until they are said anew.
    Data(Vec<DataChannel>),
    /// Send a datagram on the data channel at this place of the publisher's list, from 1. What cannot be sent is
    /// dropped, and counted in [`Session::data_counts`].
    Datagram(u8, &'b [u8]),
    /// Begin a new epoch now (publisher), or ask for one (viewer).
    Rekey,
    /// Publisher: change the selection. One that leaves something in clear takes effect when the viewer has
    /// acknowledged it; encrypting everything takes effect at once.
    Select(Selection),
    /// Send a message to the other gateway: the bytes of a [`GatewayMessage`] that this end may send. It may be lost
    /// on datagrams.
    Gateway(&'b [u8]),
    /// Publisher: a message of the group. The terms begin it; the first sheet, which must be one for
    /// this viewer, makes all media that follows the group's.
    Group(GroupMessage<'b>),
    /// Viewer whose frames the session does not open: join the group that was offered. Once more, and in the same way,
    /// to be told a sheet that a relay does not bring.
    JoinGroup(MediaFrom),
    /// Viewer: send a challenge of these 16 fresh random bytes, after [`Event::ChallengeDue`], or where frames come
    /// through a relay as often as [`RelayedViewer`](crate::group_media::RelayedViewer) says.
    Challenge([u8; CHALLENGE_LEN]),
    /// Viewer: after [`Event::HearMulticast`], whether the program receives what is sent to the multicast group.
    ListensToMulticast(bool),
    /// Viewer: a record that came from the multicast group, without the tag.
    Multicast(&'b mut [u8]),
}

/// Result of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handled {
    /// The input was processed.
    Done,
    /// A second copy of a media record, which is normal where records are repaired, or of the welcome. It was ignored,
    /// and counted if it is media ([`InboundCounts::duplicates`]).
    Duplicate,
    /// A record that is not from the peer, or is a replay. The session goes on.
    Refused(Refusal),
    /// A frame of a group that is not the camera's, whoever sealed it. The session goes on.
    NotTheCameras(FrameRefusal),
    /// A packet of a group's sound that is not the camera's. No picture depends on it.
    NotTheCamerasSound(FrameRefusal),
}

/// Output of a session.
#[derive(Debug)]
pub enum Output {
    /// Send this message.
    Transmit(Vec<u8>),
    /// Send this message to the address of the last [`Input::MessageFrom`].
    Challenge(Vec<u8>),
    /// The address of the last [`Input::MessageFrom`] is proved: send everything there from now on.
    Follow,
    /// An event for the program.
    Event(Event),
    /// Viewer: whole frames and descriptions in the publisher's order, and the gaps between them. On a byte stream
    /// [`Assembled::Lost`] means that a record is missing.
    Media(Assembled),
    /// Nothing more for now. Call again with [`Input::Timeout`] at this monotonic time, or never if it is
    /// `Duration::MAX`.
    Timeout(Duration),
}

/// Events that a session reports to the program.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Responder: the peer proved its identity. Answer with [`Input::Admit`] or [`Input::Close`].
    PeerProved(Peer),
    /// Both ends have keys and the peer is admitted.
    Established(Facts),
    /// A record came from the peer for the first time: it receives where its handshake came from.
    Heard,
    /// Publisher: the viewer needs a keyframe of this stream to continue.
    KeyframeRequested(u32),
    /// Publisher on a byte stream: media may wait so long for this viewer.
    BudgetStated(Duration),
    /// Viewer: pictures are turned before they are shown, from here on.
    Oriented(Orientation),
    /// Viewer: the publisher says whether its camera gives pictures.
    CameraTold {
        /// True if it does.
        on: bool,
        /// Since when, by the publisher's wall clock, ns.
        since: u64,
        /// The publisher's reason in words.
        why: String,
    },
    /// Viewer: the cameras that it may watch, 1 to [`MAX_CAMERAS`](crate::wire::MAX_CAMERAS).
    CamerasTold(Vec<CameraName>),
    /// Viewer: the publisher says where it can be reached, at most 4 different addresses. They are its words: it may
    /// name any machine.
    AddressesTold(Vec<Address>),
    /// Publisher: the data channels that the viewer wants; answer with [`Input::Data`]. Viewer: those that the
    /// publisher has, and what this end may do on them.
    DataTold(Vec<DataChannel>),
    /// Viewer: the publisher does not say which data channels it has. It may be of an older version.
    DataUnanswered,
    /// A datagram came on a data channel.
    Datagram(Datagram),
    /// Records are sealed under a new epoch from here on.
    Rekeyed {
        /// Its number.
        epoch: u64,
        /// The cause, known only to the publisher.
        cause: Option<RekeyCause>,
    },
    /// Another selection is in force: frames are sealed by it from here on (publisher), or may be (viewer).
    Selection(Selection),
    /// A message of the other gateway, of a type that it may send.
    Gateway(GatewayMessage),
    /// Publisher: the viewer wants to be a member of the group that it was offered. If its frames come through a relay
    /// this may come again: it misses a sheet.
    JoinsGroup(MediaFrom),
    /// Publisher: a member's challenge.
    Challenged(Challenge),
    /// Publisher: what the viewer hears of the multicast group that it was told of. As long as it does, frames are not
    /// sent to it over this session: send them to the multicast group.
    Hears(Hearing),
    /// Viewer: receive what is sent to this multicast group, and answer with [`Input::ListensToMulticast`].
    HearMulticast(MulticastGroup),
    /// Viewer: nothing comes from the multicast group, so there is no need to receive it.
    LeaveMulticast,
    /// Viewer whose frames the session does not open: a message of the group, type and fields. Also, of a viewer that
    /// [keeps records as they came](Delivery::keep_sealed), the certificate and the signatures of groups of pictures,
    /// which were verified.
    GroupSaid(Vec<u8>),
    /// Archive's node: a media record of the group, as it came. Nothing about it is verified.
    SealedRecord(Vec<u8>),
    /// Viewer: what follows is of a group, of which the camera signs this.
    JoinedGroup(SignMode),
    /// Viewer: answer with [`Input::Challenge`].
    ChallengeDue,
    /// Viewer: the signature of a group of pictures came.
    Proven(GopVerdict),
    /// Viewer: the publisher offered a group whose signatures this end does not know, and serves this end alone.
    NoSuchSignatures(NoSignMode),
    /// A new estimate of the peer's clock.
    Clock(ClockEstimate),
    /// On datagrams: nothing arrived from the peer for [`PEER_TIMEOUT`]. A publisher's media is dropped from here on.
    Stalled,
    /// A stalled peer was heard again.
    Resumed,
    /// The peer ended the session.
    Closed {
        /// The reason.
        reason: CloseReason,
        /// The peer's message.
        text: String,
    },
}

/// Results of the handshake.
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

/// Reason why a session failed. The session is over then; still send the remaining output of [`Session::poll`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The handshake failed.
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    /// Nothing valid came for [`PEER_TIMEOUT`], or on datagrams for [`STALL_TIMEOUT`] or [`ELSEWHERE_TIMEOUT`].
    #[error("nothing was heard from the peer for too long")]
    PeerLost,
    /// On datagrams: the peer was silent and then reported that it knows no such session.
    #[error("the peer does not know this session any more")]
    PeerForgot,
    /// A key reached its hard limit and the peer agreed on no new epoch.
    #[error("the keys reached their limit and the peer agreed on no new ones")]
    KeyLimit,
    /// Framing was lost: the received bytes are no record.
    #[error("what arrived is no record of sealcast")]
    Framing,
    /// [`MAX_CONSECUTIVE_REFUSALS`] records in a row were refused, or far too many in all.
    #[error("too many records in a row were refused: the stream was altered on the way")]
    TooManyRefusals,
    /// The peer broke the protocol in an authentic message.
    #[error("the peer broke the protocol")]
    PeerMisbehaved,
    /// Viewer: the publisher does not sign groups of pictures, on which this end insists.
    #[error(
        "this viewer requires that groups of pictures are signed with ML-DSA-65 (--require-sign both), which the \
         publisher does not do: pages that publish cannot"
    )]
    SignsTooLittle,
    /// The session was over, or called out of turn: our own bug.
    #[error("the session was used out of turn")]
    Misuse,
}
