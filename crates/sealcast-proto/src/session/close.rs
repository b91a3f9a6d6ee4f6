//! Ending a session.

use std::time::Duration;

use super::machine::{Session, State};
use super::{Output, SessionError};
use crate::clock::Now;
use crate::keys::ALERT;
use crate::wire::{CloseReason, Control};

/// How often the last record is sent on datagrams, and how far apart.
const FAREWELLS: u8 = 3;
const FAREWELL_INTERVAL: Duration = Duration::from_millis(50);

/// The last record, for sending again.
pub(super) struct Closing {
    datagram: Vec<u8>,
    left: u8,
    pub(super) next: Duration,
}

impl Session {
    /// End with a close message where there are keys, an alert where there are none.
    pub(super) fn close(&mut self, now: Now, reason: CloseReason, text: &str) {
        match self.state {
            State::Initiating(_) | State::Responding(_) => self.send_handshake(now, ALERT.to_vec()),
            State::Over => {}
            _ => {
                // A control key that is spent cannot say goodbye; the carrier's end says it then.
                let _ = self.send_control(now, &Control::Close { reason, text });
                self.plan_farewell(now);
            }
        }
        self.state = State::Over;
    }

    /// On datagrams the last record may be lost: it is sent again.
    fn plan_farewell(&mut self, now: Now) {
        if let (Some(_), Some(Output::Transmit(last))) = (&self.datagram_handshake, self.out.back()) {
            self.farewell = Some(Closing {
                datagram: last.clone(),
                left: FAREWELLS - 1,
                next: now.monotonic + FAREWELL_INTERVAL,
            });
        }
    }

    pub(super) fn repeat_farewell(&mut self, now: Now) {
        let Some(farewell) = self.farewell.as_mut().filter(|farewell| now.monotonic >= farewell.next) else {
            return;
        };
        farewell.left -= 1;
        farewell.next = now.monotonic + FAREWELL_INTERVAL;
        self.out.push_back(Output::Transmit(farewell.datagram.clone()));
        if farewell.left == 0 {
            self.farewell = None;
        }
    }

    /// End because of `error`, telling the peer what it may know.
    pub(super) fn fail(&mut self, now: Now, error: SessionError) -> SessionError {
        let reason = match error {
            SessionError::KeyLimit => CloseReason::KeyLimit,
            SessionError::PeerLost | SessionError::PeerForgot | SessionError::Misuse => CloseReason::GoingAway,
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
