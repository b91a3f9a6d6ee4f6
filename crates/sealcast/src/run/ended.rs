//! How connections end, in words and in labels.

use sealcast_proto::keys::HandshakeError;
use sealcast_proto::session::SessionError;

use super::connection::Ended;
use crate::meter::labels::HandshakeOutcome;

/// What to log about an end, or `None` for one that was said in words already.
pub(super) fn end_in_words(ended: &Ended) -> Option<String> {
    match ended {
        Ended::Session(SessionError::Handshake(error)) => Some(format!("the handshake failed: {error}")),
        Ended::Session(error) => Some(format!("the session ended: {error}")),
        Ended::Carrier(error) => Some(format!("the connection broke: {error}")),
        Ended::Silently => Some("the connection was closed without a word: the other end is gone".to_owned()),
        Ended::Deaf => Some("the other end was cut off: it asks and does not read the answers".to_owned()),
        Ended::InWords => None,
    }
}

/// The label of a handshake that did not succeed.
pub(super) fn handshake_outcome(ended: &Ended) -> HandshakeOutcome {
    match ended {
        Ended::Session(SessionError::Handshake(HandshakeError::Timeout)) => HandshakeOutcome::TimedOut,
        Ended::Session(SessionError::Handshake(HandshakeError::Malformed) | SessionError::Framing) => {
            HandshakeOutcome::Malformed
        }
        Ended::Session(_) | Ended::InWords | Ended::Deaf => HandshakeOutcome::Refused,
        Ended::Carrier(_) | Ended::Silently => HandshakeOutcome::Disconnected,
    }
}
