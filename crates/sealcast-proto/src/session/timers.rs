//! What happens because time passes.

use std::time::Duration;

use super::machine::{Session, State};
use super::{HANDSHAKE_TIMEOUT, SessionError};
use crate::clock::Now;
use crate::keys::HandshakeError;
use crate::wire::Control;

impl Session {
    pub(super) fn handle_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        match &mut self.state {
            State::Over => return Ok(()),
            State::Established(established) => established.ring.retire(now.monotonic),
            _ if now.monotonic >= self.began + HANDSHAKE_TIMEOUT => return Err(HandshakeError::Timeout.into()),
            _ => return Ok(()),
        }
        if self.liveness.lost(now.monotonic) {
            return Err(SessionError::PeerLost);
        }
        if self.age(now) >= self.config.rekey.hard_age() {
            return Err(SessionError::KeyLimit);
        }
        if let Some(offer) = self.leader.repeat_offer(now.monotonic) {
            self.send_control_bytes(now, &offer)?;
        }
        self.repeat_selection(now)?;
        self.switch_if_due(now, false);
        self.rekey_if_due(now)?;
        if self.liveness.take_ping(now.monotonic) {
            self.send_control(now, &Control::Ping { t1: now.wall })?;
        }
        Ok(())
    }

    /// When to come back. Always later than a [`handle_timeout`](Self::handle_timeout) that has just been done.
    pub(super) fn deadline(&self) -> Duration {
        let State::Established(established) = &self.state else {
            return if self.is_over() {
                Duration::MAX
            } else {
                self.began + HANDSHAKE_TIMEOUT
            };
        };
        let hard = established.ring.since + self.config.rekey.hard_age();
        let retirement = established.ring.retirement().unwrap_or(Duration::MAX);
        let rekey = self.rekey_deadline();
        let selection = self.selection_deadline();
        let epochs = rekey.min(hard).min(retirement);
        self.liveness.deadline().min(epochs).min(selection)
    }
}
