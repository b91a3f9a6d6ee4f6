//! The machine itself: states in the order in which a session passes through them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::keyring::{KeyRing, OpenedUnder};
use super::liveness::Liveness;
use super::rekey::{Follower, Leader, RekeyCause};
use super::{Carrier, Event, Facts, HANDSHAKE_TIMEOUT, Handled, Input, MAX_CONSECUTIVE_REFUSALS, Output};
use super::{SessionConfig, SessionError};
use crate::clock::{ClockFilter, Now};
use crate::keys::{
    ALERT, Agreed, HandshakeError, Initiator, InitiatorStep, Mechanism, Responder, ResponderStep, Role, Side,
};
use crate::seal::{Exhausted, RecordMeta, Refusal, RefusalCounts, Sealed};
use crate::wire::{Control, Flags, Kind};

pub(super) struct Established {
    pub(super) ring: KeyRing,
    pub(super) facts: Facts,
    pub(super) mechanism: Arc<dyn Mechanism>,
}

pub(super) enum State {
    Initiating(Box<Initiator>),
    Responding(Box<Responder>),
    /// Initiator: the finish is sent, the welcome awaited.
    ExpectWelcome(Box<Established>),
    /// Responder: the program decides.
    AwaitAdmission(Box<Established>),
    Established(Box<Established>),
    Over,
}

/// One peer, from the first hello to the last record. The module's documentation says how to drive it.
pub struct Session {
    pub(super) config: SessionConfig,
    pub(super) state: State,
    pub(super) out: VecDeque<Output>,
    pub(super) leader: Leader,
    follower: Follower,
    began: Duration,
    liveness: Liveness,
    clock: ClockFilter,
    refusals: RefusalCounts,
    refusals_in_a_row: u32,
}

impl Session {
    /// Open a session as the end that opened the connection. `random` are 32 fresh random bytes.
    ///
    /// # Errors
    /// [`SessionError::Handshake`] if the configuration offers nothing or pins nobody, or the library fails.
    pub fn initiate(config: SessionConfig, random: [u8; 32], now: Now) -> Result<Self, SessionError> {
        let (initiator, hello) = Initiator::new(config.handshake.clone(), random)?;
        let mut session = Self::new(config, State::Initiating(Box::new(initiator)), now);
        session.out.push_back(Output::Transmit(hello));
        Ok(session)
    }

    /// Await a session as the end that accepted the connection. `random` are 32 fresh random bytes.
    pub fn respond(config: SessionConfig, random: [u8; 32], now: Now) -> Self {
        let responder = Responder::new(config.handshake.clone(), random, Vec::new());
        Self::new(config, State::Responding(Box::new(responder)), now)
    }

    pub(super) fn new(config: SessionConfig, state: State, now: Now) -> Self {
        Self {
            config,
            state,
            out: VecDeque::new(),
            leader: Leader::default(),
            follower: Follower::default(),
            began: now.monotonic,
            liveness: Liveness::new(now.monotonic),
            clock: ClockFilter::default(),
            refusals: RefusalCounts::default(),
            refusals_in_a_row: 0,
        }
    }

    /// Whether media may flow.
    pub fn is_established(&self) -> bool {
        matches!(self.state, State::Established(_))
    }

    /// Whether the session has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// What was agreed, once established.
    pub fn facts(&self) -> Option<&Facts> {
        match &self.state {
            State::Established(established) => Some(&established.facts),
            _ => None,
        }
    }

    /// The number of the epoch that records are sealed under, once there are keys.
    pub fn epoch(&self) -> Option<u64> {
        match &self.state {
            State::Established(established) => Some(established.ring.current.number),
            _ => None,
        }
    }

    /// Records refused so far, by reason.
    pub fn refusals(&self) -> RefusalCounts {
        self.refusals
    }

    /// What to do next; see the module's documentation.
    pub fn poll(&mut self) -> Output {
        self.out.pop_front().unwrap_or_else(|| Output::Timeout(self.deadline()))
    }

