//! From the first message to the welcome.

use super::keyring::KeyRing;
use super::liveness::Liveness;
use super::machine::{Established, Session, State};
use super::{Event, Facts, Handled, Output, SessionError};
use crate::clock::Now;
use crate::keys::{ALERT, Agreed, HandshakeError, InitiatorStep, ResponderStep};
use crate::seal::Refusal;
use crate::wire::Control;

impl Session {
    /// Take a message, whatever it is.
    pub(super) fn handle_message<'b>(&mut self, now: Now, message: &'b mut [u8]) -> Result<Handled<'b>, SessionError> {
        match &mut self.state {
            State::Initiating(initiator) => match initiator.handle(message)? {
                InitiatorStep::Send(hello) => self.out.push_back(Output::Transmit(hello)),
                InitiatorStep::Done(finish, agreed) => {
                    self.out.push_back(Output::Transmit(finish));
                    self.state = State::ExpectWelcome(self.establish(now, *agreed));
                }
            },
            State::Responding(responder) => match responder.handle(message)? {
                ResponderStep::Send(answer) => self.out.push_back(Output::Transmit(answer)),
                ResponderStep::Done(agreed) => {
                    self.out.push_back(Output::Event(Event::PeerProved(agreed.peer)));
                    self.state = State::AwaitAdmission(self.establish(now, *agreed));
                }
            },
            State::ExpectWelcome(_) if *message == ALERT => return Err(HandshakeError::Alert.into()),
            State::AwaitAdmission(_) | State::Established(_) if *message == ALERT => {
                // Anybody between could have sent it.
                self.refusals.count(Refusal::Malformed);
            }
            State::ExpectWelcome(_) | State::AwaitAdmission(_) | State::Established(_) => {
                return self.handle_record(now, message);
            }
            // What was under way when the session ended is of no interest any more.
            State::Over => {}
        }
        Ok(Handled::Done)
    }

    fn establish(&self, now: Now, agreed: Agreed) -> Box<Established> {
        let facts = Facts {
            peer: agreed.peer,
            suite: agreed.suite,
            mechanism: agreed.mechanism.name(),
            session_id: agreed.session_id,
        };
        let limits = self.config.rekey.hard_limits(&agreed.suite);
        let ring = KeyRing::new(agreed.secret, agreed.suite, self.config.side, limits, now.monotonic);
        Box::new(Established {
            ring,
            facts,
            mechanism: agreed.mechanism,
        })
    }

    /// Responder: the program lets the peer in.
    pub(super) fn admit(&mut self, now: Now) -> Result<(), SessionError> {
        if !matches!(self.state, State::AwaitAdmission(_)) {
            return Err(SessionError::Misuse);
        }
        self.enter(now);
        self.send_control(now, &Control::Welcome)
    }

    /// Initiator: the responder lets us in.
    pub(super) fn welcomed(&mut self, now: Now) -> Result<(), SessionError> {
        if !matches!(self.state, State::ExpectWelcome(_)) {
            return Err(SessionError::PeerMisbehaved);
        }
        self.enter(now);
        Ok(())
    }

    fn enter(&mut self, now: Now) {
        self.state = match std::mem::replace(&mut self.state, State::Over) {
            State::ExpectWelcome(established) | State::AwaitAdmission(established) => {
                self.liveness = Liveness::new(now.monotonic);
                self.out
                    .push_back(Output::Event(Event::Established(established.facts.clone())));
                State::Established(established)
            }
            other => other,
        };
    }
}
