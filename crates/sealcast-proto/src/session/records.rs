//! Records of a session that has keys: opening them, and what a refused one leads to.

use super::keyring::OpenedUnder;
use super::machine::Session;
use super::{Carrier, Handled, MAX_CONSECUTIVE_REFUSALS, SessionError};
use crate::clock::Now;
use crate::seal::{Refusal, Sealed};
use crate::wire::Kind;

impl Session {
    pub(super) fn handle_record<'b>(&mut self, now: Now, message: &'b mut [u8]) -> Result<Handled<'b>, SessionError> {
        let accept = self.following.accept(now.monotonic);
        let established = self.keys().ok_or(SessionError::Misuse)?;
        established.ring.retire(now.monotonic);
        let opened = Sealed::parse(message, accept).and_then(|record| established.ring.open(record));
        let (record, under) = match opened {
            Ok(opened) => opened,
            Err(reason) => return self.refuse(reason),
        };
        self.refusals_in_a_row = 0;
        self.liveness.heard(now.monotonic);
        if under == OpenedUnder::Next && !self.leads() {
            self.switch_epoch(now);
        }
        if record.header().kind == Kind::Media {
            // Only a publisher has media, none before the welcome, and nothing to repair on a byte stream.
            return if self.is_established() && !self.leads() && !record.header().flags.repair() {
                Ok(Handled::Media(record))
            } else {
                Err(SessionError::PeerMisbehaved)
            };
        }
        self.handle_control(now, record.payload())?;
        Ok(Handled::Done)
    }

    fn refuse<'b>(&mut self, reason: Refusal) -> Result<Handled<'b>, SessionError> {
        self.refusals.count(reason);
        self.refusals_in_a_row = self.refusals_in_a_row.saturating_add(1);
        let on_stream = self.config.carrier == Carrier::Stream;
        if on_stream && reason == Refusal::Malformed {
            return Err(SessionError::Framing);
        }
        let spent = self.keys().is_some_and(|keys| keys.ring.integrity_spent());
        if spent || (on_stream && self.refusals_in_a_row >= MAX_CONSECUTIVE_REFUSALS) {
            return Err(SessionError::TooManyRefusals);
        }
        Ok(Handled::Refused(reason))
    }
}
