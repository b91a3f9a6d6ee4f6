//! Ending a session.

use super::machine::{Session, State};
use super::{Output, SessionError};
use crate::clock::Now;
use crate::keys::ALERT;
use crate::wire::{CloseReason, Control};

impl Session {
    /// End with a close message where there are keys, an alert where there are none.
    pub(super) fn close(&mut self, now: Now, reason: CloseReason, text: &str) {
        match self.state {
            State::Initiating(_) | State::Responding(_) => self.out.push_back(Output::Transmit(ALERT.to_vec())),
            State::Over => {}
            _ => {
                // A control key that is spent cannot say goodbye; the carrier's end says it then.
                let _ = self.send_control(now, &Control::Close { reason, text });
            }
        }
        self.state = State::Over;
    }

    /// End because of `error`, telling the peer what it may know.
    pub(super) fn fail(&mut self, now: Now, error: SessionError) -> SessionError {
        let reason = match error {
            SessionError::KeyLimit => CloseReason::KeyLimit,
            SessionError::PeerLost | SessionError::Misuse => CloseReason::GoingAway,
            _ => CloseReason::ProtocolError,
        };
        if error == SessionError::Handshake(crate::keys::HandshakeError::Alert) {
            // Answering an alert with an alert could go on for ever.
            self.state = State::Over;
        }
        self.close(now, reason, "");
        error
    }
}