    /// Tell the session something; see the module's documentation.
    ///
    /// # Errors
    /// [`SessionError`]: the session is over.
    pub fn handle<'b>(&mut self, now: Now, input: Input<'b>) -> Result<Handled<'b>, SessionError> {
        let handled = match input {
            Input::Message(message) => self.handle_message(now, message),
            Input::Timeout => self.handle_timeout(now).map(|()| Handled::Done),
            Input::Admit => self.admit(now).map(|()| Handled::Done),
            Input::Close(reason, text) => {
                self.close(now, reason, text);
                Ok(Handled::Done)
            }
            Input::RequestKeyframe(stream) => self
                .send_control(now, &Control::KeyframeRequest { stream })
                .map(|()| Handled::Done),
            Input::Rekey => self.rekey_on_demand(now).map(|()| Handled::Done),
        };
        handled.map_err(|error| self.fail(now, error))
    }

    fn handle_message<'b>(&mut self, now: Now, message: &'b mut [u8]) -> Result<Handled<'b>, SessionError> {
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
            State::Established(_) if *message == ALERT => {
                // Anybody between could have sent it.
                self.refusals.count(Refusal::Malformed);
            }
            State::ExpectWelcome(_) | State::AwaitAdmission(_) | State::Established(_) => {
                return self.handle_record(now, message);
            }
            State::Over => return Err(SessionError::Misuse),
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

    fn handle_record<'b>(&mut self, now: Now, message: &'b mut [u8]) -> Result<Handled<'b>, SessionError> {
        let (State::ExpectWelcome(established) | State::AwaitAdmission(established) | State::Established(established)) =
            &mut self.state
        else {
            return Err(SessionError::Misuse);
        };
        let opened = Sealed::parse(message).and_then(|record| established.ring.open(record));
        let (record, under) = match opened {
            Ok(opened) => opened,
            Err(reason) => return self.refuse(reason),
        };
        self.refusals_in_a_row = 0;
        self.liveness.heard(now.monotonic);
        if under == OpenedUnder::Next && self.config.handshake.role == Role::Viewer {
            self.switch_epoch(now);
        }
        if record.header().kind == Kind::Media {
            let established = self.is_established();
            return if established {
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
        self.refusals_in_a_row += 1;
        let on_stream = self.config.carrier == Carrier::Stream;
        if on_stream && reason == Refusal::Malformed {
            return Err(SessionError::Framing);
        }
        let spent = match &self.state {
            State::Established(established) => established.ring.integrity_spent(),
            _ => false,
        };
        if spent || (on_stream && self.refusals_in_a_row >= MAX_CONSECUTIVE_REFUSALS) {
            return Err(SessionError::TooManyRefusals);
        }
        Ok(Handled::Refused(reason))
    }

    fn handle_control(&mut self, now: Now, payload: &[u8]) -> Result<(), SessionError> {
        let message = Control::parse(payload).map_err(|_| SessionError::PeerMisbehaved)?;
        match message {
            Control::Close { reason, text } => {
                self.out.push_back(Output::Event(Event::Closed {
                    reason,
                    text: text.to_owned(),
                }));
                self.state = State::Over;
            }
            Control::Welcome => return self.welcomed(now),
            _ if !self.is_established() => return Err(SessionError::PeerMisbehaved),
            Control::Ping { t1 } => {
                return self.send_control(
                    now,
                    &Control::Pong {
                        t1,
                        t2: now.wall,
                        t3: now.wall,
                    },
                );
            }
            Control::Pong { t1, t2, t3 } => {
                self.clock.sample(t1, t2, t3, now.wall);
                if let Some(estimate) = self.clock.estimate() {
                    self.out.push_back(Output::Event(Event::Clock(estimate)));
                }
            }
            Control::KeyframeRequest { stream } => {
                self.out.push_back(Output::Event(Event::KeyframeRequested(stream)));
            }
            Control::RekeyRequest if self.leads() => {
                if self.leader.allow_request(now.monotonic) {
                    return self.begin_rekey(now, RekeyCause::Demand);
                }
            }
            Control::RekeyOffer {
                epoch,
                mechanism,
                share,
            } if !self.leads() => {
                return self.rekey_offered(now, payload, epoch, mechanism, share);
            }
            Control::RekeyAnswer { epoch, ciphertext } if self.leads() => {
                return self.rekey_answered(now, payload, epoch, ciphertext);
            }
            Control::RekeyOffer { .. } | Control::RekeyAnswer { .. } | Control::RekeyRequest => {
                return Err(SessionError::PeerMisbehaved);
            }
            Control::Unknown => {}
        }
        Ok(())
    }

    fn admit(&mut self, now: Now) -> Result<(), SessionError> {
        let State::AwaitAdmission(established) = std::mem::replace(&mut self.state, State::Over) else {
            return Err(SessionError::Misuse);
        };
        self.enter(now, established);
        self.send_control(now, &Control::Welcome)
    }

    fn welcomed(&mut self, now: Now) -> Result<(), SessionError> {
        match std::mem::replace(&mut self.state, State::Over) {
            State::ExpectWelcome(established) => {
                self.enter(now, established);
                Ok(())
            }
            other => {
                self.state = other;
                Err(SessionError::PeerMisbehaved)
            }
        }
    }

    fn enter(&mut self, now: Now, established: Box<Established>) {
        self.liveness = Liveness::new(now.monotonic);
        self.out
            .push_back(Output::Event(Event::Established(established.facts.clone())));
        self.state = State::Established(established);
    }

    pub(super) fn send_control(&mut self, now: Now, message: &Control<'_>) -> Result<(), SessionError> {
        self.send_control_bytes(now, &message.to_bytes())
    }

    fn send_control_bytes(&mut self, now: Now, payload: &[u8]) -> Result<(), SessionError> {
        let (State::ExpectWelcome(established) | State::AwaitAdmission(established) | State::Established(established)) =
            &mut self.state
        else {
            return Err(SessionError::Misuse);
        };
        let meta = RecordMeta {
            flags: Flags::CONTROL,
            stream: 0,
            timestamp: now.wall,
        };
        let mut record = Vec::new();
        let sealed = established
            .ring
            .current
            .control_sealer
            .seal(meta, &[payload], &mut record);
        sealed.map_err(|Exhausted| SessionError::KeyLimit)?;
        self.out.push_back(Output::Transmit(record));
        Ok(())
    }

    fn leads(&self) -> bool {
        self.config.handshake.role == Role::Publisher
    }

    fn rekey_on_demand(&mut self, now: Now) -> Result<(), SessionError> {
        if !self.leads() {
            return self.send_control(now, &Control::RekeyRequest);
        }
        if self.leader.idle() {
            self.begin_rekey(now, RekeyCause::Demand)
        } else {
            Ok(())
        }
    }

    pub(super) fn begin_rekey(&mut self, now: Now, cause: RekeyCause) -> Result<(), SessionError> {
        let State::Established(established) = &self.state else {
            return Err(SessionError::Misuse);
        };
        let epoch = (established.ring.current.number + 1) as u16;
        let mechanism = Arc::clone(&established.mechanism);
        let offer = self
            .leader
            .offer(now.monotonic, epoch, &*mechanism, cause)
            .map_err(HandshakeError::from)?;
        self.send_control_bytes(now, &offer)
    }

    fn rekey_offered(
        &mut self,
        now: Now,
        offer: &[u8],
        epoch: u16,
        mechanism: u8,
        share: &[u8],
    ) -> Result<(), SessionError> {
        if let Some(answer) = self.follower.repeated(offer) {
            return self.send_control_bytes(now, &answer);
        }
        let State::Established(established) = &mut self.state else {
            return Err(SessionError::Misuse);
        };
        let expected = (established.ring.current.number + 1) as u16;
        if epoch != expected || mechanism != established.mechanism.id() || established.ring.has_next() {
            return Err(SessionError::PeerMisbehaved);
        }
        let agreed = self
            .follower
            .answer(established.ring.secret(), offer, &*established.mechanism, share);
        let (answer, next) = agreed.map_err(HandshakeError::from)?;
        established.ring.install_next(next);
        self.send_control_bytes(now, &answer)
    }

    fn rekey_answered(&mut self, now: Now, answer: &[u8], epoch: u16, ciphertext: &[u8]) -> Result<(), SessionError> {
        let State::Established(established) = &mut self.state else {
            return Err(SessionError::Misuse);
        };
        let expected = (established.ring.current.number + 1) as u16;
        if epoch != expected || !self.leader.awaits_answer() {
            // The answer to an offer that was sent twice comes twice.
            return Ok(());
        }
        let next = self
            .leader
            .answered(now.monotonic, established.ring.secret(), answer, ciphertext);
        let next = next.ok_or(SessionError::Misuse)?.map_err(HandshakeError::from)?;
        established.ring.install_next(next);
        Ok(())
    }

    pub(super) fn switch_epoch(&mut self, now: Now) {
        let State::Established(established) = &mut self.state else {
            return;
        };
        if let Some(epoch) = established.ring.switch(now.monotonic) {
            let cause = self.leader.switched();
            self.out.push_back(Output::Event(Event::Rekeyed { epoch, cause }));
        }
    }

    fn handle_timeout(&mut self, now: Now) -> Result<(), SessionError> {
        match &mut self.state {
            State::Over => return Ok(()),
            State::Established(established) => established.ring.retire(now.monotonic),
            _ if now.monotonic >= self.began + HANDSHAKE_TIMEOUT => return Err(HandshakeError::Timeout.into()),
            _ => return Ok(()),
        }
        if self.liveness.lost(now.monotonic) {
            return Err(SessionError::PeerLost);
        }
        let age = self.age(now);
        if age >= self.config.rekey.hard_age() {
            return Err(SessionError::KeyLimit);
        }
        if self.leads() {
            if let Some(offer) = self.leader.repeat_offer(now.monotonic) {
                self.send_control_bytes(now, &offer)?;
            }
            if self.leader.should_switch(now.monotonic, false) {
                self.switch_epoch(now);
            } else if self.leader.idle() && age >= self.config.rekey.soft_age() {
                self.begin_rekey(now, RekeyCause::Time)?;
            }
        }
        if self.liveness.take_ping(now.monotonic) {
            self.send_control(now, &Control::Ping { t1: now.wall })?;
        }
        Ok(())
    }

    fn age(&self, now: Now) -> Duration {
        match &self.state {
            State::Established(established) => now.monotonic.saturating_sub(established.ring.since),
            _ => Duration::ZERO,
        }
    }

    fn deadline(&self) -> Duration {
        let State::Established(established) = &self.state else {
            return if self.is_over() {
                Duration::MAX
            } else {
                self.began + HANDSHAKE_TIMEOUT
            };
        };
        let since = established.ring.since;
        let rekey = match self.leader.deadline() {
            Some(deadline) => deadline,
            None if self.leads() => since + self.config.rekey.soft_age(),
            None => Duration::MAX,
        };
        let hard = since + self.config.rekey.hard_age();
        let retirement = established.ring.retirement().unwrap_or(Duration::MAX);
        self.liveness.deadline().min(rekey).min(hard).min(retirement)
    }

    /// Which end of the connection this is.
    pub fn side(&self) -> Side {
        self.config.side
    }
}
