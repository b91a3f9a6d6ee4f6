//! Records of a session that has keys: opening them, and what a refused one leads to.

use super::keyring::{NotOpened, OpenedUnder};
use super::machine::{Session, State};
use super::{Event, Handled, MAX_CONSECUTIVE_REFUSALS, Output, SessionError};
use crate::clock::Now;
use crate::seal::{Opened, Refusal, Sealed};
use crate::wire::Kind;

impl Session {
    pub(super) fn handle_record<'b>(&mut self, now: Now, message: &'b mut [u8]) -> Result<Handled<'b>, SessionError> {
        let accept = self.following.accept(now.monotonic);
        let (State::ExpectWelcome(established) | State::AwaitAdmission(established) | State::Established(established)) =
            &mut self.state
        else {
            return Err(SessionError::Misuse);
        };
        established.ring.retire(now.monotonic);
        if let Some(inbound) = &mut self.inbound {
            inbound.keep_sealed(message);
        }
        let opened = Sealed::parse(message, accept)
            .map_err(NotOpened::from)
            .and_then(|record| established.ring.open(record));
        let (record, under) = match opened {
            Ok(opened) => opened,
            Err(NotOpened::Refused(reason)) => return self.refuse(now, reason),
            Err(NotOpened::Repeated(record)) if self.is_duplicate(now, record) => return Ok(Handled::Duplicate),
            Err(NotOpened::Repeated(_)) => return self.refuse(now, Refusal::Replay),
        };
        self.refusals_in_a_row = 0;
        self.heard_newest = record.newest();
        if self.liveness.heard(now.monotonic) {
            self.out.push_back(Output::Event(Event::Resumed));
        }
        if under == OpenedUnder::Next && !self.leads() {
            self.switch_epoch(now);
        }
        if record.header().kind == Kind::Media {
            return self.media_came(now, record);
        }
        self.handle_control(now, record.payload())?;
        Ok(Handled::Done)
    }

    /// Only a publisher has media, and none before the welcome. So where it may have overtaken that, or outlived it,
    /// media is a welcome as well.
    fn media_came<'b>(&mut self, now: Now, record: Opened<'b>) -> Result<Handled<'b>, SessionError> {
        if self.unordered() && matches!(self.state, State::ExpectWelcome(_)) {
            self.enter(now);
        }
        if self.leads() || !self.is_established() {
            return Err(SessionError::PeerMisbehaved);
        }
        if self.inbound.is_none() {
            // On a byte stream there is nothing to repair.
            let repair = record.header().flags.repair();
            return if repair {
                Err(SessionError::PeerMisbehaved)
            } else {
                Ok(Handled::Media(record))
            };
        }
        self.take_media(now, &record)?;
        Ok(Handled::Done)
    }

    pub(super) fn refuse<'b>(&mut self, now: Now, reason: Refusal) -> Result<Handled<'b>, SessionError> {
        self.refusals.count(reason);
        self.refusals_in_a_row = self.refusals_in_a_row.saturating_add(1);
        let on_stream = !self.unordered();
        if reason == Refusal::UnknownEpoch && !on_stream {
            self.ask_for_epoch(now)?;
        }
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
