//! Opens the records of a session that has keys, and handles refused ones.

use std::collections::VecDeque;
use std::time::Duration;

use super::keyring::{NotOpened, OpenedUnder};
use super::liveness::Heard;
use super::machine::{Session, State};
use super::path::Elsewhere;
use super::{Carrier, Event, Handled, MAX_CONSECUTIVE_REFUSALS, Output, SessionError};
use crate::clock::Now;
use crate::keys::Side;
use crate::seal::{Opened, Refusal, Sealed};
use crate::unit::{Assembled, Assembler};
use crate::wire::{Accept, Control, HEADER_LEN, Kind, Malformed, TAG_LEN};

impl Session {
    /// Process a record from the carrier: a cell, or one by itself.
    pub(super) fn handle_record(&mut self, now: Now, message: &mut [u8]) -> Result<Handled, SessionError> {
        if Kind::of(message) == Some(Kind::Cell) {
            return self.handle_cell(now, message);
        }
        if self.is_outside_cell(message) {
            return self.refuse(now, Refusal::OutsideCell);
        }
        self.handle_single(now, message)
    }

    /// Open a cell, and process the records in it.
    fn handle_cell(&mut self, now: Now, message: &mut [u8]) -> Result<Handled, SessionError> {
        let Some(established) = self.keys() else {
            return Err(SessionError::Misuse);
        };
        established.ring.retire(now.monotonic);
        let opened = Sealed::parse(message, Accept::EncryptedOnly)
            .map_err(NotOpened::from)
            .and_then(|record| established.ring.open(record));
        let (newest, under) = match opened {
            Ok((record, under)) => (record.newest(), under),
            Err(NotOpened::Refused(reason)) => return self.refuse(now, reason),
            Err(NotOpened::Repeated(_)) => return self.refuse(now, Refusal::Replay),
        };
        self.authenticated(now, newest, under);
        let end = message.len() - TAG_LEN;
        let handled = self.cell_came(now, &mut message[HEADER_LEN..end]);
        // The order of what is in it says nothing about the cell.
        self.heard_newest = newest;
        handled
    }

    /// An authentic record came.
    fn authenticated(&mut self, now: Now, newest: bool, under: OpenedUnder) {
        self.refusals_in_a_row = 0;
        self.heard_newest = newest;
        self.heard_peer(now);
        if under == OpenedUnder::Next && !self.leads() {
            self.switch_epoch(now);
        }
    }

    /// A valid record came from the peer: tell the program if that is news.
    pub(super) fn heard_peer(&mut self, now: Now) {
        let Heard { first, again } = self.liveness.heard(now.monotonic);
        if first && self.is_established() {
            self.out.push_back(Output::Event(Event::Heard));
        }
        if again {
            self.out.push_back(Output::Event(Event::Resumed));
            if let Some(writer) = self.writer_mut() {
                writer.resume(now.monotonic);
            }
        }
    }

