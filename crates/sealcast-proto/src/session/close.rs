//! End of a session: the close message and its repetition.

use std::time::Duration;

use super::farewell::Farewell;
use super::machine::{Session, State};
use super::{Output, SessionError};
use crate::clock::Now;
use crate::keys::{ALERT, ALERT_PSK, HandshakeError};
use crate::wire::{CloseReason, Control};

/// Number of times that the last record is sent on datagrams.
const FAREWELLS: u8 = 3;
/// Interval between these.
const FAREWELL_INTERVAL: Duration = Duration::from_millis(50);

impl Session {
    /// End the session with a close message, or with an alert if there are no keys yet. Who has not sent a hello with
    /// its MAC is a stranger, and gets nothing.
    pub(super) fn close(&mut self, now: Now, reason: CloseReason, text: &str) {
        match &self.state {
            State::Responding(responder) if responder.awaits_hello() => {}
            State::Initiating(_) | State::Responding(_) => self.send_handshake(now, ALERT.to_vec()),
            State::Over => {}
            _ => {
                let message = Control::Close { reason, text };
                if self.is_shaped() {
                    let media = reason == CloseReason::EndOfStream;
                    self.farewell = self.last_cells(now, &message.to_bytes(), media, FAREWELLS);
                } else {
                    // A spent control key cannot seal the close message. The peer then notices the end of the carrier.
                    let _ = self.send_control(now, &message);
                    self.plan_farewell(now);
                }
            }
        }
        self.state = State::Over;
    }

    /// Schedule the repetition of the last record on datagrams, where it may be lost.
    fn plan_farewell(&mut self, now: Now) {
        if let (Some(_), Some(Output::Transmit(last))) = (&self.datagram_handshake, self.out.back()) {
            self.farewell = Some(Farewell {
                messages: std::iter::repeat_n(last.clone(), usize::from(FAREWELLS) - 1).collect(),
                at_once: 1,
                interval: FAREWELL_INTERVAL,
                next: now.monotonic + FAREWELL_INTERVAL,
            });
        }
    }

    pub(super) fn repeat_farewell(&mut self, now: Now) {
        let Some(farewell) = self.farewell.as_mut().filter(|farewell| now.monotonic >= farewell.next) else {
            return;
        };
        farewell.next = now.monotonic + farewell.interval;
        let count = farewell.at_once.min(farewell.messages.len());
        self.out.extend(farewell.messages.drain(..count).map(Output::Transmit));
        if farewell.messages.is_empty() {
            self.farewell = None;
        }
    }

    /// End the session because of `error`. The close message tells the peer only a coarse reason, and in words what
    /// this end insists on.
    pub(super) fn fail(&mut self, now: Now, error: SessionError) -> SessionError {
        let text = match error {
            SessionError::SignsTooLittle => error.to_string(),
            _ => String::new(),
        };
        let reason = match error {
            SessionError::KeyLimit => CloseReason::KeyLimit,
            SessionError::PeerLost | SessionError::PeerForgot | SessionError::Misuse | SessionError::SignsTooLittle => {
                CloseReason::GoingAway
            }
            _ => CloseReason::ProtocolError,
        };
        match error {
            // No alert answers an alert, since that could go on for ever, and nothing at all answers a stranger.
            SessionError::Handshake(HandshakeError::Alert | HandshakeError::Mac) => self.state = State::Over,
            SessionError::Handshake(HandshakeError::Psk) => {
                if matches!(self.state, State::Responding(_)) {
                    self.send_handshake(now, ALERT_PSK.to_vec());
                }
                self.state = State::Over;
            }
            SessionError::Handshake(HandshakeError::Timeout | HandshakeError::Unfit) => {}
            // Also of the first hello: its MAC was right.
            SessionError::Handshake(_) if matches!(self.state, State::Responding(_)) => {
                self.send_handshake(now, ALERT.to_vec());
                self.state = State::Over;
            }
            _ => {}
        }
        self.close(now, reason, &text);
        error
    }
}
