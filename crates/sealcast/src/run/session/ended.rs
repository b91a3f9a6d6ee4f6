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
            Self::Closed | Self::Turned => None,
        }
    }
}

/// The reason under which this end of a connection is counted. Of those who are strangers until it ends, `established`
/// is false.
pub(crate) fn turned_away(ended: &Ended, established: bool) -> TurnedAway {
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
        Ended::Closed | Ended::Turned => TurnedAway::NotAdmitted,
    }
}

/// The metric label of a handshake that failed.
pub(crate) fn handshake_outcome(ended: &Ended) -> HandshakeOutcome {
    match ended {
        Ended::Session(SessionError::Handshake(HandshakeError::Timeout | HandshakeError::Unfit)) => {
            HandshakeOutcome::TimedOut
        }
        Ended::Session(SessionError::Handshake(HandshakeError::Malformed) | SessionError::Framing) => {
            HandshakeOutcome::Malformed
        }
        Ended::Session(_) | Ended::Closed | Ended::Turned | Ended::PeerNotReading | Ended::Evicted => {
            HandshakeOutcome::Refused
        }
        Ended::Carrier(_) | Ended::Eof => HandshakeOutcome::Disconnected,
    }
}

/// Separates what happened from the advice in the text of a close message, as in a [`Failure`] that is shown.
const ADVICE: &str = "; ";

/// The text of a close message without its advice, which is for the other end.
pub(crate) fn happened(text: &str) -> &str {
    text.split_once(ADVICE).map_or(text, |(happened, _)| happened)
}

/// The failure that a publisher's close message means for a viewer; `None` if the stream ended normally. The advice is
/// that of the text, which knows more than its reason, or else that for the reason.
pub(crate) fn last_words_failure(remote: &str, reason: CloseReason, text: &str) -> Option<Failure> {
    let (kind, hint) = match reason {
        CloseReason::EndOfStream => return None,
        CloseReason::NotAuthorised => (
            FailureKind::Refused,
            "ask the publisher for a ticket with an invite, or to allow your peer id",
        ),
        CloseReason::TooManyViewers => (FailureKind::Refused, "try again when somebody has left"),
        CloseReason::NotOffered => (FailureKind::Refused, "ask for the ticket of an end that has it"),
        CloseReason::Replaced => (
            FailureKind::Network,
            "it is tried again in a minute; if another program has this identity, give it one of its own, and if all \
             places of the publisher are taken, raise --max-viewers there",
        ),
        CloseReason::KeyLimit => (FailureKind::Limit, "connect again: a new session has new keys"),
        CloseReason::SourceFailed => (FailureKind::Network, "the publisher's camera has to come back"),
        _ => (FailureKind::Network, "the publisher may come back"),
    };
    let (happened, advice) = match text.split_once(ADVICE) {
        Some((happened, advice)) => (happened, advice),
        None => (text, hint),
    };
    let colon = if happened.is_empty() { "" } else { ": " };
    Some(Failure::new(
        kind,
        format!("{remote} said {reason}{colon}{happened}"),
        advice,
    ))
}

/// The failure that an unsuccessful handshake means for a viewer.
pub(crate) fn handshake_failure(remote: &str, error: HandshakeError) -> Failure {
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
            "its own log says why: perhaps both ends publish, or both watch, or it accepts other mechanisms or suites \
             (--mech, --suite)",
        ),
        HandshakeError::Timeout => (
            FailureKind::Network,
            "check the network, and that the ticket is this publisher's: it does not answer to any other",
        ),
        HandshakeError::Unfit => (
            FailureKind::Network,
            "check the port, and that it is a sealcast publisher's; if it is, try another network",
        ),
        HandshakeError::Sealed => (
            FailureKind::Refused,
            "check that the ticket is this publisher's; if it is, somebody between may be altering what is sent",
        ),
        HandshakeError::Library | HandshakeError::Misuse => (FailureKind::Internal, "please report this"),
        HandshakeError::Malformed | HandshakeError::Version => (
            FailureKind::Refused,
            "check the port, and that both ends run the same version of sealcast",
        ),
        _ => (FailureKind::Refused, "check that both ends run the same version"),
    };
    Failure::new(kind, format!("the handshake with {remote} failed: {error}"), hint)
}