    /// Process a record that came by itself or in a cell.
    pub(super) fn handle_single(&mut self, now: Now, message: &mut [u8]) -> Result<Handled, SessionError> {
        if let Some(refused) = self.group_media_came(now, message)? {
            return Ok(refused);
        }
        let accept = self.following.accept(now.monotonic);
        let welcome = self.is_first_control(message);
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
            Err(NotOpened::Refused(Refusal::Replay)) if welcome && self.take_repetition() => {
                return Ok(Handled::Duplicate);
            }
            Err(NotOpened::Refused(reason)) => return self.refuse(now, reason),
            Err(NotOpened::Repeated(record)) if self.is_duplicate(now, record) => return Ok(Handled::Duplicate),
            Err(NotOpened::Repeated(_)) => return self.refuse(now, Refusal::Replay),
        };
        self.authenticated(now, record.newest(), under);
        match record.header().kind {
            Kind::Media => self.media_came(now, &record)?,
            Kind::Data => self.data_came(now, record.payload())?,
            Kind::Control | Kind::Cell => self.handle_control(now, record.payload())?,
        }
        Ok(Handled::Done)
    }

    /// Process an authentic media record. A publisher seals no media before the welcome. So where messages may be
    /// reordered or lost, media counts as the welcome too.
    fn media_came(&mut self, now: Now, record: &Opened<'_>) -> Result<(), SessionError> {
        if self.unordered() && matches!(self.state, State::ExpectWelcome(_)) {
            self.enter(now);
        }
        if self.leads() || !self.is_established() {
            return Err(SessionError::PeerMisbehaved);
        }
        if self.insists_on_gops() {
            return self.withhold(now);
        }
        if self.gets_group_packets() {
            // It was sealed for this viewer alone before it was a member, and is late.
            return Ok(());
        }
        match &mut self.assembler {
            Some(assembler) => {
                let assembled = assemble(assembler, &mut self.out, record, now.monotonic);
                assembled.map_err(|Malformed| SessionError::PeerMisbehaved)
            }
            None => self.take_media(now, record),
        }
    }

    pub(super) fn refuse(&mut self, now: Now, reason: Refusal) -> Result<Handled, SessionError> {
        self.refusals.count(reason);
        self.refusals_in_a_row = self.refusals_in_a_row.saturating_add(1);
        let on_stream = !self.unordered();
        if reason == Refusal::UnknownEpoch && !on_stream {
            self.ask_for_epoch(now)?;
        }
        if on_stream && reason == Refusal::Malformed {
            return Err(SessionError::Framing);
        }
        if !matches!(reason, Refusal::Replay | Refusal::OutsideCell)
            && let Some(assembler) = &mut self.assembler
        {
            // On a byte stream every record arrives once and in order, so the media of a refused record is lost.
            assembler.lost();
        }
        let spent = self.keys().is_some_and(|keys| keys.ring.integrity_spent());
        if spent || (on_stream && self.refusals_in_a_row >= MAX_CONSECUTIVE_REFUSALS) {
            return Err(SessionError::TooManyRefusals);
        }
        Ok(Handled::Refused(reason))
    }

    /// Responder, on datagrams: an authentic record, newer than all before it, came from another address.
    pub(super) fn heard_elsewhere(&mut self, now: Now, elsewhere: Elsewhere) -> Result<(), SessionError> {
        let listens = self.config.side == Side::Responder && matches!(self.config.carrier, Carrier::Datagrams(_));
        if !listens || !matches!(self.state, State::Established(_)) {
            return Ok(());
        }
        let Some(token) = self.path_validation.heard(now.monotonic, elsewhere) else {
            return Ok(());
        };
        let challenge = self.cell_of_control(now, &Control::PathChallenge { token }.to_bytes())?;
        self.out.push_back(Output::Challenge(challenge));
        Ok(())
    }

    /// Responder: the initiator answered a challenge. It counts only if it came from the address that was challenged.
    pub(super) fn path_answered(&mut self, now: Now, token: &[u8; 8]) {
        let Some(elsewhere) = self.elsewhere else { return };
        if self.path_validation.proves(&elsewhere.address, token) {
            if let Some(outbound) = &mut self.outbound {
                outbound.new_path(now.monotonic);
            }
            self.out.push_back(Output::Follow);
        }
    }
}

/// Process a media record of a byte stream, and deliver the frame that it completes.
fn assemble(
    assembler: &mut Assembler,
    out: &mut VecDeque<Output>,
    record: &Opened<'_>,
    arrived: Duration,
) -> Result<(), Malformed> {
    if record.header().flags.repair() {
        // A byte stream loses nothing, so no publisher sends repair records on it.
        return Err(Malformed);
    }
    if record.follows_gap() && !assembler.carries_sound() {
        out.push_back(Output::Media(Assembled::Lost));
    }
    out.extend(assembler.take(record, arrived)?.map(Output::Media));
    Ok(())
}
