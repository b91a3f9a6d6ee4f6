//! The handshake phase, from the first message to the welcome.

use super::datagram_handshake::{DatagramHandshake, Passed};
use super::keyring::KeyRing;
use super::liveness::Liveness;
use super::machine::{Established, Session, State};
use super::path::Elsewhere;
use super::{Event, Facts, Handled, Output, SessionError};
use crate::clock::Now;
use crate::keys::{Agreed, InitiatorStep, PresharedKey, ResponderStep, alerted};
use crate::seal::Refusal;
use crate::wire::datagram::is_record;
use crate::wire::{Accept, Control, Header, Kind};

impl Session {
    /// Process a message of any kind.
    pub(super) fn handle_message(&mut self, now: Now, message: &mut [u8]) -> Result<Handled, SessionError> {
        if self.datagram_handshake.is_some() {
            return self.handle_datagram(now, message);
        }
        match &self.state {
            State::AwaitAdmission(_) | State::Established(_) if alerted(message).is_some() => {
                // Unauthenticated: anybody on the path could have sent it.
                self.refusals.count(Refusal::Malformed);
            }
            State::ExpectWelcome(_) | State::AwaitAdmission(_) | State::Established(_) => {
                if let (State::ExpectWelcome(_), Some(alert)) = (&self.state, alerted(message)) {
                    return Err(alert.into());
                }
                return self.handle_record(now, message);
            }
            _ => self.step(now, message)?,
        }
        Ok(Handled::Done)
    }

    /// Process a datagram from another address than the peer's known one.
    pub(super) fn handle_from(
        &mut self,
        now: Now,
        elsewhere: Elsewhere,
        message: &mut [u8],
    ) -> Result<Handled, SessionError> {
        self.elsewhere = Some(elsewhere);
        let handled = self.handle_message(now, message);
        self.elsewhere = None;
        if handled.is_ok() && self.heard_newest {
            self.heard_elsewhere(now, elsewhere)?;
        }
        handled
    }

    /// Process a datagram: a record, a handshake message, or garbage.
    fn handle_datagram(&mut self, now: Now, datagram: &mut [u8]) -> Result<Handled, SessionError> {
        let Some(datagram_handshake) = &mut self.datagram_handshake else {
            return Err(SessionError::Misuse);
        };
        let Some(message) = datagram_handshake.strip(datagram) else {
            return self.refuse(now, Refusal::Malformed);
        };
        if is_record(message) {
            return match self.state {
                State::ExpectWelcome(_) | State::AwaitAdmission(_) | State::Established(_) => {
                    self.handle_record(now, message)
                }
                // It overtook the handshake, or arrives after the end.
                State::Initiating(_) | State::Responding(_) | State::Over => Ok(Handled::Done),
            };
        }
        if self.elsewhere.is_some() {
            // The cookie of a handshake belongs to an address.
            return Ok(Handled::Done);
        }
        let (passed, answers) = datagram_handshake.take(now.monotonic, message);
        self.transmit_all(answers);
        match passed {
            Passed::Message(message) => self.step_in_doubt(now, &message),
            Passed::Repeated => self.answer_again(),
            Passed::Differs(message) => self.obey_instead(now, message),
            Passed::Forgotten if self.liveness.is_stalled() => return Err(SessionError::PeerForgot),
            Passed::Forgotten | Passed::Nothing => {}
        }
        Ok(Handled::Done)
    }

    /// Process a handshake message on datagrams. Anybody may have sent it, so one that does not fit changes nothing.
    fn step_in_doubt(&mut self, now: Now, message: &[u8]) {
        // Who has not been answered holds a place, which a message that does not fit must not keep longer than before.
        let unanswered = matches!(&self.state, State::Responding(responder) if responder.awaits_hello());
        let stepped = match (&self.state, alerted(message)) {
            (State::ExpectWelcome(_), Some(alert)) => Err(alert.into()),
            _ => self.step(now, message),
        };
        let Some(datagram_handshake) = &mut self.datagram_handshake else {
            return;
        };
        match stepped {
            Ok(()) => datagram_handshake.accepted(),
            Err(SessionError::Handshake(reason)) => {
                let certain = unanswered || reason.is_certain();
                datagram_handshake.doubted(now.monotonic, reason, certain);
                self.refusals.count(Refusal::Tag);
            }
            Err(_) => {}
        }
    }

    /// Initiator: the responder's last message came again and differs. If it is another retry, the one that was obeyed
    /// may have been altered.
    fn obey_instead(&mut self, now: Now, message: Vec<u8>) {
        let (State::Initiating(initiator), Some(datagram_handshake)) = (&mut self.state, &mut self.datagram_handshake)
        else {
            return;
        };
        match initiator.correct(&message) {
            Ok(hello) => {
                datagram_handshake.accepted_instead(message);
                let datagrams = datagram_handshake.send_instead(now.monotonic, &hello);
                self.transmit_all(datagrams);
            }
            Err(_) => self.refusals.count(Refusal::Tag),
        }
    }