/// Advice to a viewer whose session has ended.
pub(crate) fn viewers_hint(ended: &Ended, established: bool) -> &'static str {
    match ended {
        Ended::Session(SessionError::TooManyRefusals) => "somebody between may be altering the stream",
        Ended::Session(SessionError::PeerMisbehaved) => "check that both ends run the same version",
        Ended::Session(SessionError::Misuse) => "please report this",
        _ if established => "the publisher may be restarting, or the network was away",
        _ => "check that it is a sealcast publisher and that it runs",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Error;

    use sealcast_proto::keys::PeerId;
    use sealcast_testkit::words::accusation;

    use super::super::admission::REVOKED;
    use super::*;
    use crate::keys::peers::Refusal;

    /// All that a user is told of this end, before a session was established and after.
    fn said(ended: Ended) -> String {
        let hints = [false, true].map(|established| viewers_hint(&ended, established));
        let failure = match &ended {
            Ended::Session(SessionError::Handshake(error)) => handshake_failure("camera:9553", *error).to_string(),
            _ => hints.join("; "),
        };
        format!("{}; {failure}", ended.in_words().unwrap_or_default())
    }

    #[test]
    fn each_refusal_has_the_one_advice_that_helps_with_it() {
        const INVITE: &str = "ask the publisher for a ticket with an invite, or to allow your peer id";
        const ARCHIVE: &str =
            "it is no archive's node of this camera; have its peer id named there with --archive-node";
        let refusals = [
            (Refusal::Unknown, "not on the allow list and no valid invite", INVITE),
            (
                Refusal::Unproved,
                "enrolled, but the secret of the enrolment was not proved",
                INVITE,
            ),
            (
                Refusal::SecretOfAnother,
                "the secret of another peer was proved",
                INVITE,
            ),
            (Refusal::InviteUsed, "this invite has been used", INVITE),
            (Refusal::InviteExpired, "this invite has expired", INVITE),
            (
                Refusal::TooManyEnrolled,
                "as many peers are enrolled as one end may have",
                "have one removed, or your peer id allowed",
            ),
            (
                Refusal::NoPlace,
                "all places are taken",
                "try again when somebody has left",
            ),
            (
                Refusal::NotOffered("no such camera; list them"),
                "no such camera",
                "list them",
            ),
        ];
        let refusals = refusals.map(|(refusal, what, hint)| (refusal.reason(), refusal.words(), what, hint));
        let (archive, archive_hint) = ARCHIVE.split_once("; ").expect("it has an advice");
        let others = [
            (CloseReason::NotAuthorised, REVOKED, REVOKED, INVITE),
            (CloseReason::NotAuthorised, ARCHIVE, archive, archive_hint),
            (CloseReason::GoingAway, "", "", "the publisher may come back"),
        ];
        for (reason, text, what, hint) in refusals.into_iter().chain(others) {
            let failure = last_words_failure("camera:9553", reason, text).expect("no end of a stream");
            let said = [reason.to_string(), what.to_owned()];
            let said: Vec<String> = said.into_iter().filter(|part| !part.is_empty()).collect();
            assert_eq!(failure.what, format!("camera:9553 said {}", said.join(": ")));
            assert_eq!(failure.hint, hint, "{text}");
            // The publisher's own log gives nobody the advice that is for the viewer.
            assert_eq!(happened(text), what);
        }
    }

    #[test]
    fn words_of_attack_are_those_for_refused_tags_alone() {
        let sessions = [
            (SessionError::PeerLost, false),
            (SessionError::PeerForgot, false),
            (SessionError::KeyLimit, false),
            (SessionError::Framing, false),
            (SessionError::TooManyRefusals, true),
            (SessionError::PeerMisbehaved, false),
            (SessionError::SignsTooLittle, false),
            (SessionError::Misuse, false),
        ];
        let peer = PeerId::parse(&("b".repeat(51) + "a")).expect("a peer id");
        let handshakes = [
            (HandshakeError::Mac, false),
            (HandshakeError::Psk, false),
            (HandshakeError::Identity, false),
            (HandshakeError::Malformed, false),
            (HandshakeError::Version, false),
            (HandshakeError::Role, false),
            (HandshakeError::NoCommonSuite, false),
            (HandshakeError::NoCommonMechanism, false),
            (HandshakeError::NotOffered, false),
            (HandshakeError::Share, false),
            (HandshakeError::Sealed, true),
            (HandshakeError::WrongPeer(peer), false),
            (HandshakeError::OwnIdentity, false),
            (HandshakeError::Signature, false),
            (HandshakeError::Wish, false),
            (HandshakeError::Retry, false),
            (HandshakeError::Alert, false),
            (HandshakeError::Timeout, false),
            (HandshakeError::Unfit, false),
            (HandshakeError::Library, false),
            (HandshakeError::Misuse, false),
        ];
        let handshakes = handshakes.map(|(error, accuses)| (SessionError::Handshake(error), accuses));
        let sessions = sessions.into_iter().chain(handshakes);
        let connections = [
            Ended::Carrier(Error::from(std::io::ErrorKind::ConnectionReset)),
            Ended::Eof,
            Ended::PeerNotReading,
            Ended::Closed,
        ];
        let ends = sessions
            .map(|(error, accuses)| (Ended::Session(error), accuses))
            .chain(connections.into_iter().map(|end| (end, false)));
        for (ended, accuses) in ends {
            let said = said(ended);
            assert_eq!(accusation(&said).is_some(), accuses, "{said}");
        }
    }
}
