//! The closed sets of label values. Each value has one name, the same in metrics, logs and reports.

use sealcast_proto::session;
use serde::{Serialize, Serializer};

/// Declares an enum with a name for each value, and the list of all values.
macro_rules! label_values {
    ($(#[$meta:meta])* $name:ident { $($(#[$value_meta:meta])* $value:ident => $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$value_meta])* $value,)+ }

        impl $name {
            /// All values, in the order of their discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// The names of [`ALL`](Self::ALL).
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// Name in metrics, logs and reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $text,)+ }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

label_values! {
    /// Direction of the data.
    Direction {
        /// Sealed and sent.
        Out => "out",
        /// Received and opened.
        In => "in",
    }
}

label_values! {
    /// Work on a signature of a group.
    SignatureWork {
        /// A frame was signed.
        Sign => "sign",
        /// A group of pictures was signed.
        SignGop => "sign_gop",
        /// The signature of a frame that came over a session was verified.
        Verify => "verify",
    }
}

label_values! {
    /// Reason why a packet at a source's port counts for nothing.
    Stranger {
        /// It is from another address than the only one that counts.
        Address => "address",
        /// It is no RTP.
        Format => "format",
        /// It is of another source (SSRC) than the one that counts.
        Source => "source",
    }
}

label_values! {
    /// Contents of a record.
    RecordKind {
        /// A frame or a part of one.
        Media => "media",
        /// A codec configuration.
        Config => "config",
        /// A control message.
        Control => "control",
        /// Records of a stream whose traffic is constant, or pieces of them, in a record of constant size.
        Cell => "cell",
        /// A datagram of a data channel.
        Data => "data",
    }
}

label_values! {
    /// Reason why a datagram of a data channel was dropped.
    DataDrop {
        /// It came faster than the rate.
        TooFast => "too_fast",
        /// It was empty, or longer than what fits.
        Length => "length",
        /// A copy, or a newer one had come.
        Stale => "stale",
        /// It was lost on the way.
        Lost => "lost",
        /// Its sender may not send on the channel.
        NotAllowed => "not_allowed",
        /// The key had reached its limit.
        NoKey => "no_key",
        /// Another program than the one that counts sent it to this machine's port.
        Stranger => "stranger",
        /// No program at this machine takes it.
        Unheard => "unheard",
    }
}

label_values! {
    /// Reason why a viewer may not send on a data channel.
    ControlRefusal {
        /// It is not in the list of those that may.
        NotListed => "not_listed",
        /// Another viewer does.
        Taken => "taken",
    }
}

label_values! {
    /// Data that a sealed stream carries in addition to the coded frames.
    OverheadKind {
        /// Record headers.
        Header => "header",
        /// Authentication tags.
        Tag => "tag",
        /// Timestamps before each frame.
        Preamble => "preamble",
        /// Length prefixes of messages on a byte stream.
        Framing => "framing",
    }
}

label_values! {
    /// Reason for refusing a record, in the order of the checks (docs/spec/protocol.md, section 2).
    OpenFailure {
        /// The header is invalid.
        Malformed => "malformed",
        /// The record claims not to be encrypted.
        Cleartext => "cleartext",
        /// It came outside of cells from a peer that sends cells.
        OutsideCell => "outside_cell",
        /// There is no key for its epoch.
        UnknownEpoch => "unknown_epoch",
        /// Opened before, or too old to tell.
        Replay => "replay",
        /// The tag does not verify: the record is forged or damaged.
        Tag => "tag",
    }
}

label_values! {
    /// Reason for not delivering a received datagram to a session (docs/spec/protocol.md, section 7).
    DatagramRefusal {
        /// Too short for a connection number, or longer than allowed.
        Malformed => "malformed",
        /// Belongs to no session, and has no valid cookie.
        Stranger => "stranger",
        /// A record of a session that no longer exists.
        Unknown => "unknown",
        /// Begins a new session when the maximum number of sessions is reached.
        Busy => "busy",
        /// The queue of its session was full.
        Queue => "queue",
        /// Came from an address other than the one that we sent to.
        Foreign => "foreign",
    }
}

label_values! {
    /// Reason for dropping a datagram instead of sending it.
    DatagramUnsent {
        /// Exceeds the path MTU.
        TooLong => "too_long",
        /// The system has no route to the peer, or forbids sending to it.
        Unreachable => "unreachable",
        /// An answer to a peer without a session, when the socket was full.
        Full => "full",
    }
}

label_values! {
    /// Reason for turning a connection away, or for ending it otherwise than by a goodbye.
    TurnedAway {
        /// All places are taken, or its place was given to another.
        Crowded => "crowded",
        /// It asks and does not read the answers.
        Unread => "unread",
        /// It closed the connection without a word.
        Silent => "silent",
        /// It took too long.
        Slow => "slow",
        /// The connection broke, or could not be accepted.
        Broken => "broken",
        /// It sent what is no message of the protocol.
        Malformed => "malformed",
        /// It has no ticket, or the handshake failed for another reason.
        Handshake => "handshake",
        /// It showed who it is, and is not admitted.
        NotAdmitted => "not_admitted",
        /// A player's password is wrong.
        Password => "password",
        /// It broke the protocol of an established session.
        Protocol => "protocol",
    }
}

label_values! {
    /// Queue that holds bytes until a peer reads them.
    PeerQueue {
        /// Sealed records and handshake messages that the system has not taken.
        Session => "session",
        /// Frames and packets that wait to be sealed, or to be sent to a player or a relay.
        Media => "media",
        /// Answers and packets for a player that the system has not taken.
        Player => "player",
        /// Answers over HTTP, and of the control socket, that the system has not taken.
        Answer => "answer",
    }
}

label_values! {
    /// Answer to a peer without a session.
    DoorAnswer {
        /// A retry cookie, in answer to a request for one (the message `knock` of docs/spec/protocol.md, section 7).
        Cookie => "cookie",
        /// QUIC only: a Retry packet, after which the peer begins again with a token.
        Retry => "retry",
    }
}

label_values! {
    /// Reason for not passing RTCP of a player on to a camera.
    RtcpRefusal {
        /// A packet of a type that players may not send to a camera.
        Kind => "kind",
        /// A request for a keyframe so soon after another that the same keyframe answers both.
        Keyframe => "keyframe",
        /// A compound packet of a viewer gateway that sends too many.
        Rate => "rate",
        /// It is no compound packet.
        Malformed => "malformed",
    }
}

label_values! {
    /// Fate of a media record on a transport with loss.
    MediaPacket {
        /// A part of a frame, sent or received.
        Source => "source",
        /// A repair symbol, sent or received.
        Repair => "repair",
        /// A part of a frame that was resent.
        Resent => "resent",
        /// A part of a frame that was recovered from repair symbols.
        Recovered => "recovered",
        /// A record that was requested again (NACK).
        Asked => "asked",
        /// A block of records that was given up.
        GivenUp => "given-up",
        /// A record that arrived too late to be needed.
        Late => "late",
    }
}

label_values! {
    /// Fate of a QUIC stream of media, one for each group of pictures.
    MediaStream {
        /// Opened by this end.
        Begun => "begun",
        /// Reset by this end before all of it had arrived, because it was outdated.
        Reset => "reset",
        /// Reset by the other end.
        Lost => "lost",
    }
}

label_values! {
    /// Reason for ending an epoch.
    RekeyCause {
        /// The time limit was reached.
        Time => "time",
        /// The limit of sealed records was reached.
        Count => "count",
        /// A rekey was requested.
        Demand => "demand",
    }
}

label_values! {
    /// Reason for dropping a frame.
    DropCause {
        /// A bounded queue was full: the network or the sink is slower than the source.
        Queue => "queue",
        /// An earlier frame is missing, so this one cannot be decoded.
        Gap => "gap",
        /// The camera's driver dropped it before this program could take it.
        Source => "source",
        /// It came damaged from the camera.
        Damaged => "damaged",
    }
}

impl From<Option<session::RekeyCause>> for RekeyCause {
    /// A viewer does not learn the cause, and counts it as a request.
    fn from(cause: Option<session::RekeyCause>) -> Self {
        match cause {
            Some(session::RekeyCause::Time) => Self::Time,
            Some(session::RekeyCause::Count) => Self::Count,
            Some(session::RekeyCause::Demand) | None => Self::Demand,
        }
    }
}

#[expect(clippy::derivable_impls, reason = "the macro takes no attribute on one value alone")]
impl Default for HandshakeOutcome {
    fn default() -> Self {
        Self::Disconnected
    }
}

label_values! {
    /// Outcome of a handshake.
    HandshakeOutcome {
        /// Both ends are authenticated, the session is established.
        Established => "established",
        /// The peer is not the expected one, or is not admitted.
        Refused => "refused",
        /// A message was invalid.
        Malformed => "malformed",
        /// The handshake timed out.
        TimedOut => "timed_out",
        /// The connection broke.
        Disconnected => "disconnected",
    }
}