    /// Send the answer again, the very same bytes: the peer repeated its message because the answer was lost.
    fn answer_again(&mut self) {
        match self.state {
            State::Responding(_) => {
                let newest = self.datagram_handshake.as_ref().map(DatagramHandshake::newest);
                self.transmit_all(newest.unwrap_or_default());
            }
            // Each new record would use up a number of the key, at anybody's wish.
            State::Established(_) => self.out.extend(self.welcome.clone().map(Output::Transmit)),
            _ => {}
        }
    }

    /// Initiator, on datagrams: true if this record can be the welcome, the responder's first under its first key.
    pub(super) fn is_first_control(&self, record: &[u8]) -> bool {
        let repeated = self
            .datagram_handshake
            .as_ref()
            .is_some_and(DatagramHandshake::repeated);
        let first =
            || Header::parse(record, Accept::EncryptedOnly).map(|header| (header.kind, header.epoch, header.seq));
        repeated && first() == Ok((Kind::Control, 0, 0))
    }

    /// Returns true as often as this end sent its finish again: so many more copies of the welcome may come.
    pub(super) fn take_repetition(&mut self) -> bool {
        self.datagram_handshake
            .as_mut()
            .is_some_and(DatagramHandshake::take_repetition)
    }

    /// One step of the handshake.
    fn step(&mut self, now: Now, message: &[u8]) -> Result<(), SessionError> {
        match &mut self.state {
            State::Initiating(initiator) => match initiator.handle(message)? {
                InitiatorStep::Send(hello) => self.send_handshake(now, hello),
                InitiatorStep::Done(finish, agreed) => {
                    self.send_handshake(now, finish);
                    self.state = State::ExpectWelcome(self.establish(now, *agreed));
                }
            },
            State::Responding(responder) => match responder.handle(message)? {
                ResponderStep::Send(answer) => self.send_handshake(now, answer),
                ResponderStep::Done(agreed) => {
                    self.out.push_back(Output::Event(Event::PeerProved(agreed.peer)));
                    self.state = State::AwaitAdmission(self.establish(now, *agreed));
                }
            },
            // After the end of the session, messages in transit are ignored.
            _ => {}
        }
        Ok(())
    }

    /// Send a message of the handshake.
    pub(super) fn send_handshake(&mut self, now: Now, message: Vec<u8>) {
        let datagrams = match &mut self.datagram_handshake {
            Some(datagram_handshake) => datagram_handshake.send(now.monotonic, message),
            None => vec![message],
        };
        self.transmit_all(datagrams);
    }

    pub(super) fn transmit_all(&mut self, messages: Vec<Vec<u8>>) {
        self.out.extend(messages.into_iter().map(Output::Transmit));
    }

    fn establish(&self, now: Now, agreed: Agreed) -> Box<Established> {
        let facts = Facts {
            peer: agreed.peer,
            suite: agreed.suite,
            mechanism: agreed.mechanism.name(),
            session_id: agreed.session_id,
        };
        let limits = self.config.rekey.hard_limits(&agreed.suite);
        let mut ring = KeyRing::new(agreed.secret, agreed.suite, self.config.side, limits, now.monotonic);
        if self.config.delivery.keep_sealed {
            ring.keep_sealed(facts.peer.id);
        }
        Box::new(Established {
            ring,
            facts,
            mechanism: agreed.mechanism,
            enrolment: Some(agreed.enrolment),
            binding: agreed.binding,
            exporter: agreed.exporter,
        })
    }

    /// Take the secret of this handshake that both ends keep if the responder enrols the initiator: the pre-shared key
    /// of their later handshakes. It can be taken once, from [`Event::PeerProved`] or [`Event::Established`] on.
    pub fn take_enrolment(&mut self) -> Option<PresharedKey> {
        match &mut self.state {
            State::AwaitAdmission(established) | State::Established(established) => established.enrolment.take(),
            _ => None,
        }
    }

    /// Responder: the program admits the peer.
    pub(super) fn admit(&mut self, now: Now) -> Result<(), SessionError> {
        if !matches!(self.state, State::AwaitAdmission(_)) {
            return Err(SessionError::Misuse);
        }
        self.enter(now);
        self.send_control(now, &Control::Welcome)?;
        if let (Some(_), Some(Output::Transmit(welcome))) = (&self.datagram_handshake, self.out.back()) {
            self.welcome = Some(welcome.clone());
        }
        self.begin_shape(now)
    }

    /// Initiator: the responder admitted this end.
    pub(super) fn welcomed(&mut self, now: Now) -> Result<(), SessionError> {
        match self.state {
            State::ExpectWelcome(_) => {
                self.enter(now);
                self.begin_shape(now)
            }
            // The answer to a finish that was sent again.
            State::Established(_) if self.unordered() => Ok(()),
            _ => Err(SessionError::PeerMisbehaved),
        }
    }

    pub(super) fn enter(&mut self, now: Now) {
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::ExpectWelcome(established) | State::AwaitAdmission(established) => {
                self.liveness = Liveness::new(now.monotonic, self.liveness.stalls());
                if self.config.delivery.has_others {
                    self.liveness.known_elsewhere();
                }
                self.out
                    .push_back(Output::Event(Event::Established(established.facts.clone())));
                State::Established(established)
            }
            other => other,
        };
    }
}
