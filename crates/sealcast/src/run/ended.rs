//! Ends of connections as log messages, metric labels and failures.

use sealcast_proto::keys::HandshakeError;
use sealcast_proto::session::SessionError;
use sealcast_proto::wire::CloseReason;

use super::connection::Ended;
use crate::failure::{Failure, FailureKind};
use crate::meter::labels::{HandshakeOutcome, TurnedAway};
use crate::transport::Unread;

impl Ended {
    /// The log message for this end; `None` if the session was closed, which is logged where it happens.
    pub fn in_words(&self) -> Option<String> {
        match self {
            Self::Session(SessionError::Handshake(error)) => Some(format!("the handshake failed: {error}")),
            Self::Session(error) => Some(format!("the session ended: {error}")),
            Self::Carrier(error) => Some(format!("the connection broke: {error}")),
            Self::Eof => Some("the connection was closed without a word: the other end is gone".to_owned()),
            Self::PeerNotReading => Some("the other end was cut off: it asks and does not read the answers".to_owned()),
            Self::Evicted => Some("its place was given to another: it had sent nothing valid yet".to_owned()),
            Self::Closed => None,
        }
    }
}

/// The reason under which this end of a connection is counted. Of those who are strangers until it ends, `established`
/// is false.
pub(super) fn turned_away(ended: &Ended, established: bool) -> TurnedAway {
    match ended {
        Ended::Session(SessionError::Handshake(HandshakeError::Timeout)) => TurnedAway::Slow,
        Ended::Session(SessionError::Handshake(HandshakeError::Malformed | HandshakeError::Version)) => {
            TurnedAway::Malformed
        }
        Ended::Session(SessionError::Framing) if !established => TurnedAway::Malformed,
        Ended::Session(SessionError::Handshake(_)) => TurnedAway::Handshake,
        Ended::Session(_) => TurnedAway::Protocol,
        Ended::Carrier(error) if error.get_ref().is_some_and(|error| error.is::<Unread>()) => TurnedAway::Unread,
        Ended::Carrier(_) => TurnedAway::Broken,
        Ended::Eof => TurnedAway::Silent,
        Ended::PeerNotReading => TurnedAway::Unread,
        Ended::Evicted => TurnedAway::Crowded,
        Ended::Closed => TurnedAway::NotAdmitted,
    }
}

/// The metric label of a handshake that failed.
pub(super) fn handshake_outcome(ended: &Ended) -> HandshakeOutcome {
    match ended {
        Ended::Session(SessionError::Handshake(HandshakeError::Timeout | HandshakeError::Altered)) => {
            HandshakeOutcome::TimedOut
        }
        Ended::Session(SessionError::Handshake(HandshakeError::Malformed) | SessionError::Framing) => {
            HandshakeOutcome::Malformed
        }
        Ended::Session(_) | Ended::Closed | Ended::PeerNotReading | Ended::Evicted => HandshakeOutcome::Refused,
        Ended::Carrier(_) | Ended::Eof => HandshakeOutcome::Disconnected,
    }
}

/// The failure that a publisher's close message means for a viewer; `None` if the stream ended normally.
pub(super) fn last_words_failure(remote: &str, reason: CloseReason, text: &str) -> Option<Failure> {
    let said = if text.is_empty() {
        reason.to_string()
    } else {
        format!("{reason}: {text}")
    };
    let broken = |kind, hint: &str| Some(Failure::new(kind, format!("{remote} said {said}"), hint));
    match reason {
        CloseReason::EndOfStream => None,
        CloseReason::NotAuthorised => broken(
            FailureKind::Refused,
            "ask the publisher for a ticket with an invite, or to allow your peer id",
        ),
        CloseReason::TooManyViewers => broken(FailureKind::Refused, "try again when somebody has left"),
        CloseReason::NotOffered => broken(
            FailureKind::Refused,
            "take another ticket, or start the program that it says",
        ),
        CloseReason::Replaced => broken(
            FailureKind::Network,
            "another session of this identity took the place: end one of the two, or give it an identity of its own",
        ),
        CloseReason::KeyLimit => broken(FailureKind::Limit, "connect again: a new session has new keys"),
        CloseReason::SourceFailed => broken(FailureKind::Network, "the publisher's camera has to come back"),
        _ => broken(FailureKind::Network, "the publisher may come back"),
    }
}

/// The failure that an unsuccessful handshake means for a viewer.
pub(super) fn handshake_failure(remote: &str, error: HandshakeError) -> Failure {
    let (kind, hint) = match error {
        HandshakeError::WrongPeer(_) | HandshakeError::Signature => (
            FailureKind::Refused,
            "do not trust that address; ask for a new ticket over a channel you trust",
        ),
        HandshakeError::OwnIdentity => (
            FailureKind::Refused,
            "if the other end is yours too, give one of the two an identity of its own: leave --identity and the key \
             file of [identity] away, which gives each its own, or make another with: sealcast keygen FILE; if it is \
             not, do not trust that address",
        ),
        HandshakeError::Psk => (
            FailureKind::Refused,
            "ask the publisher for a new ticket: the invite has expired, was used or withdrawn, or you were removed",
        ),
        HandshakeError::Alert => (
            FailureKind::Refused,
            "it may accept other mechanisms or suites (--mech, --suite), or the hello was altered on the way",
        ),
        HandshakeError::Timeout => (
            FailureKind::Network,
            "check the network, and that the ticket is this publisher's: it does not answer to any other",
        ),
        HandshakeError::Altered => (
            FailureKind::Network,
            "something on the path alters what it carries, or answers in the other end's place; try another network",
        ),
        HandshakeError::Library | HandshakeError::Misuse => (FailureKind::Internal, "please report this"),
        HandshakeError::Malformed | HandshakeError::Version => (
            FailureKind::Refused,
            "check the port, and that both ends run the same version of sealcast",
        ),
        _ => (
            FailureKind::Refused,
            "check that both ends run the same version, and who is between",
        ),
    };
    Failure::new(kind, format!("the handshake with {remote} failed: {error}"), hint)
}
