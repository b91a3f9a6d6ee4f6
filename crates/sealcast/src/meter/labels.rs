//! The closed sets of label values: what is counted apart. One name each, the same in metrics, logs and reports.

use sealcast_proto::session;
use serde::{Serialize, Serializer};

/// Declares an enum whose every value has one name, with the list of all values.
macro_rules! label_values {
    ($(#[$meta:meta])* $name:ident { $($(#[$value_meta:meta])* $value:ident => $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$value_meta])* $value,)+ }

        impl $name {
            /// Every value, in the order of its discriminants.
            pub const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// The names of [`ALL`](Self::ALL).
            pub const NAMES: &'static [&'static str] = &[$($text,)+];

            /// The name in metrics, logs and reports.
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
    /// Which way something went.
    Direction {
        /// Sealed and sent.
        Out => "out",
        /// Received and opened.
        In => "in",
    }
}

label_values! {
    /// What a record carries.
    RecordKind {
        /// A frame or part of one.
        Media => "media",
        /// A codec configuration.
        Config => "config",
        /// A control message.
        Control => "control",
    }
}

label_values! {
    /// What a sealed stream carries beyond the coded frames.
    OverheadKind {
        /// Record headers.
        Header => "header",
        /// Authentication tags.
        Tag => "tag",
        /// The stamps in front of each frame.
        Preamble => "preamble",
        /// The lengths in front of messages on a byte stream.
        Framing => "framing",
    }
}

label_values! {
    /// Why a record was refused, in the order of the checks (docs/protocol.md, section 2).
    OpenFailure {
        /// The header does not make sense.
        Malformed => "malformed",
        /// The record claims not to be encrypted.
        Cleartext => "cleartext",
        /// No key for its epoch.
        UnknownEpoch => "unknown_epoch",
        /// Opened before, or too old to tell.
        Replay => "replay",
        /// The tag does not verify: forged or damaged.
        Tag => "tag",
    }
}

label_values! {
    /// Why a datagram that came was not handed to any session (docs/protocol.md, section 7).
    DatagramRefusal {
        /// Too short to name a connection, or longer than any may be.
        Malformed => "malformed",
        /// Of no session, and without a valid cookie.
        Stranger => "stranger",
        /// A record of a session that is gone.
        Unknown => "unknown",
        /// A new session, when there are as many as there may be.
        Busy => "busy",
        /// Its session's queue was full.
        Queue => "queue",
        /// From another address than the one that was written to.
        Foreign => "foreign",
    }
}

label_values! {
    /// Why a datagram was given up instead of sent.
    DatagramUnsent {
        /// Longer than the path carries.
        TooLong => "too_long",
        /// The system knows no way to the peer, or forbids it.
        Unreachable => "unreachable",
        /// An answer to a stranger, when the socket was full.
        Full => "full",
    }
}

label_values! {
    /// What a stranger was answered, without a session.
    DoorAnswer {
        /// A cookie for a knock.
        Cookie => "cookie",
        /// That its session is unknown.
        Unknown => "unknown",
        /// On QUIC, that it shall begin again with a token.
        Retry => "retry",
    }
}

label_values! {
    /// What became of media records where they may be lost.
    MediaPacket {
        /// A part of a frame, sent or received.
        Source => "source",
        /// A repair symbol, sent or received.
        Repair => "repair",
        /// A part of a frame that was sent again.
        Resent => "resent",
        /// A part of a frame that repair symbols brought back.
        Recovered => "recovered",
        /// One that was asked for.
        Asked => "asked",
        /// A block of them that was given up.
        GivenUp => "given-up",
        /// One that came when nobody needed it any more.
        Late => "late",
    }
}

label_values! {
    /// What became of QUIC streams of media, one for each group of pictures.
    MediaStream {
        /// Begun here.
        Begun => "begun",
        /// Given up here before all of it had arrived: it was out of date.
        Reset => "reset",
        /// Given up by the other end.
        Lost => "lost",
    }
}

label_values! {
    /// Why an epoch ended.
    RekeyCause {
        /// Its time was up.
        Time => "time",
        /// It had sealed as many records as it may.
        Count => "count",
        /// Somebody asked for it.
        Demand => "demand",
    }
}

label_values! {
    /// Why a frame was dropped.
    DropCause {
        /// A bounded queue was full: the network or the sink is slower than the source.
        Queue => "queue",
        /// A frame before it is missing, so it cannot be decoded.
        Gap => "gap",
        /// The source left it out.
        Source => "source",
    }
}

impl From<Option<session::RekeyCause>> for RekeyCause {
    /// A viewer is not told, and must assume that somebody wanted it.
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
    /// How a handshake ended.
    HandshakeOutcome {
        /// Both ends are authenticated, the session is established.
        Established => "established",
        /// The peer is not who it should be, or is not allowed in.
        Refused => "refused",
        /// A message did not make sense.
        Malformed => "malformed",
        /// It took too long.
        TimedOut => "timed_out",
        /// The connection broke.
        Disconnected => "disconnected",
    }
}
